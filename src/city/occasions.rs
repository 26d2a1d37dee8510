//! When people leave and how long they stay: a few occasions that many share.

use super::choice::Choice;
use super::passengers::{HOUR, MINUTE};
use super::preset::DAY_START_HOUR;

/// What people leave for on a working day: when, how long it usually takes in minutes, and how many of a hundred.
pub(super) const WORKDAY_OUTINGS: [Occasion; 5] = [
    Occasion::new((10, 30), 120, 12.0),
    Occasion::new((12, 30), 60, 14.0),
    Occasion::new((15, 30), 120, 12.0),
    Occasion::new((17, 30), 120, 26.0),
    Occasion::new((18, 30), 180, 36.0),
];

/// The same on a free day, and for visitors.
pub(super) const FREE_DAY_OUTINGS: [Occasion; 5] = [
    Occasion::new((10, 30), 180, 26.0),
    Occasion::new((11, 30), 120, 20.0),
    Occasion::new((13, 30), 180, 26.0),
    Occasion::new((15, 30), 120, 12.0),
    Occasion::new((18, 30), 240, 16.0),
];

/// When those who work leave home and come back: three shifts, and how many of a hundred have each.
pub(super) const SHIFTS: [Occasion; 3] = [
    Occasion::new((7, 30), 9 * 60, 30.0),
    Occasion::new((8, 25), 9 * 60, 52.0),
    Occasion::new((9, 30), 9 * 60, 18.0),
];

/// The same for those who learn.
pub(super) const LESSONS: [Occasion; 2] =
    [Occasion::new((8, 30), 7 * 60, 60.0), Occasion::new((10, 30), 6 * 60, 40.0)];

/// Something that many leave for at about the same time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occasion {
    /// Seconds from the start of the service day.
    pub(super) leave: u32,
    /// Seconds that one stays.
    pub(super) stay: u32,
    weight: f64,
}

impl Occasion {
    const fn new((hour, minute): (u32, u32), stay_minutes: u32, weight: f64) -> Self {
        let leave = (hour - DAY_START_HOUR) * HOUR + minute * MINUTE;
        Self { leave, stay: stay_minutes * MINUTE, weight }
    }
}

/// A choice among them, by their weights.
pub(super) fn choice_of(occasions: &[Occasion]) -> Choice {
    Choice::new(&occasions.iter().map(|occasion| occasion.weight).collect::<Vec<f64>>())
}
