//! What a good configuration means: its warnings, and the digest of everything that can change a release.

use std::num::NonZeroU32;

use super::Warning;
use super::keys::{Form, KEYS};
use super::reader::{Reader, duration_secs};
use super::tree_check::Tree;
use crate::engine::{Engine, Forecast};
use crate::model::{Calendar, Digest, MicroEpsilon, Stations};

pub(super) fn warnings(reader: &Reader, engine: &dyn Engine, calendar: &Calendar) -> Vec<Warning> {
    let mut warnings = Vec::new();
    // Caps are for what costs something.
    let is_differential = engine.price().is_differential();
    if is_differential && reader.value("budget.lifetime").is_none() {
        warnings.push(Warning::NoLifetime);
    }
    if is_differential && reader.value("budget.horizon").is_none() {
        warnings.push(Warning::NoHorizon);
    }
    if reader.value("window.from").is_none() || reader.value("window.to").is_none() {
        warnings.push(Warning::NoRange);
    }
    let epsilon = engine.price().epsilon();
    if epsilon > MicroEpsilon::new(10_000_000) {
        warnings.push(Warning::LargeEpsilon(epsilon.to_string()));
    }
    if let Forecast {
        false_children: Some(false_children),
        expected_nodes: Some(expected_nodes),
        ..
    } = engine.forecast(calendar.slots_nominal())
        && false_children > 1.0
    {
        warnings.push(Warning::Growth { false_children, expected_nodes });
    }
    let name = engine.describe().name;
    let tree = Tree::ALL.iter().find(|(known, _)| *known == name);
    for key in tree.map_or(&[][..], |(_, tree)| tree.unused_keys()) {
        if reader.is_written(key) {
            warnings.push(Warning::Unused { key, engine: name });
        }
    }
    warnings
}

/// Everything that can change a release: feed, stations, taxonomies, window, engine and its revision. Not
/// paths, addresses, words, or which windows exist.
pub(super) fn digest(
    reader: &Reader,
    id: &str,
    stations: &Stations,
    max_length: Option<NonZeroU32>,
    engine: &dyn Engine,
) -> Digest {
    let mut text = format!("feed.id = {id:?}\nstations = {}\n", stations.digest());
    for key in [
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
    ] {
        let value = reader.value(key).expect("keys with a default always have a value");
        // "24h" and "1d" are the same duration and must not look like another configuration.
        let is_duration = KEYS.contains(&(key, Form::Duration));
        match value.as_str().filter(|_| is_duration).and_then(duration_secs) {
            Some(secs) => text.push_str(&format!("{key} = {secs}s\n")),
            None => text.push_str(&format!("{key} = {value}\n")),
        }
    }
    let longest = max_length.map_or("unlimited".to_owned(), |most| most.to_string());
    text.push_str(&format!("window.max_length = {longest}\n"));
    // Naming the zone, even the default one, decides whether local times count.
    text.push_str(&format!("feed.local_times = {}\n", reader.is_written("feed.time_zone")));
    let facts = engine.describe();
    text.push_str(&format!("engine.name = {}\nengine.revision = {}\n", facts.name, facts.version));
    for (name, value) in facts.parameters {
        text.push_str(&format!("engine.{name} = {value}\n"));
    }
    Digest::of(text.as_bytes())
}
