//! Tables that a source gives: the truth, a release's paths, a release's own tables, or plain noisy tables.

use super::cells::Cells;
use super::journeys::Journeys;
use super::legs::{QUARTERS, od};
use super::{Score, Shape};
use crate::engine::{Interval, LegCount, LengthCount, StationCount, Tables};
use crate::model::{PathKind, StationIx};

/// Cells of at least so many cards count for the median error that recipients know.
const LARGE: f64 = 100.0;

/// What a source says in tables; what it cannot say is missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    /// Different cards by station and slot.
    pub(super) occupancy: Option<Cells>,
    /// Different cards by station, over the whole window.
    pub(super) stations: Option<Cells>,
    /// Legs by pair.
    pub(super) od: Option<Cells>,
    /// Legs by pair and quarter of the day.
    pub(super) od_quarter: Option<Cells>,
    /// Cards by number of taps.
    pub(super) lengths: Option<Cells>,
    /// Cards by first doublet.
    pub(super) first: Option<Cells>,
    /// Whether whole trips can be asked, too.
    pub(super) has_trips: bool,
}

impl Source {
    /// Everything that trips tell.
    pub(super) fn of_journeys(shape: Shape, journeys: &Journeys, kind: PathKind) -> Self {
        let is_timed = kind == PathKind::Timed;
        // Without times nobody can say which steps take too long to be legs.
        let knows_legs = is_timed || shape.legs.longest.is_none();
        let by = |class: &dyn Fn(u64) -> u64| {
            let mut parts = Vec::new();
            for (path, count) in journeys.iter() {
                let classes: Vec<u64> = path.iter().map(|&code| class(code)).collect();
                parts.extend(Journeys::distinct(&classes).map(|cell| (cell, count as f64)));
            }
            Cells::new(parts)
        };
        let lengths = journeys.iter().map(|(path, count)| (path.len() as u64, count as f64));
        let first = journeys.iter().map(|(path, count)| (path[0], count as f64));
        let quarter = |slot: u64| slot * QUARTERS / shape.day;
        Self {
            occupancy: is_timed.then(|| by(&|code| code)),
            stations: Some(by(&|code| code / shape.slots)),
            od: knows_legs.then(|| od(shape, journeys, 1, |_| 0)),
            od_quarter: (is_timed && has_quarters(shape))
                .then(|| od(shape, journeys, QUARTERS, quarter)),
            lengths: Some(Cells::new(lengths.collect())),
            first: is_timed.then(|| Cells::new(first.collect())),
            has_trips: true,
        }
    }

    /// Legs as these trips have them.
    pub(super) fn replace_legs(&mut self, shape: Shape, legs: &Journeys) {
        let quarter = |slot: u64| slot * QUARTERS / shape.day;
        self.od = Some(od(shape, legs, 1, |_| 0));
        self.od_quarter = has_quarters(shape).then(|| od(shape, legs, QUARTERS, quarter));
    }

    /// Tables are judged as they were published, not as trips would add up to them.
    pub(super) fn replace_by_tables(&mut self, shape: Shape, tables: &Tables, kind: PathKind) {
        let station = |cell: &StationCount| u64::from(cell.station.0);
        let cells = |key: &dyn Fn(&StationCount) -> u64| {
            let parts = tables.stations.iter().map(|cell| (key(cell), cell.taps.value as f64));
            Cells::new(parts.collect())
        };
        match kind {
            PathKind::Timed => {
                let code = |cell: &StationCount| station(cell) * shape.slots + u64::from(cell.slot);
                self.occupancy = Some(cells(&code));
            }
            PathKind::Untimed => self.stations = Some(cells(&station)),
        }
        let lengths = tables.lengths.iter();
        let lengths = lengths.map(|cell| (u64::from(cell.taps), cell.cards.value as f64));
        self.lengths = Some(Cells::new(lengths.collect()));
        // An engine that cannot say anything about flows publishes none, and its trips say nothing about them either.
        if tables.od.is_empty() {
            (self.od, self.od_quarter) = (None, None);
        }
        if self.od.is_some() {
            let pair =
                |leg: &LegCount| u64::from(leg.origin.0) * shape.stations + u64::from(leg.dest.0);
            let legs = tables.od.iter().map(|leg| (pair(leg), leg.trips.value as f64));
            self.od = Some(Cells::new(legs.collect()));
            self.od_quarter = self.od_quarter.take().and_then(|_| {
                is_finer_than_quarters(shape, tables).then(|| {
                    let quarter = |leg: &LegCount| u64::from(leg.period) * QUARTERS / shape.day;
                    let key = |leg: &LegCount| pair(leg) * QUARTERS + quarter(leg);
                    let legs = tables.od.iter().map(|leg| (key(leg), leg.trips.value as f64));
                    Cells::new(legs.collect())
                })
            });
        }
    }

    /// The figures of every table that both sides have.
    pub(super) fn score(&self, truth: &Self, bound: f64, score: &mut Score) {
        let tables = [
            ("stations_by_slot", &truth.occupancy, &self.occupancy),
            ("od", &truth.od, &self.od),
            ("od_by_quarter", &truth.od_quarter, &self.od_quarter),
        ];
        for (name, truth, said) in tables {
            let (Some(truth), Some(said)) = (truth, said) else { continue };
            score.set(&format!("{name}.error"), truth.error(said));
            score.set(&format!("{name}.jsd"), truth.divergence(said));
            score.set(&format!("{name}.median"), truth.median_error(said, LARGE));
            score.set(&format!("{name}.dropped"), truth.dropped(said, bound));
            score.set(&format!("{name}.spurious"), truth.spurious(said));
        }
        let tables = [
            ("stations", &truth.stations, &self.stations),
            ("lengths", &truth.lengths, &self.lengths),
            ("first", &truth.first, &self.first),
        ];
        for (name, truth, said) in tables {
            let (Some(truth), Some(said)) = (truth, said) else { continue };
            score.set(&format!("{name}.error"), truth.error(said));
            score.set(&format!("{name}.jsd"), truth.divergence(said));
        }
    }

    /// The same as tables of a release, each number its own interval.
    pub(super) fn as_tables(&self, shape: Shape) -> Tables {
        let exact = |count: f64| {
            let value = count.round() as u64;
            Interval { value, low: value, high: value }
        };
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let cells = |cells: &Option<Cells>| cells.clone().unwrap_or_default();
        Tables {
            stations: cells(&self.occupancy)
                .iter()
                .map(|(code, count)| StationCount {
                    station: StationIx(small(code / shape.slots)),
                    slot: small(code % shape.slots),
                    taps: exact(count),
                })
                .collect(),
            od: cells(&self.od)
                .iter()
                .map(|(pair, count)| LegCount {
                    origin: StationIx(small(pair / shape.stations)),
                    dest: StationIx(small(pair % shape.stations)),
                    period: 0,
                    trips: exact(count),
                })
                .collect(),
            lengths: cells(&self.lengths)
                .iter()
                .map(|(taps, count)| LengthCount { taps: small(taps), cards: exact(count) })
                .collect(),
        }
    }
}

/// Whether slots tell the quarters of a day apart.
pub(super) fn has_quarters(shape: Shape) -> bool {
    shape.day >= QUARTERS && shape.day.is_multiple_of(QUARTERS)
}

/// Whether every quarter of the day begins with a period of the published table.
fn is_finer_than_quarters(shape: Shape, tables: &Tables) -> bool {
    let quarter = shape.day / QUARTERS;
    (0..QUARTERS).all(|n| tables.od.iter().any(|leg| u64::from(leg.period) == n * quarter))
}
