//! The exactly-once protocol as decisions: what happened in, what to do out. No I/O, no clock, no thread.
//!
//! In → out: events ([`IngestEvent`], [`ReleaseEvent`]) → effects ([`IngestEffect`], [`ReleaseEffect`]).
//! Promises: R-1 Reserved, noise, files, Settled, always in this order; R-4 a tap that counts is in a committed
//!   segment, and counts once; R-5 a price is durable before its noise is drawn, and a release appears with its
//!   settlement and position; R-6 a worker that was replaced changes nothing.
//! Refuses: segments, ledgers and positions that no correct worker wrote.
//! Why: decisions without I/O can be simulated, crash by crash; `tests/sim` does.

mod active;
mod body;
mod gathering;
mod ingest;
mod metadata;
mod partition;
pub mod planted;
mod release;
mod transaction;
mod window;

pub use gathering::PendingWindows;
pub use ingest::{
    Committed, FLUSH_MAX, FlushedWindow, Ingest, IngestEffect, IngestEvent, IngestNote, IngestPlan,
};
pub use metadata::{ReleaseMetadata, Signer};
pub use partition::{Partition, PolledRecord};
pub use release::{ReleaseEffect, ReleaseEvent, ReleaseNote, Releaser, SegmentRecord};
pub use transaction::{Call, Ended, OutRecord, Position, Topic, Transaction};
pub use window::{FreezeJob, Made, MakeJob, ReleasePlan, Render};

use std::fmt;

use crate::engine;
use crate::ledger::{ChainFault, Refusal};
use crate::model::ErrorKind;
use crate::seal::{GatherError, SegmentError};

/// Why a worker leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// It was asked to.
    Stopped,
    /// Every window of the range has gone its way.
    RangeDone,
    /// Another worker has taken over: join again.
    Replaced(String),
    /// Nobody knows how a transaction ended: join again, with a new epoch and a new look.
    Unknown(String),
}

/// Why the protocol cannot go on. Each stops the work: no release is better than a wrong one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A record of `segments` that is not ours.
    #[error(
        "record {offset}: {error}. If it is surely not the service's own, pass over it: kafka.pass_segments = [{offset}] \
         (deploy/RUNBOOK.md, A record of segments that is not ours)"
    )]
    Segment { offset: i64, error: SegmentError },
    /// A record of `segments` that no correct worker writes.
    #[error(
        "record {offset}: {what}; no worker of this feed writes that. Nothing is released: find out who wrote it, then \
         pass over it: kafka.pass_segments = [{offset}] (deploy/RUNBOOK.md, A record of segments that is not ours)"
    )]
    WrongSegment { offset: i64, what: String },
    /// Segments that do not fit together.
    #[error("record {offset}: {error}; nothing is released")]
    GatheredWindows {
        /// The offset of the second of the two.
        offset: i64,
        error: GatherError,
    },
    /// A ledger record is not what was written, or does not follow.
    #[error("{0}")]
    Ledger(ChainFault),
    /// The ledger belongs to another feed.
    #[error("the ledger belongs to feed {found:?}, not to {expected:?} (feed.id)")]
    OtherFeed {
        /// The feed in its records.
        found: String,
        /// The feed of the configuration.
        expected: String,
    },
    /// The officer signed another statement than the one of this configuration.
    #[error("{0}")]
    NotApproved(Box<Refusal>),
    /// The ledger is shorter than it was.
    #[error(
        "the ledger holds {found} records, but {expected} were there when a release was last committed; payments are \
         missing. Nothing is released"
    )]
    LedgerShortened {
        /// Records there.
        found: u64,
        /// Records there were.
        expected: u64,
    },
    /// Committed positions are gone although windows were released.
    #[error(
        "no position is committed, but windows were released: the offsets expired, or kafka.group changed. Reading from \
         the beginning would count taps again: commit positions for the group, then start again"
    )]
    PositionsExpired,
    /// A commit with metadata that this version did not write.
    #[error(
        "the position committed for partition {partition} carries metadata that this program does not know ({text:?}; it \
         knows the version tapveil2); use the tapveil that wrote it, or a newer one, or commit a position without metadata \
         for the group"
    )]
    ForeignMetadata { partition: i32, text: String },
    /// A commit whose metadata this feed did not sign.
    #[error(
        "the position committed for partition {partition} was not signed by this feed: somebody else committed for the \
         group, or the secret is another one. Nothing is read or released from it. Find out who may commit \
         (deploy/kafka/ACLS.md), then restore the position (deploy/RUNBOOK.md, Positions that this feed did not sign)"
    )]
    ForgedMetadata { partition: i32 },
    /// A commit of a version that did not sign.
    #[error(
        "the position committed for partition {partition} was written by an earlier version, which did not sign \
         positions. If nobody but tapveil may commit for the group, start once with kafka.positions = \"accept-unsigned\"; \
         the next commit is signed"
    )]
    UnsignedMetadata { partition: i32 },
    /// The first offset of a partition is unknown.
    #[error("the first offset of partition {0} is unknown")]
    NoLowOffset(i32),
    /// The topic of the taps has no partitions.
    #[error("the topic of the taps has no partitions any more; taps may be lost")]
    NoPartitions,
    /// No window to begin with.
    #[error("window.from names no window")]
    NoFirstWindow,
    /// An engine fails.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// A release cannot be rendered.
    #[error("{0}")]
    Render(String),
    /// The same input gave another release.
    #[error(
        "window {window}: the same taps and configuration gave another release than the one that is booked; the engine \
         changed without a new revision. Nothing was published"
    )]
    Changed { window: String },
    /// The driver answered what nobody asked.
    #[error("the driver sent {event} while the protocol was {phase}; report this as a bug")]
    OutOfTurn {
        /// What the protocol was doing.
        phase: String,
        /// What came.
        event: String,
    },
}

impl Error {
    fn out_of_turn(phase: &impl fmt::Debug, event: &impl fmt::Debug) -> Self {
        // The names of the variants alone: what is inside may point at a person.
        let name = |debug: String| {
            debug.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
        };
        Self::OutOfTurn { phase: name(format!("{phase:?}")), event: name(format!("{event:?}")) }
    }

    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Segment { .. }
            | Self::PositionsExpired
            | Self::ForeignMetadata { .. }
            | Self::UnsignedMetadata { .. }
            | Self::OtherFeed { .. }
            | Self::NoFirstWindow
            | Self::Ledger(ChainFault::OtherSecret) => ErrorKind::Config,
            Self::NoLowOffset(_) | Self::NoPartitions => ErrorKind::External,
            Self::NotApproved(_) => ErrorKind::Input,
            Self::Engine(error) => error.kind(),
            Self::WrongSegment { .. }
            | Self::GatheredWindows { .. }
            | Self::Ledger(ChainFault::Broken { .. })
            | Self::LedgerShortened { .. }
            | Self::ForgedMetadata { .. }
            | Self::Render(_)
            | Self::Changed { .. }
            | Self::OutOfTurn { .. } => ErrorKind::Broken,
        }
    }

    /// Whether a release did not stand its own check.
    pub fn is_failed_check(&self) -> bool {
        matches!(self, Self::Engine(_) | Self::Render(_) | Self::Changed { .. })
            && self.kind() == ErrorKind::Broken
    }
}

impl From<ChainFault> for Error {
    fn from(fault: ChainFault) -> Self {
        Self::Ledger(fault)
    }
}

#[cfg(test)]
mod tests;
