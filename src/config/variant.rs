//! A configuration with another engine in it, for comparisons: its section as the file has it, or its defaults. Caps
//! are left out: what is compared is never released and never paid.

use std::path::Path;

use super::{Error, Settings, check, load_with};
use crate::engine::Registry;

/// Loads a configuration as if it named this engine and ε; an engine that suppresses has none.
pub fn load_variant(
    path: &Path,
    registry: &Registry,
    engine: &str,
    epsilon: Option<&str>,
) -> Result<Settings, Error> {
    // Complaints about the file as it is come first, with its own lines.
    load_with(path, registry)?;
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|error| Error::Read { path: name.clone(), error })?;
    let said = match epsilon {
        Some(epsilon) => {
            format!("{name}, with engine.name = {engine:?} and engine.epsilon = {epsilon:?}")
        }
        None => format!("{name}, with engine.name = {engine:?}"),
    };
    let complain =
        |complaint: String| Error::Complaints { path: said.clone(), complaints: vec![complaint] };
    let mut table: toml::Table = text.parse().map_err(|error| complain(format!("{error}")))?;
    table.remove("budget");
    let section = table.entry("engine").or_insert_with(|| toml::Table::new().into());
    if let Some(section) = section.as_table_mut() {
        section.insert("name".to_owned(), engine.into());
        section.remove("epsilon");
        if let Some(epsilon) = epsilon {
            section.insert("epsilon".to_owned(), epsilon.into());
        }
    }
    let text = toml::to_string(&table).map_err(|error| complain(error.to_string()))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    check::settings(&text, parent.unwrap_or(Path::new(".")), registry)
        .map_err(|complaints| Error::Complaints { path: said, complaints })
}
