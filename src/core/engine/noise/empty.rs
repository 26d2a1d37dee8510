//! Many empty nodes at once: those whose noise alone passes, without visiting the others.
//!
//! Line W of PROOF.md: an empty node passes with probability p = a^θ/(1+a). Walk by geometric gaps of a
//! slightly likelier process (each node a hit with probability q = 1 − e^(−λ) ≥ p, λ a fraction), keep a
//! hit with probability p/q, and give it θ + Geometric(1 − a).

use num_bigint::BigUint;
use num_traits::One;
use rand_chacha::rand_core::Rng;

use super::Scale;
use super::draw::Geometric;
use super::real::{Coin, Interval, exp_minus};

/// The walk over empty nodes of one class.
#[derive(Clone, Debug)]
pub(super) struct EmptyWalk {
    scale: Scale,
    threshold: u64,
    /// 1/λ: the scale of the gaps.
    gap_scale: Scale,
    gaps: Geometric,
    above: Geometric,
    keep: Coin,
}

impl EmptyWalk {
    /// The walk for a threshold of at least 1; `above` draws what a node that passes has beyond it.
    pub(super) fn new(scale: Scale, threshold: u64, above: Geometric) -> Self {
        assert!(threshold >= 1, "N-4: a threshold below 1 would need negative counts");
        let gap_scale = gap_scale(scale, threshold);
        let keep = Coin::new(&|bits| keep_probability(scale, threshold, gap_scale, bits));
        Self { scale, threshold, gap_scale, gaps: Geometric::new(gap_scale), above, keep }
    }

    /// Tells the ordinals of the nodes among `0..n` that pass, ascending, each with its noisy count.
    pub(super) fn walk(&self, rng: &mut impl Rng, n: u64, kept: &mut dyn FnMut(u64, u64)) {
        let Self { scale, threshold, gap_scale, .. } = *self;
        let mut next = self.gaps.draw(rng);
        while next < n {
            if self.keep.throw(rng, &|bits| keep_probability(scale, threshold, gap_scale, bits)) {
                kept(next, threshold.saturating_add(self.above.draw(rng)));
            }
            next = next.saturating_add(1).saturating_add(self.gaps.draw(rng));
        }
    }
}

/// p = a^θ/(1+a) as an interval.
fn pass_probability(scale: Scale, threshold: u64, bits: u64) -> Interval {
    let (num, den) = (BigUint::from(scale.num()), BigUint::from(scale.den()));
    let one = BigUint::one() << bits;
    let a = exp_minus(&den, &num, bits);
    let power = exp_minus(&(&den * threshold), &num, bits);
    Interval {
        low: (power.low << bits) / (&one + a.high),
        high: (power.high << bits) / (one + a.low) + 1_u32,
    }
}

/// A λ = n/2^k a little above −ln(1 − p), as the scale 2^k/n. For p ≤ 1/2, p + p² is enough.
fn gap_scale(scale: Scale, threshold: u64) -> Scale {
    const BITS: u64 = 128;
    const FINEST: u64 = 62;
    let p = pass_probability(scale, threshold, BITS).high;
    let enough = &p + ((&p * &p) >> BITS) + 1_u32;
    // Eight leading bits of λ: the walk offers at most one hit in a hundred too many.
    let k = (BITS + 8).saturating_sub(enough.bits()).min(FINEST);
    let n = (&enough >> (BITS - k)) + 1_u32;
    let n = u64::try_from(n).expect("k is chosen so that n has at most nine bits");
    Scale::new(1 << k, n).expect("both are positive and at most 2^62")
}

/// p/q = p/(1 − e^(−λ)) as an interval of `bits` bits.
fn keep_probability(scale: Scale, threshold: u64, gaps: Scale, bits: u64) -> Interval {
    // q is at least 2^−62, so an error of one unit in p or q costs 62 bits in the quotient.
    let guard = bits + 62 + 62 + 16;
    let one = BigUint::one() << guard;
    let p = pass_probability(scale, threshold, guard);
    let stay = exp_minus(&gaps.den().into(), &gaps.num().into(), guard);
    let (q_low, q_high) = (&one - stay.high, &one - stay.low);
    Interval {
        low: (p.low << bits) / q_high,
        high: ((p.high << bits) / q_low + 1_u32).min(BigUint::one() << bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_offers_few_hits_too_many_and_never_too_few() {
        for (num, den, threshold) in [
            (1, 1, 1),
            (24, 1, 68),
            (2_016, 1, 11_405),
            (1, 1_000_000, 1),
            (1_000_000, 1, 1),
            (7, 3, 500),
        ] {
            let scale = Scale::new(num, den).unwrap();
            let keep = keep_probability(scale, threshold, gap_scale(scale, threshold), 64);
            let unit = BigUint::one() << 64_u32;
            assert!(keep.low <= unit && keep.high <= unit);
            let p = pass_probability(scale, threshold, 128);
            if p.low > BigUint::one() << 70_u32 {
                assert!(keep.low * 10_u32 > unit * 7_u32, "{num}/{den} at {threshold}");
            }
        }
    }
}
