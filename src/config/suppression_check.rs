//! The checks of `[engine]` for engines that suppress: lk and projection. And who may have which key.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use toml::Value;

use super::check::positive;
use super::reader::Reader;
use crate::engine::Engine;
use crate::engine::lk::{self, Lk, Score, Weights};
use crate::engine::projection::{self, Projection};
use crate::model::{PathKind, Portion, StationIx, Stations};

/// Keys that only engines that suppress have, with the engines they belong to.
const OURS: &[(&str, &str)] = &[
    ("engine.l", "lk"),
    ("engine.k", "lk"),
    ("engine.score", "lk"),
    ("engine.weights", "lk"),
    ("engine.breach", "projection"),
    ("engine.adversaries", "projection"),
    ("engine.max_work", "lk and projection"),
];

/// Keys that only engines with noise have.
const THEIRS: &[&str] = &[
    "engine.epsilon",
    "engine.height",
    "engine.threshold",
    "engine.allocation",
    "engine.max_nodes",
    "engine.taxonomy",
];

/// A key of an engine that suppresses means nothing to one that adds noise, and must not look as if it did.
pub(super) fn refuse_keys_of_suppression(reader: &mut Reader) {
    for (key, engines) in OURS.iter().filter(|(key, _)| reader.is_changed(key)).collect::<Vec<_>>()
    {
        reader.complain(key, format_args!("belongs to {engines}, not to this engine"));
    }
}

fn refuse_keys_of_others(reader: &mut Reader, name: &str) {
    for key in THEIRS.iter().filter(|key| reader.is_written(key)).collect::<Vec<_>>() {
        let what = format!(
            "belongs to engines that add noise; {name} suppresses, promises no differential privacy and \
             costs no epsilon: leave it out"
        );
        reader.complain(key, what);
    }
    let other = |engines: &str| !engines.split(" and ").any(|engine| engine == name);
    let misplaced = OURS.iter().filter(|(key, engines)| other(engines) && reader.is_written(key));
    for (key, engines) in misplaced.collect::<Vec<_>>() {
        reader.complain(key, format_args!("belongs to {engines}, not to {name}"));
    }
}

/// LK-privacy from its keys.
pub(super) fn lk(reader: &mut Reader, stations: Option<&Arc<Stations>>) -> Option<Arc<dyn Engine>> {
    refuse_keys_of_others(reader, "lk");
    let l = required(reader, "engine.l", "how many doublets of a card an adversary may know");
    let k = required(reader, "engine.k", "how many trajectories must share what is known");
    let score = reader.integer("engine.score", 1, 4);
    let weights = weights(reader);
    reader.word("engine.input", &[("doublets", ())]);
    let max_work = max_work(reader);
    if k == NonZeroU32::new(1) && !allows_unsound(reader) {
        reader.complain(
            "engine.k",
            "is 1: every trajectory is shared by itself, so nobody is protected. Use 2 or more, or \
             allow_unsound = true to release without any guarantee",
        );
    }
    let settings = lk::Settings {
        l: l?,
        k: k?,
        score: score
            .and_then(|number| usize::try_from(number - 1).ok())
            .map(|at| Score::ALL[at])?,
        weights: weights?,
        max_work: max_work?,
        stations: stations?.clone(),
    };
    Lk::new(settings).map(|engine| Arc::new(engine) as Arc<dyn Engine>)
}

/// Projections against known adversaries, from their keys.
pub(super) fn projection(
    reader: &mut Reader,
    stations: Option<&Arc<Stations>>,
) -> Option<Arc<dyn Engine>> {
    refuse_keys_of_others(reader, "projection");
    let breach = breach(reader);
    let input = reader
        .word("engine.input", &[("doublets", PathKind::Timed), ("sequences", PathKind::Untimed)]);
    let max_work = max_work(reader);
    let stations = stations?;
    let adversaries = adversaries(reader, stations);
    let settings = projection::Settings {
        // Whatever it is: all complaints at once.
        breach: breach.unwrap_or(Portion::from_micro(500_000)?),
        input: input.unwrap_or(PathKind::Timed),
        adversaries: adversaries?,
        max_work: max_work.unwrap_or(1),
        stations: stations.clone(),
    };
    match Projection::new(settings) {
        Ok(engine) => Some(Arc::new(engine)),
        Err(complaints) => {
            for complaint in complaints {
                reader.complain("engine.adversaries", complaint);
            }
            None
        }
    }
}

fn breach(reader: &mut Reader) -> Option<Portion> {
    let breach = portion(reader, "engine.breach")?;
    if breach == Portion::default() || breach == Portion::ONE {
        let what = format!(
            "is {breach}, but must lie between 0 and 1: at 0 nothing could be shown, at 1 nobody is protected"
        );
        reader.complain("engine.breach", what);
        return None;
    }
    Some(breach)
}

/// Who owns which stations: a table of lists, or one adversary for every line.
fn adversaries(
    reader: &mut Reader,
    stations: &Stations,
) -> Option<BTreeMap<String, Vec<StationIx>>> {
    const KEY: &str = "engine.adversaries";
    const FORM: &str = "{ A = [\"s1\", \"s2\"], B = [\"s3\"] } or \"line\"";
    match reader.value(KEY) {
        None => {
            reader.complain(KEY, format_args!("is required: who owns which stations, {FORM}"));
            None
        }
        Some(Value::String(column)) if column == "line" => by_line(reader, stations),
        Some(Value::Table(table)) => {
            let mut good = true;
            let mut owned = BTreeMap::new();
            for (name, ids) in &table {
                let found = stations_of(reader, stations, name, ids);
                good &= found.is_some();
                owned.insert(name.clone(), found.unwrap_or_default());
            }
            good.then_some(owned)
        }
        Some(other) => {
            reader.complain(KEY, format_args!("{other} is not {FORM}"));
            None
        }
    }
}

fn by_line(reader: &mut Reader, stations: &Stations) -> Option<BTreeMap<String, Vec<StationIx>>> {
    let mut owned: BTreeMap<String, Vec<StationIx>> = BTreeMap::new();
    for (number, station) in (0..).zip(stations.iter()) {
        if !station.line.is_empty() {
            owned.entry(station.line.clone()).or_default().push(StationIx(number));
        }
    }
    if owned.is_empty() {
        reader.complain("engine.adversaries", "is \"line\", but no station of the list has one");
        return None;
    }
    Some(owned)
}

fn stations_of(
    reader: &mut Reader,
    stations: &Stations,
    name: &str,
    ids: &Value,
) -> Option<Vec<StationIx>> {
    const KEY: &str = "engine.adversaries";
    let Some(ids) = ids.as_array() else {
        reader.complain(KEY, format_args!("{name} must be a list of station ids, not {ids}"));
        return None;
    };
    let mut found = Vec::new();
    for id in ids {
        match id.as_str().and_then(|id| stations.find(id)) {
            Some(station) => found.push(station),
            None => reader.complain(KEY, format_args!("{name} has {id}, which is no station's id")),
        }
    }
    (found.len() == ids.len()).then_some(found)
}

fn required(reader: &mut Reader, key: &str, what: &str) -> Option<NonZeroU32> {
    if reader.value(key).is_none() {
        reader.complain(key, format_args!("is required: {what}"));
        return None;
    }
    positive(reader, key, i64::from(u32::MAX))
}

fn max_work(reader: &mut Reader) -> Option<u64> {
    reader.integer("engine.max_work", 1, 10_000_000_000).map(i64::unsigned_abs)
}

fn allows_unsound(reader: &Reader) -> bool {
    reader.value("engine.allow_unsound").is_some_and(|value| value.as_bool() == Some(true))
}

fn weights(reader: &mut Reader) -> Option<Weights> {
    let [alpha, beta, gamma, delta] = ["alpha", "beta", "gamma", "delta"]
        .map(|name| portion(reader, &format!("engine.weights.{name}")));
    let weights = Weights { alpha: alpha?, beta: beta?, gamma: gamma?, delta: delta? };
    match weights.sum_micro() {
        1_000_000 => Some(weights),
        _ => {
            let Weights { alpha, beta, gamma, delta } = weights;
            let what = format!(
                "{alpha} + {beta} + {gamma} + {delta} is not 1: alpha, beta, gamma and delta sum to exactly 1"
            );
            reader.complain("engine.weights", what);
            None
        }
    }
}

/// An exact decimal from 0 to 1, in quotes.
fn portion(reader: &mut Reader, key: &str) -> Option<Portion> {
    let Some(value) = reader.value(key) else {
        reader.complain(key, "is required: an exact decimal from 0 to 1, in quotes");
        return None;
    };
    let Some(text) = value.as_str() else {
        let what =
            format!("must be a decimal in quotes, like \"0.5\", not {value}: a float is not exact");
        reader.complain(key, what);
        return None;
    };
    match Portion::parse(text) {
        Ok(portion) => Some(portion),
        Err(error) => {
            reader.complain(key, format_args!("{text:?} {error}"));
            None
        }
    }
}
