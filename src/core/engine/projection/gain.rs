//! What a suppression gains for what it costs, exactly.
//!
//! Gain is (N − N′)/N over the sum of ploss; N is the same for all candidates of a step, so (N − N′)/Σ ploss decides.
//! ploss(t, t′) = 1 − |t′|(|t′|−1) / (|t|(|t|−1)) has a denominator that divides the least common multiple of
//! 1 … longest, so that multiple makes every loss a whole number. For |t| < 2 the formula is 0/0: the loss is 0 if
//! nothing was removed and 1 otherwise.

use std::cmp::Ordering;

use num_bigint::BigInt;

/// A sum of losses, in parts of the least common multiple.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Loss {
    /// Where every product fits.
    Small(i128),
    /// Where trajectories are too long for that.
    Large(BigInt),
}

/// The losses of trajectories up to some length.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    unit: BigInt,
    is_small: bool,
}

impl Losses {
    /// For trajectories up to this length and this many cards in all; `most_gain` bounds |N − N′|.
    pub(super) fn new(longest: u64, cards: u64, most_gain: u64) -> Self {
        let mut unit = BigInt::from(1_u32);
        for number in 2..=longest.max(1) {
            let (mut a, mut b) = (unit.clone(), BigInt::from(number));
            while b != BigInt::from(0_u32) {
                (a, b) = (b.clone(), a % b);
            }
            unit = unit * number / a;
        }
        let largest = &unit * (cards + 1) * (most_gain + 1);
        Self { is_small: i128::try_from(largest).is_ok(), unit }
    }

    /// The loss of trajectories, given as (length, cards), that lose `removed` doublets each.
    pub(super) fn sum(&self, lengths: &[(u64, u64)], removed: u64) -> Loss {
        let lengths = if removed == 0 { &[] } else { lengths };
        let mut sum = BigInt::from(0_u32);
        let unit = i128::try_from(self.unit.clone());
        let mut small = 0_i128;
        for &(length, cards) in lengths {
            let left = length - removed;
            // left·(left−1) of length·(length−1) remains; both are 0 for lengths below 2.
            let kept = i128::from(left) * i128::from(left.saturating_sub(1));
            let pairs = i128::from(length) * i128::from(length.saturating_sub(1));
            match &unit {
                Ok(unit) if self.is_small => {
                    let remains = if pairs == 0 { 0 } else { unit / pairs * kept };
                    small += (unit - remains) * i128::from(cards);
                }
                _ => {
                    let remains = match pairs {
                        0 => BigInt::from(0_u32),
                        _ => &self.unit / pairs * kept,
                    };
                    sum += (&self.unit - remains) * cards;
                }
            }
        }
        match self.is_small {
            true => Loss::Small(small),
            false => Loss::Large(sum),
        }
    }
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
        match (&self.loss, &other.loss) {
            (Loss::Small(mine), Loss::Small(its)) => {
                (i128::from(self.solved) * its).cmp(&(i128::from(other.solved) * mine))
            }
            _ => (self.large() * other.solved).cmp(&(other.large() * self.solved)).reverse(),
        }
    }

    fn large(&self) -> BigInt {
        match &self.loss {
            Loss::Small(loss) => BigInt::from(*loss),
            Loss::Large(loss) => loss.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_what_the_formula_says() {
        let losses = Losses::new(6, 100, 100);
        let unit = losses.sum(&[(1, 1)], 1);
        assert_eq!(unit, Loss::Small(60), "the multiple of 1 … 6; a lone doublet is lost whole");
        assert_eq!(losses.sum(&[(2, 1)], 1), unit, "1 - 0/2");
        assert_eq!(losses.sum(&[(4, 2)], 1), unit, "two times 1 - 6/12");
        assert_eq!(losses.sum(&[(6, 3), (3, 1)], 1), Loss::Small(3 * 20 + 40));
        assert_eq!(
            losses.sum(&[(1, 5), (4, 1)], 0),
            Loss::Small(0),
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
        for losses in [Losses::new(12, 10, 10), Losses::new(400, 10, 10)] {
            let (half, tenth) = (gain(&losses, 1, 4, 1), gain(&losses, 1, 2, 1));
            assert_eq!(half.compare(&tenth), Ordering::Greater, "less is lost for the same");
            assert_eq!(gain(&losses, 2, 2, 1).compare(&half), Ordering::Equal, "2/1 is 1/(1/2)");
            assert_eq!(gain(&losses, -1, 4, 1).compare(&tenth), Ordering::Less);
            assert_eq!(gain(&losses, -1, 4, 1).compare(&gain(&losses, -1, 2, 1)), Ordering::Less);
        }
        assert!(matches!(gain(&Losses::new(400, 10, 10), 1, 4, 1).loss, Loss::Large(_)));
    }
}
