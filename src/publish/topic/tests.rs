use std::fs;
use std::path::Path;

use super::super::tests::{Publisher, release, row, settings, stations, window};
use super::super::verify::verify;
use super::super::{exported, render};
use super::gathering::window_name;
use super::*;
use crate::engine::fixture;
use crate::model::PathKind;

#[test]
fn a_release_comes_back_from_its_records_byte_by_byte() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&stations());
    let rendered = render(&release(), &settings).unwrap();
    let (records, digest) = (records_of(&rendered), rendered.digest());
    let published = Publisher::new(dir.path(), settings).publish(&release()).unwrap();
    assert_eq!(digest, published);
    let rebuilt = rebuild(&records).unwrap();
    let place = dir.path().join(window().name());
    assert_eq!(rebuilt.window, window().name());
    assert_eq!(rebuilt.id, release().id().as_str());
    assert_eq!(rebuilt.manifest, fs::read(place.join("datapackage.json")).unwrap());
    assert_eq!(rebuilt.paths_csv, fs::read(place.join("paths.csv")).unwrap());

    let out = dir.path().join("exported");
    let there = exported::write_rebuilt(&out, &rebuilt).unwrap();
    assert_eq!(names(&there), names(&place));
    for name in names(&place) {
        assert!(fs::read(there.join(&name)).unwrap() == fs::read(place.join(&name)).unwrap());
    }
    exported::write_exported_catalog(&out).unwrap();
    let report = verify(&out).unwrap();
    assert!(report.is_sound() && report.notes.is_empty(), "{report:?}");
    assert_eq!(report.releases.len(), 1);

    assert_eq!(exported::write_rebuilt(&out, &rebuilt).unwrap(), there, "again changes nothing");
    fs::remove_file(there.join("README.md")).unwrap();
    exported::write_rebuilt(&out, &rebuilt).unwrap();
    assert_eq!(names(&there), names(&place), "what an earlier program left out is added");
    fs::remove_file(there.join("README.md")).unwrap();
    fs::write(there.join("notes.txt"), "mine").unwrap();
    assert!(exported::write_rebuilt(&out, &rebuilt).is_err(), "nobody's notes vanish");
    fs::write(there.join("paths.csv"), "count,path\n").unwrap();
    assert!(exported::write_rebuilt(&out, &rebuilt).is_err());
}

/// What lies in a directory, in order.
fn names(dir: &Path) -> Vec<String> {
    let names = dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// The records as the first format had them.
fn without_files(records: &[TopicRecord]) -> Vec<TopicRecord> {
    let mut kept: Vec<TopicRecord> =
        records.iter().filter(|record| record.kind != RecordKind::File).cloned().collect();
    let end = kept.last_mut().unwrap();
    let full: serde_json::Value = serde_json::from_slice(&end.payload).unwrap();
    end.payload = json(&serde_json::json!({ "chunks": full["chunks"], "sha256": full["sha256"] }));
    kept
}

#[test]
fn records_of_the_first_format_give_two_files() {
    let records = without_files(&records_of(&render(&release(), &settings(&stations())).unwrap()));
    let rebuilt = rebuild(&records).unwrap();
    assert!(rebuilt.files.is_empty());
    assert!(rebuilt.absent.iter().any(|name| name == "README.md"), "{:?}", rebuilt.absent);
    let dir = tempfile::tempdir().unwrap();
    let there = exported::write_rebuilt(dir.path(), &rebuilt).unwrap();
    assert_eq!(names(&there), ["datapackage.json", "paths.csv"]);
}

#[test]
fn a_file_of_many_parts_comes_back() {
    for length in [0, 1, CHUNK_BYTES, 3 * CHUNK_BYTES + 7] {
        let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let payloads = file_record::parts_of("report.html", &bytes);
        let mut back = Vec::new();
        for (index, payload) in payloads.iter().enumerate() {
            assert!(payload.len() < CHUNK_BYTES);
            let part = file_record::read(payload).unwrap();
            assert_eq!((part.name, part.part), ("report.html", index as u64 + 1));
            assert_eq!(part.parts, payloads.len() as u64);
            back.extend_from_slice(part.bytes);
        }
        assert!(back == bytes, "{length} bytes");
    }
}

#[test]
fn files_that_are_not_what_the_manifest_lists_are_refused() {
    let good = records_of(&render(&release(), &settings(&stations())).unwrap());
    let first = good.iter().position(|record| record.kind == RecordKind::File).unwrap();
    // The end fits the spoilt records: what stands behind it must find them.
    let spoil = |change: &dyn Fn(&mut Vec<TopicRecord>)| {
        let mut records = good.clone();
        change(&mut records);
        let of_files = records.iter().filter(|record| record.kind == RecordKind::File);
        let files: Vec<&[u8]> = of_files.map(|record| record.payload.as_slice()).collect();
        let mut end: serde_json::Value =
            serde_json::from_slice(&records.last().unwrap().payload).unwrap();
        end["file_chunks"] = files.len().into();
        end["file_sha256"] = Digest::of(&files.concat()).to_string().into();
        records.last_mut().unwrap().payload = json(&end);
        rebuild(&records).unwrap_err().to_string()
    };
    let file = |text: &str| TopicRecord { kind: RecordKind::File, payload: text.into() };
    let add = |text: &'static str| spoil(&|records| records.insert(first, file(text)));
    assert!(spoil(&|records| drop(records.remove(first))).contains("is missing"));
    assert!(spoil(&|records| records.insert(first, good[first].clone())).contains("belongs"));
    assert!(spoil(&|records| records[first].payload.push(b'x')).contains("longer than"));
    let changed = spoil(&|records| *records[first].payload.last_mut().unwrap() ^= 1);
    assert!(changed.contains("manifest digests"), "{changed}");
    let unsigned = spoil(&|records| drop(records.remove(records.len() - 2)));
    assert!(unsigned.contains("SIGNATURE is missing"), "{unsigned}");
    let forged = spoil(&|records| {
        let at = records.len() - 2;
        records[at].payload[80] ^= 1;
    });
    assert!(forged.contains("SIGNATURE"), "{forged}");
    for name in ["../../x", "a/b", "datapackage.json", "catalog.json", "x\\u001b"] {
        let line = format!("{{\"name\":\"{name}\",\"part\":1,\"parts\":1}}\n");
        let said = spoil(&|records| records.insert(first, file(&line)));
        assert!(said.contains("which no release has") && !said.contains('\u{1b}'), "{said}");
    }
    assert!(add("{\"name\":\"flows.geojson\",\"part\":1,\"parts\":1}\n").contains("not list"));
    assert!(add("{\"name\":\"paths.csv\",\"part\":1,\"parts\":1}\n").contains("as rows"));
    assert!(add("{\"name\":\"README.md\",\"part\":2,\"parts\":2}\n").contains("belongs"));
    assert!(add("{\"name\":\"README.md\",\"part\":0,\"parts\":2}\n").contains("cannot be"));
    assert!(add("{\"name\":\"README.md\",\"part\":1,\"parts\":2}\n").contains("belongs"));
    assert!(add("no line").contains("no first line"));
    assert!(add("no json\n").contains("cannot be read"));
    let half = spoil(&|records| {
        let text = String::from_utf8_lossy(&records[records.len() - 2].payload).into_owned();
        let at = records.len() - 2;
        records[at].payload = text.replace("\"parts\":1", "\"parts\":2").into_bytes();
    });
    assert!(half.contains("SIGNATURE has 1 parts of 2"), "{half}");
}

#[test]
fn chunks_are_small_and_hold_whole_lines() {
    let rows = (0..24).flat_map(|slot| (0..5).map(move |station| (station, slot)));
    let rows: Vec<_> = rows
        .flat_map(|first| (0..5).map(move |next| row(1 + u64::from(next), &[first, (next, 23)])))
        .collect();
    let stations = stations();
    let config = Digest::of(b"config");
    let release = fixture::release(&window(), &stations, config, PathKind::Timed, rows);
    let records = records_of(&render(&release, &settings(&stations)).unwrap());
    assert_eq!(rebuild(&records).unwrap().files.len(), 6, "five files and the signature");

    let mut chunks = Chunks::default();
    (0..40_000)
        .for_each(|n| chunks.row(n, "s1@2015-11-09T07:00-06:00>s\"2@2015-11-09T08:00-06:00"));
    chunks.cut();
    assert!(chunks.done.len() > 3);
    for chunk in &chunks.done {
        assert!(chunk.len() < CHUNK_BYTES && chunk.ends_with(b"}\n"));
    }
}

#[test]
fn a_release_without_rows_has_no_chunks() {
    let stations = stations();
    let release =
        fixture::release(&window(), &stations, Digest::of(b"c"), PathKind::Timed, Vec::new());
    let records = records_of(&render(&release, &settings(&stations)).unwrap());
    assert!(records.iter().all(|record| record.kind != RecordKind::Paths));
    assert_eq!(rebuild(&records).unwrap().paths_csv, b"count,path\n");
}

#[test]
fn what_is_not_whole_is_refused() {
    let good = records_of(&render(&release(), &settings(&stations())).unwrap());
    let spoil = |change: &dyn Fn(&mut Vec<TopicRecord>)| {
        let mut records = good.clone();
        change(&mut records);
        rebuild(&records).unwrap_err().to_string()
    };
    assert!(spoil(&|records| drop(records.pop())).contains("incomplete"));
    assert!(spoil(&|records| drop(records.remove(0))).contains("manifest"));
    assert!(spoil(&|records| drop(records.remove(1))).contains("chunks"));
    let other_path = |records: &mut Vec<TopicRecord>| {
        let text = String::from_utf8(records[1].payload.clone()).unwrap();
        records[1].payload = text.replacen("@2015", "@2014", 1).into_bytes();
    };
    let said = spoil(&other_path);
    assert!(said.contains("digests"), "{said}");
    let longer = |records: &mut Vec<TopicRecord>| {
        let again = records[1].clone();
        records.insert(1, again);
    };
    assert!(spoil(&longer).contains("paths.csv is longer than"));
    let newer = |records: &mut Vec<TopicRecord>| {
        let end = records.last_mut().unwrap();
        let text = String::from_utf8(end.payload.clone()).unwrap();
        end.payload = text.replace("\"format\":2", "\"format\":3").into_bytes();
    };
    assert!(spoil(&newer).contains("format 3; this program knows the formats 1 to 2"));
    assert!(spoil(&|records| records.insert(1, records[0].clone())).contains("mixed"));
    assert!(spoil(&|records| records.clear()).contains("incomplete"));
    let other_title = |records: &mut Vec<TopicRecord>| {
        let text = String::from_utf8(records[0].payload.clone()).unwrap();
        records[0].payload = text.replace("Taps of a city", "Taps of a town").into_bytes();
    };
    assert!(spoil(&other_title).contains("digest"));
    for id in ["../x-123", "x", "-1", "a/b-1"] {
        assert_eq!(window_name(id), None, "{id}");
    }
}
