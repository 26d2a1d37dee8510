//! A transaction as data: what appears together, and the calls that make it so, in their order.
//!
//! Drivers execute the calls one by one and say how the transaction ended. They choose neither the order nor what
//! follows.

use crate::planted;

/// Where a record goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Topic {
    /// From ingest to release.
    Segments,
    /// Taps that do not count, without their content.
    Rejects,
    /// What was spent.
    Ledger,
    /// What recipients read.
    Releases,
}

/// A record to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutRecord {
    /// Where to.
    pub topic: Topic,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// What it is, for readers of its header.
    pub header: Option<&'static str>,
    pub payload: Vec<u8>,
}

impl OutRecord {
    /// A record without key and header.
    pub fn plain(topic: Topic, payload: Vec<u8>) -> Self {
        Self { topic, key: None, header: None, payload }
    }
}

/// How far a partition was read, with what must be remembered beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    pub partition: i32,
    /// The next record to read.
    pub offset: i64,
    /// The commit's metadata.
    pub metadata: String,
}

/// Records and positions that appear together, or never.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Transaction {
    /// In the order in which they are written.
    pub records: Vec<OutRecord>,
    /// Committed for the worker's group. A worker that lost a partition cannot commit for it, so a transaction with
    /// positions is never a zombie's.
    pub positions: Vec<Position>,
    /// How many records the ledger must have for this transaction to append to it: between two of ours another worker
    /// may have had the writer's name, even one of another group, which our group does not refuse.
    pub ledger_length: Option<u64>,
}

/// One call of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call<'a> {
    /// Refuse to go on unless all these partitions are this worker's at this moment.
    CheckOwnership(&'a [Position]),
    /// Get a new producer epoch: whatever of an earlier transaction is still under way can end nothing any more.
    NewEpoch,
    /// Begin.
    Begin,
    /// Refuse to go on unless the ledger has exactly so many committed records, now that nobody else can append.
    CheckLedger(u64),
    /// Write a record.
    Send(&'a OutRecord),
    /// Fetch the group's metadata as it is now.
    FreshMembership,
    /// Send the positions with the metadata that was fetched last.
    SendPositions(&'a [Position]),
    /// Commit.
    Commit,
}

impl Transaction {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.positions.is_empty()
    }

    /// The calls, in their order. Membership is fetched before ownership is checked: an old generation is refused by
    /// the broker, and a fresh one is used only for what is still ours.
    pub fn calls(&self) -> impl Iterator<Item = Call<'_>> {
        let positions = self.positions.as_slice();
        let has_positions = !positions.is_empty();
        let checked = || Some(Call::CheckOwnership(positions)).filter(|_| has_positions);
        let unchecked = planted!(NoOwnershipCheck);
        let epoch = (!planted!(SameEpoch)).then_some(Call::NewEpoch);
        let fresh = (has_positions && !planted!(StaleMembership)).then_some(Call::FreshMembership);
        checked()
            .into_iter()
            .chain(epoch)
            .chain([Call::Begin])
            .chain(self.ledger_length.map(Call::CheckLedger))
            .chain(self.records.iter().map(Call::Send))
            .chain(fresh)
            .chain(checked().filter(|_| !unchecked))
            .chain(Some(Call::SendPositions(positions)).filter(|_| has_positions))
            .chain([Call::Commit])
    }
}

/// How a transaction ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// All of it appeared.
    Committed,
    /// Nothing of it appeared or ever will; the same may be tried again.
    Aborted,
    /// Nothing of it appeared, and some of the partitions are not ours any more, or the group is moving: poll, and
    /// look.
    Lost,
    /// Nothing of it appeared: it took longer than half of what the brokers allow. A smaller one may do.
    TooLong,
    /// Another worker has taken over.
    Fenced(String),
    /// Nobody knows. Only what a new epoch and a new look at the topics say counts.
    Unknown(String),
}
