//! What a node of the tree can be: a cluster of stations in a slot.

use super::places::Clusters;
use crate::model::{Doublet, StationIx};

/// Every cluster of every slot, numbered by slot.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    clusters: Vec<Clusters>,
    /// The first number of each slot, and behind them how many there are.
    first: Vec<u32>,
}

impl Cells {
    pub(super) fn new(clusters: Vec<Clusters>) -> Self {
        let mut first = vec![0];
        let mut sum = 0;
        for slot in &clusters {
            sum += u32::try_from(slot.centres.len()).expect("at most as many as stations");
            first.push(sum);
        }
        Self { clusters, first }
    }

    /// How many there are from a slot on.
    pub(super) fn n_since(&self, slot: u32) -> u32 {
        self.len() - self.first[slot as usize]
    }

    pub(super) fn len(&self) -> u32 {
        self.first.last().copied().unwrap_or(0)
    }

    /// The first number of a slot.
    pub(super) fn first_of(&self, slot: u32) -> u32 {
        self.first[slot as usize]
    }

    pub(super) fn of(&self, doublet: Doublet) -> u32 {
        let Doublet { station: StationIx(station), slot } = doublet;
        self.first[slot as usize] + self.clusters[slot as usize].of[station as usize]
    }

    pub(super) fn slot(&self, cell: u32) -> u32 {
        let after = self.first.partition_point(|first| *first <= cell);
        u32::try_from(after - 1).expect("a window has few slots")
    }

    /// The station and slot that a release shows.
    pub(super) fn shown(&self, cell: u32) -> Doublet {
        let slot = self.slot(cell);
        let cluster = (cell - self.first_of(slot)) as usize;
        Doublet { station: self.clusters[slot as usize].centres[cluster], slot }
    }

    /// The same with other stations to stand for the clusters.
    pub(super) fn shown_as(mut self, centre: impl Fn(u32, StationIx) -> StationIx) -> Self {
        for (slot, clusters) in (0..).zip(&mut self.clusters) {
            for known in &mut clusters.centres {
                *known = centre(slot, *known);
            }
        }
        self
    }
}
