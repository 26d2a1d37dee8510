//! One partition of the taps while it is ours: its taps since the last flush, and how far it was read.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

use std::collections::BTreeMap;

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

/// Rejects of one partition since the last flush: the first by themselves, the rest as sums. A topic full of old or
/// broken records must not make a transaction of any size.
#[derive(Debug, Default)]
pub(super) struct Rejects {
    pub(super) alone: Vec<(i64, Reject)>,
    pub(super) sums: BTreeMap<&'static str, Sum>,
}

/// Rejects of one reason that are not written one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sum {
    pub(super) n: u64,
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Rejects {
    /// Written one by one, of one partition in one flush.
    const ALONE_MAX: usize = 2_000;
    /// The same of taps outside the windows of this feed: they are many where a feed begins over a long history, and
    /// none of them is a fault that somebody looks for.
    const OUTSIDE_MAX: usize = 100;

    fn add(&mut self, offset: i64, reason: Reject) {
        let most = match reason {
            Reject::OutsideRange => Self::OUTSIDE_MAX,
            _ => Self::ALONE_MAX,
        };
        if self.alone.len() < most {
            self.alone.push((offset, reason));
            return;
        }
        let new = Sum { n: 0, first: offset, last: offset };
        let sum = self.sums.entry(reason.label()).or_insert(new);
        sum.n = sum.n.saturating_add(1);
        sum.last = offset;
    }
}

/// One partition that is ours.
#[derive(Debug)]
pub struct Partition {
    pub(super) state: PartitionState,
    /// Next record to read.
    pub(super) position: i64,
    /// Where the last commit stands.
    committed: i64,
    pub(super) rejects: Rejects,
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
            rejects: Rejects::default(),
            counts: Counts::default(),
            n_stale: 0,
            arrived_secs: None,
        }
    }

    /// The next record to read.
    pub fn position(&self) -> i64 {
        self.position
    }

    /// The last window that it has sealed.
    pub fn sealed_through(&self) -> Option<WindowId> {
        self.state.seals().last()
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
        u64::try_from(self.position.saturating_sub(self.committed)).unwrap_or_default()
    }

    pub(super) fn take(
        &mut self,
        closing: Closing,
        stale_before: Timestamp,
        record: &PolledRecord,
    ) {
        self.position = record.offset.saturating_add(1);
        if let Arrival::Stamped(at) = record.judged.arrival {
            self.arrived_secs = Some(at.as_second());
        }
        match self.state.take(closing, &record.judged) {
            Ok(()) => self.counts.taps = self.counts.taps.saturating_add(1),
            Err(reason) => {
                let is_old = || record.judged.progress.is_some_and(|event| event < stale_before);
                if reason == Reject::Late || (reason == Reject::OutsideRange && is_old()) {
                    self.n_stale = self.n_stale.saturating_add(1);
                }
                self.counts.reject(reason);
                self.rejects.add(record.offset, reason);
            }
        }
    }

    /// What was sent is committed, sealed up to this window. Gives what it counted, and the stale taps among it.
    pub(super) fn committed(&mut self, sealed: Option<WindowId>) -> (Counts, u64) {
        self.state.committed(sealed);
        self.committed = self.position;
        self.rejects = Rejects::default();
        (std::mem::take(&mut self.counts), std::mem::take(&mut self.n_stale))
    }
}
