//! How many taps a card has.

use super::Table;
use crate::engine::weave::shape::Shape;
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::Contribution;

/// One cell a number of taps, from 1 on.
pub(in crate::engine::weave) struct Lengths(pub(in crate::engine::weave) Shape);

impl Table for Lengths {
    fn n_cells(&self) -> u64 {
        u64::from(self.0.longest)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        out.add(walk.n as u64 - 1);
    }
}
