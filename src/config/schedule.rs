//! The keys that say how long windows are and when releases are due, and what they come to.

use jiff::SignedDuration;
use jiff::civil::{Time, Weekday};
use serde_json::{Value, json};

use super::file::File;
use super::keys::{Close, ReleaseKeys, WindowKeys};
use super::leaf::{Seconds, TimeOfDay, duration_secs};
use crate::declare::{Leaf, inline, refuse_word};
use crate::model::{CalendarError, Length, Missed, Schedule, Weekdays};

const DAY: i64 = 86_400;

/// A duration, or calendar months.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WindowLength(pub(super) Length);

impl WindowLength {
    /// How months are written.
    pub(super) const MONTH: &str = "1month";
}

impl Leaf for WindowLength {
    fn read(value: &Value) -> Result<Self, String> {
        if value.as_str().map(str::trim) == Some(Self::MONTH) {
            return Ok(Self(Length::Month));
        }
        let Seconds(length) = Seconds::<0, { 31 * DAY }>::read(value)?;
        Ok(Self(Length::Seconds(length.as_secs())))
    }

    fn schema() -> Value {
        json!({ "type": "string", "examples": ["15m", "1d", "7d", Self::MONTH] })
    }
}

/// A day of the week.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Day(pub(super) Weekday);

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

impl Leaf for Day {
    fn read(value: &Value) -> Result<Self, String> {
        let named = |word: &str| DAYS.iter().position(|day| *day == word);
        let number = value.as_str().and_then(named).and_then(|number| i8::try_from(number).ok());
        let day = number.and_then(|number| Weekday::from_monday_zero_offset(number).ok());
        day.map(Self).ok_or_else(|| refuse_word(value, &DAYS))
    }

    fn schema() -> Value {
        json!({ "enum": DAYS })
    }
}

/// Days of the week, at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SomeDays(Weekdays);

impl Leaf for SomeDays {
    fn read(value: &Value) -> Result<Self, String> {
        let refuse =
            || format!("must be a list of days like [\"mon\", \"thu\"], not {}", inline(value));
        let items = value.as_array().ok_or_else(refuse)?;
        let days: Result<Vec<Day>, String> = items.iter().map(Day::read).collect();
        let days: Vec<Weekday> = days?.iter().map(|day| day.0).collect();
        Weekdays::new(&days).map(Self).ok_or_else(refuse)
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": Day::schema(), "minItems": 1, "uniqueItems": true })
    }
}

/// Whole days, up to a year.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Days(u16);

impl Leaf for Days {
    fn read(value: &Value) -> Result<Self, String> {
        let secs = duration_secs(&String::read(value)?).filter(|secs| secs % DAY == 0);
        let days = secs.and_then(|secs| u16::try_from(secs / DAY).ok()).filter(|days| *days <= 366);
        days.map(Self)
            .ok_or_else(|| format!("must be whole days up to \"366d\", not {}", inline(value)))
    }

    fn schema() -> Value {
        json!({ "type": "string", "examples": ["0d", "2d"] })
    }
}

/// What becomes of releases that were missed: all are made, or those that are not too late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MissedRule(Missed);

impl Leaf for MissedRule {
    fn read(value: &Value) -> Result<Self, String> {
        let text = String::read(value)?;
        match (text.as_str(), duration_secs(&text)) {
            ("all", _) => Ok(Self(Missed::All)),
            (_, Some(secs @ 0..)) if secs <= 3_660 * DAY => {
                Ok(Self(Missed::Within(SignedDuration::from_secs(secs))))
            }
            _ => Err(format!("{text:?} is neither \"all\" nor a duration like \"7d\"")),
        }
    }

    fn schema() -> Value {
        json!({ "type": "string", "examples": ["all", "7d"] })
    }
}

/// How long windows are, with the day on which weeks begin.
pub(super) fn length(window: &WindowKeys) -> Result<Length, CalendarError> {
    window.length.0.with_weeks_from(window.week_start.0)
}

/// When releases are due.
pub(super) fn schedule(
    file: &mut File<'_>,
    release: &ReleaseKeys,
    close: Option<Close>,
) -> Option<Schedule> {
    if release.at.is_some() && release.not_before.is_some() {
        file.complain("release.not_before", "is the older name of release.at: write one of them");
        return None;
    }
    let MissedRule(missed) = release.missed;
    if missed != Missed::All && close == Some(Close::Watermark) {
        let what = "needs window.close = \"arrival\": where the taps' own times close windows, old taps are read, and \
                    every release would be late";
        file.complain("release.missed", what);
        return None;
    }
    Some(Schedule {
        at: release.at.or(release.not_before).map(time),
        after_days: release.after.0,
        on: release.on.map_or(Weekdays::default(), |days| days.0),
        missed,
    })
}

fn time(TimeOfDay(secs): TimeOfDay) -> Time {
    Time::midnight().saturating_add(SignedDuration::from_secs(secs))
}
