//! Legs: from where to where, when and for how long. By the rule of the configuration, never from first to last.

use super::Shape;
use super::cells::Cells;
use super::journeys::{Code, Journeys};

/// Which steps of a card are legs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LegRule {
    /// The first tap to the second, the third to the fourth; otherwise each tap to the next.
    pub(crate) in_pairs: bool,
    /// Slots that a leg takes at most; `None` where no step of the window takes longer.
    pub(crate) longest: Option<u64>,
}

/// One leg.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Leg {
    pub(super) from: u64,
    pub(super) to: u64,
    /// The slot in which it begins.
    pub(super) slot: u64,
    /// Slots that it takes.
    pub(super) takes: u64,
}

/// The legs of one trip.
pub(super) fn legs(shape: Shape, path: &[Code]) -> impl Iterator<Item = Leg> + '_ {
    let step = if shape.legs.in_pairs { 2 } else { 1 };
    (0..path.len().saturating_sub(1))
        .step_by(step)
        .map(move |at| {
            let (a, b) = (path[at], path[at + 1]);
            let (slot, then) = (a % shape.slots, b % shape.slots);
            let (from, to) = (a / shape.slots, b / shape.slots);
            Leg { from, to, slot, takes: then.saturating_sub(slot) }
        })
        .filter(move |leg| shape.legs.longest.is_none_or(|longest| leg.takes <= longest))
}

/// Quarters of a day.
pub(super) const QUARTERS: u64 = 4;

/// Legs by pair of stations and a part of the day.
pub(super) fn od(
    shape: Shape,
    journeys: &Journeys,
    parts: u64,
    part: impl Fn(u64) -> u64,
) -> Cells {
    let mut cells = Vec::new();
    for (path, count) in journeys.iter() {
        for leg in legs(shape, path) {
            let pair = leg.from * shape.stations + leg.to;
            cells.push((pair * parts + part(leg.slot % shape.day), count as f64));
        }
    }
    Cells::new(cells)
}

/// How many slots legs take.
pub(super) fn travel_times(shape: Shape, journeys: &Journeys) -> Cells {
    let takes = journeys
        .iter()
        .flat_map(|(path, count)| legs(shape, path).map(move |leg| (leg.takes, count as f64)));
    Cells::new(takes.collect())
}

/// The share of cards that go somewhere and later back: a leg from A to B, then one from B to A.
pub(super) fn returning_share(shape: Shape, journeys: &Journeys) -> Option<f64> {
    let (mut returning, mut all) = (0.0, 0.0);
    for (path, count) in journeys.iter() {
        let own: Vec<Leg> = legs(shape, path).collect();
        let comes_back = |(at, out): (usize, &Leg)| {
            let back = |leg: &Leg| leg.from == out.to && leg.to == out.from;
            out.from != out.to && own[at + 1..].iter().any(back)
        };
        all += count as f64;
        if own.iter().enumerate().any(comes_back) {
            returning += count as f64;
        }
    }
    (all > 0.0).then_some(returning / all)
}
