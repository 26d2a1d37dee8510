//! The presets: cities of the size and shape that published papers report.

use std::str::FromStr;

use jiff::civil::{self, Date, DateTime};

use super::Error;

/// The windows of every preset begin on or after this Monday.
const EARLIEST_START: Date = civil::date(2015, 11, 9);

/// Windows are counted in steps of their length from this Monday.
const WINDOW_ORIGIN: Date = civil::date(1970, 1, 5);

/// The hour at which the service day begins.
pub(super) const DAY_START_HOUR: u32 = 4;

/// A synthetic city whose statistics follow a published data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// A week of a metro: 847,668 cards at 68 stations.
    Metro,
    /// A week of a bus network: 773,296 cards at 893 stops.
    Bus,
    /// A day of a small metro: 200,000 cards at 29 stations.
    Metro200k,
    /// Two days of a metro: 514,213 cards at 65 stations.
    Stm514k,
}

/// The figures that a preset is built to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statistics {
    pub(super) cards: u64,
    pub(super) days: u32,
    pub(super) mean_length: f64,
    pub(super) max_length: u32,
    /// How many outings of a hundred stay on the line they begin on: a bus rider seldom has a
    /// change, a metro rider often.
    pub(super) same_line_percent: u32,
    /// Seconds between two trains or buses, on average.
    pub(super) headway: u32,
}

impl Preset {
    /// Every preset, in the order in which they are listed to the user.
    pub const ALL: [Preset; 4] = [Preset::Metro, Preset::Bus, Preset::Metro200k, Preset::Stm514k];

    /// The name by which a user asks for the preset.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Metro => "metro",
            Preset::Bus => "bus",
            Preset::Metro200k => "metro200k",
            Preset::Stm514k => "stm514k",
        }
    }

    pub(super) fn statistics(self) -> Statistics {
        let (cards, days, mean_length, max_length, same_line_percent, headway) = match self {
            Preset::Metro => (847_668, 7, 3.22, 90, 25, 240),
            Preset::Bus => (773_296, 7, 4.69, 121, 70, 600),
            // The papers print neither the mean nor the maximum length of these two; the figures
            // are chosen to be plausible for one and two days.
            Preset::Metro200k => (200_000, 1, 3.6, 24, 25, 240),
            Preset::Stm514k => (514_213, 2, 2.6, 40, 25, 240),
        };
        Statistics { cards, days, mean_length, max_length, same_line_percent, headway }
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Preset, Error> {
        Preset::ALL
            .into_iter()
            .find(|preset| preset.name() == name)
            .ok_or_else(|| Error::UnknownPreset { name: name.to_owned() })
    }
}

/// The names of all presets, for a message.
pub(super) fn preset_names() -> String {
    Preset::ALL.map(Preset::name).join(", ")
}

/// The time that a city's taps cover: one window, in local civil time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// The date on which the first window begins, at the start of its service day.
    pub start: Date,
    /// How many days the window lasts.
    pub days: u32,
    /// How many hours one slot lasts.
    pub slot_hours: u32,
}

impl Windows {
    pub(super) fn of(preset: Preset) -> Windows {
        let days = preset.statistics().days;
        let since_origin =
            (EARLIEST_START - WINDOW_ORIGIN).get_days().rem_euclid(days.cast_signed());
        let mut start = EARLIEST_START;
        if since_origin > 0 {
            start = later(start, days - since_origin.cast_unsigned());
        }
        Windows { start, days, slot_hours: 1 }
    }

    /// The first moment of the window.
    pub fn begins(&self) -> DateTime {
        self.start.at(DAY_START_HOUR as i8, 0, 0, 0)
    }

    /// The first moment after the window.
    pub fn ends(&self) -> DateTime {
        self.last_date().at(DAY_START_HOUR as i8, 0, 0, 0)
    }

    /// How many slots the window has.
    pub fn slots(&self) -> u32 {
        self.days * 24 / self.slot_hours
    }

    /// The dates that taps can carry: one more than the days, for the hours after midnight.
    pub(super) fn dates(&self) -> impl Iterator<Item = Date> {
        let start = self.start;
        (0..=self.days).map(move |day| later(start, day))
    }

    fn last_date(&self) -> Date {
        later(self.start, self.days)
    }
}

fn later(date: Date, days: u32) -> Date {
    date.checked_add(jiff::Span::new().days(days)).expect("a week after 2015 is a date")
}

/// The text of a tapveil.toml for the directory that holds the city's stations and taps.
pub(super) fn configuration(preset: Preset, engine: &str) -> String {
    let windows = Windows::of(preset);
    format!(
        r#"# A synthetic city, preset "{name}": releases of made-up taps protect nobody real.
version = 2

[secret]
file = "tapveil.secret"

[ledger]
file = "tapveil.ledger"

[feed]
format = "csv"
# The times in taps.csv are local and carry no zone.
time_zone = "America/Toronto"
fields = {{ card = "card", station = "station", time = "time" }}

[stations]
file = "stations.csv"

[window]
length = "{days}d"
day_start = "04:00"
slot = "{slot_hours}h"
# Which windows exist is public; "to" is the first day after the last window.
from = "{from}"
to = "{to}"
max_length = 12

{engine}
[budget]
lifetime = "100.0"
horizon = {{ windows = 7, cap = "7.0" }}
"#,
        name = preset.name(),
        days = windows.days,
        slot_hours = windows.slot_hours,
        from = windows.start,
        to = windows.last_date(),
    )
}
