//! Reads values out of TOML and gathers every complaint, instead of stopping at the first.

use std::fmt::Display;

use jiff::SignedDuration;
use toml::{Table, Value};

use super::keys::{KEYS, nearest};
use crate::model::MicroEpsilon;

/// The text as written over the defaults, with the complaints met so far.
pub(super) struct Reader {
    defaults: Table,
    merged: Table,
    written: Table,
    complaints: Vec<String>,
}

impl Reader {
    /// Reads the text over the defaults; a text that is not TOML is one complaint.
    pub(super) fn new(defaults: &str, text: &str) -> Result<Self, String> {
        let written: Table = text
            .parse()
            .map_err(|error| format!("it is not TOML: {}", one_line(&format!("{error}"))))?;
        let defaults: Table =
            defaults.parse().expect("config/default.toml is TOML; a test reads it");
        let merged = overlay(defaults.clone(), &written);
        let mut reader = Self { defaults, merged, written, complaints: Vec::new() };
        reader.refuse_unknown_keys();
        Ok(reader)
    }

    /// Notes a complaint about a key.
    pub(super) fn complain(&mut self, key: &str, what: impl Display) {
        self.complaints.push(format!("{key}: {what}"));
    }

    /// Notes a complaint that names its keys itself.
    pub(super) fn complain_plainly(&mut self, what: impl Display) {
        self.complaints.push(what.to_string());
    }

    /// All complaints.
    pub(super) fn into_complaints(self) -> Vec<String> {
        self.complaints
    }

    /// Whether nobody complained so far.
    pub(super) fn is_content(&self) -> bool {
        self.complaints.is_empty()
    }

    /// Whether the user wrote this key.
    pub(super) fn is_written(&self, key: &str) -> bool {
        find(&self.written, key).is_some()
    }

    /// Whether the user wrote this key, and not just its default.
    pub(super) fn is_changed(&self, key: &str) -> bool {
        find(&self.written, key).is_some_and(|value| find(&self.defaults, key) != Some(value))
    }

    /// The value, as it is.
    pub(super) fn value(&self, key: &str) -> Option<Value> {
        find(&self.merged, key).cloned()
    }

    /// A string.
    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::String(text) => Some(text),
            other => {
                self.complain(key, format_args!("must be a string in quotes, not {other}"));
                None
            }
        }
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let known: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            self.complain(key, format_args!("{text:?} is not one of {}", known.join(", ")));
        }
        found
    }

    /// A whole number in a range.
    pub(super) fn integer(&mut self, key: &str, least: i64, most: i64) -> Option<i64> {
        match self.value(key)? {
            Value::Integer(number) if (least..=most).contains(&number) => Some(number),
            Value::Integer(number) => {
                self.complain(key, format_args!("is {number}, but must be from {least} to {most}"));
                None
            }
            other => {
                self.complain(key, format_args!("must be a whole number, not {other}"));
                None
            }
        }
    }

    /// An exact decimal in quotes.
    pub(super) fn decimal(&mut self, key: &str) -> Option<MicroEpsilon> {
        match self.value(key)? {
            Value::String(text) => match MicroEpsilon::parse(&text) {
                Ok(price) => Some(price),
                Err(error) => {
                    self.complain(key, format_args!("{text:?} {error}"));
                    None
                }
            },
            other => {
                let what = format!(
                    "must be a decimal in quotes, like \"1.0\", not {other}: a float is not exact"
                );
                self.complain(key, what);
                None
            }
        }
    }

    /// A duration in whole seconds.
    pub(super) fn duration(&mut self, key: &str, most: i64) -> Option<SignedDuration> {
        let text = self.text(key)?;
        match duration_secs(&text) {
            Some(secs) if secs <= most => Some(SignedDuration::from_secs(secs)),
            Some(_) => {
                self.complain(key, format_args!("{text:?} is longer than {}d", most / 86_400));
                None
            }
            None => {
                let what =
                    format!("{text:?} is not a duration like \"90s\", \"15m\", \"2h\" or \"1d\"");
                self.complain(key, what);
                None
            }
        }
    }

    /// A time of day, in seconds after midnight.
    pub(super) fn time_of_day(&mut self, key: &str) -> Option<i64> {
        let text = self.text(key)?;
        let found = text.split_once(':').and_then(|(hour, minute)| {
            let digits = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
            let (hour, minute) = (digits(hour).then_some(hour)?, digits(minute).then_some(minute)?);
            let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then_some(hour * 3_600 + minute * 60)
        });
        if found.is_none() {
            self.complain(key, format_args!("{text:?} is not a time of day like \"04:00\""));
        }
        found
    }

    fn refuse_unknown_keys(&mut self) {
        let mut unknown = Vec::new();
        collect_unknown(&self.written, "", &mut unknown);
        for key in unknown {
            let hint = nearest(&key).map(|known| format!("; did you mean {known}?"));
            self.complain(&key, format_args!("unknown key{}", hint.unwrap_or_default()));
        }
    }
}

/// Every leaf that is not a known key, by its dotted name.
fn collect_unknown(table: &Table, prefix: &str, unknown: &mut Vec<String>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let known = KEYS.iter().any(|(known, _)| *known == key);
        let below = KEYS.iter().any(|(known, _)| known.starts_with(&format!("{key}.")));
        match value {
            _ if known => {}
            Value::Table(table) if below => collect_unknown(table, &key, unknown),
            _ => unknown.push(key),
        }
    }
}

/// What is written replaces what is default; tables are laid over each other key by key.
fn overlay(mut defaults: Table, written: &Table) -> Table {
    for (name, value) in written {
        let merged = match (defaults.remove(name), value) {
            (Some(Value::Table(below)), Value::Table(above)) => Value::Table(overlay(below, above)),
            (_, value) => value.clone(),
        };
        defaults.insert(name.clone(), merged);
    }
    defaults
}

fn find<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    let value = table.get(first)?;
    if rest.is_empty() { Some(value) } else { find(value.as_table()?, rest) }
}

/// "1d", "90m", "1h30m", "0s": whole seconds.
pub(crate) fn duration_secs(text: &str) -> Option<i64> {
    let mut secs = 0_i64;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: i64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].chars().next()?;
        let unit_secs = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return None,
        };
        secs = secs.checked_add(number.checked_mul(unit_secs)?)?;
        rest = &rest[digits + 1..];
    }
    (!text.trim().is_empty()).then_some(secs)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
