use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use crate::engine::{Interval, LegCount, LengthCount, Release, Row, StationCount, Tables, fixture};
use crate::model::{Calendar, Digest, Doublet, PathKind, Station, StationIx, Window};

use super::manifest::Manifest;
use super::verify::verify;
use super::*;

/// Renders and publishes, as the pipeline does in two steps.
pub(super) struct Publisher {
    files: Files,
    settings: Settings,
}

impl Publisher {
    pub(super) fn new(out: &Path, settings: Settings) -> Self {
        Self { files: Files::new(out), settings }
    }

    pub(super) fn through(open: super::disk::Open, out: &Path, settings: Settings) -> Self {
        Self { files: Files::through(open, out), settings }
    }

    pub(super) fn preflight(&mut self, id: &ReleaseId) -> Result<(), Error> {
        self.files.preflight(id)
    }

    pub(super) fn publish(&mut self, release: &Release) -> Result<Digest, Error> {
        let rendered = render(release, &self.settings)?;
        let records = self.files.publish(&rendered)?;
        assert!(records.is_empty(), "a directory is in place at once");
        Ok(rendered.digest())
    }
}

pub(super) fn stations_of(ids: &[&str]) -> Arc<Stations> {
    let station = |&id: &&str| Station {
        id: id.to_owned(),
        name: format!("The \"{id}\", main"),
        lat: "19.4".to_owned(),
        lon: "-99.1".to_owned(),
        line: "1".to_owned(),
    };
    Arc::new(Stations::new(ids.iter().map(station).collect()).unwrap())
}

pub(super) fn stations() -> Arc<Stations> {
    stations_of(&["s1", "s1!", "s,2", "s\"3\"", "Zócalo"])
}

pub(super) fn window_of(zone: &str, instant: &str) -> Window {
    let zone = TimeZone::get(zone).unwrap();
    let days = Calendar::new(zone, 86_400, 4 * 3_600, 3_600).unwrap();
    days.window_at(instant.parse::<Timestamp>().unwrap()).unwrap()
}

pub(super) fn window() -> Window {
    window_of("America/Mexico_City", "2015-11-09T12:00:00-06:00")
}

pub(super) fn settings(stations: &Arc<Stations>) -> Settings {
    Settings {
        stations: stations.clone(),
        title: "Taps of a city".to_owned(),
        licence: "CC BY 4.0".to_owned(),
        contact: "data@example.org".to_owned(),
        feed: "metro".to_owned(),
        windows_protected: true,
        closing: "The guarantee holds from the file on.".to_owned(),
        budget: BudgetFacts {
            horizon_windows: Some(7),
            horizon_cap: Some(MicroEpsilon::new(7_000_000)),
            lifetime_cap: None,
            rule: Some("sequential composition over windows".to_owned()),
        },
        signer: crate::secret::Secret::from_bytes(&[7; 32]).unwrap().signer(),
        version: "0.1.0",
        commit: "0000000",
    }
}

pub(super) fn row(count: u64, path: &[(u32, u32)]) -> Row {
    let doublet = |&(station, slot): &(u32, u32)| Doublet { station: StationIx(station), slot };
    Row { path: path.iter().map(doublet).collect(), count }
}

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(3, &[(0, 3), (1, 4)]),
        row(12, &[(0, 3)]),
        row(1, &[(2, 0), (3, 0), (4, 23)]),
        row(2, &[(0, 5), (1, 5), (1, 5)]),
        row(7, &[(3, 3), (4, 4)]),
    ]
}

pub(super) fn release() -> Release {
    let stations = stations();
    fixture::release(&window(), &stations, Digest::of(b"config"), PathKind::Timed, rows())
}

/// A release with every table.
pub(super) fn measured() -> Release {
    let around = |value: u64| Interval { value, low: value.saturating_sub(2), high: value + 3 };
    let station =
        |(station, slot, n)| StationCount { station: StationIx(station), slot, taps: around(n) };
    let leg = |(origin, dest, period, n)| LegCount {
        origin: StationIx(origin),
        dest: StationIx(dest),
        period,
        trips: around(n),
    };
    let tables = Tables {
        stations: [(0, 3, 15), (0, 5, 2), (1, 4, 0), (4, 23, 1)].map(station).to_vec(),
        od: [(0, 1, 0, 3), (0, 1, 6, 2), (3, 4, 0, 7)].map(leg).to_vec(),
        lengths: vec![
            LengthCount { taps: 1, cards: around(12) },
            LengthCount { taps: 2, cards: around(10) },
        ],
    };
    let stations = stations();
    let configuration = Digest::of(b"config");
    fixture::release_with(
        &window(),
        &stations,
        configuration,
        PathKind::Timed,
        rows(),
        Some(tables),
    )
}

pub(super) fn sequences() -> Release {
    let rows = vec![row(4, &[(0, 0), (1, 0)]), row(9, &[(0, 0)]), row(5, &[(1, 0)])];
    fixture::release(&window(), &stations(), Digest::of(b"config"), PathKind::Untimed, rows)
}

pub(super) fn published(release: &Release) -> (tempfile::TempDir, PathBuf) {
    let out = tempfile::tempdir().unwrap();
    Publisher::new(out.path(), settings(&stations())).publish(release).unwrap();
    let dir = out.path().join(release.window().name());
    (out, dir)
}

/// Every file below a directory with its bytes.
fn tree(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in dir.read_dir().unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(tree(&path)),
            false => files.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    files.sort();
    files
}

/// The same, by their names below that directory.
pub(super) fn relative(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let strip = |(path, bytes): (PathBuf, Vec<u8>)| (path.strip_prefix(out).unwrap().into(), bytes);
    tree(out).into_iter().map(strip).collect()
}

#[test]
fn a_release_lies_on_disk_as_documented() {
    let (out, dir) = published(&release());
    let text = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    assert_eq!(dir.file_name().unwrap(), "20151109T0400_20151110T0400");
    assert!(out.path().join("catalog.json").exists());
    assert_eq!(
        text("paths.csv"),
        "count,path\n\
         12,Zócalo@2015-11-09T07:00-06:00\n\
         3,\"Zócalo@2015-11-09T07:00-06:00>s\"\"3\"\"@2015-11-09T08:00-06:00\"\n\
         2,\"Zócalo@2015-11-09T09:00-06:00>s\"\"3\"\"@2015-11-09T09:00-06:00>s\"\"3\"\"@2015-11-09T09:00-06:00\"\n\
         1,\"s,2@2015-11-09T04:00-06:00>s1@2015-11-09T04:00-06:00>s1!@2015-11-10T03:00-06:00\"\n\
         7,s1@2015-11-09T07:00-06:00>s1!@2015-11-09T08:00-06:00\n"
    );
    assert!(!dir.join("od.csv").exists(), "an engine that measures no trips writes none");
    assert!(text("locations.csv").starts_with("id,name,lat,lon\nZócalo,\"The \"\"Zócalo"));
    assert!(text("README.md").contains("ε = 1") && text("README.md").contains("CC BY 4.0"));
}

#[test]
fn measured_tables_lie_beside_the_paths_and_in_the_report() {
    let (out, dir) = published(&measured());
    let text = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
    assert_eq!(
        text("stations.csv"),
        "station,slot,taps,low,high\nZócalo,2015-11-09T07:00-06:00,15,13,18\nZócalo,2015-11-09T09:00-06:00,2,0,5\n\
         \"s\"\"3\"\"\",2015-11-09T08:00-06:00,0,0,3\ns1!,2015-11-10T03:00-06:00,1,0,4\n"
    );
    assert!(text("od.csv").starts_with(
        "origin,dest,period,trips,low,high\nZócalo,\"s\"\"3\"\"\",2015-11-09T04:00-06:00,3,1,6\n"
    ));
    assert_eq!(text("lengths.csv"), "taps,cards,low,high\n1,12,10,15\n2,10,8,13\n");
    assert_eq!(
        text("station_activities.csv").lines().nth(1).unwrap(),
        "2015-11-09,Zócalo,2015-11-09T07:00-06:00,2015-11-09T08:00-06:00,,,,15"
    );
    assert!(
        text("station_activities.csv")
            .ends_with("2015-11-09,s1!,2015-11-10T03:00-06:00,2015-11-10T04:00-06:00,,,,1\n")
    );
    let flows: serde_json::Value = serde_json::from_str(&text("flows.geojson")).unwrap();
    assert_eq!(flows["features"].as_array().unwrap().len(), 2, "periods are added up");
    assert_eq!(flows["features"][0]["properties"]["trips"], 7, "the strongest flow comes first");
    let report = text("report.html");
    assert!(report.contains("The &quot;s1&quot;, main") && report.contains("about 22"), "{report}");
    assert!(!report.contains("<script") && !report.contains("http"), "self-contained: {report}");
    assert!(verify(out.path()).unwrap().is_sound());
    let listed =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let strangers: Vec<String> = listed
        .filter(|name| {
            !["datapackage.json", "SIGNATURE"].contains(&name.as_str())
                && !contents::NAMES.contains(&name.as_str())
        })
        .collect();
    assert!(strangers.is_empty(), "every file is known by name: {strangers:?}");
}

#[test]
fn the_digest_is_that_of_paths_csv_and_needs_no_files() {
    for release in [release(), sequences()] {
        let out = tempfile::tempdir().unwrap();
        let digest = Publisher::new(out.path(), settings(&stations())).publish(&release).unwrap();
        let bytes = fs::read(out.path().join(release.window().name()).join("paths.csv")).unwrap();
        assert_eq!(digest, Digest::of(&bytes));
        assert_eq!(digest, render(&release, &settings(&stations())).unwrap().digest());
    }
}

/// Holds P-1.
#[test]
fn the_same_release_and_settings_give_the_same_bytes() {
    let (one, _) = published(&release());
    let (two, _) = published(&release());
    assert_eq!(relative(one.path()), relative(two.path()));
    assert_eq!(relative(one.path()).len(), 10);
}

/// Holds E-5.
#[test]
fn rows_that_no_release_may_have_are_an_invariant_that_fell() {
    let out = tempfile::tempdir().unwrap();
    let place = out.path().join("out");
    let publish = |input, rows| {
        let release = fixture::release(&window(), &stations(), Digest::of(b"c"), input, rows);
        let error = Publisher::new(&place, settings(&stations())).publish(&release).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Broken);
        error.to_string()
    };
    let timed = |rows| publish(PathKind::Timed, rows);
    assert!(timed(vec![row(1, &[])]).contains("no stations"));
    assert!(timed(vec![row(1, &[(5, 0)])]).contains("universe"));
    assert!(timed(vec![row(1, &[(0, 24)])]).contains("universe"));
    assert!(timed(vec![row(1, &[(0, 3), (0, 2)])]).contains("back in time"));
    assert!(timed(vec![row(1, &[(0, 3)]), row(2, &[(0, 3)])]).contains("twice"));
    assert!(timed(vec![row(u64::MAX, &[(0, 3)])]).contains("63 bits"));
    assert!(publish(PathKind::Untimed, vec![row(1, &[(0, 1)])]).contains("has a time"));
    let foreign = stations_of(&["a", "b"]);
    let release = fixture::release(&window(), &foreign, Digest::of(b"c"), PathKind::Timed, vec![]);
    let error = Publisher::new(&place, settings(&stations())).publish(&release).unwrap_err();
    assert!(error.to_string().contains("another station list"));
    assert!(!place.exists());
}

/// Holds P-3.
#[test]
fn nothing_in_the_manifest_follows_the_data_but_the_files_digests() {
    let publish = |rows| {
        let release =
            fixture::release(&window(), &stations(), Digest::of(b"c"), PathKind::Timed, rows);
        let (_out, dir) = published(&release);
        let readme = fs::read(dir.join("README.md")).unwrap();
        let text = fs::read(dir.join("datapackage.json")).unwrap();
        let mut package = Manifest::read(&text).unwrap().package;
        let entries = package.privacy.files.iter_mut();
        entries.for_each(|file| (file.sha256, file.bytes) = (String::new(), 0));
        let resources = package.resources.iter_mut();
        resources.for_each(|resource| (resource.hash, resource.bytes) = (String::new(), 0));
        package.privacy.manifest_sha256 = String::new();
        (readme, package)
    };
    assert_eq!(publish(rows()), publish(Vec::new()));
}

#[test]
fn windows_read_off_the_data_are_said_to_be_unprotected() {
    let out = tempfile::tempdir().unwrap();
    let mut unprotected = settings(&stations());
    unprotected.windows_protected = false;
    Publisher::new(out.path(), unprotected).publish(&release()).unwrap();
    let text =
        |name: &str| fs::read_to_string(out.path().join(window().name()).join(name)).unwrap();
    assert!(text("README.md").contains("is not protected"));
    assert!(text("datapackage.json").contains("\"windows_protected\": false"));
    assert!(text("datapackage.json").contains("that this window has a release"));
}

#[test]
fn an_hour_that_comes_twice_keeps_rows_in_the_order_of_their_text() {
    // East of Greenwich the second pass of the hour has the smaller offset, so it is written first.
    let autumn = window_of("Europe/Paris", "2024-10-26T12:00:00Z");
    let rows = (0..25).map(|slot| row(1, &[(0, slot)])).collect();
    let release = fixture::release(&autumn, &stations(), Digest::of(b"c"), PathKind::Timed, rows);
    let (out, dir) = published(&release);
    let text = fs::read_to_string(dir.join("paths.csv")).unwrap();
    assert!(text.contains("T02:00+01:00\n1,Zócalo@2024-10-27T02:00+02:00\n"), "{text}");
    assert!(verify(out.path()).unwrap().is_sound());
}

/// Paths as text, written and sorted the plain way.
fn naive(release: &Release, stations: &Stations) -> Vec<u8> {
    let spell = |at: &Doublet| match release.input() {
        PathKind::Timed => {
            format!("{}@{}", stations.get(at.station).id, release.window().slot_label(at.slot))
        }
        PathKind::Untimed => stations.get(at.station).id.clone(),
    };
    let mut rows: Vec<(String, u64)> = release
        .rows()
        .iter()
        .map(|row| (row.path.iter().map(spell).collect::<Vec<_>>().join(">"), row.count))
        .collect();
    rows.sort();
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["count", "path"]).unwrap();
    for (path, count) in rows {
        csv.write_record([&count.to_string(), &path]).unwrap();
    }
    csv.into_inner().unwrap()
}

proptest! {
    #[test]
    fn rows_stand_in_the_order_of_their_texts_bytes(
        ids in prop::collection::btree_set("[a!?~é]{1,3}", 1..12),
        paths in prop::collection::btree_set(
            prop::collection::vec((0_u32..12, 0_u32..25), 1..5), 0..60),
        timed in any::<bool>(),
    ) {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let stations = stations_of(&ids);
        let n = stations.len();
        let fit = |path: &Vec<(u32, u32)>| {
            let mut slots: Vec<u32> = path.iter().map(|at| if timed { at.1 } else { 0 }).collect();
            slots.sort_unstable();
            path.iter().zip(slots).map(|(at, slot)| (at.0 % n, slot)).collect::<Vec<_>>()
        };
        let fitted: std::collections::BTreeSet<_> = paths.iter().map(fit).collect();
        let rows = fitted.iter().zip(1..).map(|(path, count)| row(count, path)).collect();
        let input = if timed { PathKind::Timed } else { PathKind::Untimed };
        let window = window_of("Europe/Paris", "2024-10-26T12:00:00Z");
        let release = fixture::release(&window, &stations, Digest::of(b"c"), input, rows);
        let out = tempfile::tempdir().unwrap();
        Publisher::new(out.path(), settings(&stations)).publish(&release).unwrap();
        let written = fs::read(out.path().join(window.name()).join("paths.csv")).unwrap();
        prop_assert_eq!(written, naive(&release, &stations));
        let report = verify(out.path()).unwrap();
        prop_assert!(report.is_sound(), "{:?}", report);
    }
}
