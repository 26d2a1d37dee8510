//! What a suppression gains for what it costs, exactly.
//!
//! Gain is (N − N′)/N over the sum of ploss; N is the same for all candidates of a step, so (N − N′)/Σ ploss decides.
//! ploss(t, t′) = 1 − |t′|(|t′|−1) / (|t|(|t|−1)) has a denominator that divides the least common multiple of
//! 1 … longest, so that multiple makes every loss a whole number. For |t| < 2 the formula is 0/0: the loss is 0 if
//! nothing was removed and 1 otherwise.

use std::cmp::Ordering;

use num_bigint::BigInt;

/// A whole number of 256 bits, the lowest part first.
type Fixed = [u64; 4];

/// A sum of losses, in parts of the least common multiple.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Loss {
    /// Where the sum over all cards fits: trajectories up to some 160 doublets.
    Small(Fixed),
    /// Where trajectories are too long for that.
    Large(BigInt),
}

/// The losses of trajectories up to some length: what one card loses, by length and doublets removed.
#[derive(Clone, Debug)]
pub(super) enum Losses {
    /// Where the sum over all cards fits.
    Small(Vec<Vec<Fixed>>),
    /// Where it does not: the unit of which they are parts.
    Large(BigInt),
}

impl Losses {
    /// For trajectories up to this length and this many cards in all.
    pub(super) fn new(longest: u64, cards: u64) -> Self {
        let mut unit = BigInt::from(1_u32);
        for number in 2..=longest.max(1) {
            let (mut a, mut b) = (unit.clone(), BigInt::from(number));
            while b != BigInt::from(0_u32) {
                (a, b) = (b.clone(), a % b);
            }
            unit = unit * number / a;
        }
        let part = |length, removed| fixed(&loss(&unit, length, removed));
        match fixed(&(&unit * cards.max(1))) {
            None => Self::Large(unit),
            Some(_) => Self::Small(
                (0..=longest)
                    .map(|length| (0..=length).filter_map(|lost| part(length, lost)).collect())
                    .collect(),
            ),
        }
    }

    /// The loss of trajectories, given as (length, cards), that lose `removed` doublets each.
    pub(super) fn sum(&self, lengths: &[(u64, u64)], removed: u64) -> Loss {
        match self {
            Self::Small(by_length) => {
                let mut sum = Fixed::default();
                for &(length, cards) in lengths {
                    add(&mut sum, &by_length[length as usize][removed as usize], cards);
                }
                Loss::Small(sum)
            }
            Self::Large(unit) => {
                let of = |&(length, cards): &(u64, u64)| loss(unit, length, removed) * cards;
                Loss::Large(lengths.iter().map(of).sum())
            }
        }
    }
}

/// What one card loses, in parts of the unit: all but left·(left−1) of length·(length−1), both 0 for lengths below 2.
fn loss(unit: &BigInt, length: u64, removed: u64) -> BigInt {
    let left = length - removed;
    match (removed, length * length.saturating_sub(1)) {
        (0, _) => BigInt::from(0_u32),
        (_, 0) => unit.clone(),
        (_, pairs) => unit - unit / pairs * (left * left.saturating_sub(1)),
    }
}

/// A number that is not negative, if it fits.
fn fixed(number: &BigInt) -> Option<Fixed> {
    let (_, digits) = number.to_u64_digits();
    let mut fixed = Fixed::default();
    fixed.get_mut(..digits.len())?.copy_from_slice(&digits);
    Some(fixed)
}

/// Adds a number so many times.
fn add(sum: &mut Fixed, number: &Fixed, times: u64) {
    let mut carry = 0;
    for (digit, by) in sum.iter_mut().zip(number) {
        let wide = u128::from(*by) * u128::from(times) + u128::from(*digit) + carry;
        *digit = wide as u64;
        carry = wide >> 64;
    }
    assert_eq!(carry, 0, "the losses of all cards fit");
}

/// A product whole, the highest part first.
fn product(number: &Fixed, by: u64) -> [u64; 5] {
    let (mut product, mut carry) = ([0; 5], 0);
    for (at, digit) in number.iter().enumerate() {
        let wide = u128::from(*digit) * u128::from(by) + carry;
        product[4 - at] = wide as u64;
        carry = wide >> 64;
    }
    product[0] = carry as u64;
    product
}

/// Problems that go, per loss.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Gain {
    pub(super) solved: i64,
    pub(super) loss: Loss,
}

impl Gain {
    /// Compares solved/loss by cross-multiplication; losses are positive.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let by_sign = self.solved.signum().cmp(&other.solved.signum());
        let by_size = || match (&self.loss, &other.loss) {
            (Loss::Small(mine), Loss::Small(its)) => {
                let mine = product(mine, other.solved.unsigned_abs());
                product(its, self.solved.unsigned_abs()).cmp(&mine)
            }
            _ => {
                let mine = self.large() * other.solved.unsigned_abs();
                (other.large() * self.solved.unsigned_abs()).cmp(&mine)
            }
        };
        by_sign.then_with(|| if self.solved < 0 { by_size().reverse() } else { by_size() })
    }

    fn large(&self) -> BigInt {
        match &self.loss {
            Loss::Small(loss) => {
                loss.iter().rev().fold(BigInt::from(0_u32), |sum, digit| (sum << 64_u32) + digit)
            }
            Loss::Large(loss) => loss.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_what_the_formula_says() {
        let losses = Losses::new(6, 100);
        let unit = losses.sum(&[(1, 1)], 1);
        assert_eq!(
            unit,
            Loss::Small([60, 0, 0, 0]),
            "the multiple of 1 … 6; a lone doublet is lost whole"
        );
        assert_eq!(losses.sum(&[(2, 1)], 1), unit, "1 - 0/2");
        assert_eq!(losses.sum(&[(4, 2)], 1), unit, "two times 1 - 6/12");
        assert_eq!(losses.sum(&[(6, 3), (3, 1)], 1), Loss::Small([3 * 20 + 40, 0, 0, 0]));
        assert_eq!(
            losses.sum(&[(1, 5), (4, 1)], 0),
            Loss::Small([0; 4]),
            "nothing removed, nothing lost"
        );
    }

    /// Holds Q-3.
    #[test]
    fn long_trajectories_compare_as_exactly_as_short_ones() {
        let gain = |losses: &Losses, solved, length, removed| Gain {
            solved,
            loss: losses.sum(&[(length, 1)], removed),
        };
        for losses in [Losses::new(12, 10), Losses::new(400, 10)] {
            let (half, tenth) = (gain(&losses, 1, 4, 1), gain(&losses, 1, 2, 1));
            assert_eq!(half.compare(&tenth), Ordering::Greater, "less is lost for the same");
            assert_eq!(gain(&losses, 2, 2, 1).compare(&half), Ordering::Equal, "2/1 is 1/(1/2)");
            assert_eq!(gain(&losses, -1, 4, 1).compare(&tenth), Ordering::Less);
            assert_eq!(gain(&losses, -1, 4, 1).compare(&gain(&losses, -1, 2, 1)), Ordering::Less);
        }
        assert!(matches!(gain(&Losses::new(400, 10), 1, 4, 1).loss, Loss::Large(_)));
    }
    const EDGES: [Fixed; 5] =
        [[1, 0, 0, 0], [u64::MAX, 0, 0, 0], [0, 1, 0, 7], [5, u64::MAX, 1, 2], [u64::MAX; 4]];

    fn gain(solved: i64, loss: Fixed) -> Gain {
        Gain { solved, loss: Loss::Small(loss) }
    }

    #[test]
    fn products_and_sums_are_whole() {
        let whole = |number: &[u64]| {
            number.iter().fold(BigInt::from(0_u32), |sum, digit| (sum << 64_u32) + digit)
        };
        for number in EDGES {
            let large = gain(1, number).large();
            assert_eq!(fixed(&large), Some(number));
            for by in [0, 1, 2, 1 << 32, u64::MAX] {
                assert_eq!(whole(&product(&number, by)), &large * by, "{number:?} by {by}");
            }
        }
        assert_eq!(fixed(&(BigInt::from(1_u32) << 256_u32)), None);
        let (before, more) = ([u64::MAX, 3, 0, 0], [2, u64::MAX, 0, 0]);
        let mut sum = before;
        add(&mut sum, &more, 5);
        assert_eq!(gain(1, sum).large(), gain(1, before).large() + gain(1, more).large() * 5_u32);
    }

    /// Holds Q-3.
    #[test]
    fn gains_that_nearly_fit_compare_like_those_that_do_not() {
        let gains: Vec<Gain> = [i64::MIN, -3, -1, 0, 1, 2, i64::MAX]
            .into_iter()
            .flat_map(|solved| EDGES.map(|loss| gain(solved, loss)))
            .collect();
        let large = |gain: &Gain| Gain { solved: gain.solved, loss: Loss::Large(gain.large()) };
        for one in &gains {
            for other in &gains {
                let exact = (other.large() * one.solved).cmp(&(one.large() * other.solved));
                assert_eq!(one.compare(other), exact, "{one:?} {other:?}");
                assert_eq!(large(one).compare(&large(other)), exact, "{one:?} {other:?}");
            }
        }
    }
}
