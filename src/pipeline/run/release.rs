//! The release role on Kafka: `segments` as a source of windows, the ledger topic, and what the operator sees.

use std::rc::Rc;
use std::time::{Duration, Instant};

use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};

use super::progress::Standstill;
use super::watchdog::LEAVING;
use super::{Event as RunEvent, Service, Stop};
use crate::kafka::ledger::TopicLedger;
use crate::kafka::{self, Group, crash_point};
use crate::ledger::Edition;
use crate::metrics::{Gathered, Part};
use crate::model::WindowId;
use crate::pipeline::head::{self, KeptHead};
use crate::pipeline::release::{Driver, Event, Seams, Source, Watch};
use crate::pipeline::{Error, publish_settings, release_plan};
use crate::protocol::{Committed, ReleaseEvent, ReleaseNote, Releaser, SegmentRecord, Why};
use crate::publish::topic::{RecordKind, ReleaseTopic};
use crate::publish::{Renderer, Sink, Standing};

const ANSWER: Duration = Duration::from_secs(5);
const PARTITION: i32 = 0;
/// A worker that stands by reads the ledger so often, for its console.
const REFRESH: Duration = Duration::from_secs(20);
/// How long a worker with nothing to read sleeps.
const QUIET: Duration = Duration::from_millis(500);

/// Segments that are handed over together: the worker packs them tighter than they come.
const BATCH_BYTES: usize = 2 << 20;

/// Joins the group of release workers and works until it is stopped or leaves.
pub(super) fn work(service: &Service<'_>, stop: &Stop) -> Result<Why, Error> {
    let settings = service.kafka;
    let doing = |what: &'static str| service.health.doing(Part::Release, what);
    doing("reading the ledger");
    refuse_unbooked(service)?;
    doing("joining the group");
    let name = format!("{}.release", settings.group);
    let group = Rc::new(Group::join(settings, &name, &settings.topics.segments)?);
    let mut source = Segments {
        service,
        group: group.clone(),
        strays: Vec::new(),
        position: 0,
        standstill: Standstill::new(settings.stall_timeout),
    };
    let mut ledger = TopicLedger::new(settings, group.clone());
    let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
    if let Some(place) = &service.settings.release.place {
        sinks.push(place.sink()?);
    }
    sinks.push(Box::new(ReleaseTopic));
    let words = publish_settings(
        service.settings,
        true,
        service.closing_words(),
        service.version,
        service.commit,
    );
    let seams = Seams {
        source: &mut source,
        sinks: &mut sinks,
        ledger: &mut ledger,
        clock: service.clock,
        observers: service.observers,
        lifetime: service.settings.caps.lifetime,
        watch: &mut Steps(service),
        ledger_name: settings.topics.ledger.clone(),
        source_name: settings.topics.segments.clone(),
        ledger_key: service.settings.secret.ledger_key(),
        head: KeptHead::beside(&service.settings.secret_file),
        is_head_spare: true,
    };
    let worker = Releaser::of_segments(release_plan(service.settings, words, Edition::First));
    let mut read_at = Instant::now();
    let mut n_answered = 0;
    let done = Driver::new(worker, seams).run(&|| stop.is_set(), &mut |worker| {
        turn(service, &group, worker);
        if stop.is_question(&mut n_answered) {
            service.observers.tell(&RunEvent::Doing(in_words(&group, worker)));
        }
        if read_at.elapsed() >= REFRESH {
            refresh(service, worker);
            read_at = Instant::now();
        }
    });
    if done.is_ok() {
        doing(LEAVING);
    }
    group.consumer().unsubscribe();
    done
}

/// A ledger without any release, where the topic of the releases has some of this feed, is not this feed's ledger.
fn refuse_unbooked(service: &Service<'_>) -> Result<(), Error> {
    let (settings, kafka) = (service.settings, service.kafka);
    let remembered = KeptHead::beside(&settings.secret_file).remembered()?;
    let book = super::topic_book(settings, kafka)?;
    service.observers.tell(&RunEvent::ledger(&book, settings.caps.lifetime));
    if !book.entries().is_empty() {
        return Ok(());
    }
    let ledger = &kafka.topics.ledger;
    remembered.check(&book, ledger)?;
    let mut standing = Vec::new();
    let timeout = kafka.connect_timeout;
    kafka::read_committed(kafka, &kafka.topics.releases, kafka::HEADER, timeout, &mut |record| {
        let is_manifest = record.header.as_deref() == Some(RecordKind::Manifest.name().as_bytes());
        let payload = record.payload.filter(|_| is_manifest);
        standing.extend(payload.and_then(|text| Standing::of_manifest(&text)));
    })?;
    // Another worker may have made the first release meanwhile: what paid for it is in the ledger by now.
    head::check_standing(&super::topic_book(settings, kafka)?, ledger, &standing)
}

/// Shows how things are, now and then.
fn turn(service: &Service<'_>, group: &Group, worker: &Releaser<Renderer>) {
    let pending = worker.pending();
    let line = |(window, n_finished, n_partitions)| Gathered { window, n_finished, n_partitions };
    service.observers.tell(&RunEvent::Holding {
        windows: pending.map_or(Vec::new(), |pending| pending.gathered().map(line).collect()),
        n_taps: pending.map_or(0, |pending| pending.n_taps()),
        n_bytes: pending.map_or(0, |pending| pending.n_bytes()),
        done_through: pending.and_then(|pending| pending.done_through()),
    });
    service.observers.tell(&RunEvent::NextDue(next_due(service)));
    if let Some(status) = group.status() {
        service.observers.tell(&RunEvent::Client("release", status.numbers));
    }
    service.health.ready(Part::Release, true);
    service.health.doing(Part::Release, "working");
}

/// What it reads and what it holds, for whoever asks.
fn in_words(group: &Group, worker: &Releaser<Renderer>) -> String {
    let line = |(window, n_finished, n_partitions): (WindowId, u32, u32)| {
        format!("window {}: {n_finished} of {n_partitions} partitions", window.number())
    };
    let windows: Vec<String> =
        worker.pending().map_or(Vec::new(), |pending| pending.gathered().map(line).collect());
    let resting = if worker.is_resting() { "resting" } else { "at work" };
    format!("release: {}; {resting}; holds {}", group.in_words(), windows.join(", "))
}

/// When the next release can be expected.
fn next_due(service: &Service<'_>) -> Option<jiff::Timestamp> {
    let settings = service.settings;
    let window = service.observers.status.next(&settings.calendar)?;
    let is_past = settings.to.is_some_and(|to| window.span().to > to);
    let closes_after = settings.closing.closes_after().filter(|_| !is_past)?;
    Some(settings.release.schedule.expected(&settings.calendar, &window, closes_after))
}

/// Shows the ledger as another worker writes it. Who does the work shows each change itself.
fn refresh(service: &Service<'_>, worker: &Releaser<Renderer>) {
    let is_standing_by = worker.is_resting() && worker.pending().is_none();
    if !is_standing_by {
        return;
    }
    let event = match super::topic_book(service.settings, service.kafka) {
        Ok(book) => RunEvent::ledger(&book, service.settings.caps.lifetime),
        Err(error) => RunEvent::LedgerUnread(error.to_string()),
    };
    service.observers.tell(&event);
}

/// The steps of the work: the operator hears where it is, and a test may end the process there.
struct Steps<'a>(&'a Service<'a>);

impl Watch for Steps<'_> {
    fn note(&mut self, note: &ReleaseNote, _: &Releaser<Renderer>) {
        if matches!(note, ReleaseNote::Released { .. } | ReleaseNote::Withheld { .. }) {
            self.0.health.achieved(Part::Release);
        }
    }

    fn begins(&mut self, step: &'static str) {
        self.0.health.doing(Part::Release, step);
    }

    fn passed(&mut self, step: &'static str) {
        crash_point("release", step);
    }
}

/// The segments of a topic, read as a member of the group of release workers.
struct Segments<'a> {
    service: &'a Service<'a>,
    group: Rc<Group>,
    /// Records that were on their way when long work paused the partition.
    strays: Vec<SegmentRecord>,
    /// The record after the last that was read.
    position: i64,
    standstill: Standstill,
}

impl Segments<'_> {
    /// As in ingest: a client that reads nothing although there is something is not waited for.
    fn refuse_standstill(&mut self, records: &[SegmentRecord]) -> Result<(), Error> {
        if let Some(last) = records.last() {
            self.position = last.offset.saturating_add(1);
        }
        let (group, position) = (&self.group, self.position);
        let end = || {
            // Who stands by reads nothing, and need not. The client's own position passes transaction markers.
            let positions = group.consumer().position().ok()?;
            let at = match positions.find_partition(group.topic(), PARTITION)?.offset() {
                Offset::Offset(offset) => offset,
                _ => return None,
            };
            let ends = group.consumer().fetch_watermarks(group.topic(), PARTITION, ANSWER);
            let (_, end) = ends.ok()?;
            Some(if at >= end { position } else { end.max(position.saturating_add(1)) })
        };
        match self.standstill.at(position, end) {
            Some(still) => {
                Err(Error::Standstill { topic: group.topic().to_owned(), seconds: still.as_secs() })
            }
            None => Ok(()),
        }
    }

    /// What the group decided. Partitions that nobody wants here are answered with nothing.
    fn changes(&mut self, events: &mut Vec<Event>) -> Result<(), Error> {
        let changes = self.group.changes();
        if changes.lost.contains(&PARTITION) {
            self.strays.clear();
            events.push(ReleaseEvent::Revoked);
        }
        if changes.gained.contains(&PARTITION) {
            events.push(ReleaseEvent::Assigned(self.service.clock.now()));
        } else if !changes.gained.is_empty() || !changes.lost.is_empty() {
            self.group.assign(&TopicPartitionList::new())?;
        }
        Ok(())
    }

    /// Reads for a while, to the end, or until enough is held in the open.
    fn read(&mut self, records: &mut Vec<SegmentRecord>) -> Result<(), Error> {
        let began = Instant::now();
        let mut n_bytes = 0;
        while began.elapsed() < QUIET && n_bytes < BATCH_BYTES {
            match self.group.consumer().poll(QUIET.saturating_sub(began.elapsed())) {
                None => return Ok(()),
                Some(Ok(message)) => {
                    let payload = message.payload().unwrap_or_default().to_vec();
                    n_bytes += payload.len();
                    records.push(SegmentRecord { offset: message.offset(), payload });
                }
                Some(Err(KafkaError::PartitionEOF(_))) => return Ok(()),
                Some(Err(error)) => self.group.tolerate(error)?,
            }
        }
        Ok(())
    }
}

impl Source for Segments<'_> {
    fn next(&mut self) -> Result<Option<Vec<Event>>, Error> {
        self.service.health.doing(Part::Release, "reading segments");
        let mut records = std::mem::take(&mut self.strays);
        self.read(&mut records)?;
        self.group.refuse_fatal()?;
        self.refuse_standstill(&records)?;
        self.service.health.doing(Part::Release, "taking up what was read");
        let mut events = vec![ReleaseEvent::Polled(records)];
        self.changes(&mut events)?;
        Ok(Some(events))
    }

    fn position(&mut self) -> Result<(Option<Committed>, i64), Error> {
        let mut committed = self.group.committed(PARTITION..PARTITION + 1, &|| {})?;
        let low = self.group.beginning(PARTITION)?;
        Ok((committed.remove(&PARTITION).flatten(), low))
    }

    fn assign(&mut self, position: i64) -> Result<(), Error> {
        let mut positions = TopicPartitionList::new();
        positions
            .add_partition_offset(self.group.topic(), PARTITION, Offset::Offset(position))
            .map_err(|error| self.group.explain(error))?;
        Ok(self.group.assign(&positions)?)
    }

    fn delete(&mut self, before: i64) -> Result<(), Error> {
        Ok(kafka::delete_before(self.service.kafka, self.group.topic(), before)?)
    }

    /// On another thread, while this one keeps the membership alive: a member that does not poll is thrown out.
    fn compute(&mut self, work: &mut (dyn FnMut() + Send)) -> Result<(), Error> {
        let mut paused = TopicPartitionList::new();
        paused.add_partition(self.group.topic(), PARTITION);
        let consumer = self.group.consumer();
        let strays = &mut self.strays;
        std::thread::scope(|scope| {
            let worker = scope.spawn(work);
            let is_paused = consumer.pause(&paused).is_ok();
            while !worker.is_finished() {
                self.service.health.doing(Part::Release, "computing");
                // A paused partition gives no more records; one that was on its way is kept.
                if let Some(Ok(message)) = consumer.poll(Duration::from_millis(5)) {
                    let payload = message.payload().unwrap_or_default().to_vec();
                    strays.push(SegmentRecord { offset: message.offset(), payload });
                }
            }
            if is_paused {
                consumer.resume(&paused).ok();
            }
            worker.join().expect("R-7: a worker that panics stops the service");
        });
        Ok(())
    }
}
