//! How long cards stay at a station: two taps at one place, one after the other.

use super::Table;
use crate::engine::weave::shape::{Clock, Shape};
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::{Contribution, UNIT};

/// By parity of the step, station, time of day and time of day.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Stays {
    stations: u32,
    parities: u32,
    pub(in crate::engine::weave) clock: Clock,
}

impl Stays {
    pub(in crate::engine::weave) fn new(shape: Shape, parities: u32, parts: u32) -> Self {
        Self { stations: shape.stations, parities, clock: shape.clock(parts) }
    }

    /// The cell of a stay.
    #[inline]
    pub(in crate::engine::weave) fn cell(
        &self,
        parity: u32,
        station: u32,
        from: u32,
        to: u32,
    ) -> u64 {
        let parts = u64::from(self.clock.parts);
        let row = u64::from(parity * self.stations + station);
        (row * parts + u64::from(self.clock.part(from))) * parts + u64::from(self.clock.part(to))
    }
}

impl Table for Stays {
    fn n_cells(&self) -> u64 {
        u64::from(self.parities)
            * u64::from(self.stations)
            * u64::from(self.clock.parts)
            * u64::from(self.clock.parts)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for at in walk.steps() {
            if walk.station[at] == walk.station[at + 1] {
                let (from, to) = (walk.slot[at], walk.slot[at + 1]);
                out.add_once(
                    self.cell(at as u32 % self.parities, walk.station[at], from, to),
                    UNIT,
                );
            }
        }
    }
}
