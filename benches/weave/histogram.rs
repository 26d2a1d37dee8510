//! What somebody would do instead: plain noisy tables, each with all of ε to itself and the clip that suits the truth
//! best. It flatters the tables, which could not share ε, and could not see which clip is best.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::judge::{Cards, Cells, Judge, Metric, Score};
use super::tables::{error, legs_of};

/// The best clipped table for every figure that a table can give.
pub(crate) fn score(judge: &Judge, epsilon: f64, seed: u64) -> Score {
    let mut noise = Noise(ChaCha8Rng::seed_from_u64(seed));
    let truth = &judge.truth;
    let universe = (truth.stations * truth.slots) as u64;
    let pairs = (truth.stations * truth.stations) as u64;
    let doublets = |trip: &[u32]| {
        let mut codes: Vec<u64> = trip.iter().map(|&code| code.into()).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    };
    let pair = |quarters: bool| {
        move |trip: &[u32]| -> Vec<u64> {
            legs_of(truth, trip)
                .map(|(from, to, slot)| {
                    let quarter = if quarters { slot % truth.day * 4 / truth.day } else { 0 };
                    ((from * truth.stations + to) * 4 + quarter) as u64
                })
                .collect()
        }
    };
    let every = |n: u64, step: usize| (0..n).step_by(step);
    let occupancy =
        best(truth, &judge.occupancy, every(universe, 1), 4..=12, epsilon, &mut noise, doublets);
    let od = best(truth, &judge.od, every(4 * pairs, 4), 1..=4, epsilon, &mut noise, pair(false));
    let by_quarter =
        best(truth, &judge.od_quarter, every(4 * pairs, 1), 1..=4, epsilon, &mut noise, pair(true));
    let mut lengths = judge.lengths.clone();
    lengths
        .values_mut()
        .for_each(|cards| *cards = (*cards + noise.laplace(1.0 / epsilon)).max(0.0));
    let mut score = judge.tables(&occupancy, &od, Some(&by_quarter), &lengths);
    if truth.slots == 1 {
        score.set(Metric::OdQuarter, score.get(Metric::Od).unwrap_or(1.0));
    }
    score
}

/// The noisy table, negative cells at nothing, whose clip is nearest to the truth.
fn best(
    truth: &Cards,
    wanted: &Cells,
    universe: impl Iterator<Item = u64> + Clone,
    clips: std::ops::RangeInclusive<u32>,
    epsilon: f64,
    noise: &mut Noise,
    cells: impl Fn(&[u32]) -> Vec<u64>,
) -> Cells {
    let mut all: Vec<(f64, Cells)> = Vec::new();
    for clip in clips.map(f64::from) {
        let mut table = Cells::new();
        for trip in &truth.trips {
            let own = cells(trip);
            let weight = (clip / own.len().max(1) as f64).min(1.0);
            own.into_iter().for_each(|cell| *table.entry(cell).or_default() += weight);
        }
        let mut noisy = Cells::new();
        for cell in universe.clone() {
            let value = table.get(&cell).unwrap_or(&0.0) + noise.laplace(clip / epsilon);
            if value > 0.0 {
                noisy.insert(cell, value);
            }
        }
        all.push((error(wanted, &noisy), noisy));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().next().map(|(_, table)| table).unwrap_or_default()
}

struct Noise(ChaCha8Rng);

impl Noise {
    fn laplace(&mut self, scale: f64) -> f64 {
        let unit = (f64::from(self.0.next_u32()) + 0.5) / 4_294_967_296.0 - 0.5;
        -scale * unit.signum() * (1.0 - 2.0 * unit.abs()).ln()
    }
}
