use std::fs;

use super::super::tests::{Publisher, release, row, settings, stations, window};
use super::super::{exported, render};
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
    assert_eq!(exported::write_rebuilt(&out, &rebuilt).unwrap(), there, "again changes nothing");
    assert_eq!(fs::read(there.join("paths.csv")).unwrap(), rebuilt.paths_csv);
    fs::write(there.join("paths.csv"), "count,path\n").unwrap();
    assert!(exported::write_rebuilt(&out, &rebuilt).is_err());
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
    assert_eq!(rebuild(&records).unwrap().absent.len(), 5);

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
    assert_eq!(records.len(), 2);
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
    assert!(spoil(&|records| records[1].payload[10] ^= 1).contains("digests"));
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
