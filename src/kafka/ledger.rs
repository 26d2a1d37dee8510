//! The ledger as a topic: one partition, append-only, one fenced writer, the same chained lines as the file.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::transaction::{Checks, Membership, Transactions};
use super::{Error, Load, Settings, read_committed};
use crate::ledger::{self, Ledger};
use crate::protocol::{Ended, Transaction};

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

    fn failed(&self, error: &Error) -> ledger::Error {
        let topic = self.settings.topics.ledger.clone();
        ledger::Error::Topic { topic, what: error.to_string(), kind: error.kind() }
    }
}

/// A reader that brings nothing for so long is replaced: what it waits for may have gone with a leader. It is longer
/// than the brokers take to end a dead worker's transaction, 15 s, where they look often enough.
const ONE_READ: Duration = Duration::from_secs(20);

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
        let opened = Transactions::open(&self.settings, &id, Load::Text, "release");
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
        writer.execute(transaction, &*self.group, &checks).map_err(|error| self.failed(&error))
    }
}
