//! Text becomes checked settings for every room, or all complaints at once.
//!
//! In → out: `tapveil.toml` with the files it names → [`Settings`].
//! Promises: C-1 what comes out cannot be wrong; C-2 every complaint comes at once, with key, value and rule;
//!   C-3 the digest covers everything that can change a release and nothing else.
//! Refuses: unknown keys, floats where exact decimals belong, a secret others can read.
//! Why: file = what the pipeline promises; flag = how this process runs.

mod check;
mod deployment;
mod digest;
mod document;
mod feed_check;
mod file;
mod kafka_check;
mod keys;
mod leaf;
mod live_check;
mod schedule;
mod migrate;
mod odds;
mod statement;
mod station_check;
mod taxonomy_check;
mod variant;
mod warnings;

pub use deployment::deployment_record;
pub use document::{default_text, key_table, schema};
pub use keys::{LogFormat, LogLevel};
pub use leaf::Percent;
#[cfg(feature = "kafka")]
pub(crate) use leaf::duration_secs;
pub use live_check::{Http, Log, ReleaseSettings, SecretText};
pub use odds::window_length;
pub use statement::Statement;
pub use variant::{Change, load_variant};
pub use warnings::Warning;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::engine::{Engine, Legs, Registry};
use crate::ingest;
use crate::ingest::TimeLayout;
use crate::ingest::format::Format;
use crate::kafka;
use crate::ledger::{self, Horizon};
use crate::model::{Calendar, Digest, ErrorKind, MicroEpsilon, Span, Stations, WindowId};
use crate::seal::Closing;
use crate::secret::Secret;
use crate::window::Gate;

/// Everything a run needs, checked. Every fact stands here once; what a room needs is put together when it is asked
/// for.
#[derive(Debug)]
pub struct Settings {
    /// What taps look like.
    pub feed: Feed,
    pub calendar: Calendar,
    /// The public stations.
    pub stations: Arc<Stations>,
    pub secret: Secret,
    /// Where the secret is.
    pub secret_file: PathBuf,
    /// Where the ledger is, unless the feed has a topic for it.
    pub ledger_file: PathBuf,
    /// How windows close.
    pub closing: Closing,
    /// How far a tap may be ahead of its own arrival.
    pub max_ahead: SignedDuration,
    /// How many taps of a card count; `None`: all of them.
    pub max_length: Option<NonZeroU32>,
    /// From when on windows exist; `None`: from the first whole one after the ledger was opened.
    pub from: Option<DateTime>,
    /// Until when windows exist; `None`: for ever.
    pub to: Option<DateTime>,
    pub engine: Arc<dyn Engine>,
    /// How legs are made of taps.
    pub trips: TripRule,
    /// What may be spent.
    pub caps: Caps,
    /// The words of a release, and where it goes.
    pub release: ReleaseSettings,
    /// Where `run` can be watched.
    pub http: Http,
    /// How `run` writes its log.
    pub log: Log,
    /// Where Kafka is, if the file says so. No part of the digest: addresses change no release.
    pub kafka: Option<kafka::Settings>,
    /// Covers what can change a release.
    pub digest: Digest,
    /// What is allowed but probably not meant.
    pub warnings: Vec<Warning>,
}

/// What taps look like.
#[derive(Clone, Debug)]
pub struct Feed {
    pub id: String,
    /// The form of a record, what its fields mean, and which records count.
    pub format: Arc<dyn Format>,
    /// The zone of local times; `None`: they are rejects.
    pub local_zone: Option<TimeZone>,
    /// How times are written, before the usual forms.
    pub time_layouts: Vec<TimeLayout>,
    /// Whether card ids are tokens, whatever they look like.
    pub card_is_token: bool,
    /// Unusable records above this part stop a file before anything is booked.
    pub max_rejects: Percent,
}

/// How legs are made of one card's taps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TripRule {
    /// Which taps make one.
    pub from: Legs,
    /// A leg that takes longer is no leg: seconds.
    pub longest_secs: Option<NonZeroU32>,
}

/// What may be spent.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Over everything.
    pub lifetime: Option<MicroEpsilon>,
    /// Over windows in a row.
    pub horizon: Option<Horizon>,
}

impl Settings {
    /// For the decoders.
    pub fn ingest(&self) -> ingest::Settings {
        ingest::Settings {
            format: self.feed.format.clone(),
            local_zone: self.feed.local_zone.clone(),
            time_layouts: self.feed.time_layouts.clone(),
            card_is_token: self.feed.card_is_token,
            calendar: self.calendar.clone(),
            stations: self.stations.clone(),
            secret: self.secret.clone(),
            keeps_kinds: self.engine.keeps_kinds(),
        }
    }

    /// For the gate of these windows; `None`: of all.
    pub fn gate(&self, range: Option<std::ops::Range<WindowId>>) -> Gate {
        let grace = match self.closing {
            Closing::Arrival { grace, .. } => Some(grace),
            Closing::Watermark { .. } => None,
        };
        Gate { range, grace, max_ahead: self.max_ahead }
    }

    /// For the ledger.
    pub fn budget(&self) -> ledger::Settings {
        let Caps { lifetime, horizon } = self.caps;
        let (feed, calendar) = (self.feed.id.clone(), self.calendar.clone());
        ledger::Settings { feed, calendar, lifetime, horizon }
    }

    /// Which windows exist, if the file says both ends.
    pub fn span(&self) -> Option<Span> {
        self.from.zip(self.to).map(|(from, to)| Span { from, to })
    }
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

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the configuration {path}: {error}; `tapveil init DIR` makes a starter")]
    Read {
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// It says things that cannot be.
    #[error("{path}: {}", list(complaints))]
    Complaints { path: String, complaints: Vec<String> },
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

/// Reads and checks a configuration with every file it names, for the engines of this program.
pub fn load(path: &Path) -> Result<Settings, Error> {
    load_with(path, &Registry::standard())
}

/// The same for these engines.
pub fn load_with(path: &Path, registry: &Registry) -> Result<Settings, Error> {
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|error| Error::Read { path: name.clone(), error })?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let base = parent.unwrap_or(Path::new("."));
    check::settings(&text, base, registry)
        .map_err(|complaints| Error::Complaints { path: name, complaints })
}

/// What a command needs that only reads a ledger file.
#[derive(Debug)]
pub struct LedgerAndSecret {
    pub ledger_file: PathBuf,
    pub secret: Secret,
    pub secret_file: PathBuf,
}

/// Whether the configuration has a section about Kafka, without looking at anything else.
pub fn names_kafka(path: &Path) -> Result<bool, Error> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::Read { path: name, error })?;
    // A text that is no TOML is the next reader's to complain about.
    let table = text.parse::<toml::Table>().unwrap_or_default();
    Ok(table.get("kafka").is_some_and(|kafka| kafka.get("brokers").is_some()))
}

/// Where the configuration keeps its secret and its ledger, without looking at anything else. For commands
/// that only read the ledger.
pub fn ledger_and_secret(path: &Path) -> Result<LedgerAndSecret, Error> {
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
