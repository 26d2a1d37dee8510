//! Mutated golden files against every reader of outside bytes: an answer or a complaint, never a panic and never a
//! forged acceptance. Bounded by count; `TAPVEIL_FUZZ=N` tries N times as many, `TAPVEIL_SEED=N` another sequence.

#![allow(clippy::print_stdout, reason = "tests print their seeds")]

use std::fs;
use std::io::Write;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tapveil::config;
use tapveil::engine::Registry;
use tapveil::gtfs::{Archive, Choice, Network};
use tapveil::ingest::format::{self, Mapping};
use tapveil::ingest::sample;
use tapveil::ledger::read_book;
use tapveil::model::{Digest, Mac, Stations, WindowId};
use tapveil::protocol::{Committed, ReleaseMetadata, Signer};
use tapveil::publish::topic::{RecordKind, TopicRecord, rebuild};
use tapveil::publish::verify::verify;
use tapveil::seal::{IngestMetadata, SegmentCodec};
use tapveil::secret::Secret;

use crate::contract::{data, fits};

const SEED: u64 = 20_151_109;
/// Pieces that readers look for: numbers at the edge, quotes, separators, versions.
const PIECES: [&str; 16] = [
    "\"",
    "{",
    "}",
    "[",
    ",",
    "\n",
    "\\u0000",
    "-1",
    "9223372036854775807",
    "18446744073709551616",
    "1e999",
    "null",
    "format",
    "tapveil2",
    ">",
    "\u{feff}",
];

struct Mutator(StdRng);

impl Mutator {
    fn new(target: u64) -> Self {
        let seed =
            std::env::var("TAPVEIL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(SEED);
        println!("seed {seed}");
        Self(StdRng::seed_from_u64(seed ^ target))
    }

    /// One to four small changes.
    fn change(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..self.0.random_range(1..=4) {
            let at = self.0.random_range(0..=bytes.len());
            let end = (at + self.0.random_range(0..32)).min(bytes.len());
            match self.0.random_range(0..6) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.0.random_range(0..8),
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                3 => {
                    let piece = PIECES[self.0.random_range(0..PIECES.len())];
                    bytes.splice(at..at, piece.bytes());
                }
                4 => bytes.truncate(at),
                _ => {
                    let piece = PIECES[self.0.random_range(0..PIECES.len())];
                    bytes.splice(at..end, piece.bytes());
                }
            }
        }
        bytes
    }
}

fn rounds(usual: usize) -> usize {
    let more = std::env::var("TAPVEIL_FUZZ").ok().and_then(|text| text.parse::<usize>().ok());
    usual * more.unwrap_or(1).max(1)
}

#[test]
fn a_mutated_manifest_or_table_is_a_problem_or_says_the_same() {
    let golden = data("release/v2/weave");
    let window = fs::read_dir(&golden)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir())
        .unwrap();
    let out = tempfile::tempdir().unwrap();
    let place = out.path().join(window.file_name().unwrap());
    fs::create_dir(&place).unwrap();
    for entry in fs::read_dir(&window).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), place.join(entry.file_name())).unwrap();
    }
    let mut mutator = Mutator::new(1);
    let (mut n_sound, names) =
        (0, ["datapackage.json", "od.csv", "stations.csv", "lengths.csv", "paths.csv"]);
    for round in 0..rounds(250) {
        let name = names[round % names.len()];
        let whole = fs::read(window.join(name)).unwrap();
        let changed = mutator.change(&whole);
        fs::write(place.join(name), &changed).unwrap();
        let is_sound = verify(out.path()).unwrap().is_sound();
        assert!(
            !is_sound || changed == whole,
            "round {round}: {name} was changed and is called good"
        );
        n_sound += usize::from(is_sound);
        fs::write(place.join(name), &whole).unwrap();
    }
    assert!(n_sound < rounds(250) / 4, "{n_sound} mutations changed nothing");
}

#[test]
fn a_mutated_ledger_is_refused_or_a_shorter_one() {
    let text = fs::read(data("ledger/v1.ledger")).unwrap();
    let hex = fs::read_to_string(data("ledger/v1.secret.hex")).unwrap();
    let key: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect();
    let key = Secret::from_bytes(&key).unwrap().ledger_key();
    let lines = |text: &[u8]| -> Vec<Vec<u8>> {
        let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec);
        lines.filter(|line| !line.is_empty()).collect()
    };
    let true_lines = lines(&text);
    let mut mutator = Mutator::new(2);
    let mut n_refused = 0;
    for round in 0..rounds(20_000) {
        let changed = lines(&mutator.change(&text));
        match read_book(&key, &changed) {
            Err(_) => n_refused += 1,
            Ok(_) => assert!(
                true_lines.starts_with(&changed),
                "round {round}: a forged ledger was accepted"
            ),
        }
    }
    assert!(n_refused > rounds(10_000), "{n_refused}");
}

#[test]
fn a_mutated_segment_is_refused() {
    let codec = SegmentCodec::new(
        Secret::from_bytes(&[9; 32]).unwrap(),
        "metro".to_owned(),
        Digest::of(b"layout"),
    );
    let hex = fs::read_to_string(data("segment/v1-taps.hex")).unwrap();
    let hex = hex.trim();
    let whole: Vec<u8> = (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    assert!(codec.open(&whole).is_ok());
    let mut mutator = Mutator::new(3);
    for round in 0..rounds(20_000) {
        let changed = mutator.change(&whole);
        assert!(
            codec.open(&changed).is_err() || changed == whole,
            "round {round}: a forged segment was opened"
        );
    }
}

#[test]
fn mutated_offset_metadata_is_read_or_refused() {
    let text = fs::read_to_string(data("offset_metadata/v1.txt")).unwrap();
    let lines: Vec<&str> =
        text.lines().filter_map(|line| line.split_once(": ")).map(|(_, text)| text).collect();
    let mut mutator = Mutator::new(4);
    let secret = Secret::from_bytes(&[7; 32]).unwrap();
    let [signer, strict] = [true, false].map(|unsigned| Signer::new(&secret, unsigned));
    let head = Mac::from_bytes([3; 32]);
    let done_through = Some(WindowId::new(16_744));
    let signed = strict.release(0, 42, &ReleaseMetadata { n_records: 3, head, done_through });
    let mut n_read = 0;
    for round in 0..rounds(20_000) {
        let changed = mutator.change(lines[round % lines.len()].as_bytes());
        let changed = String::from_utf8_lossy(&changed).into_owned();
        let commit = Committed { offset: 42, metadata: changed };
        if let Ok(Some(read)) = signer.read_release(0, &commit) {
            assert_eq!(ReleaseMetadata::from_text(&read.to_text()), Some(read), "round {round}");
            n_read += 1;
        }
        if let Ok(Some(read)) = signer.read_ingest(0, &commit) {
            assert_eq!(IngestMetadata::from_text(&read.to_text()), Some(read), "round {round}");
            n_read += 1;
        }
        // Of what was signed, nothing that was changed is believed.
        let changed = mutator.change(signed.metadata.as_bytes());
        let metadata = String::from_utf8_lossy(&changed).into_owned();
        let is_same = metadata.trim_end_matches('\0') == signed.metadata;
        let commit = Committed { offset: signed.offset, metadata };
        let read = strict.read_release(0, &commit);
        assert!(is_same || !matches!(read, Ok(Some(_))), "round {round}: {commit:?}");
    }
    assert!(n_read > 0, "some changes leave a text that can be read");
}

#[test]
fn mutated_records_of_a_release_give_it_whole_or_not_at_all() {
    let dir = data("release/v2/lk");
    let window = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir())
        .unwrap();
    let manifest = fs::read(window.join("datapackage.json")).unwrap();
    let paths = fs::read(window.join("paths.csv")).unwrap();
    let mut chunk = Vec::new();
    for row in csv::Reader::from_reader(paths.as_slice()).records() {
        let row = row.unwrap();
        let count: u64 = row[0].parse().unwrap();
        chunk.extend_from_slice(
            serde_json::json!({ "count": count, "path": &row[1] }).to_string().as_bytes(),
        );
        chunk.push(b'\n');
    }
    let mut end = serde_json::json!({ "chunks": 1, "sha256": Digest::of(&chunk).to_string() });
    fits("topic-end-1.json", &end);
    let files = file_payloads(&window);
    end["format"] = 2.into();
    end["file_chunks"] = files.len().into();
    end["file_sha256"] = Digest::of(&files.concat()).to_string().into();
    fits("topic-end-2.json", &end);
    for line in chunk.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        fits("topic-paths-1.json", &serde_json::from_slice(line).unwrap());
    }
    let record = |kind, payload| TopicRecord { kind, payload };
    let mut whole = vec![record(RecordKind::Manifest, manifest), record(RecordKind::Paths, chunk)];
    whole.extend(files.into_iter().map(|payload| record(RecordKind::File, payload)));
    whole.push(record(RecordKind::End, end.to_string().into_bytes()));
    let expected = rebuild(&whole).unwrap();
    assert_eq!(expected.paths_csv, paths);
    assert!(expected.absent.is_empty());
    let mut mutator = Mutator::new(5);
    for round in 0..rounds(2_000) {
        let mut records = whole.clone();
        let at = round % records.len();
        records[at].payload = mutator.change(&records[at].payload);
        if let Ok(rebuilt) = rebuild(&records) {
            assert_eq!(rebuilt.paths_csv, expected.paths_csv, "round {round}: other rows");
            for (name, bytes) in rebuilt.files {
                assert!(bytes == expected.files[name], "round {round}: another {name}");
            }
        }
    }
}

/// The files of a release beside its manifest and its rows, each as one record of its topic.
fn file_payloads(release: &Path) -> Vec<Vec<u8>> {
    let names = release.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.filter(|name| name != "datapackage.json" && name != "paths.csv");
    names
        .map(|name| {
            let line = serde_json::json!({ "name": name.to_str().unwrap(), "part": 1, "parts": 1 });
            fits("topic-file-2.json", &line);
            let bytes = fs::read(release.join(&name)).unwrap();
            [format!("{line}\n").as_bytes(), &bytes].concat()
        })
        .collect()
}

#[test]
fn mutated_configurations_and_station_lists_are_complaints_at_most() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read(root.join("config/default.toml")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tapveil.toml");
    let mut mutator = Mutator::new(6);
    for _ in 0..rounds(300) {
        fs::write(&path, mutator.change(&text)).unwrap();
        let error = config::load_with(&path, &Registry::standard());
        assert!(error.is_err(), "a configuration without its files cannot be loaded");
    }
    let stations = b"id,name,lat,lon,line\ns1,\"A, B\",45.1,-73.2,1\ns2,B,,,2\n";
    for _ in 0..rounds(20_000) {
        if let Ok(stations) = Stations::from_csv(&mutator.change(stations)) {
            assert!(stations.iter().all(|station| !station.id.is_empty()));
        }
    }
}

/// A GTFS feed, packed: whatever happens to it, it gives stations or a complaint, and every part belongs to a station.
#[test]
fn a_mutated_gtfs_feed_gives_stations_or_a_complaint() {
    let stops = "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\nA,Airport,1,1,1,\nA1,Gate,1,1,0,A\nB,,2,,,\n";
    let files = [
        ("stops.txt", stops),
        ("routes.txt", "route_id,route_short_name,route_type\nr,1,1\n"),
        ("trips.txt", "route_id,trip_id\nr,t\n"),
        ("stop_times.txt", "trip_id,stop_id,stop_sequence\nt,A1,1\nt,B,2\n"),
    ];
    let dir = tempfile::tempdir().unwrap();
    let mut mutator = Mutator::new(7);
    let mut n_good = 0;
    for round in 0..rounds(1_500) {
        for (at, (name, text)) in files.iter().enumerate() {
            let text = text.as_bytes();
            let written =
                if at == round % files.len() { mutator.change(text) } else { text.to_vec() };
            fs::write(dir.path().join(name), written).unwrap();
        }
        if let Ok(network) = Network::read(dir.path(), &Choice::default()) {
            n_good += 1;
            let is_listed = |id: &String| network.stations.iter().any(|station| station.id == *id);
            assert!(network.parts.iter().all(|(_, station)| is_listed(station)), "round {round}");
        }
        let zip = mutator.change(&fs::read(dir.path().join("stops.txt")).unwrap());
        if let Ok(archive) =
            Archive::from_bytes("feed.zip", [b"PK\x05\x06".as_slice(), &zip].concat())
        {
            drop(Network::of(archive, &Choice::default()));
        }
    }
    assert!(n_good > rounds(200), "{n_good}");
}

/// Messages of Avro, records of every other format, and files of all kinds: taps or rejects, never a panic.
#[test]
fn mutated_records_and_files_of_taps_are_taps_or_rejects() {
    let mapping = Mapping::of_fields("card", "/gate/station", "time");
    let mut mutator = Mutator::new(8);
    for registration in format::STANDARD {
        let format = registration.with_defaults(mapping.clone()).unwrap();
        let record =
            format.encode(&format.mapping().sample("c0042", "central", "2015-11-09T07:00:00Z"));
        for _ in 0..rounds(20_000) {
            drop(format.pick(&mutator.change(&record)));
        }
    }
    let city = crate::support::City::generated(20);
    let settings = config::load_with(&city.config(), &Registry::standard()).unwrap();
    let text =
        b"card,station,time\nc,s,2015-11-09T07:00:00Z\nd,s,2015-11-09T08:00:00Z\n".as_slice();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest);
    let container = [
        b"Obj\x01\x02\x16avro.schema\x0c\"long\"\x00".as_slice(),
        &[7; 16],
        &[4, 4, 2, 4],
        &[7; 16],
    ]
    .concat();
    let path = city.path("mutated");
    for whole in [gzip.finish().unwrap(), zstd, container] {
        for _ in 0..rounds(400) {
            fs::write(&path, mutator.change(&whole)).unwrap();
            drop(sample(&path.as_path().into(), &settings.ingest(), 100));
        }
    }
}
