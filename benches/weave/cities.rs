//! Cities of different shapes, made by a program: the same seed gives the same taps. None is made from real data.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tapveil::engine::Legs;

/// Taps of one card: milliseconds after the window's start, and the station.
pub(crate) type Taps = Vec<(u32, u32)>;

/// What a city is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Town {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) stations: u32,
    pub(crate) days: u32,
    pub(crate) cards: u32,
    /// Whether a ride is a tap in and a tap out, or a tap in alone.
    pub(crate) tap_out: bool,
    /// How unequal stations are: the exponent of their ranks.
    pub(crate) skew: f64,
    /// How many destinations are usual from a station.
    pub(crate) reach: u32,
    /// Rides of a card on a day, from one on: weights.
    pub(crate) rides: &'static [f64],
    /// How likely a card travels on a day, the first one aside.
    pub(crate) travels: f64,
    /// Whether times are released.
    pub(crate) timed: bool,
}

const USUAL: &[f64] = &[0.27, 0.55, 0.1, 0.06, 0.02];

impl Town {
    /// Cards that tap in and out, on one day.
    pub(crate) const PAIRS: Self = Self {
        name: "pairs",
        about: "in and out, a day of hours; about as many cards, stations and pairs as the card-days of the goals",
        stations: 131,
        days: 1,
        cards: 393_334,
        tap_out: true,
        skew: 0.9,
        reach: 26,
        rides: USUAL,
        travels: 0.0,
        timed: true,
    };

    /// All of them.
    pub(crate) const ALL: [Self; 6] = [
        Self::PAIRS,
        Self {
            name: "single",
            about: "in only, a day of hours",
            stations: 68,
            cards: 300_000,
            tap_out: false,
            reach: 68,
            ..Self::PAIRS
        },
        Self {
            name: "skewed",
            about: "one station has most of it, few cards",
            stations: 40,
            cards: 8_000,
            skew: 2.0,
            reach: 10,
            ..Self::PAIRS
        },
        Self {
            name: "tiny",
            about: "300 cards: totals by station and by hour, and no more",
            stations: 20,
            cards: 300,
            ..Self::PAIRS
        },
        Self {
            name: "week",
            about: "in and out, a week of hours",
            stations: 60,
            days: 7,
            cards: 120_000,
            reach: 20,
            travels: 0.45,
            ..Self::PAIRS
        },
        Self {
            name: "sequences",
            about: "stations without times, 20,000 cards over 68 stations",
            stations: 68,
            days: 7,
            cards: 20_000,
            tap_out: false,
            reach: 12,
            skew: 0.8,
            travels: 0.15,
            timed: false,
            ..Self::PAIRS
        },
    ];

    /// How its legs are made of taps.
    pub(crate) fn legs(&self) -> Legs {
        if self.tap_out { Legs::Pairs } else { Legs::Next }
    }

    /// Every card's taps, in order of time.
    pub(crate) fn taps(&self, seed: u64) -> Vec<Taps> {
        let mut chance = Chance(ChaCha8Rng::seed_from_u64(seed));
        let network = Network::new(self, &mut chance);
        (0..self.cards).map(|_| network.card(self, &mut chance)).collect()
    }
}

struct Chance(ChaCha8Rng);

impl Chance {
    fn unit(&mut self) -> f64 {
        f64::from(self.0.next_u32()) / 4_294_967_296.0
    }

    /// About zero, from −2 to 2, mostly near the middle.
    fn about_zero(&mut self) -> f64 {
        self.unit() + self.unit() + self.unit() + self.unit() - 2.0
    }

    fn choose(&mut self, running: &[f64]) -> usize {
        let all = running.last().copied().unwrap_or(1.0);
        let at = self.unit() * all;
        running.partition_point(|sum| *sum <= at).min(running.len() - 1)
    }
}

fn running(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    weights
        .map(|weight| {
            sum += weight;
            sum
        })
        .collect()
}

/// Which stations are popular, and where one goes from each.
struct Network {
    popular: Vec<f64>,
    usual: Vec<(Vec<u32>, Vec<f64>)>,
}

impl Network {
    fn new(town: &Town, chance: &mut Chance) -> Self {
        let weights: Vec<f64> =
            (1..=town.stations).map(|rank| f64::from(rank).powf(-town.skew)).collect();
        let usual = (0..town.stations)
            .map(|from| {
                let mut likes: Vec<(f64, u32)> = (0..town.stations)
                    .filter(|&to| to != from)
                    .map(|to| (weights[to as usize].sqrt() * (1.5 * chance.about_zero()).exp(), to))
                    .collect();
                likes.sort_by(|a, b| b.0.total_cmp(&a.0));
                likes.truncate(town.reach.max(1) as usize);
                let running = running(likes.iter().map(|like| like.0));
                (likes.into_iter().map(|like| like.1).collect(), running)
            })
            .collect();
        Self { popular: running(weights.into_iter()), usual }
    }

    /// A destination: a usual one, or now and then any.
    fn destination(&self, from: u32, chance: &mut Chance) -> u32 {
        let (places, running) = &self.usual[from as usize];
        if places.is_empty() || chance.unit() < 0.004 {
            return chance.choose(&self.popular) as u32;
        }
        places[chance.choose(running)]
    }

    fn card(&self, town: &Town, chance: &mut Chance) -> Taps {
        let home = chance.choose(&self.popular) as u32;
        let work = self.destination(home, chance);
        let rides = running(town.rides.iter().copied());
        let first = (chance.unit() * f64::from(town.days)) as u32;
        let mut taps = Taps::new();
        for day in 0..town.days {
            if day == first || chance.unit() < town.travels {
                self.day(town, day, (home, work), chance.choose(&rides) + 1, chance, &mut taps);
            }
        }
        taps.sort_by_key(|tap| tap.0);
        taps
    }

    fn day(
        &self,
        town: &Town,
        day: u32,
        (home, work): (u32, u32),
        rides: usize,
        chance: &mut Chance,
        taps: &mut Taps,
    ) {
        const HOUR: f64 = 3_600_000.0;
        let mut at = home;
        let early = chance.unit() < 0.65;
        let mut hour = if early { 8.0 } else { 14.0 } + chance.about_zero() * 2.5;
        for ride in 0..rides {
            let to = match ride {
                0 if chance.unit() < 0.8 => work,
                _ if ride + 1 == rides && ride > 0 && chance.unit() < 0.8 => home,
                _ => self.destination(at, chance),
            };
            let stay = if ride == 0 && early { 8.5 } else { 2.0 };
            let mut tap = |hour: f64, station: u32| {
                let within = (hour.clamp(0.0, 23.99) * HOUR) as u32;
                taps.push((day * 24 * 3_600_000 + within, station));
            };
            tap(hour, at);
            let ride_hours = 0.2 + 0.6 * chance.unit();
            // A few forget to tap out.
            if town.tap_out && chance.unit() > 0.03 {
                tap(hour + ride_hours, to);
            }
            hour += ride_hours + stay * (1.0 + 0.35 * chance.about_zero()).max(0.1);
            at = to;
        }
    }
}
