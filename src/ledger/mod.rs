//! Where the ledger's records are kept: a file here, a Kafka topic in `kafka`.
//!
//! In → out: a request → a durable record and a permit, or a refusal.
//! Promises: L-1 Reserved is durable before a permit exists; L-5 a broken chain stops everything.
//! Refuses: a ledger of another feed or another secret, and one whose records were changed.
//! Why: the arithmetic is `tapveil_core::ledger`; this room does its input and output.

mod journal;

pub use journal::{Journal, Tail};
pub use tapveil_core::ledger::*;

use crate::model::{Digest, Kind};

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
    Busy {
        /// Where it is.
        path: String,
    },
    /// The disk.
    #[error("the ledger {path}: {error}")]
    Io {
        /// Where it is.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// Made for another feed.
    #[error("the ledger {path} belongs to feed {found:?}, not to {expected:?} (feed.id)")]
    OtherFeed {
        /// Where it is.
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
    OtherSecret {
        /// Where it is.
        path: String,
    },
    /// A record is not what was written.
    #[error(
        "the ledger {path} is broken at record {sequence}: {what}. Nothing is released. Bring back a good \
         copy; see `tapveil ledger verify`"
    )]
    Broken {
        /// Where it is.
        path: String,
        /// Which record.
        sequence: u64,
        /// What is wrong.
        what: String,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Missing { .. } | Self::OtherFeed { .. } | Self::OtherSecret { .. } => {
                Kind::Config
            }
            Self::Busy { .. } | Self::Io { .. } => Kind::External,
            Self::Broken { .. } => Kind::Broken,
        }
    }
}

/// Where prices are booked: a file journal here, a Kafka topic beside it.
pub trait Ledger {
    /// Books a request durably, or refuses it.
    fn reserve(&mut self, request: &Request) -> Result<Outcome, Error>;

    /// Notes durably that the release is in place.
    fn settle(&mut self, reservation: &Reservation, release: &Digest) -> Result<(), Error>;
}
