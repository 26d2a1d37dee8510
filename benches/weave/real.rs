//! Real sets, where they are at hand: read from a directory that is named, never part of the project.

use std::collections::BTreeMap;
use std::path::Path;

use super::cities::Taps;

/// One set: its name, stations, days, whether it has times, and its cards.
pub(crate) struct Set {
    pub(crate) name: &'static str,
    pub(crate) stations: u32,
    pub(crate) days: u32,
    pub(crate) timed: bool,
    pub(crate) in_pairs: bool,
    pub(crate) cards: Vec<Taps>,
}

/// Every set that the directory has.
pub(crate) fn sets(dir: &Path) -> Vec<Set> {
    let mut sets = Vec::new();
    let mibici = std::fs::read_to_string(dir.join("mibici/taps.csv"));
    match mibici {
        Ok(text) => sets.extend([true, false].map(|by_day| bicycles(&text, by_day))),
        Err(error) => println!("mibici is left out: {error}"),
    }
    for (name, file) in [("bms", "bms_webview_1.txt"), ("msnbc", "msnbc_cut.txt")] {
        match std::fs::read_to_string(dir.join("sequences").join(file)) {
            Ok(text) => sets.push(sequences(name, &text)),
            Err(error) => println!("{name} is left out: {error}"),
        }
    }
    sets
}

/// A week of bicycles; by day every card and day is a card of its own.
fn bicycles(text: &str, by_day: bool) -> Set {
    let mut cards: BTreeMap<(String, u32), Taps> = BTreeMap::new();
    let mut stations: BTreeMap<String, u32> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split(',');
        let mut next = || fields.next().expect("card,station,time").to_owned();
        let (card, station, time) = (next(), next(), next());
        let number = |range: std::ops::Range<usize>| time[range].parse::<u32>().expect("a time");
        let day = number(8..10) - 9;
        let second = number(11..13) * 3_600 + number(14..16) * 60 + number(17..19);
        let n_stations = stations.len() as u32;
        let station = *stations.entry(station).or_insert(n_stations);
        let (key, shift) = if by_day { (day, 0) } else { (0, day * 86_400) };
        cards.entry((card, key)).or_default().push(((shift + second) * 1_000, station));
    }
    cards.values_mut().for_each(|taps| taps.sort_by_key(|tap| tap.0));
    let (name, days) = if by_day { ("mibici days", 1) } else { ("mibici week", 7) };
    let stations = stations.len() as u32;
    Set { name, stations, days, timed: true, in_pairs: true, cards: cards.into_values().collect() }
}

/// One sequence a line.
fn sequences(name: &'static str, text: &str) -> Set {
    let mut stations: BTreeMap<&str, u32> = BTreeMap::new();
    let mut cards = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut taps = Taps::new();
        for (order, word) in (0..).zip(line.split_whitespace()) {
            let n_stations = stations.len() as u32;
            taps.push((order * 1_000, *stations.entry(word).or_insert(n_stations)));
        }
        cards.push(taps);
    }
    let stations = stations.len() as u32;
    Set { name, stations, days: 1, timed: false, in_pairs: false, cards }
}
