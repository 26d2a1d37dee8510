//! Questions that a planner asks, and whether a source answers them right.

use jiff::civil::{Date, Weekday};

use super::cells::Cells;
use super::source::Source;
use super::{Score, Shape};
use crate::model::Window;

/// Pairs that are compared.
pub(super) const PAIRS: usize = 20;

/// The right answers.
#[derive(Clone, Debug)]
pub(super) struct Planner {
    /// By part of the day: the busiest station, where anybody travels.
    busiest: Vec<Option<u64>>,
    peak: Option<u64>,
    pairs: Vec<u64>,
    mean_taps: Option<f64>,
    /// Taps of a mean weekday over those of a mean day of the weekend.
    weekdays: Option<f64>,
    /// Hours of a slot.
    slot_hours: f64,
}

impl Planner {
    pub(super) fn of(shape: Shape, window: &Window, truth: &Source) -> Self {
        let is_hourly = shape.day > 1;
        let occupancy = truth.occupancy.clone().unwrap_or_default();
        Self {
            busiest: if is_hourly { busiest(shape, &occupancy) } else { Vec::new() },
            peak: peak(shape, &occupancy).filter(|_| is_hourly),
            pairs: truth.od.as_ref().map(|od| od.largest(PAIRS)).unwrap_or_default(),
            mean_taps: truth.lengths.as_ref().and_then(mean_taps),
            weekdays: weekdays(shape, window, &occupancy),
            slot_hours: window.slot_secs() as f64 / 3_600.0,
        }
    }

    /// Parts of the day in which anybody travels.
    pub(super) fn n_hours(&self) -> usize {
        self.busiest.iter().flatten().count()
    }

    /// Pairs that there are to be right about.
    pub(super) fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn score(&self, shape: Shape, window: &Window, source: &Source, score: &mut Score) {
        if let Some(occupancy) = source.occupancy.as_ref() {
            if self.n_hours() > 0 {
                let said = busiest(shape, occupancy);
                let right = self.busiest.iter().zip(&said);
                let right = right.filter(|(truth, said)| truth.is_some() && truth == said).count();
                score.set("planner.busiest", Some(right as f64));
            }
            let apart = |a: u64, b: u64| a.abs_diff(b).min(shape.day - a.abs_diff(b));
            let off = self.peak.zip(peak(shape, occupancy)).map(|(a, b)| apart(a, b) as f64);
            score.set("planner.peak", off.map(|slots| slots * self.slot_hours));
            let said = weekdays(shape, window, occupancy);
            score.set("planner.weekdays", relative(self.weekdays, said));
        }
        if let Some(od) = source.od.as_ref().filter(|_| !self.pairs.is_empty()) {
            let said = od.largest(PAIRS);
            let right = self.pairs.iter().filter(|pair| said.contains(pair)).count();
            score.set("planner.pairs", Some(right as f64));
        }
        let said = source.lengths.as_ref().and_then(mean_taps);
        score.set("planner.mean_taps", relative(self.mean_taps, said));
    }
}

fn relative(truth: Option<f64>, said: Option<f64>) -> Option<f64> {
    truth.zip(said).filter(|(truth, _)| *truth > 0.0).map(|(a, b)| (b / a - 1.0).abs())
}

/// The station with the most cards in each part of the day, over all days; among equals the first.
fn busiest(shape: Shape, occupancy: &Cells) -> Vec<Option<u64>> {
    let by =
        occupancy.by(|code| code % shape.slots % shape.day * shape.stations + code / shape.slots);
    let mut best: Vec<Option<(f64, u64)>> =
        vec![None; usize::try_from(shape.day).unwrap_or_default()];
    for (key, count) in by.iter() {
        let (part, station) = ((key / shape.stations) as usize, key % shape.stations);
        if best[part].is_none_or(|(most, _)| count > most) {
            best[part] = Some((count, station));
        }
    }
    best.into_iter().map(|one| one.map(|(_, station)| station)).collect()
}

/// The part of the day with the most cards.
fn peak(shape: Shape, occupancy: &Cells) -> Option<u64> {
    occupancy.by(|code| code % shape.slots % shape.day).largest(1).first().copied()
}

fn mean_taps(lengths: &Cells) -> Option<f64> {
    let cards = lengths.total();
    let taps: f64 = lengths.iter().map(|(taps, cards)| taps as f64 * cards).sum();
    (cards > 0.0).then_some(taps / cards)
}

/// A mean weekday over a mean day of the weekend; `None` where the window lacks either. A day begins where the window's
/// does.
fn weekdays(shape: Shape, window: &Window, occupancy: &Cells) -> Option<f64> {
    let n_days = shape.slots.div_ceil(shape.day);
    let is_weekend = |day: u64| {
        let slot = u32::try_from(day * shape.day).ok()?;
        let date: Date = window.slot_label(slot).get(..10)?.parse().ok()?;
        Some(matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday))
    };
    let kinds: Vec<bool> = (0..n_days).map(is_weekend).collect::<Option<_>>()?;
    let by_day = occupancy.by(|code| code % shape.slots / shape.day);
    let mean = |kind: bool| {
        let days: Vec<u64> = (0..n_days).filter(|&day| kinds[day as usize] == kind).collect();
        let sum: f64 = days.iter().map(|&day| by_day.get(day)).sum();
        (!days.is_empty()).then(|| sum / days.len() as f64)
    };
    let (weekday, weekend) = (mean(false)?, mean(true)?);
    (weekend > 0.0).then_some(weekday / weekend)
}
