//! How good and how fast `weave` is, on cities that this program makes or on a file of trajectories.
//!
//! `cargo bench --bench weave` measures every preset; `-- --preset metro --cards 50000` one, smaller. `-- --file F --stations S --slots T` reads
//! one trajectory a line, doublets as `station.slot`, numbers from 0. `--epsilon 0.1`, `--seeds 3`, `--favour od`, `--longest 12` change what is
//! asked. `--quick` leaves the judging out and prints times only. Time is also told as a ratio to a sort of the same trajectories.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops where it cannot go on"
)]

#[path = "weave/judge.rs"]
mod judge;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use judge::{Cards, Judge, Score};
use tapveil::city::{City, Preset};
use tapveil::engine::Legs;
use tapveil::engine::weave::{Favour, Settings, Weave};
use tapveil::engine::{Engine, Release, fixture};
use tapveil::model::{Calendar, Digest, MicroEpsilon, PathKind, StationIx, Stations, Window};
use tapveil::passenger::{CardKey, Tap};
use tapveil::seal::SealedWindow;
use tapveil::secret::{NoiseKey, Secret};
use tapveil::window::OpenWindows;

const HOUR: u32 = 3_600;

/// What the command line asks for.
struct Asked(Vec<String>);

impl Asked {
    fn text(&self, flag: &str) -> Option<&str> {
        let at = self.0.iter().position(|argument| argument == flag)?;
        self.0.get(at + 1).map(String::as_str)
    }

    fn number(&self, flag: &str, usual: u64) -> u64 {
        self.text(flag).map_or(usual, |text| text.parse().expect("a number"))
    }

    fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|argument| argument == flag)
    }
}

/// Taps of one card by place and time: (milliseconds after the window's start, station).
type Taps = Vec<(u32, u32)>;

fn main() {
    let asked = Asked(std::env::args().collect());
    println!("{}", Score::HEAD);
    if let Some(file) = asked.text("--file") {
        let (stations, slots) = (asked.number("--stations", 0), asked.number("--slots", 24));
        let cards = from_file(file);
        return measure(
            file.rsplit('/').next().unwrap(),
            stations as u32,
            slots as u32,
            cards,
            &asked,
        );
    }
    for preset in Preset::ALL {
        if asked.text("--preset").is_none_or(|name| name == preset.name()) {
            let cards = asked.text("--cards").map(|cards| cards.parse().expect("a number"));
            let city = City::new(preset, cards, 1).unwrap();
            let mut text = Vec::new();
            city.write_stations(&mut text).unwrap();
            let stations = Stations::from_csv(&text).unwrap();
            let cards = from_city(&city, &stations);
            measure(preset.name(), stations.len(), city.windows().slots(), cards, &asked);
        }
    }
}

fn from_file(file: &str) -> Vec<Taps> {
    let doublet = |(order, word): (u32, &str)| {
        let (station, slot) = word.split_once('.').expect("station.slot");
        let slot: u32 = slot.parse().unwrap();
        (slot * HOUR * 1_000 + order, station.parse().unwrap())
    };
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| (0..).zip(line.split_whitespace()).map(doublet).collect()).collect()
}

fn from_city(city: &City, stations: &Stations) -> Vec<Taps> {
    let start = city.windows().begins();
    let mut cards: BTreeMap<String, Taps> = BTreeMap::new();
    for tap in city.taps() {
        let after = tap.time.duration_since(start).as_millis();
        let station = stations.find(tap.station).unwrap().0;
        cards.entry(tap.card_id()).or_default().push((u32::try_from(after).unwrap(), station));
    }
    cards.into_values().collect()
}

fn measure(name: &str, n_stations: u32, slots: u32, cards: Vec<Taps>, asked: &Asked) {
    let longest = asked.number("--longest", 12) as u32;
    let days = slots.div_ceil(24);
    let (_, window) = window_of(days);
    let window_slots = window.n_slots();
    let sealed = seal(&window, &cards, longest);
    let truth = in_plain_sight(&cards, n_stations, window_slots, longest);
    drop(cards);
    let sort = sorting(&truth.trips);
    let judge = (!asked.has("--quick")).then(|| Judge::new(truth));
    for seed in 1..=asked.number("--seeds", 1) {
        let engine = Weave::new(settings(n_stations, longest, asked), window_slots).unwrap();
        let (took, release) = release(&engine, &sealed, seed);
        let line = judge
            .as_ref()
            .map(|judge| judge.score(&made(&release, n_stations, window_slots)).line(name));
        let ratio = took.as_secs_f64() / sort.as_secs_f64();
        let line = line.unwrap_or_else(|| format!("{name:<18}"));
        println!(
            "{line} | seed {seed}, {:.2} s, {ratio:.0} x the sort, {} rows",
            took.as_secs_f64(),
            release.rows().len()
        );
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
}

/// A window of whole days in a zone without surprises.
fn window_of(days: u32) -> (Calendar, Window) {
    let length = i64::from(days) * 86_400;
    let calendar = Calendar::new(TimeZone::UTC, length, 0, i64::from(HOUR)).unwrap();
    let window = calendar.window_at("2015-11-10T12:00:00Z".parse().unwrap()).unwrap();
    (calendar, window)
}

fn seal(window: &Window, cards: &[Taps], longest: u32) -> SealedWindow {
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let hasher = secret.card_key(window.id());
    let mut open = OpenWindows::default();
    for (number, taps) in (0_u64..).zip(cards) {
        let card = CardKey::new(&hasher, &number.to_le_bytes());
        for &(offset, station) in taps {
            open.add(Tap::new(window.id(), card, offset, StationIx(station)));
        }
    }
    SealedWindow::freeze(window.clone(), open.take(window.id()), NonZeroU32::new(longest), &secret)
}

fn in_plain_sight(cards: &[Taps], stations: u32, slots: u32, longest: u32) -> Cards {
    let code = |&(offset, station): &(u32, u32)| station * slots + offset / (HOUR * 1_000);
    let trip = |taps: &Taps| taps.iter().take(longest as usize).map(code).collect();
    let trips = cards.iter().map(trip).collect();
    Cards { stations: stations as usize, slots: slots as usize, day: slots.min(24) as usize, trips }
}

fn made(release: &Release, stations: u32, slots: u32) -> Cards {
    let mut trips = Vec::new();
    for row in release.rows() {
        let trip: Vec<u32> =
            row.path.iter().map(|doublet| doublet.station.0 * slots + doublet.slot).collect();
        (0..row.count).for_each(|_| trips.push(trip.clone()));
    }
    Cards { stations: stations as usize, slots: slots as usize, day: slots.min(24) as usize, trips }
}

fn settings(n_stations: u32, longest: u32, asked: &Asked) -> Settings {
    let ids: String = (0..n_stations).map(|n| format!("s{n:07}\n")).collect();
    Settings {
        epsilon: MicroEpsilon::parse(asked.text("--epsilon").unwrap_or("1.0")).unwrap(),
        favour: match asked.text("--favour") {
            Some("stations") => Favour::Stations,
            Some("od") => Favour::Od,
            Some("trips") => Favour::Trips,
            _ => Favour::Balanced,
        },
        legs: if asked.has("--pairs") { Legs::Pairs } else { Legs::Next },
        input: PathKind::Timed,
        max_length: NonZeroU32::new(longest).unwrap(),
        stations: Arc::new(Stations::from_csv(format!("id\n{ids}").as_bytes()).unwrap()),
        threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    }
}

fn sorting(trips: &[Vec<u32>]) -> Duration {
    let mut sorted = trips.to_vec();
    let start = Instant::now();
    sorted.sort_unstable();
    start.elapsed()
}

/// One release under a permit that no ledger booked; the time is the engine's alone.
fn release(engine: &dyn Engine, sealed: &SealedWindow, seed: u64) -> (Duration, Release) {
    let permit = fixture::permit(engine, sealed, Digest::of(b"bench"));
    let start = Instant::now();
    let release = engine.sanitize(sealed, permit, &NoiseKey::for_test(seed)).unwrap();
    (start.elapsed(), release)
}
