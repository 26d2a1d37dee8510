//! A release put together from its records as they come. It never holds more than the files that its manifest lists.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::io::{self, Write};

use super::super::contents::PATHS_CSV;
use super::super::disk::Hashed;
use super::super::manifest::{FileEntry, Manifest};
use super::super::paths::csv_into;
use super::super::signature::{self, SIGNATURE, SIGNATURE_MOST_BYTES};
use super::{End, FORMAT, Line, RecordKind, TopicRecord, file_record};
use crate::model::Digest;

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
    /// Every other file with its bytes, with the digests that the manifest gives, and SIGNATURE.
    pub files: BTreeMap<&'static str, Vec<u8>>,
    /// Files that the manifest lists and the topic does not hold: an earlier program sent none.
    pub absent: Vec<String>,
}

/// Why records do not make a release.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct RebuildError(String);

impl RebuildError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for RebuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Puts the records of one release together, in their order, and checks everything that can be checked.
pub fn rebuild(records: &[TopicRecord]) -> Result<Rebuilt, RebuildError> {
    let wrong = |what: &str| RebuildError::new(what);
    let [manifest, chunks @ .., end] = records else {
        return Err(wrong("it is incomplete: a manifest and an end belong to every release"));
    };
    if manifest.kind != RecordKind::Manifest {
        return Err(wrong("it does not begin with its manifest"));
    }
    if end.kind != RecordKind::End {
        return Err(wrong("it is incomplete: its end is missing"));
    }
    let mut gathering = Gathering::begin(manifest.payload.clone())?;
    for record in chunks {
        gathering.take(record)?;
    }
    gathering.end(&end.payload)
}

/// A release whose manifest is in and whose end is not.
pub struct Gathering {
    id: String,
    window: String,
    signed_by: Option<String>,
    manifest: Vec<u8>,
    listed: BTreeMap<String, FileEntry>,
    paths_csv: Vec<u8>,
    rows: Seen,
    files: BTreeMap<&'static str, Parts>,
    file_records: Seen,
}

/// Payloads of one kind that came by.
struct Seen {
    n: u64,
    hashed: Hashed<io::Sink>,
}

impl Seen {
    fn new() -> Self {
        Self { n: 0, hashed: Hashed::new(io::sink()) }
    }

    fn add(&mut self, payload: &[u8]) {
        self.n = self.n.saturating_add(1);
        self.hashed.write_all(payload).expect("nowhere is always writable");
    }

    fn digest(self) -> String {
        self.hashed.finish().0.sha256.to_string()
    }
}

/// A file whose first parts are in.
struct Parts {
    n: u64,
    of: u64,
    bytes: Vec<u8>,
}

impl Gathering {
    /// The first record of a release.
    pub fn begin(manifest: Vec<u8>) -> Result<Self, RebuildError> {
        let package = Manifest::read_intact(&manifest)
            .map_err(|error| RebuildError(format!("its manifest {error}")))?;
        let id = package.privacy.release_id;
        let window = window_name(&id).ok_or_else(|| RebuildError::new("its id names no window"))?;
        let mut listed = BTreeMap::new();
        for file in package.privacy.files {
            if let Some(twice) = listed.insert(file.name.clone(), file) {
                return Err(RebuildError(format!("its manifest lists {:?} twice", twice.name)));
            }
        }
        if !listed.contains_key(PATHS_CSV) {
            return Err(RebuildError(format!("its manifest does not list {PATHS_CSV}")));
        }
        let mut paths_csv = Vec::new();
        csv_into(&mut paths_csv).write_record(["count", "path"]).map_err(broken_row)?;
        Ok(Self {
            id,
            window,
            signed_by: package.privacy.signed_by,
            manifest,
            listed,
            paths_csv,
            rows: Seen::new(),
            files: BTreeMap::new(),
            file_records: Seen::new(),
        })
    }

    /// Bytes of all files that the manifest lists: it will hold so much, and never more.
    pub fn most_bytes_of_all(&self) -> u64 {
        self.listed.values().map(|file| file.bytes).fold(0, u64::saturating_add)
    }

    /// Its id, as the manifest says.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// One of the records between manifest and end.
    pub fn take(&mut self, record: &TopicRecord) -> Result<(), RebuildError> {
        match record.kind {
            RecordKind::Paths => self.rows(&record.payload),
            RecordKind::File => self.part(&record.payload),
            RecordKind::Manifest | RecordKind::End => {
                Err(RebuildError::new("records of two releases are mixed"))
            }
        }
    }

    fn rows(&mut self, payload: &[u8]) -> Result<(), RebuildError> {
        self.rows.add(payload);
        let most = self.most_bytes(PATHS_CSV)?;
        let mut csv = csv_into(&mut self.paths_csv);
        for line in payload.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let Line { count, path } = serde_json::from_slice(line).map_err(broken_row)?;
            csv.write_record([&count.to_string(), path.as_ref()]).map_err(broken_row)?;
        }
        csv.flush().map_err(broken_row)?;
        drop(csv);
        within(PATHS_CSV, self.paths_csv.len(), most)
    }

    fn part(&mut self, payload: &[u8]) -> Result<(), RebuildError> {
        self.file_records.add(payload);
        let part = file_record::read(payload)?;
        let name = part.name;
        if name == PATHS_CSV {
            return Err(RebuildError(format!("it has {name} as a file, and as rows")));
        }
        let most = self.most_bytes(name)?;
        let file = match self.files.entry(name) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => place.insert(Parts { n: 0, of: part.parts, bytes: Vec::new() }),
        };
        let next = file.n.saturating_add(1);
        if (part.part, part.parts) != (next, file.of) {
            return Err(RebuildError(format!(
                "part {} of {} of {name} is where part {} of {} belongs",
                part.part, part.parts, next, file.of
            )));
        }
        within(name, file.bytes.len().saturating_add(part.bytes.len()), most)?;
        file.n = next;
        file.bytes.extend_from_slice(part.bytes);
        Ok(())
    }

    /// How long a file may be.
    fn most_bytes(&self, name: &str) -> Result<u64, RebuildError> {
        match self.listed.get(name) {
            Some(file) => Ok(file.bytes),
            None if name == SIGNATURE => Ok(SIGNATURE_MOST_BYTES),
            None => Err(RebuildError(format!("it has {name}, which its manifest does not list"))),
        }
    }

    /// The last record of a release.
    pub fn end(self, payload: &[u8]) -> Result<Rebuilt, RebuildError> {
        let end: End = serde_json::from_slice(payload)
            .map_err(|error| RebuildError(format!("its end cannot be read: {error}")))?;
        if !(1..=FORMAT).contains(&end.format) {
            return Err(RebuildError(format!(
                "its end has format {}; this program knows the formats 1 to {FORMAT}: export it with the tapveil that \
                 wrote it, or a newer one",
                end.format
            )));
        }
        counted("chunks", self.rows, end.chunks, &end.sha256)?;
        // Without files there is nothing to digest in format 1.
        let none = Digest::of(b"").to_string();
        let file_sha256 = end.file_sha256.as_deref().unwrap_or(&none);
        counted("chunks of files", self.file_records, end.file_chunks, file_sha256)?;
        fits(&self.listed[PATHS_CSV], &self.paths_csv)?;
        let mut files = BTreeMap::new();
        for (name, file) in self.files {
            if file.n != file.of {
                return Err(RebuildError(format!("{name} has {} parts of {}", file.n, file.of)));
            }
            if let Some(listed) = self.listed.get(name) {
                fits(listed, &file.bytes)?;
            }
            files.insert(name, file.bytes);
        }
        let names = self.listed.into_keys();
        let absent: Vec<String> =
            names.filter(|name| name != PATHS_CSV && !files.contains_key(name.as_str())).collect();
        if end.format > 1 {
            if let Some(name) = absent.first() {
                return Err(RebuildError(format!("it is incomplete: {name:?} is missing")));
            }
            check_signature(&files, &self.manifest, self.signed_by.as_deref())?;
        }
        Ok(Rebuilt {
            id: self.id,
            window: self.window,
            manifest: self.manifest,
            paths_csv: self.paths_csv,
            files,
            absent,
        })
    }
}

fn broken_row(error: impl fmt::Display) -> RebuildError {
    RebuildError(format!("a row cannot be read: {error}"))
}

/// A topic may hold anything: what is longer than it should be is refused before it fills the memory.
fn within(name: &str, n_bytes: usize, most: u64) -> Result<(), RebuildError> {
    match n_bytes as u64 <= most {
        true => Ok(()),
        false => Err(RebuildError(format!("its {name} is longer than {most} bytes"))),
    }
}

fn counted(what: &str, seen: Seen, n: u64, sha256: &str) -> Result<(), RebuildError> {
    if seen.n != n {
        return Err(RebuildError(format!("it has {} {what} of {n}", seen.n)));
    }
    match seen.digest() == sha256 {
        true => Ok(()),
        false => Err(RebuildError(format!("its {what} are not those that its end digests"))),
    }
}

fn fits(listed: &FileEntry, bytes: &[u8]) -> Result<(), RebuildError> {
    match listed.sha256 == Digest::of(bytes).to_string() {
        true => Ok(()),
        false => Err(RebuildError(format!(
            "its records do not give the {} that its manifest digests",
            listed.name
        ))),
    }
}

fn check_signature(
    files: &BTreeMap<&'static str, Vec<u8>>,
    manifest: &[u8],
    signed_by: Option<&str>,
) -> Result<(), RebuildError> {
    let fault = match (files.get(SIGNATURE), signed_by) {
        (None, None) => None,
        (None, Some(_)) => Some("is missing".to_owned()),
        (Some(_), None) => Some("is there, but the manifest names no key".to_owned()),
        (Some(line), Some(key)) => signature::fault(line, manifest, key),
    };
    fault.map_or(Ok(()), |what| Err(RebuildError(format!("its {SIGNATURE} {what}"))))
}

/// Whether a text can be the id of a release. Nothing else is printed or becomes a directory.
pub fn is_release_id(text: &str) -> bool {
    window_name(text).is_some()
}

/// An id is the window's name, a hyphen and twelve digits. It becomes a directory, so nothing else may be in it.
pub(super) fn window_name(id: &str) -> Option<String> {
    let (window, digits) = id.rsplit_once('-')?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '+';
    let is_name = !window.is_empty() && !digits.is_empty() && id.chars().all(is_plain);
    is_name.then(|| window.to_owned())
}
