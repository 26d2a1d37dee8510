//! Which steps of a card are legs, and which lie between two or take too long.

use super::Legs;
use super::walk::Walk;
use super::weights::UNIT;

/// How steps are told apart in the tables of flows: kind 0 is legs, kind 1 the others, unless every step is a leg.
///
/// Of a card it is known which steps are legs where its taps say entry and exit. Of a synthetic trip it is not: where
/// taps come in pairs, every other step is one; elsewhere both kinds are taken together (see [`Self::together`]).
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
        if self.longest.is_some() || self.legs == Legs::Kinds { 2 } else { self.parities }
    }

    /// Whether a synthetic trip cannot tell the kinds apart: taps say entry and exit, but do not come in pairs.
    pub(super) fn are_known_of_cards_alone(self) -> bool {
        self.legs == Legs::Kinds && self.parities == 1
    }

    /// One kind for all steps.
    pub(super) fn together(self) -> Self {
        Self { legs: Legs::Next, parities: 1, longest: None }
    }

    /// The kind of a step of a card or of a synthetic trip.
    #[inline]
    pub(super) fn of_step(self, walk: &Walk, at: usize) -> u32 {
        let (from, to) = (walk.slot[at], walk.slot[at + 1]);
        match walk.is_leg(at) {
            Some(is_leg) => u32::from(!is_leg || self.is_too_long(from, to)),
            None => self.of(at, from, to),
        }
    }

    fn is_too_long(self, from: u32, to: u32) -> bool {
        self.longest.is_some_and(|longest| to.saturating_sub(from) > longest)
    }

    /// The kind of step number `at`, from slot to slot, where nothing else is known.
    #[inline]
    pub(super) fn of(self, at: usize, from: u32, to: u32) -> u32 {
        let parity = at as u32 % self.parities;
        match self.legs {
            _ if self.longest.is_none() => parity,
            Legs::Next => u32::from(self.is_too_long(from, to)),
            Legs::Pairs | Legs::Kinds => u32::from(parity == 1 || self.is_too_long(from, to)),
        }
    }

    /// Whether steps of a kind are legs.
    pub(super) fn is_leg(self, kind: u32) -> bool {
        kind == 0 || self.legs == Legs::Next && self.longest.is_none()
    }

    /// Whether stays of a kind belong to the pairs.
    pub(super) fn counts_stays(self, kind: u32) -> bool {
        kind == 0 || self.are_known_of_cards_alone()
    }

    /// What a step of a kind weighs, in units: what is no leg serves the synthetic trips alone.
    #[inline]
    pub(super) fn weight(self, kind: u32) -> u32 {
        match kind {
            0 => UNIT,
            // Both kinds are added up for the synthetic trips: they must weigh the same.
            _ if self.are_known_of_cards_alone() => UNIT,
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
    fn entry_to_exit_is_a_leg_whatever_its_number() {
        use crate::engine::weave::Shape;
        use crate::model::{Doublet, StationIx, TapKind};
        let taps = [3, 4, 5, 9, 14].map(|slot| Doublet { station: StationIx(slot % 2), slot });
        let (entry, exit) = (Some(TapKind::Entry), Some(TapKind::Exit));
        let mut walk = Walk::new();
        let shape = Shape::new(2, 24, 24, 12);
        walk.read_taps(&taps, &[entry, entry, exit, entry, exit], shape, Legs::Kinds);
        for parities in [1, 2] {
            let limited = StepKinds::new(Legs::Kinds, parities, Some(4));
            assert_eq!(kinds_of(limited, &walk), [1, 0, 1, 1]);
            let unlimited = StepKinds::new(Legs::Kinds, parities, None);
            assert_eq!(kinds_of(unlimited, &walk), [1, 0, 1, 0]);
        }
        let alone = StepKinds::new(Legs::Kinds, 1, None);
        assert!(alone.are_known_of_cards_alone() && alone.n() == 2 && alone.together().n() == 1);
        assert_eq!((alone.weight(0), alone.weight(1)), (UNIT, UNIT));
        walk.read_taps(&taps, &[], shape, Legs::Kinds);
        assert_eq!(kinds_of(alone, &walk), [1; 4], "taps without a kind make no leg");
        walk.read_taps(&taps, &[], shape, Legs::Next);
        assert_eq!(kinds_of(StepKinds::new(Legs::Next, 1, None), &walk), [0; 4]);
    }

    fn kinds_of(kinds: StepKinds, walk: &Walk) -> [u32; 4] {
        [0, 1, 2, 3].map(|at| kinds.of_step(walk, at))
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
