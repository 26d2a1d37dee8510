//! Which steps of a card are legs, and which lie between two or take too long.

use super::Legs;
use super::weights::UNIT;

/// How steps are told apart in the tables of flows: kind 0 is legs, kind 1 the others, unless every step is a leg.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StepKinds {
    legs: Legs,
    parities: u32,
    /// Slots that a leg takes at most; `None` where every step of the window is short enough.
    longest: Option<u32>,
}

impl StepKinds {
    pub(super) fn new(legs: Legs, parities: u32, longest: Option<u32>) -> Self {
        Self { legs, parities, longest }
    }

    /// How many kinds there are.
    pub(super) fn n(self) -> u32 {
        if self.longest.is_some() { 2 } else { self.parities }
    }

    /// The kind of a card's step number `at`, from slot to slot.
    #[inline]
    pub(super) fn of(self, at: usize, from: u32, to: u32) -> u32 {
        let parity = at as u32 % self.parities;
        match (self.longest, self.legs) {
            (None, _) => parity,
            (Some(longest), Legs::Next) => u32::from(to.saturating_sub(from) > longest),
            (Some(longest), Legs::Pairs) => {
                u32::from(parity == 1 || to.saturating_sub(from) > longest)
            }
        }
    }

    /// Whether steps of a kind are legs.
    pub(super) fn is_leg(self, kind: u32) -> bool {
        kind == 0 || self.legs == Legs::Next && self.longest.is_none()
    }

    /// What a step of a kind weighs, in units: what is no leg serves the synthetic trips alone.
    #[inline]
    pub(super) fn weight(self, kind: u32) -> u32 {
        match kind {
            0 => UNIT,
            _ if self.parities == 1 => UNIT / 2,
            _ => UNIT / 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_takes_too_long_is_no_leg() {
        let next = StepKinds::new(Legs::Next, 1, Some(3));
        assert_eq!((next.of(0, 5, 8), next.of(1, 5, 9)), (0, 1));
        assert!(next.is_leg(0) && !next.is_leg(1));
        let pairs = StepKinds::new(Legs::Pairs, 2, Some(3));
        assert_eq!((pairs.of(0, 5, 8), pairs.of(0, 5, 9), pairs.of(1, 5, 5)), (0, 1, 1));
        assert!(!pairs.is_leg(1));
    }

    #[test]
    fn without_a_limit_every_step_is_a_leg_or_every_other() {
        let next = StepKinds::new(Legs::Next, 2, None);
        assert!(next.is_leg(0) && next.is_leg(1) && next.n() == 2);
        let pairs = StepKinds::new(Legs::Pairs, 2, None);
        assert!(pairs.is_leg(0) && !pairs.is_leg(1));
        assert_eq!(StepKinds::new(Legs::Next, 1, None).n(), 1);
    }
}
