//! Speed as ratios in one run, so that a slow machine does not matter.
//!
//! `cargo bench --bench engine` measures the full metro preset: 847,668 cards, 68 stations, 168 slots.
//! `-- --cards N` makes it smaller. Prints each time and what it is compared with; asserts nothing but that the
//! work was done, because speed on a shared machine is a report, not a test.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use tapveil::city::{City, Preset};
use tapveil::engine::Engine;
use tapveil::engine::noise::{DiscreteLaplace, Scale};
use tapveil::engine::safepath::{Allocation, SafePath, Settings};
use tapveil::engine::tree::{Basics, Places, Shape, Threshold, Times};
use tapveil::ingest::{Decoder, Fields, Format};
use tapveil::ledger::{Journal, Ledger, Outcome, Repeat, Request};
use tapveil::model::{Calendar, Digest, Doublet, MicroEpsilon, Stations, Window};
use tapveil::passenger::{CardKey, Tap};
use tapveil::seal::SealedWindow;
use tapveil::secret::{NoiseKey, Secret};
use tapveil::window::OpenWindows;

const MAX_LENGTH: u32 = 12;
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let cards = arguments
        .iter()
        .position(|argument| argument == "--cards")
        .map(|at| arguments[at + 1].parse().expect("--cards takes a number"));
    let city = City::new(Preset::Metro, cards, 1).unwrap();
    let stations = {
        let mut text = Vec::new();
        city.write_stations(&mut text).unwrap();
        Arc::new(Stations::from_csv(&text).unwrap())
    };
    let zone = TimeZone::get("America/Toronto").unwrap();
    let calendar = Calendar::new(zone, 7 * 86_400, 4 * 3_600, 3_600).unwrap();
    let (window, sealed, trajectories) = seal(&city, &stations, &calendar);
    println!("{} cards, {} stations, {} slots", city.n_cards(), stations.len(), window.n_slots());

    let sort = best(|| {
        let mut sorted = trajectories.clone();
        let start = Instant::now();
        sorted.sort_unstable();
        let took = start.elapsed();
        assert!(sorted.is_sorted());
        took
    });
    println!("sort_unstable of the trajectories     {:>8.1} ms", millis(sort));
    for (name, allocation) in [("paper", Allocation::Paper), ("even", Allocation::Even)] {
        for height in [4, 12] {
            let engine = engine(&stations, allocation, height, window.n_slots());
            let took = best(|| release(&engine, &sealed, &calendar));
            let ratio = took.as_secs_f64() / sort.as_secs_f64();
            println!(
                "safepath, height {height:>2}, {name:<5} allocation {:>8.1} ms   {ratio:.2} x the sort",
                millis(took)
            );
        }
    }
    noise();
    decoding(&stations, &calendar);
}

/// What one record costs on its way to a tap, card hash included.
fn decoding(stations: &Arc<Stations>, calendar: &Calendar) {
    let records = 1_000_000_u32;
    for (name, format) in [("JSON", Format::Json), ("CSV", Format::Csv)] {
        let fields = ["card", "station", "time"].map(str::to_owned);
        let [card, station, time] = fields;
        let mut decoder = Decoder::new(tapveil::ingest::Settings {
            format,
            fields: Fields { card, station, time },
            local_zone: None,
            calendar: calendar.clone(),
            stations: stations.clone(),
            secret: Secret::from_bytes(&[1; 32]).unwrap(),
        });
        let ids: Vec<&str> = stations.iter().map(|station| station.id.as_str()).collect();
        let lines: Vec<String> = (0..1_000)
            .map(|i: usize| {
                let (id, second) = (ids[i % ids.len()], i % 60);
                match format {
                    Format::Json => format!(
                        "{{\"card\":\"c{i:08}\",\"station\":\"{id}\",\"time\":\"2015-11-10T07:12:{second:02}.250Z\"}}"
                    ),
                    Format::Csv => format!("c{i:08},{id},2015-11-10T07:12:{second:02}Z"),
                }
            })
            .collect();
        let start = Instant::now();
        let good = (0..records)
            .filter(|i| decoder.decode(lines[*i as usize % lines.len()].as_bytes()).is_ok())
            .count();
        let took = start.elapsed();
        assert_eq!(good, records as usize);
        let nanos = took.as_secs_f64() * 1e9 / f64::from(records);
        println!("decoding a {name:<4} record               {nanos:>8.1} ns");
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn best(mut round: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| round()).min().unwrap()
}

/// The window as the pipeline seals it, and the same trajectories in plain sight for the sort.
fn seal(
    city: &City,
    stations: &Stations,
    calendar: &Calendar,
) -> (Window, SealedWindow, Vec<Vec<Doublet>>) {
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let windows = city.windows();
    let start = calendar.zone().to_timestamp(windows.begins()).unwrap();
    let window = calendar.window_at(start).unwrap();
    let hasher = secret.card_key(window.id());
    let mut open = OpenWindows::default();
    let mut plain: BTreeMap<[u8; 32], Vec<(u32, Doublet)>> = BTreeMap::new();
    for tap in city.taps() {
        let event = calendar.zone().to_timestamp(tap.time).unwrap();
        let offset = window.offset_millis(event).unwrap();
        let station = stations.find(tap.station).unwrap();
        let id = tap.card_id();
        open.add(Tap::new(window.id(), CardKey::new(&hasher, id.as_bytes()), offset, station));
        // In an order of no meaning, like the sealed window's: by a hash of the card.
        let card = *Digest::of(id.as_bytes()).bytes();
        plain
            .entry(card)
            .or_default()
            .push((offset, Doublet { station, slot: window.slot_at(offset) }));
    }
    let trajectories = plain
        .into_values()
        .map(|mut taps| {
            taps.sort_unstable();
            taps.into_iter().take(MAX_LENGTH as usize).map(|(_, doublet)| doublet).collect()
        })
        .collect();
    let stamps = open.take(window.id());
    let sealed = SealedWindow::freeze(window.clone(), stamps, NonZeroU32::new(MAX_LENGTH), &secret);
    (window, sealed, trajectories)
}

fn engine(stations: &Arc<Stations>, allocation: Allocation, height: u32, n_slots: u32) -> SafePath {
    let shape = Shape { fanout: 2, height: 3 };
    let basics = Basics {
        epsilon: MicroEpsilon::new(1_000_000),
        height: NonZeroU32::new(height).unwrap(),
        threshold: Threshold::OwnNoise,
        max_nodes: 50_000_000,
        max_length: NonZeroU32::new(MAX_LENGTH).unwrap(),
        stations: stations.clone(),
        threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    let places = Places::Balanced(shape);
    let settings = Settings { basics, allocation, places, times: Times::Balanced(shape) };
    SafePath::new(settings, n_slots).unwrap()
}

/// One release under a permit of a real ledger; the time is the engine's alone.
fn release(engine: &SafePath, sealed: &SealedWindow, calendar: &Calendar) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let key = Secret::from_bytes(&[1; 32]).unwrap().ledger_key();
    Journal::create(&path, &key, sealed.window().start()).unwrap();
    let settings = tapveil::ledger::Settings {
        feed: "bench".to_owned(),
        calendar: calendar.clone(),
        lifetime: None,
        horizon: None,
        repeat: Repeat::Refuse,
    };
    let mut ledger = Journal::open(&path, &key, settings).unwrap();
    let request = Request {
        window: sealed.window().clone(),
        batch: *sealed.mac(),
        configuration: Digest::of(b"bench"),
        cost: engine.price(),
    };
    let Outcome::Granted { permit, .. } = ledger.reserve(&request).unwrap() else {
        panic!("an empty ledger refuses nothing");
    };
    let start = Instant::now();
    let release = engine.sanitize(sealed, permit, &NoiseKey::for_test(1)).unwrap();
    let took = start.elapsed();
    assert_eq!(release.window().id(), sealed.window().id());
    took
}

fn noise() {
    let draws = 2_000_000;
    for (num, den) in [(1, 1), (96, 1), (2_016, 1)] {
        let noise = DiscreteLaplace::new(Scale::new(num, den).unwrap());
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let start = Instant::now();
        let sum: i64 = (0..draws).map(|_| noise.draw(&mut rng)).sum();
        let took = start.elapsed();
        assert!(sum.unsigned_abs() < 1 << 40);
        println!(
            "exact noise at scale {num:>5}           {:>8.1} ns a draw",
            took.as_secs_f64() * 1e9 / f64::from(draws)
        );
    }
}
