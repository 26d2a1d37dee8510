//! The checks of `[engine]` for engines that grow noisy trees: parameters, taxonomies, growth.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use toml::Value;

use super::check::positive;
use super::reader::Reader;
use crate::engine::Engine;
use crate::engine::hybrid::{self, Groups, Hybrid};
use crate::engine::safepath::{self, Allocation, SafePath, largest_height};
use crate::engine::seqpt::SeqPt;
use crate::engine::tree::{
    Places, Shape, Threshold, Times, TreeMechanism, TreeParams, expected_nodes,
};
use crate::model::{Calendar, PathKind, Stations};

/// The engines that grow a noisy tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tree {
    SafePath,
    Hybrid,
    Simple,
    SeqPt,
}

impl Tree {
    pub(super) const ALL: [(&str, Self); 4] = [
        ("safepath", Self::SafePath),
        ("hybrid", Self::Hybrid),
        ("simple", Self::Simple),
        ("seqpt", Self::SeqPt),
    ];

    /// Keys that this engine does not look at, and others do.
    pub(super) fn unused_keys(self) -> &'static [&'static str] {
        match self {
            Self::SafePath => &["engine.taxonomy.fanout"],
            Self::Hybrid => &["engine.allocation", "engine.taxonomy.times"],
            Self::Simple | Self::SeqPt => &[
                "engine.allocation",
                "engine.taxonomy.locations",
                "engine.taxonomy.times",
                "engine.taxonomy.fanout",
            ],
        }
    }
}

/// A noisy tree from its keys; every key is looked at whatever the engine, so that all complaints come at once.
pub(super) fn tree_engine(
    reader: &mut Reader,
    tree: Tree,
    stations: Option<&Arc<Stations>>,
    calendar: Option<&Calendar>,
    max_length: Option<NonZeroU32>,
) -> Option<Arc<dyn Engine>> {
    let params = params(reader, stations, max_length);
    let allocation = reader
        .word("engine.allocation", &[("paper", Allocation::Paper), ("even", Allocation::Even)]);
    let input = input(reader, tree);
    let n_slots = calendar.map(Calendar::slots_nominal);
    match tree {
        Tree::SafePath => {
            let allocation = allocation?;
            let places = places(reader, allocation, stations.map(|stations| stations.len()));
            let times = times(reader, allocation, n_slots);
            let (params, places, times) = (params?, places?, times?);
            input?;
            let settings = safepath::Settings { params, allocation, places, times };
            built(reader, SafePath::new(settings, n_slots?), n_slots?)
        }
        Tree::Hybrid => {
            let groups = groups(reader, stations.map(AsRef::as_ref));
            let settings =
                hybrid::Settings { params: params?, input: input?, groups: Some(groups?) };
            built(reader, Hybrid::new(settings).map_err(|error| vec![error]), n_slots?)
        }
        Tree::Simple => {
            let settings = hybrid::Settings { params: params?, input: input?, groups: None };
            built(reader, Hybrid::new(settings).map_err(|error| vec![error]), n_slots?)
        }
        Tree::SeqPt => {
            input?;
            built(reader, SeqPt::new(params?).map_err(|error| vec![error]), n_slots?)
        }
    }
}

fn params(
    reader: &mut Reader,
    stations: Option<&Arc<Stations>>,
    max_length: Option<NonZeroU32>,
) -> Option<TreeParams> {
    let epsilon = reader.decimal("engine.epsilon");
    let height = positive(reader, "engine.height", 10_000);
    let threshold = threshold(reader);
    let max_nodes = reader.integer("engine.max_nodes", 1, i64::from(u32::MAX));
    if let (Some(height), Some(max_length)) = (height, max_length)
        && height > max_length
    {
        let what = format!(
            "engine.height is {height}, but window.max_length is {max_length}: no trajectory is longer"
        );
        reader.complain_plainly(what);
    }
    Some(TreeParams {
        epsilon: epsilon?,
        height: height?,
        threshold: threshold?,
        max_nodes: u64::try_from(max_nodes?).ok()?,
        max_length: max_length?,
        stations: stations?.clone(),
    })
}

fn input(reader: &mut Reader, tree: Tree) -> Option<PathKind> {
    const KEY: &str = "engine.input";
    let words = [("doublets", PathKind::Timed), ("sequences", PathKind::Untimed)];
    let input = reader.word(KEY, &words)?;
    if input == PathKind::Untimed && matches!(tree, Tree::SafePath | Tree::SeqPt) {
        let what = "\"sequences\" have no times, which this engine is about; use \"doublets\", or                     engine.name = \"hybrid\" or \"simple\"";
        reader.complain(KEY, what);
        return None;
    }
    Some(input)
}

/// The engine, if its budget can be paid and noise alone does not fill it; otherwise complaints.
fn built<R: TreeMechanism + 'static>(
    reader: &mut Reader,
    engine: Result<R, Vec<crate::engine::tree::BudgetError>>,
    n_slots: u32,
) -> Option<Arc<dyn Engine>> {
    match engine {
        Ok(engine) => {
            refuse_explosion(reader, &engine, n_slots);
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

/// The groups of `hybrid` with their fan-out. Left out: lines with three stations or more on average, otherwise
/// as many groups as they have stations.
fn groups(reader: &mut Reader, stations: Option<&Stations>) -> Option<Groups> {
    const KEY: &str = "engine.taxonomy.locations";
    const FANOUT: &str = "engine.taxonomy.fanout";
    let of_lines = stations.and_then(stations_a_line);
    let asked = match reader.value(FANOUT) {
        Some(_) => Some(positive(reader, FANOUT, i64::from(u32::MAX))?.get()),
        None => None,
    };
    let lines = |fanout: u32| Some(Groups { places: Places::Lines, fanout });
    match reader.value(KEY) {
        None => match asked.or(of_lines.filter(|&mean| mean > 2)) {
            Some(fanout) if of_lines.is_some() => lines(fanout),
            _ => {
                let side = stations?.len().isqrt() + 1;
                let shape = Shape { fanout: side.max(3), height: 1 };
                let fanout = asked.unwrap_or(shape.fanout);
                Some(Groups { places: Places::Balanced(shape), fanout })
            }
        },
        Some(Value::String(word)) if word == "flat" => {
            let what = "\"flat\" has no groups, which are what hybrid is about; use \"lines\" or a table, or                         engine.name = \"simple\"";
            reader.complain(KEY, what);
            None
        }
        Some(Value::String(word)) if word == "lines" => match (asked, of_lines) {
            (Some(fanout), Some(_)) => lines(fanout),
            (None, Some(mean)) if mean > 2 => lines(mean),
            (None, Some(mean)) => {
                let what = format!(
                    "a line has {mean} stations on average, but hybrid needs a fan-out of 3 or more; set                      {FANOUT}, or use {{ fanout = 3, height = 1 }}"
                );
                reader.complain(KEY, what);
                None
            }
            (_, None) => {
                stations?;
                reader.complain(KEY, "\"lines\", but no station of the list has a line");
                None
            }
        },
        Some(value) => {
            let shape = shape(reader, KEY, &value, "\"lines\"")?;
            let fanout = asked.unwrap_or(shape.fanout);
            Some(Groups { places: Places::Balanced(shape), fanout })
        }
    }
}

/// Stations per line, rounded up; `None` where no station has a line.
fn stations_a_line(stations: &Stations) -> Option<u32> {
    let lined = || stations.iter().map(|station| station.line.as_str()).filter(|l| !l.is_empty());
    let n_lines = u32::try_from(lined().collect::<BTreeSet<_>>().len()).ok()?;
    let n_stations = u32::try_from(lined().count()).ok()?;
    (n_lines > 0).then(|| n_stations.div_ceil(n_lines))
}

/// A tree that noise alone would fill to the last node is a mistake; say which height works.
fn refuse_explosion(reader: &mut Reader, engine: &impl TreeMechanism, n_slots: u32) {
    let params = engine.params();
    let Some(per_node) = engine.forecast(n_slots).false_children else { return };
    let most = params.max_nodes as f64;
    if expected_nodes(per_node, params.height.get()) <= most {
        return;
    }
    let grows_to = |height: &u32| expected_nodes(per_node, *height) <= most;
    let fits = (1..params.height.get()).take_while(grows_to).last();
    let remedy =
        fits.map_or("no height fits; use a taxonomy or a higher threshold".to_owned(), |fits| {
            format!(
                "the largest height that fits is {fits}, or use a taxonomy or a higher threshold"
            )
        });
    let what = format!(
        "noise alone makes up {per_node:.1} paths below every empty one; at height {} that is more than \
         engine.max_nodes = {}: {remedy}",
        params.height, params.max_nodes
    );
    reader.complain("engine.height", what);
}
