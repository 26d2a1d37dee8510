//! The ledger as an append-only file: one line a record, forced to disk before anything depends on it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::book::{self, Book, Verdict};
use super::record::{self, Fault, Genesis, Record};
use super::{Before, Error, Ledger, Outcome, Permit, Refusal, Request, Reservation, Settings};
use crate::model::{Digest, Mac};
use crate::secret::LedgerKey;

/// How the file ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    /// With a whole record.
    Whole,
    /// With so many bytes of a record that was being written when the machine stopped. Nothing was ever
    /// drawn for it: a permit exists only after its record is durable.
    Torn(u64),
}

/// A ledger file, opened for booking. Nobody else can open it meanwhile.
pub struct Journal {
    path: PathBuf,
    file: File,
    key: LedgerKey,
    settings: Settings,
    book: Book,
    head: Mac,
    tail: Tail,
}

impl Journal {
    /// Makes a new ledger with its opening record; never overwrites one.
    pub fn create(path: &Path, key: &LedgerKey, now: Timestamp) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let genesis = Record::Genesis(Genesis { version: 1, made: now.to_string() });
        let (line, _) = genesis.to_line(0, &record::chain_start(), key);
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }

    /// Reads a ledger without touching it.
    pub fn inspect(path: &Path, key: &LedgerKey) -> Result<(Book, Tail), Error> {
        let mut file = open(path, OpenOptions::new().read(true))?;
        let (book, _, tail, _) = read(path, &mut file, key)?;
        Ok((book, tail))
    }

    /// Opens a ledger for booking: locks it, checks every record, drops a torn last one.
    pub fn open(path: &Path, key: &LedgerKey, settings: Settings) -> Result<Self, Error> {
        let mut file = open(path, OpenOptions::new().read(true).write(true))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Busy { path: path.display().to_string() });
            }
            Err(TryLockError::Error(error)) => return Err(failed(path, error)),
        }
        let (book, head, tail, whole_bytes) = read(path, &mut file, key)?;
        if let Some(found) = book.feed()
            && found != settings.feed
        {
            return Err(Error::OtherFeed {
                path: path.display().to_string(),
                found: found.to_owned(),
                expected: settings.feed,
            });
        }
        if tail != Tail::Whole {
            file.set_len(whole_bytes)
                .and_then(|()| file.sync_all())
                .map_err(|error| failed(path, error))?;
        }
        file.seek(SeekFrom::End(0)).map_err(|error| failed(path, error))?;
        let (path, key) = (path.to_owned(), key.clone());
        Ok(Self { path, file, key, settings, book, head, tail })
    }

    /// What was booked so far.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Why a request would be refused, without booking anything.
    pub fn refusal(&self, request: &Request) -> Option<Refusal> {
        match self.book.decide(request, &self.settings) {
            Verdict::Refuse(refusal) => Some(refusal),
            Verdict::Known(..) | Verdict::Pay => None,
        }
    }

    /// How the file ended when it was opened.
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// Appends a record and forces it to disk. On a failed write the file is cut back to what it was, so
    /// that a full disk leaves no half record; if even that fails the next opening finds it torn.
    fn append(&mut self, record: &Record) -> Result<u64, Error> {
        let sequence = self.book.n_records();
        let (line, mac) = record.to_line(sequence, &self.head, &self.key);
        let before = self.file.stream_position().map_err(|error| failed(&self.path, error))?;
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // If the cut fails too, the next opening finds a torn record and drops it.
            self.file.set_len(before).and_then(|()| self.file.seek(SeekFrom::Start(before))).ok();
            return Err(failed(&self.path, error));
        }
        self.book.apply(record).map_err(|what| self.broken(sequence, what))?;
        self.head = mac;
        Ok(sequence)
    }

    fn broken(&self, sequence: u64, what: String) -> Error {
        Error::Broken { path: self.path.display().to_string(), sequence, what }
    }
}

impl Ledger for Journal {
    fn reserve(&mut self, request: &Request) -> Result<Outcome, Error> {
        Ok(match self.book.decide(request, &self.settings) {
            Verdict::Known(reservation, before) => {
                Outcome::Granted { permit: Permit { reservation }, before }
            }
            Verdict::Refuse(refusal) => Outcome::Refused(refusal),
            Verdict::Pay => {
                let sequence = self.append(&book::reserved(&self.settings.feed, request))?;
                let permit = Permit { reservation: Reservation::of(sequence, request) };
                Outcome::Granted { permit, before: Before::Nothing }
            }
        })
    }

    fn settle(&mut self, reservation: &Reservation, release: &Digest) -> Result<(), Error> {
        let known = self.book.entries().iter().find(|entry| entry.reservation == *reservation);
        match known.map(|entry| entry.settled) {
            Some(None) => {
                let release = release.to_string();
                self.append(&Record::Settled { reserved: reservation.sequence, release })?;
                Ok(())
            }
            Some(Some(settled)) if settled == *release => Ok(()),
            Some(Some(_)) => Err(self.broken(
                reservation.sequence,
                "the same window, batch and configuration gave another release than the first time; \
                 the engine changed without a new revision"
                    .to_owned(),
            )),
            None => Err(self.broken(reservation.sequence, "it was never reserved here".to_owned())),
        }
    }
}

fn open(path: &Path, options: &OpenOptions) -> Result<File, Error> {
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Missing { path: path.display().to_string() },
        _ => failed(path, error),
    })
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::Io { path: path.display().to_string(), error }
}

/// Reads and checks the whole file: the book, the chain's head, how it ends, and the bytes of whole records.
fn read(path: &Path, file: &mut File, key: &LedgerKey) -> Result<(Book, Mac, Tail, u64), Error> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| failed(path, error))?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    let broken =
        |sequence, what: String| Error::Broken { path: path.display().to_string(), sequence, what };
    let mut book = Book::default();
    let mut head = record::chain_start();
    for line in bytes[..whole].split_inclusive(|&byte| byte == b'\n') {
        let sequence = book.n_records();
        let (record, mac) = match Record::from_line(&line[..line.len() - 1], sequence, &head, key) {
            Ok(read) => read,
            Err(Fault::WrongMac) if sequence == 0 => {
                return Err(Error::OtherSecret { path: path.display().to_string() });
            }
            Err(fault) => return Err(broken(sequence, fault.to_string())),
        };
        book.apply(&record).map_err(|what| broken(sequence, what))?;
        head = mac;
    }
    if book.n_records() == 0 {
        return Err(broken(0, "the opening record is missing".to_owned()));
    }
    let tail = match bytes.len() - whole {
        0 => Tail::Whole,
        torn => Tail::Torn(torn as u64),
    };
    Ok((book, head, tail, whole as u64))
}

#[cfg(test)]
mod tests;
