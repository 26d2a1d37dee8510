//! The values of one section as they were written, and the complaints met so far.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::Leaf;

/// Something that cannot be, at a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Complaint {
    /// The dotted name of the key or section.
    pub key: String,
    /// What is wrong and what to write instead.
    pub what: String,
}

/// The written values of one section.
pub struct Values<'a> {
    path: String,
    table: Option<&'a Map<String, Value>>,
    complaints: &'a mut Vec<Complaint>,
}

impl<'a> Values<'a> {
    /// The values of the section at this path; `None` if the section was not written.
    pub fn new(
        path: &str,
        table: Option<&'a Map<String, Value>>,
        complaints: &'a mut Vec<Complaint>,
    ) -> Self {
        Self { path: path.to_owned(), table, complaints }
    }

    /// The values of a section below this one.
    pub fn below(&mut self, name: &str) -> Values<'_> {
        let table = self.table.and_then(|table| table.get(name)).and_then(Value::as_object);
        Values { path: self.dotted(name), table, complaints: self.complaints }
    }

    /// Whether this key was written.
    pub fn is_written(&self, name: &str) -> bool {
        self.written(name).is_some()
    }

    /// Notes a complaint about a key of this section.
    pub fn complain(&mut self, name: &str, what: impl Display) {
        let key = self.dotted(name);
        self.complaints.push(Complaint { key, what: what.to_string() });
    }

    /// Notes a complaint about a key of any section.
    pub fn complain_at(&mut self, key: &str, what: impl Display) {
        self.complaints.push(Complaint { key: key.to_owned(), what: what.to_string() });
    }

    /// A key that has a default.
    pub fn or_default<T: Leaf>(&mut self, name: &str, default: &Value) -> Option<T> {
        match self.written(name) {
            Some(value) => self.read(name, value),
            None => Some(
                T::read(default)
                    .expect("a default is a value of its own type; a test reads them all"),
            ),
        }
    }

    /// A key that must be written.
    pub fn required<T: Leaf>(&mut self, name: &str, example: &Value) -> Option<T> {
        match self.written(name) {
            Some(value) => self.read(name, value),
            None => {
                self.complain(name, format_args!("is required, e.g. {name} = {}", inline(example)));
                None
            }
        }
    }

    /// A key that may be left out. The outer `None` is a complaint.
    pub fn optional<T: Leaf>(&mut self, name: &str) -> Option<Option<T>> {
        match self.written(name) {
            Some(value) => self.read(name, value).map(Some),
            None => Some(None),
        }
    }

    fn read<T: Leaf>(&mut self, name: &str, value: &Value) -> Option<T> {
        T::read(value).map_err(|what| self.complain(name, what)).ok()
    }

    fn written(&self, name: &str) -> Option<&'a Value> {
        self.table.and_then(|table| table.get(name))
    }

    fn dotted(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

/// A value as TOML would have it on one line.
pub fn inline(value: &Value) -> String {
    match value {
        Value::Object(table) if table.is_empty() => "{}".to_owned(),
        Value::Object(table) => {
            let entry =
                |(name, value): (&String, &Value)| format!("{} = {}", quoted(name), inline(value));
            format!("{{ {} }}", table.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn quoted(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}
