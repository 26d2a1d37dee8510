//! The ledger as a topic: one partition, append-only, one fenced writer, the same chained lines as the file.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::transaction::{Checks, Membership, Transactions};
use super::{Error, Load, Settings, read_committed};
use crate::ledger::{self, Ledger};
use crate::protocol::{Ended, Topic, Transaction};

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

/// How many records the ledger has after a transaction that appends to it.
fn length_after(transaction: &Transaction) -> Option<u64> {
    let n_new = transaction.records.iter().filter(|record| record.topic == Topic::Ledger).count();
    transaction.ledger_length.map(|before| before.saturating_add(n_new as u64))
}

/// Every committed record of the ledger topic.
pub fn read_lines(settings: &Settings) -> Result<Vec<Vec<u8>>, Error> {
    let began = Instant::now();
    let within = ONE_READ.min(settings.connect_timeout);
    loop {
        let mut lines = Vec::new();
        let read = read_committed(settings, &settings.topics.ledger, "", within, &mut |received| {
            lines.push(received.payload.unwrap_or_default());
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
        Ok(match (&ended, length_after(transaction)) {
            // The transactions of the brokers inside this process are not real.
            (Ended::Committed, Some(after))
                if !self.settings.is_in_process && !self.shows(after) =>
            {
                Ended::Unknown("the ledger does not show a record that was committed".to_owned())
            }
            _ => ended,
        })
    }
}
