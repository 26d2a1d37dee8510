//! How a step relates to the card's past.

use super::Table;
use crate::engine::weave::shape::{Clock, Shape};
use crate::engine::weave::walk::{FLAGS, RELATIONS, Walk};
use crate::engine::weave::weights::Contribution;

/// By parity of the step, whether it is the last, flag, relation and period of the day.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Relations {
    pub(in crate::engine::weave) clock: Clock,
    parities: u32,
}

impl Relations {
    pub(in crate::engine::weave) fn new(shape: Shape, parities: u32) -> Self {
        Self { clock: shape.clock(6), parities }
    }

    /// The row of cells, one a relation and period, that a step's circumstances name.
    #[inline]
    pub(in crate::engine::weave) fn row(parity: u32, last: bool, flag: u8) -> u32 {
        (parity * 2 + u32::from(last)) * FLAGS + u32::from(flag)
    }

    /// The cell of a step.
    #[inline]
    pub(in crate::engine::weave) fn cell(&self, row: u32, relation: u8, slot: u32) -> u64 {
        let of_row = row * RELATIONS + u32::from(relation);
        u64::from(of_row * self.clock.parts + self.clock.part(slot))
    }
}

impl Table for Relations {
    fn n_cells(&self) -> u64 {
        u64::from(self.parities * 2 * FLAGS * RELATIONS * self.clock.parts)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for at in walk.steps() {
            let row = Self::row(at as u32 % self.parities, at + 2 == walk.n, walk.flag[at]);
            out.add(self.cell(row, walk.relation[at], walk.slot[at]));
        }
    }
}
