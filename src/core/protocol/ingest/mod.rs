//! The ingest role as decisions: taps of a topic become segments, exactly once.
//!
//! Every flush is one transaction: the taps since the last one, markers of finished windows, rejects, and the positions
//! they came from. A restart replays at most one flush; memory holds one flush. The machine is at rest or waits for one
//! answer; its phase says which.

mod events;
mod flush;

pub use events::{Committed, FlushedWindow, IngestEffect, IngestEvent, IngestNote, IngestPlan};

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::partition::{Partition, PolledRecord};
use super::{Error, Why};
use crate::planted;
use crate::seal::{
    Closing, Finished, IngestMetadata, Nonce, PartitionState, Rules, Sealing, Watermark,
};

/// Records of one flush, taps and rejects together. A tap takes 24 bytes here and about as many in a segment, so that a
/// transaction stays below some 50 MB.
pub const FLUSH_MAX: usize = 2_000_000;
/// However slow the brokers are, a flush holds so many.
const LEAST: usize = 10_000;
/// How often the ends of quiet partitions are asked for while a window waits for them.
const END_CHECK: SignedDuration = SignedDuration::from_millis(500);

/// What the machine waits for.
#[derive(Debug)]
enum Phase {
    /// Nothing.
    Resting,
    /// Positions of these partitions.
    Positions(BTreeSet<i32>),
    /// The ends of quiet partitions, asked at this time.
    Ends(Timestamp),
    /// The number of partitions, for the markers of this flush.
    Counting(Sealings),
    /// The end of this flush.
    Committing(Sealings),
    /// Nothing any more.
    Left,
}

/// What each partition of a flush seals.
type Sealings = BTreeMap<i32, Vec<Sealing>>;

/// The ingest worker while it is a member of the group.
#[derive(Debug)]
pub struct Ingest {
    plan: IngestPlan,
    partitions: BTreeMap<i32, Partition>,
    phase: Phase,
    now: Timestamp,
    last_flush: Timestamp,
    last_end_check: Option<Timestamp>,
    /// Records of one flush at most.
    most: usize,
    /// A transaction failed; only polling brings the group's news, so the next one waits for a poll.
    must_poll: bool,
    is_stopping: bool,
    /// A tap before this is old: not merely one that came before the first window of a new feed.
    stale_before: Timestamp,
    /// Taps that count, and old ones, since this worker joined.
    n_taps: u64,
    n_stale: u64,
    has_warned: bool,
}

impl Ingest {
    /// A worker that owns nothing yet.
    pub fn new(plan: IngestPlan, now: Timestamp) -> Self {
        Self {
            stale_before: stale_before(&plan.rules),
            plan,
            partitions: BTreeMap::new(),
            phase: Phase::Resting,
            now,
            last_flush: now,
            last_end_check: None,
            most: FLUSH_MAX,
            must_poll: false,
            is_stopping: false,
            n_taps: 0,
            n_stale: 0,
            has_warned: false,
        }
    }

    /// Takes what happened, says what to do. Randomness for the encryption of segments is handed in.
    pub fn step(
        &mut self,
        event: IngestEvent,
        nonce: &mut dyn FnMut() -> Nonce,
    ) -> Result<Vec<IngestEffect>, Error> {
        let phase = std::mem::replace(&mut self.phase, Phase::Resting);
        match (phase, event) {
            (Phase::Left, _) => {
                self.phase = Phase::Left;
                Ok(Vec::new())
            }
            (Phase::Resting, IngestEvent::Polled(records)) => {
                self.polled(&records);
                Ok(Vec::new())
            }
            (Phase::Resting, IngestEvent::Assigned(gained)) => {
                self.phase = Phase::Positions(gained.clone());
                Ok(vec![IngestEffect::Fence, IngestEffect::ReadPositions(gained)])
            }
            (Phase::Resting, IngestEvent::Revoked(lost)) => Ok(self.revoked(&lost)),
            (Phase::Resting, IngestEvent::Tick(now)) => self.tick(now, nonce),
            (Phase::Resting, IngestEvent::Stop(now)) => self.stop(now, nonce),
            (Phase::Positions(gained), IngestEvent::PositionsRead { committed, lows }) => {
                self.take_up(&gained, &committed, &lows)
            }
            (Phase::Ends(asked), IngestEvent::EndsRead(ends)) => {
                self.ends_read(asked, &ends);
                Ok(Vec::new())
            }
            (Phase::Counting(_), IngestEvent::PartitionsCounted(0)) => Err(Error::NoPartitions),
            (Phase::Counting(sealings), IngestEvent::PartitionsCounted(n)) => {
                Ok(vec![self.commit(sealings, n, nonce)])
            }
            (Phase::Committing(sealings), IngestEvent::Ended(ended)) => {
                Ok(self.ended(&sealings, ended))
            }
            (phase, event) => Err(Error::out_of_turn(&phase, &event)),
        }
    }

    /// The partitions that are read.
    pub fn partitions(&self) -> impl Iterator<Item = (i32, &Partition)> {
        self.partitions.iter().map(|(number, partition)| (*number, partition))
    }

    /// What judges a record by itself.
    pub fn rules(&self) -> &Rules {
        &self.plan.rules
    }

    /// How many more records may be read before the next flush.
    pub fn room(&self) -> usize {
        self.most.saturating_sub(self.n_uncommitted())
    }

    fn n_uncommitted(&self) -> usize {
        let n: u64 = self.partitions.values().map(Partition::n_uncommitted).sum();
        usize::try_from(n).unwrap_or(usize::MAX)
    }

    fn n_held(&self) -> usize {
        self.partitions.values().map(|partition| partition.state.n_held()).sum()
    }

    fn polled(&mut self, records: &[PolledRecord]) {
        self.must_poll = false;
        let closing = self.plan.rules.closing;
        for record in records {
            // What was read of a partition that went away is somebody else's to read again.
            if let Some(partition) = self.partitions.get_mut(&record.partition) {
                partition.take(closing, self.stale_before, record);
            }
        }
    }

    fn revoked(&mut self, lost: &BTreeSet<i32>) -> Vec<IngestEffect> {
        let gone = lost.iter().filter_map(|number| {
            let partition = self.partitions.remove(number)?;
            Some(IngestEffect::Tell(IngestNote::PartitionGone(*number, partition.n_uncommitted())))
        });
        gone.collect()
    }

    /// Where each partition goes on, and what was sealed of it.
    fn take_up(
        &mut self,
        gained: &BTreeSet<i32>,
        committed: &BTreeMap<i32, Option<Committed>>,
        lows: &BTreeMap<i32, i64>,
    ) -> Result<Vec<IngestEffect>, Error> {
        let mut positions = Vec::new();
        for &number in gained {
            let (offset, memory) = match committed.get(&number) {
                Some(Some(commit)) => {
                    let memory = self.plan.signer.read_ingest(number, commit)?;
                    // Somebody decided where to go on, with Kafka's tools: they commit a position and nothing else.
                    (commit.offset, memory.unwrap_or(self.after_what_is_released()))
                }
                _ => self.first_time(number, committed, lows)?,
            };
            self.partitions.insert(number, Partition::new(&self.plan.rules, offset, memory));
            positions.push((number, offset));
        }
        Ok(vec![IngestEffect::AssignAt(positions)])
    }

    /// Nobody has committed here. Every window that is not released yet may still need this partition's taps and
    /// marker, whatever others have sealed: its worker may have died before its first flush. A released one cannot:
    /// its markers counted the partitions after the deadline, so this one came later. A feed whose every position is
    /// gone after windows were released is the operator's to decide.
    fn first_time(
        &self,
        number: i32,
        committed: &BTreeMap<i32, Option<Committed>>,
        lows: &BTreeMap<i32, i64>,
    ) -> Result<(i64, IngestMetadata), Error> {
        if self.plan.settled_through.is_some() && committed.values().all(Option::is_none) {
            return Err(Error::PositionsExpired);
        }
        let low = lows.get(&number).copied().ok_or(Error::NoLowOffset(number))?;
        Ok((low, self.after_what_is_released()))
    }

    fn after_what_is_released(&self) -> IngestMetadata {
        IngestMetadata { sealed_through: self.plan.settled_through, greatest_event: None }
    }

    fn tick(
        &mut self,
        now: Timestamp,
        nonce: &mut dyn FnMut() -> Nonce,
    ) -> Result<Vec<IngestEffect>, Error> {
        self.now = now;
        if self.last_end_check.is_none_or(|last| now.duration_since(last) >= END_CHECK) {
            self.last_end_check = Some(now);
            let waiting: Vec<i32> = self
                .partitions()
                .filter(|(_, partition)| self.waits(&partition.state))
                .map(|(n, _)| n)
                .collect();
            if !waiting.is_empty() {
                self.phase = Phase::Ends(now);
                let with_uncommitted = !planted!(StableEnd);
                return Ok(vec![IngestEffect::ReadEnds { partitions: waiting, with_uncommitted }]);
            }
        }
        if self.must_poll || !self.is_flush_due() {
            return Ok(Vec::new());
        }
        Ok(self.flush(nonce))
    }

    fn stop(
        &mut self,
        now: Timestamp,
        nonce: &mut dyn FnMut() -> Nonce,
    ) -> Result<Vec<IngestEffect>, Error> {
        self.now = now;
        self.is_stopping = true;
        let effects = self.flush(nonce);
        Ok(match effects.is_empty() {
            true => vec![self.leave(Why::Stopped)],
            false => effects,
        })
    }

    fn leave(&mut self, why: Why) -> IngestEffect {
        self.phase = Phase::Left;
        self.partitions.clear();
        IngestEffect::Leave(why)
    }

    /// A quiet partition has finished a window when its position has reached an end that was fetched after the
    /// deadline.
    fn ends_read(&mut self, asked: Timestamp, ends: &[(i32, i64, i64)]) {
        for (number, position, end) in ends {
            if let Some(partition) = self.partitions.get_mut(number)
                && *position.max(&partition.position) >= *end
            {
                partition.state.reached_end(asked);
            }
        }
    }

    /// Whether a window's deadline has passed and this partition has not finished it.
    fn waits(&self, state: &PartitionState) -> bool {
        let rules = &self.plan.rules;
        let window = state.next_window(rules).and_then(|id| rules.calendar.window(id));
        let Some(window) = window else { return false };
        match rules.closing {
            Closing::Arrival { grace, clock_margin } => {
                self.now.duration_since(window.end()) > grace + clock_margin
                    && state.finished_by_arrival(&window) == Finished::NotYet
            }
            Closing::Watermark { .. } => true,
        }
    }

    fn is_flush_due(&self) -> bool {
        let changed = self.partitions.values().any(|partition| partition.n_uncommitted() > 0);
        let sealing =
            || self.partitions.values().any(|partition| !self.due(&partition.state, 1).is_empty());
        self.n_uncommitted() >= self.most
            || (changed && self.now.duration_since(self.last_flush) >= self.plan.flush)
            || sealing()
    }

    fn due(&self, state: &PartitionState, most: usize) -> Vec<Sealing> {
        let rules = &self.plan.rules;
        match rules.closing {
            Closing::Arrival { .. } => state.due(rules, most, PartitionState::finished_by_arrival),
            Closing::Watermark { disorder } => {
                let watermark = self.watermark(disorder);
                state.due(rules, most, |_, window| watermark.finished(window))
            }
        }
    }

    fn watermark(&self, disorder: SignedDuration) -> Watermark {
        let mut watermark = Watermark::new(disorder, 0);
        for (number, partition) in &self.partitions {
            let number = number.unsigned_abs();
            watermark.watch(number);
            if let Some(event) = partition.state.greatest_event() {
                watermark.read(number, event);
            }
            if partition.state.has_ended(self.now) {
                watermark.ended(number);
            }
        }
        watermark
    }
}

/// A new feed begins with the next whole window, so its first taps may lie a window before the first one. Whatever is
/// older was not tapped just now.
fn stale_before(rules: &Rules) -> Timestamp {
    let first = rules.calendar.window(rules.first).map(|window| window.start());
    let length = SignedDuration::from_secs(rules.calendar.longest_secs());
    let grace = match rules.closing {
        Closing::Arrival { grace, .. } => grace,
        Closing::Watermark { .. } => SignedDuration::ZERO,
    };
    first.and_then(|first| first.checked_sub(length + grace).ok()).unwrap_or(Timestamp::MIN)
}
