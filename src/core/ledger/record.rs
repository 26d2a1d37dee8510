//! One record of the ledger as a line of text, chained by a MAC to the one before.
//!
//! A line is a JSON object whose last member is `mac`; the MAC covers the bytes before that member and the
//! MAC of the line before. So a record cannot be changed, dropped from the middle, added or reordered
//! without the secret.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

use serde::{Deserialize, Serialize};

use crate::model::{Digest, Mac};
use crate::secret::LedgerKey;

/// What the chain begins with, before any record.
pub(super) fn chain_start() -> Mac {
    Mac::from_bytes([0; 32])
}

/// The first record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Genesis {
    /// The form of the records below.
    pub version: u32,
    /// When the ledger was made, RFC 3339.
    pub made: String,
    /// The feed, where it is known from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<String>,
    /// The first window that exists, for a live feed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_window: Option<i64>,
    /// The key of the feed, which its secret names too; the chain fills it in. Absent in version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed_key: Option<String>,
}

impl Genesis {
    /// The version that this program writes.
    pub const VERSION: u32 = 2;
    /// The versions that it reads. Version 1 had reservations and settlements of first releases alone.
    pub const KNOWN: std::ops::RangeInclusive<u32> = 1..=2;

    /// Opens a ledger that learns its feed with its first reservation.
    pub fn new(now: jiff::Timestamp) -> Self {
        Self {
            version: Self::VERSION,
            made: now.to_string(),
            feed: None,
            first_window: None,
            feed_key: None,
        }
    }
}

/// One record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "lowercase", deny_unknown_fields)]
pub enum Record {
    /// Opens the ledger; its MAC shows whether the secret is the right one.
    Genesis(Genesis),
    /// A price is booked. Durable before noise is drawn.
    Reserved {
        feed: String,
        /// The window's number.
        window: i64,
        /// Its first instant.
        start: String,
        /// The instant after its last.
        end: String,
        /// MAC of the canonical batch.
        batch: String,
        /// Digest of the configuration.
        configuration: String,
        epsilon_micro: u64,
        /// False for a release by suppression, which promises no differential privacy. Absent in records of
        /// earlier versions, which knew no other kind than the differentially private one.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        differential: bool,
        /// 0 for a window's first release; revisions count from 1.
        #[serde(default, skip_serializing_if = "is_first")]
        revision: u32,
        /// The epoch of the secret whose keys hid it; 0 until the first rotation.
        #[serde(default, skip_serializing_if = "is_first")]
        epoch: u32,
        /// The zone that the window was counted in. Absent before version 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        zone: Option<String>,
        /// Why there is a revision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The release of a reservation is in place.
    Settled {
        /// The sequence number of the Reserved record.
        reserved: u64,
        /// Digest of the release's rows.
        release: String,
    },
    /// The privacy officer signs a statement: from now on nothing is released under another one.
    Approved {
        /// Digest of the statement.
        statement: String,
        /// Who signs.
        by: String,
        /// When, RFC 3339.
        at: String,
    },
    /// Nothing leaves from now on.
    Stopped { why: String, by: String, at: String },
    /// Releases go on.
    Resumed { why: String, by: String, at: String },
    /// The keys of the secret were replaced; those of the epoch before are destroyed.
    Rotated { epoch: u32, at: String },
}

fn is_first(revision: &u32) -> bool {
    *revision == 0
}

fn yes() -> bool {
    true
}

fn is_yes(flag: &bool) -> bool {
    *flag
}

impl Record {
    /// The line for this record, with its MAC and a line feed, and the MAC itself.
    pub(super) fn to_line(&self, sequence: u64, previous: &Mac, key: &LedgerKey) -> (String, Mac) {
        let body = serde_json::to_string(self).expect("plain strings and numbers always serialize");
        let inside = body.strip_prefix('{').and_then(|body| body.strip_suffix('}'));
        let inside = inside.expect("a record is an object");
        let open = format!("{{\"sequence\":{sequence},{inside}");
        let mac = key.chain(previous, open.as_bytes());
        (format!("{open},\"mac\":\"{mac}\"}}\n"), mac)
    }

    /// Reads a line (without its line feed) back, if it is what this key wrote at this place.
    pub(super) fn from_line(
        line: &[u8],
        sequence: u64,
        previous: &Mac,
        key: &LedgerKey,
    ) -> Result<(Self, Mac), Fault> {
        const MAC_MEMBER: usize = ",\"mac\":\"".len() + 64 + "\"}".len();
        let text = std::str::from_utf8(line).map_err(|_| Fault::NotARecord)?;
        let cut = text.len().checked_sub(MAC_MEMBER).ok_or(Fault::NotARecord)?;
        let (open, member) = text.split_at_checked(cut).ok_or(Fault::NotARecord)?;
        let mac = member
            .strip_prefix(",\"mac\":\"")
            .and_then(|rest| rest.strip_suffix("\"}"))
            .and_then(Mac::from_hex)
            .ok_or(Fault::NotARecord)?;
        if key.chain(previous, open.as_bytes()) != mac {
            return Err(Fault::WrongMac);
        }
        let rest = open
            .strip_prefix(&format!("{{\"sequence\":{sequence},"))
            .ok_or(Fault::WrongSequence)?;
        let record =
            serde_json::from_str(&format!("{{{rest}}}")).map_err(|_| Fault::UnknownRecord)?;
        Ok((record, mac))
    }
}

/// What is wrong with a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("it is not a ledger record")]
    NotARecord,
    #[error("its MAC does not fit: it was changed, or records before it are missing")]
    WrongMac,
    #[error("its sequence number is not the next one")]
    WrongSequence,
    #[error(
        "it is authentic but unknown to this version of tapveil; use the version that wrote it"
    )]
    UnknownRecord,
}

/// A digest read from an authentic record.
pub(super) fn digest(text: &str) -> Result<Digest, String> {
    Digest::from_hex(text).ok_or_else(|| "a digest is not 64 hexadecimal digits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    fn key() -> LedgerKey {
        Secret::from_bytes(&[3; 32]).unwrap().ledger_key()
    }

    fn settled() -> Record {
        Record::Settled { reserved: 1, release: Digest::of(b"r").to_string() }
    }

    #[test]
    fn a_record_reads_back_at_its_own_place_only() {
        let (line, mac) = settled().to_line(2, &chain_start(), &key());
        let line = line.trim_end().as_bytes();
        let (back, same) = Record::from_line(line, 2, &chain_start(), &key()).unwrap();
        assert_eq!((back, same), (settled(), mac));
        let elsewhere = Record::from_line(line, 3, &chain_start(), &key());
        assert_eq!(elsewhere, Err(Fault::WrongSequence));
        assert_eq!(Record::from_line(line, 2, &mac, &key()), Err(Fault::WrongMac));
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let (line, _) = settled().to_line(2, &chain_start(), &key());
        let line = line.trim_end().as_bytes();
        for at in 0..line.len() {
            let mut changed = line.to_vec();
            changed[at] ^= 1;
            assert!(Record::from_line(&changed, 2, &chain_start(), &key()).is_err(), "byte {at}");
        }
        assert!(Record::from_line(b"", 2, &chain_start(), &key()).is_err());
        assert!(Record::from_line("ü".repeat(60).as_bytes(), 2, &chain_start(), &key()).is_err());
    }
}
