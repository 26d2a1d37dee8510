//! Where taps come from: files as they are, packed with gzip or zstd, or standard input. What a file is stands in its
//! first bytes; its name says nothing.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use super::Error;
use super::container::MAGIC;

/// Standard input, on a command line.
const STANDARD_INPUT: &str = "-";
/// Reads ahead of an unpacker.
const AHEAD_BYTES: usize = 1 << 16;

/// Files of taps in the order in which they were named. One of them may be standard input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taps(Vec<PathBuf>);

impl Taps {
    /// `None` without a file, or if standard input is named twice.
    pub fn new(paths: Vec<PathBuf>) -> Option<Self> {
        let n_standard = paths.iter().filter(|path| is_standard(path)).count();
        (!paths.is_empty() && n_standard <= 1).then_some(Self(paths))
    }

    /// Whether they can be read only once.
    pub fn are_read_once(&self) -> bool {
        self.0.iter().any(|path| is_standard(path))
    }

    /// How many bytes they have, as far as that is known.
    pub fn bytes(&self) -> u64 {
        self.0.iter().filter_map(|path| fs::metadata(path).ok()).map(|facts| facts.len()).sum()
    }

    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.0
    }
}

impl From<&Path> for Taps {
    fn from(path: &Path) -> Self {
        Self(vec![path.to_owned()])
    }
}

impl fmt::Display for Taps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(|path| name(path)).collect();
        f.write_str(&names.join(", "))
    }
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// What people call it.
fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// The bytes of a file, unpacked.
pub(super) type Bytes = Box<dyn Read + Send>;

/// What a file holds.
pub(super) enum Held {
    /// Records, one a line.
    Lines(Bytes),
    /// Avro records in blocks.
    Container(Bytes),
    /// Columns; read here and there.
    Parquet(PathBuf),
}

/// A file that was opened.
pub(super) struct Input {
    pub(super) held: Held,
    pub(super) origin: Origin,
}

/// Says whose fault a failure of reading is.
#[derive(Clone)]
pub(super) struct Origin {
    pub(super) name: String,
    packing: Option<&'static str>,
}

impl Origin {
    #[cfg(test)]
    pub(super) fn for_test() -> Self {
        Self { name: "taps".to_owned(), packing: None }
    }

    /// What the system says of a plain file is the system's; what an unpacker says is about the file.
    pub(super) fn failed(&self, error: io::Error) -> Error {
        let path = self.name.clone();
        match self.packing.filter(|_| error.raw_os_error().is_none()) {
            Some(packing) => Error::Damaged { path, packing, error },
            None => Error::Read { path, error },
        }
    }
}

impl Input {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let origin = Origin { name: name(path), packing: None };
        if is_standard(path) {
            return Self::unpacked(Box::new(io::stdin()), None, origin);
        }
        let refuse = |error| Error::Open { path: origin.name.clone(), error };
        let file = File::open(path).map_err(refuse)?;
        if file.metadata().is_ok_and(|facts| facts.is_dir()) {
            return Err(refuse(io::Error::other("it is a directory; name the file with the taps")));
        }
        Self::unpacked(Box::new(file), Some(path), origin)
    }

    /// `path`: where the bytes come from, if they can be read here and there.
    fn unpacked(mut bytes: Bytes, path: Option<&Path>, mut origin: Origin) -> Result<Self, Error> {
        let mut first = Vec::new();
        let failed = |error| origin.failed(error);
        bytes.by_ref().take(4).read_to_end(&mut first).map_err(failed)?;
        let (magic, bytes) = (first.clone(), Box::new(Cursor::new(first).chain(bytes)));
        let held = match (magic.as_slice(), path) {
            ([0x1f, 0x8b, ..], _) => {
                origin.packing = Some("gzip");
                let ahead = BufReader::with_capacity(AHEAD_BYTES, bytes);
                return Self::within(Box::new(MultiGzDecoder::new(ahead)), origin);
            }
            (ZSTD | [0x50..=0x5f, 0x2a, 0x4d, 0x18], _) => {
                origin.packing = Some("zstd");
                return Self::within(zstd(bytes), origin);
            }
            (b"PAR1", Some(path)) => Held::Parquet(path.to_owned()),
            (b"PAR1", None) => {
                let error = io::Error::other("a Parquet file is read from its end: name the file");
                return Err(Error::Open { path: origin.name, error });
            }
            (first, _) if first == MAGIC => Held::Container(bytes),
            _ => Held::Lines(bytes),
        };
        Ok(Self { held, origin })
    }

    /// What was packed.
    fn within(mut bytes: Bytes, origin: Origin) -> Result<Self, Error> {
        let mut first = Vec::new();
        let read = bytes.by_ref().take(4).read_to_end(&mut first);
        read.map_err(|error| origin.failed(error))?;
        let is_container = first == MAGIC;
        let bytes = Box::new(Cursor::new(first).chain(bytes));
        let held = if is_container { Held::Container(bytes) } else { Held::Lines(bytes) };
        Ok(Self { held, origin })
    }
}

/// Unpacks frames of zstd.
pub(super) fn zstd(bytes: Bytes) -> Bytes {
    Box::new(Zstd { state: State::Between(bytes) })
}

const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// zstd frames, one after the other, each checked against its checksum. Frames without data are passed over.
struct Zstd {
    state: State,
}

enum State {
    /// Before a frame.
    Between(Bytes),
    Within(Box<StreamingDecoder<Frame, FrameDecoder>>),
    Ended,
}

/// A frame whose first bytes were read already.
struct Frame {
    magic: Cursor<[u8; 4]>,
    rest: Bytes,
}

impl Read for Frame {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.magic.read(buffer)? {
            0 => self.rest.read(buffer),
            n => Ok(n),
        }
    }
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(0),
                State::Between(bytes) => self.state = next_frame(bytes)?,
                State::Within(mut frame) => {
                    let n = frame.read(buffer)?;
                    self.state = match n {
                        0 if !buffer.is_empty() => State::Between(finished(*frame)?),
                        _ => State::Within(frame),
                    };
                    if n > 0 || buffer.is_empty() {
                        return Ok(n);
                    }
                }
            }
        }
    }
}

fn next_frame(mut bytes: Bytes) -> io::Result<State> {
    let mut magic = Vec::new();
    bytes.by_ref().take(4).read_to_end(&mut magic)?;
    let magic = match <[u8; 4]>::try_from(magic) {
        Ok(magic) => magic,
        Err(rest) if rest.is_empty() => return Ok(State::Ended),
        Err(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
    };
    if matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18]) {
        let mut length = [0; 4];
        bytes.read_exact(&mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        let passed = io::copy(&mut bytes.by_ref().take(length), &mut io::sink())?;
        return match passed == length {
            true => Ok(State::Between(bytes)),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        };
    }
    let frame = Frame { magic: Cursor::new(magic), rest: bytes };
    let decoder = StreamingDecoder::new(frame).map_err(io::Error::other)?;
    Ok(State::Within(Box::new(decoder)))
}

fn finished(decoder: StreamingDecoder<Frame, FrameDecoder>) -> io::Result<Bytes> {
    let (frame, decoder) = decoder.into_parts();
    match (decoder.get_checksum_from_data(), decoder.get_calculated_checksum()) {
        (Some(said), Some(found)) if said != found => {
            Err(io::Error::other("its checksum is wrong"))
        }
        _ => Ok(frame.rest),
    }
}
