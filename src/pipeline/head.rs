//! How far the ledger had come, kept apart from it: beside the secret. An older copy of the ledger would forget
//! payments, and its own records cannot show that others followed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::Error;
use crate::ledger::Book;
use crate::publish::Standing;

/// The first word of the file, with its version.
const FORM: &str = "tapveil-head1";

/// A file with the number of records and the MAC of the last.
pub(super) struct KeptHead {
    path: PathBuf,
}

impl KeptHead {
    /// Beside this secret.
    pub(super) fn beside(secret: &Path) -> Self {
        let mut path = secret.as_os_str().to_owned();
        path.push(".head");
        Self { path: path.into() }
    }

    /// How far the ledger was. Asked before the ledger is read: it may grow meanwhile, and never shrinks.
    pub(super) fn remembered(&self) -> Result<Remembered, Error> {
        let witness = self.path.display().to_string();
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Remembered { last: None, witness });
            }
            Err(error) => return Err(self.failed("read", error)),
            Ok(text) => text,
        };
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [FORM, n_records, mac] = parts[..] else { return Err(self.garbled()) };
        let n_records: u64 = n_records.parse().map_err(|_| self.garbled())?;
        let last = n_records.checked_sub(1).ok_or_else(|| self.garbled())?;
        Ok(Remembered { last: Some((last, mac.to_owned())), witness })
    }

    /// Remembers how far the ledger is: written aside, forced to disk, renamed.
    pub(super) fn keep(&self, book: &Book) -> Result<(), Error> {
        let Some(last) = book.n_records().checked_sub(1) else { return Ok(()) };
        let mac = book.mac(last).expect("every record has a MAC");
        let partial = self.path.with_extension("head.partial");
        let written = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&partial)?;
            writeln!(file, "{FORM} {} {mac}", book.n_records())?;
            file.sync_all()?;
            fs::rename(&partial, &self.path)?;
            let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
            fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
        };
        written().map_err(|error| self.failed("write", error))
    }

    fn failed(&self, action: &'static str, error: io::Error) -> Error {
        Error::Head { action, path: self.path.display().to_string(), error }
    }

    fn garbled(&self) -> Error {
        Error::HeadGarbled { path: self.path.display().to_string() }
    }
}

/// What was remembered of a ledger.
pub(super) struct Remembered {
    /// The number and the MAC of its last record.
    last: Option<(u64, String)>,
    /// Who remembers.
    witness: String,
}

impl Remembered {
    /// Refuses a ledger that is older.
    pub(super) fn check(&self, book: &Book, ledger: &str) -> Result<(), Error> {
        let Some((last, mac)) = &self.last else { return Ok(()) };
        match book.mac(*last).is_some_and(|found| found.to_string() == *mac) {
            true => Ok(()),
            false => Err(Error::LedgerOlder {
                ledger: ledger.to_owned(),
                found: book.n_records(),
                expected: last + 1,
                witness: self.witness.clone(),
            }),
        }
    }
}

/// Refuses a ledger that does not have the record which paid for a release that is in place.
pub(super) fn check_standing(
    book: &Book,
    ledger: &str,
    releases: &[Standing],
) -> Result<(), Error> {
    let is_unbooked = |release: &&Standing| {
        let is_ours = release.feed_key == book.feed_key().to_string();
        is_ours && book.mac(release.record).is_none_or(|mac| mac.to_string() != release.mac)
    };
    match releases.iter().find(is_unbooked) {
        None => Ok(()),
        Some(release) => Err(Error::Unbooked {
            ledger: ledger.to_owned(),
            release: release.release_id.clone(),
            record: release.record,
        }),
    }
}
