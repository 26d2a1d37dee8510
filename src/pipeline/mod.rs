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
mod release;
mod sanitize;

pub use sanitize::{Done, Job, Released, Summary, Watch, sanitize};

pub use event::{Event, Observers, Weight};

use crate::config::Settings;
use crate::ledger::Repeat;
use crate::model::{Digest, ErrorKind, Window};
use crate::seal::SegmentCodec;
use crate::{engine, ingest, kafka, ledger, protocol, publish};

/// What a release worker is set up with.
fn release_plan(
    settings: &Settings,
    publish: publish::Settings,
) -> protocol::ReleasePlan<publish::Renderer> {
    let span = settings.span().map(|span| settings.calendar.windows_within(&span));
    let from = || settings.from.and_then(|from| settings.calendar.first_window_from(from));
    protocol::ReleasePlan {
        engine: settings.engine.clone(),
        secret: settings.secret.clone(),
        configuration: settings.digest,
        max_length: settings.max_length,
        calendar: settings.calendar.clone(),
        budget: settings.budget(),
        n_stations: settings.stations.len(),
        codec: codec(settings),
        last: span.as_ref().and_then(|windows| windows.last()).map(Window::id),
        first: match &span {
            Some(windows) => windows.first().map(Window::id),
            None => from(),
        },
        not_before_secs: settings.release.not_before_secs,
        render: publish::Renderer(publish),
    }
}

/// Makes and opens the segments of a feed.
fn codec(settings: &Settings) -> SegmentCodec {
    let calendar = &settings.calendar;
    let layout = format!(
        "{} {} {} {} {:?}",
        settings.stations.digest(),
        calendar.length_secs(),
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
            rule: Some(match caps.repeat {
                Repeat::Refuse => "a window is released once".to_owned(),
                Repeat::Pay => "a further release of a window is paid in full".to_owned(),
            }),
        },
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
    /// Nothing in the file counts.
    #[error(
        "no tap of {path} counts{why}; name the windows with --from and --to to release them all the same"
    )]
    NoTaps {
        path: String,
        /// What was rejected, in words.
        why: String,
    },
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
            Self::NoWindow { .. } | Self::NoTaps { .. } => ErrorKind::Config,
            Self::Protocol { error, .. } => error.kind(),
            Self::Kafka(error) => error.kind(),
        }
    }
}
