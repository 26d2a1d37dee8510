//! The service on a real broker: the whole way.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::broker::bootstrap;
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
