//! Speed as ratios in one run, so that a slow machine does not matter.
//!
//! `cargo bench --bench engine` measures the full presets: a metro of 847,668 cards and 68 stations, a bus network
//! of 778,724 cards and 944 stops. `-- --cards N` makes all of it smaller. Prints each time and what it is
//! compared with; asserts nothing but that the work was done, because speed on a shared machine is a report, not
//! a test.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dashu::integer::IBig;
use dashu::rational::RBig;
use jiff::tz::TimeZone;
use opendp::traits::samplers::sample_discrete_laplace;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tapveil::city::{City, Preset};
use tapveil::engine::hybrid::{self, Groups, Hybrid, Inference};
use tapveil::engine::noise::{DiscreteLaplace, Scale};
use tapveil::engine::safepath::{self, Allocation, SafePath};
use tapveil::engine::seqpt::SeqPt;
use tapveil::engine::tree::{Places, Shape, Threshold, Times, TreeParams};
use tapveil::engine::{Engine, fixture};
use tapveil::ingest::Decoder;
use tapveil::ingest::format::{self, Mapping};
use tapveil::model::{
    Calendar, Digest, Doublet, MicroEpsilon, PathKind, StationIx, Stations, Window,
};
use tapveil::passenger::{CardKey, Tap};
use tapveil::seal::SealedWindow;
use tapveil::secret::{NoiseKey, Secret};
use tapveil::window::OpenWindows;

const MAX_LENGTH: u32 = 12;
/// Sequences are measured as stm-hybrid-2012 does: a tree of twenty levels.
const SEQUENCE_LENGTH: u32 = 20;
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        Some(arguments[at + 1].clone())
    };
    let cards = after("--cards").map(|cards| cards.parse().expect("--cards takes a number"));
    let zone = TimeZone::get("America/Toronto").unwrap();
    let calendar = Calendar::new(zone, 7 * 86_400, 4 * 3_600, 3_600).unwrap();
    if let Some(name) = after("--memory") {
        let n_taps = after("--taps").and_then(|taps| taps.parse().ok()).unwrap();
        return memory(&name, n_taps, cards, &calendar);
    }
    noise();
    doublets(cards, &calendar);
    sequences("metro", cards, &calendar);
    sequences("bus", cards, &calendar);
    small_universe(cards.unwrap_or(200_000).min(200_000), &calendar);
}

/// A preset as the paper has it: its cards, its stations.
fn preset(name: &str, cards: Option<u64>) -> (City, Arc<Stations>) {
    let (preset, usual, n_stations) = match name {
        "metro" => (Preset::Metro, 847_668, 68),
        _ => (Preset::Bus, 778_724, 944),
    };
    let city = City::new(preset, Some(cards.unwrap_or(usual)), 1).unwrap();
    let mut text = Vec::new();
    city.write_stations(&mut text).unwrap();
    // The preset has fewer stops than the paper's network: the others are in the universe, and nobody is there.
    let known = Stations::from_csv(&text).unwrap().len();
    for n in known..n_stations {
        text.extend(format!("more-{n},,,,more-{}\n", n % 4).into_bytes());
    }
    (city, Arc::new(Stations::from_csv(&text).unwrap()))
}

/// SafePath on the metro, against a sort of the same trajectories.
fn doublets(cards: Option<u64>, calendar: &Calendar) {
    let (city, stations) = preset("metro", cards);
    let sealed = seal(&city, &stations, calendar, MAX_LENGTH);
    let trajectories = in_plain_sight(&city, &stations, calendar, MAX_LENGTH);
    let n_slots = sealed.window().n_slots();
    println!("{} cards, {} stations, {n_slots} slots", city.n_cards(), stations.len());
    let sort = sorting(&trajectories);
    println!("sort_unstable of the trajectories     {:>8.1} ms", millis(sort));
    for (name, allocation) in [("paper", Allocation::Paper), ("even", Allocation::Even)] {
        for height in [4, 12] {
            let engine = safepath(&stations, allocation, height, n_slots);
            let took = best(|| release(&engine, &sealed).0);
            let ratio = took.as_secs_f64() / sort.as_secs_f64();
            println!(
                "safepath, height {height:>2}, {name:<5} allocation {:>8.1} ms   {ratio:.2} x the sort",
                millis(took)
            );
        }
    }
    decoding(&stations, calendar);
}

/// `hybrid` over sequences, ε = 1, h = 20, against a sort of the same sequences; its memory in a process of its own.
fn sequences(name: &str, cards: Option<u64>, calendar: &Calendar) {
    let (city, stations) = preset(name, cards);
    let sealed = seal(&city, &stations, calendar, SEQUENCE_LENGTH);
    let plain: Vec<Vec<u32>> = in_plain_sight(&city, &stations, calendar, SEQUENCE_LENGTH)
        .iter()
        .map(|path| path.iter().map(|doublet| doublet.station.0).collect())
        .collect();
    println!("{name}: {} sequences, {} stations", plain.len(), stations.len());
    let sort = sorting(&plain);
    println!("sort_unstable of the sequences        {:>8.1} ms", millis(sort));
    let engine = hybrid(&stations);
    let mut n_rows = 0;
    let took = best(|| {
        let (took, rows) = release(&engine, &sealed);
        n_rows = rows;
        took
    });
    let ratio = took.as_secs_f64() / sort.as_secs_f64();
    println!(
        "hybrid, height {SEQUENCE_LENGTH}, epsilon 1           {:>8.1} ms   {ratio:.2} x the sort, {n_rows} rows",
        millis(took)
    );
    let mut own = std::process::Command::new(std::env::current_exe().unwrap());
    let n_taps: usize = plain.iter().map(Vec::len).sum();
    own.args(["--memory", name, "--taps", &n_taps.to_string()]);
    // What is freed goes back to the system; otherwise the release would use memory that sealing left.
    own.env("MALLOC_MMAP_THRESHOLD_", "65536").env("MALLOC_TRIM_THRESHOLD_", "0");
    if let Some(cards) = cards {
        own.args(["--cards", &cards.to_string()]);
    }
    assert!(own.status().unwrap().success());
}

/// Peak memory of one release, in a process that did nothing else.
fn memory(name: &str, n_taps: u64, cards: Option<u64>, calendar: &Calendar) {
    let (city, stations) = preset(name, cards);
    let sealed = seal(&city, &stations, calendar, SEQUENCE_LENGTH);
    // What the window holds: 16 bytes and an end a card, 8 bytes a doublet.
    let window = city.n_cards() as f64 * 20.0 + n_taps as f64 * 8.0;
    let engine = hybrid(&stations);
    let resident = |what: &str| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(what)).map(str::to_owned);
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or(0.0)
            * 1_024.0
    };
    // Writing 5 there makes the kernel forget the peak so far.
    std::fs::write("/proc/self/clear_refs", "5").ok();
    let before = resident("VmRSS:");
    release(&engine, &sealed);
    let more = resident("VmHWM:") - before;
    println!(
        "hybrid's peak beside the window       {:>8.1} MB   {:.2} x the window of {:.1} MB",
        more / 1e6,
        more / window,
        window / 1e6
    );
}

/// The reduced set of safepath-2018, 5.2: 20 stations, 24 slots, trips of 1.5 taps on average, at most 8.
fn small_universe(n_cards: u64, calendar: &Calendar) {
    let ids: String = (0..20).map(|n| format!("s{n:02}\n")).collect();
    let stations = Arc::new(Stations::from_csv(format!("id\n{ids}").as_bytes()).unwrap());
    let day = Calendar::new(calendar.zone().clone(), 86_400, 4 * 3_600, 3_600).unwrap();
    let window = day.window_at("2015-11-10T12:00:00Z".parse().unwrap()).unwrap();
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let hasher = secret.card_key(window.id());
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let mut open = OpenWindows::default();
    for card in 0..n_cards {
        let card = CardKey::new(&hasher, &card.to_le_bytes());
        for _ in 0..8 {
            let (station, hour) =
                (rng.next_u32() % 20 * (rng.next_u32() % 20) / 19, rng.next_u32() % 24);
            open.add(Tap::new(window.id(), card, hour * 3_600_000, StationIx(station)));
            if rng.next_u32() % 3 > 0 {
                break;
            }
        }
    }
    let stamps = open.take(window.id());
    let sealed = SealedWindow::freeze(window, stamps, NonZeroU32::new(8), &secret);
    println!("{n_cards} cards, 20 stations, 24 slots, height 5");
    let params = params(&stations, 5, 8);
    let baseline = SeqPt::new(params).unwrap();
    let tree = safepath(&stations, Allocation::Even, 5, 24);
    let mut n_rows = 0;
    let seqpt = best(|| {
        let (took, rows) = release(&baseline, &sealed);
        n_rows = rows;
        took
    });
    let safepath = best(|| release(&tree, &sealed).0);
    println!(
        "seqpt {:.1} ms ({n_rows} rows), safepath {:.1} ms: {:.0} x (the paper: 2,400 x)",
        millis(seqpt),
        millis(safepath),
        seqpt.as_secs_f64() / safepath.as_secs_f64()
    );
}

fn sorting<T: Ord + Clone>(items: &[T]) -> Duration {
    best(|| {
        let mut sorted = items.to_vec();
        let start = Instant::now();
        sorted.sort_unstable();
        let took = start.elapsed();
        assert!(sorted.is_sorted());
        took
    })
}

/// What one record costs on its way to a tap, card hash included.
fn decoding(stations: &Arc<Stations>, calendar: &Calendar) {
    let records = 1_000_000_u32;
    for (name, fraction) in
        format::names().into_iter().flat_map(|name| [(name, ""), (name, ".250")])
    {
        let mapping = Mapping::of_fields("card", "station", "time");
        let format = format::find(name).unwrap().with_defaults(mapping).unwrap();
        let mut decoder = Decoder::new(tapveil::ingest::Settings {
            format: format.clone(),
            time_layouts: Vec::new(),
            card_is_token: false,
            local_zone: None,
            calendar: calendar.clone(),
            stations: stations.clone(),
            secret: Secret::from_bytes(&[1; 32]).unwrap(),
            keeps_kinds: false,
        });
        let ids: Vec<&str> = stations.iter().map(|station| station.id.as_str()).collect();
        let lines: Vec<Vec<u8>> = (0..1_000)
            .map(|i: usize| {
                let (id, second) = (ids[i % ids.len()], i % 60);
                let (card, time) =
                    (format!("c{i:08}"), format!("2015-11-10T07:12:{second:02}{fraction}Z"));
                format.encode(&format.mapping().sample(&card, id, &time))
            })
            .collect();
        let start = Instant::now();
        let good = (0..records)
            .filter(|i| decoder.decode(&lines[*i as usize % lines.len()]).is_ok())
            .count();
        let took = start.elapsed();
        assert_eq!(good, records as usize);
        let nanos = took.as_secs_f64() * 1e9 / f64::from(records);
        println!("decoding a {name:<5}{fraction:<4} record          {nanos:>8.1} ns");
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn best(mut round: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| round()).min().unwrap()
}

/// The city's taps in its window: card, offset, station.
fn stamped<'a>(
    city: &'a City,
    stations: &'a Stations,
    window: &'a Window,
    calendar: &'a Calendar,
) -> impl Iterator<Item = (String, u32, StationIx)> {
    city.taps().map(move |tap| {
        let event = calendar.zone().to_timestamp(tap.time).unwrap();
        let offset = window.offset_millis(event).unwrap();
        (tap.card_id(), offset, stations.find(tap.station).unwrap())
    })
}

fn window_of(city: &City, calendar: &Calendar) -> Window {
    let start = calendar.zone().to_timestamp(city.windows().begins()).unwrap();
    calendar.window_at(start).unwrap()
}

/// The window as the pipeline seals it.
fn seal(city: &City, stations: &Stations, calendar: &Calendar, max_length: u32) -> SealedWindow {
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let window = window_of(city, calendar);
    let hasher = secret.card_key(window.id());
    let mut open = OpenWindows::default();
    for (card, offset, station) in stamped(city, stations, &window, calendar) {
        open.add(Tap::new(window.id(), CardKey::new(&hasher, card.as_bytes()), offset, station));
    }
    let stamps = open.take(window.id());
    SealedWindow::freeze(window, stamps, NonZeroU32::new(max_length), &secret)
}

/// The same trajectories in plain sight, for the sort.
fn in_plain_sight(
    city: &City,
    stations: &Stations,
    calendar: &Calendar,
    max_length: u32,
) -> Vec<Vec<Doublet>> {
    let window = window_of(city, calendar);
    let mut plain: BTreeMap<[u8; 32], Vec<(u32, Doublet)>> = BTreeMap::new();
    for (card, offset, station) in stamped(city, stations, &window, calendar) {
        // In an order of no meaning, like the sealed window's: by a hash of the card.
        let taps = plain.entry(*Digest::of(card.as_bytes()).bytes()).or_default();
        taps.push((offset, Doublet { station, slot: window.slot_at(offset) }));
    }
    plain
        .into_values()
        .map(|mut taps| {
            taps.sort_unstable();
            taps.into_iter().take(max_length as usize).map(|(_, doublet)| doublet).collect()
        })
        .collect()
}

fn params(stations: &Arc<Stations>, height: u32, max_length: u32) -> TreeParams {
    TreeParams {
        epsilon: MicroEpsilon::new(1_000_000),
        height: NonZeroU32::new(height).unwrap(),
        threshold: Threshold::OwnNoise,
        max_nodes: 50_000_000,
        max_length: NonZeroU32::new(max_length).unwrap(),
        stations: stations.clone(),
    }
}

fn safepath(
    stations: &Arc<Stations>,
    allocation: Allocation,
    height: u32,
    n_slots: u32,
) -> SafePath {
    let shape = Shape { fanout: 2, height: 3 };
    let settings = safepath::Settings {
        params: params(stations, height, MAX_LENGTH),
        allocation,
        places: Places::Balanced(shape),
        times: Times::Balanced(shape),
    };
    SafePath::new(settings, n_slots).unwrap()
}

/// Two levels of places, as in the paper: lines, with the stations a line has on average.
fn hybrid(stations: &Arc<Stations>) -> Hybrid {
    let lines: BTreeSet<&str> = stations.iter().map(|station| station.line.as_str()).collect();
    let fanout = stations.len().div_ceil(u32::try_from(lines.len()).unwrap());
    let settings = hybrid::Settings {
        params: params(stations, SEQUENCE_LENGTH, SEQUENCE_LENGTH),
        input: PathKind::Untimed,
        groups: Some(Groups { places: Places::Lines, fanout }),
        inference: Inference::WithoutGroups,
    };
    Hybrid::new(settings).unwrap()
}

/// One release under a permit that no ledger booked; the time is the engine's alone.
fn release(engine: &dyn Engine, sealed: &SealedWindow) -> (Duration, usize) {
    let permit = fixture::permit(engine, sealed, Digest::of(b"bench"));
    let start = Instant::now();
    let release = engine.sanitize(sealed, permit, &NoiseKey::for_test(1)).unwrap();
    let took = start.elapsed();
    assert_eq!(release.window().id(), sealed.window().id());
    (took, release.rows().len())
}

/// Our draws and those of the opendp crate's exact sampler, one after the other.
fn noise() {
    let (draws, their_draws) = (2_000_000, 50_000);
    for (num, den) in [(1, 1), (96, 1), (2_016, 1)] {
        let noise = DiscreteLaplace::new(Scale::new(num, den).unwrap());
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let ours = best(|| {
            let start = Instant::now();
            let sum: i64 = (0..draws).map(|_| noise.draw(&mut rng)).sum();
            let took = start.elapsed();
            assert!(sum.unsigned_abs() < 1 << 40);
            took
        });
        let scale = RBig::from_parts(num.into(), den.into());
        let theirs = best(|| {
            let start = Instant::now();
            let draw = || sample_discrete_laplace(scale.clone()).unwrap();
            let n_zero = (0..their_draws).filter(|_| draw() == IBig::ZERO).count();
            let took = start.elapsed();
            assert!(n_zero < their_draws);
            took
        });
        let ours = ours.as_secs_f64() * 1e9 / f64::from(draws);
        let theirs = theirs.as_secs_f64() * 1e9 / their_draws as f64;
        println!(
            "exact noise at scale {num:>5}           {ours:>8.1} ns a draw, opendp {theirs:.0} ns: {:.0} x",
            theirs / ours
        );
    }
}
