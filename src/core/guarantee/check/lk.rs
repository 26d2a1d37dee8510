//! LK-privacy, by growing every sequence that occurs and counting who contains it (after PrefixSpan): depth first,
//! so that only the ways from the root to the present sequence are held.

use super::{Breach, Trip};
use crate::model::Doublet;

/// Doublets that are looked at before a check is given up. A release of a city takes a thousandth of it.
const WORK_MAX: u64 = 2_000_000_000;

/// Every sequence of at most `l` doublets that occurs is contained in at least `k` trajectories. Rows that somebody
/// made up could keep a check busy for years: one that takes too long is a breach of its own.
pub fn lk(trips: &[Trip<'_>], l: u32, k: u64) -> Result<(), Breach> {
    lk_within(trips, l, k, WORK_MAX)
}

pub(super) fn lk_within(trips: &[Trip<'_>], l: u32, k: u64, most: u64) -> Result<(), Breach> {
    let index = Index::new(trips);
    let longest = trips.iter().map(|trip| trip.path.len()).max().unwrap_or(0);
    if longest <= l as usize {
        // A sequence is in at least as many trajectories as any trajectory that contains it.
        return index.whole_paths(k);
    }
    let everywhere: Vec<Start> =
        (0..index.paths.len()).map(|trip| Start { trip, from: 0 }).collect();
    let mut growth = Growth { index: &index, longest: l as usize, k, work_left: most, most };
    growth.grow(&everywhere, 1)
}

/// A search through all sequences.
struct Growth<'a> {
    index: &'a Index,
    longest: usize,
    k: u64,
    work_left: u64,
    most: u64,
}

impl Growth<'_> {
    /// Counts what can follow; `starts` are the trajectories with the present sequence, behind its first match.
    fn grow(&mut self, starts: &[Start], length: usize) -> Result<(), Breach> {
        let Index { paths, counts, .. } = self.index;
        // Every doublet of the rests, with the trajectory and the place behind it; the first in each counts.
        let mut next: Vec<(u32, usize, usize)> = Vec::new();
        for start in starts {
            let rest = (1_usize..).zip(paths[start.trip].iter()).skip(start.from);
            next.extend(rest.map(|(behind, &doublet)| (doublet, start.trip, behind)));
        }
        let left = self.work_left.checked_sub(next.len() as u64);
        self.work_left = left.ok_or(Breach::TooMuchWork { most: self.most })?;
        next.sort_unstable();
        next.dedup_by_key(|(doublet, trip, _)| (*doublet, *trip));
        for same in next.chunk_by(|a, b| a.0 == b.0) {
            let support =
                same.iter().fold(0, |sum, &(_, trip, _)| counts[trip].saturating_add(sum));
            if support < self.k {
                return Err(Breach::Rare { length, support, k: self.k });
            }
            // Whatever follows in a row that stands for K trajectories is shared by K: only rows below K can make
            // something rare, and what follows is looked at only where there is one.
            let is_safe = same.iter().all(|&(_, trip, _)| counts[trip] >= self.k);
            if length < self.longest && !is_safe {
                let below: Vec<Start> =
                    same.iter().map(|&(_, trip, from)| Start { trip, from }).collect();
                self.grow(&below, length.saturating_add(1))?;
            }
        }
        Ok(())
    }
}

/// Paths with their doublets numbered.
struct Index {
    paths: Vec<Vec<u32>>,
    counts: Vec<u64>,
    n_doublets: usize,
}

/// Where the rest of a path begins.
#[derive(Clone, Copy)]
struct Start {
    trip: usize,
    from: usize,
}

impl Index {
    fn new(trips: &[Trip<'_>]) -> Self {
        let mut known: Vec<Doublet> =
            trips.iter().flat_map(|trip| trip.path.iter().copied()).collect();
        known.sort_unstable();
        known.dedup();
        let number = |doublet: &Doublet| {
            let at = known.binary_search(doublet).expect("all doublets are known");
            u32::try_from(at).expect("fewer doublets than 2^32")
        };
        Self {
            paths: trips.iter().map(|trip| trip.path.iter().map(number).collect()).collect(),
            counts: trips.iter().map(|trip| trip.count).collect(),
            n_doublets: known.len(),
        }
    }

    /// Every whole path is contained in at least `k` trajectories.
    fn whole_paths(&self, k: u64) -> Result<(), Breach> {
        let mut holders: Vec<Vec<usize>> = vec![Vec::new(); self.n_doublets];
        for (trip, path) in self.paths.iter().enumerate() {
            for &doublet in path {
                if holders[doublet as usize].last() != Some(&trip) {
                    holders[doublet as usize].push(trip);
                }
            }
        }
        for path in self.paths.iter().filter(|path| !path.is_empty()) {
            let rarest = path.iter().min_by_key(|&&doublet| holders[doublet as usize].len());
            let rarest = *rarest.expect("the path is not empty");
            let mut support = 0;
            for &trip in &holders[rarest as usize] {
                let mut rest = self.paths[trip].iter();
                if path.iter().all(|doublet| rest.any(|there| there == doublet)) {
                    support = self.counts[trip].saturating_add(support);
                }
                if support >= k {
                    break;
                }
            }
            if support < k {
                return Err(Breach::Rare { length: path.len(), support, k });
            }
        }
        Ok(())
    }
}
