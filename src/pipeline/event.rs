//! Everything that happens, one variant each. Log line, metric and console state follow from it in `observers`, and
//! nowhere else.
//! No event tells a card, a payload or, in its sentence, an exact count.

use std::fmt;

use jiff::Timestamp;

use crate::config::Percent;
use crate::ledger::{Book, Entry, Refusal};
use crate::metrics::{Booked, Gathered, KafkaNumbers};
use crate::model::{Counts, MicroEpsilon, Reject, Window};
use crate::protocol::FlushedWindow;

/// How much an event matters to whoever reads the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// It happens all the time; only numbers follow from it.
    Silent,
    /// As it should be.
    Info,
    /// Somebody should look.
    Warning,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// No broker answers yet.
    WaitingForBroker(String),
    /// Ingest cannot begin before a release worker has opened the ledger.
    WaitingForLedger,
    /// A topic is not as it should be.
    Topic(String),
    /// The feed does not fit its configuration.
    MostTapsLate,
    /// More records than `feed.max_rejects` cannot be used.
    Unusable {
        limit: Percent,
        /// The reason of most of them.
        mostly: Reject,
    },
    /// That is over.
    UsableAgain,
    /// The ledger could not be read for the console alone.
    LedgerUnread(String),
    /// Taps and rejects were counted for good: a file was read, or a flush committed.
    Ingested {
        counts: Counts,
        /// How far each window of each partition came. None for a file: its reader writes the board itself, block by
        /// block.
        windows: Vec<FlushedWindow>,
    },
    /// A flush took so many seconds.
    Flushed(f64),
    /// A partition went to another worker, which reads so many records again.
    PartitionGone {
        partition: i32,
        /// Records that were read and not committed.
        n_replayed: u64,
    },
    /// How far a partition is.
    PartitionAt {
        partition: i32,
        /// Records between its position and its end.
        lag: i64,
        /// When the last record that was read had arrived.
        arrived_secs: Option<i64>,
    },
    /// How ingest comes along.
    Progress {
        /// Records to the end of all its partitions. For the operator only.
        lag: i64,
        /// Records a second, of late.
        rate: f64,
        /// Whether it is far behind, and somebody may wonder.
        is_behind: bool,
    },
    /// A transaction took too long; smaller ones follow.
    Slower(usize),
    /// Records that were committed could not be read; they were written once more.
    WrittenAgain,
    /// What a worker has been doing, and for how long: somebody asked, or it is too long.
    Doing(String),
    /// What a Kafka client says of itself.
    Client(&'static str, KafkaNumbers),
    /// The greatest time of a tap that was read.
    Watermark(Option<Timestamp>),
    /// This release worker does the work.
    Active,
    /// Another release worker does.
    StandingBy,
    /// Nothing leaves until somebody says so; windows wait.
    Held(Refusal),
    /// Another worker took over; this one joins again.
    JoiningAgain(String),
    /// Windows on their way to a release.
    Holding {
        /// Which, and how many partitions have finished them.
        windows: Vec<Gathered>,
        /// Taps held in memory for them.
        n_taps: usize,
        /// Bytes these taps take.
        n_bytes: usize,
        /// The last window that has gone its way.
        done_through: Option<crate::model::WindowId>,
    },
    /// When the next release can be expected; none after the last, or where the taps' own times close windows.
    NextDue(Option<Timestamp>),
    /// The ledger changed.
    Ledger {
        /// The first window that exists.
        first: Option<crate::model::WindowId>,
        /// Its lines.
        booked: Vec<Booked>,
        /// Everything ever booked.
        spent: MicroEpsilon,
        /// The cap over the feed's life.
        lifetime: Option<MicroEpsilon>,
    },
    /// A window was sealed; so many taps were there twice.
    Sealed(u64),
    /// An engine ran.
    EngineRan {
        engine: &'static str,
        /// For how long.
        seconds: f64,
    },
    /// A release is in place.
    Released {
        window: Window,
        /// Its rows: a public number.
        n_rows: usize,
        engine: &'static str,
        /// Since its window was sealed.
        seconds: f64,
        at: Timestamp,
    },
    /// A window goes without a release.
    Withheld { window: Window, refusal: Refusal },
    /// A release did not stand its own check and was not published.
    VerifyFailed,
    /// A record of `segments` that cannot be taken, at this offset, is passed over as configured.
    PassedOver(i64),
    /// Old segments take up room.
    SegmentsKept(String),
    /// How far the ledger is could not be kept beside the secret; the group's positions have it.
    HeadNotKept(String),
    /// The brokers did not let a worker go that had committed everything; it went.
    LeftUnanswered,
    /// Every window of the range has gone its way.
    RangeDone,
}

impl Event {
    /// What a ledger says.
    pub fn ledger(book: &Book, lifetime: Option<MicroEpsilon>) -> Self {
        let line = |entry: &Entry| Booked {
            window: entry.reservation.window,
            start: entry.start,
            end: entry.end,
            price: entry.reservation.cost.epsilon(),
            is_settled: entry.settled.is_some(),
        };
        let booked = book.entries().iter().map(line).collect();
        Self::Ledger { first: book.first_window(), booked, spent: book.spent(), lifetime }
    }

    /// Its name, for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WaitingForBroker(_) => "waiting_for_broker",
            Self::WaitingForLedger => "waiting_for_ledger",
            Self::Topic(_) => "topic",
            Self::MostTapsLate => "most_taps_late",
            Self::Unusable { .. } => "unusable",
            Self::UsableAgain => "usable_again",
            Self::LedgerUnread(_) => "ledger_unread",
            Self::Ingested { .. } => "ingested",
            Self::Flushed(_) => "flushed",
            Self::PartitionGone { .. } => "partition_gone",
            Self::PartitionAt { .. } => "partition_at",
            Self::Progress { .. } => "progress",
            Self::Slower(_) => "slower",
            Self::WrittenAgain => "written_again",
            Self::Doing(_) => "doing",
            Self::Client(..) => "client",
            Self::Watermark(_) => "watermark",
            Self::Active => "active",
            Self::StandingBy => "standing_by",
            Self::Held(_) => "held",
            Self::JoiningAgain(_) => "joining_again",
            Self::Holding { .. } => "holding",
            Self::NextDue(_) => "next_due",
            Self::Ledger { .. } => "ledger",
            Self::Sealed(_) => "sealed",
            Self::EngineRan { .. } => "engine_ran",
            Self::Released { .. } => "released",
            Self::Withheld { .. } => "withheld",
            Self::VerifyFailed => "verify_failed",
            Self::PassedOver(_) => "passed_over",
            Self::SegmentsKept(_) => "segments_kept",
            Self::HeadNotKept(_) => "head_not_kept",
            Self::LeftUnanswered => "left_unanswered",
            Self::RangeDone => "range_done",
        }
    }

    /// How much it matters.
    pub fn weight(&self) -> Weight {
        match self {
            Self::Ingested { .. }
            | Self::Flushed(_)
            | Self::PartitionGone { .. }
            | Self::PartitionAt { .. }
            | Self::Progress { is_behind: false, .. }
            | Self::Client(..)
            | Self::Watermark(_)
            | Self::Holding { .. }
            | Self::NextDue(_)
            | Self::Ledger { .. }
            | Self::Sealed(_)
            | Self::EngineRan { .. } => Weight::Silent,
            Self::WaitingForLedger
            | Self::Progress { is_behind: true, .. }
            | Self::Doing(_)
            | Self::Active
            | Self::StandingBy
            | Self::UsableAgain
            | Self::Released { .. }
            | Self::RangeDone => Weight::Info,
            Self::WaitingForBroker(_)
            | Self::Topic(_)
            | Self::MostTapsLate
            | Self::Slower(_)
            | Self::WrittenAgain
            | Self::Unusable { .. }
            | Self::LedgerUnread(_)
            | Self::JoiningAgain(_)
            | Self::Held(_)
            | Self::Withheld { .. }
            | Self::VerifyFailed
            | Self::PassedOver(_)
            | Self::LeftUnanswered
            | Self::SegmentsKept(_)
            | Self::HeadNotKept(_) => Weight::Warning,
        }
    }

    /// The window it is about.
    pub fn window(&self) -> Option<&Window> {
        match self {
            Self::Released { window, .. } | Self::Withheld { window, .. } => Some(window),
            _ => None,
        }
    }
}

/// The sentence of the log; silent events have a name only.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForBroker(text) => f.write_str(text),
            Self::WaitingForLedger => f.write_str("waiting for a release worker to open the ledger"),
            Self::Topic(text) => write!(f, "warning: {text}"),
            Self::MostTapsLate => f.write_str(
                "warning: most taps are late or lie before the first window. For old taps set window.close = \
                 'watermark' with window.from and window.to; for a slow feed raise window.grace",
            ),
            Self::Progress { lag, rate, .. } => {
                let rounded = |n: f64| n.max(0.0).round();
                let (rate, left) = (rounded(*rate), *lag as f64);
                let minutes = if rate > 0.0 { rounded(left / rate / 60.0) } else { f64::INFINITY };
                write!(f, "catching up: about {:.1} million records to go, {rate} a second, ", left / 1e6)?;
                match minutes.is_finite() {
                    true => write!(f, "about {minutes} min to the end"),
                    false => f.write_str("at rest"),
                }
            }
            Self::Slower(n) => write!(
                f,
                "warning: a transaction took more than half of what the brokers allow; from now on {n} records at a time"
            ),
            Self::WrittenAgain => f.write_str(
                "brokers committed a flush and may have lost its records; they were written again, and a tap that is \
                 there twice counts once",
            ),
            Self::Doing(text) => f.write_str(text),
            Self::Unusable { limit, mostly } => write!(
                f,
                "warning: more than {limit} of the records (feed.max_rejects) cannot be used, most of them because {}. \
                 Releases go on without them; the runbook has the remedy under TapveilUnusableRecords",
                mostly.in_words()
            ),
            Self::UsableAgain => f.write_str("no more records than feed.max_rejects allows are unusable now"),
            Self::LedgerUnread(why) => write!(f, "the console shows an older state of the ledger: {why}"),
            Self::Active => f.write_str("active: releasing windows as they complete"),
            Self::StandingBy => f.write_str("standing by: another release worker is active"),
            Self::Held(refusal) => write!(f, "held: windows wait; {refusal}"),
            Self::JoiningAgain(why) => write!(f, "joining again: {why}"),
            Self::Released { window, n_rows, .. } => write!(f, "released {window}: {n_rows} rows"),
            Self::Withheld { window, refusal } => write!(f, "withheld {window}: {refusal}"),
            Self::VerifyFailed => f.write_str("a release did not pass its own check and was not published"),
            Self::HeadNotKept(why) => {
                write!(f, "{why}; the committed positions remember it, and nothing else does")
            }
            Self::PassedOver(offset) => {
                write!(f, "record {offset} of segments is passed over (kafka.pass_segments)")
            }
            Self::SegmentsKept(why) => write!(f, "could not delete old segments: {why}"),
            Self::LeftUnanswered => {
                f.write_str("everything is committed; the group did not answer the good-bye in time")
            }
            Self::RangeDone => f.write_str("every window of the range is released or withheld: done"),
            silent => f.write_str(silent.name()),
        }
    }
}
