//! When a window's release is due. Civil time throughout: a time of day is what the clocks of the feed's zone show.

use std::fmt;

use jiff::civil::{DateTime, Time, Weekday};
use jiff::{SignedDuration, Timestamp};

use super::calendar::first_instant_of;
use super::{Calendar, Window};

/// At a time of day, so many days after the window's end, on some weekdays. What is left out does not bind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// The first such time of day after the rest is met.
    pub at: Option<Time>,
    /// Days after the window's end.
    pub after_days: u16,
    /// Only on these days.
    pub on: Weekdays,
    /// What becomes of a window whose release was missed.
    pub missed: Missed,
}

/// Days of the week; never none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weekdays([bool; 7]);

impl Default for Weekdays {
    fn default() -> Self {
        Self([true; 7])
    }
}

impl Weekdays {
    /// These days; `None` if there are none.
    pub fn new(days: &[Weekday]) -> Option<Self> {
        let has = |number: i8| days.iter().any(|day| day.to_monday_zero_offset() == number);
        let set = [0, 1, 2, 3, 4, 5, 6].map(has);
        set.contains(&true).then_some(Self(set))
    }

    /// Whether it is one of them.
    pub fn contains(self, day: Weekday) -> bool {
        usize::try_from(day.to_monday_zero_offset()).is_ok_and(|number| self.0[number])
    }

    /// Whether every day is.
    pub fn is_all(self) -> bool {
        self.0 == [true; 7]
    }

    /// From Monday on.
    pub fn days(self) -> impl Iterator<Item = Weekday> {
        Weekday::Monday.cycle_forward().take(7).filter(move |day| self.contains(*day))
    }
}

/// What becomes of windows whose release was due while nothing could release them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Missed {
    /// All are released, in order, as soon as it is possible.
    #[default]
    All,
    /// One that is late for longer goes without a release, and is not paid for.
    Within(SignedDuration),
}

impl Schedule {
    /// The earliest moment at which this window may be released. Never before its end.
    pub fn due(&self, calendar: &Calendar, window: &Window) -> Timestamp {
        let due = self.due_civil(window.span().to);
        let due = due.and_then(|civil| first_instant_of(calendar.zone(), civil));
        // Past the end of the calendar, year 9999, nothing is due.
        due.map_or(Timestamp::MAX, |due| due.max(window.end()))
    }

    /// When this window's release can be expected: when it is due, and its taps have come. They count until so long
    /// after its end.
    pub fn expected(
        &self,
        calendar: &Calendar,
        window: &Window,
        closes_after: SignedDuration,
    ) -> Timestamp {
        let complete = window.end().checked_add(closes_after).unwrap_or(Timestamp::MAX);
        self.due(calendar, window).max(complete)
    }

    fn due_civil(&self, end: DateTime) -> Option<DateTime> {
        let mut day = end.date().checked_add(jiff::Span::new().days(self.after_days)).ok()?;
        let time = self.at.unwrap_or(end.time());
        if time < end.time() {
            day = day.tomorrow().ok()?;
        }
        while !self.on.contains(day.weekday()) {
            day = day.tomorrow().ok()?;
        }
        Some(day.to_datetime(time))
    }

    /// How late it may still be released; `None`: at any time.
    pub fn latest(&self, calendar: &Calendar, window: &Window) -> Option<Timestamp> {
        match self.missed {
            Missed::All => None,
            Missed::Within(late) => {
                Some(self.due(calendar, window).checked_add(late).unwrap_or(Timestamp::MAX))
            }
        }
    }

    /// Whether windows are released as soon as they are complete.
    pub fn is_at_once(&self) -> bool {
        self.at.is_none() && self.after_days == 0 && self.on.is_all()
    }
}

/// In words, after "a release is due".
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.after_days {
            0 => f.write_str("at the window's end")?,
            1 => f.write_str("a day after the window's end")?,
            days => write!(f, "{days} days after the window's end")?,
        }
        if let Some(at) = self.at {
            write!(f, ", at {}", at.strftime("%H:%M"))?;
        }
        if !self.on.is_all() {
            let days: Vec<String> = self.on.days().map(|day| format!("{day:?}")).collect();
            write!(f, ", on {}", days.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
