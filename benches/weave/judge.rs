//! How far a release is from the truth. Reads raw data: for benches, never for a release.

use std::collections::{HashMap, HashSet};

use super::tables::{
    count, divergence, error, legs, legs_of, lengths, mean, occupancy, patterns, peak, repeats, top,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tapveil::engine::Tables;

/// How legs are made of taps: every n-th step, unless it takes too long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LegRule {
    pub(crate) step: usize,
    /// Slots that a leg takes at most.
    pub(crate) longest: Option<u32>,
}

/// Trajectories as codes: station × slots + slot.
pub(crate) struct Cards {
    pub(crate) stations: usize,
    pub(crate) slots: usize,
    /// Slots of a day.
    pub(crate) day: usize,
    pub(crate) legs: LegRule,
    pub(crate) trips: Vec<Vec<u32>>,
}

/// What is measured, in the order in which it is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Metric {
    /// Count queries of 1, 2 and 3 doublets drawn from the data.
    Q1,
    Q2,
    Q3,
    /// Σ|error|/Σ of cards per station and slot.
    StationHour,
    /// The same for their sums by station and by hour of the day.
    ByStation,
    ByHour,
    /// Σ|error|/Σ of legs over the window, and by quarter of the day.
    Od,
    OdQuarter,
    /// How many of the 20 largest pairs are among the 20 largest.
    Top20,
    /// Hours between the busiest hour of the day and the one that is said.
    PeakHour,
    /// Relative error of the mean number of taps.
    MeanTaps,
    /// Jensen–Shannon divergence of lengths and of legs.
    LengthJsd,
    OdJsd,
    /// Share of the 100 most frequent runs of two to five stations that are among the 100.
    Patterns,
    /// Share of trips of two taps or more that repeat a raw trip that only one card made.
    Repeats,
}

impl Metric {
    pub(crate) const ALL: [Self; 15] = [
        Self::Q1,
        Self::Q2,
        Self::Q3,
        Self::StationHour,
        Self::ByStation,
        Self::ByHour,
        Self::Od,
        Self::OdQuarter,
        Self::Top20,
        Self::PeakHour,
        Self::MeanTaps,
        Self::LengthJsd,
        Self::OdJsd,
        Self::Patterns,
        Self::Repeats,
    ];

    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Q1 => "one doublet (q1)",
            Self::Q2 => "two doublets (q2)",
            Self::Q3 => "three doublets (q3)",
            Self::StationHour => "station x hour",
            Self::ByStation => "  its sums by station",
            Self::ByHour => "  its sums by hour of the day",
            Self::Od => "leg OD",
            Self::OdQuarter => "leg OD by quarter of the day",
            Self::Top20 => "top 20 OD pairs right",
            Self::PeakHour => "peak hour, hours off",
            Self::MeanTaps => "mean taps per card, relative error",
            Self::LengthJsd => "lengths, JSD",
            Self::OdJsd => "leg OD, JSD",
            Self::Patterns => "top 100 patterns",
            Self::Repeats => "repeats a trip of one card",
        }
    }
}

/// One column of figures; what a source cannot say is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Score([Option<f64>; Metric::ALL.len()]);

impl Score {
    pub(crate) fn get(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }

    pub(crate) fn set(&mut self, metric: Metric, value: f64) {
        self.0[metric as usize] = Some(value);
    }

    /// The mean of several, where all of them say something.
    pub(crate) fn mean(scores: &[Self]) -> Self {
        let mut mean = Self::default();
        for metric in Metric::ALL {
            let values: Option<Vec<f64>> = scores.iter().map(|score| score.get(metric)).collect();
            if let Some(values) = values.filter(|values| !values.is_empty()) {
                mean.set(metric, values.iter().sum::<f64>() / values.len() as f64);
            }
        }
        mean
    }
}

pub(crate) type Cells = HashMap<u64, f64>;

const QUERIES: usize = 4_000;

/// The truth, looked at once.
pub(crate) struct Judge {
    pub(crate) truth: Cards,
    queries: Vec<(Vec<Vec<u32>>, Vec<f64>)>,
    pub(crate) occupancy: Cells,
    pub(crate) od: Cells,
    pub(crate) od_quarter: Cells,
    pub(crate) lengths: Cells,
    patterns: Vec<Vec<u32>>,
}

impl Judge {
    pub(crate) fn new(truth: Cards) -> Self {
        let mut rng = ChaCha8Rng::from_seed([7; 32]);
        let mut below = |n: usize| ((u64::from(rng.next_u32()) * n as u64) >> 32) as usize;
        let queries = (1..=3)
            .map(|n| {
                let mut queries = Vec::new();
                for _ in 0..100 * QUERIES {
                    let trip = &truth.trips[below(truth.trips.len())];
                    if trip.len() < n || queries.len() == QUERIES {
                        continue;
                    }
                    let mut places: Vec<usize> = (0..trip.len()).collect();
                    (0..n).for_each(|at| places.swap(at, at + below(trip.len() - at)));
                    places.truncate(n);
                    places.sort_unstable();
                    queries.push(places.into_iter().map(|at| trip[at]).collect());
                }
                let counts = count(&truth, &queries);
                (queries, counts)
            })
            .collect();
        let patterns = patterns(&truth);
        Self {
            queries,
            occupancy: occupancy(&truth),
            od: legs(&truth, false),
            od_quarter: legs(&truth, true),
            lengths: lengths(&truth),
            patterns,
            truth,
        }
    }

    /// The error of count queries of `n` doublets, given what is said of each.
    fn query_error(&self, n: usize, said: &[f64]) -> f64 {
        let least = self.truth.trips.len() as f64 / 1_000.0;
        let counts = &self.queries[n - 1].1;
        let sum: f64 = counts.iter().zip(said).map(|(a, b)| (a - b).abs() / a.max(least)).sum();
        sum / counts.len().max(1) as f64
    }

    /// What publishing nothing scores.
    pub(crate) fn nothing(&self) -> Score {
        let mut score = Score::default();
        for (n, metric) in [(1, Metric::Q1), (2, Metric::Q2), (3, Metric::Q3)] {
            score.set(metric, self.query_error(n, &vec![0.0; self.queries[n - 1].1.len()]));
        }
        for metric in [Metric::StationHour, Metric::Od, Metric::OdQuarter] {
            score.set(metric, 1.0);
        }
        score.set(Metric::Top20, 0.0);
        score
    }

    /// What tables say.
    pub(crate) fn tables(
        &self,
        occupancy: &Cells,
        od: &Cells,
        od_quarter: Option<&Cells>,
        lengths: &Cells,
    ) -> Score {
        let mut score = Score::default();
        let of_cell = |query: &Vec<u32>| *occupancy.get(&u64::from(query[0])).unwrap_or(&0.0);
        let said: Vec<f64> = self.queries[0].0.iter().map(of_cell).collect();
        score.set(Metric::Q1, self.query_error(1, &said));
        score.set(Metric::StationHour, error(&self.occupancy, occupancy));
        let Cards { slots, day, .. } = self.truth;
        let by = |cells: &Cells, class: &dyn Fn(u64) -> u64| {
            let mut sums = Cells::new();
            cells.iter().for_each(|(code, n)| *sums.entry(class(*code)).or_default() += n);
            sums
        };
        let sums =
            |class: &dyn Fn(u64) -> u64| error(&by(&self.occupancy, class), &by(occupancy, class));
        score.set(Metric::ByStation, sums(&|code| code / slots as u64));
        if slots > 1 {
            score.set(Metric::ByHour, sums(&|code| code % slots as u64 % day as u64));
            let day = self.truth.day;
            let peak = |cells: &Cells| peak(cells, self.truth.slots, day);
            let off = peak(&self.occupancy).abs_diff(peak(occupancy));
            score.set(Metric::PeakHour, off.min(day - off) as f64);
        }
        score.set(Metric::Od, error(&self.od, od));
        if let Some(od_quarter) = od_quarter {
            score.set(Metric::OdQuarter, error(&self.od_quarter, od_quarter));
        }
        score.set(Metric::OdJsd, divergence(&self.od, od));
        let largest: HashSet<u64> = top(od, 20).into_iter().collect();
        let right = top(&self.od, 20).iter().filter(|pair| largest.contains(pair)).count();
        score.set(Metric::Top20, right as f64);
        score.set(Metric::MeanTaps, (mean(lengths) / mean(&self.lengths) - 1.0).abs());
        score.set(Metric::LengthJsd, divergence(&self.lengths, lengths));
        score
    }

    /// What the published tables say.
    pub(crate) fn published(&self, tables: &Tables) -> Score {
        let Cards { stations, slots, day, .. } = self.truth;
        let code = |station: u32, slot: u32| u64::from(station) * slots as u64 + u64::from(slot);
        let occupancy = tables
            .stations
            .iter()
            .map(|cell| (code(cell.station.0, cell.slot), cell.taps.value as f64))
            .collect();
        let (mut od, mut od_quarter) = (Cells::new(), Cells::new());
        let periods: HashSet<u32> = tables.od.iter().map(|leg| leg.period).collect();
        for leg in &tables.od {
            let pair = u64::from(leg.origin.0) * stations as u64 + u64::from(leg.dest.0);
            *od.entry(pair * 4).or_default() += leg.trips.value as f64;
            let quarter = u64::from(leg.period) * 4 / day as u64;
            *od_quarter.entry(pair * 4 + quarter).or_default() += leg.trips.value as f64;
        }
        let lengths = tables
            .lengths
            .iter()
            .map(|length| (u64::from(length.taps), length.cards.value as f64))
            .collect();
        let by_quarter = (periods.len() >= 4).then_some(&od_quarter);
        self.tables(&occupancy, &od, by_quarter, &lengths)
    }

    /// What synthetic trips say.
    pub(crate) fn trips(&self, made: &Cards) -> Score {
        let (od, od_quarter) = (legs(made, false), legs(made, true));
        let mut score = self.tables(&occupancy(made), &od, Some(&od_quarter), &lengths(made));
        for (n, metric) in [(1, Metric::Q1), (2, Metric::Q2), (3, Metric::Q3)] {
            score.set(metric, self.query_error(n, &count(made, &self.queries[n - 1].0)));
        }
        let found: HashSet<Vec<u32>> = patterns(made).into_iter().collect();
        let right = self.patterns.iter().filter(|run| found.contains(*run)).count();
        score.set(Metric::Patterns, right as f64 / self.patterns.len().max(1) as f64);
        score.set(Metric::Repeats, repeats(&self.truth, made));
        score
    }

    /// Legs by pair and period, given the first slots of all periods.
    pub(crate) fn legs_by_period(&self, periods: &[u32]) -> Cells {
        let truth = &self.truth;
        let mut table = Cells::new();
        for trip in &truth.trips {
            for (from, to, slot) in legs_of(truth, trip) {
                let begun = periods.partition_point(|&first| first as usize <= slot % truth.day);
                let period = periods.get(begun.saturating_sub(1)).copied().unwrap_or(0) as usize;
                let cell = (from * truth.stations + to) * truth.day + period;
                *table.entry(cell as u64).or_default() += 1.0;
            }
        }
        table
    }

    /// What chance gives: how often one card more, from the same city, would repeat a trip that only one card made.
    /// Good's estimate (1953): twice the number of trips that two cards made, over all cards.
    pub(crate) fn chance_of_repeats(&self) -> f64 {
        let mut seen: HashMap<&[u32], u32> = HashMap::new();
        self.truth.trips.iter().for_each(|trip| *seen.entry(trip).or_default() += 1);
        let twice = seen.iter().filter(|(trip, n)| trip.len() > 1 && **n == 2).count();
        2.0 * twice as f64 / self.truth.trips.len().max(1) as f64
    }
}
