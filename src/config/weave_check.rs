//! The checks of `[engine]` for `weave`: ε, what to favour, how legs are made.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use super::reader::Reader;
use super::suppression_check::refuse_keys_of_suppression;
use crate::engine::Engine;
use crate::engine::weave::{Favour, Legs, Settings, Weave};
use crate::model::{Calendar, PathKind, Stations};

/// Keys of engines over a tree.
const OF_TREES: &[&str] = &[
    "engine.height",
    "engine.threshold",
    "engine.allocation",
    "engine.max_nodes",
    "engine.taxonomy",
];

/// `weave` from its keys; all complaints at once.
pub(super) fn weave(
    reader: &mut Reader,
    stations: Option<&Arc<Stations>>,
    calendar: Option<&Calendar>,
    max_length: Option<NonZeroU32>,
) -> Option<Arc<dyn Engine>> {
    refuse_keys_of_suppression(reader);
    for key in OF_TREES.iter().filter(|key| reader.is_changed(key)).collect::<Vec<_>>() {
        reader.complain(key, "belongs to engines that grow a tree, not to weave: leave it out");
    }
    let epsilon = reader.decimal("engine.epsilon");
    let favours = [Favour::Balanced, Favour::Stations, Favour::Od, Favour::Trips];
    let favours = favours.map(|favour| (favour.to_string(), favour));
    let words: Vec<(&str, Favour)> =
        favours.iter().map(|(word, favour)| (word.as_str(), *favour)).collect();
    let favour = reader.word("engine.weave.favour", &words);
    let legs = reader.word("trips.from", &[("next", Legs::Next), ("pairs", Legs::Pairs)]);
    let inputs = [("doublets", PathKind::Timed), ("sequences", PathKind::Untimed)];
    let input = reader.word("engine.input", &inputs);
    let settings = Settings {
        epsilon: epsilon?,
        favour: favour?,
        legs: legs?,
        input: input?,
        max_length: max_length?,
        stations: stations?.clone(),
        threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    match Weave::new(settings, calendar?.slots_nominal()) {
        Ok(engine) => Some(Arc::new(engine)),
        Err(complaints) => {
            complaints.iter().for_each(|complaint| reader.complain_plainly(complaint));
            None
        }
    }
}
