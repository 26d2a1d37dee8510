//! A release as records of a topic: the manifest, the rows of paths.csv as JSON lines in chunks, and an end that
//! counts and digests the chunks. Recipients rebuild paths.csv from it byte by byte.

use std::fmt;
use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::engine::ReleaseId;
use crate::model::Digest;
use crate::protocol::{OutRecord, Topic};

use super::contents::PATHS_CSV;
use super::disk::digest_of;
use super::manifest::Manifest;
use super::paths::csv_into;
use super::rendered::Rendered;
use super::{Error, Sink, Standing};

/// A chunk stays below this; only a single row that is longer would make a longer one.
pub const CHUNK_BYTES: usize = 512 * 1024;

/// What a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// The bytes of datapackage.json.
    Manifest,
    /// Some rows.
    Paths,
    /// How many chunks there were, and their digest.
    End,
}

impl RecordKind {
    /// The header's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Paths => "paths",
            Self::End => "end",
        }
    }

    /// Reads a header's value back.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Manifest, Self::Paths, Self::End]
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
    chunks: u64,
    sha256: String,
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

/// The records of a release. The manifest has the same bytes as the one that [`Files`](super::Files) writes, and the
/// rows are those of the same paths.csv.
pub fn records_of(rendered: &Rendered) -> Vec<TopicRecord> {
    records(rendered.manifest.clone(), |chunks| {
        let mut rows = csv::ReaderBuilder::new().from_reader(rendered.paths_csv().bytes.as_slice());
        for row in rows.records() {
            let row = row.expect("P-1: paths.csv was written a moment ago");
            chunks.row(row[0].parse().expect("P-1: a count is a number"), &row[1]);
        }
    })
}

/// A manifest and rows as records.
fn records(manifest: Vec<u8>, fill: impl FnOnce(&mut Chunks)) -> Vec<TopicRecord> {
    let mut chunks = Chunks::default();
    fill(&mut chunks);
    chunks.cut();
    let whole: Vec<u8> = chunks.done.concat();
    let end = End { chunks: chunks.done.len() as u64, sha256: Digest::of(&whole).to_string() };
    let record = |kind, payload| TopicRecord { kind, payload };
    let mut records = vec![record(RecordKind::Manifest, manifest)];
    records.extend(chunks.done.into_iter().map(|chunk| record(RecordKind::Paths, chunk)));
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
        if self.open.len() + line.len() >= CHUNK_BYTES {
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

/// A release that came out of its records whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rebuilt {
    /// Its id, as the manifest says.
    pub id: String,
    /// The window's name, as a directory.
    pub window: String,
    /// datapackage.json.
    pub manifest: Vec<u8>,
    /// paths.csv, with the digest that the manifest gives.
    pub paths_csv: Vec<u8>,
    /// Files that the manifest lists and the topic does not hold.
    pub absent: Vec<String>,
}

/// Why records do not make a release.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct RebuildError(String);

impl fmt::Display for RebuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Puts the records of one release together, in their order, and checks everything that can be checked.
pub fn rebuild(records: &[TopicRecord]) -> Result<Rebuilt, RebuildError> {
    let wrong = |what: &str| RebuildError(what.to_owned());
    let [manifest, chunks @ .., end] = records else {
        return Err(wrong("it is incomplete: a manifest and an end belong to every release"));
    };
    if manifest.kind != RecordKind::Manifest {
        return Err(wrong("it does not begin with its manifest"));
    }
    if end.kind != RecordKind::End {
        return Err(wrong("it is incomplete: its end is missing"));
    }
    if chunks.iter().any(|record| record.kind != RecordKind::Paths) {
        return Err(wrong("records of two releases are mixed"));
    }
    let end: End = serde_json::from_slice(&end.payload)
        .map_err(|error| RebuildError(format!("its end cannot be read: {error}")))?;
    if end.chunks != chunks.len() as u64 {
        return Err(RebuildError(format!("it has {} chunks of {}", chunks.len(), end.chunks)));
    }
    let whole = digest_of(|out| chunks.iter().try_for_each(|chunk| out.write_all(&chunk.payload)))
        .expect("nowhere is always writable");
    if whole.sha256.to_string() != end.sha256 {
        return Err(wrong("its chunks are not those that its end digests"));
    }
    let package = Manifest::read_intact(&manifest.payload)
        .map_err(|error| RebuildError(format!("its manifest {error}")))?;
    let paths_csv = paths_csv(chunks)?;
    let promised = package.privacy.files.iter().find(|file| file.name == PATHS_CSV);
    if promised.is_none_or(|file| file.sha256 != Digest::of(&paths_csv).to_string()) {
        return Err(wrong("its rows do not give the paths.csv that its manifest digests"));
    }
    let id = package.privacy.release_id;
    let names = package.privacy.files.into_iter().map(|file| file.name);
    Ok(Rebuilt {
        window: window_name(&id).ok_or_else(|| wrong("its id names no window"))?,
        id,
        manifest: manifest.payload.clone(),
        paths_csv,
        absent: names.filter(|name| name != PATHS_CSV).collect(),
    })
}

fn paths_csv(chunks: &[TopicRecord]) -> Result<Vec<u8>, RebuildError> {
    let broken = |error: &dyn fmt::Display| RebuildError(format!("a row cannot be read: {error}"));
    let mut bytes = Vec::new();
    let mut csv = csv_into(&mut bytes);
    csv.write_record(["count", "path"]).map_err(|error| broken(&error))?;
    for chunk in chunks {
        for line in chunk.payload.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let Line { count, path } =
                serde_json::from_slice(line).map_err(|error| broken(&error))?;
            csv.write_record([&count.to_string(), path.as_ref()])
                .map_err(|error| broken(&error))?;
        }
    }
    csv.flush().map_err(|error| broken(&error))?;
    drop(csv);
    Ok(bytes)
}

/// An id is the window's name, a hyphen and twelve digits. It becomes a directory, so nothing else may be in it.
fn window_name(id: &str) -> Option<String> {
    let (window, digits) = id.rsplit_once('-')?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '+';
    let is_name = !window.is_empty() && !digits.is_empty() && id.chars().all(is_plain);
    is_name.then(|| window.to_owned())
}

#[cfg(test)]
mod tests;
