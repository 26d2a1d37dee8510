//! What happens in the service: one type of event each, told in one sentence. Never a card, a payload or an exact count.

use std::fmt;

use crate::model::Window;

/// How much an event matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
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
    /// This release worker does the work.
    Active,
    /// Another release worker does.
    StandingBy,
    /// Another worker took over; this one joins again.
    JoiningAgain(String),
    /// A release is in place.
    Released {
        /// Its window.
        window: Window,
        /// Its rows: a public number.
        n_rows: usize,
    },
    /// A window goes without a release.
    Withheld {
        /// The window.
        window: Window,
        /// Why.
        reason: String,
    },
    /// Old segments take up room.
    SegmentsKept(String),
    /// Every window of the range has gone its way.
    RangeDone,
}

impl Event {
    /// Its name, for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WaitingForBroker(_) => "waiting_for_broker",
            Self::WaitingForLedger => "waiting_for_ledger",
            Self::Topic(_) => "topic",
            Self::MostTapsLate => "most_taps_late",
            Self::Active => "active",
            Self::StandingBy => "standing_by",
            Self::JoiningAgain(_) => "joining_again",
            Self::Released { .. } => "released",
            Self::Withheld { .. } => "withheld",
            Self::SegmentsKept(_) => "segments_kept",
            Self::RangeDone => "range_done",
        }
    }

    /// How much it matters.
    pub fn weight(&self) -> Weight {
        match self {
            Self::WaitingForLedger
            | Self::Active
            | Self::StandingBy
            | Self::Released { .. }
            | Self::RangeDone => Weight::Info,
            Self::WaitingForBroker(_)
            | Self::Topic(_)
            | Self::MostTapsLate
            | Self::JoiningAgain(_)
            | Self::Withheld { .. }
            | Self::SegmentsKept(_) => Weight::Warning,
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

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForBroker(text) => f.write_str(text),
            Self::WaitingForLedger => f.write_str("waiting for a release worker to open the ledger"),
            Self::Topic(text) => write!(f, "warning: {text}"),
            Self::MostTapsLate => f.write_str(
                "warning: most taps are late or lie before the first window. For old taps set window.close = 'watermark' \
                 with window.from and window.to; for a slow feed raise window.grace",
            ),
            Self::Active => f.write_str("active: releasing windows as they complete"),
            Self::StandingBy => f.write_str("standing by: another release worker is active"),
            Self::JoiningAgain(why) => write!(f, "joining again: {why}"),
            Self::Released { window, n_rows } => write!(f, "released {window}: {n_rows} rows"),
            Self::Withheld { window, reason } => write!(f, "withheld {window}: {reason}"),
            Self::SegmentsKept(why) => write!(f, "could not delete old segments: {why}"),
            Self::RangeDone => f.write_str("every window of the range is released or withheld: done"),
        }
    }
}
