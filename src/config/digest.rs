//! The digest of everything that can change a release.

use serde_json::Value;

use super::Settings;
use super::file::File;
use super::keys::sections;
use super::leaf::duration_secs;
use crate::declare::{Presence, inline};
use crate::engine::Registry;
use crate::ingest::format::{KeepRule, KindRule, ValueTable};
use crate::model::{Digest, Length};

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
/// addresses, words, or which windows exist. The form of this text is as old as the first release: another one would
/// make every feed look changed.
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
    if let Length::Weeks { begin, .. } = settings.calendar.length() {
        text.push_str(&format!("window.week_start = {begin:?}\n"));
    }
    text.push_str(&rules(file, registry, settings));
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

/// What decides which records count, and what they mean. Nothing for a feed without such rules, as before there were
/// any.
fn rules(file: &File<'_>, registry: &Registry, settings: &Settings) -> String {
    let mut text = String::new();
    let mapping = settings.feed.format.mapping();
    if let Some(KindRule { field, entry, exit }) = &mapping.kind {
        text.push_str(&format!("feed.kind = {field:?} {entry:?} {exit:?}\n"));
    }
    for KeepRule { field, values } in &mapping.keep {
        text.push_str(&format!("feed.keep = {field:?} {values:?}\n"));
    }
    for ValueTable { field, meanings } in &mapping.values {
        text.push_str(&format!("feed.values = {field:?} {meanings:?}\n"));
    }
    if file.is_written("feed.aliases") || file.is_written("feed.station_suffixes") {
        text.push_str(&format!("stations.names = {}\n", settings.stations.names_digest()));
    }
    for layout in &settings.feed.time_layouts {
        text.push_str(&format!("feed.time_layout = {:?}\n", layout.as_str()));
    }
    if settings.feed.card_is_token {
        text.push_str("feed.card_is_token = true\n");
    }
    let name = effective(file, registry, "feed.format");
    if let Some(identity) = settings.feed.format.identity() {
        text.push_str(&format!("feed.options = {identity}\n"));
        return text;
    }
    let options = file.value(&format!("feed.{name}")).and_then(Value::as_object);
    if let Some(options) = options.filter(|options| !options.is_empty()) {
        text.push_str(&format!("feed.options = {}\n", inline(&Value::Object(options.clone()))));
    }
    text
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
