//! Records of a release, as `export` reads them from its topic.

use std::fs;
use std::path::Path;

use tapveil::model::Digest;
use tapveil::publish::topic::{RecordKind, TopicRecord, rebuild};

use crate::driver::{fuzz, root};

#[test]
fn the_records_of_a_release_give_it_whole_or_not_at_all() {
    let golden = root().join("tests/data/release/v2/lk");
    let windows = fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path());
    let window = windows.into_iter().find(|path| path.is_dir()).unwrap();
    let whole = records(&window);
    let expected = rebuild(&whole).unwrap();
    assert_eq!(expected.paths_csv, fs::read(window.join("paths.csv")).unwrap());
    assert!(expected.absent.is_empty());
    let corpus: Vec<(String, Vec<u8>)> = (0..)
        .zip(&whole)
        .map(|(at, record): (usize, _)| (at.to_string(), record.payload.clone()))
        .collect();
    fuzz("release", &corpus, |input| {
        let mut records = whole.clone();
        let at: usize = input.name.parse().unwrap();
        records[at].payload.clone_from(&input.bytes);
        if let Ok(rebuilt) = rebuild(&records) {
            assert_eq!(rebuilt.paths_csv, expected.paths_csv, "other rows");
            for (name, bytes) in rebuilt.files {
                assert!(bytes == expected.files[name], "another {name}");
            }
        }
    });
}

/// A release as its topic carries it.
fn records(release: &Path) -> Vec<TopicRecord> {
    let manifest = fs::read(release.join("datapackage.json")).unwrap();
    let paths = fs::read(release.join("paths.csv")).unwrap();
    let mut chunk = Vec::new();
    for row in csv::Reader::from_reader(paths.as_slice()).records() {
        let row = row.unwrap();
        let count: u64 = row[0].parse().unwrap();
        let line = serde_json::json!({ "count": count, "path": &row[1] });
        chunk.extend_from_slice(line.to_string().as_bytes());
        chunk.push(b'\n');
    }
    let files = file_payloads(release);
    let end = serde_json::json!({
        "chunks": 1, "sha256": Digest::of(&chunk).to_string(), "format": 2,
        "file_chunks": files.len(), "file_sha256": Digest::of(&files.concat()).to_string(),
    });
    let record = |kind, payload| TopicRecord { kind, payload };
    let mut whole = vec![record(RecordKind::Manifest, manifest), record(RecordKind::Paths, chunk)];
    whole.extend(files.into_iter().map(|payload| record(RecordKind::File, payload)));
    whole.push(record(RecordKind::End, end.to_string().into_bytes()));
    whole
}

/// The files of a release beside its manifest and its rows, each as one record of its topic.
fn file_payloads(release: &Path) -> Vec<Vec<u8>> {
    let names = release.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.filter(|name| name != "datapackage.json" && name != "paths.csv");
    names
        .map(|name| {
            let line = serde_json::json!({ "name": name.to_str().unwrap(), "part": 1, "parts": 1 });
            let bytes = fs::read(release.join(&name)).unwrap();
            [format!("{line}\n").as_bytes(), &bytes].concat()
        })
        .collect()
}
