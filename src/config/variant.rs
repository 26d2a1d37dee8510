//! A configuration with another engine in it, for comparisons: its section as the file has it, or its defaults. Caps
//! are left out: what is compared is never released and never paid.

use std::path::Path;

use super::{Error, Settings, check, load_with};
use crate::engine::Registry;

/// What is different in a variant.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub engine: &'a str,
    /// An engine that suppresses has none.
    pub epsilon: Option<&'a str>,
    /// Keys of the engine's own section, with the values they get, as TOML or as plain text.
    pub keys: &'a [(String, String)],
    /// `window.length`; `None`: as it is.
    pub window: Option<&'a str>,
}

/// Loads a configuration as if it said this.
pub fn load_variant(
    path: &Path,
    registry: &Registry,
    change: &Change<'_>,
) -> Result<Settings, Error> {
    let Change { engine, epsilon, keys, window } = *change;
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
    let said = match window {
        Some(length) => format!("{said} and window.length = {length:?}"),
        None => said,
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
        let own = section.entry(engine).or_insert_with(|| toml::Table::new().into());
        if let Some(own) = own.as_table_mut() {
            keys.iter().for_each(|(key, value)| set(own, key, value));
        }
    }
    if let Some(length) = window {
        let section = table.entry("window").or_insert_with(|| toml::Table::new().into());
        if let Some(section) = section.as_table_mut() {
            section.insert("length".to_owned(), length.into());
        }
    }
    let text = toml::to_string(&table).map_err(|error| complain(error.to_string()))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    check::settings(&text, parent.unwrap_or(Path::new(".")), registry)
        .map_err(|complaints| Error::Complaints { path: said, complaints })
}

/// Sets a key, dotted or not. A value that is no TOML is a word.
fn set(table: &mut toml::Table, key: &str, value: &str) {
    if let Some((section, rest)) = key.split_once('.') {
        let inner = table.entry(section).or_insert_with(|| toml::Table::new().into());
        if let Some(inner) = inner.as_table_mut() {
            set(inner, rest, value);
        }
        return;
    }
    let read = format!("value = {value}").parse::<toml::Table>().ok();
    let read = read.and_then(|mut table| table.remove("value"));
    table.insert(key.to_owned(), read.unwrap_or_else(|| value.into()));
}
