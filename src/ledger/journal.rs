//! The ledger as an append-only file: one line a record, forced to disk before anything depends on it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{
    Book, Chain, ChainFault, Error, Genesis, Ledger, Outcome, Refusal, Request, Reservation,
    Settings, Step,
};
use crate::model::Digest;
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
    settings: Settings,
    chain: Chain,
    tail: Tail,
}

impl Journal {
    /// Makes a new ledger with its opening record; never overwrites one.
    pub fn create(path: &Path, key: &LedgerKey, now: Timestamp) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let genesis = Chain::new(key.clone()).open(Genesis::new(now));
        file.write_all(genesis.line.as_bytes())?;
        file.sync_all()?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }

    /// Reads a ledger without touching it.
    pub fn inspect(path: &Path, key: &LedgerKey) -> Result<(Book, Tail), Error> {
        let mut file = open(path, OpenOptions::new().read(true))?;
        let (chain, tail, _) = read(path, &mut file, key)?;
        Ok((chain.book().clone(), tail))
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
        let (chain, tail, whole_bytes) = read(path, &mut file, key)?;
        if let Some(found) = chain.book().feed()
            && found != settings.feed
        {
            return Err(Error::OtherFeed {
                path: path.display().to_string(),
                found: found.to_owned(),
                expected: settings.feed,
            });
        }
        let mended = match tail {
            Tail::Whole => Ok(()),
            Tail::Unended => file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(b"\n")),
            Tail::Torn(_) => file.set_len(whole_bytes),
        };
        mended
            .and_then(|()| file.sync_all())
            .and_then(|()| file.seek(SeekFrom::End(0)).map(|_| ()))
            .map_err(|error| failed(path, error))?;
        Ok(Self { path: path.to_owned(), file, settings, chain, tail })
    }

    /// What was booked so far.
    pub fn book(&self) -> &Book {
        self.chain.book()
    }

    /// Why a request would be refused, without booking anything.
    pub fn refusal(&self, request: &Request) -> Option<Refusal> {
        self.chain.refusal(request, &self.settings)
    }

    /// How the file ended when it was opened.
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// Appends a record and forces it to disk. On a failed write the file is cut back to what it was, so
    /// that a full disk leaves no half record; if even that fails the next opening finds it torn.
    fn append(&mut self, line: &str) -> Result<(), Error> {
        let before = self.file.stream_position().map_err(|error| failed(&self.path, error))?;
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // If the cut fails too, the next opening finds a torn record and drops it.
            self.file.set_len(before).and_then(|()| self.file.seek(SeekFrom::Start(before))).ok();
            return Err(failed(&self.path, error));
        }
        Ok(())
    }
}

impl Ledger for Journal {
    fn reserve(&mut self, request: &Request) -> Result<Outcome, Error> {
        match self.chain.request(request, &self.settings) {
            Step::Decided(outcome) => Ok(outcome),
            Step::Write(pending) => {
                self.append(&pending.line)?;
                self.chain.granted(pending, request).map_err(|fault| faulty(&self.path, fault))
            }
        }
    }

    fn settle(&mut self, reservation: &Reservation, release: &Digest) -> Result<(), Error> {
        let settlement = self.chain.settlement(reservation, release);
        let Some(pending) = settlement.map_err(|fault| faulty(&self.path, fault))? else {
            return Ok(());
        };
        self.append(&pending.line)?;
        self.chain.written(pending).map_err(|fault| faulty(&self.path, fault))
    }
}

fn faulty(path: &Path, fault: ChainFault) -> Error {
    let path = path.display().to_string();
    match fault {
        ChainFault::OtherSecret => Error::OtherSecret { path },
        ChainFault::Broken { sequence, what } => Error::Broken { path, sequence, what },
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

/// Reads and checks the whole file: the chain, how it ends, and the bytes of whole records.
fn read(path: &Path, file: &mut File, key: &LedgerKey) -> Result<(Chain, Tail, u64), Error> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| failed(path, error))?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    let mut chain = Chain::new(key.clone());
    for line in bytes[..whole].split_inclusive(|&byte| byte == b'\n') {
        chain.read(&line[..line.len() - 1]).map_err(|fault| faulty(path, fault))?;
    }
    let rest = &bytes[whole..];
    // A record that lost nothing but its line feed is whole: it was paid, and must not be forgotten.
    let tail = match rest.is_empty() {
        true => Tail::Whole,
        false if chain.read(rest).is_ok() => Tail::Unended,
        false => Tail::Torn(rest.len() as u64),
    };
    if chain.book().n_records() == 0 {
        let what = "the opening record is missing".to_owned();
        return Err(faulty(path, ChainFault::Broken { sequence: 0, what }));
    }
    Ok((chain, tail, whole as u64))
}

#[cfg(test)]
mod tests;
