//! Where the ledger's records are kept: a file here, a Kafka topic in `kafka`.
//!
//! In → out: records of a transaction → durable lines; lines → records.
//! Promises: L-1 what is said to be committed is durable; L-5 a broken chain stops everything.
//! Refuses: a ledger of another feed or another secret, and one whose records were changed.
//! Why: the arithmetic is `tapveil_core::ledger`; this room does its input and output.

mod journal;

pub use journal::{Journal, Tail};
pub use tapveil_core::ledger::*;

use crate::model::ErrorKind;
use crate::protocol::{Ended, Transaction};

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No file.
    #[error(
        "the ledger {path} does not exist; a new one would forget what was spent. For a new feed make one \
         with `tapveil init DIR`, otherwise bring the old one back"
    )]
    Missing {
        /// Where it should be.
        path: String,
    },
    /// Somebody else has it open.
    #[error("the ledger {path} is in use by another tapveil; wait until it has finished")]
    Busy { path: String },
    #[error("the ledger {path}: {error}")]
    Io {
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// Made for another feed.
    #[error("the ledger {path} belongs to feed {found:?}, not to {expected:?} (feed.id)")]
    OtherFeed {
        path: String,
        /// The feed in its first record.
        found: String,
        /// The feed of the configuration.
        expected: String,
    },
    /// Made with another secret.
    #[error(
        "the ledger {path} was not made with this secret (secret.file); bring the right one back"
    )]
    OtherSecret { path: String },
    /// The topic cannot be read or written.
    #[error("the ledger topic {topic}: {what}")]
    Topic {
        topic: String,
        /// What happened.
        what: String,
        /// Whose fault it is.
        kind: ErrorKind,
    },
    /// A record is not what was written.
    #[error(
        "the ledger {path} is broken at record {sequence}: {what}. Nothing is released. Bring back a good \
         copy; see `tapveil ledger verify`"
    )]
    Broken {
        path: String,
        /// Which record.
        sequence: u64,
        what: String,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Missing { .. } | Self::OtherFeed { .. } | Self::OtherSecret { .. } => {
                ErrorKind::Config
            }
            Self::Busy { .. } | Self::Io { .. } => ErrorKind::External,
            Self::Topic { kind, .. } => *kind,
            Self::Broken { .. } => ErrorKind::Broken,
        }
    }
}

impl Error {
    /// A fault in the records of this ledger.
    pub fn of_fault(path: &str, fault: ChainFault) -> Self {
        let path = path.to_owned();
        match fault {
            ChainFault::OtherSecret => Self::OtherSecret { path },
            ChainFault::Broken { sequence, what } => Self::Broken { path, sequence, what },
        }
    }
}

/// Where the ledger's records are kept: a file here, a Kafka topic in `kafka`. What they mean is the protocol's
/// business.
pub trait Ledger {
    /// Makes sure that nobody else can append.
    fn fence(&mut self) -> Result<(), Error>;

    /// Every record, without line feeds.
    fn read(&mut self) -> Result<Vec<Vec<u8>>, Error>;

    /// Makes a transaction's records and positions durable, all or none.
    fn commit(&mut self, transaction: &Transaction) -> Result<Ended, Error>;
}
