//! Files written through a digest, and files read with a bound.
//!
//! Everything that is written passes an [`Open`], so that a test can put a full disk behind it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::model::Digest;

/// A file that is being written.
pub(super) trait Output: Write + Send {
    /// Makes what was written durable.
    fn sync(&mut self) -> io::Result<()>;
}

impl Output for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Makes a new file.
pub(super) type Open = Box<dyn Fn(&Path) -> io::Result<Box<dyn Output>> + Send + Sync>;

/// Makes new files on the disk; one that is there already is an error.
pub(super) fn on_disk() -> Open {
    Box::new(|path| {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Box::new(file))
    })
}

/// What a written file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Written {
    pub(super) sha256: Digest,
    pub(super) bytes: u64,
}

/// Digests what passes through it.
pub(super) struct Hashed<W> {
    inner: W,
    hasher: Sha256,
    bytes: u64,
}

impl<W: Write> Hashed<W> {
    pub(super) fn new(inner: W) -> Self {
        Self { inner, hasher: Sha256::new(), bytes: 0 }
    }

    /// The digest and length of what passed, and the writer behind.
    pub(super) fn finish(self) -> (Written, W) {
        let bytes: [u8; 32] = self.hasher.finalize().into();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let sha256 = Digest::from_hex(&hex).expect("32 bytes are 64 lower-case digits");
        (Written { sha256, bytes: self.bytes }, self.inner)
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The digest of what `fill` writes, without a file.
pub(super) fn digest_of(
    fill: impl FnOnce(&mut Hashed<io::Sink>) -> io::Result<()>,
) -> io::Result<Written> {
    let mut hashed = Hashed::new(io::sink());
    fill(&mut hashed)?;
    Ok(hashed.finish().0)
}

/// Writes a whole file durably and says what it holds.
pub(super) fn write(
    open: &Open,
    path: &Path,
    fill: impl FnOnce(&mut Hashed<Box<dyn Output>>) -> io::Result<()>,
) -> io::Result<Written> {
    let mut hashed = Hashed::new(open(path)?);
    fill(&mut hashed)?;
    hashed.flush()?;
    let (written, mut file) = hashed.finish();
    file.sync()?;
    Ok(written)
}

/// Makes a directory's entries durable.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Opens a plain file; anything else (a pipe would block for ever) is refused.
pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::other("is not a plain file")),
    }
}

/// Reads a plain file of at most so many bytes.
pub(super) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= most {
        true => Ok(bytes),
        false => Err(io::Error::other(format!("is longer than {most} bytes"))),
    }
}

/// The digest and length of a plain file; stops reading after `most` bytes and one.
pub(super) fn measure(path: &Path, most: u64) -> io::Result<Written> {
    let mut file = open_plain(path)?.take(most.saturating_add(1));
    digest_of(|hashed| {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(()),
                n => hashed.write_all(&buffer[..n])?,
            }
        }
    })
}
