//! How long windows are, and where the n-th one begins, in civil seconds that know no clock change.

use std::fmt;

use jiff::civil::{Date, Weekday};

use super::{CalendarError, DAY_SECS, civil_datetime, civil_secs};

/// Seconds from 1970-01-01 to Monday 1970-01-05, both civil.
const FIRST_MONDAY_SECS: i64 = 4 * DAY_SECS;
const WEEK_SECS: i64 = 7 * DAY_SECS;

/// The length of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// So many seconds, counted from Monday 1970-01-05.
    Seconds(i64),
    /// Whole weeks that begin on another day than Monday.
    Weeks {
        /// How many.
        n: i64,
        /// The first day of each.
        begin: Weekday,
    },
    /// Calendar months.
    Month,
}

impl From<i64> for Length {
    fn from(secs: i64) -> Self {
        Self::Seconds(secs)
    }
}

impl Length {
    /// The same with weeks that begin on this day.
    pub fn with_weeks_from(self, begin: Weekday) -> Result<Self, CalendarError> {
        match self {
            _ if begin == Weekday::Monday => Ok(self),
            Self::Seconds(secs) if secs > 0 && secs % WEEK_SECS == 0 => {
                Ok(Self::Weeks { n: secs / WEEK_SECS, begin })
            }
            _ => Err(CalendarError::WeekStart),
        }
    }

    /// In seconds, without clock changes; of months, the longest's.
    pub fn longest_secs(self) -> i64 {
        match self {
            Self::Seconds(secs) => secs,
            Self::Weeks { n, .. } => n.saturating_mul(WEEK_SECS),
            Self::Month => 31 * DAY_SECS,
        }
    }

    /// How many there are in a year, about.
    pub fn per_year(self) -> u64 {
        match self {
            Self::Month => 12,
            _ => (365 * DAY_SECS / self.longest_secs().max(1)).max(1).unsigned_abs(),
        }
    }

    pub(super) fn complaint(self) -> Option<CalendarError> {
        let secs = self.longest_secs();
        if !(60..=31 * DAY_SECS).contains(&secs) {
            Some(CalendarError::Length(secs))
        } else if secs < DAY_SECS && DAY_SECS % secs != 0 {
            Some(CalendarError::LengthDividesDay(secs))
        } else if secs > DAY_SECS && secs % DAY_SECS != 0 {
            Some(CalendarError::LengthWholeDays(secs))
        } else {
            None
        }
    }

    pub(super) fn complaint_of_slot(self, slot_secs: i64) -> Option<CalendarError> {
        let length_secs = self.longest_secs();
        match self {
            Self::Month if slot_secs < 1 || DAY_SECS % slot_secs != 0 => {
                Some(CalendarError::SlotDividesDay(slot_secs))
            }
            _ if slot_secs < 1 || length_secs % slot_secs != 0 => {
                Some(CalendarError::Slot { slot_secs, length_secs })
            }
            _ => None,
        }
    }

    /// The window at this second of a clock that begins service days at midnight and never changes.
    pub(super) fn number_at(self, secs: i64) -> i64 {
        match self {
            Self::Month => civil_datetime(secs).map_or(i64::MAX / 4, |civil| {
                (i64::from(civil.year()) - 1970) * 12 + i64::from(civil.month()) - 1
            }),
            _ => (secs - self.origin_secs()).div_euclid(self.longest_secs()),
        }
    }

    /// The second of that clock at which a window begins.
    pub(super) fn begin_secs(self, number: i64) -> Option<i64> {
        match self {
            Self::Month => {
                let year = i16::try_from(number.div_euclid(12).checked_add(1970)?).ok()?;
                let month = i8::try_from(number.rem_euclid(12)).ok()? + 1;
                Some(civil_secs(Date::new(year, month, 1).ok()?.at(0, 0, 0, 0)))
            }
            _ => number.checked_mul(self.longest_secs())?.checked_add(self.origin_secs()),
        }
    }

    fn origin_secs(self) -> i64 {
        let begin = match self {
            Self::Weeks { begin, .. } => i64::from(begin.to_monday_zero_offset()),
            Self::Seconds(_) | Self::Month => 0,
        };
        FIRST_MONDAY_SECS + begin * DAY_SECS
    }
}

/// For digests: what it is, and nothing else reads the same.
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(secs) => write!(f, "{secs}"),
            Self::Weeks { n, begin } => write!(f, "{} from {begin:?}", n * WEEK_SECS),
            Self::Month => f.write_str("month"),
        }
    }
}
