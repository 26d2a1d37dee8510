//! From one tap's time of day to the next one's.

use super::Table;
use crate::engine::weave::shape::{Clock, Shape};
use crate::engine::weave::walk::{GROUPS, Walk, group};
use crate::engine::weave::weights::Contribution;

/// By parity of the step, group of its relation, same day or a later one, hour and hour.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Times {
    pub(in crate::engine::weave) clock: Clock,
    parities: u32,
}

impl Times {
    pub(in crate::engine::weave) fn new(shape: Shape, parities: u32) -> Self {
        Self { clock: shape.clock(shape.divisor(96)), parities }
    }

    /// The cell of a step of this parity and group.
    #[inline]
    pub(in crate::engine::weave) fn cell(
        &self,
        parity: u32,
        group: u32,
        from: u32,
        to: u32,
    ) -> u64 {
        let parts = u64::from(self.clock.parts);
        let later = u64::from(self.clock.day(from) != self.clock.day(to));
        let block = u64::from(parity * GROUPS + group) * 2 + later;
        (block * parts + u64::from(self.clock.part(from))) * parts + u64::from(self.clock.part(to))
    }
}

impl Table for Times {
    fn n_cells(&self) -> u64 {
        u64::from(self.parities * GROUPS * 2)
            * u64::from(self.clock.parts)
            * u64::from(self.clock.parts)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for at in walk.steps() {
            let parity = at as u32 % self.parities;
            out.add(self.cell(parity, group(walk.relation[at]), walk.slot[at], walk.slot[at + 1]));
        }
    }
}
