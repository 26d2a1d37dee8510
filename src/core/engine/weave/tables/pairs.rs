//! From which station to which, over the whole window.

use super::Table;
use crate::engine::weave::shape::Shape;
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::{Contribution, UNIT};

/// By parity of the step, origin and destination. Every step counts, also of the same pair again.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Pairs {
    stations: u32,
    parities: u32,
    /// What a step between two trips weighs, in units, where taps come in pairs.
    between: u32,
}

impl Pairs {
    pub(in crate::engine::weave) fn new(shape: Shape, parities: u32, between: u32) -> Self {
        Self { stations: shape.stations, parities, between }
    }

    /// What a step of this parity weighs.
    #[inline]
    pub(in crate::engine::weave) fn weight(&self, parity: u32) -> u32 {
        if parity == 0 { UNIT } else { self.between }
    }

    /// The cell of a step.
    #[inline]
    pub(in crate::engine::weave) fn cell(&self, parity: u32, from: u32, to: u32) -> u64 {
        u64::from(parity * self.stations + from) * u64::from(self.stations) + u64::from(to)
    }
}

impl Table for Pairs {
    fn n_cells(&self) -> u64 {
        u64::from(self.parities) * u64::from(self.stations) * u64::from(self.stations)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for at in walk.steps() {
            let (parity, from, to) =
                (at as u32 % self.parities, walk.station[at], walk.station[at + 1]);
            // A stay between two trips is another table's matter.
            if from != to || parity == 0 {
                out.add_weighted(self.cell(parity, from, to), self.weight(parity));
            }
        }
    }
}
