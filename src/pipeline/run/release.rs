//! The release role: complete windows become releases, exactly once.
//!
//! One worker is active, because `segments` has one partition; others stand by. Reserved is committed before noise is drawn; the
//! release's records, Settled and the positions are committed together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::producer::BaseProducer;
use rdkafka::{Offset, TopicPartitionList};

use super::active::{Active, take};
use super::crash::crash_point;
use super::group::Group;
use super::mark::{LedgerMark, send_position};
use super::{Error, Event, Service, Stop, first_window, packer};
use crate::engine::{Release, ReleaseId};
use crate::kafka::ledger::{Line, TopicLedger};
use crate::kafka::{self, Inside, Load, Transactions, Watcher, send};
use crate::ledger::{Before, Book, Entry, Outcome, Permit, Request};
use crate::metrics::Booked;
use crate::model::Window;
use crate::pipeline::publish_settings;
use crate::publish::topic::{self, TopicRecord};
use crate::publish::{self, Files, Sink};
use crate::seal::{Assembly, Packer, SealedWindow};

const ANSWER: Duration = Duration::from_secs(20);
const PARTITION: i32 = 0;
/// How long a worker with nothing to read sleeps.
const QUIET: Duration = Duration::from_millis(500);

/// The release worker while it is a member of the group.
pub(super) struct Releaser<'a> {
    service: &'a Service<'a>,
    group: Group,
    packer: Packer,
    publish: publish::Settings,
    active: Option<Active>,
}

impl<'a> Releaser<'a> {
    /// Joins the group of release workers.
    pub(super) fn join(service: &'a Service<'a>) -> Result<Self, Error> {
        let settings = service.kafka;
        let name = format!("{}.release", settings.group);
        let group = Group::join(settings, &name, &settings.topics.segments)?;
        let publish = publish_settings(
            service.settings,
            true,
            service.closing_words(),
            service.version,
            service.commit,
        );
        Ok(Self { service, group, packer: packer(service.settings), publish, active: None })
    }

    /// Works until it is stopped.
    pub(super) fn work(&mut self, stop: &Stop) -> Result<(), Error> {
        while !stop.is_set() {
            self.read(QUIET)?;
            self.follow_group()?;
            let released = self.release_what_is_complete(stop);
            released.inspect_err(|error| {
                if error.is_failed_check() {
                    self.service.metrics.verify_failed();
                }
            })?;
            if self.is_range_done() {
                (self.service.hear)(&Event::RangeDone);
                stop.set();
            }
            if let Some(news) = self.group.news() {
                self.service.metrics.kafka("release", &news.numbers);
            }
            self.service.health.release_ready(true, self.active.is_some());
        }
        self.group.consumer().unsubscribe();
        Ok(())
    }

    fn read(&mut self, span: Duration) -> Result<(), Error> {
        let began = Instant::now();
        while began.elapsed() < span {
            match self.group.consumer().poll(span.saturating_sub(began.elapsed())) {
                None => return Ok(()),
                Some(Ok(message)) => {
                    let payload = message.payload().unwrap_or_default();
                    take(
                        &self.packer,
                        self.group.topic(),
                        &mut self.active,
                        payload,
                        message.offset(),
                    )?;
                }
                Some(Err(KafkaError::PartitionEOF(_))) => return Ok(()),
                Some(Err(error)) => self.group.bear(error)?,
            }
        }
        Ok(())
    }

    fn follow_group(&mut self) -> Result<(), Error> {
        let changes = self.group.changes();
        if changes.lost.contains(&PARTITION) {
            self.active = None;
            (self.service.hear)(&Event::StandingBy);
        }
        if changes.gained.contains(&PARTITION) {
            let (active, position) = self.take_over()?;
            self.active = Some(active);
            let mut positions = TopicPartitionList::new();
            positions
                .add_partition_offset(self.group.topic(), PARTITION, Offset::Offset(position))
                .map_err(|error| self.group.explain(error))?;
            self.group.assign(&positions)?;
            (self.service.hear)(&Event::Active);
        } else if !changes.gained.is_empty() || !changes.lost.is_empty() {
            self.group.assign(&TopicPartitionList::new())?;
        }
        Ok(())
    }

    /// Fences the worker before, then reads the ledger to its end, then finds the position: in this order, so that
    /// nobody can append behind our back.
    fn take_over(&self) -> Result<(Active, i64), Error> {
        let settings = self.service.kafka;
        let writer = format!("{}.writer", settings.topics.ledger);
        let transactions = Arc::new(Transactions::open(settings, &writer, Load::Text)?);
        let key = self.service.settings.secret.ledger_key();
        let budget = self.service.settings.budget.clone();
        let mut ledger = TopicLedger::read(settings, &key, budget, Some(transactions.clone()))?;
        let mut asked = TopicPartitionList::new();
        asked.add_partition(self.group.topic(), PARTITION);
        let committed = self.group.consumer().committed_offsets(asked, ANSWER);
        let committed = committed.map_err(|error| self.group.explain(error))?;
        let committed = committed.find_partition(self.group.topic(), PARTITION);
        let (offset, memory) = match committed {
            Some(one) => (one.offset(), LedgerMark::from_text(one.metadata())),
            None => (Offset::Invalid, None),
        };
        if let Some(mark) = &memory {
            mark.check(&ledger)?;
        }
        if ledger.book().n_records() == 0 {
            let now = self.service.clock.now();
            let first = first_window(self.service.settings, now).ok_or(Error::NoFirstWindow)?;
            ledger.open(first, now)?;
        }
        let first = ledger.book().first_window().ok_or(Error::NoFirstWindow)?;
        let position = match offset {
            Offset::Offset(offset) => offset,
            _ if ledger.book().entries().iter().any(|entry| entry.settled.is_some()) => {
                return Err(Error::PositionsExpired { topic: self.group.topic().to_owned() });
            }
            _ => {
                let ends =
                    self.group.consumer().fetch_watermarks(self.group.topic(), PARTITION, ANSWER);
                ends.map_err(|error| self.group.explain(error))?.0
            }
        };
        self.show_book(ledger.book());
        let assembly = Assembly::default();
        let done_through = memory.as_ref().and_then(LedgerMark::done_through);
        let active = Active {
            transactions,
            ledger,
            assembly,
            first,
            position,
            done_through,
            delete_before: None,
        };
        Ok((active, position))
    }

    fn release_what_is_complete(&mut self, stop: &Stop) -> Result<(), Error> {
        while let Some(id) = self.active.as_ref().and_then(|active| active.assembly.complete()) {
            let window = self.service.settings.calendar.window(id);
            let window = window.expect("S-9: only windows that exist get markers");
            if stop.is_set() || self.service.clock.now() < self.not_before(&window) {
                return Ok(());
            }
            self.release(&window)?;
        }
        self.delete_what_nobody_needs();
        self.service.panel.gathered(self.active.as_ref().map_or(Vec::new(), Active::gathered));
        self.service.metrics.windows_held(
            self.active.as_ref().map_or(0, |active| active.assembly.n_windows()),
            self.active.as_ref().map_or(0, |active| active.assembly.n_taps()),
            self.active.as_ref().map_or(0, |active| active.assembly.n_bytes()),
        );
        Ok(())
    }

    /// What the ledger says, for whoever looks.
    fn show_book(&self, book: &Book) {
        self.service.metrics.budget(book.spent(), self.service.settings.budget.lifetime);
        let line = |entry: &Entry| Booked {
            window: entry.reservation.window,
            start: entry.start,
            end: entry.end,
            price: entry.reservation.cost.epsilon(),
            is_settled: entry.settled.is_some(),
        };
        let booked = book.entries().iter().map(line).collect();
        self.service.panel.ledger(book.first_window(), booked);
    }

    /// Whether the last window of a configured range has gone its way.
    fn is_range_done(&self) -> bool {
        let (Some(active), Some(span)) = (&self.active, &self.service.settings.span) else {
            return false;
        };
        let last = self.service.settings.calendar.windows_within(span).last().map(Window::id);
        last.is_some_and(|last| {
            active.done_through >= Some(last) || active.ledger.book().is_settled(last)
        })
    }

    /// The earliest moment a window may be released: the configured time of day, the first after its end.
    fn not_before(&self, window: &Window) -> Timestamp {
        let Some(secs) = self.service.settings.live.not_before_secs else { return window.end() };
        let zone = self.service.settings.calendar.zone();
        let end = zone.to_datetime(window.end());
        let midnight = end.date().at(0, 0, 0, 0);
        let mut at =
            zone.to_timestamp(midnight).unwrap_or(window.end()) + SignedDuration::from_secs(secs);
        while at < window.end() {
            at += SignedDuration::from_hours(24);
        }
        at
    }

    /// One window, from its taps to its commit.
    fn release(&mut self, window: &Window) -> Result<(), Error> {
        let settings = self.service.settings;
        settings.engine.fits(window)?;
        let active = self.active.as_mut().expect("only an active worker releases");
        let stamps = active.assembly.take_stamps(window.id());
        let began = Instant::now();
        let length = settings.max_length;
        let secret = &settings.secret;
        let sealed =
            self.while_polling(|| SealedWindow::freeze(window.clone(), stamps, length, secret))?;
        self.service.metrics.sealed(sealed.n_duplicates());
        self.while_polling(|| settings.engine.admits(&sealed))??;
        let request = Request {
            window: window.clone(),
            batch: *sealed.mac(),
            configuration: settings.digest,
            cost: settings.engine.price(),
        };
        crash_point("release.before_reserve");
        let active = self.active.as_mut().expect("still active");
        let (permit, before) = match active.ledger.reserve(&request)? {
            Outcome::Granted { permit, before } => (permit, before),
            Outcome::Refused(refusal) => {
                self.service.metrics.withheld(refusal.reason());
                let reason = refusal.to_string();
                self.service.panel.withheld(window.id(), &reason);
                (self.service.hear)(&Event::Withheld { window: window.clone(), reason });
                return self.commit(window, &[], None);
            }
        };
        crash_point("release.reserved");
        let release = self.make(window, &sealed, permit)?;
        crash_point("release.noise");
        let (records, digest) = topic::records_of(&release, &self.publish)?;
        if matches!(&before, Before::Settled(booked) if *booked != digest) {
            return Err(Error::Changed { window: window.name() });
        }
        if let Some(dir) = &settings.live.release_dir {
            let mut files = Files::new(dir, self.publish.clone());
            files.preflight(window, &ReleaseId::new(window, &settings.digest))?;
            files.publish(&release)?;
        }
        crash_point("release.files");
        let active = self.active.as_ref().expect("still active");
        let line = active.ledger.settlement(release.reservation(), &digest)?;
        self.commit(window, &keyed(&release, records), line)?;
        let name = release.engine().name;
        let seconds = began.elapsed().as_secs_f64();
        self.service.metrics.released(name, seconds, self.service.clock.now().as_second());
        let n_rows = release.rows().len();
        (self.service.hear)(&Event::Released { window: window.clone(), n_rows });
        Ok(())
    }

    fn make(
        &mut self,
        window: &Window,
        sealed: &SealedWindow,
        permit: Permit,
    ) -> Result<Release, Error> {
        let settings = self.service.settings;
        let noise = settings.secret.noise_key(window.id(), sealed.mac(), &settings.digest);
        let began = Instant::now();
        let release = self.while_polling(|| settings.engine.sanitize(sealed, permit, &noise))??;
        self.service.metrics.engine_ran(release.engine().name, began.elapsed().as_secs_f64());
        Ok(release)
    }

    /// Records, settlement and position in one transaction; then what nobody needs any more is deleted.
    fn commit(
        &mut self,
        window: &Window,
        records: &[(Vec<u8>, TopicRecord)],
        line: Option<Line>,
    ) -> Result<(), Error> {
        let active = self.active.as_ref().expect("only an active worker commits");
        let position =
            active.assembly.earliest_needed_without(window.id()).unwrap_or(active.position);
        let done_through = active.done_through.max(Some(window.id()));
        let mark = LedgerMark::after(&active.ledger, line.as_ref(), done_through);
        let topics = &self.service.kafka.topics;
        let group = &self.group;
        let mut work = |producer: &BaseProducer<Watcher>| -> Result<(), Inside> {
            for (key, record) in records {
                let header = Some((topic::HEADER, record.kind.name()));
                send(producer, &topics.releases, Some(key), &record.payload, header)?;
            }
            crash_point("release.records");
            if let Some(line) = &line {
                send(producer, &topics.ledger, None, line.payload(), None)?;
            }
            crash_point("release.settled");
            send_position(producer, group, position, &mark)
        };
        active.transactions.run(&mut work, &mut || {})?;
        crash_point("release.committed");
        let active = self.active.as_mut().expect("still active");
        if let Some(line) = line {
            active.ledger.written(line)?;
        }
        active.assembly.settle(window.id());
        active.done_through = done_through;
        active.delete_before = Some(position);
        let active = self.active.as_ref().expect("still active");
        self.show_book(active.ledger.book());
        Ok(())
    }

    /// Housekeeping, once for all windows that were complete: the encryption is what protects. A right that is missing
    /// only costs disk.
    fn delete_what_nobody_needs(&mut self) {
        let Some(offset) = self.active.as_mut().and_then(|active| active.delete_before.take())
        else {
            return;
        };
        if let Err(error) = kafka::delete_before(self.service.kafka, self.group.topic(), offset) {
            (self.service.hear)(&Event::SegmentsKept(error.to_string()));
        }
        crash_point("release.deleted");
    }

    /// Does long work on another thread and keeps the membership alive: a member that does not poll is thrown out.
    fn while_polling<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let mut paused = TopicPartitionList::new();
        paused.add_partition(self.group.topic(), PARTITION);
        let consumer = self.group.consumer();
        let mut strays = Vec::new();
        let done = std::thread::scope(|scope| {
            let worker = scope.spawn(work);
            let is_paused = consumer.pause(&paused).is_ok();
            while !worker.is_finished() {
                // A paused partition gives no more records; one that was on its way is kept.
                if let Some(Ok(message)) = consumer.poll(Duration::from_millis(5)) {
                    strays.push((message.offset(), message.payload().unwrap_or_default().to_vec()));
                }
            }
            if is_paused {
                consumer.resume(&paused).ok();
            }
            worker.join().expect("R-7: a worker that panics stops the service")
        });
        for (offset, payload) in strays {
            take(&self.packer, self.group.topic(), &mut self.active, &payload, offset)?;
        }
        Ok(done)
    }
}

fn keyed(release: &Release, records: Vec<TopicRecord>) -> Vec<(Vec<u8>, TopicRecord)> {
    let key = release.id().as_str().as_bytes().to_vec();
    records.into_iter().map(|record| (key.clone(), record)).collect()
}
