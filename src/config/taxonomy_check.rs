//! Taxonomies of one's own: their files, read for engines, which read none.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::file::File;
use crate::engine::Registry;

/// Puts the text of every taxonomy's file of the chosen engine in place of the file's name.
pub(super) fn read_files(file: &mut File<'_>, registry: &Registry, base: &Path) {
    let written = file.value("engine.name").and_then(Value::as_str);
    let engine = written.unwrap_or(registry.default_name()).to_owned();
    for what in ["locations", "times"] {
        let key = format!("engine.{engine}.taxonomy.{what}");
        // A table with something else in it keeps its file: its reader says what is wrong.
        let is_alone = file.value(&key).and_then(Value::as_object).is_some_and(|t| t.len() == 1);
        let named = file.value(&format!("{key}.file")).and_then(Value::as_str);
        let Some(path) = named.filter(|_| is_alone).map(|name| base.join(name)) else { continue };
        match fs::read_to_string(&path) {
            Ok(text) => file.replace(&key, json!({ "text": text })),
            Err(error) => {
                file.complain(&key, format_args!("cannot read {}: {error}", path.display()));
                file.remove(&key);
            }
        }
    }
}
