//! One partition of the taps while it is ours: its taps since the last flush, and how far it was read.

use jiff::Timestamp;

use crate::model::{Counts, Reject, WindowId};
use crate::seal::{Closing, IngestMetadata, Judged, PartitionSeals, PartitionState, Rules};
use crate::window::Arrival;

/// A record that was read, decoded and judged by itself.
#[derive(Clone, Copy, Debug)]
pub struct PolledRecord {
    /// Its partition.
    pub partition: i32,
    pub offset: i64,
    pub judged: Judged,
}

/// One partition that is ours.
#[derive(Debug)]
pub struct Partition {
    pub(super) state: PartitionState,
    /// Next record to read.
    pub(super) position: i64,
    /// Where the last commit stands.
    committed: i64,
    pub(super) rejects: Vec<(i64, Reject)>,
    counts: Counts,
    /// Taps among the rejects that came too late for any window of this feed.
    n_stale: u64,
    arrived_secs: Option<i64>,
}

impl Partition {
    /// Goes on at a position, with what the commit there remembers.
    pub(super) fn new(rules: &Rules, position: i64, memory: IngestMetadata) -> Self {
        let seals = PartitionSeals::through(memory.sealed_through);
        Self {
            state: PartitionState::new(rules, seals, memory.greatest_event),
            position,
            committed: position,
            rejects: Vec::new(),
            counts: Counts::default(),
            n_stale: 0,
            arrived_secs: None,
        }
    }

    /// The next record to read.
    pub fn position(&self) -> i64 {
        self.position
    }

    /// When the last record had arrived.
    pub fn arrived_secs(&self) -> Option<i64> {
        self.arrived_secs
    }

    /// The greatest event time read.
    pub fn greatest_event(&self) -> Option<Timestamp> {
        self.state.greatest_event()
    }

    /// Records that were read and are not committed.
    pub(super) fn n_uncommitted(&self) -> u64 {
        u64::try_from(self.position - self.committed).unwrap_or_default()
    }

    pub(super) fn take(
        &mut self,
        closing: Closing,
        stale_before: Timestamp,
        record: &PolledRecord,
    ) {
        self.position = record.offset + 1;
        if let Arrival::Stamped(at) = record.judged.arrival {
            self.arrived_secs = Some(at.as_second());
        }
        match self.state.take(closing, &record.judged) {
            Ok(()) => self.counts.taps += 1,
            Err(reason) => {
                let is_old = || record.judged.progress.is_some_and(|event| event < stale_before);
                if reason == Reject::Late || (reason == Reject::OutsideRange && is_old()) {
                    self.n_stale += 1;
                }
                self.counts.reject(reason);
                self.rejects.push((record.offset, reason));
            }
        }
    }

    /// What was sent is committed, sealed up to this window. Gives what it counted, and the stale taps among it.
    pub(super) fn committed(&mut self, sealed: Option<WindowId>) -> (Counts, u64) {
        self.state.committed(sealed);
        self.committed = self.position;
        self.rejects.clear();
        (std::mem::take(&mut self.counts), std::mem::take(&mut self.n_stale))
    }
}
