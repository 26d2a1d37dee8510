//! Comma-separated values: a file with a header, or messages without one. A record never spans lines.

use std::borrow::Cow;
use std::sync::Arc;

use super::Wanted;
use super::mapping::NAMES_MAX;
use super::{Below, Format, Mapping, MissingColumns, Registration, begins_with_object, text};
use crate::declare::{Declared, Names, Section};
use crate::model::Reject;
use crate::passenger::Picked;

pub(super) const REGISTRATION: Registration = Registration {
    name: "csv",
    about: "comma-separated values; a file has a header, a message has none",
    sections: || vec![Section::of::<CsvKeys>("feed.csv")],
    build: |values, mapping, _| {
        let keys = CsvKeys::read(&mut values.below("csv"))?;
        let csv = Csv::new(mapping, keys.columns)
            .map_err(|missing| values.below("csv").complain("columns", missing))
            .ok()?;
        Some(Arc::new(csv))
    },
};

crate::keys! {
    /// For feed.format = "csv".
    pub(super) struct CsvKeys {
        /// names of the columns of a message, which has no header, in order. Left out: card, station, time, then the
        /// field of feed.kind, then those of feed.keep by name
        columns: Names = optional(["card", "station", "time", "fare"]);
    }
}

/// CSV records below one header, or messages.
#[derive(Clone, Debug)]
pub(super) struct Csv {
    mapping: Mapping,
    wanted: Wanted,
    /// The index of the column of each wanted name; [`ABSENT`] where there is none.
    columns: [usize; NAMES_MAX],
    n_columns: usize,
    /// The names of a message's columns.
    message: Vec<String>,
}

const ABSENT: usize = usize::MAX;
const REMEDY: &str = "set feed.fields to the names that the file uses";

impl Csv {
    /// For messages with these columns.
    pub(super) fn new(mapping: Mapping, columns: Option<Names>) -> Result<Self, MissingColumns> {
        let wanted = Wanted::new(&mapping);
        let message = columns.map_or_else(|| wanted.names.clone(), |columns| columns.0);
        let (columns, n_columns) = find(&wanted, &message)?;
        Ok(Self { mapping, wanted, columns, n_columns, message })
    }

    /// For the records of a file with this header.
    pub(super) fn with_header(&self, header: &str) -> Result<Self, MissingColumns> {
        let header = header.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
        let names = split(header).unwrap_or_default();
        let (columns, n_columns) = find(&self.wanted, &names)?;
        Ok(Self { columns, n_columns, ..self.clone() })
    }

    /// Whether the wanted columns stand where a message has them.
    pub(super) fn is_like(&self, messages: &Self) -> bool {
        self.columns == messages.columns
    }

    pub(super) fn pick_text<'a>(&self, line: &'a str) -> Result<Picked<'a>, Reject> {
        if memchr::memchr(b'"', line.as_bytes()).is_some() {
            let fields = split(line).ok_or(Reject::Malformed)?;
            let mut found: [Option<Cow<'a, str>>; NAMES_MAX] = std::array::from_fn(|index| {
                fields.get(self.columns[index]).map(|field| Cow::Owned(field.trim().to_owned()))
            });
            return Ok(self.wanted.picked(&mut found));
        }
        // Nearly every feed wants three columns: a short list is searched twice as fast.
        Ok(match self.wanted.names.len() {
            Wanted::PLAIN => self.wanted.picked(&mut self.scan::<{ Wanted::PLAIN }>(line)),
            _ => self.wanted.picked(&mut self.scan::<NAMES_MAX>(line)),
        })
    }

    /// The wanted fields of a line without quotes.
    fn scan<'a, const N: usize>(&self, line: &'a str) -> [Option<&'a str>; N] {
        let mut found = [None; N];
        let mut n_found = 0;
        for (index, field) in line.split(',').enumerate() {
            for (value, wanted) in found.iter_mut().zip(&self.columns) {
                if *wanted == index {
                    *value = Some(field.trim());
                    n_found += 1;
                }
            }
            if n_found == self.n_columns {
                break;
            }
        }
        found
    }
}

impl Format for Csv {
    fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    fn recognizes(&self, first: &[u8]) -> bool {
        !begins_with_object(first)
    }

    fn has_header(&self, _: &[u8]) -> bool {
        true
    }

    fn below(&self, header: &str) -> Result<Below, MissingColumns> {
        let csv = self.with_header(header)?;
        Ok(Below { is_like_messages: csv.is_like(self), format: Arc::new(csv) })
    }

    fn header(&self) -> Option<Vec<u8>> {
        Some(line(self.message.iter().map(String::as_str)))
    }

    fn pick<'a>(&self, record: &'a [u8]) -> Result<Picked<'a>, Reject> {
        self.pick_text(text(record)?)
    }

    fn encode(&self, picked: &Picked<'_>) -> Vec<u8> {
        let value = |name: &String| {
            let index = self.wanted.find(name)?;
            self.wanted.value(picked, index)
        };
        line(self.message.iter().map(|name| value(name).unwrap_or_default()))
    }
}

/// The index of the column of each wanted name, and how many there are; or the names that are not there.
fn find(wanted: &Wanted, names: &[String]) -> Result<([usize; NAMES_MAX], usize), MissingColumns> {
    let mut columns = [ABSENT; NAMES_MAX];
    for (column, wanted) in columns.iter_mut().zip(&wanted.names) {
        *column = names.iter().position(|name| name.trim() == wanted).unwrap_or(ABSENT);
    }
    let required = || (0..wanted.names.len()).filter(|index| !wanted.is_optional(*index));
    let named = |indexes: Vec<usize>| {
        indexes.into_iter().map(|index| wanted.names[index].clone()).collect()
    };
    let missing: Vec<usize> = required().filter(|index| columns[*index] == ABSENT).collect();
    match missing.is_empty() {
        true => Ok((columns, columns.iter().filter(|column| **column != ABSENT).count())),
        false => Err(MissingColumns {
            wanted: named(required().collect()),
            missing: named(missing),
            remedy: REMEDY,
        }),
    }
}

/// All fields of a line with quotes; `None` if a quote is never closed.
fn split(line: &str) -> Option<Vec<String>> {
    if memchr::memchr_iter(b'"', line.as_bytes()).count() % 2 == 1 {
        return None;
    }
    let mut record = ::csv::StringRecord::new();
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    match reader.read_record(&mut record) {
        Ok(true) => Some(record.iter().map(str::to_owned).collect()),
        _ => None,
    }
}

/// A line with these fields, quoted where they must be.
fn line<'a>(fields: impl Iterator<Item = &'a str> + Clone) -> Vec<u8> {
    let is_plain = |field: &str| {
        !field.is_empty() && !field.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n'))
    };
    if fields.clone().all(is_plain) {
        return fields.collect::<Vec<_>>().join(",").into_bytes();
    }
    let mut writer = ::csv::Writer::from_writer(Vec::with_capacity(64));
    writer.write_record(fields).expect("memory takes any text");
    let mut line = writer.into_inner().expect("memory takes any text");
    line.pop();
    line
}
