//! The release side of sealing: gathers segments until every partition has finished a window.
//!
//! A window is complete when the markers of partitions 0 … max(count) − 1 are in. Windows complete in any
//! order; what a settled window still gets is dropped.
//!
//! What a partition says of a window may come twice: brokers can lose track of a transaction so that its records appear
//! although its positions do not, and the same taps are read again (decision 0021).

use std::collections::{BTreeMap, BTreeSet};

use super::packed::PackedTaps;
use super::segment::Segment;
use crate::model::WindowId;
use crate::passenger::Stamp;
use crate::planted;

/// Why segments do not fit together. Each is a broken invariant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GatherError {
    /// New taps after the marker that said there would be none.
    #[error("S-7: partition {partition} sent new taps of a window it had finished")]
    TapsAfterMarker { partition: u32 },
}

/// What has come of one window.
#[derive(Debug)]
struct Gathering {
    taps: Vec<PackedTaps>,
    finished: BTreeSet<u32>,
    n_partitions: u32,
    first_offset: i64,
    /// Its taps are on their way to the release.
    is_handed_over: bool,
}

impl Gathering {
    /// Whether all these taps have come before.
    fn holds(&self, stamps: Vec<Stamp>) -> bool {
        let mut missing: BTreeSet<Stamp> = stamps.into_iter().collect();
        let mut known = Vec::new();
        for part in &self.taps {
            if missing.is_empty() {
                break;
            }
            part.unpack_into(&mut known);
            for stamp in known.drain(..) {
                missing.remove(&stamp);
            }
        }
        missing.is_empty()
    }
}

/// Windows that are on their way to their release.
#[derive(Debug, Default)]
pub struct GatheredWindows {
    windows: BTreeMap<WindowId, Gathering>,
}

impl GatheredWindows {
    /// Takes a segment that stood at this offset of `segments`.
    pub fn take(&mut self, segment: Segment, offset: i64) -> Result<(), GatherError> {
        let (Segment::Taps { window, .. } | Segment::Finished { window, .. }) = segment;
        let gathering = self.windows.entry(window).or_insert_with(|| Gathering {
            taps: Vec::new(),
            finished: BTreeSet::new(),
            n_partitions: 0,
            first_offset: offset,
            is_handed_over: false,
        });
        match segment {
            Segment::Taps { partition, stamps, .. } if gathering.finished.contains(&partition) => {
                // What is handed over is complete, and the same taps again change nothing.
                if !gathering.is_handed_over && !gathering.holds(stamps) {
                    return Err(GatherError::TapsAfterMarker { partition });
                }
            }
            Segment::Taps { stamps, .. } => gathering.taps.push(PackedTaps::new(stamps)),
            Segment::Finished { partition, n_partitions, .. } => {
                gathering.finished.insert(partition);
                gathering.n_partitions = gathering.n_partitions.max(n_partitions);
            }
        }
        Ok(())
    }

    /// The earliest window that every partition has finished.
    pub fn complete(&self) -> Option<WindowId> {
        let is_complete = |gathering: &Gathering| {
            let n_partitions =
                gathering.n_partitions.saturating_sub(u32::from(planted!(PartitionMissing)));
            gathering.n_partitions > 0
                && (0..n_partitions).all(|partition| gathering.finished.contains(&partition))
        };
        self.windows.iter().find(|(_, gathering)| is_complete(gathering)).map(|(window, _)| *window)
    }

    /// Hands the taps of a complete window over. Its place stays until [`Self::settle`]: whoever fails on the way
    /// starts over from the committed position.
    pub fn take_stamps(&mut self, window: WindowId) -> Vec<Stamp> {
        let Some(gathering) = self.windows.get_mut(&window) else { return Vec::new() };
        gathering.is_handed_over = true;
        let packed = std::mem::take(&mut gathering.taps);
        let mut stamps = Vec::with_capacity(packed.iter().map(PackedTaps::len).sum());
        // Each part is freed as soon as it is unpacked.
        packed.into_iter().for_each(|part| part.unpack_into(&mut stamps));
        stamps
    }

    /// Forgets a window whose release is in place or withheld for good.
    pub fn settle(&mut self, window: WindowId) {
        self.windows.remove(&window);
    }

    /// The first offset that a window on its way still needs.
    pub fn earliest_needed(&self) -> Option<i64> {
        self.windows.values().map(|gathering| gathering.first_offset).min()
    }

    /// The first offset that would be needed without this window.
    pub fn earliest_needed_without(&self, window: WindowId) -> Option<i64> {
        let others = self.windows.iter().filter(|(other, _)| **other != window);
        others.map(|(_, gathering)| gathering.first_offset).min()
    }

    /// Windows on their way: how many partitions have finished each, of how many.
    pub fn gathered(&self) -> impl Iterator<Item = (WindowId, u32, u32)> {
        self.windows.iter().map(|(window, gathering)| {
            let n_finished = u32::try_from(gathering.finished.len()).unwrap_or(u32::MAX);
            (*window, n_finished, gathering.n_partitions)
        })
    }

    /// Windows on their way.
    pub fn n_windows(&self) -> usize {
        self.windows.len()
    }

    /// Taps held.
    pub fn n_taps(&self) -> usize {
        self.parts().map(PackedTaps::len).sum()
    }

    /// Bytes they take.
    pub fn n_bytes(&self) -> usize {
        self.parts().map(PackedTaps::n_bytes).sum()
    }

    fn parts(&self) -> impl Iterator<Item = &PackedTaps> {
        self.windows.values().flat_map(|gathering| &gathering.taps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StationIx;
    use crate::passenger::CardKey;

    fn finished(window: i64, partition: u32, n_partitions: u32) -> Segment {
        Segment::Finished { window: WindowId::new(window), partition, n_partitions }
    }

    fn taps(window: i64, partition: u32) -> Segment {
        Segment::Taps { window: WindowId::new(window), partition, stamps: Vec::new() }
    }

    #[test]
    fn a_window_is_complete_when_every_partition_of_the_largest_count_is_in() {
        let mut gathered = GatheredWindows::default();
        gathered.take(taps(1, 0), 10).unwrap();
        gathered.take(finished(1, 0, 2), 11).unwrap();
        gathered.take(finished(1, 1, 3), 12).unwrap();
        assert_eq!(gathered.complete(), None, "a partition was added before the deadline");
        gathered.take(finished(1, 2, 3), 13).unwrap();
        assert_eq!(gathered.complete(), Some(WindowId::new(1)));
    }

    #[test]
    fn the_committed_offset_is_the_earliest_one_an_unsettled_window_needs() {
        let mut gathered = GatheredWindows::default();
        for (segment, offset) in [(taps(1, 0), 5), (taps(2, 0), 6), (taps(1, 0), 7)] {
            gathered.take(segment, offset).unwrap();
        }
        assert_eq!(gathered.earliest_needed(), Some(5));
        assert_eq!(gathered.earliest_needed_without(WindowId::new(1)), Some(6));
        gathered.settle(WindowId::new(1));
        assert_eq!(gathered.earliest_needed(), Some(6));
    }

    fn some_taps(partition: u32, cards: std::ops::Range<u64>) -> Segment {
        let stamp = |card| Stamp::new(CardKey::from_halves([card, 7]), 1_000, StationIx(3), None);
        Segment::Taps { window: WindowId::new(1), partition, stamps: cards.map(stamp).collect() }
    }

    /// Holds S-7.
    #[test]
    fn new_taps_after_a_marker_are_a_broken_invariant() {
        let mut gathered = GatheredWindows::default();
        gathered.take(some_taps(0, 0..5), 1).unwrap();
        gathered.take(some_taps(1, 5..6), 2).unwrap();
        gathered.take(finished(1, 0, 2), 3).unwrap();
        let late = gathered.take(some_taps(0, 4..7), 4);
        assert_eq!(late, Err(GatherError::TapsAfterMarker { partition: 0 }));
        gathered.take(some_taps(1, 6..9), 5).unwrap();
    }

    /// Holds S-8.
    #[test]
    fn what_a_partition_says_of_a_window_may_come_twice() {
        let mut gathered = GatheredWindows::default();
        for offset in [0, 10] {
            gathered.take(some_taps(0, 0..3), offset).unwrap();
            gathered.take(some_taps(0, 3..5), offset + 1).unwrap();
            gathered.take(finished(1, 0, 2), offset + 2).unwrap();
            assert_eq!(gathered.complete(), None, "one of two partitions");
        }
        assert_eq!(gathered.n_taps(), 5);
        gathered.take(finished(1, 1, 2), 20).unwrap();
        assert_eq!(gathered.complete(), Some(WindowId::new(1)));
        assert_eq!(gathered.take_stamps(WindowId::new(1)).len(), 5);
        gathered.take(some_taps(0, 0..3), 21).unwrap();
        assert_eq!(gathered.n_taps(), 0, "nothing comes to what is handed over");
    }
}
