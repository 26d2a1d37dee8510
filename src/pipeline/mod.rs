//! The only room that knows the whole way: ingest → window → seal → ledger → engine → publish.
//!
//! In → out: a file of taps and settings → releases in place and booked.
//! Promises: R-1 Reserved, then noise, then files, then Settled, always in this order; R-2 a window that is
//!   refused leaves no trace; R-3 the same taps and settings again give the same bytes and cost nothing.
//! Refuses: a range without windows; without a range, a file without a tap that counts.
//! Why: publishing twice with different noise spends a budget twice.

#[cfg(feature = "kafka")]
pub mod run;
mod event;
mod observers;
mod dry_run;
mod head;
mod release;
mod sanitize;
pub mod books;

pub use dry_run::{DryRun, Planned, dry_run};
pub use sanitize::{Done, Job, Released, Summary, Watch, sanitize, window_named};

pub use event::{Event, Weight};
pub use observers::Observers;

use crate::config::{Settings, Statement};
use crate::ledger::Edition;
use crate::model::{Digest, ErrorKind};
use crate::seal::SegmentCodec;
use crate::{engine, ingest, kafka, ledger, protocol, publish};

/// What a release worker is set up with.
fn release_plan(
    settings: &Settings,
    publish: publish::Settings,
    edition: Edition,
) -> protocol::ReleasePlan<publish::Renderer> {
    let ends = settings.span().map(|span| settings.calendar.ends_within(&span));
    let from = || settings.from.and_then(|from| settings.calendar.first_window_from(from));
    protocol::ReleasePlan {
        engine: settings.engine.clone(),
        secret: settings.secret.clone(),
        configuration: settings.digest,
        statement: Statement::of(settings).digest,
        edition,
        max_length: settings.max_length,
        calendar: settings.calendar.clone(),
        budget: settings.budget(),
        n_stations: settings.stations.len(),
        codec: codec(settings),
        pass_segments: match &settings.kafka {
            Some(kafka) => kafka.pass_segments.clone(),
            None => std::collections::BTreeSet::new(),
        },
        signer: signer(settings),
        last: ends.flatten().map(|(_, last)| last),
        first: match ends {
            Some(ends) => ends.map(|(first, _)| first),
            None => from(),
        },
        schedule: settings.release.schedule.clone(),
        render: publish::Renderer(publish),
    }
}

/// Signs the positions of a feed.
fn signer(settings: &Settings) -> protocol::Signer {
    let accepts_unsigned = settings.kafka.as_ref().is_some_and(|kafka| kafka.accepts_unsigned);
    protocol::Signer::new(&settings.secret, accepts_unsigned)
}

/// Makes and opens the segments of a feed.
fn codec(settings: &Settings) -> SegmentCodec {
    let calendar = &settings.calendar;
    let layout = format!(
        "{} {} {} {} {:?}",
        settings.stations.digest(),
        calendar.length(),
        calendar.day_start_secs(),
        calendar.slot_secs(),
        calendar.zone().iana_name(),
    );
    let feed = settings.feed.id.clone();
    SegmentCodec::new(settings.secret.clone(), feed, Digest::of(layout.as_bytes()))
}

/// The words and public facts that every release of a feed carries.
fn publish_settings(
    settings: &Settings,
    windows_protected: bool,
    closing: String,
    version: &'static str,
    commit: &'static str,
) -> publish::Settings {
    let Settings { stations, release, caps, .. } = settings;
    publish::Settings {
        stations: stations.clone(),
        title: release.title.clone(),
        licence: release.licence.clone(),
        contact: release.contact.clone(),
        feed: settings.feed.id.clone(),
        windows_protected,
        closing,
        budget: publish::BudgetFacts {
            lifetime_cap: caps.lifetime,
            horizon_windows: caps.horizon.map(|horizon| horizon.windows),
            horizon_cap: caps.horizon.map(|horizon| horizon.cap),
            rule: Some(
                "a window is released once; a revision is numbered and paid in full".to_owned(),
            ),
        },
        signer: settings.secret.signer(),
        version,
        commit,
    }
}

/// Why a run stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// From ingest.
    #[error(transparent)]
    Ingest(#[from] ingest::Error),
    /// From the ledger.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// From an engine.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// From publish.
    #[error(transparent)]
    Publish(#[from] publish::Error),
    /// No window in the range.
    #[error(
        "no whole window lies between --from {from} and --to {to}; windows are {length} long and begin at {start}"
    )]
    NoWindow {
        /// From.
        from: String,
        /// To.
        to: String,
        /// Window length.
        length: String,
        /// Day start.
        start: String,
    },
    /// More windows than anybody releases at once.
    #[error(
        "between --from {from} and --to {to} lie about {n} windows, and at most {most} are released at once; name a \
         shorter range"
    )]
    TooManyWindows { from: String, to: String, n: u64, most: u64 },
    /// Releases cannot go there.
    #[error("--out {what}")]
    Place { what: String },
    /// Nothing in the file counts.
    #[error(
        "no tap of {path} counts{why}; name the windows with --from and --to to release them all the same"
    )]
    NoTaps {
        path: String,
        /// What was rejected, in words.
        why: String,
    },
    /// Too much of the file cannot be used.
    #[error(
        "{path}: {unusable} of {all} records cannot be used ({reasons}), more than feed.max_rejects = {limit} allows. \
         Nothing was booked. Look with `tapveil sanitize --dry-run`; then mend the file, the stations or the feed's \
         keys"
    )]
    TooManyRejects {
        path: String,
        /// Records that cannot be used.
        unusable: u64,
        /// All records.
        all: u64,
        /// What was rejected, in words.
        reasons: String,
        /// The limit.
        limit: String,
    },
    /// A worker panicked: an invariant fell.
    #[error(
        "the {} worker stopped on a broken invariant: {what}. Nothing more is read or released; report this",
        part.in_words()
    )]
    Panicked { part: crate::metrics::Part, what: String },
    /// A worker hangs.
    #[error(
        "no progress for {limit_secs} s (kafka.stall_timeout): {doing}. Nothing is lost or doubled; start again, or let a \
         supervisor do it"
    )]
    Stuck { doing: String, limit_secs: u64 },
    /// The machine's clock is wrong.
    #[error(
        "this machine's clock is at least {seconds} s ahead of the brokers', more than window.clock_margin ({margin_secs} \
         s) allows: windows would close before their last taps have arrived. Set the clock (NTP), then start again"
    )]
    ClockAhead { seconds: i64, margin_secs: i64 },
    /// A client reads nothing although there is something.
    #[error(
        "nothing was read from {topic} for {seconds} s although its log goes on (kafka.stall_timeout). Nothing is lost or \
         doubled; start again, or let a supervisor do it"
    )]
    Standstill { topic: String, seconds: u64 },
    /// A worker joins again and again, and gets nothing done.
    #[error(
        "the {} worker has joined again and again for {seconds} s (kafka.stall_timeout) and got nothing done; at last: \
         {reason}. Nothing is lost or doubled; look whether two processes have the same kafka.instance, and at the \
         brokers; then start again, or let a supervisor do it",
        part.in_words()
    )]
    Restless { part: crate::metrics::Part, seconds: u64, reason: String },
    /// It was asked to stop, and does not come to an end.
    #[error(
        "stopped without draining: {doing}. What was read and not committed is read again after the next start"
    )]
    NotDrained { doing: String },
    /// Two ledgers.
    #[error(
        "this feed would have two ledgers: with [kafka] it is the topic {topic}, but {file} holds {n_releases} releases \
         already, which the topic does not know. Leave [kafka] out for as long as the file is the feed's ledger, or give \
         the live feed a secret and a ledger of its own (`tapveil init`) if other people travel on it"
    )]
    TwoLedgers { file: String, topic: String, n_releases: usize },
    /// The ledger is an older copy.
    #[error(
        "the ledger {ledger} holds {found} records, but {witness} says that it had {expected}, ending otherwise: it is an \
         older copy, or another one, and payments are missing. Nothing is released. Bring the newest copy back; \
         deploy/RUNBOOK.md says how"
    )]
    LedgerOlder {
        ledger: String,
        /// Records there.
        found: u64,
        /// Records there were.
        expected: u64,
        /// Who remembers.
        witness: String,
    },
    /// A release that nobody paid for.
    #[error(
        "release {release} is in place, but the ledger {ledger} does not have record {record}, which paid for it: the \
         ledger is an older copy, or another one. Nothing is released. Bring the newest copy back; deploy/RUNBOOK.md \
         says how"
    )]
    Unbooked {
        ledger: String,
        release: String,
        /// The number of the record.
        record: u64,
    },
    /// The kept head cannot be used.
    #[error("cannot {action} {path}, which remembers how far the ledger is: {error}")]
    Head {
        action: &'static str,
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// The kept head is not what was written.
    #[error(
        "{path} does not say how far the ledger is: it was changed. Bring it back; if the ledger is surely the newest \
         copy, remove the file"
    )]
    HeadGarbled { path: String },
    /// Nothing to declare to.
    #[error(
        "the ledger {name} has no record yet; the first release or the first start of the service opens it"
    )]
    NoLedgerYet { name: String },
    /// Another process takes the ledger over, again and again.
    #[error("another tapveil took over the ledger {name} again and again; try again when it rests")]
    LedgerContended { name: String },
    /// The window that is to be revised.
    #[error(
        "--window {name:?} is no window of this configuration; use the name of a release's directory, like \
         20151109T0400_20151110T0400"
    )]
    NoSuchWindow { name: String },
    /// The protocol stops.
    #[error("{topic}: {error}")]
    Protocol {
        /// What it was reading: a topic, or a ledger.
        topic: String,
        error: protocol::Error,
    },
    /// From the brokers.
    #[error(transparent)]
    Kafka(#[from] kafka::Error),
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Ingest(error) => error.kind(),
            Self::Ledger(error) => error.kind(),
            Self::Engine(error) => error.kind(),
            Self::Publish(error) => error.kind(),
            Self::NoWindow { .. }
            | Self::TooManyWindows { .. }
            | Self::NoTaps { .. }
            | Self::Place { .. }
            | Self::TwoLedgers { .. }
            | Self::NoLedgerYet { .. }
            | Self::NoSuchWindow { .. } => ErrorKind::Config,
            Self::TooManyRejects { .. } => ErrorKind::Input,
            Self::LedgerContended { .. }
            | Self::Head { .. }
            | Self::Stuck { .. }
            | Self::Standstill { .. }
            | Self::Restless { .. }
            | Self::ClockAhead { .. }
            | Self::NotDrained { .. } => ErrorKind::External,
            Self::LedgerOlder { .. }
            | Self::Unbooked { .. }
            | Self::HeadGarbled { .. }
            | Self::Panicked { .. } => ErrorKind::Broken,
            Self::Protocol { error, .. } => error.kind(),
            Self::Kafka(error) => error.kind(),
        }
    }
}
