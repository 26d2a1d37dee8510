//! How many cards there are.

use super::Table;
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::Contribution;

/// One cell: every card counts once.
pub(in crate::engine::weave) struct Cards;

impl Table for Cards {
    fn n_cells(&self) -> u64 {
        1
    }

    fn cells(&self, _: &Walk, out: &mut Contribution) {
        out.add(0);
    }
}
