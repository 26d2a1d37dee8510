//! `src/CONTRACT.md` held to the program: schemas by a validator that is not ours, golden files of every version, newer
//! versions refused by name, unknown members accepted.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tapveil::ledger::{Genesis, opening, read_book};
use tapveil::model::{Digest, Mac, StationIx, TapKind, WindowId};
use tapveil::passenger::{CardKey, Tap};
use tapveil::protocol::{Committed, ReleaseMetadata, Signer};
use tapveil::publish::catalog;
use tapveil::publish::verify::verify;
use tapveil::seal::{IngestMetadata, Segment, SegmentCodec};
use tapveil::secret::Secret;

use crate::support::{City, run};

pub(crate) fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

fn schema(name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/schemas").join(name);
    let schema: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
pub(crate) fn fits(name: &str, value: &Value) {
    let complaints: Vec<String> = schema(name)
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(complaints.is_empty(), "{name}: {complaints:#?}");
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Golden directories of a version: one for each kind of guarantee or path.
fn golden(version: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(data("release").join(version))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    found
}

/// The manifest of the only release in a directory.
fn manifest_of(dir: &Path) -> PathBuf {
    let mut inside =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    inside.next().expect("a release").join("datapackage.json")
}

#[test]
fn releases_of_every_version_are_read_for_ever() {
    for (version, n_least) in [("v1", 4), ("v2", 3)] {
        let found = golden(version);
        assert!(found.len() >= n_least, "{version}: {found:?}");
        for dir in found {
            let report = verify(&dir).unwrap();
            assert!(report.is_sound() && report.notes.is_empty(), "{}: {report:?}", dir.display());
            let number = version.trim_start_matches('v');
            fits(&format!("manifest-{number}.json"), &read(&manifest_of(&dir)));
            fits(&format!("catalog-{number}.json"), &read(&dir.join("catalog.json")));
            let listed = catalog::Followed::default().list(&dir);
            assert!(listed.len() == 1 && listed[0].unreadable.is_none(), "{listed:?}");
            let opened = catalog::Followed::default().open(&dir, &listed[0].id).unwrap();
            assert!(opened.problems.is_empty() && opened.view.n_rows > 0, "{}", dir.display());
        }
    }
}

fn copied(dir: &Path) -> tempfile::TempDir {
    let out = tempfile::tempdir().unwrap();
    let window = manifest_of(dir).parent().unwrap().to_owned();
    let place = out.path().join(window.file_name().unwrap());
    fs::create_dir(&place).unwrap();
    for entry in fs::read_dir(&window).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), place.join(entry.file_name())).unwrap();
    }
    out
}

/// Changes a manifest and makes its own digest fit, as a newer program would have written it.
fn rewrite(manifest: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = read(manifest);
    change(&mut value);
    value["privacy"]["manifest_sha256"] = json!("");
    let text = format!("{value:#}\n");
    let digest: String =
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    value["privacy"]["manifest_sha256"] = json!(digest);
    fs::write(manifest, format!("{value:#}\n")).unwrap();
}

#[test]
fn a_manifest_with_members_of_a_later_program_is_good() {
    for version in ["v1", "v2"] {
        let out = copied(&golden(version)[0]);
        rewrite(&manifest_of(out.path()), |value| {
            value["privacy"]["added_later"] = json!({ "a": [1, 2.5] });
            value["privacy"]["guarantee"]["more"] = json!("words");
            value["extra"] = json!(null);
        });
        let report = verify(out.path()).unwrap();
        assert!(report.is_sound(), "{version}: {report:?}");
        assert_eq!(catalog::Followed::default().list(out.path()).len(), 1);
    }
}

#[test]
fn a_newer_manifest_is_refused_by_name_and_stays_in_the_catalog() {
    let out = copied(&golden("v2")[0]);
    rewrite(&manifest_of(out.path()), |value| value["privacy"]["format"] = json!(3));
    let report = verify(out.path()).unwrap();
    let said: Vec<String> = report.problems().map(|(_, problem)| problem.what.clone()).collect();
    assert!(
        said.iter().any(|what| what.contains("format 3") && what.contains("1 to 2")),
        "{said:?}"
    );
    let listed = catalog::Followed::default().list(out.path());
    assert!(
        listed[0].unreadable.as_deref().is_some_and(|why| why.contains("format 3")),
        "{listed:?}"
    );

    // The next release writes the catalog anew: the one it cannot read is in it, with the reason.
    let city = City::new();
    city.sanitize_into(out.path()).code(0);
    let written = read(&out.path().join("catalog.json"));
    fits("catalog-2.json", &written);
    let entries = written["releases"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["unreadable"].as_str().is_some()), "{written:#}");
    assert_eq!(entries.len(), 2, "{written:#}");
}

#[test]
fn a_member_that_stands_there_twice_is_no_way_to_say_two_things() {
    let out = copied(&golden("v1")[1]);
    let manifest = manifest_of(out.path());
    let text = fs::read_to_string(&manifest).unwrap();
    let twice = text.replacen("\"model\":", "\"model\": \"none\",\n      \"model\":", 1);
    assert_ne!(twice, text);
    fs::write(&manifest, twice).unwrap();
    assert!(!verify(out.path()).unwrap().is_sound());
}

fn secret() -> Secret {
    let hex = fs::read_to_string(data("ledger/v1.secret.hex")).unwrap();
    let bytes: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect();
    Secret::from_bytes(&bytes).unwrap()
}

#[test]
fn the_ledger_of_version_1_is_read_for_ever_and_a_newer_one_refused_by_name() {
    let text = fs::read_to_string(data("ledger/v1.ledger")).unwrap();
    let lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    for line in &lines {
        fits("ledger-record-1.json", &serde_json::from_slice(line).unwrap());
    }
    let book = read_book(&secret().ledger_key(), &lines).unwrap();
    assert_eq!((book.n_records(), book.spent().micro(), book.entries().len()), (3, 4_000_000, 1));
    let newer = Genesis { version: 3, ..Genesis::new(jiff::Timestamp::UNIX_EPOCH) };
    let line = opening(&secret().ledger_key(), newer);
    let error = read_book(&secret().ledger_key(), &[line]).unwrap_err().to_string();
    assert!(error.contains("version 3") && error.contains("knows versions 1 to 2"), "{error}");
}

fn codec() -> SegmentCodec {
    SegmentCodec::new(
        Secret::from_bytes(&[9; 32]).unwrap(),
        "metro".to_owned(),
        Digest::of(b"layout"),
    )
}

fn golden_bytes(path: &str) -> Vec<u8> {
    let hex = fs::read_to_string(data(path)).unwrap();
    let hex = hex.trim();
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

#[test]
fn segments_and_markers_of_version_1_are_read_for_ever_and_others_refused_by_name() {
    let window = WindowId::new(16_744);
    let hasher = Secret::from_bytes(&[9; 32]).unwrap().card_key(window);
    let stamps: Vec<_> = [(7_u32, 3_u32), (9_000, 0)]
        .map(|(at, station)| {
            Tap::new(window, CardKey::new(&hasher, b"card"), at, StationIx(station)).stamp()
        })
        .to_vec();
    let written = codec().taps(window, 5, &stamps, &[1; 24]);
    assert_eq!(written, golden_bytes("segment/v1-taps.hex"), "{}", shown(&written));
    let expected = Segment::Taps { window, partition: 5, stamps };
    assert!(codec().open(&written).unwrap() == expected);
    let marker = codec().finished(window, 5, 12, &[2; 24]);
    assert_eq!(marker, golden_bytes("segment/v1-finished.hex"), "{}", shown(&marker));
    assert!(
        codec().open(&marker).unwrap()
            == Segment::Finished { window, partition: 5, n_partitions: 12 }
    );
    let mut newer = marker;
    newer[3] = b'3';
    let error = codec().open(&newer).unwrap_err().to_string();
    assert!(error.contains("version 3") && error.contains("knows versions 1 and 2"), "{error}");
}

#[test]
fn segments_of_version_2_are_read_for_ever() {
    let window = WindowId::new(16_744);
    let hasher = Secret::from_bytes(&[9; 32]).unwrap().card_key(window);
    let stamps: Vec<_> =
        [(7_u32, 3_u32, Some(TapKind::Entry)), (9_000, 0, Some(TapKind::Exit)), (9_001, 1, None)]
            .map(|(at, station, kind)| {
                let card = CardKey::new(&hasher, b"card");
                Tap::new(window, card, at, StationIx(station)).of_kind(kind).stamp()
            })
            .to_vec();
    let written = codec().taps(window, 5, &stamps, &[1; 24]);
    assert_eq!(written, golden_bytes("segment/v2-taps.hex"), "{}", shown(&written));
    assert!(codec().open(&written).unwrap() == Segment::Taps { window, partition: 5, stamps });
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn signer(accepts_unsigned: bool) -> Signer {
    Signer::new(&Secret::from_bytes(&[7; 32]).unwrap(), accepts_unsigned)
}

fn commit(metadata: &str) -> Committed {
    Committed { offset: 42, metadata: metadata.to_owned() }
}

/// Version 2 is signed: role, partition and position are in the MAC.
#[test]
fn offset_metadata_of_version_2_is_written_and_read() {
    let text = fs::read_to_string(data("offset_metadata/v2.txt")).unwrap();
    let ingest =
        IngestMetadata { sealed_through: Some(WindowId::new(16_744)), greatest_event: None };
    let head = Mac::from_bytes([3; 32]);
    let done_through = Some(WindowId::new(16_744));
    let release = ReleaseMetadata { n_records: 3, head, done_through };
    let written = format!(
        "ingest: {}\nrelease: {}\n",
        signer(false).ingest(0, 42, ingest).metadata,
        signer(false).release(0, 42, &release).metadata
    );
    assert_eq!(written, text);
    let word = |group: &str| text.lines().find_map(|line| line.strip_prefix(group)).unwrap();
    let read = signer(false).read_ingest(0, &commit(word("ingest: "))).unwrap();
    assert_eq!(read, Some(ingest));
    let read = signer(false).read_release(0, &commit(word("release: "))).unwrap();
    assert_eq!(read, Some(release));
    let newer = word("release: ").replace("tapveil2", "tapveil3");
    let refused = signer(true).read_release(0, &commit(&newer)).unwrap_err().to_string();
    assert!(refused.contains("tapveil2"), "{refused}");
}

/// Where the operator says so: an earlier version signed nothing.
#[test]
fn offset_metadata_of_version_1_is_read_for_ever() {
    let text = fs::read_to_string(data("offset_metadata/v1.txt")).unwrap();
    let mut n_read = 0;
    for line in text.lines() {
        let (group, metadata) = line.split_once(": ").unwrap();
        match group {
            "release" => {
                let read = signer(true).read_release(0, &commit(metadata)).unwrap().unwrap();
                assert_eq!(format!("tapveil1 {}", read.to_text()), metadata);
                assert!(signer(false).read_release(0, &commit(metadata)).is_err(), "unsigned");
            }
            "ingest" => {
                let read = signer(true).read_ingest(0, &commit(metadata)).unwrap().unwrap();
                assert_eq!(format!("tapveil1 {}", read.to_text()), metadata);
                assert!(signer(false).read_ingest(0, &commit(metadata)).is_err(), "unsigned");
            }
            other => panic!("no group {other}"),
        }
        n_read += 1;
    }
    assert!(n_read >= 4, "{n_read}");
}

#[test]
fn every_json_output_fits_its_schema() {
    let city = City::new();
    let out = tempfile::tempdir().unwrap();
    let config = city.config().display().to_string();
    let releases = out.path().display().to_string();
    fits("cli-sanitize-1.json", &city.sanitize_into(out.path()).code(0).json());
    fits("cli-verify-1.json", &run(["verify", &releases, "--json"]).code(0).json());
    fits("cli-check-1.json", &run(["check", "-c", &config, "--json"]).code(0).json());
    fits(
        "cli-ledger-show-1.json",
        &run(["ledger", "show", "-c", &config, "--json"]).code(0).json(),
    );
    fits(
        "cli-ledger-verify-1.json",
        &run(["ledger", "verify", "-c", &config, "--json"]).code(0).json(),
    );
    fits("cli-audit-1.json", &run(["audit", "--engine", "seqpt", "--json"]).code(0).json());
}

#[test]
fn outputs_of_earlier_programs_have_every_member_that_today_s_have() {
    // Members are added, never taken away: what a script read then, it reads now.
    for (name, schema) in [
        ("check", "cli-check-1.json"),
        ("ledger_show", "cli-ledger-show-1.json"),
        ("ledger_verify", "cli-ledger-verify-1.json"),
        ("sanitize", "cli-sanitize-1.json"),
        ("verify", "cli-verify-1.json"),
    ] {
        let mut value = read(&data(&format!("json/v1/{name}.json")));
        value["format"] = json!(1);
        fits(schema, &value);
    }
}

#[test]
fn the_page_names_schemas_and_golden_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("src/CONTRACT.md")).unwrap();
    let mut n_named = 0;
    for word in page.split('`').skip(1).step_by(2) {
        if word.ends_with("-1.json") || word.ends_with("-2.json") {
            let found = match word.split_once('*') {
                None => root.join("deploy/schemas").join(word).exists(),
                Some((before, _)) => fs::read_dir(root.join("deploy/schemas"))
                    .unwrap()
                    .any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with(before)),
            };
            assert!(found, "{word} is not there");
            n_named += 1;
        }
    }
    assert!(n_named >= 8, "{n_named}");
    for entry in fs::read_dir(root.join("deploy/schemas")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        schema(&name);
        let family = name.split('-').next().unwrap();
        assert!(
            page.contains(&format!("`{name}`")) || page.contains(&format!("`{family}-*")),
            "{name}"
        );
    }
}

/// What `tests/fuzz/release.rs` changes, as the topic carries it.
#[test]
fn records_of_a_release_fit_their_schemas() {
    let golden = data("release/v2/lk");
    let windows = fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path());
    let window = windows.into_iter().find(|path| path.is_dir()).unwrap();
    let paths = fs::read(window.join("paths.csv")).unwrap();
    let mut n_rows = 0;
    for row in csv::Reader::from_reader(paths.as_slice()).records() {
        let row = row.unwrap();
        let count: u64 = row[0].parse().unwrap();
        fits("topic-paths-1.json", &json!({ "count": count, "path": &row[1] }));
        n_rows += 1;
    }
    assert!(n_rows > 0, "there are rows");
    let digest = Digest::of(&paths).to_string();
    fits("topic-file-2.json", &json!({ "name": "od.csv", "part": 1, "parts": 1 }));
    let mut end = json!({ "chunks": 1, "sha256": digest });
    fits("topic-end-1.json", &end);
    end["format"] = 2.into();
    end["file_chunks"] = 1.into();
    end["file_sha256"] = digest.into();
    fits("topic-end-2.json", &end);
}
