//! The ingest role: taps from a topic become parcels, exactly once.
//!
//! Every flush is one transaction: the taps since the last one, markers of finished windows, rejects, and the positions
//! they came from. A restart replays at most one flush; memory holds one flush.

mod flush;
mod read;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use super::group::Group;
use super::{Error, Plan, Stop};
use crate::ingest::Decoder;
use crate::kafka::{self, Load, Transactions, Watcher};
use crate::model::{Counts, Reject};
use crate::seal::{
    Closing, Finished, Intake, Packer, PartitionSeals, Remembered, Rules, Sealing, Watermark,
};

/// How long a quiet feed lets the worker sleep; a wake-up costs a third of a millisecond.
const QUIET: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(20);
/// Positions behind a dead worker's open transaction are known when the brokers have ended it: after its 15 s, and they
/// look every 10 s.
const DECIDED: Duration = Duration::from_secs(60);
/// Taps held before a flush comes early: 24 bytes each.
const HELD_MAX: usize = 2_000_000;
/// Markers in one flush; a feed that was away for long catches up in several.
const MARKERS_MAX: usize = 5_000;
/// How often the ends of quiet partitions are asked for while a window waits for them.
const END_CHECK: Duration = Duration::from_millis(500);

/// One partition that is ours.
struct Owned {
    intake: Intake,
    /// Next record to read.
    position: i64,
    /// Where the last commit stands.
    committed: i64,
    rejects: Vec<(i64, Reject)>,
    counts: Counts,
    /// Taps among the rejects that came too late for any window of this feed.
    n_stale: u64,
    /// When the last record had arrived.
    arrived_secs: Option<i64>,
}

/// The ingest worker while it is a member of the group.
pub(super) struct Ingest<'a> {
    plan: &'a Plan<'a>,
    rules: Rules,
    decoder: Decoder,
    packer: Packer,
    group: Group,
    /// Sees records behind open transactions, which the group's consumer must not.
    ends: BaseConsumer<Watcher>,
    transactions: Transactions,
    owned: BTreeMap<i32, Owned>,
    last_flush: Instant,
    last_end_check: Instant,
    /// A tap before this is old: not merely one that came before the first window of a new feed.
    stale_before: Timestamp,
    /// Taps that count, and old ones, since this worker joined.
    n_taps: u64,
    n_stale: u64,
    has_warned: bool,
}

impl<'a> Ingest<'a> {
    /// Joins the group; earlier workers of this instance are fenced.
    pub(super) fn join(plan: &'a Plan<'a>, rules: Rules) -> Result<Self, Error> {
        let settings = plan.kafka;
        let id = format!("{}.ingest.{}", settings.group, plan.instance);
        let transactions = Transactions::open(settings, &id, Load::Encrypted)?;
        let watcher = Watcher::default();
        let ends = settings
            .plain_consumer("read_uncommitted")
            .create_with_context(watcher.clone())
            .map_err(|error| kafka::explain(&watcher, error))?;
        let group = Group::join(settings, &settings.group, &settings.topics.taps)?;
        Ok(Self {
            plan,
            stale_before: stale_before(&rules),
            rules,
            decoder: Decoder::new(plan.settings.ingest.clone()),
            packer: plan.packer(),
            group,
            ends,
            transactions,
            owned: BTreeMap::new(),
            last_flush: Instant::now(),
            last_end_check: Instant::now(),
            n_taps: 0,
            n_stale: 0,
            has_warned: false,
        })
    }

    /// Works until it is stopped, then flushes what it holds and leaves.
    pub(super) fn work(&mut self, stop: &Stop) -> Result<(), Error> {
        while !stop.is_set() {
            self.read(QUIET)?;
            self.follow_group()?;
            self.look_for_ends();
            self.tell_numbers();
            let events = self.owned.values().map(|owned| owned.intake.greatest_event());
            self.plan.panel.watermark(events.max().flatten());
            if self.is_flush_due() {
                self.flush()?;
            }
            self.plan.health.ingest_ready(!self.owned.is_empty());
        }
        self.flush()?;
        self.group.consumer().unsubscribe();
        Ok(())
    }

    /// Takes up what the group gave, and drops what it took away.
    fn follow_group(&mut self) -> Result<(), Error> {
        let changes = self.group.changes();
        for partition in changes.lost {
            self.plan.metrics.partition_gone(partition);
            if let Some(owned) = self.owned.remove(&partition) {
                let records = u64::try_from(owned.position - owned.committed).unwrap_or_default();
                self.plan.metrics.replayed(records);
            }
        }
        if changes.gained.is_empty() {
            return Ok(());
        }
        let topic = self.group.topic().to_owned();
        let mut asked = TopicPartitionList::new();
        for partition in 0..self.n_partitions()? {
            asked.add_partition(&topic, partition);
        }
        // Offset and metadata in one read; it waits for a pending transaction, because we read committed.
        let committed = self.group.consumer().committed_offsets(asked, DECIDED);
        let committed = committed.map_err(|error| self.group.explain(error))?;
        let remembered: BTreeMap<i32, (Offset, Option<Remembered>)> = committed
            .elements()
            .iter()
            .map(|one| (one.partition(), (one.offset(), Remembered::from_text(one.metadata()))))
            .collect();
        let mut positions = TopicPartitionList::new();
        for partition in changes.gained {
            let position = self.take_up(partition, &remembered)?;
            positions
                .add_partition_offset(&topic, partition, Offset::Offset(position))
                .map_err(|error| self.group.explain(error))?;
        }
        self.group.assign(&positions)?;
        Ok(())
    }

    /// Where a partition goes on, and what was sealed of it.
    fn take_up(
        &mut self,
        partition: i32,
        remembered: &BTreeMap<i32, (Offset, Option<Remembered>)>,
    ) -> Result<i64, Error> {
        let (position, memory) = match remembered.get(&partition) {
            Some((Offset::Offset(offset), Some(memory))) => (*offset, *memory),
            // Somebody decided where to go on, with Kafka's tools: they commit a position and nothing else.
            Some((Offset::Offset(offset), None)) => (*offset, self.after_what_is_released()),
            _ => self.first_time(partition, remembered)?,
        };
        let seals = PartitionSeals::through(memory.sealed_through);
        let owned = Owned {
            intake: Intake::new(&self.rules, seals, memory.greatest_event),
            position,
            committed: position,
            rejects: Vec::new(),
            counts: Counts::default(),
            n_stale: 0,
            arrived_secs: None,
        };
        self.owned.insert(partition, owned);
        Ok(position)
    }

    /// Nobody has committed here. Every window that is not released yet may still need this partition's taps and marker,
    /// whatever others have sealed: its worker may have died before its first flush. A released one cannot: its markers
    /// counted the partitions after the deadline, so this one came later. A feed whose every position is gone after windows
    /// were released is the operator's to decide.
    fn first_time(
        &self,
        partition: i32,
        remembered: &BTreeMap<i32, (Offset, Option<Remembered>)>,
    ) -> Result<(i64, Remembered), Error> {
        let topic = self.group.topic();
        let is_gone =
            |(offset, _): &(Offset, Option<Remembered>)| !matches!(offset, Offset::Offset(_));
        if self.plan.settled_through.is_some() && remembered.values().all(is_gone) {
            return Err(Error::PositionsExpired { topic: topic.to_owned() });
        }
        let (low, _) = self
            .ends
            .fetch_watermarks(topic, partition, ANSWER)
            .map_err(|error| self.group.explain(error))?;
        Ok((low, self.after_what_is_released()))
    }

    fn after_what_is_released(&self) -> Remembered {
        Remembered { sealed_through: self.plan.settled_through, greatest_event: None }
    }

    fn n_partitions(&self) -> Result<i32, Error> {
        let topic = self.group.topic();
        let metadata = self
            .ends
            .fetch_metadata(Some(topic), ANSWER)
            .map_err(|error| self.group.explain(error))?;
        let n = metadata.topics().first().map_or(0, |topic| topic.partitions().len());
        i32::try_from(n).ok().filter(|&n| n > 0).ok_or_else(|| Error::NoTopic(topic.to_owned()))
    }

    /// A quiet partition has finished a window when its position has reached an end that was fetched after the
    /// deadline. Asked only while a window waits; brokers that do not answer are asked again.
    fn look_for_ends(&mut self) {
        if self.last_end_check.elapsed() < END_CHECK {
            return;
        }
        self.last_end_check = Instant::now();
        let now = self.plan.clock.now();
        let topic = self.group.topic().to_owned();
        let waiting: Vec<i32> = self
            .owned
            .iter()
            .filter(|(_, owned)| self.waits(&owned.intake, now))
            .map(|(partition, _)| *partition)
            .collect();
        for partition in waiting {
            let Ok((_, end)) = self.ends.fetch_watermarks(&topic, partition, ANSWER) else {
                continue;
            };
            // The consumer's own position passes the markers of transactions, which are no records.
            let position = self.position(partition);
            if position >= end
                && let Some(owned) = self.owned.get_mut(&partition)
            {
                owned.intake.reached_end(now);
            }
        }
    }

    /// Whether a window's deadline has passed and this partition has not finished it.
    fn waits(&self, intake: &Intake, now: Timestamp) -> bool {
        let window = intake.next_window(&self.rules).and_then(|id| self.rules.calendar.window(id));
        let Some(window) = window else { return false };
        match self.rules.closing {
            Closing::Arrival { grace, clock_margin } => {
                now.duration_since(window.end()) > grace + clock_margin
                    && intake.finished_by_arrival(&window) == Finished::NotYet
            }
            Closing::Watermark { .. } => true,
        }
    }

    fn position(&self, partition: i32) -> i64 {
        let ours = self.owned.get(&partition).map_or(0, |owned| owned.position);
        let theirs = self.group.consumer().position().ok().and_then(|list| {
            match list.find_partition(self.group.topic(), partition)?.offset() {
                Offset::Offset(offset) => Some(offset),
                _ => None,
            }
        });
        theirs.map_or(ours, |theirs| theirs.max(ours))
    }

    /// Passes on what the client says of itself, and how far each partition is.
    fn tell_numbers(&self) {
        let Some(news) = self.group.news() else { return };
        self.plan.metrics.kafka("ingest", &news.numbers);
        for (partition, owned) in &self.owned {
            let Some(end) = news.ends.get(partition) else { continue };
            let lag = (end - owned.position).max(0);
            self.plan.metrics.partition(*partition, lag, owned.arrived_secs);
        }
    }

    fn n_held(&self) -> usize {
        self.owned.values().map(|owned| owned.intake.n_held()).sum()
    }

    fn is_flush_due(&self) -> bool {
        let changed = self.owned.values().any(|owned| owned.position > owned.committed);
        let sealing = || self.owned.values().any(|owned| !self.due(&owned.intake, 1).is_empty());
        self.n_held() >= HELD_MAX
            || (changed && self.last_flush.elapsed() >= self.plan.kafka.flush)
            || sealing()
    }

    fn due(&self, intake: &Intake, most: usize) -> Vec<Sealing> {
        match self.rules.closing {
            Closing::Arrival { .. } => intake.due(&self.rules, most, Intake::finished_by_arrival),
            Closing::Watermark { disorder } => {
                let watermark = self.watermark(disorder);
                intake.due(&self.rules, most, |_, window| watermark.finished(window))
            }
        }
    }

    fn watermark(&self, disorder: SignedDuration) -> Watermark {
        let now = self.plan.clock.now();
        let mut watermark = Watermark::new(disorder, 0);
        for (partition, owned) in &self.owned {
            let partition = u32::try_from(*partition).unwrap_or_default();
            watermark.watch(partition);
            if let Some(event) = owned.intake.greatest_event() {
                watermark.read(partition, event);
            }
            if owned.intake.has_ended(now) {
                watermark.ended(partition);
            }
        }
        watermark
    }
}

/// A new feed begins with the next whole window, so its first taps may lie a window before the first one. Whatever is
/// older was not tapped just now.
fn stale_before(rules: &Rules) -> Timestamp {
    let first = rules.calendar.window(rules.first).map(|window| window.start());
    let length = SignedDuration::from_secs(rules.calendar.length_secs());
    let grace = match rules.closing {
        Closing::Arrival { grace, .. } => grace,
        Closing::Watermark { .. } => SignedDuration::ZERO,
    };
    first.and_then(|first| first.checked_sub(length + grace).ok()).unwrap_or(Timestamp::MIN)
}
