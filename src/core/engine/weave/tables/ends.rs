//! When trajectories of a length begin and end.

use super::Table;
use crate::engine::weave::shape::Shape;
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::Contribution;

/// Lengths 1 to 8 one by one; longer ones by parity.
pub(in crate::engine::weave) const CLASSES: u32 = 10;

/// The class of a length.
pub(in crate::engine::weave) fn class(length: usize) -> u32 {
    match length {
        0..=8 => length as u32 - 1,
        odd if odd % 2 == 1 => 8,
        _ => 9,
    }
}

/// A day has six parts where a window has several days; otherwise each slot stands alone.
pub(in crate::engine::weave) fn n_times(shape: Shape) -> u32 {
    match shape.n_days() {
        1 => shape.clock(96).parts,
        days => days * shape.clock(6).parts,
    }
}

/// The time class of a slot.
pub(in crate::engine::weave) fn time(shape: Shape, slot: u32) -> u32 {
    if shape.n_days() == 1 {
        return shape.clock(96).part(slot);
    }
    let clock = shape.clock(6);
    clock.day(slot) * clock.parts + clock.part(slot)
}

fn cell(shape: Shape, walk: &Walk, slot: u32) -> u64 {
    u64::from(class(walk.n) * n_times(shape) + time(shape, slot))
}

/// The first slot by class of length.
pub(in crate::engine::weave) struct Starts(pub(in crate::engine::weave) Shape);

/// The last slot by class of length.
pub(in crate::engine::weave) struct Ends(pub(in crate::engine::weave) Shape);

impl Table for Starts {
    fn n_cells(&self) -> u64 {
        u64::from(CLASSES * n_times(self.0))
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        out.add(cell(self.0, walk, walk.slot[0]));
    }
}

impl Table for Ends {
    fn n_cells(&self) -> u64 {
        u64::from(CLASSES * n_times(self.0))
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        out.add(cell(self.0, walk, walk.slot[walk.n - 1]));
    }
}
