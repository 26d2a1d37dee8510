//! Trips as the judge holds them: equal ones once, with how many cards have each, in lexicographic order.

use std::fmt;

use rayon::slice::ParallelSliceMut;

use super::{Score, Shape};
use crate::model::{Doublet, PathKind};

/// A station and a slot in one number: station × slots + slot.
pub(super) type Code = u64;

/// Different trips, each with a count. Raw ones point at people: nothing here can be printed.
#[derive(Clone, Default)]
pub(super) struct Journeys {
    codes: Vec<Code>,
    ends: Vec<usize>,
    counts: Vec<u64>,
    total: u64,
}

impl fmt::Debug for Journeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Journeys(***)")
    }
}

impl Journeys {
    /// Trips as they were made or published.
    pub(super) fn timed<'a>(
        shape: Shape,
        paths: impl Iterator<Item = (&'a [Doublet], u64)>,
    ) -> Self {
        let code = |at: &Doublet| u64::from(at.station.0) * shape.slots + u64::from(at.slot);
        Self::of(paths.map(|(path, count)| (path.iter().map(code), count)))
    }

    /// Trips of numbers with counts; empty ones are none.
    pub(super) fn of(paths: impl Iterator<Item = (impl Iterator<Item = Code>, u64)>) -> Self {
        let mut codes: Vec<Code> = Vec::new();
        let mut spans: Vec<(usize, usize, u64)> = Vec::new();
        for (path, count) in paths {
            let start = codes.len();
            codes.extend(path);
            if codes.len() > start && count > 0 {
                spans.push((start, codes.len(), count));
            }
        }
        let slice = |span: &(usize, usize, u64)| &codes[span.0..span.1];
        spans.par_sort_unstable_by(|a, b| slice(a).cmp(slice(b)));
        let mut grouped = Self { codes: Vec::with_capacity(codes.len()), ..Self::default() };
        for same in spans.chunk_by(|a, b| slice(a) == slice(b)) {
            grouped.codes.extend_from_slice(slice(&same[0]));
            grouped.ends.push(grouped.codes.len());
            let count = same.iter().fold(0_u64, |sum, span| sum.saturating_add(span.2));
            grouped.counts.push(count);
            grouped.total = grouped.total.saturating_add(count);
        }
        grouped
    }

    /// Different trips.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Cards, as far as the counts say.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn get(&self, trip: usize) -> &[Code] {
        let start = trip.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.codes[start..self.ends[trip]]
    }

    pub(super) fn count(&self, trip: usize) -> u64 {
        self.counts[trip]
    }

    /// Trips with their counts, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[Code], u64)> {
        (0..self.len()).map(|trip| (self.get(trip), self.count(trip)))
    }

    /// The same without times: every number is a station.
    pub(super) fn places(&self, shape: Shape) -> Self {
        Self::of(self.iter().map(|(path, n)| (path.iter().map(|code| code / shape.slots), n)))
    }

    /// The stations of each trip as a set, in order.
    pub(super) fn station_sets(&self, shape: Shape) -> Self {
        Self::of(self.iter().map(|(path, n)| {
            let mut set: Vec<Code> = path.iter().map(|code| code / shape.slots).collect();
            set.sort_unstable();
            set.dedup();
            (set.into_iter(), n)
        }))
    }

    /// The trip of the card with this number, where cards are numbered trip by trip.
    pub(super) fn of_card(&self, upto: &[u64], card: u64) -> &[Code] {
        self.get(upto.partition_point(|&sum| sum <= card))
    }

    /// Cards up to and with each trip, for [`Self::of_card`].
    pub(super) fn running_counts(&self) -> Vec<u64> {
        let mut sum = 0_u64;
        let mut add = |&count: &u64| {
            sum = sum.saturating_add(count);
            sum
        };
        self.counts.iter().map(&mut add).collect()
    }

    /// Visits each number of a trip once, in no order that matters.
    pub(super) fn distinct(path: &[Code]) -> impl Iterator<Item = Code> + '_ {
        path.iter().enumerate().filter(|(at, code)| !path[..*at].contains(code)).map(|(_, &c)| c)
    }
}

/// Whether a trip contains a query, in its order, with or without gaps.
pub(super) fn contains(path: &[Code], query: &[Code]) -> bool {
    let mut wanted = query.iter();
    let mut next = wanted.next();
    for code in path {
        match next {
            Some(searched) if searched == code => next = wanted.next(),
            Some(_) => {}
            None => return true,
        }
    }
    next.is_none()
}

/// How much of the raw doublets is still there. Means something where an engine only suppresses.
pub(super) fn score_kept(raw: &Journeys, made: &Journeys, kind: PathKind, score: &mut Score) {
    let taps = |journeys: &Journeys| {
        journeys.iter().map(|(path, n)| path.len() as f64 * n as f64).sum::<f64>()
    };
    // Pairs of doublets of one trip: what projection-support-tree-2020 takes for the information of a trajectory.
    let pairs = |journeys: &Journeys| {
        let of = |length: usize| length as f64 * (length.saturating_sub(1)) as f64;
        journeys.iter().map(|(path, n)| of(path.len()) * n as f64).sum::<f64>()
    };
    let ratio = |made: f64, raw: f64| (raw > 0.0).then_some(made / raw);
    score.set("kept.doublets", ratio(taps(made), taps(raw)));
    score.set("kept.ploss", ratio(pairs(made), pairs(raw)).map(|kept| 1.0 - kept));
    if kind == PathKind::Timed {
        let distinct = |journeys: &Journeys| {
            let mut codes = journeys.codes.clone();
            codes.sort_unstable();
            codes.dedup();
            codes
        };
        let (before, after) = (distinct(raw), distinct(made));
        let still = before.iter().filter(|code| after.binary_search(code).is_ok()).count();
        score.set("kept.distinct", ratio(still as f64, before.len() as f64));
    }
}
