//! Geometric and discrete Laplace numbers, digit by digit, in integers only.
//!
//! Letters as in PROOF.md: a scale `num/den` has a = e^(−den/num).

use std::sync::{Arc, OnceLock};

use num_bigint::BigUint;
use num_traits::One;
use rand_chacha::rand_core::Rng;

use super::Scale;
use super::digit::{Digit, Staircase};
use super::real::{Coin, Interval, exp_minus};

/// Geometric numbers: P(y) = (1 − a)·a^y. Line G of PROOF.md.
#[derive(Clone, Debug)]
pub struct Geometric {
    scale: Scale,
    /// Low digits first; made when the first number is drawn, because many classes are only looked at.
    digits: Arc<OnceLock<Vec<Digit>>>,
}

impl Geometric {
    /// Every digit but the last is below 2⁸.
    const DIGIT_BITS: u32 = 8;
    /// An endless last digit has at most so many edges in its table.
    const EDGES_MOST: u64 = 1024;

    /// Numbers of this scale.
    pub fn new(scale: Scale) -> Self {
        Self { scale, digits: Arc::default() }
    }

    fn digits(&self) -> &[Digit] {
        self.digits.get_or_init(|| {
            // Digit i has the ratio a^(256^i) = e^(−x), x = den·256^i/num. Its table ends where e^(−x·j) is
            // below 2⁻⁶⁴, at j = 44.4/x; the first digit for which that is short enough is the last.
            let den = BigUint::from(self.scale.num());
            let mut num = BigUint::from(self.scale.den());
            let mut digits = Vec::new();
            while &num * Self::EDGES_MOST < &den * 45_u32 {
                let n_sides = Some(1 << Self::DIGIT_BITS);
                let stairs = Staircase { num: num.clone(), den: den.clone(), n_sides };
                digits.push(Digit::new(stairs));
                num <<= Self::DIGIT_BITS;
            }
            digits.push(Digit::new(Staircase { num, den, n_sides: None }));
            digits
        })
    }

    /// Draws one.
    #[inline]
    pub fn draw(&self, rng: &mut impl Rng) -> u64 {
        let mut digits = self.digits().iter();
        let mut number = u128::from(digits.next().expect("there is a last digit").draw(rng));
        for (index, digit) in (1..).zip(digits) {
            number += u128::from(digit.draw(rng)) << (Self::DIGIT_BITS * index);
        }
        // Beyond 2⁶⁴ the answer is cut, which changes nothing a caller can see: a gap beyond every
        // candidate, a count beyond every count.
        u64::try_from(number).unwrap_or(u64::MAX)
    }
}

/// Discrete Laplace numbers: P(x) = (1 − a)/(1 + a)·a^|x|. Line D of PROOF.md.
#[derive(Clone, Debug)]
pub struct DiscreteLaplace {
    size: Geometric,
    /// Lands with probability 1/(1 + a).
    not_negative: Coin,
}

impl DiscreteLaplace {
    /// Numbers of this scale.
    pub fn new(scale: Scale) -> Self {
        let not_negative = Coin::new(&|bits| not_negative(scale, bits));
        Self { size: Geometric::new(scale), not_negative }
    }

    /// Draws one.
    #[inline]
    pub fn draw(&self, rng: &mut impl Rng) -> i64 {
        let scale = self.size.scale;
        let not_negative = self.not_negative.throw(rng, &|bits| not_negative(scale, bits));
        let size = i64::try_from(self.size.draw(rng)).unwrap_or(i64::MAX);
        if not_negative { size } else { -1 - size }
    }

    /// How its size is distributed beyond zero.
    pub(super) fn size(&self) -> &Geometric {
        &self.size
    }
}

/// 1/(1 + a) as an interval.
fn not_negative(scale: Scale, bits: u64) -> Interval {
    let one = BigUint::one() << bits;
    let a = exp_minus(&scale.den().into(), &scale.num().into(), bits);
    let share = |a: BigUint| (&one << bits) / (&one + a);
    Interval { low: share(a.high), high: (share(a.low) + 1_u32).min(one.clone()) }
}
