//! From one tap's day to the next one's, in windows of several days.

use super::Table;
use crate::engine::weave::shape::{Clock, Shape};
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::Contribution;

/// By class of length, parity of the step, day and day.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Days {
    clock: Clock,
    parities: u32,
    pub(in crate::engine::weave) n_days: u32,
}

impl Days {
    /// Lengths in four classes.
    pub(in crate::engine::weave) const CLASSES: u32 = 4;

    pub(in crate::engine::weave) fn new(shape: Shape, parities: u32) -> Self {
        Self { clock: shape.clock(1), parities, n_days: shape.n_days() }
    }

    /// The class of a length.
    pub(in crate::engine::weave) fn class(length: usize) -> u32 {
        match length {
            0..=2 => 0,
            3..=4 => 1,
            5..=8 => 2,
            _ => 3,
        }
    }

    /// The cell of a step between two slots.
    #[inline]
    pub(in crate::engine::weave) fn cell(
        &self,
        length: usize,
        parity: u32,
        from: u32,
        to: u32,
    ) -> u64 {
        let row =
            (Self::class(length) * self.parities + parity) * self.n_days + self.clock.day(from);
        u64::from(row) * u64::from(self.n_days) + u64::from(self.clock.day(to))
    }
}

impl Table for Days {
    fn n_cells(&self) -> u64 {
        u64::from(Self::CLASSES * self.parities) * u64::from(self.n_days) * u64::from(self.n_days)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for at in walk.steps() {
            out.add(self.cell(walk.n, at as u32 % self.parities, walk.slot[at], walk.slot[at + 1]));
        }
    }
}
