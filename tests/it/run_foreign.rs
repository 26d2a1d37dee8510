//! Somebody else's clients at both ends: Kafka's own producer writes the taps, Kafka's own consumer reads the releases.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tapveil::config;
use tapveil::kafka::topics;

use crate::arrivals::PATIENCE;
use crate::broker::bootstrap;
use crate::service::{Feed, batches};

/// One of Kafka's own programs.
fn tool(class: &str, brokers: &str, topic: &str) -> Command {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/kafka");
    let jars = Command::new(here.join("local")).arg("classpath").output().unwrap();
    let jars = String::from_utf8(jars.stdout).unwrap();
    let logging =
        format!("-Dlog4j2.configurationFile={}", here.join("log4j2.properties").display());
    let mut command = Command::new("java");
    command.args(["-XX:TieredStopAtLevel=1", &logging, "-cp", jars.trim(), class]);
    command.args(["--bootstrap-server", brokers, "--topic", topic]);
    command
}

/// Count and path of every row, by release.
type Rows = BTreeMap<String, Vec<(u64, String)>>;

/// Rebuilds the rows from what the console consumer prints: header, key and value with tabs between; a value has
/// lines of its own.
fn rows_of(printed: &str) -> Rows {
    let mut rows = Rows::new();
    let (mut key, mut is_paths) = (String::new(), false);
    for line in printed.lines() {
        let mut text = line;
        if let Some(record) = line.strip_prefix("tapveil-kind:") {
            let [kind, id, value] = record.splitn(3, '\t').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            (key, is_paths, text) = (id.to_owned(), kind == "paths", value);
            rows.entry(key.clone()).or_default();
        }
        if is_paths && !text.is_empty() {
            let row: Value = serde_json::from_str(text).unwrap();
            let path = row["path"].as_str().unwrap().to_owned();
            rows.get_mut(&key).unwrap().push((row["count"].as_u64().unwrap(), path));
        }
    }
    rows
}

/// What Kafka's own consumer reads until nothing has come for so many milliseconds.
fn consumed(brokers: &str, topic: &str, patience: &str) -> Rows {
    let output = tool("org.apache.kafka.tools.consumer.ConsoleConsumer", brokers, topic)
        .args(["--from-beginning", "--isolation-level", "read_committed", "--timeout-ms", patience])
        .args(["--formatter-property", "print.key=true"])
        .args(["--formatter-property", "print.headers=true"])
        .output()
        .unwrap();
    // Files of a release travel beside its rows, some of them binary.
    rows_of(&String::from_utf8_lossy(&output.stdout))
}

#[test]
fn kafkas_own_clients_write_taps_and_rebuild_the_releases() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 3_000);
    // Few slots and a large epsilon, so that there are rows to compare.
    for (from, to) in [
        ("slot = \"1h\"", "slot = \"1d\""),
        ("epsilon = \"1.0\"", "epsilon = \"20.0\""),
        ("\"100.0\"", "\"1000.0\""),
    ] {
        feed.edit(from, to);
    }
    let settings = config::load(&feed.config()).unwrap();
    topics::make_taps(settings.kafka.as_ref().unwrap()).unwrap();
    let file = fs::read_to_string(feed.taps()).unwrap();
    let mut lines: Vec<&str> = file.lines().skip(1).collect();
    lines.sort_by_key(|line| line.rsplit(',').next());
    let mut producer = tool(
        "org.apache.kafka.tools.ConsoleProducer",
        &brokers,
        &settings.kafka.as_ref().unwrap().topics.taps,
    )
    .stdin(Stdio::piped())
    .stdout(Stdio::null())
    .spawn()
    .unwrap();
    producer.stdin.take().unwrap().write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
    assert!(producer.wait().unwrap().success());

    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    let sanitized = feed.sanitized();
    assert_eq!(batches(&feed.ledger()), feed.sanitized_batches());

    let releases = &settings.kafka.as_ref().unwrap().topics.releases;
    // A busy machine may need longer than that to join a group and read its first record.
    let found = ["8000", "30000", "60000"]
        .iter()
        .map(|patience| consumed(&brokers, releases, patience))
        .find(|found| found.len() == 7)
        .unwrap_or_default();
    assert_eq!(found.len(), 7, "releases that Kafka's own consumer read");
    let mut n_rows = 0;
    for (id, rows) in found {
        let folder = fs::read_dir(&sanitized)
            .unwrap()
            .map(|entry| entry.unwrap())
            .find(|entry| id.starts_with(entry.file_name().to_str().unwrap()));
        let csv = folder.expect("sanitize has a folder for it").path().join("paths.csv");
        let mut reader = csv::Reader::from_path(csv).unwrap();
        let expected: Vec<(u64, String)> = reader.deserialize().collect::<Result<_, _>>().unwrap();
        n_rows += expected.len();
        assert_eq!(rows, expected, "{id}");
    }
    assert!(n_rows > 0, "there are rows to compare");
}
