//! Noise that is wrong on purpose: what mutants draw from.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

use crate::engine::noise::{NodeClass, Noise, NoiseSource, Occupied, stream};
use crate::secret::NoiseKey;

/// Noise that forgets empty candidates.
pub(super) struct Omitting<'a, S>(pub(super) &'a S);

impl<S: NoiseSource> NoiseSource for Omitting<'_, S> {
    type Node = Omitted<S::Node>;

    fn node(&self, level: u32, index: u64) -> Self::Node {
        Omitted(self.0.node(level, index))
    }
}

pub(super) struct Omitted<N>(N);

impl<N: Noise> Noise for Omitted<N> {
    fn ask(
        &mut self,
        class: &NodeClass,
        _: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        let close: Vec<Occupied> =
            (0..).zip(occupied).map(|(index, o)| Occupied { index, count: o.count }).collect();
        self.0.ask(class, close.len() as u64, &close, &mut |index, noisy| {
            let at = usize::try_from(index).expect("an index among the occupied");
            kept(occupied[at].index, noisy);
        });
    }
}

/// Noise that lets an occupied candidate pass at the threshold, and an empty one only above it.
pub(super) struct Exceeding<'a, S>(pub(super) &'a S);

impl<S: NoiseSource> NoiseSource for Exceeding<'_, S> {
    type Node = Exceeded<S::Node>;

    fn node(&self, level: u32, index: u64) -> Self::Node {
        Exceeded(self.0.node(level, index))
    }
}

pub(super) struct Exceeded<N>(N);

impl<N: Noise> Noise for Exceeded<N> {
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        self.0.ask(class, n, occupied, &mut |index, noisy| {
            let is_empty = occupied.binary_search_by_key(&index, |o| o.index).is_err();
            if !is_empty || noisy > class.threshold() {
                kept(index, noisy);
            }
        });
    }
}

/// One stream for all nodes of a level: siblings have the same noise, and their difference has none.
pub(super) struct Shared<'a, S>(pub(super) &'a S);

impl<S: NoiseSource> NoiseSource for Shared<'_, S> {
    type Node = S::Node;

    fn node(&self, level: u32, _: u64) -> Self::Node {
        self.0.node(level, 0)
    }
}

/// Laplace noise as textbooks write it, in single precision, told to its last bit. Sums of floats reach other numbers
/// from 1 than from 0, and who sees the last bit knows which (Mironov 2012).
pub(super) struct Floating<'a>(pub(super) &'a NoiseKey);

impl NoiseSource for Floating<'_> {
    type Node = FloatingNode;

    fn node(&self, level: u32, index: u64) -> FloatingNode {
        FloatingNode(stream(self.0, level, index))
    }
}

pub(super) struct FloatingNode(ChaCha20Rng);

impl FloatingNode {
    fn laplace(&mut self, scale: f32) -> f32 {
        let word = self.0.next_u32();
        // 24 bits make a uniform float above zero, one more bit the sign.
        let uniform = ((word >> 8) + 1) as f32 / 16_777_216.0;
        let size = -scale * uniform.ln();
        if word & 1 == 0 { size } else { -size }
    }
}

impl Noise for FloatingNode {
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        for index in 0..n {
            let count = occupied.binary_search_by_key(&index, |o| o.index);
            let count = count.map_or(0, |at| occupied[at].count);
            let noisy = count as f32 + self.laplace(class.scale().approximately() as f32);
            // In units of 2⁻³⁰: whatever bits a float of this size has are there.
            if noisy > 0.0 {
                kept(index, (f64::from(noisy) * f64::from(1 << 30)) as u64);
            }
        }
    }
}
