//! The text of a configuration as a tree of values, each with its place in the text; complaints with line and column.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::FREE;
use crate::declare::{Complaint, Declared, Section, Values};

/// A configuration as it was written.
pub(super) struct File<'a> {
    text: &'a str,
    root: Map<String, Value>,
    /// Where each key and section stands, by dotted name.
    offsets: BTreeMap<String, usize>,
    complaints: Vec<Complaint>,
}

impl<'a> File<'a> {
    /// Reads the text. A text that is not TOML is one complaint.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let table = DeTable::parse(text).map_err(|error| {
            let position = error.span().map(|span| position(text, span.start)).unwrap_or_default();
            format!("{position}it is not TOML: {}", error.message())
        })?;
        let mut offsets = BTreeMap::new();
        let root = plain_table(table.get_ref(), "", &mut offsets);
        Ok(Self { text, root, offsets, complaints: Vec::new() })
    }

    /// The value at a dotted name, as it was written.
    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        key.split('.').try_fold(None, |table: Option<&Value>, name| {
            let next = match table {
                None => self.root.get(name),
                Some(table) => table.get(name),
            };
            next.map(Some)
        })?
    }

    /// Puts another value in place of what the user wrote at a dotted name.
    pub(super) fn replace(&mut self, key: &str, value: Value) {
        if let Some((table, name)) = self.table_of(key) {
            table.insert(name.to_owned(), value);
        }
    }

    /// Takes away what the user wrote at a dotted name, after a complaint about it.
    pub(super) fn remove(&mut self, key: &str) {
        if let Some((table, name)) = self.table_of(key) {
            table.remove(name);
        }
    }

    fn table_of<'k>(&mut self, key: &'k str) -> Option<(&mut Map<String, Value>, &'k str)> {
        let (path, name) = key.rsplit_once('.').unwrap_or(("", key));
        let mut table = &mut self.root;
        for part in path.split('.').filter(|part| !part.is_empty()) {
            table = table.get_mut(part)?.as_object_mut()?;
        }
        Some((table, name))
    }

    /// Whether the user wrote this key.
    pub(super) fn is_written(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// The written values of a section.
    pub(super) fn values(&mut self, path: &str) -> Values<'_> {
        let mut table = Some(&self.root);
        for name in path.split('.').filter(|name| !name.is_empty()) {
            table = table.and_then(|table| table.get(name)).and_then(Value::as_object);
        }
        Values::new(path, table, &mut self.complaints)
    }

    /// Reads a section.
    pub(super) fn section<T: Declared>(&mut self, path: &str) -> Option<T> {
        T::read(&mut self.values(path))
    }

    /// Notes a complaint about a key.
    pub(super) fn complain(&mut self, key: &str, what: impl std::fmt::Display) {
        self.complaints.push(Complaint { key: key.to_owned(), what: what.to_string() });
    }

    /// Whether nobody complained so far.
    pub(super) fn is_content(&self) -> bool {
        self.complaints.is_empty()
    }

    /// All complaints in the order of the text, each with its line and column.
    pub(super) fn into_complaints(mut self) -> Vec<String> {
        let mut complaints: Vec<(Option<usize>, Complaint)> = std::mem::take(&mut self.complaints)
            .into_iter()
            .map(|complaint| (self.offset(&complaint.key), complaint))
            .collect();
        complaints.sort_by_key(|(offset, _)| offset.unwrap_or(usize::MAX));
        let said = |(offset, Complaint { key, what }): (Option<usize>, Complaint)| {
            let position = offset.map(|offset| position(self.text, offset)).unwrap_or_default();
            format!("{position}{key}: {what}")
        };
        let mut said: Vec<String> = complaints.into_iter().map(said).collect();
        said.dedup();
        said
    }

    /// "line 1, column 1: " of a key that was written.
    pub(super) fn position_of(&self, key: &str) -> Option<String> {
        self.offsets.get(key).map(|&offset| position(self.text, offset))
    }

    /// Where a key stands, or the nearest section that should hold it.
    fn offset(&self, key: &str) -> Option<usize> {
        let mut name = key;
        loop {
            if let Some(&offset) = self.offsets.get(name) {
                return Some(offset);
            }
            name = name.rsplit_once('.')?.0;
        }
    }

    /// Complains about every name that no section knows, with the nearest that one does.
    pub(super) fn refuse_unknown(&mut self, mut sections: Vec<Section>) {
        // Of two names that are equally near, the one of the chosen engine is meant.
        let chosen = self.value("engine.name").and_then(Value::as_str).unwrap_or_default();
        let chosen = format!("engine.{chosen}");
        sections.sort_by_key(|section| !section.path.starts_with(&chosen));
        let mut unknown = Vec::new();
        collect_unknown(&self.root, "", &sections, &mut unknown);
        self.complaints.extend(unknown);
    }
}

/// A key of earlier programs whose meaning no key has any more.
const GONE: &str = "budget.repeat";

fn collect_unknown(
    table: &Map<String, Value>,
    path: &str,
    sections: &[Section],
    unknown: &mut Vec<Complaint>,
) {
    let own = sections.iter().find(|section| section.path == path);
    for (name, value) in table {
        let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let is_key = own.is_some_and(|own| own.keys.iter().any(|known| known.name == name));
        let is_section = sections
            .iter()
            .any(|section| section.path == key || section.path.starts_with(&format!("{key}.")));
        match value {
            _ if is_key || key == FREE => {}
            Value::Object(below) if is_section => collect_unknown(below, &key, sections, unknown),
            _ if is_section => {
                unknown.push(Complaint { what: format!("must be a table: write [{key}]"), key })
            }
            Value::Object(_) => {
                let hint = nearest(&key, sections.iter().map(|section| section.path.clone()));
                let hint = hint.map(|near| format!("; did you mean [{near}]?"));
                let what = format!("unknown section [{key}]{}", hint.unwrap_or_default());
                unknown.push(Complaint { key, what });
            }
            _ if key == GONE => {
                let what = "is gone: a window is released once, and `tapveil revise` makes a numbered revision at full \
                            price; leave the line out";
                unknown.push(Complaint { key, what: what.to_owned() });
            }
            _ => {
                let hint = nearest(&key, all_keys(sections));
                let hint = hint.map(|near| format!("; did you mean {near}?"));
                let what = format!("unknown key{}", hint.unwrap_or_default());
                unknown.push(Complaint { key, what });
            }
        }
    }
}

fn all_keys(sections: &[Section]) -> impl Iterator<Item = String> {
    sections.iter().flat_map(|section| {
        section.keys.iter().map(move |key| match section.path.as_str() {
            "" => key.name.to_owned(),
            path => format!("{path}.{}", key.name),
        })
    })
}

/// The known name that looks most like this one, if one does: by the whole, or by its last word.
fn nearest(unknown: &str, known: impl Iterator<Item = String>) -> Option<String> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let distance = |known: &String| {
        let whole = strsim::damerau_levenshtein(unknown, known);
        // A key in the wrong section: nearly the same word elsewhere.
        whole.min(2 + strsim::damerau_levenshtein(&last(unknown), &last(known)))
    };
    let (distance, name) = known.map(|name| (distance(&name), name)).min_by_key(|one| one.0)?;
    (distance <= 3).then_some(name)
}

/// "line 12, column 3: ".
fn position(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}: ")
}

fn plain_table(
    table: &DeTable<'_>,
    path: &str,
    offsets: &mut BTreeMap<String, usize>,
) -> Map<String, Value> {
    let mut plain = Map::new();
    for (name, value) in table {
        let key = match path {
            "" => name.get_ref().to_string(),
            path => format!("{path}.{}", name.get_ref()),
        };
        offsets.insert(key.clone(), name.span().start);
        plain.insert(name.get_ref().to_string(), plain_value(value, &key, offsets));
    }
    plain
}

fn plain_value(
    value: &Spanned<DeValue<'_>>,
    path: &str,
    offsets: &mut BTreeMap<String, usize>,
) -> Value {
    match value.get_ref() {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => {
            // Beyond 64 bits no key takes it; the text of the number stands in the complaint.
            i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| Value::from(number.to_string()), Value::from)
        }
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(float) if float.is_finite() => Value::from(float),
            _ => Value::from(number.as_str()),
        },
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(moment) => Value::from(moment.to_string()),
        DeValue::Array(items) => {
            items.iter().map(|item| plain_value(item, path, offsets)).collect()
        }
        DeValue::Table(table) => Value::Object(plain_table(table, path, offsets)),
    }
}
