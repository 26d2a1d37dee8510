//! A part of a file as a record: one line of JSON that says which file and which part, then the bytes themselves.

use serde::{Deserialize, Serialize};

use super::super::contents::NAMES;
use super::super::signature::SIGNATURE;
use super::gathering::RebuildError;
use super::{CHUNK_BYTES, json};

/// More than any first line; what is longer is not read.
const LINE_MOST_BYTES: usize = 1 << 10;

#[derive(Serialize, Deserialize)]
struct FirstLine<'a> {
    #[serde(borrow)]
    name: std::borrow::Cow<'a, str>,
    /// From 1 on.
    part: u64,
    parts: u64,
}

/// A record that was read.
pub(super) struct Part<'a> {
    /// One of the names that a file of a release can have.
    pub(super) name: &'static str,
    /// From 1 on, at most `parts`.
    pub(super) part: u64,
    pub(super) parts: u64,
    pub(super) bytes: &'a [u8],
}

/// A file as the payloads of its records; an empty file has one.
pub(super) fn parts_of(name: &str, bytes: &[u8]) -> Vec<Vec<u8>> {
    let most = CHUNK_BYTES - LINE_MOST_BYTES;
    let mut pieces: Vec<&[u8]> = bytes.chunks(most).collect();
    if pieces.is_empty() {
        pieces.push(&[]);
    }
    let parts = pieces.len() as u64;
    let payload = |(part, piece): (u64, &[u8])| {
        let mut payload = json(&FirstLine { name: name.into(), part, parts });
        payload.push(b'\n');
        payload.extend_from_slice(piece);
        payload
    };
    (1..).zip(pieces).map(payload).collect()
}

/// Reads a payload. The name is checked here: it becomes a file.
pub(super) fn read(payload: &[u8]) -> Result<Part<'_>, RebuildError> {
    let end = payload.iter().take(LINE_MOST_BYTES).position(|&byte| byte == b'\n');
    let end = end.ok_or_else(|| RebuildError::new("a record of a file has no first line"))?;
    let (line, bytes) = (&payload[..end], &payload[end.saturating_add(1)..]);
    let line: FirstLine<'_> = serde_json::from_slice(line).map_err(|error| {
        RebuildError::new(format!("the first line of a file's record cannot be read: {error}"))
    })?;
    let FirstLine { name, part, parts } = line;
    let mut known = NAMES.into_iter().chain([SIGNATURE]);
    let Some(name) = known.find(|&known| known == name) else {
        return Err(RebuildError::new(format!("it has a file {name:?}, which no release has")));
    };
    match (1..=parts).contains(&part) {
        true => Ok(Part { name, part, parts, bytes }),
        false => Err(RebuildError::new(format!("part {part} of {parts} of {name} cannot be"))),
    }
}
