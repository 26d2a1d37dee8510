//! How good and how fast `weave` is, on cities that this program makes.
//!
//! `cargo bench --bench weave` prints the table of goals: nothing, the best plain tables, `weave`, what is wanted;
//! for every city of `weave/cities.rs`, ε = 1 and 0.1, means of three seeds. `-- --city pairs --epsilon 1.0` takes one.
//! `-- --presets` does the same for the cities of `generate` (`--cards 50000` smaller), `-- --data DIR` for real sets.
//! `-- --coverage 200` counts how often the 95 % intervals hold the truth, over so many releases of presets and cities.
//! `-- --speed` prints times, ratios to a sort of the same trajectories, and memory.
//! `--engine ngram` judges that engine instead.
//! `--favour od`, `--longest 12` (taps of a card) and `--longest-leg 3` (hours) change what is asked.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops where it cannot go on"
)]

#[path = "weave/cities.rs"]
mod cities;
#[path = "weave/coverage.rs"]
mod coverage;
#[path = "weave/goals.rs"]
mod goals;
#[path = "weave/histogram.rs"]
mod histogram;
#[path = "weave/judge.rs"]
mod judge;
#[path = "weave/real.rs"]
mod real;
#[path = "weave/tables.rs"]
mod tables;
#[path = "weave/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use cities::{Taps, Town};
use judge::Judge;
use tapveil::city::{City, Preset};
use tapveil::engine::Legs;
use tapveil::engine::weave::Favour;
use tapveil::model::Stations;
use world::{Case, Terms};

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

    fn epsilons(&self) -> Vec<&str> {
        self.text("--epsilon").map_or_else(|| vec!["1.0", "0.1"], |one| vec![one])
    }

    fn favour(&self) -> Favour {
        match self.text("--favour") {
            Some("stations") => Favour::Stations,
            Some("od") => Favour::Od,
            Some("trips") => Favour::Trips,
            _ => Favour::Balanced,
        }
    }

    fn terms(&self, name: &str, stations: u32, days: u32) -> Terms {
        Terms {
            name: name.to_owned(),
            stations,
            days,
            timed: true,
            legs: Legs::Next,
            favour: self.favour(),
            by_ngrams: self.text("--engine") == Some("ngram"),
            longest: self.number("--longest", 12) as u32,
            longest_leg: self.text("--longest-leg").map(|_| self.number("--longest-leg", 0) as u32),
        }
    }

    fn wants(&self, flag: &str, name: &str) -> bool {
        self.text(flag).is_none_or(|wanted| wanted == name)
    }
}

fn main() {
    let asked = Asked(std::env::args().collect());
    if asked.has("--speed") {
        return speed(&asked);
    }
    if asked.has("--coverage") {
        return coverages(&asked);
    }
    if let Some(dir) = asked.text("--data") {
        return sets(&asked, Path::new(dir));
    }
    if asked.has("--presets") {
        return presets(&asked);
    }
    for town in Town::ALL.iter().filter(|town| asked.wants("--city", town.name)) {
        let (case, judge) = made(&asked, town);
        asked.epsilons().iter().for_each(|epsilon| goals::print(town, &case, &judge, epsilon));
    }
}

fn judged(terms: Terms, cards: &[Taps]) -> (Case, Judge) {
    let case = Case::new(terms, cards);
    let judge = Judge::new(case.truth(cards));
    (case, judge)
}

fn made(asked: &Asked, town: &Town) -> (Case, Judge) {
    let terms = asked.terms(town.name, town.stations, town.days);
    judged(Terms { timed: town.timed, legs: town.legs(), ..terms }, &town.taps(1))
}

/// A town that stands for data of which nothing is wanted in particular.
fn like(about: &'static str) -> Town {
    Town { name: "", about, ..Town::PAIRS }
}

fn presets(asked: &Asked) {
    for preset in Preset::ALL.into_iter().filter(|one| asked.wants("--preset", one.name())) {
        let (stations, days, cards) =
            preset_taps(preset, asked.text("--cards").map(|_| asked.number("--cards", 0)));
        let (case, judge) = judged(asked.terms(preset.name(), stations, days), &cards);
        for epsilon in asked.epsilons() {
            goals::print(&like("a preset of generate"), &case, &judge, epsilon);
        }
    }
}

fn sets(asked: &Asked, dir: &Path) {
    for set in real::sets(dir).into_iter().filter(|set| asked.wants("--set", set.name)) {
        let terms = asked.terms(set.name, set.stations, set.days);
        let legs = if set.in_pairs { Legs::Pairs } else { Legs::Next };
        let (case, judge) = judged(Terms { timed: set.timed, legs, ..terms }, &set.cards);
        for epsilon in asked.epsilons() {
            goals::print(&like("real, private output"), &case, &judge, epsilon);
        }
    }
}

/// The presets with a tenth of their cards at most, and the towns small enough to be released hundreds of times.
fn coverages(asked: &Asked) {
    const MOST: u64 = 20_000;
    let releases = asked.number("--coverage", 200);
    for preset in Preset::ALL.into_iter().filter(|one| asked.wants("--preset", one.name())) {
        let n_cards = asked.number("--cards", MOST);
        let (stations, days, cards) = preset_taps(preset, Some(n_cards));
        let (case, judge) = judged(asked.terms(preset.name(), stations, days), &cards);
        let epsilon = asked.text("--epsilon").unwrap_or("1.0");
        coverage::print(&case, &judge, epsilon, releases);
    }
    let small = |town: &&Town| u64::from(town.cards) <= MOST || asked.text("--city").is_some();
    for town in Town::ALL.iter().filter(small).filter(|town| asked.wants("--city", town.name)) {
        let (case, judge) = made(asked, town);
        let epsilon = asked.text("--epsilon").unwrap_or("1.0");
        coverage::print(&case, &judge, epsilon, releases);
    }
}

fn preset_taps(preset: Preset, n_cards: Option<u64>) -> (u32, u32, Vec<Taps>) {
    let city = City::new(preset, n_cards, 1).unwrap();
    let mut text = Vec::new();
    city.write_stations(&mut text).unwrap();
    let stations = Stations::from_csv(&text).unwrap();
    let start = city.windows().begins();
    let mut cards: BTreeMap<String, Taps> = BTreeMap::new();
    for tap in city.taps() {
        let after = tap.time.duration_since(start).as_millis();
        let station = stations.find(tap.station).unwrap().0;
        cards.entry(tap.card_id()).or_default().push((u32::try_from(after).unwrap(), station));
    }
    let days = city.windows().slots().div_ceil(24);
    (stations.len(), days, cards.into_values().collect())
}

/// Times, as ratios to a sort of the same trajectories, for growing numbers of cards and a large universe.
fn speed(asked: &Asked) {
    let metro = |cards: u64| preset_taps(Preset::Metro, Some(cards));
    for n_cards in [106_250, 850_000] {
        let (stations, days, cards) = metro(n_cards);
        timed(asked.terms("metro", stations, days), &cards);
    }
    let wide = Town {
        stations: 1_000,
        days: 7,
        cards: 1_000_000,
        tap_out: false,
        reach: 60,
        travels: 0.2,
        ..Town::PAIRS
    };
    timed(asked.terms("wide", wide.stations, wide.days), &wide.taps(1));
}

fn timed(terms: Terms, cards: &[Taps]) {
    let (name, stations) = (terms.name.clone(), terms.stations);
    let case = Case::new(terms, cards);
    let truth = case.truth(cards);
    let sort = sorting(&truth.trips);
    let slots = truth.slots;
    drop(truth);
    let took = case.release("1.0", 1).took;
    println!(
        "{name:<8} {:>8} cards x {stations} stations x {slots} slots: {:6.2} s, {:5.2} us a card, {:4.0} x a sort, {}",
        cards.len(),
        took.as_secs_f64(),
        took.as_secs_f64() * 1e6 / cards.len() as f64,
        took.as_secs_f64() / sort.as_secs_f64(),
        most_memory()
    );
}

fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default().replace('\t', " ")
}

fn sorting(trips: &[Vec<u32>]) -> Duration {
    let mut sorted = trips.to_vec();
    let start = Instant::now();
    sorted.sort_unstable();
    start.elapsed()
}
