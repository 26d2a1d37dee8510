//! Ways that go on: there, stay, and back or elsewhere. Sparse: most of its cells are empty.

use super::Table;
use crate::engine::weave::shape::{Clock, Shape};
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::{Contribution, UNIT};

/// By kind, origin, destination, when it began and when it went on; a card counts once in each.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Loops {
    stations: u32,
    pub(in crate::engine::weave) clock: Clock,
}

/// One such way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine::weave) struct Loop {
    /// 0: a stay, then back to the origin; 1: a stay, then elsewhere; 2: back at once.
    pub(in crate::engine::weave) kind: u32,
    pub(in crate::engine::weave) from: u32,
    pub(in crate::engine::weave) to: u32,
    /// When it began.
    pub(in crate::engine::weave) begun: u32,
    /// When it went on from `to`.
    pub(in crate::engine::weave) on: u32,
}

impl Loops {
    pub(in crate::engine::weave) const KINDS: u32 = 3;

    pub(in crate::engine::weave) fn new(shape: Shape, parts: u32) -> Self {
        Self { stations: shape.stations, clock: shape.clock(parts) }
    }

    /// The way that begins with the step from tap `at`, if it is one.
    #[inline]
    pub(in crate::engine::weave) fn at(walk: &Walk, at: usize) -> Option<Loop> {
        let (from, to) = (walk.station[at], walk.station[at + 1]);
        if from == to || at + 2 >= walk.n {
            return None;
        }
        let found = |kind, on| Some(Loop { kind, from, to, begun: walk.slot[at], on });
        let third = walk.station[at + 2];
        if third == from {
            return found(2, walk.slot[at + 1]);
        }
        let stays_and_goes = third == to && at + 3 < walk.n && walk.station[at + 3] != to;
        if !stays_and_goes {
            return None;
        }
        found(u32::from(walk.station[at + 3] != from), walk.slot[at + 2])
    }

    /// The cell of a way.
    #[inline]
    pub(in crate::engine::weave) fn cell(&self, way: Loop) -> u64 {
        let (stations, parts) = (u64::from(self.stations), u64::from(self.clock.parts));
        let pair = (u64::from(way.kind) * stations + u64::from(way.from)) * stations;
        let times =
            u64::from(self.clock.part(way.begun)) * parts + u64::from(self.clock.part(way.on));
        (pair + u64::from(way.to)) * parts * parts + times
    }
}

impl Table for Loops {
    fn n_cells(&self) -> u64 {
        let (stations, parts) = (u64::from(self.stations), u64::from(self.clock.parts));
        u64::from(Self::KINDS) * stations * stations * parts * parts
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for at in walk.steps() {
            if let Some(way) = Self::at(walk, at) {
                out.add_once(self.cell(way), UNIT);
            }
        }
    }
}
