//! Speed of the engines that suppress, as times and ratios in one run.
//!
//! `cargo bench --bench suppression` measures the presets metro200k and stm514k and the sizes that the papers report.
//! `-- --cards N` makes every part at most that large. Prints each time and what it is compared with; asserts nothing
//! but that the work was done, because speed on a shared machine is a report, not a test.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use tapveil::city::{City, Preset};
use tapveil::engine::lk::{Flowgraph, Lk, Score, Settings, Variant, Weights};
use tapveil::engine::projection::{self, Projection, Study};
use tapveil::engine::{Engine, Release, fixture};
use tapveil::model::{Calendar, Digest, PathKind, Portion, StationIx, Stations};
use tapveil::passenger::{CardKey, Tap};
use tapveil::seal::SealedWindow;
use tapveil::secret::{NoiseKey, Secret};
use tapveil::window::OpenWindows;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let most = arguments
        .iter()
        .position(|argument| argument == "--cards")
        .map(|at| arguments[at + 1].parse().expect("--cards takes a number"));
    lk(Preset::Metro200k, most, &[30]);
    lk(Preset::Stm514k, most, &[10, 20, 50, 100]);
    growth(most);
    flowgraph(most);
    threats(most);
    projection(most);
    city_size(most);
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn calendar(days: u32) -> Calendar {
    let zone = TimeZone::get("America/Toronto").unwrap();
    Calendar::new(zone, i64::from(days) * 86_400, 4 * 3_600, 3_600).unwrap()
}

/// A city as the pipeline seals it.
fn city(preset: Preset, cards: Option<u64>) -> (Arc<Stations>, Calendar, SealedWindow) {
    let full = City::new(preset, None, 1).unwrap();
    let city = City::new(preset, cards.map(|most: u64| most.min(full.n_cards())), 1).unwrap();
    let mut text = Vec::new();
    city.write_stations(&mut text).unwrap();
    let stations = Arc::new(Stations::from_csv(&text).unwrap());
    let calendar = calendar(city.windows().days);
    let start = calendar.zone().to_timestamp(city.windows().begins()).unwrap();
    let window = calendar.window_at(start).unwrap();
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let hasher = secret.card_key(window.id());
    let mut open = OpenWindows::default();
    for tap in city.taps() {
        let event = calendar.zone().to_timestamp(tap.time).unwrap();
        let offset = window.offset_millis(event).unwrap();
        let card = CardKey::new(&hasher, tap.card_id().as_bytes());
        open.add(Tap::new(window.id(), card, offset, stations.find(tap.station).unwrap()));
    }
    let stamps = open.take(window.id());
    (stations, calendar, SealedWindow::freeze(window, stamps, None, &secret))
}

fn lk_engine(stations: &Arc<Stations>, k: u32) -> Lk {
    let portion = |text: &str| Portion::parse(text).unwrap();
    Lk::new(Settings {
        l: NonZeroU32::new(3).unwrap(),
        k: NonZeroU32::new(k).unwrap(),
        variant: Variant::Best,
        score: Score::GainPerInfo,
        weights: Weights {
            alpha: portion("0.4"),
            beta: portion("0.2"),
            gamma: portion("0.2"),
            delta: portion("0.2"),
        },
        max_work: 50_000_000,
        stations: stations.clone(),
    })
    .unwrap()
}

/// One release under a permit that no ledger booked; the time is the engine's alone, with its own checks.
fn release(engine: &dyn Engine, sealed: &SealedWindow) -> (Release, Duration) {
    let start = Instant::now();
    engine.check_work(sealed).unwrap();
    let admitted = start.elapsed();
    let permit = fixture::permit(engine, sealed, Digest::of(b"bench"));
    let start = Instant::now();
    let release = engine.sanitize(sealed, permit, &NoiseKey::for_test(1)).unwrap();
    (release, admitted + start.elapsed())
}

fn kept(release: &Release) -> (u64, u64) {
    let cards = release.rows().iter().map(|row| row.count).sum();
    let doublets = release.rows().iter().map(|row| row.count * row.path.len() as u64).sum();
    (cards, doublets)
}

fn lk(preset: Preset, most: Option<u64>, all_k: &[u32]) {
    let (stations, _, sealed) = city(preset, most);
    for &k in all_k {
        let (release, took) = release(&lk_engine(&stations, k), &sealed);
        let (cards, doublets) = kept(&release);
        println!(
            "lk, {}, L = 3, K = {k:>3}          {:>8.1} ms   {cards} cards, {doublets} doublets left",
            preset.name(),
            millis(took)
        );
    }
}

/// Growth in cards: twice the cards should take no more than twice the time.
fn growth(most: Option<u64>) {
    let full = most.unwrap_or(514_213).min(514_213);
    let mut before = None;
    for cards in [full / 4, full / 2, full] {
        let (stations, _, sealed) = city(Preset::Stm514k, Some(cards.max(1)));
        let (_, took) = release(&lk_engine(&stations, 50), &sealed);
        let beside = before.map_or(String::new(), |before: Duration| {
            format!("   {:.2} x half as many", took.as_secs_f64() / before.as_secs_f64())
        });
        println!("lk, {cards:>7} cards of stm514k, K = 50   {:>8.1} ms{beside}", millis(took));
        before = Some(took);
    }
}

/// Numbers that are spread out; any mixing does.
fn spread() -> impl FnMut(u64) -> u64 {
    let mut drawn = 1_u64;
    move |below| {
        drawn =
            drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (drawn >> 33) % below
    }
}

/// 1,200,000 cards over 4,000 doublets: 100 stations in 40 slots.
fn flowgraph(most: Option<u64>) {
    let cards = most.unwrap_or(1_200_000).min(1_200_000);
    let calendar = calendar(2);
    let window = calendar.window_at("2015-11-10T09:00:00Z".parse().unwrap()).unwrap();
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let hasher = secret.card_key(window.id());
    let mut open = OpenWindows::default();
    let mut draw = spread();
    for card in 0..cards {
        let key = CardKey::new(&hasher, &card.to_le_bytes());
        for _ in 0..1 + draw(6) {
            let offset = u32::try_from(draw(40) * 3_600_000 + draw(3_600_000)).unwrap();
            let station = StationIx(u32::try_from(draw(100)).unwrap());
            open.add(Tap::new(window.id(), key, offset, station));
        }
    }
    let stamps = open.take(window.id());
    let sealed = SealedWindow::freeze(window, stamps, None, &secret);
    let start = Instant::now();
    let graph = Flowgraph::of(&sealed);
    let took = start.elapsed();
    println!(
        "flowgraph of {cards} cards          {:>8.1} ms   {} nodes",
        millis(took),
        graph.n_nodes()
    );
}

/// Baskets like those of BMS-POS: 500 places, most trips short and at a few popular places.
fn baskets(cards: u64) -> (Projection, SealedWindow, Calendar) {
    const PLACES: u64 = 500;
    let text: String = (0..PLACES).map(|id| format!("p{id:03}\n")).collect();
    let stations = Arc::new(Stations::from_csv(format!("id\n{text}").as_bytes()).unwrap());
    let calendar = calendar(1);
    let window = calendar.window_at("2015-11-10T12:00:00Z".parse().unwrap()).unwrap();
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let hasher = secret.card_key(window.id());
    let mut open = OpenWindows::default();
    let mut draw = spread();
    for card in 0..cards {
        let key = CardKey::new(&hasher, &card.to_le_bytes());
        let mut offset = 0;
        // Half of all go on after every place: mean two and a half with the first two counted.
        while offset == 0 || (offset < 40 && draw(5) < 3) {
            // The smaller of two draws of two: popular places are much more popular.
            let place = draw(PLACES).min(draw(PLACES)).min(draw(PLACES));
            offset += 1;
            let station = StationIx(u32::try_from(place).unwrap());
            open.add(Tap::new(window.id(), key, offset * 1_000, station));
        }
    }
    let stamps = open.take(window.id());
    let sealed = SealedWindow::freeze(window, stamps, None, &secret);
    let owned = |number: u64| (0..PLACES).filter(move |place| place % 5 == number);
    let adversaries: BTreeMap<String, Vec<StationIx>> = (0..5)
        .map(|number| {
            let places = owned(number).map(|place| StationIx(u32::try_from(place).unwrap()));
            (format!("shop {number}"), places.collect())
        })
        .collect();
    let settings = projection::Settings {
        breach: Portion::parse("0.5").unwrap(),
        input: PathKind::Untimed,
        adversaries,
        method: projection::Method::Tree,
        max_work: 50_000_000,
        stations,
    };
    (Projection::new(settings).unwrap(), sealed, calendar)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

/// Threat identification: the tree against a scan of all trajectories for every view.
fn threats(most: Option<u64>) {
    let cards = most.unwrap_or(7_000).min(7_000);
    let (engine, sealed, _) = baskets(cards);
    let (study, built) = timed(|| Study::new(&engine, &sealed));
    let (found, tree) = timed(|| study.threats());
    let (scanned, scan) = timed(|| study.threats_by_scanning());
    assert_eq!(found, scanned);
    println!(
        "threats of {cards} trajectories       {:>8.3} ms   scanning {:.1} ms: {:.0} x (built once in {:.1} ms)",
        millis(tree),
        millis(scan),
        scan.as_secs_f64() / tree.as_secs_f64(),
        millis(built)
    );
}

/// Whole suppression: as large as asked for, and beside the reference where that can finish.
fn projection(most: Option<u64>) {
    for cards in [60, 100] {
        let (engine, sealed, _) = baskets(cards);
        let study = Study::new(&engine, &sealed);
        let (mine, fast) = timed(|| study.suppressed());
        let (its, slow) = timed(|| study.suppressed_by_scanning());
        assert_eq!(mine, its);
        println!(
            "projection, {cards:>5} trajectories     {:>8.1} ms   scanning {:.1} ms: {:.0} x",
            millis(fast),
            millis(slow),
            slow.as_secs_f64() / fast.as_secs_f64()
        );
    }
    let cards = most.unwrap_or(10_000).min(10_000);
    let (engine, sealed, _) = baskets(cards);
    let (release, took) = release(&engine, &sealed);
    let (left, places) = kept(&release);
    println!(
        "projection, {cards:>5} trajectories     {:>8.1} ms   {left} trajectories, {places} places left",
        millis(took)
    );
}

/// A metro of 847,668 cards, five adversaries: four times the cards should take little more than four times as long.
fn city_size(most: Option<u64>) {
    let full = most.unwrap_or(847_668).min(847_668);
    let (mut first, mut before): (Option<(u64, Duration)>, Option<Duration>) = (None, None);
    for cards in [full / 16, full / 4, full] {
        let (stations, _, sealed) = city(Preset::Metro, Some(cards.max(1)));
        let mut adversaries: BTreeMap<String, Vec<StationIx>> = BTreeMap::new();
        for station in 0..stations.len() {
            let owned = adversaries.entry(format!("operator {}", station % 5)).or_default();
            owned.push(StationIx(station));
        }
        let settings = projection::Settings {
            breach: Portion::parse("0.5").unwrap(),
            input: PathKind::Untimed,
            adversaries,
            method: projection::Method::Tree,
            max_work: 50_000_000,
            stations,
        };
        let (released, took) = release(&Projection::new(settings).unwrap(), &sealed);
        // Both as exponents: from a quarter as many, and from the first line.
        let grows = |from: Duration, times: f64| {
            (took.as_secs_f64() / from.as_secs_f64()).ln() / times.ln()
        };
        let beside = match (first, before) {
            (Some((n, first)), Some(before)) => format!(
                ", grows as n^{:.2}, n^{:.2} from {n} on",
                grows(before, 4.0),
                grows(first, cards as f64 / n as f64)
            ),
            _ => String::new(),
        };
        println!(
            "projection, {cards:>6} cards of metro     {:>8.1} ms   {} doublets left{beside}",
            millis(took),
            kept(&released).1,
        );
        first = first.or(Some((cards, took)));
        before = Some(took);
    }
}
