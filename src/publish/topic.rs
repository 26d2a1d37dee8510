//! A release as records of a topic: the manifest, the rows of paths.csv as JSON lines in chunks, every other file in
//! chunks of bytes, and an end that counts and digests both. Recipients rebuild the directory from it byte by byte.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

mod file_record;
mod gathering;

pub use gathering::{Gathering, RebuildError, Rebuilt, is_release_id, rebuild};

use serde::{Deserialize, Serialize};

use crate::engine::ReleaseId;
use crate::model::Digest;
use crate::protocol::{OutRecord, Topic};

use super::contents::PATHS_CSV;
use super::rendered::Rendered;
use super::signature::SIGNATURE;
use super::{Error, Sink, Standing};

/// The form of the records that this program writes; their end says it. The first one said nothing and had no files.
const FORMAT: u32 = 2;

/// A chunk stays below this; only a single row that is longer would make a longer one.
pub const CHUNK_BYTES: usize = 512 * 1024;

/// What a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// The bytes of datapackage.json.
    Manifest,
    /// Some rows.
    Paths,
    /// A part of a file that does not follow from the manifest and the rows.
    File,
    /// How many chunks there were, and their digest.
    End,
}

impl RecordKind {
    /// The header's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Paths => "paths",
            Self::File => "file",
            Self::End => "end",
        }
    }

    /// Reads a header's value back.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Manifest, Self::Paths, Self::File, Self::End]
            .into_iter()
            .find(|kind| kind.name().as_bytes() == name)
    }
}

/// One record of a release; its key is the release's id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicRecord {
    pub kind: RecordKind,
    pub payload: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    count: u64,
    #[serde(borrow)]
    path: std::borrow::Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct End {
    /// Absent: 1.
    #[serde(default = "first_format")]
    format: u32,
    chunks: u64,
    sha256: String,
    /// Records of files, and the digest of them all. Absent in format 1.
    #[serde(default)]
    file_chunks: u64,
    #[serde(default)]
    file_sha256: Option<String>,
}

fn first_format() -> u32 {
    1
}

/// The topic of the releases. Its records appear with the settlement, not before.
pub struct ReleaseTopic;

impl Sink for ReleaseTopic {
    /// A topic takes every release.
    fn preflight(&mut self, _: &ReleaseId) -> Result<(), Error> {
        Ok(())
    }

    fn publish(&mut self, rendered: &Rendered) -> Result<Vec<OutRecord>, Error> {
        let key = rendered.id.as_str().as_bytes();
        let out = |record: TopicRecord| OutRecord {
            topic: Topic::Releases,
            key: Some(key.to_vec()),
            header: Some(record.kind.name()),
            payload: record.payload,
        };
        Ok(records_of(rendered).into_iter().map(out).collect())
    }

    /// What stands in the topic is looked at where a new ledger would be opened, and nowhere else.
    fn standing(&mut self) -> Result<Vec<Standing>, Error> {
        Ok(Vec::new())
    }
}

/// The records of a release: the same bytes as those of the files that [`Files`](super::Files) writes, in chunks, and
/// the rows of the same paths.csv.
pub fn records_of(rendered: &Rendered) -> Vec<TopicRecord> {
    let mut rows = Chunks::default();
    let mut csv = csv::ReaderBuilder::new().from_reader(rendered.paths_csv().bytes.as_slice());
    for row in csv.records() {
        let row = row.expect("P-1: paths.csv was written a moment ago");
        rows.row(row[0].parse().expect("P-1: a count is a number"), &row[1]);
    }
    rows.cut();
    let others = rendered.files.iter().filter(|file| file.name != PATHS_CSV);
    let others = others.map(|file| (file.name, &file.bytes));
    let files: Vec<Vec<u8>> = others
        .chain([(SIGNATURE, &rendered.signature)])
        .flat_map(|(name, bytes)| file_record::parts_of(name, bytes))
        .collect();
    let end = End {
        format: FORMAT,
        chunks: rows.done.len() as u64,
        sha256: Digest::of(&rows.done.concat()).to_string(),
        file_chunks: files.len() as u64,
        file_sha256: Some(Digest::of(&files.concat()).to_string()),
    };
    let record = |kind, payload| TopicRecord { kind, payload };
    let mut records = vec![record(RecordKind::Manifest, rendered.manifest.clone())];
    records.extend(rows.done.into_iter().map(|chunk| record(RecordKind::Paths, chunk)));
    records.extend(files.into_iter().map(|part| record(RecordKind::File, part)));
    records.push(record(RecordKind::End, json(&end)));
    records
}

/// Rows, gathered into chunks of whole lines.
#[derive(Default)]
struct Chunks {
    done: Vec<Vec<u8>>,
    open: Vec<u8>,
}

impl Chunks {
    fn row(&mut self, count: u64, path: &str) {
        let mut line = json(&Line { count, path: path.into() });
        line.push(b'\n');
        if self.open.len().saturating_add(line.len()) >= CHUNK_BYTES {
            self.cut();
        }
        self.open.extend_from_slice(&line);
    }

    fn cut(&mut self) {
        if !self.open.is_empty() {
            self.done.push(std::mem::take(&mut self.open));
        }
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data with text keys")
}

#[cfg(test)]
mod tests;
