//! Real numbers as shrinking intervals, and a coin that lands by one of them, exactly.
//!
//! A coin of probability z is thrown by comparing z with a uniform real whose bits are drawn one word at a
//! time. One word decides unless the uniform falls into the sliver that z is not known to; then z is
//! computed to more bits and another word is drawn. So the coin is exact although no z is ever fully known.

use num_bigint::BigUint;
use num_traits::{One, Zero};
use rand_chacha::rand_core::Rng;

/// `low/2^bits ≤ value ≤ high/2^bits`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Interval {
    pub(super) low: BigUint,
    pub(super) high: BigUint,
}

/// e^(−num/den) to about `bits` bits. Line R of PROOF.md.
pub(super) fn exp_minus(num: &BigUint, den: &BigUint, bits: u64) -> Interval {
    let one = BigUint::one() << bits;
    // e^(−x) < 2^(−x): beyond x = bits the value lies inside the last unit.
    if num > &(den * BigUint::from(bits)) {
        return Interval { low: BigUint::zero(), high: BigUint::one() };
    }
    // Halve x until it is at most 1/2, sum the series there, and square back. Guard bits pay for both.
    let mut halvings = 1;
    while num > &(den << (halvings - 1)) {
        halvings += 1;
    }
    let guard = bits + 2 * halvings + 32;
    let y = (num << guard) / (den << halvings);
    let mut power = series(&y, guard);
    for _ in 0..halvings {
        power.low = (&power.low * &power.low) >> guard;
        power.high = ((&power.high * &power.high) >> guard) + 1_u32;
    }
    Interval {
        low: power.low >> (guard - bits),
        high: ((power.high >> (guard - bits)) + 1_u32).min(one),
    }
}

/// e^(−y) for a fixed-point y ≤ 1/2 that was cut down by less than one unit.
fn series(y: &BigUint, bits: u64) -> Interval {
    let (mut plus, mut minus) = (BigUint::zero(), BigUint::zero());
    let mut term = BigUint::one() << bits;
    let mut n = 0_u32;
    while !term.is_zero() {
        if n.is_multiple_of(2) {
            plus += &term
        } else {
            minus += &term
        }
        n += 1;
        term = ((&term * y) >> bits) / n;
    }
    // Each of the n terms was cut by less than two units, the rest of the series is below one unit, and the
    // unit missing in y moves the sum by less than one.
    let slack = BigUint::from(2 * n + 2);
    let sum = plus - minus;
    Interval { low: &sum - &slack, high: sum + slack }
}

/// A coin whose probability is known as an interval to any number of bits.
#[derive(Clone, Debug)]
pub(super) struct Coin {
    /// The probability to 64 bits; decides all but one throw in 2⁶⁰.
    low: u128,
    high: u128,
}

impl Coin {
    pub(super) fn new(probability: &dyn Fn(u64) -> Interval) -> Self {
        let Interval { low, high } = probability(64);
        let word = |value: BigUint| u128::try_from(value).expect("a probability of 64 bits");
        Self { low: word(low), high: word(high) }
    }

    /// Throws it. `probability(bits)` is asked only if one word does not decide.
    pub(super) fn throw(&self, rng: &mut impl Rng, probability: &dyn Fn(u64) -> Interval) -> bool {
        let first = rng.next_u64();
        if u128::from(first) < self.low {
            return true;
        }
        if self.high <= u128::from(first) {
            return false;
        }
        throw_on(rng, first, probability)
    }
}

/// The rare rest of a throw: more bits of the uniform against more bits of the probability.
fn throw_on(rng: &mut impl Rng, first: u64, probability: &dyn Fn(u64) -> Interval) -> bool {
    let mut uniform = BigUint::from(first);
    let mut bits = 64;
    loop {
        uniform = (uniform << 64) + BigUint::from(rng.next_u64());
        bits += 64;
        let Interval { low, high } = probability(bits);
        // The uniform lies in [uniform, uniform + 1) units of the last bit.
        if uniform < low {
            return true;
        }
        if high <= uniform {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn exp_is_bracketed_tightly() {
        for (num, den) in
            [(0_u32, 1_u32), (1, 3), (1, 1), (283, 100), (566, 100), (50, 1), (1, 1_000_000)]
        {
            let Interval { low, high } = exp_minus(&num.into(), &den.into(), 64);
            let truth = (-f64::from(num) / f64::from(den)).exp();
            let unit = 2_f64.powi(64);
            let (low, high) = (u128::try_from(low).unwrap(), u128::try_from(high).unwrap());
            assert!(high - low <= 2, "{num}/{den}: {low} {high}");
            assert!(
                (low as f64 / unit - truth).abs() < 1e-15
                    && low as f64 / unit <= truth * (1.0 + 1e-15)
            );
        }
    }

    #[test]
    fn more_bits_stay_inside_fewer() {
        let wide = exp_minus(&7_u32.into(), &5_u32.into(), 64);
        let fine = exp_minus(&7_u32.into(), &5_u32.into(), 256);
        assert!((&wide.low << 192) <= fine.low && fine.high <= (&wide.high << 192));
    }

    #[test]
    fn tiny_values_are_bracketed_by_zero() {
        let tiny = exp_minus(&1_000_000_u32.into(), &1_u32.into(), 128);
        assert_eq!(tiny, Interval { low: BigUint::zero(), high: BigUint::one() });
    }

    /// An interval so wide that every throw needs more words still gives the right coin.
    #[test]
    fn a_coin_known_to_few_bits_refines_itself() {
        let third = |bits: u64| {
            let unit = BigUint::one() << bits;
            if bits == 64 {
                return Interval { low: BigUint::zero(), high: unit };
            }
            Interval { low: &unit / 3_u32, high: unit / 3_u32 + 1_u32 }
        };
        let coin = Coin::new(&third);
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        let n = 90_000_u32;
        let heads = (0..n).filter(|_| coin.throw(&mut rng, &third)).count() as f64;
        // Five standard deviations of a binomial: a true coin fails once in 1.7 million seeds.
        let sigma = (f64::from(n) * 2.0 / 9.0).sqrt();
        assert!((heads - f64::from(n) / 3.0).abs() < 5.0 * sigma, "{heads} heads of {n}");
    }
}
