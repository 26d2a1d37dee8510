//! The checks of `[engine]` for engines that grow noisy trees: parameters, taxonomies, growth.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use toml::Value;

use super::check::positive;
use super::reader::Reader;
use crate::engine::Engine;
use crate::engine::safepath::{
    self, Allocation, Places, SafePath, Shape, Threshold, Times, expected_nodes, largest_height,
};
use crate::model::{Calendar, Stations};

/// A noisy tree from its keys.
pub(super) fn tree_engine(
    reader: &mut Reader,
    stations: Option<&Arc<Stations>>,
    calendar: Option<&Calendar>,
    max_length: Option<NonZeroU32>,
) -> Option<Arc<dyn Engine>> {
    let epsilon = reader.decimal("engine.epsilon");
    let height = positive(reader, "engine.height", 10_000);
    let threshold = threshold(reader);
    let allocation = reader
        .word("engine.allocation", &[("paper", Allocation::Paper), ("even", Allocation::Even)]);
    reader.word("engine.input", &[("doublets", ())]);
    let max_nodes = reader.integer("engine.max_nodes", 1, i64::from(u32::MAX));
    if let (Some(height), Some(max_length)) = (height, max_length)
        && height > max_length
    {
        let what = format!(
            "engine.height is {height}, but window.max_length is {max_length}: no trajectory is longer"
        );
        reader.complain_plainly(what);
    }
    let allocation = allocation?;
    let n_places = stations.map(|stations| stations.len());
    let n_slots = calendar.map(Calendar::slots_nominal);
    let places = places(reader, allocation, n_places);
    let times = times(reader, allocation, n_slots);
    let settings = safepath::Settings {
        epsilon: epsilon?,
        height: height?,
        threshold: threshold?,
        allocation,
        max_nodes: u64::try_from(max_nodes?).ok()?,
        max_length: max_length?,
        stations: stations?.clone(),
        places: places?,
        times: times?,
        threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    match SafePath::new(settings, n_slots?) {
        Ok(engine) => {
            refuse_explosion(reader, &engine, n_slots?);
            Some(Arc::new(engine))
        }
        Err(complaints) => {
            complaints.iter().for_each(|complaint| reader.complain_plainly(complaint));
            None
        }
    }
}

fn threshold(reader: &mut Reader) -> Option<Threshold> {
    const KEY: &str = "engine.threshold";
    let wrong = |reader: &mut Reader, value: &dyn std::fmt::Display| {
        let what = format!("{value} is not \"own-noise\", \"level-noise\" or an integer from 1 on");
        reader.complain(KEY, what);
        None
    };
    match reader.value(KEY)? {
        Value::String(text) => match text.as_str() {
            "own-noise" => Some(Threshold::OwnNoise),
            "level-noise" => Some(Threshold::LevelNoise),
            other => match other.parse::<u64>() {
                Ok(number) if number >= 1 => Some(Threshold::Fixed(number)),
                _ => wrong(reader, &format!("{other:?}")),
            },
        },
        Value::Integer(number) if number >= 1 => Some(Threshold::Fixed(number.unsigned_abs())),
        other => wrong(reader, &other),
    }
}

/// A shape that was left out: fan-out 2 and the largest height up to 3 that leaves budget for leaves.
fn usual_shape(allocation: Allocation, n_leaves: u32) -> Shape {
    let height = match allocation {
        Allocation::Paper => largest_height(n_leaves).min(3),
        Allocation::Even => 3,
    };
    Shape { fanout: 2, height }
}

fn places(reader: &mut Reader, allocation: Allocation, n_leaves: Option<u32>) -> Option<Places> {
    const KEY: &str = "engine.taxonomy.locations";
    match reader.value(KEY) {
        None => Some(Places::Balanced(usual_shape(allocation, n_leaves?))),
        Some(Value::String(word)) if word == "flat" => Some(Places::Flat),
        Some(Value::String(word)) if word == "lines" => Some(Places::Lines),
        Some(value) => shape(reader, KEY, &value, "\"lines\", \"flat\"").map(Places::Balanced),
    }
}

fn times(reader: &mut Reader, allocation: Allocation, n_leaves: Option<u32>) -> Option<Times> {
    const KEY: &str = "engine.taxonomy.times";
    match reader.value(KEY) {
        None => Some(Times::Balanced(usual_shape(allocation, n_leaves?))),
        Some(Value::String(word)) if word == "flat" => Some(Times::Flat),
        Some(value) => shape(reader, KEY, &value, "\"flat\"").map(Times::Balanced),
    }
}

fn shape(reader: &mut Reader, key: &str, value: &Value, words: &str) -> Option<Shape> {
    let number = |name: &str| {
        value.get(name).and_then(Value::as_integer).and_then(|number| u32::try_from(number).ok())
    };
    let known = |table: &toml::Table| table.keys().all(|name| name == "fanout" || name == "height");
    let plain = value.as_table().is_some_and(known);
    match (plain, number("fanout"), number("height")) {
        (true, Some(fanout), Some(height)) if fanout >= 2 && height <= 64 => {
            Some(Shape { fanout, height })
        }
        _ => {
            let what = format!(
                "{} is not {words} or {{ fanout = 2 or more, height = 0 to 64 }}",
                value.to_string().trim()
            );
            reader.complain(key, what);
            None
        }
    }
}

/// A tree that noise alone would fill to the last node is a mistake; say which height works.
fn refuse_explosion(reader: &mut Reader, engine: &SafePath, n_slots: u32) {
    let settings = engine.settings();
    let Ok(per_node) = engine.false_children(n_slots) else { return };
    let most = settings.max_nodes as f64;
    if expected_nodes(per_node, settings.height.get()) <= most {
        return;
    }
    let fits = (1..settings.height.get()).rev().find(|&h| expected_nodes(per_node, h) <= most);
    let remedy =
        fits.map_or("no height fits; use a taxonomy or a higher threshold".to_owned(), |fits| {
            format!(
                "the largest height that fits is {fits}, or use a taxonomy or a higher threshold"
            )
        });
    let what = format!(
        "noise alone makes up {per_node:.1} paths below every empty one; at height {} that is more than \
         engine.max_nodes = {}: {remedy}",
        settings.height, settings.max_nodes
    );
    reader.complain("engine.height", what);
}
