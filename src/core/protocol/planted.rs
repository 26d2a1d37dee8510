//! Planted bugs, for the simulator only: each changes one line of the protocol, and the simulator must notice each.
//!
//! Without the feature `planted-bugs` the question is a constant and the compiler removes what depends on it.

/// One line of the protocol, changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planted {
    /// Transactions keep their producer's epoch: a late end of one ends the next.
    SameEpoch,
    /// Positions are sent with the group metadata from the time of assignment.
    StaleMembership,
    /// Positions are sent with fresh metadata, without a look at what is still ours.
    NoOwnershipCheck,
    /// Settled is written in a transaction of its own, after the release.
    SettledApart,
    /// The price counts as booked before it is durable, so noise is drawn first.
    NoiseBeforeReserved,
    /// A window counts as complete when one partition has not finished it.
    PartitionMissing,
    /// The committed position passes segments that an unsettled window needs.
    OffsetPastUnsettled,
    /// A partition's marker is written before its last segment.
    MarkerBeforeSegment,
    /// Positions of a release are committed outside the group, so nobody refuses a zombie's.
    ZombiePublishes,
    /// The ledger is read before the worker before is fenced.
    LedgerBeforeFence,
    /// The end of a partition is taken from the last stable offset.
    StableEnd,
}

impl Planted {
    pub const ALL: [Self; 11] = [
        Self::SameEpoch,
        Self::StaleMembership,
        Self::NoOwnershipCheck,
        Self::SettledApart,
        Self::NoiseBeforeReserved,
        Self::PartitionMissing,
        Self::OffsetPastUnsettled,
        Self::MarkerBeforeSegment,
        Self::ZombiePublishes,
        Self::LedgerBeforeFence,
        Self::StableEnd,
    ];
}

#[cfg(feature = "planted-bugs")]
mod chosen {
    use std::cell::Cell;

    use super::Planted;

    thread_local! {
        static CHOSEN: Cell<Option<Planted>> = const { Cell::new(None) };
    }

    /// Plants a bug in this thread, or takes it out again.
    pub fn plant(bug: Option<Planted>) {
        CHOSEN.set(bug);
    }

    /// Whether this bug is planted in this thread.
    pub fn is_planted(bug: Planted) -> bool {
        CHOSEN.get() == Some(bug)
    }
}

#[cfg(feature = "planted-bugs")]
pub use chosen::{is_planted, plant};

/// Whether a bug is planted: never, outside the simulator.
#[cfg(feature = "planted-bugs")]
#[macro_export]
#[doc(hidden)]
macro_rules! planted {
    ($bug:ident) => {
        $crate::protocol::planted::is_planted($crate::protocol::planted::Planted::$bug)
    };
}

/// Whether a bug is planted: never, outside the simulator.
#[cfg(not(feature = "planted-bugs"))]
#[macro_export]
#[doc(hidden)]
macro_rules! planted {
    ($bug:ident) => {
        false
    };
}
