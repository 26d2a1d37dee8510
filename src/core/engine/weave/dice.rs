//! Weighted choices in whole numbers, and the generators that throw them.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::engine::noise::stream;
use crate::secret::NoiseKey;

/// What throws dice after everything was measured. Its key is drawn from the release's, so a release can be made
/// again; it need not be secret, so it is a fast one.
pub(super) type Thrower = ChaCha8Rng;

/// The generator of one piece of work; `usage` names the work, beyond the numbers of the tables.
pub(super) fn thrower(key: &NoiseKey, usage: Usage, piece: u64) -> Thrower {
    let mut seed = [0; 32];
    stream(key, usage as u32, piece).fill_bytes(&mut seed);
    ChaCha8Rng::from_seed(seed)
}

/// Which work; each has streams of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Usage {
    Starts = 1_000,
    Draft = 1_001,
    Solve = 1_002,
}

/// A number below `bound`.
#[inline]
pub(super) fn below(rng: &mut Thrower, bound: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(bound)) >> 32) as u32
}

/// Whether something of this probability happens.
#[inline]
pub(super) fn happens(rng: &mut Thrower, probability: f64) -> bool {
    f64::from(rng.next_u32()) < probability * 4_294_967_296.0
}

/// A weighted choice that takes one word to throw (Walker's alias method).
#[derive(Clone, Debug, Default)]
pub(super) struct Dice {
    /// By side: below which word it is kept, and the side it gives way to.
    sides: Box<[(u32, u32)]>,
}

impl Dice {
    /// Sides with these weights; negative ones count nothing.
    pub(super) fn new(weights: impl Iterator<Item = f64>) -> Self {
        let mut weights: Vec<f64> = weights.map(|weight| weight.max(0.0)).collect();
        let total: f64 = weights.iter().sum();
        if total <= 0.0 || !total.is_finite() {
            return Self::default();
        }
        let factor = weights.len() as f64 / total;
        weights.iter_mut().for_each(|weight| *weight *= factor);
        let mut sides: Box<[(u32, u32)]> =
            (0..weights.len() as u32).map(|side| (u32::MAX, side)).collect();
        let (mut few, mut many): (Vec<u32>, Vec<u32>) =
            (0..weights.len() as u32).partition(|&side| weights[side as usize] < 1.0);
        while let (Some(&low), Some(&high)) = (few.last(), many.last()) {
            few.pop();
            sides[low as usize] = ((weights[low as usize] * 4_294_967_295.0) as u32, high);
            weights[high as usize] -= 1.0 - weights[low as usize];
            if weights[high as usize] < 1.0 {
                many.pop();
                few.push(high);
            }
        }
        Self { sides }
    }

    /// Throws it; `None` if it is blank.
    #[inline]
    pub(super) fn throw(&self, rng: &mut Thrower) -> Option<u32> {
        if self.sides.is_empty() {
            return None;
        }
        let word = rng.next_u64();
        let side = ((word >> 32) * self.sides.len() as u64) >> 32;
        let (keep, other) = self.sides[side as usize];
        Some(if (word as u32) < keep { side as u32 } else { other })
    }
}

/// Many dice of the same number of sides, side by side: fewer allocations, fewer misses.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows(Vec<Dice>);

impl Rows {
    /// One die for every `n` weights.
    pub(super) fn new(weights: &[f64], n: usize) -> Self {
        Self(weights.chunks(n.max(1)).map(|row| Dice::new(row.iter().copied())).collect())
    }

    /// One die; a blank one beyond the last.
    #[inline]
    pub(super) fn get(&self, row: usize) -> &Dice {
        static BLANK: std::sync::OnceLock<Dice> = std::sync::OnceLock::new();
        self.0.get(row).unwrap_or_else(|| BLANK.get_or_init(Dice::default))
    }
}

/// `n` choices whose numbers are as near to the weights as whole numbers can be: one offset decides all.
pub(super) fn evenly(weights: &[f64], n: usize, rng: &mut Thrower) -> Vec<u32> {
    let total: f64 = weights.iter().map(|weight| weight.max(0.0)).sum();
    let mut chosen = Vec::with_capacity(n);
    if total > 0.0 {
        let step = total / n.max(1) as f64;
        let mut at = step * f64::from(rng.next_u32()) / 4_294_967_296.0;
        let mut sum = 0.0;
        for (choice, weight) in (0..).zip(weights) {
            sum += weight.max(0.0);
            while at < sum && chosen.len() < n {
                chosen.push(choice);
                at += step;
            }
        }
    }
    let last = chosen.last().copied().unwrap_or(0);
    chosen.resize(n, last);
    chosen
}

/// Puts a list in random order.
pub(super) fn shuffle<T>(list: &mut [T], rng: &mut Thrower) {
    for at in (1..list.len()).rev() {
        let bound = u32::try_from(at + 1).expect("fewer than 2^32 cards");
        list.swap(at, below(rng, bound) as usize);
    }
}
