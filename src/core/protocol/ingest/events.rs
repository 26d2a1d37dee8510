//! What happens to an ingest worker, and what it wants done.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::model::{Counts, WindowId};
use crate::protocol::partition::PolledRecord;
use crate::protocol::transaction::{Ended, Transaction};
use crate::protocol::{Signer, Why};
use crate::seal::{Rules, SegmentCodec};

/// What an ingest worker is set up with.
#[derive(Clone, Debug)]
pub struct IngestPlan {
    /// What taps and windows are judged by.
    pub rules: Rules,
    /// Makes segments.
    pub codec: SegmentCodec,
    /// Signs positions.
    pub signer: Signer,
    /// The topic of the taps, for the records of rejects.
    pub taps_topic: String,
    /// The last window that was released when this worker started.
    pub settled_through: Option<WindowId>,
    /// How often what was read is committed.
    pub flush: SignedDuration,
}

/// What a partition's group committed for it last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Committed {
    /// The next record to read.
    pub offset: i64,
    /// The commit's metadata.
    pub metadata: String,
}

/// What happens to an ingest worker.
#[derive(Debug)]
pub enum IngestEvent {
    /// The group gave these partitions.
    Assigned(BTreeSet<i32>),
    /// The group took these away.
    Revoked(BTreeSet<i32>),
    /// Answer to [`IngestEffect::ReadPositions`].
    PositionsRead {
        /// Every partition of the topic, with its commit if there is one.
        committed: BTreeMap<i32, Option<Committed>>,
        /// The first offset of every partition that was asked for.
        lows: BTreeMap<i32, i64>,
    },
    /// Records that were read and judged; also none.
    Polled(Vec<PolledRecord>),
    /// Answer to [`IngestEffect::ReadEnds`]: partition, position, end.
    EndsRead(Vec<(i32, i64, i64)>),
    /// Answer to [`IngestEffect::CountPartitions`].
    PartitionsCounted(u32),
    /// Answer to [`IngestEffect::Commit`].
    Ended(Ended),
    /// Time passes.
    Tick(Timestamp),
    /// Flush what is held, and leave.
    Stop(Timestamp),
}

/// What an ingest worker wants done.
#[derive(Debug)]
pub enum IngestEffect {
    /// Get a new producer epoch: earlier workers of this instance can write no more.
    Fence,
    /// Read the commits of all partitions (waiting for pending transactions) and the first offsets of these.
    ReadPositions(BTreeSet<i32>),
    /// Read these partitions from these positions on.
    AssignAt(Vec<(i32, i64)>),
    /// Ask for the ends of these partitions.
    ReadEnds {
        partitions: Vec<i32>,
        /// False: the last stable offset, which hides records behind an open transaction.
        with_uncommitted: bool,
    },
    /// Ask how many partitions the topic has.
    CountPartitions,
    /// Execute a transaction.
    Commit(Transaction),
    /// Drop everything and leave the group.
    Leave(Why),
    /// Something happened.
    Tell(IngestNote),
}

/// What happened, for whoever counts and logs. Exact numbers are the operator's alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IngestNote {
    /// A flush is committed.
    Flushed {
        /// What it counted.
        counts: Counts,
        /// How far each window came with it.
        windows: Vec<FlushedWindow>,
    },
    /// A partition went away with so many records that somebody will read again.
    PartitionGone(i32, u64),
    /// Most taps are late or lie before the first window.
    MostTapsLate,
    /// A transaction took too long; so many records are committed at a time from now on.
    Slower(usize),
}

/// How far one window of one partition came with a flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlushedWindow {
    pub partition: i32,
    pub window: WindowId,
    /// Taps that were committed.
    pub n_taps: u64,
    /// Whether the partition has finished the window.
    pub is_finished: bool,
}
