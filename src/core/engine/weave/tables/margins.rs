//! The sums of the occupancy table over slots and over stations, for windows too small for its cells.

use super::Table;
use crate::engine::weave::shape::Shape;
use crate::engine::weave::walk::Walk;
use crate::engine::weave::weights::Contribution;

/// Cards per station: one for each different doublet there.
pub(in crate::engine::weave) struct Places(pub(in crate::engine::weave) Shape);

/// Cards per slot: one for each different doublet then.
pub(in crate::engine::weave) struct Hours(pub(in crate::engine::weave) Shape);

fn for_each_doublet(walk: &Walk, mut each: impl FnMut(usize)) {
    for at in 0..walk.n {
        if !walk.code[..at].contains(&walk.code[at]) {
            each(at);
        }
    }
}

impl Table for Places {
    fn n_cells(&self) -> u64 {
        u64::from(self.0.stations)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for_each_doublet(walk, |at| out.add(u64::from(walk.station[at])));
    }
}

impl Table for Hours {
    fn n_cells(&self) -> u64 {
        u64::from(self.0.slots)
    }

    fn cells(&self, walk: &Walk, out: &mut Contribution) {
        for_each_doublet(walk, |at| out.add(u64::from(walk.slot[at])));
    }
}
