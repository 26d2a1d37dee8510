//! A file of taps, read in blocks and decoded on all cores. Memory holds the taps and a few blocks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rayon::iter::{ParallelBridge, ParallelIterator};

use super::{Decoder, Error, RECORD_BYTES_MAX, Settings};
use crate::metrics::Board;
use crate::model::{Counts, Reject, WindowId};
use crate::passenger::Stamp;
use crate::window::{Arrival, Gate, OpenWindows};

/// A file is one partition; the board knows it by this number.
const PARTITION: i32 = 0;
const BLOCK_BYTES: usize = 1 << 20;

/// What a file gave.
#[derive(Debug, Default)]
pub struct Harvest {
    /// The taps that count, by window.
    pub open: OpenWindows,
    /// How many counted, and why the others did not.
    pub counts: Counts,
}

/// Reads a whole file. Every tap passes the same gate as a live one; in a file nothing is late.
pub fn read_file(
    path: &Path,
    settings: &Settings,
    gate: &Gate,
    board: &Board,
) -> Result<Harvest, Error> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Error::Open { path: name.clone(), error })?;
    if file.metadata().is_ok_and(|facts| facts.is_dir()) {
        let error = io::Error::other("it is a directory; name the file with the taps");
        return Err(Error::Open { path: name, error });
    }
    let mut lines = Lines::new(file);
    let failed = |error| Error::Read { path: name.clone(), error };
    let mut counts = Counts::default();
    let header = match settings.format.has_header(lines.first().map_err(failed)?) {
        false => None,
        true => match lines.header().map_err(failed)? {
            None => return Ok(Harvest::default()),
            Some(header) => Some(header),
        },
    };
    let decoder = || match &header {
        None => Ok(Decoder::new(settings.clone())),
        Some(header) => {
            let header = String::from_utf8_lossy(header);
            Decoder::with_header(settings.clone(), &header)
                .map_err(|columns| Error::Header { path: name.clone(), columns })
        }
    };
    let gathered = decode_blocks(&mut lines, decoder, failed, gate, board)?;
    for _ in 0..lines.too_long {
        counts.reject(Reject::TooLong);
    }
    let mut open = OpenWindows::default();
    for Gathered { windows, counts: theirs, .. } in gathered {
        counts.add(&theirs);
        for (window, stamps) in windows {
            open.add_all(window, stamps);
        }
    }
    Ok(Harvest { open, counts })
}

/// What one worker gathered.
#[derive(Default)]
struct Gathered {
    windows: BTreeMap<WindowId, Vec<Stamp>>,
    /// Taps that stand on the board.
    told: BTreeMap<WindowId, usize>,
    counts: Counts,
}

/// Blocks are read one after the other and decoded on every core. Which core decodes which block does not matter: a
/// window has one canonical order.
fn decode_blocks(
    lines: &mut Lines,
    decoder: impl Fn() -> Result<Decoder, Error> + Sync,
    failed: impl Fn(io::Error) -> Error + Sync,
    gate: &Gate,
    board: &Board,
) -> Result<Vec<Gathered>, Error> {
    // Before any block: a header without its columns is a complaint even if nothing follows it.
    decoder()?;
    let begin = || Ok::<_, Error>((decoder()?, Gathered::default()));
    let next = |worker: Result<(Decoder, Gathered), Error>, block: io::Result<Vec<u8>>| {
        let (mut decoder, mut gathered) = worker?;
        decode(&block.map_err(&failed)?, &mut decoder, gate, board, &mut gathered);
        Ok((decoder, gathered))
    };
    std::iter::from_fn(|| lines.block().transpose())
        .inspect(|block| board.read(block.as_ref().map_or(0, Vec::len) as u64))
        .par_bridge()
        .fold(begin, next)
        .map(|worker| worker.map(|(_, gathered)| gathered))
        .collect()
}

fn decode(
    block: &[u8],
    decoder: &mut Decoder,
    gate: &Gate,
    board: &Board,
    gathered: &mut Gathered,
) {
    for line in block.split(|&byte| byte == b'\n') {
        if !matches!(line, b"" | b"\r") {
            take(decoder, line, gate, gathered);
        }
    }
    let Gathered { windows, told, .. } = gathered;
    for (window, stamps) in windows {
        let told = told.entry(*window).or_default();
        if *told < stamps.len() {
            board.add(PARTITION, *window, (stamps.len() - *told) as u64);
            *told = stamps.len();
        }
    }
}

fn take(decoder: &mut Decoder, line: &[u8], gate: &Gate, gathered: &mut Gathered) {
    let decoded = decoder.decode(line).and_then(|decoded| {
        gate.judge(decoded.window, decoded.event, Arrival::InFile).map(|()| decoded)
    });
    match decoded {
        Ok(decoded) => {
            gathered.windows.entry(decoded.tap.window()).or_default().push(decoded.tap.stamp());
            gathered.counts.taps += 1;
        }
        Err(reason) => gathered.counts.reject(reason),
    }
}

/// Blocks of whole lines. A line longer than a record can be is dropped as it is read, and counted.
struct Lines {
    file: File,
    carry: Vec<u8>,
    /// Inside a line that is too long already.
    skipping: bool,
    too_long: u64,
    ended: bool,
}

impl Lines {
    fn new(file: File) -> Self {
        Self { file, carry: Vec::new(), skipping: false, too_long: 0, ended: false }
    }

    /// How the file begins, with at least a byte unless it is empty.
    fn first(&mut self) -> io::Result<&[u8]> {
        while self.carry.is_empty() && !self.ended {
            self.fill()?;
        }
        Ok(&self.carry)
    }

    /// The first line, with at most a record's bytes; `None` for an empty file.
    fn header(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.carry) {
                let header = self.carry[..end].to_vec();
                self.carry.drain(..=end);
                return Ok(Some(header));
            }
            if self.ended || self.carry.len() > RECORD_BYTES_MAX {
                let header = std::mem::take(&mut self.carry);
                return Ok((!header.is_empty()).then_some(header));
            }
            self.fill()?;
        }
    }

    /// The next whole lines; `None` at the end.
    fn block(&mut self) -> io::Result<Option<Vec<u8>>> {
        while !self.ended {
            self.fill()?;
            if let Some(end) = memchr::memrchr(b'\n', &self.carry) {
                let rest = self.carry.split_off(end + 1);
                return Ok(Some(std::mem::replace(&mut self.carry, rest)));
            }
            // A longest record may be followed by a carriage return, which is not counted with it.
            if self.carry.len() > RECORD_BYTES_MAX + 1 {
                self.carry.clear();
                self.skipping = true;
                self.too_long += 1;
            }
        }
        let rest = std::mem::take(&mut self.carry);
        Ok((!rest.is_empty()).then_some(rest))
    }

    fn fill(&mut self) -> io::Result<()> {
        let before = self.carry.len();
        self.carry.reserve(BLOCK_BYTES);
        let limit = BLOCK_BYTES as u64;
        let read = self.file.by_ref().take(limit).read_to_end(&mut self.carry)?;
        self.ended = read == 0;
        if self.skipping {
            match memchr::memchr(b'\n', &self.carry[before..]) {
                Some(end) => {
                    self.carry.drain(..=before + end);
                    self.skipping = false;
                }
                None => self.carry.clear(),
            }
        }
        Ok(())
    }
}
