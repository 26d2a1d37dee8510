//! The ledger books the price of a release durably and hands out one [`Permit`] for it.
//!
//! In → out: a [`Request`] → a [`Permit`] or a [`Refusal`]; later the release's digest → Settled.
//! Promises: L-1 Reserved is durable before a permit exists; L-2 one permit, one release; L-3 caps hold
//!   over everything ever reserved; L-4 the same window, batch and configuration cost nothing again;
//!   L-5 a broken chain stops everything.
//! Refuses: repeats with other data or configuration, overlapping windows, whatever exceeds a cap, everything while the
//!   feed is stopped or under a statement that was not approved; and, at any price, a release by suppression beside
//!   any other release of the same time.
//! Why: publishing a window twice with different noise spends its budget twice, whoever reads it.

mod book;
mod chain;
#[cfg(any(test, feature = "fixture"))]
mod clerk;
mod record;
mod audit;
mod declaration;

pub use audit::{AuditLedger, AuditPermit};
pub use book::{Approval, Book, Entry, Stop, Would};
pub(crate) use chain::{Chain, Pending, Step};
pub use chain::{ChainFault, opening, read_book};
#[cfg(any(test, feature = "fixture"))]
pub use clerk::Clerk;
pub use declaration::{Declaration, declared};
pub use record::{Genesis, Record};

use crate::model::{Calendar, Cost, Digest, Mac, MicroEpsilon, Window, WindowId};
use crate::secret::FeedKey;

/// What somebody wants to release.
#[derive(Clone, Debug)]
pub struct Request {
    pub window: Window,
    /// MAC of its canonical batch.
    pub batch: Mac,
    /// Digest of the configuration.
    pub configuration: Digest,
    /// The engine's price.
    pub cost: Cost,
    /// Digest of the statement that an officer signs.
    pub statement: Digest,
    /// The feed's key.
    pub feed_key: FeedKey,
    /// The epoch of the secret.
    pub epoch: u32,
    /// The window's first release, or a revision of it.
    pub edition: Edition,
}

impl Request {
    /// For audits and tests: of no feed, under no statement.
    pub fn of_nobody(window: Window, batch: Mac, configuration: Digest, cost: Cost) -> Self {
        Self {
            window,
            batch,
            configuration,
            cost,
            statement: Digest::of(b"no statement"),
            feed_key: FeedKey::of_nobody(),
            epoch: 0,
            edition: Edition::First,
        }
    }
}

/// Which release of a window is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Edition {
    /// The first one.
    First,
    /// A further one: numbered, and paid in full.
    Revision {
        /// For the ledger.
        why: String,
    },
}

/// What was booked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// The number of the Reserved record.
    pub sequence: u64,
    pub window: WindowId,
    /// MAC of its canonical batch.
    pub batch: Mac,
    /// Digest of the configuration.
    pub configuration: Digest,
    pub cost: Cost,
    /// 0 for the window's first release; revisions count from 1.
    pub revision: u32,
    /// What all releases of this window cost together, this one included.
    pub window_total: MicroEpsilon,
    /// The feed's key.
    pub feed_key: FeedKey,
    /// The MAC of the Reserved record: whoever holds the release can tell that the ledger has gone back behind it.
    pub head: Mac,
}

/// The right to make one release. Only the ledger makes it; an engine uses it up.
///
/// ```compile_fail
/// fn forge(reservation: tapveil_core::ledger::Reservation) -> tapveil_core::ledger::Permit {
///     tapveil_core::ledger::Permit { reservation }
/// }
/// ```
/// ```compile_fail
/// fn twice(permit: tapveil_core::ledger::Permit) -> [tapveil_core::ledger::Permit; 2] {
///     [permit.clone(), permit]
/// }
/// ```
#[derive(Debug)]
pub struct Permit {
    reservation: Reservation,
}

impl Permit {
    /// Uses the permit up. For the engines only.
    pub(crate) fn redeem(self) -> Reservation {
        self.reservation
    }

    /// The number of the revision that it is for; 0: the window's first release.
    pub(crate) fn revision(&self) -> u32 {
        self.reservation.revision
    }

    /// A permit that no ledger booked, for tests of engines inside this crate.
    #[cfg(any(test, feature = "fixture"))]
    pub(crate) fn unbooked(request: &Request) -> Self {
        Self { reservation: Reservation::unbooked(u64::MAX, request) }
    }
}

impl Reservation {
    /// A reservation that no ledger booked.
    fn unbooked(sequence: u64, request: &Request) -> Self {
        Self {
            sequence,
            window: request.window.id(),
            batch: request.batch,
            configuration: request.configuration,
            cost: request.cost,
            revision: 0,
            window_total: request.cost.epsilon(),
            feed_key: request.feed_key.clone(),
            head: Mac::from_bytes([0; 32]),
        }
    }
}

/// What the ledger says to a request.
#[derive(Debug)]
pub enum Outcome {
    /// Booked, or booked before: go on.
    Granted {
        /// The right to release.
        permit: Permit,
        /// What was booked before for the very same release, if anything.
        before: Before,
    },
    /// Nothing may be released.
    Refused(Refusal),
}

/// What the ledger already held about a granted request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Before {
    /// Nothing: it was paid for now.
    Nothing,
    /// Reserved, not settled: an earlier run died on the way. Free.
    Reserved,
    /// Settled with this digest: the same bytes will be written again. Free.
    Settled(Digest),
}

/// Why nothing may be released. An outcome, not an error.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The window has a release.
    #[error(
        "the window was paid for already, with {what}; releasing it again would spend its budget twice (`tapveil \
         revise` makes a numbered revision, at full price)"
    )]
    Repeat {
        /// What differs.
        what: &'static str,
    },
    /// Another window covers part of the same time.
    #[error(
        "the window overlaps one that was paid for already ({other}); the same taps would be released twice"
    )]
    Overlap {
        /// The other window's start and end.
        other: String,
    },
    /// One of the two promises ε, the other does not.
    #[error(
        "a release that is {other} covers this time already, {when}; a differentially private release and one by \
         suppression of the same taps void each other's promise, and no price makes up for it"
    )]
    Mixed {
        /// What the other release is.
        other: &'static str,
        /// Its window's start and end.
        when: String,
    },
    /// A second release by suppression of the same taps.
    #[error(
        "a release by suppression covers this time already, {when}, with {what}; two of them together break the \
         promise of both, and no price makes up for it"
    )]
    Suppressed {
        /// The other window's start and end.
        when: String,
        /// What differs.
        what: &'static str,
    },
    /// Windows were paid for in another zone.
    #[error(
        "windows of this feed were paid for in the zone {paid}; in {asked} the same local times are other instants, and \
         taps would be released twice. Bring feed.time_zone back"
    )]
    OtherZone {
        /// The zone of earlier windows.
        paid: String,
        /// The zone now.
        asked: String,
    },
    /// A revision of a window that has no release.
    #[error(
        "the window has no release in place to be revised; `tapveil sanitize` makes the first one"
    )]
    NothingToRevise,
    /// The feed is stopped.
    #[error(
        "nothing leaves: {by} stopped this feed on {at} ({why}); `tapveil ledger resume` lets it go on"
    )]
    Stopped {
        /// Who stopped it.
        by: String,
        /// When.
        at: String,
        why: String,
    },
    /// The officer signed another statement.
    #[error(
        "{by} approved the statement {approved} on {at}; this configuration has the statement {found}, which nobody \
         signed (`tapveil check --statement` shows it, `tapveil ledger approve` signs it)"
    )]
    NotApproved {
        /// Who signed.
        by: String,
        /// When.
        at: String,
        /// What was signed.
        approved: Digest,
        /// What would be released.
        found: Digest,
    },
    /// Its release should have been made long ago, and the configuration says not to make it up.
    #[error(
        "its release was due {due} and could be made until {latest} (release.missed); it is not made up for, and costs \
         nothing"
    )]
    Missed {
        /// When it was due.
        due: String,
        /// When it became too late.
        latest: String,
    },
    /// Above a cap.
    #[error("{cap} would be exceeded: {spent} spent, {asked} asked, cap {limit}")]
    Cap {
        /// Which cap, as the configuration calls it.
        cap: &'static str,
        /// Spent under it.
        spent: MicroEpsilon,
        /// Asked now.
        asked: MicroEpsilon,
        /// The cap.
        limit: MicroEpsilon,
    },
}

impl Refusal {
    /// A word for metrics and machines.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Repeat { .. } => "repeat",
            Self::Overlap { .. } => "overlap",
            Self::Mixed { .. } => "mixed",
            Self::Suppressed { .. } => "repeat",
            Self::NothingToRevise => "revision",
            Self::OtherZone { .. } => "zone",
            Self::Stopped { .. } => "stopped",
            Self::NotApproved { .. } => "approval",
            Self::Missed { .. } => "missed",
            Self::Cap { .. } => "cap",
        }
    }
}

/// The caps. All in micro-ε, all optional; what is absent does not bind.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The feed this ledger serves.
    pub feed: String,
    /// The windows the horizon is counted in.
    pub calendar: Calendar,
    /// Cap over everything.
    pub lifetime: Option<MicroEpsilon>,
    /// Cap over any so many windows in a row.
    pub horizon: Option<Horizon>,
}

/// A rolling cap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Horizon {
    /// So many windows in a row.
    pub windows: u32,
    /// May cost so much together.
    pub cap: MicroEpsilon,
}
