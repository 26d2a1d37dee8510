//! The service: ingest and release on a real Kafka, exactly once.
//!
//! In → out: taps from a topic → releases on a topic and as files, each window once.
//! Promises: R-4 a tap that counts is in a committed segment, and counts once; R-5 a window's price is booked before
//!   its noise is drawn, and its release, its settlement and the positions appear together; R-6 a worker that was
//!   replaced changes nothing.
//! Refuses: topics, ledgers and positions that would lose a tap or forget a payment.
//! Why: publishing a window twice with different noise spends its budget twice, whoever reads it.

mod ingest;
mod name;
mod progress;
mod release;
mod unusable;
mod watchdog;

pub use crate::kafka::topics::Role;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use jiff::SignedDuration;

use self::ingest::Worker;
pub use self::name::Name;
use self::progress::Restless;
use super::Error;
use crate::clock::Clock;
use crate::config::Settings;
use crate::kafka;
use crate::kafka::ledger::TopicLedger;
use crate::ledger::{self, Book, read_book};
use crate::metrics::{Health, Part};
use crate::model::WindowId;
use crate::pipeline::{Event, Observers};
use crate::protocol::{IngestPlan, Why};
use crate::seal::{Closing, Rules};

/// Who was replaced pauses so long before it joins again, and longer from time to time.
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Set once, by a signal or by a role that failed; everybody drains and leaves.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    is_set: Arc<AtomicBool>,
    /// Whether somebody outside asked for it.
    is_asked: Arc<AtomicBool>,
    /// How often somebody wanted to know what is being done.
    n_questions: Arc<AtomicU64>,
}

impl Stop {
    /// Everybody shall stop.
    pub fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
    }

    /// Somebody outside wants everybody to stop.
    pub fn ask(&self) {
        self.is_asked.store(true, Ordering::SeqCst);
        self.set();
    }

    /// Somebody outside wants to know what every worker is doing.
    pub fn ask_what_is_done(&self) {
        self.n_questions.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether somebody does and has not been answered by whoever has answered so many questions.
    fn is_question(&self, n_answered: &mut u64) -> bool {
        let n = self.n_questions.load(Ordering::SeqCst);
        std::mem::replace(n_answered, n) != n
    }

    /// Whether somebody outside does.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::SeqCst)
    }

    /// Whether everybody shall.
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }
}

/// What the service runs with.
pub struct Service<'a> {
    /// The checked configuration.
    pub settings: &'a Settings,
    /// How to reach the brokers.
    pub kafka: &'a kafka::Settings,
    /// Who this process is to the brokers, for all of its life: when it joins again it fences what it left open.
    pub name: Name,
    /// What to do.
    pub role: Role,
    pub version: &'static str,
    /// This build's commit.
    pub commit: &'static str,
    /// What time it is.
    pub clock: &'a dyn Clock,
    /// Who is told what happens.
    pub observers: Observers<'a>,
    /// How it goes.
    pub health: &'a Health,
    /// Ends the process with the exit code of this error, and so never comes back: for when a worker cannot be waited
    /// for. Whatever it was doing is as after a crash, which the protocol survives.
    pub last_words: &'a (dyn Fn(Result<(), &Error>) + Sync),
}

impl Service<'_> {
    /// How windows close, for the manifest.
    fn closing_words(&self) -> String {
        match self.settings.closing {
            Closing::Arrival { .. } => {
                "Each tap was judged alone, by its own arrival: the guarantee holds from the feed to this release."
            }
            Closing::Watermark { .. } => {
                "The window was closed by the progress of the whole feed: the guarantee is relative to the sealed window."
            }
        }
        .to_owned()
    }
}

/// Runs until it is stopped or cannot go on. A worker that was replaced joins again.
pub fn run(service: &Service<'_>, stop: &Stop) -> Result<(), Error> {
    let mut say = |text: &str| service.observers.tell(&Event::WaitingForBroker(text.to_owned()));
    if !kafka::connect(service.kafka, &mut say, &|| stop.is_set())? {
        return Ok(());
    }
    let grace = grace(service.settings);
    for warning in kafka::topics::ensure(service.kafka, grace, service.role)? {
        service.observers.tell(&Event::Topic(warning.to_string()));
    }
    std::thread::scope(|scope| {
        let (ends, ended) = channel();
        let spawn = |part: Part, work: fn(&Service<'_>, &Stop) -> Result<Why, Error>| {
            let ends = ends.clone();
            scope.spawn(move || {
                let session = || again_when_replaced(service, stop, part, work);
                // a worker that panics stops the service.
                let done = catch_unwind(AssertUnwindSafe(session))
                    .unwrap_or_else(|panic| Err(Error::Panicked { part, what: words_of(&*panic) }));
                service.health.ended(part, done.is_err());
                // One role that cannot go on takes the other with it: half a service is a silent one.
                stop.set();
                // Nobody listens any more only when this function has returned.
                ends.send(done).ok();
            });
        };
        let (releases, ingests) = (service.role.releases(), service.role.ingests());
        if releases {
            spawn(Part::Release, release_session);
        }
        if ingests {
            spawn(Part::Ingest, ingest_session);
        }
        let n_running = usize::from(releases) + usize::from(ingests);
        watchdog::wait_for_all(service, stop, n_running, &ended)
    })
}

/// What a panic said.
fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// A worker that another one replaced, or that does not know how a transaction ended, drops everything and joins again,
/// after a pause, so that two of them do not fence each other for ever. Who does so for long in vain gives up.
fn again_when_replaced(
    service: &Service<'_>,
    stop: &Stop,
    part: Part,
    session: fn(&Service<'_>, &Stop) -> Result<Why, Error>,
) -> Result<(), Error> {
    let mut pause = SHORTEST_PAUSE;
    let mut restless = Restless::new(service.kafka.stall_timeout);
    loop {
        let began = Instant::now();
        let why = match session(service, stop) {
            Err(Error::Kafka(kafka::Error::ThrownOut(reason))) => Why::Replaced(reason),
            ended => ended?,
        };
        match why {
            Why::Stopped => return Ok(()),
            Why::RangeDone => {
                service.observers.tell(&Event::RangeDone);
                return Ok(());
            }
            Why::Replaced(reason) | Why::Unknown(reason) => {
                if stop.is_set() {
                    return Ok(());
                }
                let n_achieved = service.health.n_achieved(part);
                if let Some(in_vain) = restless.session_over(began, n_achieved) {
                    return Err(Error::Restless { part, seconds: in_vain.as_secs(), reason });
                }
                service.observers.tell(&Event::JoiningAgain(reason));
                // Who worked for a while was not fenced by a rival that it fences in turn.
                if began.elapsed() > LONGEST_PAUSE * 3 {
                    pause = SHORTEST_PAUSE;
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

fn release_session(service: &Service<'_>, stop: &Stop) -> Result<Why, Error> {
    release::work(service, stop)
}

fn ingest_session(service: &Service<'_>, stop: &Stop) -> Result<Why, Error> {
    let Some((first, settled_through)) = wait_for_ledger(service, stop)? else {
        return Ok(Why::Stopped);
    };
    let settings = service.settings;
    let past = settings
        .span()
        .and_then(|span| settings.calendar.ends_within(&span).and_then(|(_, last)| last.next()));
    let range = first..past.unwrap_or(WindowId::new(i64::MAX));
    let gate = settings.gate(Some(range));
    let calendar = settings.calendar.clone();
    let plan = IngestPlan {
        rules: Rules { gate, closing: settings.closing, calendar, first, past },
        codec: super::codec(settings),
        signer: super::signer(settings),
        taps_topic: service.kafka.topics.taps.clone(),
        settled_through,
        flush: SignedDuration::try_from(service.kafka.flush).unwrap_or(SignedDuration::MAX),
    };
    Worker::join(service, plan)?.work(stop)
}

/// Ingest begins when a release worker has opened the ledger: it says from which window on taps count. Workers of both
/// roles may start at the same time, so the topic itself may come a little later, too.
fn wait_for_ledger(
    service: &Service<'_>,
    stop: &Stop,
) -> Result<Option<(WindowId, Option<WindowId>)>, Error> {
    let began = Instant::now();
    let mut has_said = false;
    while !stop.is_set() {
        service.health.doing(Part::Ingest, "waiting for the ledger");
        match topic_book(service.settings, service.kafka) {
            Ok(book) => {
                if let Some(first) = book.first_window() {
                    let settled = book.entries().iter().filter(|entry| entry.settled.is_some());
                    return Ok(Some((first, settled.map(|entry| entry.reservation.window).max())));
                }
            }
            Err(Error::Kafka(kafka::Error::NoTopic(_)))
                if began.elapsed() < service.kafka.connect_timeout => {}
            Err(error) => return Err(error),
        }
        if !has_said {
            service.observers.tell(&Event::WaitingForLedger);
            has_said = true;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(None)
}

/// What the brokers say about the topics of this feed, without making anything.
pub(super) fn look(settings: &Settings, kafka: &kafka::Settings) -> Result<Vec<String>, Error> {
    kafka::connect(kafka, &mut |_| {}, &|| false)?;
    let warnings = kafka::topics::look(kafka, grace(settings), Role::All)?;
    let answered = format!("{} answered", kafka.brokers);
    Ok([answered].into_iter().chain(warnings.iter().map(ToString::to_string)).collect())
}

/// How long after its window's end a tap counts, where arrival decides that.
fn grace(settings: &Settings) -> Option<Duration> {
    match settings.closing {
        Closing::Arrival { grace, .. } => Some(grace.unsigned_abs()),
        Closing::Watermark { .. } => None,
    }
}

/// The ledger topic for a command that is no member of a group: it books without positions.
pub(super) fn lone_ledger(kafka: &kafka::Settings) -> Result<TopicLedger, Error> {
    if !kafka::connect(kafka, &mut |_| {}, &|| false)? {
        unreachable!("nobody stops a command's connection");
    }
    kafka::topics::ensure(kafka, None, Role::Release)?;
    Ok(TopicLedger::new(kafka, std::rc::Rc::new(NoGroup)))
}

/// Who is no member of any group owns no partition, and commits no position.
struct NoGroup;

impl kafka::Membership for NoGroup {
    fn topic(&self) -> &str {
        ""
    }

    fn metadata(&self) -> Option<rdkafka::consumer::ConsumerGroupMetadata> {
        None
    }

    fn owns(&self, positions: &[crate::protocol::Position]) -> bool {
        positions.is_empty()
    }

    /// It books, and nobody builds on anything else of it.
    fn can_read(&self, _: &kafka::End) -> bool {
        true
    }
}

/// The ledger topic, read from its beginning to its end and checked record by record.
pub fn topic_book(settings: &Settings, kafka: &kafka::Settings) -> Result<Book, Error> {
    let topic = &kafka.topics.ledger;
    let lines = kafka::ledger::read_lines(kafka)?;
    let book = read_book(&settings.secret.ledger_key(), &lines);
    let book = book.map_err(|fault| ledger::Error::of_fault(topic, fault))?;
    let expected = &settings.feed.id;
    match book.feed() {
        Some(found) if found != expected => Err(ledger::Error::OtherFeed {
            path: topic.clone(),
            found: found.to_owned(),
            expected: expected.clone(),
        }
        .into()),
        _ => Ok(book),
    }
}
