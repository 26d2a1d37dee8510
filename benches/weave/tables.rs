//! Tables of trips, counted plainly, and how far two of them are apart.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::judge::{Cards, Cells};

pub(crate) fn mean(lengths: &Cells) -> f64 {
    let taps: f64 = lengths.iter().map(|(taps, cards)| *taps as f64 * cards).sum();
    taps / lengths.values().sum::<f64>().max(1.0)
}

/// The hour of the day with the most cards.
pub(crate) fn peak(occupancy: &Cells, slots: usize, day: usize) -> usize {
    let mut hours = vec![0.0; day];
    occupancy.iter().for_each(|(code, cards)| hours[*code as usize % slots % day] += cards);
    (0..day).max_by(|a, b| hours[*a].total_cmp(&hours[*b])).unwrap_or(0)
}

pub(crate) fn occupancy(cards: &Cards) -> Cells {
    let mut table = Cells::new();
    for trip in &cards.trips {
        let is_new = |(at, code): &(usize, &u32)| !trip[..*at].contains(code);
        for (_, code) in trip.iter().enumerate().filter(is_new) {
            *table.entry(u64::from(*code)).or_default() += 1.0;
        }
    }
    table
}

/// The legs of one trip: origin, destination, slot in which it begins.
pub(crate) fn legs_of<'a>(
    cards: &'a Cards,
    trip: &'a [u32],
) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
    let slot = |code: u32| code as usize % cards.slots;
    (0..trip.len().saturating_sub(1))
        .step_by(cards.legs.step)
        .map(move |at| (trip[at], trip[at + 1]))
        .filter(move |&(a, b)| {
            cards.legs.longest.is_none_or(|most| slot(b) - slot(a) <= most as usize)
        })
        .map(move |(a, b)| (a as usize / cards.slots, b as usize / cards.slots, slot(a)))
}

pub(crate) fn legs(cards: &Cards, by_quarter: bool) -> Cells {
    let mut table = Cells::new();
    for trip in &cards.trips {
        for (from, to, slot) in legs_of(cards, trip) {
            let quarter = if by_quarter { slot % cards.day * 4 / cards.day } else { 0 };
            *table.entry(((from * cards.stations + to) * 4 + quarter) as u64).or_default() += 1.0;
        }
    }
    table
}

pub(crate) fn lengths(cards: &Cards) -> Cells {
    let mut table = Cells::new();
    cards.trips.iter().for_each(|trip| *table.entry(trip.len() as u64).or_default() += 1.0);
    table
}

/// Σ|a − b|/Σa.
pub(crate) fn error(truth: &Cells, made: &Cells) -> f64 {
    let total: f64 = truth.values().sum();
    let off: f64 = truth.iter().map(|(cell, n)| (n - made.get(cell).unwrap_or(&0.0)).abs()).sum();
    let extra: f64 =
        made.iter().filter(|(cell, _)| !truth.contains_key(cell)).map(|(_, n)| n).sum();
    (off + extra) / total.max(1.0)
}

/// Jensen–Shannon, natural logarithm.
pub(crate) fn divergence(a: &Cells, b: &Cells) -> f64 {
    let (all_a, all_b): (f64, f64) = (a.values().sum(), b.values().sum());
    let keys: HashSet<&u64> = a.keys().chain(b.keys()).collect();
    let term = |p: f64, m: f64| if p > 0.0 { 0.5 * p * (p / m).ln() } else { 0.0 };
    keys.into_iter()
        .map(|key| {
            let p = a.get(key).unwrap_or(&0.0) / all_a.max(1e-9);
            let q = b.get(key).unwrap_or(&0.0) / all_b.max(1e-9);
            term(p, (p + q) / 2.0) + term(q, (p + q) / 2.0)
        })
        .sum()
}

pub(crate) fn top(table: &Cells, n: usize) -> Vec<u64> {
    let mut cells: Vec<(&u64, &f64)> = table.iter().collect();
    cells.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
    cells.into_iter().take(n).map(|(cell, _)| *cell).collect()
}

/// The 100 most frequent runs of two to five stations.
pub(crate) fn patterns(cards: &Cards) -> Vec<Vec<u32>> {
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

pub(crate) fn repeats(truth: &Cards, made: &Cards) -> f64 {
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
pub(crate) fn count(cards: &Cards, queries: &[Vec<u32>]) -> Vec<f64> {
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
