//! A synthetic city: stations and smart-card taps that belong to nobody.
//!
//! In: a preset, a number of cards, a seed. Out: stations as CSV, taps one by one.
//! Promises: the same bytes for the same input on every machine, in memory for the stations only.
//! Refuses: a preset it does not know, and a city without cards.
//! Why: a release can be tried, measured and shown at the size of a real city without real people.

use std::io::{self, Write};

use jiff::civil::{self, Date, DateTime};

mod choice;
mod demand;
mod network;
mod occasions;
mod passengers;
mod preset;
mod statistics;
#[cfg(test)]
mod tests;

use network::Network;
use passengers::{Population, Tap};
use preset::DAY_START_HOUR;
pub use preset::{Preset, Windows};
pub use statistics::Measured;

/// Why a city cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The name stands for no preset.
    #[error("unknown preset \"{name}\": use one of {}", preset::preset_names())]
    UnknownPreset {
        /// The name that was asked for.
        name: String,
    },
    /// A city without cards has no taps.
    #[error("a city needs cards: ask for at least 1")]
    NoCards,
}

/// A synthetic city; its taps are made as they are asked for and never stored.
#[derive(Debug, Clone)]
pub struct City {
    preset: Preset,
    n_cards: u64,
    network: Network,
    population: Population,
    /// The dates that the taps carry, in order.
    dates: Vec<Date>,
    /// Only taps of so many hours from the window's start on are made.
    hours: Option<u32>,
}

/// A stop that exists, from a public list.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    pub id: String,
    pub name: String,
    /// Latitude and longitude, where they are known.
    pub place: Option<(f64, f64)>,
    pub line: String,
}

/// What may be known of a feed without looking at its taps: numbers that were published with noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    pub cards: u64,
    /// Taps of a card, on average; `None`: as in the preset.
    pub mean_taps: Option<f64>,
}

/// One tap of a synthetic card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CityTap<'a> {
    /// The number of the card, from 0.
    pub card: u64,
    /// The id of the station.
    pub station: &'a str,
    /// The local time.
    pub time: DateTime,
}

impl CityTap<'_> {
    /// The id of the card.
    pub fn card_id(&self) -> String {
        card_id(self.card)
    }
}

impl City {
    /// Makes the city of a preset, with the preset's own number of cards if `cards` is `None`.
    pub fn new(preset: Preset, cards: Option<u64>, seed: u64) -> Result<City, Error> {
        let n_cards = cards.unwrap_or(preset.statistics().cards);
        if n_cards == 0 {
            return Err(Error::NoCards);
        }
        let network = Network::new(preset);
        let population = Population::new(preset, &network, seed);
        let dates = Windows::of(preset).dates().collect();
        Ok(City { preset, n_cards, network, population, dates, hours: None })
    }

    /// People who belong to nobody at stops that exist: a twin of a feed to choose an engine on. A day's people for
    /// windows up to a day, a week's for longer ones; `start` is the first date.
    pub fn twin(
        stops: &[Stop],
        days: u32,
        start: Option<Date>,
        totals: Totals,
        seed: u64,
    ) -> Result<City, Error> {
        if totals.cards == 0 || stops.is_empty() {
            return Err(Error::NoCards);
        }
        let preset = if days <= 1 { Preset::Metro200k } else { Preset::Metro };
        let mut statistics = preset.statistics();
        if let Some(mean) = totals.mean_taps {
            let most = f64::from(statistics.max_length) / 3.0;
            statistics.mean_length = mean.clamp(f64::from(statistics.min_length) + 0.05, most);
        }
        let network = Network::of(stops);
        let population = Population::with(preset, statistics, &network, seed);
        let mut dates: Vec<Date> = Windows::of(preset).dates().collect();
        if let (Some(start), Some(&first)) = (start, dates.first()) {
            let shift = start - first;
            dates = dates.into_iter().filter_map(|date| date.checked_add(shift).ok()).collect();
        }
        Ok(City { preset, n_cards: totals.cards, network, population, dates, hours: None })
    }

    /// The same city with the taps of its first hours alone; cards without one are left out.
    #[must_use]
    pub fn first_hours(self, hours: u32) -> City {
        City { hours: Some(hours), ..self }
    }

    /// Counts what the city is like; makes all taps once.
    pub fn measured(&self) -> Measured {
        Measured::of(self)
    }

    /// How many cards the city has; each has at least one tap, unless only the first hours are made.
    pub fn n_cards(&self) -> u64 {
        self.n_cards
    }

    /// About how many taps the city has, for a progress bar.
    pub fn expected_taps(&self) -> u64 {
        (self.n_cards as f64 * self.population.mean_length()).round() as u64
    }

    /// The window that holds all taps.
    pub fn windows(&self) -> Windows {
        Windows::of(self.preset)
    }

    /// The text of a tapveil.toml for the directory with stations.csv and taps.csv.
    pub fn configuration(&self, engine: &str) -> String {
        preset::configuration(self.preset, engine)
    }

    /// Writes the stations as CSV `id,name,lat,lon,line`, line by line and in order along each.
    pub fn write_stations(&self, out: &mut dyn Write) -> io::Result<()> {
        self.network.write(out)
    }

    /// The taps, one by one and card by card.
    pub fn taps(&self) -> impl Iterator<Item = CityTap<'_>> {
        let mut cards = 0..self.n_cards;
        let mut card = 0;
        let mut taps = Vec::new();
        let mut next = 0;
        std::iter::from_fn(move || {
            while next == taps.len() {
                card = cards.next()?;
                self.population.taps_of(card, &self.network, &mut taps);
                taps.retain(|tap| self.hours.is_none_or(|hours| tap.second < hours * 3_600));
                next = 0;
            }
            let tap = &taps[next];
            next += 1;
            Some(CityTap { card, station: self.station_id(tap), time: self.time(tap) })
        })
    }

    fn station_id(&self, tap: &Tap) -> &str {
        &self.network.stations[tap.station as usize].id
    }

    fn time(&self, tap: &Tap) -> DateTime {
        let Moment { date, hour, minute, second } = Moment::of(tap);
        let time = civil::time(hour as i8, minute as i8, second as i8, 0);
        self.dates[date].to_datetime(time)
    }
}

/// The id of a card: opaque text of a fixed width up to a hundred million cards.
fn card_id(card: u64) -> String {
    format!("c{card:08}")
}

/// The local time of a tap, in parts.
struct Moment {
    /// The number of the date, counted from the first of the window.
    date: usize,
    hour: u8,
    minute: u8,
    second: u8,
}

impl Moment {
    fn of(tap: &Tap) -> Moment {
        let from_midnight = tap.second + DAY_START_HOUR * 3600;
        Moment {
            date: (from_midnight / 86_400) as usize,
            hour: (from_midnight / 3600 % 24) as u8,
            minute: (from_midnight / 60 % 60) as u8,
            second: (from_midnight % 60) as u8,
        }
    }
}
