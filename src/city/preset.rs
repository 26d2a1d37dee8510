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
    /// The week of the metro as an earlier paper has it: longer trajectories.
    StmMetro,
    /// The week of the buses as an earlier paper has it: 778,724 cards at 944 stops, longer trajectories.
    StmBus,
    /// What is left of the buses at 20 stops and in 24 hours: 200,000 cards.
    Bus20,
    /// Anywhere at any time: 10,000 trajectories of 4 to 7 of 100 places.
    Random100,
    /// A day of vehicles that are seen every seven minutes: 14,650 traces through 400 cells.
    Taxis,
}

/// How the people of a preset move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// To work, to school, out of an evening, and back.
    Outings,
    /// From a cell to one beside it, every few minutes, until the ride ends.
    Rides,
    /// Anywhere, each place as likely.
    Anywhere,
}

/// How a network is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Lines that meet downtown.
    Radial,
    /// Lines along and across the river.
    Streets,
    /// Rows of cells.
    Grid,
}

/// The figures that a preset is built to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statistics {
    pub(super) cards: u64,
    pub(super) days: u32,
    pub(super) mean_length: f64,
    pub(super) min_length: u32,
    pub(super) max_length: u32,
    pub(super) demand: Demand,
    pub(super) layout: Layout,
    /// How many outings of a hundred stay on the line they begin on: a bus rider seldom has a
    /// change, a metro rider often.
    pub(super) same_line_percent: u32,
    /// Seconds between two trains or buses, on average.
    pub(super) headway: u32,
    pub(super) slot_minutes: u32,
    /// Cards of the whole city for every different plan that people have, on average; `None`: everybody has one of
    /// their own.
    pub(super) cards_a_plan: Option<u32>,
}

/// A metro of outings; presets say what differs.
const METRO: Statistics = Statistics {
    cards: 847_668,
    days: 7,
    mean_length: 3.22,
    min_length: 1,
    max_length: 90,
    demand: Demand::Outings,
    layout: Layout::Radial,
    same_line_percent: 25,
    headway: 240,
    slot_minutes: 60,
    cards_a_plan: None,
};

/// A bus network of outings.
const BUS: Statistics = Statistics {
    cards: 773_296,
    mean_length: 4.69,
    max_length: 121,
    layout: Layout::Streets,
    same_line_percent: 70,
    headway: 600,
    ..METRO
};

impl Preset {
    /// Every preset, in the order in which they are listed to the user.
    pub const ALL: [Preset; 9] = [
        Preset::Metro,
        Preset::Bus,
        Preset::Metro200k,
        Preset::Stm514k,
        Preset::StmMetro,
        Preset::StmBus,
        Preset::Bus20,
        Preset::Random100,
        Preset::Taxis,
    ];

    /// The name by which a user asks for the preset.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Metro => "metro",
            Preset::Bus => "bus",
            Preset::Metro200k => "metro200k",
            Preset::Stm514k => "stm514k",
            Preset::StmMetro => "stm-metro",
            Preset::StmBus => "stm-bus",
            Preset::Bus20 => "bus20",
            Preset::Random100 => "random100",
            Preset::Taxis => "taxis",
        }
    }

    pub(super) fn statistics(self) -> Statistics {
        match self {
            Preset::Metro => METRO,
            Preset::Bus => BUS,
            // The paper prints neither the mean nor the maximum length of these two; the figures
            // are chosen to be plausible for one and two days. That hardly anything is suppressed
            // at K = 10 in the paper means that hardly a path of its data is rare: people share plans.
            Preset::Metro200k => Statistics {
                cards: 200_000,
                days: 1,
                mean_length: 3.6,
                max_length: 24,
                cards_a_plan: Some(50),
                ..METRO
            },
            Preset::Stm514k => Statistics {
                cards: 514_213,
                days: 2,
                mean_length: 2.6,
                max_length: 40,
                cards_a_plan: Some(50),
                ..METRO
            },
            Preset::StmMetro => Statistics { mean_length: 4.21, ..METRO },
            Preset::StmBus => Statistics { cards: 778_724, mean_length: 5.67, ..BUS },
            Preset::Bus20 => {
                Statistics { cards: 200_000, days: 1, mean_length: 1.5, max_length: 8, ..BUS }
            }
            Preset::Random100 => Statistics {
                cards: 10_000,
                days: 1,
                mean_length: 5.5,
                min_length: 4,
                max_length: 7,
                demand: Demand::Anywhere,
                layout: Layout::Grid,
                ..METRO
            },
            Preset::Taxis => Statistics {
                cards: 14_650,
                days: 1,
                mean_length: 12.11,
                min_length: 6,
                max_length: 60,
                demand: Demand::Rides,
                layout: Layout::Grid,
                slot_minutes: 10,
                ..METRO
            },
        }
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
    /// How many minutes one slot lasts.
    pub slot_minutes: u32,
}

impl Windows {
    pub(super) fn of(preset: Preset) -> Windows {
        let Statistics { days, slot_minutes, .. } = preset.statistics();
        let since_origin =
            (EARLIEST_START - WINDOW_ORIGIN).get_days().rem_euclid(days.cast_signed());
        let mut start = EARLIEST_START;
        if since_origin > 0 {
            start = later(start, days - since_origin.cast_unsigned());
        }
        Windows { start, days, slot_minutes }
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
        self.days * 24 * 60 / self.slot_minutes
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
    let slot = match windows.slot_minutes {
        60 => "1h".to_owned(),
        minutes => format!("{minutes}m"),
    };
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
slot = "{slot}"
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
        from = windows.start,
        to = windows.last_date(),
    )
}
