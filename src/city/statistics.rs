//! What a city is like, counted from its taps, beside what the papers print of theirs.

use std::collections::HashMap;
use std::fmt::Write;

use super::preset::Preset;
use super::{City, CityTap};

/// What a paper prints of its data; `None` where it does not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Published {
    /// Where it is printed.
    source: &'static str,
    pub(super) cards: u64,
    pub(super) stations: Option<u32>,
    pub(super) slots: Option<u32>,
    pub(super) mean_length: Option<f64>,
    pub(super) max_length: Option<u32>,
}

/// One line of safepath-2018, Table 3: the hours that are kept, and what is left of bus and metro.
type Cut = (u32, [(u64, f64, u32); 2]);

/// By hours: cards, mean and maximum length of the buses, then of the metro.
const CUTS: [Cut; 4] = [
    (35, [(304_238, 1.96, 21), (263_303, 1.58, 16)]),
    (70, [(508_283, 3.12, 44), (485_049, 2.28, 35)]),
    (105, [(618_238, 3.98, 70), (606_917, 2.81, 51)]),
    (140, [(722_786, 4.46, 106), (766_419, 3.11, 73)]),
];

impl Published {
    /// What is printed of a preset's data, or of its first hours.
    pub(super) fn of(preset: Preset, hours: Option<u32>) -> Option<Published> {
        let whole = |source, cards, stations, slots, mean, max| Published {
            source,
            cards,
            stations: Some(stations),
            slots,
            mean_length: mean,
            max_length: max,
        };
        let all = match preset {
            Preset::Metro => {
                whole("safepath-2018, Table 2", 847_668, 68, Some(168), Some(3.22), Some(90))
            }
            Preset::Bus => {
                whole("safepath-2018, Table 2", 773_296, 893, Some(168), Some(4.69), Some(121))
            }
            Preset::Metro200k => {
                whole("lk-flowgraph-2014, Table 3", 200_000, 29, Some(24), None, None)
            }
            Preset::Stm514k => {
                whole("lk-flowgraph-2014, Table 3", 514_213, 65, Some(48), None, None)
            }
            Preset::StmMetro => {
                whole("stm-hybrid-2012, Table 2", 847_668, 68, None, Some(4.21), Some(90))
            }
            Preset::StmBus => {
                whole("stm-hybrid-2012, Table 2", 778_724, 944, None, Some(5.67), Some(121))
            }
            Preset::Bus20 => whole("safepath-2018, 5.2", 200_000, 20, Some(24), Some(1.5), Some(8)),
            Preset::Random100 => {
                whole("projection-support-tree-2020, Fig. 3", 10_000, 100, None, None, Some(7))
            }
            Preset::Taxis => Published {
                stations: None,
                ..whole("dptd-2022, Table III (T-drive)", 14_650, 0, None, Some(12.11), None)
            },
        };
        let Some(hours) = hours else { return Some(all) };
        let (_, [bus, metro]) = CUTS.into_iter().find(|cut| cut.0 == hours)?;
        let (cards, mean, max) = match preset {
            Preset::Bus => bus,
            Preset::Metro => metro,
            _ => return None,
        };
        Some(Published {
            source: "safepath-2018, Table 3",
            cards,
            slots: Some(hours),
            mean_length: Some(mean),
            max_length: Some(max),
            ..all
        })
    }
}

/// What was counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    published: Option<Published>,
    /// Cards with at least one tap.
    pub cards: u64,
    /// Stations of the list.
    pub stations: u32,
    /// Slots of the window, or of what was kept of it.
    pub slots: u32,
    /// Taps of a card, on average.
    pub mean_length: f64,
    /// Taps of the card with the most.
    pub max_length: u32,
    /// Share of the days of a card on which it has a way back: two taps or more.
    pub back: f64,
    /// Share of taps in the busiest four of 24 hours of the clock.
    pub peaks: f64,
    /// Share of steps from tap to tap that go between the busiest hundredth of all pairs of stations.
    pub busy_pairs: f64,
    /// Different sequences of stations for every 100 cards.
    pub distinct: f64,
    /// Share of cards that have one of the 100 commonest sequences of stations.
    pub common: f64,
    /// Share of cards whose stations and slots at least nine others have too.
    pub shared: f64,
}

#[derive(Default)]
struct Counting {
    cards: u64,
    taps: u64,
    longest: usize,
    days: u64,
    days_back: u64,
    hours: [u64; 24],
    pairs: HashMap<(u32, u32), u64>,
    sequences: HashMap<Vec<u32>, u64>,
    paths: HashMap<Vec<(u32, u32)>, u64>,
}

impl Counting {
    fn add(&mut self, card: &[(u32, u32)], hours: &[usize], slots_a_day: u32) {
        self.cards += 1;
        self.taps += card.len() as u64;
        self.longest = self.longest.max(card.len());
        for day in card.chunk_by(|a, b| a.1 / slots_a_day == b.1 / slots_a_day) {
            self.days += 1;
            self.days_back += u64::from(day.len() > 1);
        }
        hours.iter().for_each(|&hour| self.hours[hour] += 1);
        for step in card.windows(2) {
            *self.pairs.entry((step[0].0, step[1].0)).or_default() += 1;
        }
        *self.sequences.entry(card.iter().map(|tap| tap.0).collect()).or_default() += 1;
        *self.paths.entry(card.to_vec()).or_default() += 1;
    }
}

/// The sum of the largest `n`.
fn largest(counts: impl Iterator<Item = u64>, n: usize) -> u64 {
    let mut counts: Vec<u64> = counts.collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.iter().take(n).sum()
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

impl Measured {
    /// Counts all taps of a city.
    pub(super) fn of(city: &City) -> Measured {
        let windows = city.windows();
        let slots_a_day = 24 * 60 / windows.slot_minutes;
        let stations = city.network.len();
        let begins = windows.begins();
        let number: HashMap<&str, u32> =
            city.network.stations.iter().map(|station| station.id.as_str()).zip(0..).collect();
        let mut counting = Counting::default();
        let (mut card, mut hours, mut before) = (Vec::new(), Vec::new(), None);
        for tap in city.taps() {
            let CityTap { card: id, station, time } = tap;
            if before.replace(id).is_some_and(|before| before != id) {
                counting.add(&card, &hours, slots_a_day);
                card.clear();
                hours.clear();
            }
            let minutes = time.duration_since(begins).as_mins();
            let slot = u32::try_from(minutes).unwrap_or(0) / windows.slot_minutes;
            card.push((number[station], slot));
            hours.push(time.hour().unsigned_abs().into());
        }
        if !card.is_empty() {
            counting.add(&card, &hours, slots_a_day);
        }
        let n = counting.cards;
        let all_pairs = (u64::from(stations) * u64::from(stations)).div_ceil(100);
        let shared = counting.paths.values().filter(|n| **n >= 10).sum();
        let steps = counting.pairs.values().sum();
        Measured {
            published: Published::of(city.preset, city.hours),
            cards: n,
            stations,
            slots: city.hours.map_or(windows.slots(), |hours| hours * 60 / windows.slot_minutes),
            mean_length: share(counting.taps, n),
            max_length: u32::try_from(counting.longest).unwrap_or(u32::MAX),
            back: share(counting.days_back, counting.days),
            peaks: share(largest(counting.hours.into_iter(), 4), counting.taps),
            busy_pairs: share(
                largest(counting.pairs.values().copied(), usize::try_from(all_pairs).unwrap_or(1)),
                steps,
            ),
            distinct: 100.0 * share(counting.sequences.len() as u64, n),
            common: share(largest(counting.sequences.values().copied(), 100), n),
            shared: share(shared, n),
        }
    }

    /// A table for people: every figure, and the paper's where it prints one.
    pub fn in_words(&self) -> String {
        let published = self.published;
        let of = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let whole = |n: Option<u32>| of(n.map(|n| n.to_string()));
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let rows = [
            ("cards", self.cards.to_string(), of(published.map(|paper| paper.cards.to_string()))),
            (
                "stations",
                self.stations.to_string(),
                whole(published.and_then(|paper| paper.stations)),
            ),
            ("slots", self.slots.to_string(), whole(published.and_then(|paper| paper.slots))),
            (
                "taps of a card, mean",
                format!("{:.2}", self.mean_length),
                of(published.and_then(|paper| paper.mean_length).map(|mean| format!("{mean:.2}"))),
            ),
            (
                "taps of a card, most",
                self.max_length.to_string(),
                whole(published.and_then(|paper| paper.max_length)),
            ),
            ("days with a way back", percent(self.back), of(None)),
            ("taps in the four busiest hours", percent(self.peaks), of(None)),
            ("steps between the busiest 1 % of pairs", percent(self.busy_pairs), of(None)),
            ("different sequences for 100 cards", format!("{:.1}", self.distinct), of(None)),
            ("cards with one of the 100 commonest", percent(self.common), of(None)),
            ("cards whose stations and slots 9 others have", percent(self.shared), of(None)),
        ];
        let source = published.map_or("no paper", |paper| paper.source);
        let mut text = format!("{:<46}{:>12}  {source}\n", "", "here");
        for (what, here, paper) in rows {
            writeln!(text, "{what:<46}{here:>12}  {paper}").expect("a text can be written to");
        }
        text.trim_end().to_owned()
    }
}
