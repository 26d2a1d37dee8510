//! Bytes become taps or counted rejects.
//!
//! In → out: one record (a message, or a line of a file) → [`Tap`](crate::passenger::Tap) or
//!   [`Reject`](crate::model::Reject).
//! Promises: I-1 a card id is hashed under its window's key at once and goes no further; I-2 a bad record
//!   never stops the work; I-3 every reject has a reason from a closed list.
//! Refuses: a file whose header lacks the configured columns.
//! Why: a bad tap is data, not an error.

mod columns;
mod container;
mod decode;
mod file;
pub mod format;
mod input;
mod layout;
mod payment;
mod survey;
mod time;

pub use decode::{Decoded, Decoder, Settings};
pub use file::{Harvest, read_file};
pub use format::Outage;
pub use input::Taps;
pub use layout::TimeLayout;
pub use survey::{Example, Sampled, SampledTap, Survey, sample, survey};

use self::format::MissingColumns;
use crate::model::ErrorKind;

/// Longest record that can be a tap. Longer ones are counted, not held.
pub const RECORD_BYTES_MAX: usize = 64 * 1024;

/// Why a file cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not there, or not ours to read.
    #[error("cannot open {path}: {error}")]
    Open {
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// Failed half way.
    #[error("reading {path} failed: {error}")]
    Read {
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// It ends too early, or is not what it says it is.
    #[error(
        "{path} is damaged: as {packing} it cannot be read to its end ({error}); copy it again from where it came. \
         Nothing of it was used"
    )]
    Damaged {
        path: String,
        /// What it says it is.
        packing: &'static str,
        /// What the reader said.
        error: std::io::Error,
    },
    /// Something outside that decoding needs does not answer.
    #[error(transparent)]
    Outage(#[from] Outage),
    /// The header does not have what the configuration names.
    #[error("{path}, line 1: {columns}")]
    Header {
        path: String,
        /// What is wanted and what is not there. Never what is there: it could be a card.
        columns: MissingColumns,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Open { .. } | Self::Header { .. } => ErrorKind::Config,
            Self::Damaged { .. } => ErrorKind::Input,
            Self::Read { .. } | Self::Outage(_) => ErrorKind::External,
        }
    }
}

#[cfg(test)]
mod tests;
