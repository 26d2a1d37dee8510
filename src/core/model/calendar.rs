//! Which windows exist, and which one an instant belongs to. Pure calendar arithmetic.
//!
//! Windows are counted in civil time from Monday 1970-01-05 at the service day's start, so that a daily
//! window begins at 04:00 local in summer and in winter. A civil time that a clock change skips stands for
//! the moment of the change, one that it repeats for the first of the two. So the windows cover every
//! instant exactly once, a day with a clock change has 23 or 25 hours, and a short window that falls into
//! the skipped hour does not exist. Slots are counted in elapsed time from the window's start: a 25-hour
//! day has 25 hourly slots. Months are the calendar's own, 28 to 31 service days, counted from January 1970.

mod length;
mod window;

pub use length::Length;
pub use window::Window;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

const DAY_SECS: i64 = 86_400;

/// The number of a window, counted from the first one of its length: the day or week of Monday 1970-01-05, or
/// January 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WindowId(i64);

impl WindowId {
    /// The window with this number.
    pub fn new(number: i64) -> Self {
        Self(number)
    }

    /// The one after it; `None` after the last number there is.
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }

    pub fn number(self) -> i64 {
        self.0
    }
}

/// Why a window length, a day start or a slot cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CalendarError {
    /// Length outside 1 min … 31 d.
    #[error("is {0}s, but must lie between 1m and 31d")]
    Length(i64),
    /// Does not fit a day.
    #[error("is {0}s, but a length under a day must divide 24h")]
    LengthDividesDay(i64),
    /// Not whole days.
    #[error("is {0}s, but a length over a day must be whole days")]
    LengthWholeDays(i64),
    /// Not whole weeks.
    #[error("is for a window.length of whole weeks, such as \"7d\"")]
    WeekStart,
    /// The slot does not divide the length.
    #[error("is {slot_secs}s, which does not divide window.length, {length_secs}s")]
    Slot {
        /// The slot as configured.
        slot_secs: i64,
        /// The length as configured.
        length_secs: i64,
    },
    /// The slot does not divide a day, and months have different numbers of days.
    #[error("is {0}s, but with months it must divide 24h")]
    SlotDividesDay(i64),
    /// The day start is not in a day.
    #[error("must lie between 00:00 and 23:59")]
    DayStart,
}

impl CalendarError {
    /// The configuration key that it is about.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Length(_) | Self::LengthDividesDay(_) | Self::LengthWholeDays(_) => {
                "window.length"
            }
            Self::WeekStart => "window.week_start",
            Self::Slot { .. } | Self::SlotDividesDay(_) => "window.slot",
            Self::DayStart => "window.day_start",
        }
    }
}

/// Tumbling windows in a time zone. Cannot be built wrong.
#[derive(Clone, Debug)]
pub struct Calendar {
    zone: TimeZone,
    length: Length,
    day_start_secs: i64,
    slot_secs: i64,
}

impl Calendar {
    /// Checks the relations between the four; gives all complaints at once. A number is a length in seconds.
    pub fn new(
        zone: TimeZone,
        length: impl Into<Length>,
        day_start_secs: i64,
        slot_secs: i64,
    ) -> Result<Self, Vec<CalendarError>> {
        let length = length.into();
        let mut complaints: Vec<CalendarError> = length.complaint().into_iter().collect();
        complaints.extend(length.complaint_of_slot(slot_secs));
        if !(0..DAY_SECS).contains(&day_start_secs) {
            complaints.push(CalendarError::DayStart);
        }
        if complaints.is_empty() {
            Ok(Self { zone, length, day_start_secs, slot_secs })
        } else {
            Err(complaints)
        }
    }

    /// The zone the windows are counted in.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// How many slots the longest window without a clock change has.
    pub fn slots_nominal(&self) -> u32 {
        u32::try_from(self.longest_secs() / self.slot_secs)
            .expect("31 days of seconds fit in 32 bits")
    }

    /// How long windows are.
    pub fn length(&self) -> Length {
        self.length
    }

    /// A window's usual length; of months, the longest's.
    pub fn longest_secs(&self) -> i64 {
        self.length.longest_secs()
    }

    /// The length of a slot.
    pub fn slot_secs(&self) -> i64 {
        self.slot_secs
    }

    /// When the service day begins, in seconds after midnight.
    pub fn day_start_secs(&self) -> i64 {
        self.day_start_secs
    }

    /// The window that holds this instant; `None` only at the ends of the calendar (year 9999).
    pub fn window_at(&self, instant: Timestamp) -> Option<Window> {
        let mut number = self.number_at(self.zone.to_datetime(instant));
        // The civil time names the right window except around a clock change; walk to it from there.
        while self.boundary(number)? > instant {
            number -= 1;
        }
        while self.boundary(number + 1)? <= instant {
            number += 1;
        }
        self.window(WindowId(number))
    }

    /// The window with this number; `None` if a clock change leaves it no time at all.
    pub fn window(&self, id: WindowId) -> Option<Window> {
        let start = self.boundary(id.0)?;
        let end = self.boundary(id.0.checked_add(1)?)?;
        if start >= end {
            return None;
        }
        let millis = end.as_millisecond() - start.as_millisecond();
        let slot_millis = self.slot_secs * 1_000;
        Some(Window {
            id,
            start,
            end,
            start_civil: self.civil_boundary(id.0)?,
            end_civil: self.civil_boundary(id.0 + 1)?,
            zone: self.zone.clone(),
            slot_millis,
            n_slots: u32::try_from((millis + slot_millis - 1) / slot_millis).ok()?,
        })
    }

    /// From the start of one window to the end of the `n`-th from it.
    pub fn stretch(&self, first: WindowId, n: u32) -> Option<(Timestamp, Timestamp)> {
        Some((self.boundary(first.0)?, self.boundary(first.0.checked_add(i64::from(n))?)?))
    }

    /// Every window that lies wholly inside the span, in order.
    pub fn windows_within(&self, span: &Span) -> impl DoubleEndedIterator<Item = Window> + '_ {
        self.numbers_within(span).filter_map(|number| self.window(WindowId(number)))
    }

    /// The first and the last of them, however many there are.
    pub fn ends_within(&self, span: &Span) -> Option<(WindowId, WindowId)> {
        let first = self.windows_within(span).next()?;
        let last = self.windows_within(span).next_back()?;
        Some((first.id(), last.id()))
    }

    /// How many windows a span has at most: some may have no time, by a clock change.
    pub fn count_within(&self, span: &Span) -> u64 {
        let numbers = self.numbers_within(span);
        numbers.end.abs_diff(numbers.start.min(numbers.end))
    }

    fn numbers_within(&self, span: &Span) -> std::ops::Range<i64> {
        self.first_number_from(span.from)..self.number_at(span.to)
    }

    /// The first window that begins at or after this civil time.
    pub fn first_window_from(&self, from: DateTime) -> Option<WindowId> {
        let first = self.first_number_from(from);
        // A clock change may leave a short window no time; the next one then is the first.
        (first..first.saturating_add(1_440)).map(WindowId).find(|id| self.window(*id).is_some())
    }

    /// Reads `2015-11-09` (the service day's start on that date) or `2015-11-09T04:00`.
    pub fn parse_moment(&self, text: &str) -> Option<DateTime> {
        if let Ok(date) = text.parse::<Date>()
            && text.len() <= 10
        {
            return civil_datetime(civil_secs(date.at(0, 0, 0, 0)) + self.day_start_secs);
        }
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Some(self.zone.to_datetime(instant));
        }
        text.parse::<DateTime>().ok()
    }

    /// The window with this name.
    pub fn window_named(&self, name: &str) -> Option<Window> {
        let start = DateTime::strptime("%Y%m%dT%H%M", name.split('_').next()?).ok()?;
        let window = self.window(self.first_window_from(start)?)?;
        (window.name() == name).then_some(window)
    }

    /// The window that holds this civil time, clock changes aside.
    fn number_at(&self, civil: DateTime) -> i64 {
        self.length.number_at(civil_secs(civil) - self.day_start_secs)
    }

    fn first_number_from(&self, from: DateTime) -> i64 {
        let number = self.number_at(from);
        number + i64::from(self.civil_boundary(number).is_none_or(|begin| begin < from))
    }

    fn civil_boundary(&self, number: i64) -> Option<DateTime> {
        civil_datetime(self.length.begin_secs(number)?.checked_add(self.day_start_secs)?)
    }

    fn boundary(&self, number: i64) -> Option<Timestamp> {
        first_instant_of(&self.zone, self.civil_boundary(number)?)
    }
}

/// The instant at which clocks first show this civil time or a later one.
pub(super) fn first_instant_of(zone: &TimeZone, civil: DateTime) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok(),
        AmbiguousOffset::Gap { after, .. } => {
            let just_before = after.to_timestamp(civil).ok()?;
            zone.following(just_before).next().map(|change| change.timestamp())
        }
    }
}

fn civil_secs(civil: DateTime) -> i64 {
    Offset::UTC.to_timestamp(civil).map_or(i64::MAX / 4, |instant| instant.as_second())
}

fn civil_datetime(secs: i64) -> Option<DateTime> {
    Timestamp::from_second(secs).ok().map(|instant| Offset::UTC.to_datetime(instant))
}

/// From when to when windows exist, in the feed's civil time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first moment.
    pub from: DateTime,
    /// The moment after the last.
    pub to: DateTime,
}

#[cfg(test)]
#[path = "calendar_tests.rs"]
mod tests;
