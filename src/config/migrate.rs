//! A configuration of version 1: one complaint that shows the lines to write instead.

use std::fmt::Write;

use serde_json::Value;

use super::file::File;
use crate::declare::inline;
use crate::engine::Registry;

/// Keys of `[engine]` that version 2 keeps there.
const KEPT: [&str; 2] = ["name", "epsilon"];
/// Keys of version 1 whose defaults files used to repeat for every engine.
const FORMER: [&str; 15] = [
    "height",
    "threshold",
    "allocation",
    "input",
    "max_nodes",
    "allow_unsound",
    "l",
    "k",
    "score",
    "weights",
    "breach",
    "adversaries",
    "max_work",
    "taxonomy",
    "fanout",
];

/// The complaint about a file of version 1, with the new `[engine]`; `None` for any other file.
pub(super) fn complaint(file: &File<'_>, registry: &Registry) -> Option<String> {
    let engine = file.value("engine").and_then(Value::as_object);
    let has_former =
        engine.is_some_and(|engine| FORMER.iter().any(|key| engine.contains_key(*key)));
    let is_old = match file.value("version") {
        Some(version) => version.as_u64() == Some(1),
        None => has_former,
    };
    if !is_old {
        return None;
    }
    let position = file.position_of("version").unwrap_or_default();
    let mut text = format!(
        "{position}this is a configuration of version 1; this program reads version 2. An engine's own keys stand in a \
         section of its name. Write instead:\n\n  version = 2\n"
    );
    let default = registry.names().first().copied().unwrap_or_default();
    let name = engine.and_then(|engine| engine.get("name")?.as_str()).unwrap_or(default).to_owned();
    let line = |text: &mut String, key: &str, value: &Value| {
        writeln!(text, "  {key} = {}", inline(value)).expect("writing to memory cannot fail");
    };
    let Some(engine) = engine else { return Some(text.trim_end().to_owned()) };
    text.push_str("\n  [engine]\n");
    for (key, value) in engine.iter().filter(|(key, _)| KEPT.contains(&key.as_str())) {
        line(&mut text, key, value);
    }
    let known: Vec<&str> = registry
        .find(&name)
        .map(|engine| (engine.sections)())
        .unwrap_or_default()
        .iter()
        .flat_map(|section| {
            let below = section.path.strip_prefix(&format!("engine.{name}.")).map(str::to_owned);
            section.keys.iter().map(|key| key.name).filter(move |_| below.is_none())
        })
        .collect();
    let moved = |key: &str| known.contains(&key) || matches!(key, "taxonomy" | "weights");
    let own: Vec<_> = engine.iter().filter(|(key, _)| FORMER.contains(&key.as_str())).collect();
    if !own.is_empty() {
        writeln!(text, "\n  [engine.{name}]").expect("writing to memory cannot fail");
    }
    for (key, value) in own {
        match moved(key) {
            true => line(&mut text, key, value),
            // It meant nothing to this engine.
            false => writeln!(text, "  # {key} goes: it means nothing to {name}")
                .expect("writing to memory cannot fail"),
        }
    }
    Some(text.trim_end().to_owned())
}
