//! The release side of the segments: what has come of each window, and from where reading must go on.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

use std::collections::BTreeSet;

use super::transaction::Position;
use super::window::ReleasePlan;
use super::{Error, ReleaseMetadata, Signer};
use crate::ledger::Chain;
use crate::model::{Calendar, Mac, StationIx, WindowId};
use crate::passenger::Stamp;
use crate::planted;
use crate::seal::{GatheredWindows, Segment, SegmentCodec};

/// The one partition of `segments`.
pub(super) const SEGMENTS: i32 = 0;

/// What became of a record of `segments`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    Counts,
    /// It could not be taken, and the operator passes over it.
    PassedOver,
}

/// Windows on their way to their release.
#[derive(Debug)]
pub struct PendingWindows {
    codec: SegmentCodec,
    calendar: Calendar,
    n_stations: u32,
    signer: Signer,
    pass: BTreeSet<i64>,
    gathered: GatheredWindows,
    first: WindowId,
    /// Next record to read.
    position: i64,
    /// The last window that was released or withheld.
    done_through: Option<WindowId>,
    /// Records before this are needed no more.
    delete_before: Option<i64>,
}

impl PendingWindows {
    /// Nothing has come yet; reading goes on at a position.
    pub(super) fn new<R>(
        plan: &ReleasePlan<R>,
        first: WindowId,
        position: i64,
        done_through: Option<WindowId>,
    ) -> Self {
        Self {
            codec: plan.codec.clone(),
            calendar: plan.calendar.clone(),
            n_stations: plan.n_stations,
            signer: plan.signer.clone(),
            pass: plan.pass_segments.clone(),
            gathered: GatheredWindows::default(),
            first,
            position,
            done_through,
            delete_before: None,
        }
    }

    /// Takes a record of `segments`; what a settled window still gets is dropped. One that cannot be taken stops the
    /// work, unless the operator passes over it: what stands before it is still needed, so no position can skip it.
    pub(super) fn take(
        &mut self,
        offset: i64,
        payload: &[u8],
        chain: &Chain,
    ) -> Result<Taken, Error> {
        let opened = self.codec.open(payload).map_err(|error| Error::Segment { offset, error });
        let checked = opened.and_then(|segment| self.check(offset, &segment).map(|()| segment));
        let segment = match checked {
            Err(_) if self.pass.contains(&offset) => {
                self.position = offset.saturating_add(1);
                return Ok(Taken::PassedOver);
            }
            checked => checked?,
        };
        self.position = offset.saturating_add(1);
        self.gather(offset, segment, chain).map(|()| Taken::Counts)
    }

    fn gather(&mut self, offset: i64, segment: Segment, chain: &Chain) -> Result<(), Error> {
        let (Segment::Taps { window, .. } | Segment::Finished { window, .. }) = &segment;
        if self.is_done(*window, chain) {
            return Ok(());
        }
        self.gathered
            .take(segment, offset)
            .map_err(|error| Error::GatheredWindows { offset, error })
    }

    /// An authentic record can still be wrong: then its writer was.
    fn check(&self, offset: i64, segment: &Segment) -> Result<(), Error> {
        let (Segment::Taps { window: id, .. } | Segment::Finished { window: id, .. }) = segment;
        let wrong = |what: &str| Err(Error::WrongSegment { offset, what: what.to_owned() });
        if *id < self.first {
            return wrong("its window lies before the first window of this feed");
        }
        let Some(window) = self.calendar.window(*id) else {
            return wrong("its window does not exist in this feed's calendar");
        };
        match segment {
            Segment::Finished { partition, n_partitions, .. } if partition >= n_partitions => {
                wrong("it marks a partition that its topic does not have")
            }
            Segment::Taps { stamps, .. } => {
                let length = window.length_millis();
                let is_wrong = |stamp: &Stamp| {
                    stamp.station() >= StationIx(self.n_stations) || stamp.offset_millis >= length
                };
                match stamps.iter().any(is_wrong) {
                    true => wrong("it holds a tap outside its window or the station list"),
                    false => Ok(()),
                }
            }
            Segment::Finished { .. } => Ok(()),
        }
    }

    /// The next record to read.
    pub(super) fn next_offset(&self) -> i64 {
        self.position
    }

    /// The earliest window that every partition has finished.
    pub(super) fn complete(&self) -> Option<WindowId> {
        self.gathered.complete()
    }

    /// Hands the taps of a complete window over; the window stays until it is done.
    pub(super) fn take_stamps(&mut self, window: WindowId) -> Vec<Stamp> {
        self.gathered.take_stamps(window)
    }

    /// Where reading must go on after a crash: nothing that an unsettled window needs lies before.
    pub(super) fn position(&self, n_records: u64, head: Mac) -> Position {
        self.position_at(self.gathered.earliest_needed(), n_records, head, self.done_through)
    }

    /// The same, once this window is done.
    pub(super) fn position_after(&self, window: WindowId, n_records: u64, head: Mac) -> Position {
        let done_through = self.done_through.max(Some(window));
        let needed = self.gathered.earliest_needed_without(window);
        self.position_at(needed, n_records, head, done_through)
    }

    fn position_at(
        &self,
        needed: Option<i64>,
        n_records: u64,
        head: Mac,
        done_through: Option<WindowId>,
    ) -> Position {
        let needed = needed.filter(|_| !planted!(OffsetPastUnsettled));
        let remembered = ReleaseMetadata { n_records, head, done_through };
        self.signer.release(SEGMENTS, needed.unwrap_or(self.position), &remembered)
    }

    /// A window is released or withheld, and the position after it committed.
    pub(super) fn done(&mut self, window: WindowId, committed: Option<i64>) {
        self.gathered.settle(window);
        self.done_through = self.done_through.max(Some(window));
        self.delete_before = self.delete_before.max(committed);
    }

    /// Records before this offset are needed no more; said once.
    pub(super) fn take_delete_before(&mut self) -> Option<i64> {
        self.delete_before.take()
    }

    /// Whether this window has gone its way.
    pub(super) fn is_done(&self, window: WindowId, chain: &Chain) -> bool {
        let is_settled = |window| chain.book().is_settled(&window);
        self.done_through >= Some(window) || self.calendar.window(window).is_some_and(is_settled)
    }

    /// The last window that has gone its way, as far as the positions know.
    pub fn done_through(&self) -> Option<WindowId> {
        self.done_through
    }

    /// Windows on their way: how many partitions have finished each, of how many.
    pub fn gathered(&self) -> impl Iterator<Item = (WindowId, u32, u32)> {
        self.gathered.gathered()
    }

    /// How many windows are on their way.
    pub fn n_windows(&self) -> usize {
        self.gathered.n_windows()
    }

    /// How many taps they hold.
    pub fn n_taps(&self) -> usize {
        self.gathered.n_taps()
    }

    /// What they take in memory.
    pub fn n_bytes(&self) -> usize {
        self.gathered.n_bytes()
    }
}
