//! The ledger as an append-only file: one line a record, forced to disk before anything depends on it.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Book, ChainFault, Error, Genesis, Ledger, opening, read_book};
use crate::protocol::{Ended, Topic, Transaction};
use crate::secret::LedgerKey;

/// How the file ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    /// With a whole record.
    Whole,
    /// With a whole record that lacks its line feed.
    Unended,
    /// With so many bytes of a record that was being written when the machine stopped. Nothing was ever
    /// drawn for it: a permit exists only after its record is durable.
    Torn(u64),
}

/// A ledger file, opened for booking. Nobody else can open it meanwhile.
pub struct Journal {
    path: PathBuf,
    file: File,
    lines: Vec<Vec<u8>>,
    book: Book,
    tail: Tail,
}

impl Journal {
    /// Makes a new ledger with its opening record; never overwrites one.
    pub fn create(path: &Path, key: &LedgerKey, now: Timestamp) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let mut line = opening(key, Genesis::new(now));
        line.push(b'\n');
        if let Err(error) = file.write_all(&line).and_then(|()| file.sync_all()) {
            // Half a ledger is none, and would keep the next one away.
            fs::remove_file(path).ok();
            return Err(error);
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }

    /// Writes the records of a ledger that was kept elsewhere in the place of one that has only its opening record.
    pub fn take_over(path: &Path, key: &LedgerKey, lines: &[Vec<u8>]) -> Result<(), Error> {
        let there = Self::open(path, key)?;
        if there.book.n_records() > 1 {
            let what = "it has records of its own, which would be lost".to_owned();
            return Err(faulty(path, ChainFault::Broken { sequence: 1, what }));
        }
        read_book(key, lines).map_err(|fault| faulty(path, fault))?;
        let partial = path.with_extension("ledger.partial");
        let written = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&partial)?;
            for line in lines {
                file.write_all(line)?;
                file.write_all(b"\n")?;
            }
            file.sync_all()?;
            std::fs::rename(&partial, path)
        };
        written().map_err(|error| failed(path, error))
    }

    /// Reads a ledger without touching it.
    pub fn inspect(path: &Path, key: &LedgerKey) -> Result<(Book, Tail), Error> {
        let mut file = open(path, OpenOptions::new().read(true))?;
        let Whole { book, tail, .. } = read(path, &mut file, key)?;
        Ok((book, tail))
    }

    /// Opens a ledger for booking: locks it, checks every record, drops a torn last one.
    pub fn open(path: &Path, key: &LedgerKey) -> Result<Self, Error> {
        let mut file = open(path, OpenOptions::new().read(true).write(true))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Busy { path: path.display().to_string() });
            }
            Err(TryLockError::Error(error)) => return Err(failed(path, error)),
        }
        let Whole { lines, book, tail, bytes } = read(path, &mut file, key)?;
        let mended = match tail {
            Tail::Whole => Ok(()),
            Tail::Unended => file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(b"\n")),
            Tail::Torn(_) => file.set_len(bytes),
        };
        mended
            .and_then(|()| file.sync_all())
            .and_then(|()| file.seek(SeekFrom::End(0)).map(|_| ()))
            .map_err(|error| failed(path, error))?;
        Ok(Self { path: path.to_owned(), file, lines, book, tail })
    }

    /// What was booked when it was opened.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// How the file ended when it was opened.
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// Appends records and forces them to disk. On a failed write the file is cut back to what it was, so that a full
    /// disk leaves no half record; if even that fails the next opening finds it torn.
    fn append(&mut self, text: &[u8]) -> Result<(), Error> {
        let before = self.file.stream_position().map_err(|error| failed(&self.path, error))?;
        let written = self.file.write_all(text).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // If the cut fails too, the next opening finds a torn record and drops it.
            self.file.set_len(before).and_then(|()| self.file.seek(SeekFrom::Start(before))).ok();
            return Err(failed(&self.path, error));
        }
        Ok(())
    }
}

impl Ledger for Journal {
    /// The lock that was taken when it was opened keeps everybody else out.
    fn fence(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn read(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.lines.clone())
    }

    fn commit(&mut self, transaction: &Transaction) -> Result<Ended, Error> {
        let lines = transaction.records.iter().filter(|record| record.topic == Topic::Ledger);
        let mut text = Vec::new();
        for line in lines {
            self.lines.push(line.payload.clone());
            text.extend_from_slice(&line.payload);
            text.push(b'\n');
        }
        self.append(&text)?;
        Ok(Ended::Committed)
    }
}

fn faulty(path: &Path, fault: ChainFault) -> Error {
    Error::of_fault(&path.display().to_string(), fault)
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

/// A ledger file as it was found.
struct Whole {
    lines: Vec<Vec<u8>>,
    book: Book,
    tail: Tail,
    /// The bytes of whole records.
    bytes: u64,
}

/// Reads and checks the whole file.
fn read(path: &Path, file: &mut File, key: &LedgerKey) -> Result<Whole, Error> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| failed(path, error))?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at.saturating_add(1));
    let without_feed = |line: &[u8]| line.strip_suffix(b"\n").unwrap_or(line).to_vec();
    let mut lines: Vec<Vec<u8>> =
        bytes[..whole].split_inclusive(|&byte| byte == b'\n').map(without_feed).collect();
    let mut book = read_book(key, &lines).map_err(|fault| faulty(path, fault))?;
    let rest = &bytes[whole..];
    let mut tail = Tail::Whole;
    if !rest.is_empty() {
        // A record that lost nothing but its line feed is whole: it was paid, and must not be forgotten.
        lines.push(rest.to_vec());
        match read_book(key, &lines) {
            Ok(with_rest) => (book, tail) = (with_rest, Tail::Unended),
            Err(_) => {
                lines.pop();
                tail = Tail::Torn(rest.len() as u64);
            }
        }
    }
    if book.n_records() == 0 {
        let what = "the opening record is missing".to_owned();
        return Err(faulty(path, ChainFault::Broken { sequence: 0, what }));
    }
    Ok(Whole { lines, book, tail, bytes: whole as u64 })
}

#[cfg(test)]
mod tests;
