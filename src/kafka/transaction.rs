//! Transactions: everything in one appears together, or never. Executes the calls that the protocol lists, in their
//! order.
//!
//! Every transaction has a producer epoch of its own (decision 0007): whatever the network still carries of an
//! earlier one, the brokers refuse. librdkafka initialises a producer once, so a new epoch is a new producer; it is
//! opened in the background right after the transaction before has ended, and used only for the next one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka::consumer::ConsumerGroupMetadata;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Offset, TopicPartitionList};

use super::crash::crash_point;
use super::epoch::{Epoch, Stopped};
use super::shown::End;
use super::{Error, Load, Settings, Watcher};
use crate::protocol::{Call, Ended, OutRecord, Position, Topic, Transaction};

/// How long transactions may fail, one after the other, before the brokers count as gone.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long positions and the flush before them may take.
pub(super) const ANSWER: Duration = Duration::from_secs(20);

/// The header that says what a record of a release is.
pub const HEADER: &str = "tapveil-kind";

/// What a transaction must know of the worker's group, at the moment it asks.
pub trait Membership {
    /// The topic whose positions are committed.
    fn topic(&self) -> &str;

    /// The group's metadata as it is now.
    fn metadata(&self) -> Option<ConsumerGroupMetadata>;

    /// Whether all these partitions are this worker's.
    fn owns(&self, positions: &[Position]) -> bool;

    /// Whether readers of committed records get as far as this one. Nobody may know it now.
    fn can_read(&self, end: &End) -> bool;
}

/// What else must hold before a transaction is committed.
pub struct Checks<'a> {
    /// How many committed records the ledger has now.
    pub ledger_length: &'a dyn Fn() -> Result<u64, Error>,
    /// Brokers that stamp its records before this moment, in milliseconds by their own clocks, show that the worker's
    /// clock is wrong: nothing of it may appear.
    pub stamped_from: Option<i64>,
}

/// The right to use a transactional id; whoever had it before is fenced.
pub struct Transactions {
    settings: Settings,
    id: String,
    load: Load,
    /// Its name in crash points.
    role: &'static str,
    /// The topics it writes.
    writes: &'static [Topic],
    /// A record that says nothing, of a topic whose records may appear although their transaction was given up.
    says_nothing: Option<OutRecord>,
    /// Whether nothing of this name can be undecided.
    is_swept: AtomicBool,
    next: Mutex<Next>,
    /// How long a transaction may take before it is given up for a smaller one.
    most: Option<Duration>,
    /// False once nobody wants a new epoch any more: one that came later would fence the successor.
    is_wanted: Arc<AtomicBool>,
    failing_since: Mutex<Option<Instant>>,
    /// When a broker took the last record, by its own clock, in milliseconds.
    stamped: Mutex<Option<i64>>,
    /// Where the records of the last transaction ended.
    written: Mutex<Vec<End>>,
}

/// The producer of the next transaction.
enum Next {
    Ready(Epoch),
    Opening(JoinHandle<Result<Epoch, Error>>),
    None,
}

impl Transactions {
    /// Opens a producer; earlier ones with this id are fenced and their open transactions aborted.
    pub fn open(
        settings: &Settings,
        id: &str,
        load: Load,
        role: &'static str,
        writes: &'static [Topic],
    ) -> Result<Self, Error> {
        let first = Epoch::open(settings, id, load, &AtomicBool::new(true))?;
        Ok(Self {
            settings: settings.clone(),
            id: id.to_owned(),
            load,
            role,
            writes,
            says_nothing: None,
            is_swept: AtomicBool::new(false),
            most: None,
            next: Mutex::new(Next::Ready(first)),
            is_wanted: Arc::new(AtomicBool::new(true)),
            failing_since: Mutex::new(None),
            stamped: Mutex::new(None),
            written: Mutex::new(Vec::new()),
        })
    }

    /// The same, for a role of which one topic may have records twice, and must have all: what is undecided there
    /// appears (K-7). `says_nothing` is a record of that topic that changes nothing.
    #[must_use]
    pub fn leftovers_appear(mut self, says_nothing: OutRecord) -> Self {
        self.says_nothing = Some(says_nothing);
        self
    }

    /// The same, for a role that can make its transactions smaller: none lasts longer than half of what the brokers
    /// allow, so that none is ended by them.
    #[must_use]
    pub fn below_half_the_timeout(mut self) -> Self {
        self.most = Some(super::client::TRANSACTION_TIMEOUT / 2);
        self
    }

    /// Executes a transaction.
    pub fn execute(
        &self,
        transaction: &Transaction,
        group: &dyn Membership,
        checks: &Checks<'_>,
    ) -> Result<Ended, Error> {
        // What an earlier transaction was stamped with says nothing about this one.
        *self.stamped.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let calls: Vec<Call<'_>> = transaction.calls().collect();
        let n_before = calls.iter().take_while(|call| **call != Call::NewEpoch).count();
        // What comes before the epoch needs no producer.
        let (before, after) = calls.split_at(n_before);
        let is_lost = |call: &Call<'_>| matches!(call, Call::CheckOwnership(at) if !group.owns(at));
        if before.iter().any(is_lost) {
            return Ok(Ended::Lost);
        }
        if let Some(ended) = self.sweep(group).transpose() {
            return self.is_patient(ended);
        }
        let epoch = self.new_epoch()?;
        let surroundings = Surroundings { transactions: self, group, checks };
        let ended = epoch.spend(&mut |producer| surroundings.make_calls(after, producer, &epoch));
        *self.stamped.lock().unwrap_or_else(PoisonError::into_inner) = epoch.stamped_millis();
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = epoch.delivered();
        if !matches!(ended, Ok(Ended::Committed)) {
            self.set_swept(false);
        }
        // Only an end that shows that the name is still ours is followed by a new epoch at once: whoever was replaced
        // would fence the successor.
        if matches!(ended, Ok(Ended::Committed | Ended::TooLong) | Err(_)) {
            self.prepare(epoch);
        }
        self.is_patient(ended)
    }

    /// When a broker took a record of the last transaction, by its own clock, in milliseconds; `None` where topics are
    /// stamped by producers.
    pub fn stamped_millis(&self) -> Option<i64> {
        *self.stamped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the records of the last transaction ended.
    pub fn written(&self) -> Vec<End> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn says_nothing(&self) -> Option<&OutRecord> {
        self.says_nothing.as_ref()
    }

    pub(super) fn is_swept(&self) -> bool {
        self.is_swept.load(Ordering::Acquire)
    }

    pub(super) fn set_swept(&self, is_swept: bool) {
        self.is_swept.store(is_swept, Ordering::Release);
    }

    pub(super) fn is_in_process(&self) -> bool {
        self.settings.is_in_process
    }

    pub(super) fn writes(&self) -> &'static [Topic] {
        self.writes
    }

    pub(super) fn new_epoch(&self) -> Result<Epoch, Error> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *next, Next::None) {
            Next::Ready(epoch) => Ok(epoch),
            Next::Opening(opening) => {
                let opened = opening.join().expect("R-7: a thread that panics stops the service");
                // Without one then, ask again now.
                opened.or_else(|_| self.opened())
            }
            Next::None => self.opened(),
        }
    }

    fn opened(&self) -> Result<Epoch, Error> {
        Epoch::open(&self.settings, &self.id, self.load, &self.is_wanted)
    }

    /// Makes sure that nothing of this name is undecided, and that the next transaction has an epoch that nothing was
    /// sent in yet.
    pub fn fence(&self, group: &dyn Membership) -> Result<(), Error> {
        // What brokers do not let us sweep now is swept before the next transaction.
        self.sweep(group).ok();
        let epoch = self.new_epoch()?;
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Next::Ready(epoch);
        Ok(())
    }

    /// Opens the next producer in the background; the old one ends there, too.
    pub(super) fn prepare(&self, spent: Epoch) {
        let (settings, id, load) = (self.settings.clone(), self.id.clone(), self.load);
        let is_wanted = self.is_wanted.clone();
        let opening = std::thread::spawn(move || {
            let opened = Epoch::open(&settings, &id, load, &is_wanted);
            drop(spent);
            opened
        });
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Next::Opening(opening);
    }

    /// The same transaction is tried again for a while; brokers that refuse everything for longer are gone.
    fn is_patient(&self, ended: Result<Ended, Error>) -> Result<Ended, Error> {
        let mut failing = self.failing_since.lock().unwrap_or_else(PoisonError::into_inner);
        match ended {
            Err(error) => {
                let since = *failing.get_or_insert_with(Instant::now);
                match since.elapsed() < PATIENCE {
                    true => Ok(Ended::Aborted),
                    false => Err(error),
                }
            }
            Ok(ended) => {
                *failing = None;
                Ok(ended)
            }
        }
    }

    pub(super) fn topic(&self, topic: Topic) -> &str {
        let topics = &self.settings.topics;
        match topic {
            Topic::Segments => &topics.segments,
            Topic::Rejects => &topics.rejects,
            Topic::Ledger => &topics.ledger,
            Topic::Releases => &topics.releases,
        }
    }
}

impl Drop for Transactions {
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::Release);
        let next = std::mem::replace(
            self.next.get_mut().unwrap_or_else(PoisonError::into_inner),
            Next::None,
        );
        if let Next::Opening(opening) = next {
            // Whatever it opened ends here; an error is nobody's any more.
            opening.join().ok();
        }
    }
}

/// What the calls of one transaction act on.
struct Surroundings<'a> {
    transactions: &'a Transactions,
    group: &'a dyn Membership,
    checks: &'a Checks<'a>,
}

impl Surroundings<'_> {
    /// Everything up to the commit.
    fn make_calls(
        &self,
        calls: &[Call<'_>],
        producer: &BaseProducer<Watcher>,
        epoch: &Epoch,
    ) -> Result<(), Stopped> {
        let role = self.transactions.role;
        let began = Instant::now();
        let is_too_long = || self.transactions.most.is_some_and(|most| began.elapsed() > most);
        let mut membership = None;
        for call in calls {
            match *call {
                Call::NewEpoch | Call::Commit => {}
                Call::Begin => producer.begin_transaction()?,
                Call::CheckLedger(expected) => {
                    // If nobody can tell, it is not ours: starting over reads the ledger again, and says what is wrong.
                    if (self.checks.ledger_length)().ok() != Some(expected) {
                        return Err(Stopped::Lost);
                    }
                }
                Call::Send(record) => {
                    send(producer, self.transactions.topic(record.topic), record, &is_too_long)?;
                    crash_point(role, name_of(record.topic));
                }
                Call::FreshMembership => {
                    // What cannot be written is known before the positions are sent.
                    let answer = self.transactions.most.unwrap_or(ANSWER);
                    let flushed = producer.flush(answer);
                    if is_too_long() {
                        return Err(Stopped::TooLong);
                    }
                    flushed?;
                    let stamped = epoch.stamped_millis().zip(self.checks.stamped_from);
                    if stamped.is_some_and(|(stamped, from)| stamped < from) {
                        return Err(Stopped::Lost);
                    }
                    membership = Some(self.group.metadata().ok_or(Stopped::Lost)?);
                }
                Call::CheckOwnership(positions) => {
                    if !self.group.owns(positions) {
                        return Err(Stopped::Lost);
                    }
                }
                Call::SendPositions(positions) => {
                    let metadata = membership.as_ref().ok_or(Stopped::Lost)?;
                    producer.send_offsets_to_transaction(
                        &self.list(positions)?,
                        metadata,
                        ANSWER,
                    )?;
                    crash_point(role, "offsets");
                }
            }
        }
        Ok(())
    }

    fn list(&self, positions: &[Position]) -> Result<TopicPartitionList, KafkaError> {
        let mut list = TopicPartitionList::new();
        for position in positions {
            let mut one = list.add_partition(self.group.topic(), position.partition);
            one.set_offset(Offset::Offset(position.offset))?;
            one.set_metadata(&position.metadata);
        }
        Ok(list)
    }
}

fn name_of(topic: Topic) -> &'static str {
    match topic {
        Topic::Segments => "segments",
        Topic::Rejects => "rejects",
        Topic::Ledger => "ledger",
        Topic::Releases => "releases",
    }
}

/// Sends a record inside a transaction, waiting while the queue is full.
fn send(
    producer: &BaseProducer<Watcher>,
    topic: &str,
    out: &OutRecord,
    is_too_long: &dyn Fn() -> bool,
) -> Result<(), Stopped> {
    let mut record: BaseRecord<'_, [u8], [u8], ()> = BaseRecord::to(topic).payload(&out.payload);
    if let Some(key) = &out.key {
        record = record.key(key);
    }
    if let Some(value) = out.header {
        let header = rdkafka::message::Header { key: HEADER, value: Some(value) };
        record = record.headers(rdkafka::message::OwnedHeaders::new().insert(header));
    }
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _))
                if is_too_long() =>
            {
                return Err(Stopped::TooLong);
            }
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                record = back;
                std::thread::sleep(Duration::from_millis(5));
            }
            Err((error, _)) => return Err(error.into()),
        }
    }
}
