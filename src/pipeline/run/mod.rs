//! The service: ingest and release on a real Kafka, exactly once.
//!
//! In → out: taps from a topic → releases on a topic and as files, each window once.
//! Promises: R-4 a tap is in exactly one committed parcel; R-5 a window's price is booked before its noise is drawn and its
//!   release, its settlement and the positions appear together; R-6 a worker that was replaced changes nothing.
//! Refuses: topics, ledgers and positions that would lose a tap or forget a payment.
//! Why: publishing a window twice with different noise spends its budget twice, whoever reads it.

mod active;
mod crash;
mod event;
mod group;
mod ingest;
mod mark;
mod release;

pub use event::{Event, Weight};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use self::ingest::Ingest;
use self::release::Releaser;
use crate::clock::Clock;
use crate::config::Settings;
use crate::kafka::ledger::TopicLedger;
use crate::kafka::{self, TransactionError};
use crate::metrics::{Health, Metrics, Panel};
use crate::model::{Digest, Kind, WindowId};
use crate::seal::{AssemblyError, Closing, Packer, ParcelError, Rules};
use crate::window::Gate;
use crate::{engine, publish};

/// What a process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Taps to parcels.
    Ingest,
    /// Parcels to releases.
    Release,
    /// Both.
    All,
}

impl Role {
    fn ingests(self) -> bool {
        matches!(self, Self::Ingest | Self::All)
    }

    fn releases(self) -> bool {
        matches!(self, Self::Release | Self::All)
    }
}

/// Set once, by a signal or by a role that failed; everybody drains and leaves.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    is_set: Arc<AtomicBool>,
    /// Whether somebody outside asked for it.
    is_asked: Arc<AtomicBool>,
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
    /// What to do.
    pub role: Role,
    /// This build.
    pub version: &'static str,
    /// This build's commit.
    pub commit: &'static str,
    /// What time it is.
    pub clock: &'a dyn Clock,
    /// The numbers.
    pub metrics: &'a Metrics,
    /// How it goes.
    pub health: &'a Health,
    /// What the console shows.
    pub panel: &'a Panel,
    /// Hears what happens; never a passenger.
    pub hear: &'a (dyn Fn(&Event) + Sync),
}

impl Service<'_> {
    /// How windows close, for the manifest.
    fn closing_words(&self) -> String {
        match self.settings.live.closing {
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

/// What a worker needs to know.
struct Plan<'a> {
    settings: &'a Settings,
    kafka: &'a kafka::Settings,
    instance: String,
    /// The last window that was released when this worker started.
    settled_through: Option<WindowId>,
    clock: &'a dyn Clock,
    metrics: &'a Metrics,
    health: &'a Health,
    panel: &'a Panel,
    hear: &'a (dyn Fn(&Event) + Sync),
}

impl Plan<'_> {
    fn packer(&self) -> Packer {
        packer(self.settings)
    }
}

fn packer(settings: &Settings) -> Packer {
    let calendar = &settings.calendar;
    let layout = format!(
        "{} {} {} {} {:?}",
        settings.stations.digest(),
        calendar.length_secs(),
        calendar.day_start_secs(),
        calendar.slot_secs(),
        calendar.zone().iana_name(),
    );
    let feed = settings.budget.feed.clone();
    Packer::new(settings.secret.clone(), feed, Digest::of(layout.as_bytes()))
}

/// Runs until it is stopped or cannot go on. A worker that was replaced joins again.
pub fn run(service: &Service<'_>, stop: &Stop) -> Result<(), Error> {
    let mut say = |text: &str| (service.hear)(&Event::WaitingForBroker(text.to_owned()));
    if !kafka::connect(service.kafka, &mut say, &|| stop.is_set())? {
        return Ok(());
    }
    let needs_arrival = matches!(service.settings.live.closing, Closing::Arrival { .. });
    let role = match service.role {
        Role::Ingest => kafka::topics::Role::Ingest,
        Role::Release => kafka::topics::Role::Release,
        Role::All => kafka::topics::Role::All,
    };
    for warning in kafka::topics::ensure(service.kafka, needs_arrival, role)? {
        (service.hear)(&Event::Topic(warning.to_string()));
    }
    std::thread::scope(|scope| {
        let spawn = |wanted: bool, work: fn(&Service<'_>, &Stop) -> Result<(), Error>| {
            wanted.then(|| {
                scope.spawn(move || {
                    let done = again_when_replaced(service, stop, work);
                    // One role that cannot go on takes the other with it: half a service is a silent one.
                    stop.set();
                    done
                })
            })
        };
        let workers = [
            spawn(service.role.releases(), release_session),
            spawn(service.role.ingests(), ingest_session),
        ];
        let mut outcome = Ok(());
        for worker in workers.into_iter().flatten() {
            let done = worker.join().expect("R-7: a worker that panics stops the service");
            outcome = outcome.and(done);
        }
        outcome
    })
}

/// A worker that another one replaced drops everything and joins again, after a pause, so that two of them do not
/// fence each other for ever.
fn again_when_replaced(
    service: &Service<'_>,
    stop: &Stop,
    session: fn(&Service<'_>, &Stop) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut pause = Duration::from_millis(500);
    loop {
        match session(service, stop) {
            Err(error) if error.is_replaced() && !stop.is_set() => {
                (service.hear)(&Event::JoiningAgain(error.to_string()));
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_secs(10));
            }
            done => return done,
        }
    }
}

fn release_session(service: &Service<'_>, stop: &Stop) -> Result<(), Error> {
    Releaser::join(service)?.work(stop)
}

fn ingest_session(service: &Service<'_>, stop: &Stop) -> Result<(), Error> {
    let Some((first, settled_through)) = wait_for_ledger(service, stop)? else { return Ok(()) };
    let settings = service.settings;
    let past = settings.span.and_then(|span| {
        settings
            .calendar
            .windows_within(&span)
            .last()
            .map(|last| WindowId::new(last.id().number() + 1))
    });
    let range = first..past.unwrap_or(WindowId::new(i64::MAX));
    let gate = Gate { range: Some(range), ..settings.gate.clone() };
    let calendar = settings.calendar.clone();
    let rules = Rules { gate, closing: settings.live.closing, calendar, first, past };
    let plan = Plan {
        settings,
        kafka: service.kafka,
        instance: service.kafka.instance.clone().unwrap_or_else(random_instance),
        settled_through,
        clock: service.clock,
        metrics: service.metrics,
        health: service.health,
        panel: service.panel,
        hear: service.hear,
    };
    Ingest::join(&plan, rules)?.work(stop)
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
        let key = service.settings.secret.ledger_key();
        let budget = service.settings.budget.clone();
        match TopicLedger::read(service.kafka, &key, budget, None) {
            Ok(ledger) => {
                if let Some(first) = ledger.book().first_window() {
                    let entries = ledger.book().entries().iter();
                    let settled = entries.filter(|entry| entry.settled.is_some());
                    return Ok(Some((first, settled.map(|entry| entry.reservation.window).max())));
                }
            }
            Err(kafka::ledger::Error::Kafka { error: kafka::Error::NoTopic(_), .. })
                if began.elapsed() < service.kafka.connect_timeout => {}
            Err(error) => return Err(error.into()),
        }
        if !has_said {
            (service.hear)(&Event::WaitingForLedger);
            has_said = true;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(None)
}

/// The first window of a feed: as configured, else the first whole one after now.
fn first_window(settings: &Settings, now: Timestamp) -> Option<WindowId> {
    if let Some(span) = &settings.span {
        return settings.calendar.windows_within(span).first().map(|window| window.id());
    }
    if let Some(from) = settings.live.from {
        return settings.calendar.first_window_from(from);
    }
    let window = settings.calendar.window_at(now)?;
    Some(if window.start() == now { window.id() } else { WindowId::new(window.id().number() + 1) })
}

fn random_instance() -> String {
    use rand::TryRng;
    let mut bytes = [0; 8];
    rand::rngs::SysRng
        .try_fill_bytes(&mut bytes)
        .expect("the system always has randomness once it has started");
    format!("{:016x}", u64::from_le_bytes(bytes))
}

/// Why the service stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// From the brokers.
    #[error(transparent)]
    Kafka(#[from] kafka::Error),
    /// From a transaction.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// From the ledger.
    #[error(transparent)]
    Ledger(#[from] kafka::ledger::Error),
    /// From an engine.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// From publish.
    #[error(transparent)]
    Publish(#[from] publish::Error),
    /// A parcel that is not ours.
    #[error("record {offset} of {topic}: {error}")]
    Parcel {
        /// The topic.
        topic: String,
        /// Where.
        offset: i64,
        /// What is wrong.
        error: ParcelError,
    },
    /// Parcels that do not fit together.
    #[error("{0}; nothing is released")]
    Assembly(#[from] AssemblyError),
    /// Records are gone that were not read.
    #[error(
        "records of {topic} are gone that were never read (retention too short, or the topic was made anew); \
         taps are lost. Decide where to go on by committing positions for the group, then start again"
    )]
    Vanished {
        /// The topic.
        topic: String,
    },
    /// No topic.
    #[error("the topic {0} does not exist any more, or a partition of it; taps may be lost")]
    NoTopic(String),
    /// Committed positions are gone although windows were released.
    #[error(
        "no position is committed for {topic}, but windows were released: the offsets expired, or kafka.group changed. \
         Reading from the beginning would count taps again: commit positions for the group, then start again"
    )]
    PositionsExpired {
        /// The topic.
        topic: String,
    },
    /// The ledger is shorter than it was.
    #[error(
        "the ledger topic holds {found} records, but {expected} were there when a release was last committed; \
         payments are missing. Nothing is released"
    )]
    LedgerShortened {
        /// Records there.
        found: u64,
        /// Records there were.
        expected: u64,
    },
    /// Only one process can close windows by watermark.
    #[error("window.from names no window")]
    NoFirstWindow,
    /// The same input gave another release.
    #[error(
        "window {window}: the same taps and configuration gave another release than the one that is booked; \
         the engine changed without a new revision. Nothing was published"
    )]
    Changed {
        /// The window.
        window: String,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Kafka(error) => error.kind(),
            Self::Transaction(TransactionError::Failed(error)) => error.kind(),
            Self::Transaction(_) | Self::Vanished { .. } | Self::NoTopic(_) => Kind::External,
            Self::Ledger(error) => error.kind(),
            Self::Engine(error) => error.kind(),
            Self::Publish(error) => error.kind(),
            Self::Parcel { .. } | Self::PositionsExpired { .. } | Self::NoFirstWindow => {
                Kind::Config
            }
            Self::Assembly(_) | Self::LedgerShortened { .. } | Self::Changed { .. } => Kind::Broken,
        }
    }

    /// Whether a release did not stand its own check.
    fn is_failed_check(&self) -> bool {
        matches!(self, Self::Engine(_) | Self::Publish(_) | Self::Changed { .. })
            && self.kind() == Kind::Broken
    }

    /// Whether another worker took over, so that joining again is right.
    fn is_replaced(&self) -> bool {
        matches!(
            self,
            Self::Transaction(TransactionError::Fenced(_) | TransactionError::Lost)
                | Self::Ledger(kafka::ledger::Error::Fenced { .. })
        )
    }
}
