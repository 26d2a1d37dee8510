//! Who was where when: the different doublets of a card.

use super::Table;
use crate::engine::weave::shape::Shape;
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::{Contribution, UNIT};

/// One cell a doublet; a card counts once in each.
pub(in crate::engine::weave) struct Occupancy(pub(in crate::engine::weave) Shape);

impl Table for Occupancy {
    fn n_cells(&self) -> u64 {
        self.0.n_doublets()
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for &code in &walk.code[..walk.n] {
            out.add_once(u64::from(code), UNIT);
        }
    }
}
