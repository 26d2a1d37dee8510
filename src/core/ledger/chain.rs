//! The chain of records with its book: what both ledgers share. Pure; where lines are kept is not its business.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

use super::book::{self, Book, Verdict};
use super::record::{self, Fault, Genesis, Record};
use super::{Before, Outcome, Permit, Refusal, Request, Reservation, Settings};
use crate::model::{Digest, Mac};
use crate::secret::LedgerKey;

/// A record that is not what was written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChainFault {
    /// The first record does not fit the secret.
    #[error("the ledger was not made with this secret (secret.file); bring the right one back")]
    OtherSecret,
    /// A record is wrong.
    #[error(
        "the ledger is broken at record {sequence}: {what}. Nothing is released. Bring back a good copy; see `tapveil \
         ledger verify`"
    )]
    Broken { sequence: u64, what: String },
}

/// All records so far: what they say, and the MAC of the last.
pub(crate) struct Chain {
    key: LedgerKey,
    book: Book,
    head: Mac,
}

/// A line that is made but not yet durable. Applied once it is.
pub(crate) struct Pending {
    record: Record,
    mac: Mac,
    /// The text with its line feed.
    line: String,
    /// The number it will have.
    sequence: u64,
}

impl Pending {
    /// The record's bytes, without a line feed.
    pub(crate) fn payload(&self) -> &[u8] {
        self.line.trim_end().as_bytes()
    }
}

/// Reads a whole ledger without a right to book: what its records say.
pub fn read_book(key: &LedgerKey, lines: &[Vec<u8>]) -> Result<Book, ChainFault> {
    Ok(Chain::read_all(key.clone(), lines)?.book)
}

/// The opening record of a new ledger, without a line feed.
pub fn opening(key: &LedgerKey, genesis: Genesis) -> Vec<u8> {
    Chain::new(key.clone()).open(genesis).payload().to_vec()
}

/// What has to be written for a request, if anything.
pub(crate) enum Step {
    /// Nothing: it is decided.
    Decided(Outcome),
    /// This line; then [`Chain::granted`].
    Write(Pending),
}

impl Chain {
    /// A chain without records.
    pub(crate) fn new(key: LedgerKey) -> Self {
        let book = Book::new(key.feed_key().clone());
        Self { key, book, head: record::chain_start() }
    }

    /// All records so far, each without its line feed.
    pub(crate) fn read_all(key: LedgerKey, lines: &[Vec<u8>]) -> Result<Self, ChainFault> {
        let mut chain = Self::new(key);
        lines.iter().try_for_each(|line| chain.read(line))?;
        Ok(chain)
    }

    /// What the records say.
    pub(crate) fn book(&self) -> &Book {
        &self.book
    }

    /// How many records there are after a line, and the MAC of the last.
    pub(crate) fn after(&self, line: Option<&Pending>) -> (u64, Mac) {
        match line {
            Some(line) => (line.sequence.saturating_add(1), line.mac),
            None => (self.book.n_records(), self.head),
        }
    }

    /// Whether the first `n` records end with this MAC.
    pub(crate) fn had(&self, n: u64, head: &Mac) -> bool {
        n.checked_sub(1).and_then(|last| self.book.mac(last)) == Some(head)
    }

    /// Takes the next line (without its line feed).
    pub(crate) fn read(&mut self, line: &[u8]) -> Result<(), ChainFault> {
        let sequence = self.book.n_records();
        let broken = |what: String| ChainFault::Broken { sequence, what };
        let (record, mac) = Record::from_line(line, sequence, &self.head, &self.key).map_err(
            |fault| match fault {
                // Another record in the first place means that records before it are missing.
                Fault::WrongMac if sequence == 0 && line.starts_with(b"{\"sequence\":0,") => {
                    ChainFault::OtherSecret
                }
                fault => broken(fault.to_string()),
            },
        )?;
        self.book.append(&record, mac).map_err(broken)?;
        self.head = mac;
        Ok(())
    }

    /// The line for a record.
    pub(crate) fn next(&self, record: Record) -> Pending {
        let sequence = self.book.n_records();
        let (line, mac) = record.to_line(sequence, &self.head, &self.key);
        Pending { record, mac, line, sequence }
    }

    /// The opening line of a new ledger.
    pub(crate) fn open(&self, genesis: Genesis) -> Pending {
        let feed_key = (genesis.version > 1).then(|| self.key.feed_key().to_string());
        self.next(Record::Genesis(Genesis { feed_key, ..genesis }))
    }

    /// Takes a line that is durable now.
    pub(crate) fn written(&mut self, pending: Pending) -> Result<(), ChainFault> {
        let broken = |what: String| ChainFault::Broken { sequence: pending.sequence, what };
        self.book.append(&pending.record, pending.mac).map_err(broken)?;
        self.head = pending.mac;
        Ok(())
    }

    /// Why a request would be refused.
    pub(crate) fn refusal(&self, request: &Request, settings: &Settings) -> Option<Refusal> {
        match self.book.decide(request, settings) {
            Verdict::Refuse(refusal) => Some(refusal),
            Verdict::Known(..) | Verdict::Pay(..) => None,
        }
    }

    /// The number that a request's release has or would have among those of its window.
    pub(crate) fn revision(&self, request: &Request, settings: &Settings) -> u32 {
        match self.book.decide(request, settings) {
            Verdict::Known(reservation, _) => reservation.revision,
            Verdict::Pay(revision) => revision,
            Verdict::Refuse(_) => 0,
        }
    }

    /// Decides about a request; what is new must be written first.
    pub(crate) fn request(&self, request: &Request, settings: &Settings) -> Step {
        match self.book.decide(request, settings) {
            Verdict::Known(reservation, before) => {
                Step::Decided(Outcome::Granted { permit: Permit { reservation }, before })
            }
            Verdict::Refuse(refusal) => Step::Decided(Outcome::Refused(refusal)),
            Verdict::Pay(revision) => {
                Step::Write(self.next(book::reserved(&settings.feed, request, revision)))
            }
        }
    }

    /// The permit for what the Reserved line books, which is durable now (L-1).
    pub(crate) fn granted(&mut self, pending: Pending) -> Result<Outcome, ChainFault> {
        let sequence = pending.sequence;
        self.written(pending)?;
        let booked = self.book.entries().last().filter(|it| it.reservation.sequence == sequence);
        let Some(entry) = booked else {
            let what = "a permit was asked for what is no reservation".to_owned();
            return Err(ChainFault::Broken { sequence, what });
        };
        let permit = Permit { reservation: entry.reservation.clone() };
        Ok(Outcome::Granted { permit, before: Before::Nothing })
    }

    /// The line that settles a reservation; `None` if it is settled with this digest already.
    pub(crate) fn settlement(
        &self,
        reservation: &Reservation,
        release: &Digest,
    ) -> Result<Option<Pending>, ChainFault> {
        let broken = |what: &str| ChainFault::Broken {
            sequence: reservation.sequence,
            what: what.to_owned(),
        };
        let known = self.book.entries().iter().find(|entry| entry.reservation == *reservation);
        match known.map(|entry| entry.settled) {
            Some(None) => {
                let release = release.to_string();
                Ok(Some(self.next(Record::Settled { reserved: reservation.sequence, release })))
            }
            Some(Some(settled)) if settled == *release => Ok(None),
            Some(Some(_)) => Err(broken(
                "the same window, batch and configuration gave another release than the first time; \
                 the engine changed without a new revision",
            )),
            None => Err(broken("it was never reserved here")),
        }
    }
}

#[cfg(test)]
mod tests;
