//! How far a synthetic window is from the true one. Reads raw data: for benches, never for a release.

use std::collections::{BTreeMap, HashMap, HashSet};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Trajectories as codes: station × slots + slot.
pub(crate) struct Cards {
    pub(crate) stations: usize,
    pub(crate) slots: usize,
    /// Slots of a day.
    pub(crate) day: usize,
    pub(crate) trips: Vec<Vec<u32>>,
}

/// One line of figures.
#[derive(Default, Clone, Debug)]
pub(crate) struct Score {
    /// Count queries of 1, 2 and 3 doublets drawn from the data.
    pub(crate) queries: [f64; 3],
    /// Σ|error|/Σ of cards per station and slot.
    pub(crate) station_hour: f64,
    /// Σ|error|/Σ of legs (first tap to second, third to fourth, …) by day and by quarter of the day.
    pub(crate) od: f64,
    pub(crate) od_quarter: f64,
    /// The same for every tap to the next one.
    pub(crate) od_next: f64,
    /// How many of the 20 largest pairs are among the 20 largest.
    pub(crate) top: usize,
    pub(crate) mean_length: f64,
    pub(crate) length_divergence: f64,
    pub(crate) od_divergence: f64,
    /// Share of the 100 most frequent station patterns found.
    pub(crate) patterns: f64,
    /// Share of synthetic trips that repeat a raw trip of two taps or more that only one card made.
    pub(crate) repeats: f64,
}

const QUERIES: usize = 4_000;

/// The truth, looked at once.
pub(crate) struct Judge {
    truth: Cards,
    queries: Vec<(Vec<Vec<u32>>, Vec<f64>)>,
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
        Self { truth, queries }
    }

    pub(crate) fn score(&self, made: &Cards) -> Score {
        let truth = &self.truth;
        let least = truth.trips.len() as f64 / 1_000.0;
        let mut score = Score::default();
        for (error, (queries, counts)) in score.queries.iter_mut().zip(&self.queries) {
            let made = count(made, queries);
            let sum: f64 = counts.iter().zip(made).map(|(a, b)| (a - b).abs() / a.max(least)).sum();
            *error = sum / counts.len().max(1) as f64;
        }
        let quarter = |slot: usize| slot % truth.day * 4 / truth.day;
        score.station_hour = error(&occupancy(truth), &occupancy(made));
        let (day, made_day) = (legs(truth, 2, |_| 0), legs(made, 2, |_| 0));
        score.od = error(&day, &made_day);
        score.od_quarter = error(&legs(truth, 2, quarter), &legs(made, 2, quarter));
        score.od_next = error(&legs(truth, 1, |_| 0), &legs(made, 1, |_| 0));
        let largest: HashSet<u64> = top(&made_day, 20).into_iter().collect();
        score.top = top(&day, 20).iter().filter(|pair| largest.contains(pair)).count();
        score.mean_length =
            made.trips.iter().map(Vec::len).sum::<usize>() as f64 / made.trips.len().max(1) as f64;
        score.length_divergence = divergence(&lengths(truth), &lengths(made));
        score.od_divergence = divergence(&day, &made_day);
        let found: HashSet<Vec<u32>> = patterns(made).into_iter().collect();
        let wanted = patterns(truth);
        score.patterns = wanted.iter().filter(|p| found.contains(*p)).count() as f64
            / wanted.len().max(1) as f64;
        score.repeats = repeats(truth, made);
        score
    }
}

impl Score {
    pub(crate) const HEAD: &'static str = "                      q1     q2     q3 | st×h    OD    ODq  ODnext top20 |  mean  lenJ   odJ   pat  repeats";

    pub(crate) fn line(&self, name: &str) -> String {
        let [q1, q2, q3] = self.queries;
        format!(
            "{name:<18} {q1:.4} {q2:.4} {q3:.4} | {:.4} {:.4} {:.4} {:.4}   {:>2} | {:6.3} {:.4} {:.4} {:.2} {:.5}",
            self.station_hour,
            self.od,
            self.od_quarter,
            self.od_next,
            self.top,
            self.mean_length,
            self.length_divergence,
            self.od_divergence,
            self.patterns,
            self.repeats
        )
    }
}

type Table = HashMap<u64, f64>;

fn occupancy(cards: &Cards) -> Table {
    let mut table = Table::new();
    for trip in &cards.trips {
        let is_new = |(at, code): &(usize, &u32)| !trip[..*at].contains(code);
        for (_, code) in trip.iter().enumerate().filter(is_new) {
            *table.entry(u64::from(*code)).or_default() += 1.0;
        }
    }
    table
}

fn legs(cards: &Cards, step: usize, period: impl Fn(usize) -> usize) -> Table {
    let mut table = Table::new();
    for trip in &cards.trips {
        for at in (0..trip.len().saturating_sub(1)).step_by(step) {
            let (from, to) = (trip[at] as usize / cards.slots, trip[at + 1] as usize / cards.slots);
            let when = period(trip[at] as usize % cards.slots);
            let cell = (from * cards.stations + to) * 4 + when;
            *table.entry(cell as u64).or_default() += 1.0;
        }
    }
    table
}

fn lengths(cards: &Cards) -> Table {
    let mut table = Table::new();
    cards.trips.iter().for_each(|trip| *table.entry(trip.len() as u64).or_default() += 1.0);
    table
}

/// Σ|a − b|/Σa.
fn error(truth: &Table, made: &Table) -> f64 {
    let total: f64 = truth.values().sum();
    let off: f64 = truth.iter().map(|(cell, n)| (n - made.get(cell).unwrap_or(&0.0)).abs()).sum();
    let extra: f64 =
        made.iter().filter(|(cell, _)| !truth.contains_key(cell)).map(|(_, n)| n).sum();
    (off + extra) / total.max(1.0)
}

/// Jensen–Shannon, natural logarithm.
fn divergence(a: &Table, b: &Table) -> f64 {
    let (all_a, all_b): (f64, f64) = (a.values().sum(), b.values().sum());
    let keys: HashSet<&u64> = a.keys().chain(b.keys()).collect();
    let term = |p: f64, m: f64| if p > 0.0 { 0.5 * p * (p / m).ln() } else { 0.0 };
    keys.into_iter()
        .map(|key| {
            let (p, q) = (a.get(key).unwrap_or(&0.0) / all_a, b.get(key).unwrap_or(&0.0) / all_b);
            term(p, (p + q) / 2.0) + term(q, (p + q) / 2.0)
        })
        .sum()
}

fn top(table: &Table, n: usize) -> Vec<u64> {
    let mut cells: Vec<(&u64, &f64)> = table.iter().collect();
    cells.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
    cells.into_iter().take(n).map(|(cell, _)| *cell).collect()
}

/// The 100 most frequent runs of two to five stations.
fn patterns(cards: &Cards) -> Vec<Vec<u32>> {
    let mut counts: HashMap<Vec<u32>, u32> = HashMap::new();
    for trip in &cards.trips {
        let stations: Vec<u32> = trip.iter().map(|code| code / cards.slots as u32).collect();
        for n in 2..=5 {
            stations.windows(n).for_each(|run| *counts.entry(run.to_vec()).or_default() += 1);
        }
    }
    let mut runs: Vec<(Vec<u32>, u32)> = counts.into_iter().collect();
    runs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    runs.into_iter().take(100).map(|(run, _)| run).collect()
}

fn repeats(truth: &Cards, made: &Cards) -> f64 {
    let mut seen: HashMap<&[u32], u32> = HashMap::new();
    truth.trips.iter().for_each(|trip| *seen.entry(trip).or_default() += 1);
    let again = made
        .trips
        .iter()
        .filter(|trip| trip.len() > 1 && seen.get(trip.as_slice()) == Some(&1))
        .count();
    again as f64 / made.trips.len().max(1) as f64
}

/// How many trips contain each query, in order.
fn count(cards: &Cards, queries: &[Vec<u32>]) -> Vec<f64> {
    let mut by_first: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    queries
        .iter()
        .enumerate()
        .for_each(|(ix, query)| by_first.entry(query[0]).or_default().push(ix));
    let mut index: Vec<&[usize]> = vec![&[]; cards.stations * cards.slots];
    by_first.iter().for_each(|(code, list)| index[*code as usize] = list);
    let mut counts = vec![0.0; queries.len()];
    for trip in &cards.trips {
        for (at, code) in trip.iter().enumerate() {
            if trip[..at].contains(code) {
                continue;
            }
            for &ix in index[*code as usize] {
                let mut rest = trip[at + 1..].iter();
                if queries[ix][1..].iter().all(|wanted| rest.any(|code| code == wanted)) {
                    counts[ix] += 1.0;
                }
            }
        }
    }
    counts
}
