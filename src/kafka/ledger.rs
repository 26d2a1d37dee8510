//! The ledger as a topic: one partition, append-only, one fenced writer, the same chained lines as the file.

use std::sync::Arc;

use jiff::Timestamp;

use super::{TransactionError, Transactions, send};
use crate::kafka;
use crate::ledger::{
    self, Book, Chain, ChainFault, Genesis, Outcome, Pending, Refusal, Request, Reservation,
    Settings, Step,
};
use crate::model::{Digest, Kind, Mac, WindowId};
use crate::secret::LedgerKey;

/// Why the ledger topic cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its records.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// The brokers fail.
    #[error("the ledger topic {topic}: {error}")]
    Kafka {
        /// Which topic.
        topic: String,
        /// What happened.
        error: kafka::Error,
    },
    /// Another worker books now.
    #[error("the ledger topic {topic}: {what}")]
    Fenced {
        /// Which topic.
        topic: String,
        /// What happened.
        what: String,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Ledger(error) => error.kind(),
            Self::Kafka { error, .. } => error.kind(),
            Self::Fenced { .. } => Kind::External,
        }
    }
}

/// A line that goes into the ledger with the transaction it belongs to.
pub struct Line(Pending);

impl Line {
    /// The record's payload.
    pub fn payload(&self) -> &[u8] {
        self.0.line.trim_end().as_bytes()
    }
}

/// The ledger topic as it was read, and the right to append to it.
pub struct TopicLedger {
    topic: String,
    chain: Chain,
    settings: Settings,
    writer: Option<Arc<Transactions>>,
}

impl TopicLedger {
    /// Reads the whole topic and checks every record. Without a writer it can only be looked at.
    pub fn read(
        kafka: &kafka::Settings,
        key: &LedgerKey,
        settings: Settings,
        writer: Option<Arc<Transactions>>,
    ) -> Result<Self, Error> {
        let topic = kafka.topics.ledger.clone();
        let mut chain = Chain::new(key.clone());
        let mut fault = None;
        let read =
            kafka::read_committed(kafka, &topic, "", kafka.connect_timeout, &mut |received| {
                if fault.is_none() {
                    fault = chain.read(&received.payload.unwrap_or_default()).err();
                }
            });
        read.map_err(|error| Error::Kafka { topic: topic.clone(), error })?;
        if let Some(fault) = fault {
            return Err(faulty(&topic, fault));
        }
        if let Some(found) = chain.book().feed()
            && found != settings.feed
        {
            let (found, expected) = (found.to_owned(), settings.feed);
            return Err(ledger::Error::OtherFeed { path: topic, found, expected }.into());
        }
        Ok(Self { topic, chain, settings, writer })
    }

    /// What was booked so far.
    pub fn book(&self) -> &Book {
        self.chain.book()
    }

    /// Whether the first `n` records end with this MAC: nothing that was there is missing.
    pub fn had(&self, n: u64, head: &Mac) -> bool {
        self.chain.had(n, head)
    }

    /// Opens an empty ledger: from now on every window from this one on is released.
    pub fn open(&mut self, first: WindowId, now: Timestamp) -> Result<(), Error> {
        let genesis = Genesis {
            feed: Some(self.settings.feed.clone()),
            first_window: Some(first.number()),
            ..Genesis::new(now)
        };
        let line = Line(self.chain.open(genesis));
        self.append(&line)?;
        self.written(line)
    }

    /// Why a request would be refused, without booking anything.
    pub fn refusal(&self, request: &Request) -> Option<Refusal> {
        self.chain.refusal(request, &self.settings)
    }

    /// The line that settles a reservation, to be sent with the release; `None` if it is settled already.
    pub fn settlement(
        &self,
        reservation: &Reservation,
        release: &Digest,
    ) -> Result<Option<Line>, Error> {
        let pending = self.chain.settlement(reservation, release);
        pending.map(|pending| pending.map(Line)).map_err(|fault| faulty(&self.topic, fault))
    }

    /// A line is committed now.
    pub fn written(&mut self, line: Line) -> Result<(), Error> {
        self.chain.written(line.0).map_err(|fault| faulty(&self.topic, fault))
    }

    /// How long the ledger and what its head are after a line, for the commit's metadata.
    pub fn after(&self, line: Option<&Line>) -> (u64, Mac) {
        match line {
            Some(line) => (line.0.sequence + 1, *line.0.mac()),
            None => (self.chain.book().n_records(), *self.chain.head()),
        }
    }

    fn append(&self, line: &Line) -> Result<(), Error> {
        let writer = self.writer.as_ref().expect("L-6: who books has fenced every other writer");
        let mut work = |producer: &_| send(producer, &self.topic, None, line.payload(), None);
        writer.run(&mut work, &mut || {}).map_err(|error| match error {
            TransactionError::Failed(error) => Error::Kafka { topic: self.topic.clone(), error },
            fenced => Error::Fenced { topic: self.topic.clone(), what: fenced.to_string() },
        })
    }

    /// Books a request durably, or refuses it.
    pub fn reserve(&mut self, request: &Request) -> Result<Outcome, Error> {
        match self.chain.request(request, &self.settings) {
            Step::Decided(outcome) => Ok(outcome),
            Step::Write(pending) => {
                let line = Line(pending);
                self.append(&line)?;
                self.chain.granted(line.0, request).map_err(|fault| faulty(&self.topic, fault))
            }
        }
    }
}

fn faulty(topic: &str, fault: ChainFault) -> Error {
    let path = topic.to_owned();
    match fault {
        ChainFault::OtherSecret => ledger::Error::OtherSecret { path }.into(),
        ChainFault::Broken { sequence, what } => {
            ledger::Error::Broken { path, sequence, what }.into()
        }
    }
}
