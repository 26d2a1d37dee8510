//! The check of `[kafka]`: addresses, names, and properties with their secrets from files.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::SignedDuration;
use toml::Value;

use super::reader::Reader;
use crate::kafka::{Property, Protocol, Settings, Topics};

const DAY_SECS: i64 = 86_400;
/// What the name of a property ends in whose value stands in a file.
const FILE: &str = "_file";

/// The settings, if the file names brokers; the keys are checked in any case.
pub(super) fn kafka(reader: &mut Reader, base: &Path) -> Option<Settings> {
    let group = name(reader, "kafka.group");
    let instance = name(reader, "kafka.instance");
    let protocols = [("classic", Protocol::Classic), ("consumer", Protocol::Consumer)];
    let protocol = reader.word("kafka.protocol", &protocols);
    let topics = topics(reader);
    let connect_timeout = positive_duration(reader, "kafka.connect_timeout");
    let flush = positive_duration(reader, "kafka.flush");
    let properties = properties(reader, base);
    let brokers = brokers(reader)?;
    Some(Settings {
        brokers,
        group: group?,
        instance,
        protocol: protocol?,
        topics: topics?,
        connect_timeout: connect_timeout?,
        flush: flush?,
        properties,
        is_in_process: false,
    })
}

fn brokers(reader: &mut Reader) -> Option<String> {
    let text = reader.text("kafka.brokers")?;
    let is_address = |address: &str| {
        let (host, port) = address.trim().rsplit_once(':').unwrap_or((address.trim(), "9092"));
        !host.is_empty()
            && !host.contains(char::is_whitespace)
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    if !text.split(',').all(is_address) {
        let what = format!("{text:?} is not a list of addresses like \"host1:9092,host2:9092\"");
        reader.complain("kafka.brokers", what);
        return None;
    }
    Some(text.split(',').map(str::trim).collect::<Vec<_>>().join(","))
}

/// A name that Kafka takes.
fn name(reader: &mut Reader, key: &str) -> Option<String> {
    let text = reader.text(key)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.is_empty() || text.len() > 200 || !text.chars().all(is_plain) {
        let what = format!(
            "{text:?} is not a name: use at most 200 letters, digits, dots, hyphens and underscores"
        );
        reader.complain(key, what);
        return None;
    }
    Some(text)
}

fn topics(reader: &mut Reader) -> Option<Topics> {
    let keys = [
        "kafka.topics.taps",
        "kafka.topics.segments",
        "kafka.topics.ledger",
        "kafka.topics.releases",
        "kafka.topics.rejects",
    ];
    let names = keys.map(|key| name(reader, key));
    for (later, key) in keys.iter().enumerate() {
        let same = names[..later].iter().position(|one| one.is_some() && *one == names[later]);
        if let Some(same) = same {
            reader.complain(key, format_args!("has the same name as {}", keys[same]));
        }
    }
    let [taps, segments, ledger, releases, rejects] = names;
    Some(Topics {
        taps: taps?,
        segments: segments?,
        ledger: ledger?,
        releases: releases?,
        rejects: rejects?,
    })
}

fn positive_duration(reader: &mut Reader, key: &str) -> Option<Duration> {
    let duration = reader.duration(key, DAY_SECS)?;
    if duration == SignedDuration::ZERO {
        reader.complain(key, "must be at least \"1s\"");
        return None;
    }
    Duration::try_from(duration).ok()
}

fn properties(reader: &mut Reader, base: &Path) -> Vec<Property> {
    let mut leaves = Vec::new();
    match reader.value("kafka.properties") {
        None => {}
        Some(Value::Table(table)) => collect(&table, "", &mut leaves),
        Some(other) => {
            reader.complain("kafka.properties", format_args!("must be a table, not {other}"))
        }
    }
    let mut properties = Vec::new();
    for (name, value) in leaves {
        let key = format!("kafka.properties.{name}");
        let property = match (name.strip_suffix(FILE), as_text(&value)) {
            (_, None) => {
                reader.complain(&key, "must be a string, a number, true or false");
                continue;
            }
            (Some(plain), Some(file)) => match value_of_file(&base.join(&file)) {
                Ok(value) => Property::from_file(plain, &value),
                Err(what) => {
                    reader.complain(&key, what);
                    continue;
                }
            },
            (None, Some(text)) => Property::new(&name, &text),
        };
        if let Some(complaint) = property.complaint() {
            reader.complain(&key, complaint);
        } else if properties.iter().any(|one: &Property| one.name() == property.name()) {
            reader.complain(&key, "is set twice, here and in a file; keep one");
        } else {
            properties.push(property);
        }
    }
    properties
}

/// `"sasl.username" = …` and `sasl.username = …` mean the same.
fn collect(table: &toml::Table, prefix: &str, leaves: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(below) => collect(below, &name, leaves),
            leaf => leaves.push((name, leaf.clone())),
        }
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

/// A file's text without the line feed that editors put at the end.
fn value_of_file(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let value = text.trim_end_matches(['\r', '\n']);
    match value.is_empty() {
        true => Err(format!("{shown} is empty")),
        false => Ok(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::DEFAULTS;
    use super::*;

    fn read(text: &str, base: &Path) -> (Option<Settings>, Vec<String>) {
        let mut reader = Reader::new(DEFAULTS, text).unwrap();
        let settings = kafka(&mut reader, base);
        (settings, reader.into_complaints())
    }

    #[test]
    fn without_brokers_there_is_no_kafka() {
        assert_eq!(read("", Path::new(".")), (None, Vec::new()));
    }

    #[test]
    fn brokers_with_defaults_are_enough() {
        let (settings, complaints) =
            read("[kafka]\nbrokers = \"a:9092, b:9093\"\n", Path::new("."));
        assert_eq!(complaints, Vec::<String>::new());
        let settings = settings.unwrap();
        assert_eq!(settings.brokers, "a:9092,b:9093");
        assert_eq!(settings.group, "tapveil");
        assert_eq!(settings.topics.ledger, "tapveil.ledger");
        assert_eq!(settings.connect_timeout, Duration::from_secs(60));
        assert_eq!((settings.instance, settings.properties), (None, Vec::new()));
    }

    #[test]
    fn properties_take_numbers_flags_and_files() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("pw"), "hunter2\n").unwrap();
        let text = "[kafka]\nbrokers = \"a:1\"\n[kafka.properties]\n\"linger.ms\" = 7\n\
                    \"socket.nagle.disable\" = true\nsasl.username = \"me\"\n\"sasl.password_file\" = \"pw\"\n";
        let (settings, complaints) = read(text, dir.path());
        assert_eq!(complaints, Vec::<String>::new());
        let settings = settings.unwrap();
        let value =
            |name: &str| settings.properties.iter().find(|one| one.name() == name).unwrap().value();
        assert_eq!(value("linger.ms"), "7");
        assert_eq!(value("socket.nagle.disable"), "true");
        assert_eq!(value("sasl.username"), "me");
        assert_eq!(value("sasl.password"), "hunter2");
        assert!(!format!("{settings:?}").contains("hunter2"));
    }

    #[test]
    fn every_complaint_names_its_key() {
        let text = "[kafka]\nbrokers = \"a b\"\ngroup = \"\"\nprotocol = \"new\"\nflush = \"0s\"\n\
                    topics = { taps = \"x\", rejects = \"x\" }\n[kafka.properties]\nacks = 1\n\
                    \"sasl.password_file\" = \"nowhere\"\n\"linger.ms\" = [1]\n\"no.such\" = \"1\"\n";
        let (settings, complaints) = read(text, Path::new("/nonexistent"));
        assert_eq!(settings, None);
        let all = complaints.join("\n");
        for expected in [
            "kafka.brokers: ",
            "kafka.group: ",
            "kafka.protocol: ",
            "kafka.flush: must be at least",
            "kafka.topics.rejects: has the same name as kafka.topics.taps",
            "kafka.properties.acks: would break exactly-once",
            "kafka.properties.sasl.password_file: cannot read /nonexistent/nowhere",
            "kafka.properties.linger.ms: must be a string",
            "kafka.properties.no.such: ",
        ] {
            assert!(all.contains(expected), "{expected} is not in\n{all}");
        }
    }
}
