//! Weighted choices among a handful of things, and the distribution of trajectory lengths.
//!
//! Only sums, products and quotients of floating-point numbers are used here and in the rest of
//! the city: these are exact to the last bit on every machine, unlike `exp`, `ln` or `sin`.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// A weighted choice among the numbers below `n`, drawn with one 32-bit word.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// The first word that belongs to the next number; the last number takes all that is left.
    ends: Vec<u32>,
}

impl Choice {
    /// Chooses number `i` with a probability proportional to `weights[i]`.
    pub(super) fn new(weights: &[f64]) -> Choice {
        assert!(!weights.is_empty(), "a choice needs something to choose from");
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let ends = weights[..weights.len() - 1]
            .iter()
            .map(|weight| {
                sum += weight;
                (sum / total * 4_294_967_296.0) as u32
            })
            .collect();
        Choice { ends }
    }

    /// Draws one number.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng) -> usize {
        let word = rng.next_u32();
        self.ends.partition_point(|&end| end <= word)
    }
}

/// Draws a number below `bound`. The scaling favours some numbers by at most `bound` in 2^32,
/// which no statistic of a synthetic city can see, and never has to draw twice.
pub(super) fn below(bound: u32, rng: &mut ChaCha8Rng) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(bound)) >> 32) as u32
}

/// Draws a bell-shaped whole number in `-spread..=spread`, as the sum of four uniform ones; its
/// standard deviation is about 0.29 of `spread`.
pub(super) fn around_zero(spread: u32, rng: &mut ChaCha8Rng) -> i64 {
    let sixteen_bits = |word: u32| i64::from(word & 0xffff) + i64::from(word >> 16);
    let sum = sixteen_bits(rng.next_u32()) + sixteen_bits(rng.next_u32());
    (sum - 2 * 0xffff) * i64::from(spread) / (2 * 0xffff)
}

/// The share of cards whose length comes from the heavy tail.
const TAIL_SHARE: f64 = 0.02;

/// The tail decays by about exp(-3.5) from length 1 to the maximum. With [`TAIL_SHARE`] this puts
/// so much weight on the maximum that each preset, at its full size, expects 13 cards or more of
/// exactly that length: a full-size city misses its maximum at most once in about 800,000 seeds.
const TAIL_DECAY: f64 = 3.5;

/// The probabilities of the lengths 1, 2, ..., `max`, with exactly the asked mean (up to
/// rounding): a truncated geometric body plus a slowly decaying tail.
pub(super) fn length_probabilities(mean: f64, max: u32) -> Vec<f64> {
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
