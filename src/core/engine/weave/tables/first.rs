//! Where and when a card taps first.

use super::Table;
use crate::engine::weave::shape::Shape;
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::Contribution;

/// One cell a doublet.
pub(in crate::engine::weave) struct First(pub(in crate::engine::weave) Shape);

impl Table for First {
    fn n_cells(&self) -> u64 {
        self.0.n_doublets()
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        out.add(u64::from(walk.code[0]));
    }
}
