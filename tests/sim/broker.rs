//! A broker in memory, with what the protocol rests on: logs with LogAppendTime, transactions with epochs and
//! fencing, the last stable offset, aborted records, offsets with metadata that appear with their transaction,
//! groups.
//!
//! What it assumes of real brokers, and the tests that saw each on one: `ASSUMPTIONS.md`.

use std::collections::BTreeMap;
use std::rc::Rc;

use tapveil_core::planted;

use crate::group::Group;

/// How long a transaction may stay open, in milliseconds.
pub const TRANSACTION_TIMEOUT: i64 = 15_000;

/// A log: one partition of a topic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LogName {
    /// A partition of the taps.
    Taps(i32),
    /// Between ingest and release.
    Segments,
    /// Payments.
    Ledger,
    /// What recipients read.
    Releases,
    /// Rejects.
    Rejects,
}

/// What became of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Still open.
    Open,
    /// Its records appeared.
    Committed,
    /// They never will.
    Aborted,
}

/// One entry of a log.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its value; a transaction's marker has none.
    pub payload: Option<Rc<[u8]>>,
    /// The broker's stamp, in milliseconds.
    pub stamp: i64,
    /// The transaction it belongs to.
    txn: Option<usize>,
}

/// A partition's records.
#[derive(Default)]
pub struct Log {
    /// The first offset that is still there.
    pub low: i64,
    entries: Vec<Entry>,
}

impl Log {
    fn end(&self) -> i64 {
        self.entries.len() as i64
    }
}

/// A transaction that is open hides the answer: ask again when it is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Undecided;

/// The offset is not there any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gone;

/// Records with their offsets, and the position after them.
pub type Fetched<'a> = (Vec<(i64, &'a Entry)>, i64);

/// The broker's answer to a producer it does not take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Another producer of this name has a newer epoch.
    Fenced,
    /// The group has another generation, or does not know the member.
    Generation,
    /// No transaction is open.
    State,
}

/// A producer as its client knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Producer {
    /// Its transactional id.
    pub id: String,
    /// Its epoch.
    pub epoch: u32,
}

/// A commit of a group: offset and metadata by partition.
pub type Offsets = BTreeMap<i32, (i64, String)>;

struct Open {
    txn: usize,
    since: i64,
    touched: Vec<LogName>,
    offsets: Vec<(GroupName, Offsets)>,
}

#[derive(Default)]
struct Coordinator {
    epoch: u32,
    open: Option<Open>,
    /// How the last transaction of this epoch ended: a retry of its end gets the same answer.
    last: Option<bool>,
}

/// The groups of the service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GroupName {
    /// Of the ingest workers.
    Ingest,
    /// Of the release workers.
    Release,
}

/// The broker.
pub struct Broker {
    /// What its clock says, in milliseconds.
    pub now: i64,
    logs: BTreeMap<LogName, Log>,
    fates: Vec<Fate>,
    producers: BTreeMap<String, Coordinator>,
    /// Members and generations.
    pub groups: BTreeMap<GroupName, Group>,
    committed: BTreeMap<GroupName, Offsets>,
    n_partitions: i32,
}

impl Broker {
    /// An empty broker whose topic of taps has so many partitions.
    pub fn new(now: i64, n_partitions: i32) -> Self {
        let groups =
            [(GroupName::Ingest, Group::new(n_partitions)), (GroupName::Release, Group::new(1))];
        Self {
            now,
            logs: BTreeMap::new(),
            fates: Vec::new(),
            producers: BTreeMap::new(),
            groups: groups.into(),
            committed: BTreeMap::new(),
            n_partitions,
        }
    }

    /// How many partitions the taps have.
    pub fn n_partitions(&self) -> i32 {
        self.n_partitions
    }

    /// Adds a partition to the taps.
    pub fn add_partition(&mut self) {
        self.n_partitions += 1;
        let group = self.groups.get_mut(&GroupName::Ingest).expect("made with the broker");
        group.resize(self.n_partitions, self.now);
    }

    /// A new epoch for this name: earlier ones are fenced, their open transaction is aborted.
    pub fn init_producer(&mut self, id: &str) -> Producer {
        let coordinator = self.producers.entry(id.to_owned()).or_default();
        coordinator.epoch += 1;
        coordinator.last = None;
        let epoch = coordinator.epoch;
        if let Some(open) = coordinator.open.take() {
            self.decide(open, false);
        }
        Producer { id: id.to_owned(), epoch }
    }

    fn coordinator(&mut self, producer: &Producer) -> Result<&mut Coordinator, Refused> {
        let coordinator = self.producers.get_mut(&producer.id).ok_or(Refused::Fenced)?;
        match coordinator.epoch == producer.epoch {
            true => Ok(coordinator),
            false => Err(Refused::Fenced),
        }
    }

    /// Begins a transaction with the first request that belongs to it, as brokers do.
    fn open(&mut self, producer: &Producer) -> Result<&mut Open, Refused> {
        let (now, next) = (self.now, self.fates.len());
        let coordinator = self.coordinator(producer)?;
        let is_new = coordinator.open.is_none();
        if is_new {
            coordinator.open =
                Some(Open { txn: next, since: now, touched: Vec::new(), offsets: Vec::new() });
        }
        if is_new {
            self.fates.push(Fate::Open);
        }
        let coordinator = self.coordinator(producer)?;
        Ok(coordinator.open.as_mut().expect("opened above"))
    }

    /// Writes a record in a transaction.
    pub fn produce(
        &mut self,
        producer: &Producer,
        log: LogName,
        key: Option<&[u8]>,
        payload: &[u8],
        stamp: i64,
    ) -> Result<(), Refused> {
        let open = self.open(producer)?;
        if !open.touched.contains(&log) {
            open.touched.push(log);
        }
        let txn = open.txn;
        self.append(
            log,
            Entry {
                key: key.map(<[u8]>::to_vec),
                payload: Some(payload.into()),
                stamp,
                txn: Some(txn),
            },
        );
        Ok(())
    }

    /// Writes a record without a transaction.
    pub fn write(&mut self, log: LogName, payload: &[u8], stamp: i64) {
        self.append(log, Entry { key: None, payload: Some(payload.into()), stamp, txn: None });
    }

    fn append(&mut self, log: LogName, entry: Entry) {
        self.logs.entry(log).or_default().entries.push(entry);
    }

    /// Commits positions for a group in a transaction. The group's generation is checked, the partitions are not.
    pub fn send_offsets(
        &mut self,
        producer: &Producer,
        group: GroupName,
        member: u64,
        generation: u32,
        offsets: Offsets,
    ) -> Result<(), Refused> {
        self.coordinator(producer)?;
        let is_checked = !(planted!(ZombiePublishes) && group == GroupName::Release);
        if is_checked && !self.groups[&group].accepts(member, generation) {
            return Err(Refused::Generation);
        }
        self.open(producer)?.offsets.push((group, offsets));
        Ok(())
    }

    /// Ends the transaction that is open now, whichever it is; a retry gets the same answer.
    pub fn end(&mut self, producer: &Producer, commit: bool) -> Result<(), Refused> {
        let coordinator = self.coordinator(producer)?;
        match coordinator.open.take() {
            Some(open) => {
                coordinator.last = Some(commit);
                self.decide(open, commit);
                Ok(())
            }
            None if coordinator.last == Some(commit) => Ok(()),
            // Nothing was sent in it: an empty transaction ends well.
            None if coordinator.last.is_none() => Ok(()),
            None => Err(Refused::State),
        }
    }

    fn decide(&mut self, open: Open, commit: bool) {
        self.fates[open.txn] = if commit { Fate::Committed } else { Fate::Aborted };
        for log in open.touched {
            // The marker of the transaction takes an offset of its own.
            let marker = Entry { key: None, payload: None, stamp: self.now, txn: None };
            self.append(log, marker);
        }
        if commit {
            for (group, offsets) in open.offsets {
                self.committed.entry(group).or_default().extend(offsets);
            }
        }
    }

    /// Aborts what was open for too long, as brokers do, with a new epoch.
    pub fn expire(&mut self) {
        let now = self.now;
        let expired: Vec<String> = self
            .producers
            .iter()
            .filter(|(_, one)| {
                one.open.as_ref().is_some_and(|open| now - open.since > TRANSACTION_TIMEOUT)
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in expired {
            self.init_producer(&id);
        }
        for group in self.groups.values_mut() {
            group.expire(now);
        }
    }

    /// The commit of a partition; `Err` while a transaction that changes it is open.
    pub fn committed(
        &self,
        group: GroupName,
        partition: i32,
    ) -> Result<Option<(i64, String)>, Undecided> {
        let is_pending = self.producers.values().filter_map(|one| one.open.as_ref()).any(|open| {
            open.offsets
                .iter()
                .any(|(of, offsets)| *of == group && offsets.contains_key(&partition))
        });
        match is_pending {
            true => Err(Undecided),
            false => Ok(self.committed.get(&group).and_then(|all| all.get(&partition).cloned())),
        }
    }

    fn fate(&self, entry: &Entry) -> Fate {
        entry.txn.map_or(Fate::Committed, |txn| self.fates[txn])
    }

    /// The end of a log, with or without what is behind open transactions.
    pub fn end_of(&self, log: LogName, with_uncommitted: bool) -> i64 {
        let Some(log) = self.logs.get(&log) else { return 0 };
        if with_uncommitted {
            return log.end();
        }
        let open = log.entries.iter().position(|entry| self.fate(entry) == Fate::Open);
        open.map_or(log.end(), |at| at as i64)
    }

    /// The first offset of a log.
    pub fn low_of(&self, log: LogName) -> i64 {
        self.logs.get(&log).map_or(0, |log| log.low)
    }

    /// Committed records from an offset on, at most so many, with the position after them (which passes markers and
    /// aborted records). `Err` if the offset is gone.
    pub fn fetch(&self, log: LogName, from: i64, most: usize) -> Result<Fetched<'_>, Gone> {
        let Some(found) = self.logs.get(&log) else { return Ok((Vec::new(), from)) };
        if from < found.low {
            return Err(Gone);
        }
        let stable = self.end_of(log, false);
        let mut records = Vec::new();
        let mut position = from;
        while position < stable && records.len() < most {
            let entry = &found.entries[position as usize];
            if entry.payload.is_some() && self.fate(entry) == Fate::Committed {
                records.push((position, entry));
            }
            position += 1;
        }
        Ok((records, position))
    }

    /// Every record of a log with its fate, also aborted and open ones; for the checks after a run.
    pub fn all(&self, log: LogName) -> impl Iterator<Item = (i64, &Entry, Fate)> {
        let entries = self.logs.get(&log).map_or(&[][..], |log| log.entries.as_slice());
        let numbered = entries.iter().enumerate().filter(|(_, entry)| entry.payload.is_some());
        numbered.map(|(at, entry)| (at as i64, entry, self.fate(entry)))
    }

    /// Forgets the records of a log before an offset; for retention and for the service's own deletions.
    pub fn delete_before(&mut self, log: LogName, offset: i64) {
        let log = self.logs.entry(log).or_default();
        log.low = log.low.max(offset.min(log.end()));
    }
}
