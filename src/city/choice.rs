//! Draws: weighted choices, times near a usual one, waits, stays and luck; and the distribution of trajectory lengths.
//!
//! The distributions are `rand_distr`'s. Sums, products and quotients are exact to the last bit on every machine;
//! logarithms and exponentials are not. Whatever is drawn with one is rounded at once, to whole seconds or
//! thousandths, so that the last bit hardly ever shows (decision 0011).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use rand_distr::weighted::WeightedAliasIndex;
use rand_distr::{Distribution, Exp1, LogNormal, Normal, Pareto};

/// A weighted choice among the numbers below `n`.
#[derive(Debug, Clone)]
pub(super) struct Choice(WeightedAliasIndex<f64>);

impl Choice {
    /// Chooses number `i` with a probability proportional to `weights[i]`.
    pub(super) fn new(weights: &[f64]) -> Choice {
        let index = WeightedAliasIndex::new(weights.to_vec());
        Choice(index.expect("a choice has something to choose from, with positive weights"))
    }

    /// Draws one number.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng) -> usize {
        self.0.sample(rng)
    }
}

/// Draws a number below `bound`. The scaling favours some numbers by at most `bound` in 2^32,
/// which no statistic of a synthetic city can see, and never has to draw twice.
pub(super) fn below(bound: u32, rng: &mut ChaCha8Rng) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(bound)) >> 32) as u32
}

/// The standard deviation of habits and delays, as a part of the most that they differ.
const DEVIATION: f64 = 0.29;

/// Draws a number of seconds in `-spread..=spread`, normally distributed around zero.
pub(super) fn around_zero(spread: u32, rng: &mut ChaCha8Rng) -> i64 {
    let most = f64::from(spread);
    let normal = Normal::new(0.0, DEVIATION * most).expect("a deviation is a number");
    normal.sample(rng).clamp(-most, most).round() as i64
}

/// Draws the seconds until the next train or bus: exponential, at most six headways.
pub(super) fn wait(headway: u32, rng: &mut ChaCha8Rng) -> u32 {
    let headways: f64 = Exp1.sample(rng);
    (headways.min(6.0) * f64::from(headway)).round() as u32
}

/// Draws how many seconds somebody stays at the end of an outing that usually takes so many: log-normal around that,
/// between half and twice as long.
pub(super) fn stay(usual: u32, rng: &mut ChaCha8Rng) -> u32 {
    let times = LogNormal::<f64>::new(0.0, 0.12).expect("both parameters are numbers");
    (times.sample(rng).clamp(0.5, 2.0) * f64::from(usual)).round() as u32
}

/// Draws how much more popular a station is than its place says: Pareto's law with shape 1, cut off at 20.
pub(super) fn luck(rng: &mut ChaCha8Rng) -> f64 {
    let law = Pareto::<f64>::new(1.0, 1.0).expect("both parameters are positive");
    // One draw in twenty lies beyond the end, and is drawn again.
    let luck = law.sample_iter(rng).find(|luck| *luck <= 20.0).unwrap_or(1.0);
    (luck * 1_000.0).round() / 1_000.0
}

/// The share of cards whose length comes from the heavy tail.
const TAIL_SHARE: f64 = 0.02;

/// The tail decays by about exp(-3.5) from length 1 to the maximum. With [`TAIL_SHARE`] this puts
/// so much weight on the maximum that each preset, at its full size, expects 13 cards or more of
/// exactly that length: a full-size city misses its maximum at most once in about 800,000 seeds.
const TAIL_DECAY: f64 = 3.5;

/// The probabilities of the lengths `min`, `min` + 1, ..., `max`, with exactly the asked mean (up to rounding): all
/// the same if that gives the mean, otherwise a truncated geometric body plus a slowly decaying tail.
pub(super) fn length_probabilities(mean: f64, min: u32, max: u32) -> Vec<f64> {
    if (mean * 2.0 - f64::from(min + max)).abs() < 1e-9 {
        return vec![1.0 / f64::from(max - min + 1); (max - min + 1) as usize];
    }
    from_one(mean - f64::from(min - 1), max - (min - 1))
}

fn from_one(mean: f64, max: u32) -> Vec<f64> {
    let tail = truncated_geometric(1.0 - TAIL_DECAY / f64::from(max), max);
    let tail_mean = mean_length(&tail);
    let body_mean = (mean - TAIL_SHARE * tail_mean) / (1.0 - TAIL_SHARE);
    // The mean of the body grows with its ratio, so halving an interval finds the ratio; sixty
    // halvings exhaust the precision of the numbers.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let ratio = (low + high) / 2.0;
        if mean_length(&truncated_geometric(ratio, max)) < body_mean {
            low = ratio;
        } else {
            high = ratio;
        }
    }
    let body = truncated_geometric(low, max);
    body.iter().zip(&tail).map(|(b, t)| (1.0 - TAIL_SHARE) * b + TAIL_SHARE * t).collect()
}

/// The mean of a distribution on 1, 2, ...
pub(super) fn mean_length(probabilities: &[f64]) -> f64 {
    probabilities.iter().zip(1_u32..).map(|(p, length)| p * f64::from(length)).sum()
}

/// The probabilities of 1, ..., `max`, each `ratio` times the one before.
fn truncated_geometric(ratio: f64, max: u32) -> Vec<f64> {
    let mut weight = 1.0;
    let weights: Vec<f64> = (0..max)
        .map(|_| {
            let this = weight;
            weight *= ratio;
            this
        })
        .collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}
