//! What is allowed but probably not meant.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Settings;
use super::file::File;
use super::kafka_check::files_of_properties;
use crate::engine::Registry;
use crate::model::MicroEpsilon;

/// What is allowed but probably not meant. Every warning the program can give.
#[derive(Clone, PartialEq, Debug)]
pub enum Warning {
    /// No cap over the feed's life.
    NoLifetime,
    /// No rolling cap.
    NoHorizon,
    /// A large ε.
    LargeEpsilon(String),
    /// Which windows exist follows the data.
    NoRange,
    /// A section of an engine that is not the chosen one.
    Unused {
        /// Which section.
        section: String,
        engine: &'static str,
    },
    /// What the engine itself says.
    Engine(String),
    /// What the list of stations lacks.
    Stations(String),
    /// A token or a password that everybody on this machine can read.
    Exposed {
        /// Which key names the file.
        key: String,
        path: PathBuf,
        mode: u32,
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
            Self::NoRange => f.write_str(
                "window.from and window.to are not set: a file's own windows are released, and that they exist is \
                 not protected",
            ),
            Self::Unused { section, engine } => {
                write!(f, "[{section}] has no effect while engine.name = \"{engine}\"")
            }
            Self::Engine(warning) => f.write_str(warning),
            Self::Exposed { key, path, mode } => write!(
                f,
                "everybody on this machine can read {} (mode {mode:o}), which {key} names: run chmod 600 on it, or 640 \
                 where a group shares it",
                path.display()
            ),
            Self::Stations(note) => write!(f, "stations.gtfs: {note}"),
        }
    }
}

pub(super) fn warnings(
    file: &File<'_>,
    base: &Path,
    registry: &Registry,
    settings: &Settings,
) -> Vec<Warning> {
    let (engine, caps) = (&settings.engine, &settings.caps);
    let mut warnings = Vec::new();
    // Caps are for what costs something.
    if engine.price().is_differential() {
        warnings.extend(caps.lifetime.is_none().then_some(Warning::NoLifetime));
        warnings.extend(caps.horizon.is_none().then_some(Warning::NoHorizon));
    }
    if settings.from.is_none() || settings.to.is_none() {
        warnings.push(Warning::NoRange);
    }
    let epsilon = engine.price().epsilon();
    if epsilon > MicroEpsilon::new(10_000_000) {
        warnings.push(Warning::LargeEpsilon(epsilon.to_string()));
    }
    let said =
        engine.forecast(settings.calendar.slots_nominal(), crate::engine::USUAL_CARDS).warnings;
    warnings.extend(said.into_iter().map(Warning::Engine));
    let chosen = engine.describe().name;
    let others = registry.names().into_iter().filter(|name| *name != chosen);
    for section in others.map(|name| format!("engine.{name}")) {
        if file.is_written(&section) {
            warnings.push(Warning::Unused { section, engine: chosen });
        }
    }
    warnings.extend(exposed(file, base));
    warnings
}

/// Files with a token or a password that others than their owner and group can read. The secret's is refused: whoever
/// has it undoes every promise. These open a door that other locks stand behind, and may have to be shared: Prometheus
/// reads the same token as another user.
fn exposed(file: &File<'_>, base: &Path) -> Vec<Warning> {
    let mut named: Vec<(String, Value)> = ["http.token_file", "feed.avro.registry_password_file"]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), file.value(key)?.clone())))
        .collect();
    named.extend(files_of_properties(file));
    let is_open = |(key, name): (String, Value)| {
        let path = base.join(name.as_str()?);
        let mode = std::fs::metadata(&path).ok()?.permissions().mode() & 0o777;
        (mode & 0o007 != 0).then_some(Warning::Exposed { key, path, mode })
    };
    named.into_iter().filter_map(is_open).collect()
}
