//! A container of Avro records: its schema in front, then blocks of records, packed perhaps.

use std::io::{self, BufReader, Read};

use flate2::read::DeflateDecoder;
use rayon::iter::{ParallelBridge, ParallelIterator};

use super::file::Gathered;
use super::format::{AvroData, ContainerPlan, Mapping};
use super::input::{Bytes, Origin};
use super::{Decoder, Error, Settings};
use crate::metrics::Board;
use crate::passenger::Picked;
use crate::window::Gate;

/// How every container begins.
pub(super) const MAGIC: &[u8; 4] = b"Obj\x01";
/// A header or a block is not longer, packed or unpacked.
const MOST_BYTES: u64 = 1 << 28;
const SYNC_BYTES: usize = 16;

/// Reads a whole container, its blocks on all cores.
pub(super) fn read(
    bytes: Bytes,
    origin: &Origin,
    settings: &Settings,
    gate: &Gate,
    board: &Board,
) -> Result<Vec<Gathered>, Error> {
    let mut container = Container::open(bytes, origin)?;
    let (plan, codec) = (container.plan(settings)?, container.codec);
    let begin = || Ok((Decoder::new(settings.clone()), Gathered::default()));
    let next = |worker: Result<(Decoder, Gathered), Error>, block: Result<Block, Error>| {
        let (mut decoder, mut gathered) = worker?;
        let block = block?;
        board.read(block.bytes.len() as u64);
        let unpacked = codec.unpacked(block.bytes).map_err(|error| damaged(origin, error))?;
        let look = &mut |picked: &mut Picked<'_>| {
            settings.format.clean(picked);
            gathered.take(decoder.take(picked), gate);
            true
        };
        plan.each(block.n_records, &unpacked, look).map_err(|_| unlike_schema(origin))?;
        gathered.tell(board);
        Ok((decoder, gathered))
    };
    std::iter::from_fn(|| container.block().transpose())
        .par_bridge()
        .fold(begin, next)
        .map(|worker| worker.map(|(_, gathered)| gathered))
        .collect()
}

/// Every record in its order, until `look` has seen enough.
pub(super) fn look(
    bytes: Bytes,
    origin: &Origin,
    settings: &Settings,
    look: &mut dyn FnMut(&mut Picked<'_>) -> bool,
) -> Result<(), Error> {
    let mut container = Container::open(bytes, origin)?;
    let plan = container.plan(settings)?;
    while let Some(block) = container.block()? {
        let unpacked =
            container.codec.unpacked(block.bytes).map_err(|error| damaged(origin, error))?;
        let look = &mut |picked: &mut Picked<'_>| {
            settings.format.clean(picked);
            look(picked)
        };
        if !plan.each(block.n_records, &unpacked, look).map_err(|_| unlike_schema(origin))? {
            break;
        }
    }
    Ok(())
}

fn damaged(origin: &Origin, error: io::Error) -> Error {
    Error::Damaged { path: origin.name.clone(), packing: "Avro", error }
}

fn unlike_schema(origin: &Origin) -> Error {
    damaged(origin, io::Error::other("a record is not of its schema"))
}

/// How blocks are packed.
#[derive(Clone, Copy)]
enum Codec {
    Plain,
    Deflate,
    Zstandard,
}

impl Codec {
    fn unpacked(self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut unpacked = Vec::new();
        match self {
            Self::Plain => return Ok(bytes),
            Self::Deflate => {
                DeflateDecoder::new(&bytes[..]).take(MOST_BYTES).read_to_end(&mut unpacked)?
            }
            Self::Zstandard => super::input::zstd(Box::new(io::Cursor::new(bytes)))
                .take(MOST_BYTES)
                .read_to_end(&mut unpacked)?,
        };
        Ok(unpacked)
    }
}

struct Block {
    n_records: u64,
    bytes: Vec<u8>,
}

/// A container whose header was read.
struct Container<'o> {
    bytes: BufReader<Bytes>,
    origin: &'o Origin,
    schema: String,
    codec: Codec,
    sync: [u8; SYNC_BYTES],
}

impl<'o> Container<'o> {
    fn open(bytes: Bytes, origin: &'o Origin) -> Result<Self, Error> {
        let mut bytes = BufReader::with_capacity(1 << 16, bytes);
        let mut magic = [0; MAGIC.len()];
        let failed = |error| damaged(origin, error);
        bytes.read_exact(&mut magic).map_err(failed)?;
        let (mut schema, mut codec) = (String::new(), String::from("null"));
        // A map of bytes, in blocks.
        loop {
            let n = long(&mut bytes).map_err(failed)?;
            if n == 0 {
                break;
            }
            if n < 0 {
                long(&mut bytes).map_err(failed)?;
            }
            for _ in 0..n.unsigned_abs() {
                let key = counted(&mut bytes).map_err(failed)?;
                let value = counted(&mut bytes).map_err(failed)?;
                match key.as_slice() {
                    b"avro.schema" => schema = String::from_utf8_lossy(&value).into_owned(),
                    b"avro.codec" => codec = String::from_utf8_lossy(&value).into_owned(),
                    _ => {}
                }
            }
        }
        let codec = match codec.as_str() {
            "null" => Codec::Plain,
            "deflate" => Codec::Deflate,
            "zstandard" => Codec::Zstandard,
            other => {
                let what = format!(
                    "blocks are packed with {other}; write it with null, deflate or zstandard"
                );
                return Err(failed(io::Error::other(what)));
            }
        };
        let mut sync = [0; SYNC_BYTES];
        bytes.read_exact(&mut sync).map_err(failed)?;
        Ok(Self { bytes, origin, schema, codec, sync })
    }

    fn plan(&self, settings: &Settings) -> Result<ContainerPlan, Error> {
        self.plan_for(settings.format.mapping())
    }

    fn plan_for(&self, mapping: &Mapping) -> Result<ContainerPlan, Error> {
        ContainerPlan::new(&self.schema, mapping)
            .map_err(|what| damaged(self.origin, io::Error::other(format!("its schema: {what}"))))
    }

    /// The next block; `None` at the end.
    fn block(&mut self) -> Result<Option<Block>, Error> {
        self.read_block().map_err(|error| damaged(self.origin, error))
    }

    fn read_block(&mut self) -> io::Result<Option<Block>> {
        use io::BufRead;
        if self.bytes.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let n_records = u64::try_from(long(&mut self.bytes)?).map_err(io::Error::other)?;
        let bytes = counted(&mut self.bytes)?;
        let mut sync = [0; SYNC_BYTES];
        self.bytes.read_exact(&mut sync)?;
        match sync == self.sync {
            true => Ok(Some(Block { n_records, bytes })),
            false => Err(io::Error::other("a block does not end where it should")),
        }
    }
}

fn long(bytes: &mut impl Read) -> io::Result<i64> {
    let mut front = Vec::with_capacity(10);
    loop {
        let mut byte = [0];
        bytes.read_exact(&mut byte)?;
        front.push(byte[0]);
        if byte[0] & 0x80 == 0 || front.len() == 10 {
            let number = AvroData { bytes: &front }.long();
            return number.map_err(|_| io::Error::other("a number has too many bytes"));
        }
    }
}

fn counted(bytes: &mut impl Read) -> io::Result<Vec<u8>> {
    let n = u64::try_from(long(bytes)?).ok().filter(|n| *n <= MOST_BYTES);
    let n = n.ok_or_else(|| io::Error::other("a length is out of bounds"))?;
    let mut found = Vec::new();
    bytes.take(n).read_to_end(&mut found)?;
    match found.len() as u64 == n {
        true => Ok(found),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Every record of a container in memory.
#[cfg(test)]
pub(super) fn tests_look(
    bytes: Vec<u8>,
    mapping: &Mapping,
    look: &mut dyn FnMut(&mut Picked<'_>) -> bool,
) -> Result<(), Error> {
    let origin = Origin::for_test();
    let mut container = Container::open(Box::new(io::Cursor::new(bytes)), &origin)?;
    let plan = container.plan_for(mapping)?;
    while let Some(block) = container.block()? {
        let unpacked =
            container.codec.unpacked(block.bytes).map_err(|error| damaged(&origin, error))?;
        plan.each(block.n_records, &unpacked, look).map_err(|_| unlike_schema(&origin))?;
    }
    Ok(())
}
