//! Files of taps, read in blocks and decoded on all cores. Memory holds the taps and a few blocks.

use std::collections::BTreeMap;
use std::io::{self, Read};

use rayon::iter::{ParallelBridge, ParallelIterator};

use super::input::{Bytes, Held, Input, Origin};
use super::{Decoded, Decoder, Error, RECORD_BYTES_MAX, Settings, Taps, columns, container};
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

/// Reads whole files. Every tap passes the same gate as a live one; in a file nothing is late.
pub fn read_file(
    taps: &Taps,
    settings: &Settings,
    gate: &Gate,
    board: &Board,
) -> Result<Harvest, Error> {
    let mut harvest = Harvest::default();
    for path in taps.paths() {
        let Input { held, origin } = Input::open(path)?;
        let gathered = match held {
            Held::Lines(bytes) => read_lines(bytes, &origin, settings, gate, board)?,
            Held::Container(bytes) => container::read(bytes, &origin, settings, gate, board)?,
            Held::Parquet(path) => columns::read(&path, &origin, settings, gate, board)?,
        };
        for Gathered { windows, counts, .. } in gathered {
            harvest.counts.add(&counts);
            for (window, stamps) in windows {
                harvest.open.add_all(window, stamps);
            }
        }
    }
    Ok(harvest)
}

/// A decoder for the records of a file that begins with these bytes; takes its header away, if it has one.
fn decoder_of(
    lines: &mut Lines,
    settings: &Settings,
    origin: &Origin,
) -> Result<Option<Decoder>, Error> {
    let failed = |error| origin.failed(error);
    match settings.format.has_header(lines.first().map_err(failed)?) {
        false => Ok(Some(Decoder::new(settings.clone()))),
        true => {
            let Some(header) = lines.header().map_err(failed)? else { return Ok(None) };
            let header = String::from_utf8_lossy(&header);
            let decoder = Decoder::with_header(settings.clone(), &header)
                .map_err(|columns| Error::Header { path: origin.name.clone(), columns })?;
            Ok(Some(decoder))
        }
    }
}

/// Records, one a line.
fn read_lines(
    bytes: Bytes,
    origin: &Origin,
    settings: &Settings,
    gate: &Gate,
    board: &Board,
) -> Result<Vec<Gathered>, Error> {
    let mut lines = Lines::new(bytes);
    // Before any block: a header without its columns is a complaint even if nothing follows it.
    let Some(first) = decoder_of(&mut lines, settings, origin)? else { return Ok(Vec::new()) };
    let below = Settings { format: first.format().clone(), ..settings.clone() };
    let mut gathered = decode_blocks(&mut lines, &below, origin, gate, board)?;
    let mut too_long = Gathered::default();
    for _ in 0..lines.too_long {
        too_long.counts.reject(Reject::TooLong);
    }
    gathered.push(too_long);
    Ok(gathered)
}

/// What one worker gathered.
#[derive(Default)]
pub(super) struct Gathered {
    windows: BTreeMap<WindowId, Vec<Stamp>>,
    /// Taps that stand on the board.
    told: BTreeMap<WindowId, usize>,
    counts: Counts,
}

impl Gathered {
    /// One more record.
    pub(super) fn take(&mut self, decoded: Result<Decoded<'_>, Reject>, gate: &Gate) {
        let judged = decoded.and_then(|decoded| {
            gate.judge(decoded.window, decoded.event, Arrival::InFile).map(|()| decoded.tap)
        });
        match judged {
            Ok(tap) => {
                self.windows.entry(tap.window()).or_default().push(tap.stamp());
                self.counts.taps += 1;
            }
            Err(reason) => self.counts.reject(reason),
        }
    }

    /// Puts what is new on the board.
    pub(super) fn tell(&mut self, board: &Board) {
        for (window, stamps) in &self.windows {
            let told = self.told.entry(*window).or_default();
            if *told < stamps.len() {
                board.add(PARTITION, *window, (stamps.len() - *told) as u64);
                *told = stamps.len();
            }
        }
    }
}

/// Blocks are read one after the other and decoded on every core. Which core decodes which block does not matter: a
/// window has one canonical order.
fn decode_blocks(
    lines: &mut Lines,
    settings: &Settings,
    origin: &Origin,
    gate: &Gate,
    board: &Board,
) -> Result<Vec<Gathered>, Error> {
    let begin = || Ok((Decoder::new(settings.clone()), Gathered::default()));
    let next = |worker: Result<(Decoder, Gathered), Error>, block: io::Result<Vec<u8>>| {
        let (mut decoder, mut gathered) = worker?;
        decode(
            &block.map_err(|error| origin.failed(error))?,
            &mut decoder,
            gate,
            board,
            &mut gathered,
        );
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
            gathered.take(decoder.decode(line), gate);
        }
    }
    gathered.tell(board);
}

/// Blocks of whole lines. A line longer than a record can be is dropped as it is read, and counted.
struct Lines {
    file: Bytes,
    carry: Vec<u8>,
    /// Inside a line that is too long already.
    skipping: bool,
    too_long: u64,
    ended: bool,
}

impl Lines {
    fn new(file: Bytes) -> Self {
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
