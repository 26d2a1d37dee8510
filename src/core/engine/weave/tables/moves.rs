//! From which station, in which period of the day, to which station.

use super::Table;
use crate::engine::weave::kinds::StepKinds;
use crate::engine::weave::shape::{Clock, Shape};
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::Contribution;

/// By kind of step, origin, period and destination; a card counts once in each.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Moves {
    stations: u32,
    pub(in crate::engine::weave) kinds: StepKinds,
    pub(in crate::engine::weave) clock: Clock,
}

impl Moves {
    pub(in crate::engine::weave) fn new(shape: Shape, kinds: StepKinds, periods: u32) -> Self {
        Self { stations: shape.stations, kinds, clock: shape.clock(periods) }
    }

    /// The same with one kind for all steps.
    pub(in crate::engine::weave) fn together(self) -> Self {
        Self { kinds: self.kinds.together(), ..self }
    }

    /// The row of destinations of a step.
    #[inline]
    pub(in crate::engine::weave) fn row(&self, kind: u32, from: u32, slot: u32) -> u64 {
        let origin = u64::from(kind * self.stations + from);
        origin * u64::from(self.clock.parts) + u64::from(self.clock.part(slot))
    }
}

impl Table for Moves {
    fn n_cells(&self) -> u64 {
        u64::from(self.kinds.n())
            * u64::from(self.stations)
            * u64::from(self.clock.parts)
            * u64::from(self.stations)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for at in walk.steps() {
            let kind = self.kinds.of_step(walk, at);
            let (from, to) = (walk.station[at], walk.station[at + 1]);
            if from != to {
                let cell =
                    self.row(kind, from, walk.slot[at]) * u64::from(self.stations) + u64::from(to);
                out.add_once(cell, self.kinds.weight(kind));
            }
        }
    }
}
