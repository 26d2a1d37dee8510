//! How often the stated 95 % intervals hold the truth. Rows that are published are counted.

use super::journeys::Journeys;
use super::legs::od;
use super::source::Source;
use super::{Score, Shape};
use crate::engine::{Interval, Tables};
use crate::model::PathKind;

pub(super) fn score(
    shape: Shape,
    raw: &Journeys,
    truth: &Source,
    tables: &Tables,
    kind: PathKind,
    score: &mut Score,
) {
    let occupancy = match kind {
        PathKind::Timed => truth.occupancy.as_ref(),
        PathKind::Untimed => truth.stations.as_ref(),
    };
    if let Some(cells) = occupancy {
        let slots = if kind == PathKind::Timed { shape.slots } else { 1 };
        let held = tables.stations.iter().map(|cell| {
            let code = u64::from(cell.station.0) * slots + u64::from(cell.slot);
            holds(&cell.taps, cells.get(code))
        });
        score.set("coverage.stations", share(held));
    }
    if kind == PathKind::Timed || shape.legs.longest.is_none() {
        let mut periods: Vec<u64> = tables.od.iter().map(|leg| leg.period.into()).collect();
        periods.sort_unstable();
        periods.dedup();
        let period = |slot: u64| {
            let begun = periods.partition_point(|&first| first <= slot);
            begun.checked_sub(1).map_or(0, |last| periods[last])
        };
        let cells = od(shape, raw, shape.day, period);
        let held = tables.od.iter().map(|leg| {
            let pair = u64::from(leg.origin.0) * shape.stations + u64::from(leg.dest.0);
            holds(&leg.trips, cells.get(pair * shape.day + u64::from(leg.period)))
        });
        score.set("coverage.od", share(held));
    }
    if let Some(cells) = &truth.lengths {
        let held =
            tables.lengths.iter().map(|cell| holds(&cell.cards, cells.get(cell.taps.into())));
        score.set("coverage.lengths", share(held));
    }
}

fn holds(interval: &Interval, truth: f64) -> bool {
    interval.low as f64 <= truth && truth <= interval.high as f64
}

fn share(held: impl Iterator<Item = bool>) -> Option<f64> {
    let (mut right, mut all) = (0_u64, 0_u64);
    for one in held {
        right += u64::from(one);
        all += 1;
    }
    (all > 0).then(|| right as f64 / all as f64)
}
