//! The checks of `[engine]` for engines that suppress: lk and projection. And who may have which key.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::check::positive;
use super::reader::Reader;
use crate::engine::Engine;
use crate::engine::lk::{self, Lk, Score, Weights};
use crate::model::{Portion, Stations};

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
