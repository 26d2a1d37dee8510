//! From which station to which, over the whole window.

use super::Table;
use crate::engine::weave::kinds::StepKinds;
use crate::engine::weave::shape::Shape;
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::Contribution;

/// By kind of step, origin and destination. Every step counts, also of the same pair again.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Pairs {
    stations: u32,
    kinds: StepKinds,
}

impl Pairs {
    pub(in crate::engine::weave) fn new(shape: Shape, kinds: StepKinds) -> Self {
        Self { stations: shape.stations, kinds }
    }

    /// The same with one kind for all steps.
    pub(in crate::engine::weave) fn together(self) -> Self {
        Self { kinds: self.kinds.together(), ..self }
    }

    /// The cell of a step.
    #[inline]
    pub(in crate::engine::weave) fn cell(&self, kind: u32, from: u32, to: u32) -> u64 {
        u64::from(kind * self.stations + from) * u64::from(self.stations) + u64::from(to)
    }
}

impl Table for Pairs {
    fn n_cells(&self) -> u64 {
        u64::from(self.kinds.n()) * u64::from(self.stations) * u64::from(self.stations)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for at in walk.steps() {
            let kind = self.kinds.of_step(walk, at);
            let (from, to) = (walk.station[at], walk.station[at + 1]);
            // A stay that is no leg is another table's matter.
            if from != to || self.kinds.counts_stays(kind) {
                out.add_weighted(self.cell(kind, from, to), self.kinds.weight(kind));
            }
        }
    }
}
