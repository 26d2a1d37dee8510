//! The checks of `[engine]`: which engine, and whether budgets can pay for it.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::reader::Reader;
use super::suppression_check;
use super::tree_check::tree_engine;
use crate::engine::Engine;
use crate::ledger;
use crate::model::{Calendar, MicroEpsilon, Stations};

pub(super) fn engine(
    reader: &mut Reader,
    stations: Option<&Arc<Stations>>,
    calendar: Option<&Calendar>,
    max_length: Option<NonZeroU32>,
) -> Option<Arc<dyn Engine>> {
    match reader.text("engine.name").as_deref() {
        Some("lk") => return suppression_check::lk(reader, stations),
        Some("projection") => return suppression_check::projection(reader, stations),
        Some("safepath") | None => {}
        Some(later @ ("hybrid" | "simple" | "seqpt" | "dptd")) => {
            reader.complain(
                "engine.name",
                format_args!(
                    "{later:?} is not in this version; use \"safepath\", \"lk\" or \"projection\""
                ),
            );
        }
        Some(other) => reader.complain(
            "engine.name",
            format_args!("{other:?} is not an engine; use \"safepath\", \"lk\" or \"projection\""),
        ),
    }
    // Whatever its name: all complaints at once.
    suppression_check::refuse_keys_of_suppression(reader);
    tree_engine(reader, stations, calendar, max_length)
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
