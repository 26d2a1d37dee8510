//! Text becomes checked settings for every room, or all complaints at once.
//!
//! In → out: `tapveil.toml` with the files it names → [`Settings`].
//! Promises: C-1 what comes out cannot be wrong; C-2 every complaint comes at once, with key, value and rule;
//!   C-3 the digest covers everything that can change a release and nothing else.
//! Refuses: unknown keys, floats where exact decimals belong, a secret others can read.
//! Why: file = what the pipeline promises; flag = how this process runs.

mod check;
mod engine_check;
mod kafka_check;
mod keys;
mod live_check;
mod digest;
mod reader;
mod statement;
mod suppression_check;
mod tree_check;
mod weave_check;

pub use live_check::{Live, Log, LogFormat, LogLevel, SecretText};
#[cfg(feature = "kafka")]
pub(crate) use reader::duration_secs;
pub use statement::Statement;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::Engine;
use crate::model::{Calendar, Digest, ErrorKind, Span, Stations};
use crate::secret::Secret;
use crate::{ingest, kafka, ledger, window};

/// The commented defaults, compiled in.
pub const DEFAULTS: &str = include_str!("../../config/default.toml");

/// Everything a run needs, checked.
#[derive(Debug)]
pub struct Settings {
    /// For the decoders.
    pub ingest: ingest::Settings,
    /// For the gate; its range is open until the command says which windows exist.
    pub gate: window::Gate,
    /// The windows.
    pub calendar: Calendar,
    /// Which windows exist, if the file says so.
    pub span: Option<Span>,
    /// What only `run` needs.
    pub live: Live,
    /// How many taps of a card count; `None`: all of them.
    pub max_length: Option<std::num::NonZeroU32>,
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// The caps.
    pub budget: ledger::Settings,
    /// The secret.
    pub secret: Secret,
    /// Where the ledger is.
    pub ledger_file: PathBuf,
    /// The public stations.
    pub stations: Arc<Stations>,
    /// The words of a release.
    pub release: ReleaseWords,
    /// Where Kafka is, if the file says so. No part of the digest: addresses change no release.
    pub kafka: Option<kafka::Settings>,
    /// Covers what can change a release.
    pub digest: Digest,
    /// What is allowed but probably not meant.
    pub warnings: Vec<Warning>,
}

/// The words of a release.
#[derive(Clone, Debug)]
pub struct ReleaseWords {
    /// Title of the data package.
    pub title: String,
    /// Its licence; may be empty.
    pub licence: String,
    /// Who answers questions; may be empty.
    pub contact: String,
    /// Digest of the statement that the privacy officer has signed.
    pub approved: Option<String>,
}

impl Settings {
    /// Refuses what the privacy officer has not signed, where a signature is configured.
    pub fn require_approval(&self) -> Result<(), Error> {
        let Some(signed) = &self.release.approved else { return Ok(()) };
        let digest = Statement::of(self).digest.to_string();
        match signed.trim() == digest {
            true => Ok(()),
            false => Err(Error::NotApproved { signed: signed.clone(), digest }),
        }
    }
}

impl Settings {
    /// Kafka's settings, for a command that cannot do without.
    pub fn required_kafka(&self, path: &Path) -> Result<&kafka::Settings, Error> {
        self.kafka.as_ref().ok_or_else(|| Error::Complaints {
            path: path.display().to_string(),
            complaints: vec!["kafka.brokers: is required for this command".to_owned()],
        })
    }
}

/// What is allowed but probably not meant. Every warning the program can give.
#[derive(Clone, PartialEq, Debug)]
pub enum Warning {
    /// No cap over the feed's life.
    NoLifetime,
    /// No rolling cap.
    NoHorizon,
    /// A large ε.
    LargeEpsilon(String),
    /// Noise alone makes the tree grow.
    Growth {
        /// Paths per empty node that noise makes up.
        false_children: f64,
        /// Nodes to expect from noise alone.
        expected_nodes: f64,
    },
    /// Which windows exist follows the data.
    NoRange,
    /// A key that the chosen engine does not look at.
    Unused {
        /// Which key.
        key: &'static str,
        /// The engine.
        engine: &'static str,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoLifetime => f.write_str(
                "budget.lifetime is not set: nothing limits what this feed spends over the years",
            ),
            Self::NoHorizon => f.write_str(
                "budget.horizon is not set: nothing limits what many windows in a row reveal about one card",
            ),
            Self::LargeEpsilon(epsilon) => {
                write!(f, "engine.epsilon is {epsilon}: above 10 the guarantee protects hardly anybody")
            }
            Self::Growth { false_children, expected_nodes } => write!(
                f,
                "noise alone makes up {false_children:.1} paths below every empty one, about \
                 {expected_nodes:.0} in all: use a taxonomy, a lower height or a higher threshold"
            ),
            Self::NoRange => f.write_str(
                "window.from and window.to are not set: a file's own windows are released, and that they \
                 exist is not protected",
            ),
            Self::Unused { key, engine } => {
                write!(f, "{key} means nothing to engine.name = \"{engine}\": it is left out")
            }
        }
    }
}

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the configuration {path}: {error}; `tapveil init DIR` makes a starter")]
    Read {
        /// Which file.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// It says things that cannot be.
    #[error("{path}: {}", list(complaints))]
    Complaints {
        /// Which file.
        path: String,
        /// All of them.
        complaints: Vec<String>,
    },
    /// The privacy officer has signed something else.
    #[error(
        "release.approved is {signed}, but the statement of this configuration has the digest {digest}: the privacy officer has \
         not signed it (tapveil check --statement shows it)"
    )]
    NotApproved {
        /// What was signed.
        signed: String,
        /// What would be released.
        digest: String,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Config
    }
}

fn list(complaints: &[String]) -> String {
    match complaints {
        [one] => one.clone(),
        many => {
            let lines: String = many.iter().map(|complaint| format!("\n  - {complaint}")).collect();
            format!("{} complaints:{lines}", many.len())
        }
    }
}

/// Reads and checks a configuration with every file it names.
pub fn load(path: &Path) -> Result<Settings, Error> {
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|error| Error::Read { path: name.clone(), error })?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let base = parent.unwrap_or(Path::new("."));
    check::settings(&text, base).map_err(|complaints| Error::Complaints { path: name, complaints })
}

/// Where the configuration keeps its secret and its ledger, without looking at anything else. For commands
/// that only read the ledger.
pub fn ledger_and_secret(path: &Path) -> Result<(PathBuf, Secret), Error> {
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|error| Error::Read { path: name.clone(), error })?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let base = parent.unwrap_or(Path::new("."));
    check::ledger_and_secret(&text, base)
        .map_err(|complaints| Error::Complaints { path: name, complaints })
}

#[cfg(test)]
mod tests;
