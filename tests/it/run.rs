//! The service on a real broker: the whole way.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::{Value, json};
use tapveil::model::Digest;

use crate::broker::bootstrap;
use crate::contract::data;
use crate::kafka_clients::Admin;
use crate::service::{Feed, assert_same_paths, batches};
use crate::support::run;

const LONG: Duration = Duration::from_secs(90);

#[test]
fn a_week_through_kafka_gives_the_releases_that_a_file_gives() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 3_000);
    feed.replay();
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(LONG), Some(0), "{}", worker.said());
    let sanitized = feed.sanitized();
    let ledger = feed.ledger();
    assert_eq!(batches(&ledger), feed.sanitized_batches(), "the same batches reached the engine");
    assert_eq!(ledger["spent_micro"], 7_000_000);
    assert_same_paths(&feed.export(), &sanitized);
}

#[test]
fn an_export_is_the_directory_that_the_service_writes() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 3_000);
    feed.append("[release]\ndir = \"released\"\n");
    feed.replay();
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(LONG), Some(0), "{}", worker.said());
    let (exported, released) = (feed.export(), feed.path("city/released"));
    let (mine, theirs) = (contents(&exported), contents(&released));
    assert_eq!(mine.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (name, bytes) in &theirs {
        assert!(mine[name] == *bytes, "{} differs", name.display());
    }
    let names = |name: &str| theirs.keys().filter(|path| path.ends_with(name)).count();
    assert_eq!((names("report.html"), names("SIGNATURE"), names("catalog.json")), (7, 7, 1));
    let verified = run(["verify", exported.to_str().unwrap()]).code(0);
    assert!(!verified.out.contains("is not there"), "{}", verified.out);
}

/// A topic that an earlier program wrote: no record of a file, and an end that knows of none.
#[test]
fn an_export_of_an_earlier_topic_gives_two_files_and_says_so() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 20);
    let golden = data("release/v2/lk");
    let golden = golden.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let golden = golden.filter(|path| path.is_dir()).min().unwrap();
    let manifest = fs::read_to_string(golden.join("datapackage.json")).unwrap();
    let facts: Value = serde_json::from_str(&manifest).unwrap();
    let id = facts["privacy"]["release_id"].as_str().unwrap();
    let mut rows = String::new();
    for row in csv::Reader::from_path(golden.join("paths.csv")).unwrap().records() {
        let row = row.unwrap();
        let count: u64 = row[0].parse().unwrap();
        rows += &format!("{}\n", json!({ "count": count, "path": &row[1] }));
    }
    let end = json!({ "chunks": 1, "sha256": Digest::of(rows.as_bytes()).to_string() }).to_string();
    let topic = format!("{}.releases", feed.name);
    Admin::new(&brokers).create(&topic, 1, &[]);
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", &brokers).create().unwrap();
    for (kind, payload) in [("manifest", &manifest), ("paths", &rows), ("end", &end)] {
        let header = Header { key: "tapveil-kind", value: Some(kind) };
        let record = BaseRecord::to(&topic).key(id).payload(payload);
        let record = record.headers(OwnedHeaders::new().insert(header));
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(Duration::from_secs(10)).unwrap();
    let out = feed.path("earlier");
    let said = feed.command(["export", "--out", out.to_str().unwrap()]).code(0).out;
    assert!(said.contains("1 of them are from an earlier tapveil, which sent no files"), "{said}");
    assert!(said.contains("the topic does not hold README.md, "), "{said}");
    let found = contents(&out);
    assert_eq!(found.len(), 4, "two catalogs, datapackage.json and paths.csv: {:?}", found.keys());
    let (window, _) = id.rsplit_once('-').unwrap();
    let paths = &found[&Path::new(window).join("paths.csv")];
    assert!(*paths == fs::read(golden.join("paths.csv")).unwrap());
}

/// Every file below a directory.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in next.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.strip_prefix(dir).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}
