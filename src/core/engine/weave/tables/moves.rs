//! From which station, in which period of the day, to which station.

use super::Table;
use crate::engine::weave::shape::{Clock, Shape};
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::{Contribution, UNIT};

/// By parity of the step, origin, period and destination; a card counts once in each.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Moves {
    stations: u32,
    parities: u32,
    pub(in crate::engine::weave) clock: Clock,
    /// What a step between two trips weighs, in units, where taps come in pairs.
    between: u32,
}

impl Moves {
    pub(in crate::engine::weave) fn new(
        shape: Shape,
        parities: u32,
        periods: u32,
        between: u32,
    ) -> Self {
        Self { stations: shape.stations, parities, clock: shape.clock(periods), between }
    }

    /// What a step of this parity weighs.
    #[inline]
    pub(in crate::engine::weave) fn weight(&self, parity: u32) -> u32 {
        if parity == 0 { UNIT } else { self.between }
    }

    /// The row of destinations of a step.
    #[inline]
    pub(in crate::engine::weave) fn row(&self, parity: u32, from: u32, slot: u32) -> u64 {
        let origin = u64::from(parity * self.stations + from);
        origin * u64::from(self.clock.parts) + u64::from(self.clock.part(slot))
    }
}

impl Table for Moves {
    fn n_cells(&self) -> u64 {
        u64::from(self.parities)
            * u64::from(self.stations)
            * u64::from(self.clock.parts)
            * u64::from(self.stations)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for at in walk.steps() {
            let (parity, from, to) =
                (at as u32 % self.parities, walk.station[at], walk.station[at + 1]);
            if from != to {
                let row = self.row(parity, from, walk.slot[at]);
                out.add_once(row * u64::from(self.stations) + u64::from(to), self.weight(parity));
            }
        }
    }
}
