//! The digest of everything that can change a release.

use super::Settings;
use super::file::File;
use super::keys::sections;
use super::leaf::duration_secs;
use crate::declare::Presence;
use crate::engine::Registry;
use crate::model::Digest;

/// Keys outside the engine whose text can change a release, in a fixed order.
const KEYS: [&str; 13] = [
    "feed.format",
    "feed.time_zone",
    "feed.fields.card",
    "feed.fields.station",
    "feed.fields.time",
    "window.length",
    "window.day_start",
    "window.slot",
    "window.grace",
    "window.close",
    "window.clock_margin",
    "window.max_ahead",
    "window.disorder",
];

/// Everything that can change a release: feed, stations, taxonomies, window, engine and its revision. Not paths,
/// addresses, words, or which windows exist. The form of this text is as old as the first release: another one would make
/// every feed look changed.
pub(super) fn digest(file: &File<'_>, registry: &Registry, settings: &Settings) -> Digest {
    let id = &settings.feed.id;
    let mut text = format!("feed.id = {id:?}\nstations = {}\n", settings.stations.digest());
    for key in KEYS {
        let value = effective(file, registry, key);
        // "24h" and "1d" are the same duration and must not look like another configuration.
        match is_duration(key).then(|| duration_secs(&value)).flatten() {
            Some(secs) => text.push_str(&format!("{key} = {secs}s\n")),
            None => text.push_str(&format!("{key} = {}\n", toml::Value::String(value))),
        }
    }
    let longest = settings.max_length.map_or("unlimited".to_owned(), |most| most.to_string());
    text.push_str(&format!("window.max_length = {longest}\n"));
    // Naming the zone, even the default one, decides whether local times count.
    text.push_str(&format!("feed.local_times = {}\n", settings.feed.local_zone.is_some()));
    let engine = settings.engine.describe();
    text.push_str(&format!(
        "engine.name = {}\nengine.revision = {}\n",
        engine.name, engine.version
    ));
    for (name, value) in engine.parameters {
        text.push_str(&format!("engine.{name} = {value}\n"));
    }
    Digest::of(text.as_bytes())
}

fn is_duration(key: &str) -> bool {
    key.starts_with("window.") && !matches!(key, "window.day_start" | "window.close")
}

/// What was written, or the default.
fn effective(file: &File<'_>, registry: &Registry, key: &str) -> String {
    let (path, name) = key.rsplit_once('.').expect("a key of a section");
    let default = || {
        let sections = sections(registry);
        let section = sections.iter().find(|section| section.path == path)?;
        match &section.keys.iter().find(|key| key.name == name)?.presence {
            Presence::Default(value) => Some(value.clone()),
            Presence::Required(_) | Presence::Optional(_) => None,
        }
    };
    let value = file.value(key).cloned().or_else(default);
    let text = value.as_ref().and_then(|value| value.as_str());
    text.expect("keys of the digest are strings that were read or have a default").to_owned()
}
