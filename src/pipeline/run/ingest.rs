//! The ingest role on Kafka: executes what the protocol wants, and feeds back what happened.

mod read;
mod shown;

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rand::TryRng;
use rand::rngs::SysRng;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{Offset, TopicPartitionList};

use super::progress::{Pace, Standstill};
use super::unusable::UnusableShare;
use super::watchdog::LEAVING;
use super::{Event, Service, Stop};
use crate::ingest::Decoder;
use crate::kafka::{self, Checks, Group, Load, Transactions, Unshown, Watcher, crash_point};
use crate::metrics::Part;
use crate::pipeline::Error;
use crate::protocol::{
    Ended, Ingest, IngestEffect, IngestEvent, IngestNote, IngestPlan, OutRecord, Partition,
    Position, Topic, Why,
};
use crate::seal::{Closing, Nonce};

/// How long a quiet feed lets the worker sleep; a wake-up costs a third of a millisecond.
const QUIET: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_secs(5);

/// The ingest worker while it is a member of the group.
pub(super) struct Worker<'a> {
    service: &'a Service<'a>,
    machine: Ingest,
    decoder: Decoder,
    group: Group,
    /// Sees records behind open transactions, which the group's consumer must not.
    ends: BaseConsumer<Watcher>,
    transactions: Transactions,
    /// The positions of the last flush.
    committed: Vec<Position>,
    /// Records of flushes, until everybody can read them.
    unshown: Unshown,
    flush_began: Instant,
    unusable: UnusableShare,
    pace: Pace,
    standstill: Standstill,
}

impl<'a> Worker<'a> {
    /// Joins the group; earlier workers of this instance are fenced.
    pub(super) fn join(service: &'a Service<'a>, plan: IngestPlan) -> Result<Self, Error> {
        let settings = service.kafka;
        let id = format!("{}.ingest.{}", settings.group, service.name.text());
        service.health.doing(Part::Ingest, "joining the group");
        let writes = &[Topic::Segments, Topic::Rejects];
        let transactions = Transactions::open(settings, &id, Load::Encrypted, "ingest", writes)?;
        let transactions = transactions.below_half_the_timeout().leftovers_appear(no_taps(&plan));
        let watcher = Watcher::default();
        let ends = settings
            .plain_consumer("read_uncommitted")
            .create_with_context(watcher.clone())
            .map_err(|error| kafka::explain(&watcher, error))?;
        let group = Group::join(settings, &settings.group, &settings.topics.taps)?;
        Ok(Self {
            service,
            machine: Ingest::new(plan, service.clock.now()),
            decoder: Decoder::new(service.settings.ingest()),
            group,
            ends,
            transactions,
            committed: Vec::new(),
            unshown: Unshown::default(),
            flush_began: Instant::now(),
            unusable: UnusableShare::new(service.settings.feed.max_rejects, service.clock.now()),
            pace: Pace::new(),
            standstill: Standstill::new(settings.stall_timeout),
        })
    }

    /// Works until it is stopped or leaves.
    pub(super) fn work(&mut self, stop: &Stop) -> Result<Why, Error> {
        let done = self.work_on(stop);
        self.rescue();
        done
    }

    fn work_on(&mut self, stop: &Stop) -> Result<Why, Error> {
        let mut n_answered = 0;
        while !stop.is_set() {
            self.service.health.doing(Part::Ingest, "reading taps");
            let n_before = self.n_positions();
            self.read(QUIET)?;
            self.pace.read(self.n_positions().abs_diff(n_before));
            self.group.refuse_fatal()?;
            self.refuse_standstill()?;
            self.look_for_flushed()?;
            if let Some(why) = self.follow_group()? {
                return Ok(why);
            }
            self.show();
            if stop.is_question(&mut n_answered) {
                self.service.observers.tell(&Event::Doing(self.in_words()));
            }
            loop {
                let effects = self.step(IngestEvent::Tick(self.service.clock.now()))?;
                if effects.is_empty() {
                    break;
                }
                if let Some(why) = self.execute_all(effects.into())? {
                    return Ok(why);
                }
            }
            self.service.health.ready(Part::Ingest, self.machine.partitions().next().is_some());
        }
        let effects = self.step(IngestEvent::Stop(self.service.clock.now()))?;
        let why = self.execute_all(effects.into())?;
        self.see_it_shown();
        self.service.health.doing(Part::Ingest, LEAVING);
        self.group.consumer().unsubscribe();
        Ok(why.unwrap_or(Why::Stopped))
    }

    /// How far this machine's clock may be ahead of the brokers'. Whether a quiet partition has finished a window is
    /// judged by it, so that a clock ahead by more would finish windows for which brokers still take taps.
    fn clock_margin(&self) -> Option<SignedDuration> {
        match self.service.settings.closing {
            Closing::Arrival { clock_margin, .. } => Some(clock_margin),
            Closing::Watermark { .. } => None,
        }
    }

    /// A record that was sent after `sent` and stamped before it shows by how much this machine's clock is ahead, at
    /// least. Nothing of such a transaction has appeared.
    fn refuse_clock_ahead(&self, sent: Timestamp) -> Result<(), Error> {
        let stamped = self.transactions.stamped_millis();
        let stamped = stamped.and_then(|millis| Timestamp::from_millisecond(millis).ok());
        let Some((margin, stamped)) = self.clock_margin().zip(stamped) else { return Ok(()) };
        let ahead = sent.duration_since(stamped);
        match ahead > margin {
            true => {
                Err(Error::ClockAhead { seconds: ahead.as_secs(), margin_secs: margin.as_secs() })
            }
            false => Ok(()),
        }
    }

    /// The sum of all positions: it grows with every record that is read.
    fn n_positions(&self) -> i64 {
        self.machine.partitions().map(|(_, partition)| partition.position()).sum()
    }

    /// A client can stop reading without a word, for instance after its brokers were away. Whoever supervises starts
    /// another.
    fn refuse_standstill(&mut self) -> Result<(), Error> {
        let partitions: Vec<i32> = self.machine.partitions().map(|(number, _)| number).collect();
        let position = self.n_positions();
        let group = &self.group;
        let end = || {
            // The last stable offset: behind an open transaction there is nothing to read for us.
            let end = |&partition: &i32| {
                let ends = group.consumer().fetch_watermarks(group.topic(), partition, ANSWER);
                ends.ok().map(|(_, end)| end)
            };
            partitions.iter().map(end).sum()
        };
        match self.standstill.at(position, end) {
            Some(still) => Err(Error::Standstill {
                topic: self.group.topic().to_owned(),
                seconds: still.as_secs(),
            }),
            None => Ok(()),
        }
    }

    /// What it reads and how far it is, for whoever asks.
    fn in_words(&self) -> String {
        let line = |(number, partition): (i32, &Partition)| {
            let sealed =
                partition.sealed_through().map_or("none".to_owned(), |id| id.number().to_string());
            format!("{number} at {}, sealed through {sealed}", partition.position())
        };
        let partitions: Vec<String> = self.machine.partitions().map(line).collect();
        format!("ingest: {}; partitions: {}", self.group.in_words(), partitions.join("; "))
    }

    /// Takes up what the group gave, and drops what it took away.
    fn follow_group(&mut self) -> Result<Option<Why>, Error> {
        let changes = self.group.changes();
        if !changes.lost.is_empty() {
            let effects = self.step(IngestEvent::Revoked(changes.lost))?;
            self.execute_all(effects.into())?;
        }
        if changes.gained.is_empty() {
            return Ok(None);
        }
        let effects = self.step(IngestEvent::Assigned(changes.gained))?;
        self.execute_all(effects.into())
    }

    fn step(&mut self, event: IngestEvent) -> Result<Vec<IngestEffect>, Error> {
        let topic = self.group.topic();
        self.machine.step(event, &mut nonce).map_err(|error| stopped(topic, error))
    }

    fn execute_all(&mut self, mut queue: VecDeque<IngestEffect>) -> Result<Option<Why>, Error> {
        while let Some(effect) = queue.pop_front() {
            if let IngestEffect::Leave(why) = effect {
                return Ok(Some(why));
            }
            if let Some(event) = self.execute(effect)? {
                queue.extend(self.step(event)?);
            }
        }
        Ok(None)
    }

    /// Executes one effect; gives the answer, if it has one.
    fn execute(&mut self, effect: IngestEffect) -> Result<Option<IngestEvent>, Error> {
        self.service.health.doing(Part::Ingest, name_of(&effect));
        Ok(match effect {
            IngestEffect::Fence => {
                self.transactions.fence(&self.group)?;
                None
            }
            IngestEffect::ReadPositions(gained) => Some(self.positions(&gained)?),
            IngestEffect::AssignAt(positions) => {
                let mut list = TopicPartitionList::new();
                for (partition, position) in positions {
                    list.add_partition_offset(
                        self.group.topic(),
                        partition,
                        Offset::Offset(position),
                    )
                    .map_err(|error| self.group.explain(error))?;
                }
                self.group.assign(&list)?;
                None
            }
            IngestEffect::ReadEnds { partitions, with_uncommitted } => {
                Some(IngestEvent::EndsRead(self.ends(&partitions, with_uncommitted)))
            }
            IngestEffect::CountPartitions => {
                Some(IngestEvent::PartitionsCounted(self.n_partitions()?))
            }
            IngestEffect::Commit(transaction) => {
                self.flush_began = Instant::now();
                // K-5: a flush builds on the one before, so that one must be there for everybody.
                if !self.group.shows(&self.committed) {
                    self.unshown.endanger();
                    let what = "the group does not show the positions of the last flush".to_owned();
                    return Ok(Some(IngestEvent::Ended(Ended::Unknown(what))));
                }
                if !self.is_safe_within(shown::BEFORE_NEXT)? {
                    let what = "records of flushes before do not show".to_owned();
                    return Ok(Some(IngestEvent::Ended(Ended::Unknown(what))));
                }
                let sent = self.service.clock.now();
                let margin = self.clock_margin();
                let checks = Checks {
                    ledger_length: &|| Ok(0),
                    stamped_from: margin.map(|margin| (sent - margin).as_millisecond()),
                };
                let ended = self.transactions.execute(&transaction, &self.group, &checks);
                if !matches!(ended, Ok(Ended::Committed)) {
                    self.unshown.endanger();
                }
                let ended = ended?;
                self.refuse_clock_ahead(sent)?;
                crash_point("ingest", "committed");
                if ended == Ended::Committed {
                    self.service.health.achieved(Part::Ingest);
                    self.flushed(transaction.records);
                    self.committed = transaction.positions;
                }
                Some(IngestEvent::Ended(ended))
            }
            IngestEffect::Tell(note) => {
                self.note(&note);
                None
            }
            IngestEffect::Leave(_) => None,
        })
    }

    fn note(&mut self, note: &IngestNote) {
        let service = self.service;
        let tell = |event| service.observers.tell(&event);
        match note {
            IngestNote::Flushed { counts, windows } => {
                tell(Event::Ingested { counts: counts.clone(), windows: windows.clone() });
                tell(Event::Flushed(self.flush_began.elapsed().as_secs_f64()));
                let share = self.unusable.committed(counts, self.service.clock.now());
                share.into_iter().for_each(tell);
            }
            IngestNote::PartitionGone(partition, n_replayed) => {
                tell(Event::PartitionGone { partition: *partition, n_replayed: *n_replayed });
            }
            IngestNote::MostTapsLate => tell(Event::MostTapsLate),
            IngestNote::Slower(n) => tell(Event::Slower(*n)),
        }
    }

    fn positions(&self, gained: &BTreeSet<i32>) -> Result<IngestEvent, Error> {
        let doing = |what| self.service.health.doing(Part::Ingest, what);
        doing("counting partitions");
        let n_partitions = i32::try_from(self.n_partitions()?).unwrap_or(i32::MAX);
        doing("reading committed positions");
        // What of our own is undecided would be waited for in vain.
        let sweep = || drop(self.transactions.sweep(&self.group));
        let committed = self.group.committed(0..n_partitions, &sweep)?;
        doing("asking where partitions begin");
        let low = |&partition: &i32| Ok((partition, self.group.beginning(partition)?));
        let lows = gained.iter().map(low).collect::<Result<_, Error>>()?;
        Ok(IngestEvent::PositionsRead { committed, lows })
    }

    fn n_partitions(&self) -> Result<u32, Error> {
        let topic = self.group.topic();
        let metadata = kafka::topic_metadata(&self.ends, topic, self.service.kafka.stall_timeout);
        let is_unknown = |error: &KafkaError| {
            error.rdkafka_error_code() == Some(RDKafkaErrorCode::UnknownTopicOrPartition)
        };
        let n = match &metadata {
            Ok(metadata) => metadata.topics().first().map_or(0, |topic| topic.partitions().len()),
            Err(error) if is_unknown(error) => 0,
            Err(error) => return Err(self.group.explain(error.clone()).into()),
        };
        match u32::try_from(n) {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(self.group.unknown_topic().into()),
        }
    }

    /// Partition, position, end. Brokers that do not answer are asked again.
    fn ends(&self, partitions: &[i32], with_uncommitted: bool) -> Vec<(i32, i64, i64)> {
        let topic = self.group.topic();
        let positions = self.group.consumer().position().ok();
        let end = |&partition: &i32| {
            let ends = match with_uncommitted {
                true => self.ends.fetch_watermarks(topic, partition, ANSWER),
                false => self.group.consumer().fetch_watermarks(topic, partition, ANSWER),
            };
            let (_, end) = ends.ok()?;
            // The consumer's own position passes the markers of transactions, which are no records.
            let position = positions.as_ref().and_then(|list| {
                match list.find_partition(topic, partition)?.offset() {
                    Offset::Offset(offset) => Some(offset),
                    _ => None,
                }
            });
            Some((partition, position.unwrap_or_default(), end))
        };
        partitions.iter().filter_map(end).collect()
    }

    /// Passes on what the client says of itself, and how far each partition is.
    fn show(&mut self) {
        let events = self.machine.partitions().map(|(_, partition)| partition.greatest_event());
        let tell = |event| self.service.observers.tell(&event);
        tell(Event::Watermark(events.max().flatten()));
        let Some(status) = self.group.status() else { return };
        tell(Event::Client("ingest", status.numbers));
        let mut whole_lag: i64 = 0;
        for (number, partition) in self.machine.partitions() {
            let Some(end) = status.ends.get(&number) else { continue };
            let lag = end.saturating_sub(partition.position()).max(0);
            whole_lag = whole_lag.saturating_add(lag);
            let arrived_secs = partition.arrived_secs();
            tell(Event::PartitionAt { partition: number, lag, arrived_secs });
        }
        self.pace.event(whole_lag).into_iter().for_each(tell);
    }
}

/// What an effect is, for whoever asks what a worker waits for.
fn name_of(effect: &IngestEffect) -> &'static str {
    match effect {
        IngestEffect::Fence => "waiting for a producer epoch",
        IngestEffect::ReadPositions(_) => "reading committed positions",
        IngestEffect::AssignAt(_) => "taking up partitions",
        IngestEffect::ReadEnds { .. } => "asking for the ends of partitions",
        IngestEffect::CountPartitions => "counting partitions",
        IngestEffect::Commit(_) => "committing a flush",
        IngestEffect::Tell(_) => "telling what happened",
        IngestEffect::Leave(_) => LEAVING,
    }
}

/// A stop of the protocol, with the topic it was reading.
fn stopped(topic: &str, error: crate::protocol::Error) -> Error {
    Error::Protocol { topic: topic.to_owned(), error }
}

/// A segment without taps.
fn no_taps(plan: &IngestPlan) -> OutRecord {
    OutRecord::plain(Topic::Segments, plan.codec.taps(plan.rules.first, 0, &[], &nonce()))
}

fn nonce() -> Nonce {
    let mut nonce = Nonce::default();
    SysRng
        .try_fill_bytes(&mut nonce)
        .expect("the system always has randomness once it has started");
    nonce
}
