//! The ledger as a topic: one partition, append-only, one fenced writer, the same chained lines as the file.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::shown::{Look, Unshown};
use super::transaction::{Checks, Membership, Transactions};
use super::{Error, Load, Settings, read_committed};
use crate::ledger::{self, Ledger};
use crate::protocol::{Ended, OutRecord, Topic, Transaction};

/// The ledger topic, for one release worker. Its transactions carry the positions of the worker's group.
pub struct TopicLedger {
    settings: Settings,
    group: Rc<dyn Membership>,
    writer: Option<Transactions>,
}

impl TopicLedger {
    /// Touches nothing yet.
    pub fn new(settings: &Settings, group: Rc<dyn Membership>) -> Self {
        Self { settings: settings.clone(), group, writer: None }
    }

    /// L-8: whether the ledger has so many records, read as whoever comes next would read it. A commit that its
    /// coordinator calls done, and that left the ledger out, is none.
    fn shows(&self, n_records: u64) -> bool {
        let began = Instant::now();
        loop {
            if read_lines(&self.settings).is_ok_and(|lines| lines.len() as u64 >= n_records) {
                return true;
            }
            if began.elapsed() > UNTIL_SHOWN {
                return false;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// K-7: what was committed can be read, or is written again: a booking by whoever comes next, a release by its
    /// recipients.
    fn make_readable(&self, writer: &Transactions, transaction: &Transaction) -> Result<(), Error> {
        let mut unshown = Unshown::default();
        unshown.add(again(transaction), writer.written());
        while writer.look(&mut unshown, &*self.group, UNTIL_SHOWN)? != Look::Shown {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn failed(&self, error: &Error) -> ledger::Error {
        let topic = self.settings.topics.ledger.clone();
        ledger::Error::Topic { topic, what: error.to_string(), kind: error.kind() }
    }
}

/// A reader that brings nothing for so long is replaced: what it waits for may have gone with a leader. It is longer
/// than the brokers take to end a dead worker's transaction, 15 s, where they look often enough.
const ONE_READ: Duration = Duration::from_secs(20);

/// A coordinator says that a transaction is committed before every partition knows it; they do after so long.
const UNTIL_SHOWN: Duration = Duration::from_secs(10);

/// The header of a record that says nothing: with it appear the records of its release, which must not come twice.
pub const AGAIN: &str = "again";

/// What makes a transaction's records appear that brokers forgot: its bookings, which count once however often they
/// stand there, and beside its release a record that says nothing.
fn again(transaction: &Transaction) -> Vec<OutRecord> {
    let of = |topic| transaction.records.iter().filter(move |record| record.topic == topic);
    let beside = of(Topic::Releases).take(1).map(|record| OutRecord {
        topic: Topic::Releases,
        key: record.key.clone(),
        header: Some(AGAIN),
        payload: b"{}".to_vec(),
    });
    of(Topic::Ledger).cloned().chain(beside).collect()
}

/// How many records the ledger has after a transaction that appends to it.
fn length_after(transaction: &Transaction) -> Option<u64> {
    let n_new = transaction.records.iter().filter(|record| record.topic == Topic::Ledger).count();
    transaction.ledger_length.map(|before| before.saturating_add(n_new as u64))
}

/// Every committed record of the ledger topic. One that stands there again, to the letter, is the same record: it was
/// written twice because nobody could read it at first (K-7).
pub fn read_lines(settings: &Settings) -> Result<Vec<Vec<u8>>, Error> {
    let began = Instant::now();
    let within = ONE_READ.min(settings.connect_timeout);
    loop {
        let (mut lines, mut known) = (Vec::new(), HashSet::new());
        let read = read_committed(settings, &settings.topics.ledger, "", within, &mut |received| {
            let line = received.payload.unwrap_or_default();
            if known.insert(line.clone()) {
                lines.push(line);
            }
        });
        match read {
            Err(Error::TooLate(_)) if began.elapsed() < settings.connect_timeout => {}
            done => return done.map(|()| lines),
        }
    }
}

impl Ledger for TopicLedger {
    /// Opens the writer of the topic's name alone: every other one is fenced, whatever its group.
    fn fence(&mut self) -> Result<(), ledger::Error> {
        let id = format!("{}.writer", self.settings.topics.ledger);
        // The old one goes first: it could otherwise fence the new one from its background.
        self.writer = None;
        let writes = &[Topic::Ledger, Topic::Releases];
        let opened = Transactions::open(&self.settings, &id, Load::Text, "release", writes);
        let opened = opened.and_then(|writer| writer.fence(&*self.group).map(|()| writer));
        self.writer = Some(opened.map_err(|error| self.failed(&error))?);
        Ok(())
    }

    fn read(&mut self) -> Result<Vec<Vec<u8>>, ledger::Error> {
        read_lines(&self.settings).map_err(|error| self.failed(&error))
    }

    fn commit(&mut self, transaction: &Transaction) -> Result<Ended, ledger::Error> {
        let writer = self.writer.as_ref().expect("L-6: who books has fenced every other writer");
        let length = || read_lines(&self.settings).map(|lines| lines.len() as u64);
        let checks = Checks { ledger_length: &length, stamped_from: None };
        let ended = writer.execute(transaction, &*self.group, &checks);
        let ended = ended.map_err(|error| self.failed(&error))?;
        // The transactions of the brokers inside this process are not real.
        if ended != Ended::Committed || self.settings.is_in_process {
            return Ok(ended);
        }
        self.make_readable(writer, transaction).map_err(|error| self.failed(&error))?;
        match length_after(transaction) {
            Some(after) if !self.shows(after) => {
                let what = "the ledger does not show a record that was committed".to_owned();
                Ok(Ended::Unknown(what))
            }
            _ => Ok(ended),
        }
    }
}
