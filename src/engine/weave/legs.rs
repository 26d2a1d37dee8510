//! Legs of one card: made of its own taps only, so that one card more or less changes its own legs and no others.

use super::Legs;
use super::walk::Walk;

/// Every leg of a trajectory, by the number of the tap it begins with. A stay between two trips is no leg.
pub(super) fn legs(rule: Legs, walk: &Walk) -> impl Iterator<Item = usize> {
    let is_leg = move |at: &usize| rule == Legs::Next || at.is_multiple_of(2);
    walk.steps().filter(is_leg)
}
