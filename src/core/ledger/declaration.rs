//! What people say about a feed: records that bind every later release.

use jiff::Timestamp;

use super::chain::{Chain, ChainFault};
use super::record::Record;
use crate::model::Digest;
use crate::secret::LedgerKey;

/// What somebody declares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Declaration {
    /// The privacy officer signs the statement with this digest: nothing is released under another one.
    Approve { statement: Digest, by: String },
    /// Nothing leaves from now on.
    Stop { why: String, by: String },
    /// Releases go on.
    Resume { why: String, by: String },
    /// The keys of the secret were replaced.
    Rotate { epoch: u32 },
}

/// The line that a declaration adds to a ledger with these lines, without a line feed.
pub fn declared(
    key: &LedgerKey,
    lines: &[Vec<u8>],
    declaration: &Declaration,
    now: Timestamp,
) -> Result<Vec<u8>, ChainFault> {
    let at = now.to_string();
    let record = match declaration.clone() {
        Declaration::Approve { statement, by } => {
            Record::Approved { statement: statement.to_string(), by, at }
        }
        Declaration::Stop { why, by } => Record::Stopped { why, by, at },
        Declaration::Resume { why, by } => Record::Resumed { why, by, at },
        Declaration::Rotate { epoch } => Record::Rotated { epoch, at },
    };
    Ok(Chain::read_all(key.clone(), lines)?.next(record).payload().to_vec())
}
