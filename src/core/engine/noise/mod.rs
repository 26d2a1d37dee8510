//! Exact noise: discrete Laplace from integers alone, for all differentially private engines.
//!
//! In → out: a count, a scale (a fraction) and a generator → a noisy count, or nothing if below threshold.
//! Promises: N-1 no float touches a released number; N-2 the distribution is exact, not close; N-3 empty
//!   nodes pass with the very probability occupied ones would; N-4 `≥ θ` for both.
//! Refuses: a scale of zero or beyond 2⁶² (held by [`Scale`]).
//! Why: `PROOF.md` beside this file.
#![doc = include_str!("PROOF.md")]

mod digit;
mod draw;
mod empty;
mod real;
mod table;

pub use draw::{DiscreteLaplace, Geometric};
pub(crate) use table::stream;
pub use table::{TableClass, TableNoise};

use std::num::NonZeroUsize;

use empty::EmptyWalk;
use num_rational::Ratio;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

use crate::secret::NoiseKey;

/// The scale of noise, a positive fraction `num/den`: P(x) is proportional to e^(−|x|·den/num).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    num: u64,
    den: u64,
}

impl Scale {
    /// The largest numerator and denominator. Products of two stay inside 128 bits, and a uniform draw
    /// below the numerator needs one 64-bit word.
    pub const MAX: u64 = 1 << 62;

    /// The scale `num/den`, if both are positive and small enough.
    pub fn new(num: u64, den: u64) -> Option<Self> {
        ((1..=Self::MAX).contains(&num) && (1..=Self::MAX).contains(&den))
            .then_some(Self { num, den })
    }

    /// The scale at which one more or less costs this share of ε: its inverse.
    pub fn for_epsilon(share: Ratio<u128>) -> Option<Self> {
        let num = u64::try_from(*share.denom()).ok()?;
        let den = u64::try_from(*share.numer()).ok()?;
        Self::new(num, den)
    }

    /// Numerator.
    pub fn num(self) -> u64 {
        self.num
    }

    /// Denominator.
    pub fn den(self) -> u64 {
        self.den
    }

    /// The scale as a float, for words and plots only.
    pub fn approximately(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

/// A class of questions asked with one scale and one threshold.
#[derive(Clone, Debug)]
pub struct NodeClass {
    scale: Scale,
    threshold: u64,
    most: Option<u64>,
    noise: DiscreteLaplace,
    walk: EmptyWalk,
}

impl NodeClass {
    /// Questions of this scale whose answers count from this threshold on; at least 1.
    pub fn new(scale: Scale, threshold: u64) -> Self {
        let threshold = threshold.max(1);
        let noise = DiscreteLaplace::new(scale);
        let walk = EmptyWalk::new(scale, threshold, noise.size().clone());
        Self { scale, threshold, most: None, noise, walk }
    }

    /// States the most that one card changes all candidates of a question by, together. An auditor checks it.
    #[must_use]
    pub fn changed_by_at_most(self, most: u64) -> Self {
        Self { most: Some(most), ..self }
    }

    /// What was stated, if anything was.
    pub fn most(&self) -> Option<u64> {
        self.most
    }

    /// The scale of the noise.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The smallest noisy count that is kept.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// The noise by itself; an auditor draws it for every candidate.
    pub(crate) fn noise(&self) -> &DiscreteLaplace {
        &self.noise
    }

    /// One noisy count, if it reaches the threshold.
    pub(crate) fn noisy(&self, count: u64, rng: &mut impl Rng) -> Option<u64> {
        let noisy = i128::from(count) + i128::from(self.noise.draw(rng));
        let noisy = u64::try_from(noisy.min(u64::MAX.into())).ok();
        noisy.filter(|&noisy| noisy >= self.threshold)
    }

    /// How likely an empty node passes; a float for words and plots only.
    pub fn empty_passes(&self) -> f64 {
        let rate = 1.0 / self.scale.approximately();
        (-rate * self.threshold as f64).exp() / (1.0 + (-rate).exp())
    }
}

/// A candidate with a count above zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupied {
    /// Its index among the candidates it is asked about with.
    pub index: u64,
    /// How many are below it.
    pub count: u64,
}

/// What answers questions about counts. The engines ask nothing but this.
pub trait Noise {
    /// The noisy counts of `n` candidates of one class: tells those that reach the threshold, by index, in any
    /// order. `occupied` is in order of index; every candidate that is not in it counts zero.
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    );
}

/// Gives every node of a tree its own noise, so that the result does not depend on who computes it when.
pub trait NoiseSource: Sync {
    /// The noise of one node.
    type Node: Noise;

    /// The noise for splitting the node with this index in its level.
    fn node(&self, level: u32, index: u64) -> Self::Node;
}

/// A source of noise behind a reference, for candidates and for whole tables: an auditor hands any to any engine.
pub trait AnyNoise: Sync {
    /// The noise for one question after another about candidates.
    fn any_node(&self, level: u32, index: u64) -> Box<dyn Noise + '_>;

    /// Adds noise to every count of a table.
    fn any_table(&self, number: u32, class: TableClass, counts: &mut [i64], threads: NonZeroUsize);
}

impl<S: NoiseSource + TableNoise> AnyNoise for S {
    fn any_node(&self, level: u32, index: u64) -> Box<dyn Noise + '_> {
        Box::new(self.node(level, index))
    }

    fn any_table(&self, number: u32, class: TableClass, counts: &mut [i64], threads: NonZeroUsize) {
        self.table(number, class, counts, threads);
    }
}

/// Any source of noise as one that engines take.
pub struct Borrowed<'a>(pub &'a dyn AnyNoise);

impl<'a> NoiseSource for Borrowed<'a> {
    type Node = Box<dyn Noise + 'a>;

    fn node(&self, level: u32, index: u64) -> Self::Node {
        self.0.any_node(level, index)
    }
}

impl Noise for Box<dyn Noise + '_> {
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        (**self).ask(class, n, occupied, kept);
    }
}

impl NoiseSource for NoiseKey {
    type Node = KeyedNoise;

    /// One ChaCha20 key a release, one stream a node: streams never overlap.
    fn node(&self, level: u32, index: u64) -> KeyedNoise {
        KeyedNoise(stream(self, level, index))
    }
}

/// Noise from a keyed generator.
pub struct KeyedNoise(ChaCha20Rng);

impl Noise for KeyedNoise {
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        for &Occupied { index, count } in occupied {
            if let Some(noisy) = class.noisy(count, &mut self.0) {
                kept(index, noisy);
            }
        }
        let mut before = 0;
        class.walk.walk(&mut self.0, n - occupied.len() as u64, &mut |ordinal, noisy| {
            // The ordinal counts empty candidates only; step over the occupied ones before it.
            while occupied.get(before).is_some_and(|next| next.index <= ordinal + before as u64) {
                before += 1;
            }
            kept(ordinal + before as u64, noisy);
        });
    }
}

/// No noise at all: golden examples only. Nothing made with it leaves the tests.
#[cfg(test)]
pub(crate) struct ZeroNoise;

#[cfg(test)]
impl Noise for ZeroNoise {
    fn ask(
        &mut self,
        class: &NodeClass,
        _: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        for &Occupied { index, count } in occupied.iter().filter(|o| o.count >= class.threshold) {
            kept(index, count);
        }
    }
}

#[cfg(test)]
impl NoiseSource for ZeroNoise {
    type Node = Self;

    fn node(&self, _: u32, _: u64) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests;
