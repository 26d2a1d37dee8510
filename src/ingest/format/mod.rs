//! How a record is written. A format is one file here and one line of [`STANDARD`].
//!
//! In → out: the bytes of a record ↔ its named fields.
//! Promises: I-4 what `encode` writes, `pick` reads; I-5 a format's name, keys and records are known to its own file
//!   alone.
//! Refuses: records that are not in the format, and headers that lack a column that is wanted.
//! Why: decoder, configuration and commands work for a format they have never heard of.

mod avro;
mod csv;
mod json;
mod mapping;
mod tides;

pub(super) use avro::{AvroData, ContainerPlan};
pub(super) use mapping::Wanted;
pub use mapping::{Fields, KeepRule, KindRule, Mapping, ValueTable};

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::RECORD_BYTES_MAX;
use crate::declare::{Section, Values};
use crate::model::Reject;
use crate::passenger::Picked;

/// Every format of this program, the default first.
pub const STANDARD: &[Registration] =
    &[json::REGISTRATION, csv::REGISTRATION, tides::REGISTRATION, avro::REGISTRATION];

/// Builds a format from the values of `[feed]`, for records with these fields; files that it names lie beside this
/// path. All complaints at once.
pub type Build = fn(&mut Values<'_>, Mapping, &Path) -> Option<Arc<dyn Format>>;

/// What the program knows about a format before it is configured.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// Its name in the configuration.
    pub name: &'static str,
    /// One line for the list of formats.
    pub about: &'static str,
    /// The keys of `[feed.<name>]`, if it has any.
    pub sections: fn() -> Vec<Section>,
    /// Builds it.
    pub build: Build,
}

/// The format of this name.
pub fn find(name: &str) -> Option<&'static Registration> {
    STANDARD.iter().find(|registration| registration.name == name)
}

/// The names of all formats, the default first.
pub fn names() -> Vec<&'static str> {
    STANDARD.iter().map(|registration| registration.name).collect()
}

impl Registration {
    /// The format with every key left out.
    pub fn with_defaults(&self, mapping: Mapping) -> Option<Arc<dyn Format>> {
        (self.build)(&mut Values::new("feed", None, &mut Vec::new()), mapping, Path::new("."))
    }
}

/// A format that can read a file that begins with these bytes, for records with these fields.
pub fn recognized(first: &[u8], mapping: &Mapping) -> Option<Arc<dyn Format>> {
    let built = STANDARD.iter().filter_map(|one| one.with_defaults(mapping.clone()));
    built.into_iter().find(|format| format.recognizes(first))
}

/// A format as a feed has configured it.
pub trait Format: fmt::Debug + Send + Sync {
    /// Which fields it looks for, and which records it keeps.
    fn mapping(&self) -> &Mapping;

    /// Whether a file that begins with these bytes can be in this format.
    fn recognizes(&self, first: &[u8]) -> bool;

    /// Whether the first line of a file that begins with these bytes is a header.
    fn has_header(&self, first: &[u8]) -> bool;

    /// The format of the records below this header.
    fn below(&self, header: &str) -> Result<Below, MissingColumns>;

    /// The header of a file that is written with [`Format::encode`], if it has one.
    fn header(&self) -> Option<Vec<u8>>;

    /// Learns what is needed to read this record, from outside if it must. An error is no reject: the record is read
    /// again later.
    fn prepare(&self, _: &[u8]) -> Result<(), Outage> {
        Ok(())
    }

    /// The fields of one record. A field that is not there is empty.
    fn pick<'a>(&self, record: &'a [u8]) -> Result<Picked<'a>, Reject>;

    /// Takes out what the format writes for a missing value. For records of a columnar file, which no `pick` saw.
    fn clean(&self, _: &mut Picked<'_>) {}

    /// What of its options can change a release; `None`: all of them, as they were written.
    fn identity(&self) -> Option<String> {
        None
    }

    /// Whether [`Format::encode`] knows what to write; otherwise what to configure.
    fn writes(&self) -> Result<(), &'static str> {
        Ok(())
    }

    /// A record with these fields, without a line feed.
    fn encode(&self, picked: &Picked<'_>) -> Vec<u8>;
}

/// Something outside that a format needs does not answer. What was not decoded must be read again.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Outage(String);

/// What a header says.
#[derive(Debug)]
pub struct Below {
    /// Reads the records below it.
    pub format: Arc<dyn Format>,
    /// Whether these records mean the same without the header, as messages.
    pub is_like_messages: bool,
}

/// A header that lacks columns. The text of the header is no part of it: a file without a header begins with a card.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingColumns {
    /// Columns that a header must have.
    pub wanted: Vec<String>,
    /// Those that are not there.
    pub missing: Vec<String>,
    /// What to do about it.
    pub remedy: &'static str,
}

impl fmt::Display for MissingColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wanted, missing) = (self.wanted.join(", "), self.missing.join(", "));
        write!(
            f,
            "the header must have the columns {wanted}, but {missing} is missing; {}",
            self.remedy
        )
    }
}

/// The text of a record in a format that is text.
fn text(record: &[u8]) -> Result<&str, Reject> {
    let record = record.strip_suffix(b"\r").unwrap_or(record);
    // Some programs begin a file with a byte order mark; it is no part of the first record.
    let record = record.strip_prefix("\u{feff}".as_bytes()).unwrap_or(record);
    if record.trim_ascii().is_empty() {
        return Err(Reject::Empty);
    }
    if record.len() > RECORD_BYTES_MAX {
        return Err(Reject::TooLong);
    }
    std::str::from_utf8(record).map_err(|_| Reject::NotUtf8)
}

/// Whether a file begins like a JSON object.
fn begins_with_object(first: &[u8]) -> bool {
    let first = first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(first);
    first.trim_ascii_start().first() == Some(&b'{')
}

#[cfg(test)]
mod tests;
