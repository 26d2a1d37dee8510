//! The checks of `[engine]`: which engine, and whether budgets can pay for it.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::reader::Reader;
use super::suppression_check;
use super::tree_check::{Tree, tree_engine};
use super::weave_check;
use crate::engine::Engine;
use crate::ledger;
use crate::model::{Calendar, MicroEpsilon, Stations};

pub(super) fn engine(
    reader: &mut Reader,
    stations: Option<&Arc<Stations>>,
    calendar: Option<&Calendar>,
    max_length: Option<NonZeroU32>,
) -> Option<Arc<dyn Engine>> {
    let name = reader.text("engine.name");
    let tree = Tree::ALL.iter().find(|(known, _)| Some(*known) == name.as_deref());
    match name.as_deref() {
        Some("lk") => return suppression_check::lk(reader, stations),
        Some("weave") => return weave_check::weave(reader, stations, calendar, max_length),
        Some("projection") => return suppression_check::projection(reader, stations),
        _ if tree.is_some() => {}
        None => {}
        Some(other) => {
            let trees = Tree::ALL.map(|(name, _)| format!("\"{name}\"")).join(", ");
            let what = if other == "dptd" { "not in this version" } else { "not an engine" };
            reader.complain(
                "engine.name",
                format_args!(
                    "{other:?} is {what}; use one of {trees}, \"weave\", \"lk\", \"projection\""
                ),
            );
        }
    }
    // Whatever its name: all complaints at once.
    suppression_check::refuse_keys_of_suppression(reader);
    let tree = tree.map_or(Tree::SafePath, |(_, tree)| *tree);
    tree_engine(reader, tree, stations, calendar, max_length)
}

/// A cap below the price of one release would refuse every one.
pub(super) fn check_prices(reader: &mut Reader, engine: &dyn Engine, budget: &ledger::Settings) {
    let epsilon = engine.price().epsilon();
    let mut check = |key: &str, cap: Option<MicroEpsilon>| {
        if let Some(cap) = cap
            && cap < epsilon
        {
            let what = format!(
                "is {cap}, less than engine.epsilon, {epsilon}: every release would be refused"
            );
            reader.complain(key, what);
        }
    };
    check("budget.lifetime", budget.lifetime);
    check("budget.horizon.cap", budget.horizon.map(|horizon| horizon.cap));
}
