//! The check of `[kafka]`: addresses, names, and properties with their secrets from files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::file::File;
use super::keys::{FREE, KafkaKeys, Positions, TopicKeys};
use super::leaf::KafkaName;
use crate::kafka::{Property, Settings, Topics};

/// What the name of a property ends in whose value stands in a file.
const FILE: &str = "_file";

/// The settings, if the file names brokers; the keys are checked in any case. The outer `None` is a complaint.
pub(super) fn kafka(file: &mut File<'_>, base: &Path) -> Option<Option<Settings>> {
    let (keys, topics) = (file.section::<KafkaKeys>("kafka"), topics(file));
    let properties = properties(file, base);
    let (keys, topics) = (keys?, topics?);
    let Some(brokers) = keys.brokers else { return Some(None) };
    Some(Some(Settings {
        brokers: brokers.0,
        group: keys.group.0,
        instance: keys.instance.map(|instance| instance.0),
        protocol: keys.protocol,
        topics,
        connect_timeout: keys.connect_timeout.0.unsigned_abs(),
        flush: keys.flush.0.unsigned_abs(),
        stall_timeout: keys.stall_timeout.0.unsigned_abs(),
        accepts_unsigned: keys.positions == Positions::AcceptUnsigned,
        pass_segments: keys.pass_segments.map_or(BTreeSet::new(), |offsets| offsets.0),
        properties,
        is_in_process: false,
    }))
}

fn topics(file: &mut File<'_>) -> Option<Topics> {
    let TopicKeys { taps, segments, ledger, releases, rejects } = file.section("kafka.topics")?;
    let named: [(&str, &KafkaName); 5] = [
        ("kafka.topics.taps", &taps),
        ("kafka.topics.segments", &segments),
        ("kafka.topics.ledger", &ledger),
        ("kafka.topics.releases", &releases),
        ("kafka.topics.rejects", &rejects),
    ];
    for (later, (key, name)) in named.iter().enumerate() {
        if let Some((same, _)) = named[..later].iter().find(|(_, other)| other == name) {
            file.complain(key, format_args!("has the same name as {same}"));
        }
    }
    Some(Topics {
        taps: taps.0,
        segments: segments.0,
        ledger: ledger.0,
        releases: releases.0,
        rejects: rejects.0,
    })
}

fn properties(file: &mut File<'_>, base: &Path) -> Vec<Property> {
    let mut leaves = Vec::new();
    match file.value(FREE) {
        None => {}
        Some(Value::Object(table)) => collect(table, "", &mut leaves),
        Some(other) => {
            let what = format!("must be a table, not {other}");
            file.complain(FREE, what);
        }
    }
    let mut properties = Vec::new();
    for (name, value) in leaves {
        let key = format!("kafka.properties.{name}");
        let property = match (name.strip_suffix(FILE), as_text(&value)) {
            (_, None) => {
                file.complain(&key, "must be a string, a number, true or false");
                continue;
            }
            (Some(plain), Some(name)) => match value_of_file(&base.join(&name)) {
                Ok(value) => Property::from_file(plain, &value),
                Err(what) => {
                    file.complain(&key, what);
                    continue;
                }
            },
            (None, Some(text)) => Property::new(&name, &text),
        };
        if let Some(complaint) = property.complaint() {
            file.complain(&key, complaint);
        } else if properties.iter().any(|one: &Property| one.name() == property.name()) {
            file.complain(&key, "is set twice, here and in a file; keep one");
        } else {
            properties.push(property);
        }
    }
    properties
}

/// The keys of properties whose values stand in files, with the names of these.
pub(super) fn files_of_properties(file: &File<'_>) -> Vec<(String, Value)> {
    let mut leaves = Vec::new();
    if let Some(Value::Object(table)) = file.value(FREE) {
        collect(table, "", &mut leaves);
    }
    leaves.retain(|(name, _)| name.ends_with(FILE));
    leaves.into_iter().map(|(name, value)| (format!("{FREE}.{name}"), value)).collect()
}

/// `"sasl.username" = …` and `sasl.username = …` mean the same.
fn collect(table: &Map<String, Value>, prefix: &str, leaves: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Object(below) => collect(below, &name, leaves),
            leaf => leaves.push((name, leaf.clone())),
        }
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
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
    use std::time::Duration;

    use super::*;

    fn read(text: &str, base: &Path) -> (Option<Settings>, Vec<String>) {
        let mut file = File::parse(text).unwrap();
        let settings = kafka(&mut file, base);
        (settings.flatten(), file.into_complaints())
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
