//! How fast formats of transit are read: TIDES and Avro beside the libraries' own decoding of the same records into
//! structs, Avro beside JSON, and a GTFS feed. Ratios of one run; the program ends with 1 if one is too low.
//!
//! `cargo bench --profile release --bench transit`

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops where it cannot go on"
)]

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use apache_avro::Schema;
use apache_avro::reader::datum::GenericDatumReader;
use serde::Deserialize;
use tapveil::declare::Values;
use tapveil::gtfs::{Choice, Network};
use tapveil::ingest::format::{Format, Mapping, find};

const RECORDS: usize = 20_000;
/// The best of so many: whatever else runs here only slows a round down.
const ROUNDS: usize = 30;

/// What a library makes of a record.
#[derive(Deserialize)]
struct Borrowed<'a> {
    token_id: &'a str,
    stop_id: &'a str,
    event_timestamp: &'a str,
    fare_action: &'a str,
    transaction_id: Option<&'a str>,
}

/// The same where the library cannot borrow.
#[derive(Deserialize)]
#[serde(rename = "tap")]
struct Owned {
    card: String,
    station: String,
    time: String,
}

fn took(work: &mut dyn FnMut()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// Both in turns, so that whatever else runs here disturbs both.
fn best(ours: &mut dyn FnMut(), theirs: &mut dyn FnMut()) -> (Duration, Duration) {
    let rounds: Vec<(Duration, Duration)> =
        (0..ROUNDS).map(|_| (took(ours), took(theirs))).collect();
    (
        rounds.iter().map(|round| round.0).min().unwrap(),
        rounds.iter().map(|round| round.1).min().unwrap(),
    )
}

fn pick_all(format: &dyn Format, records: &[Vec<u8>]) {
    for record in records {
        let picked = format.pick(record).unwrap();
        format.mapping().judge(&picked).unwrap();
        black_box(&picked);
    }
}

/// Prints a ratio, and whether it is high enough.
fn compare(what: &str, ours: &mut dyn FnMut(), theirs: &mut dyn FnMut(), least: f64) -> bool {
    let (ours, theirs) = best(ours, theirs);
    let nanos = |time: Duration| time.as_nanos() as f64 / RECORDS as f64;
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    println!(
        "{what}: {:.0} ns against {:.0} ns a record, ratio {ratio:.2} (at least {least})",
        nanos(ours),
        nanos(theirs)
    );
    ratio >= least
}

fn main() -> ExitCode {
    let tides = tides_records();
    let all = [tides_json(&tides), tides_csv(&tides), avro(), gtfs()];
    ExitCode::from(u8::from(all.contains(&false)))
}

/// Every field of a transaction: number, card, stop, second.
fn tides_records() -> Vec<[String; 4]> {
    (0..RECORDS)
        .map(|at| {
            let time = format!(
                "2024-05-01T{:02}:{:02}:{:02}-05:00",
                at / 3_600 % 24,
                at / 60 % 60,
                at % 60
            );
            [format!("t{at}"), format!("card{:08}", at % 977), format!("stop-{}", at % 68), time]
        })
        .collect()
}

fn tides_json(records: &[[String; 4]]) -> bool {
    let line = |[number, card, stop, time]: &[String; 4]| {
        format!(
            "{{\"transaction_id\":\"{number}\",\"service_date\":\"2024-05-01\",\"event_timestamp\":\"{time}\",\
             \"fare_action\":\"Enter\",\"stop_id\":\"{stop}\",\"fare_media_type\":\"Smart card\",\"token_id\":\"{card}\"}}"
        )
        .into_bytes()
    };
    let lines: Vec<Vec<u8>> = records.iter().map(line).collect();
    let format = find("tides").unwrap().with_defaults(Mapping::of_fields("", "", "")).unwrap();
    let mut theirs = || {
        for line in &lines {
            let one: Borrowed<'_> = serde_json::from_slice(line).unwrap();
            black_box((
                one.token_id,
                one.stop_id,
                one.event_timestamp,
                one.fare_action,
                one.transaction_id,
            ));
        }
    };
    compare(
        "TIDES as JSON beside serde_json",
        &mut || pick_all(format.as_ref(), &lines),
        &mut theirs,
        0.7,
    )
}

fn tides_csv(records: &[[String; 4]]) -> bool {
    let header =
        "transaction_id,service_date,event_timestamp,fare_action,stop_id,fare_media_type,token_id";
    let line = |[number, card, stop, time]: &[String; 4]| {
        format!("{number},2024-05-01,{time},Enter,{stop},Smart card,{card}").into_bytes()
    };
    let lines: Vec<Vec<u8>> = records.iter().map(line).collect();
    let text = [header.as_bytes(), &lines.join(&b'\n')].join(&b'\n');
    let format = find("tides").unwrap().with_defaults(Mapping::of_fields("", "", "")).unwrap();
    let format = format.below(header).unwrap().format;
    let mut theirs = || {
        let mut reader = csv::Reader::from_reader(text.as_slice());
        let (names, mut record) = (reader.headers().unwrap().clone(), csv::StringRecord::new());
        while reader.read_record(&mut record).unwrap() {
            let one: Borrowed<'_> = record.deserialize(Some(&names)).unwrap();
            black_box((
                one.token_id,
                one.stop_id,
                one.event_timestamp,
                one.fare_action,
                one.transaction_id,
            ));
        }
    };
    compare("TIDES as CSV beside csv", &mut || pick_all(format.as_ref(), &lines), &mut theirs, 0.7)
}

/// A tap among two fields that nobody wants, as Avro and as JSON.
const SCHEMA: &str = r#"{ "type": "record", "name": "tap", "fields": [ { "name": "version", "type": "int" },
    { "name": "card", "type": "string" }, { "name": "station", "type": "string" }, { "name": "line", "type": "string" },
    { "name": "time", "type": "string" } ] }"#;

fn avro() -> bool {
    let dir = std::env::temp_dir().join(format!("tapveil-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("tap.avsc"), SCHEMA).unwrap();
    let mapping = Mapping::of_fields("card", "station", "time");
    let values = serde_json::json!({ "avro": { "schema": "tap.avsc" } });
    let mut complaints = Vec::new();
    let mut values = Values::new("feed", values.as_object(), &mut complaints);
    let avro: Arc<dyn Format> =
        (find("avro").unwrap().build)(&mut values, mapping.clone(), &dir).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    let json = find("json").unwrap().with_defaults(mapping).unwrap();
    let records = tides_records();
    let message =
        |[_, card, stop, time]: &[String; 4]| avro.encode(&avro.mapping().sample(card, stop, time));
    let line = |[_, card, stop, time]: &[String; 4]| {
        let line = format!(
            "{{\"version\":0,\"card\":\"{card}\",\"station\":\"{stop}\",\"line\":\"\",\"time\":\"{time}\"}}"
        );
        line.into_bytes()
    };
    let messages: Vec<Vec<u8>> = records.iter().map(message).collect();
    let lines: Vec<Vec<u8>> = records.iter().map(line).collect();
    let schema = Schema::parse_str(SCHEMA).unwrap();
    let reader = GenericDatumReader::builder(&schema).build().unwrap();
    let mut theirs = || {
        for message in &messages {
            let one: Owned = reader.read_deser(&mut &message[5..]).unwrap();
            black_box((one.card, one.station, one.time));
        }
    };
    let mut ours = || pick_all(avro.as_ref(), &messages);
    let is_fast = compare("Avro beside apache-avro", &mut ours, &mut theirs, 0.7);
    compare("Avro beside our JSON", &mut ours, &mut || pick_all(json.as_ref(), &lines), 1.0)
        && is_fast
}

/// 5,215 stops and 64,027 stop times, as a city of 2013 had them; that very city where it is at hand.
fn gtfs() -> bool {
    let dir = std::env::temp_dir().join(format!("tapveil-bench-gtfs-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let put = |name: &str, header: &str, rows: &mut dyn Iterator<Item = String>| {
        let text: String =
            std::iter::once(header.to_owned()).chain(rows).collect::<Vec<_>>().join("\n");
        std::fs::write(dir.join(name), text).unwrap();
    };
    let place = |at: u32| (19.0 + f64::from(at % 97) / 300.0, -99.0 - f64::from(at % 89) / 300.0);
    put(
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon",
        &mut (0..5_215).map(|at| {
            let (lat, lon) = place(at);
            format!("STOP_{at},\"Stop, number {at}\",{lat},{lon}")
        }),
    );
    put(
        "routes.txt",
        "route_id,route_short_name,route_type",
        &mut (0..129).map(|at| format!("R{at},{at},3")),
    );
    put(
        "trips.txt",
        "route_id,service_id,trip_id",
        &mut (0..1_542).map(|at| format!("R{},s,{at}", at % 129)),
    );
    put(
        "stop_times.txt",
        "trip_id,stop_sequence,stop_id,arrival_time,departure_time",
        &mut (0..64_027_u32).map(|at| {
            let (trip, place) = (at % 1_542, at / 1_542);
            format!("{trip},{place},STOP_{},08:00:00,08:00:00", (trip % 129 * 41 + place) % 5_215)
        }),
    );
    let shared =
        ["../shared/data/gtfs-mexico-city", "/work/shared/data/gtfs-mexico-city"].map(Path::new);
    let real = shared.into_iter().find(|path| path.join("stops.txt").is_file());
    let mut is_fast = true;
    for path in [Some(dir.as_path()), real].into_iter().flatten() {
        let mut read = || drop(black_box(Network::read(path, &Choice::default()).unwrap()));
        let took = (0..5).map(|_| took(&mut read)).min().unwrap();
        println!(
            "GTFS of 5,215 stops and 64,027 stop times, {}: {:.3} s (at most 0.5)",
            path.display(),
            took.as_secs_f64()
        );
        is_fast &= took < Duration::from_millis(500);
    }
    std::fs::remove_dir_all(&dir).unwrap();
    is_fast
}
