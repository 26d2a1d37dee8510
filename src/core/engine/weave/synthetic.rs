//! A synthetic window: trajectories as codes, side by side.

use crate::engine::Row;
use crate::model::{Doublet, StationIx};

use super::shape::Shape;

/// Trajectories that nobody made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Synthetic {
    codes: Vec<u32>,
    ends: Vec<u32>,
}

impl Synthetic {
    pub(super) fn push(&mut self, codes: &[u32]) {
        self.codes.extend_from_slice(codes);
        self.ends.push(u32::try_from(self.codes.len()).expect("fewer than 2^32 taps in a window"));
    }

    /// Appends all of another.
    pub(super) fn append(&mut self, other: &Self) {
        let before = u32::try_from(self.codes.len()).expect("fewer than 2^32 taps in a window");
        self.codes.extend_from_slice(&other.codes);
        self.ends.extend(other.ends.iter().map(|end| before + end));
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, ix: usize) -> &[u32] {
        let start = if ix == 0 { 0 } else { self.ends[ix - 1] as usize };
        &self.codes[start..self.ends[ix] as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|ix| self.get(ix))
    }

    /// Every `n`-th trajectory from `first` on.
    pub(super) fn strand(&self, first: usize, n: usize) -> Self {
        let mut strand = Self::default();
        (first..self.len()).step_by(n).for_each(|ix| strand.push(self.get(ix)));
        strand
    }

    /// Puts strands together again.
    pub(super) fn braid(strands: &[Self]) -> Self {
        let mut all = Self::default();
        let n: usize = strands.iter().map(Self::len).sum();
        (0..n).for_each(|ix| all.push(strands[ix % strands.len()].get(ix / strands.len())));
        all
    }

    /// One trajectory, to be changed in place.
    pub(super) fn get_mut(&mut self, ix: usize) -> &mut [u32] {
        let start = if ix == 0 { 0 } else { self.ends[ix - 1] as usize };
        &mut self.codes[start..self.ends[ix] as usize]
    }

    /// Equal trajectories together, in order, with their numbers.
    pub(super) fn rows(&self, shape: Shape) -> Vec<Row> {
        let mut order: Vec<u32> =
            (0..u32::try_from(self.len()).expect("fewer than 2^32 cards")).collect();
        let path = |ix: &u32| self.get(*ix as usize);
        order.sort_unstable_by(|a, b| path(a).cmp(path(b)));
        let doublet = |&code: &u32| Doublet {
            station: StationIx(code / shape.slots),
            slot: code % shape.slots,
        };
        order
            .chunk_by(|a, b| path(a) == path(b))
            .map(|same| Row {
                path: path(&same[0]).iter().map(doublet).collect(),
                count: same.len() as u64,
            })
            .collect()
    }
}
