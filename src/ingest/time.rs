//! When was a tap? RFC 3339, epoch seconds or milliseconds, a local time in the feed's zone, or a layout of the
//! feed's own.

use jiff::civil::{self, DateTime};
use jiff::fmt::temporal::Pieces;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::layout::TimeLayout;
use crate::model::Reject;

const DAY_SECS: i64 = 86_400;
const DAYS_CACHED: usize = 64;

/// Reads times. Remembers the offset of days without a clock change, which is nearly all of them.
#[derive(Clone, Debug)]
pub(super) struct TimeReader {
    zone: Option<TimeZone>,
    layouts: Vec<TimeLayout>,
    /// By day modulo the size: the civil day since 1970 and its offset in seconds.
    days: [Option<(i64, i64)>; DAYS_CACHED],
}

impl TimeReader {
    /// Local times are read in this zone; without one they are rejects.
    pub(super) fn new(zone: Option<TimeZone>) -> Self {
        Self { zone, layouts: Vec::new(), days: [None; DAYS_CACHED] }
    }

    /// These layouts come first: fourteen digits are a time to one feed and milliseconds to another.
    pub(super) fn with_layouts(self, layouts: Vec<TimeLayout>) -> Self {
        Self { layouts, ..self }
    }

    pub(super) fn read(&mut self, text: &str) -> Result<Timestamp, Reject> {
        let mut written = self.layouts.iter().map(|one| one.read(text, self.zone.as_ref()));
        if let Some(read) = written.find_map(|read| read) {
            return read;
        }
        match quick(text.as_bytes()) {
            Some(Quick { civil_secs, nanos, offset_secs: None }) => {
                return self.local(civil_secs, nanos);
            }
            Some(Quick { civil_secs, nanos, offset_secs: Some(offset) }) => {
                return instant(civil_secs - offset, nanos);
            }
            None => {}
        }
        self.read_by_library(text)
    }

    /// The same without the short cut: epochs by hand, everything else by the calendar library.
    fn read_by_library(&self, text: &str) -> Result<Timestamp, Reject> {
        if text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            && text.bytes().skip(1).all(|b| b.is_ascii_digit() || b == b'.')
        {
            return epoch(text).ok_or(Reject::BadTime);
        }
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Ok(instant);
        }
        let pieces = Pieces::parse(text).map_err(|_| Reject::BadTime)?;
        // An offset names an instant, and the library has none for it; a date alone is no time of day.
        if pieces.offset().is_some() || text.len() < 14 {
            return Err(Reject::BadTime);
        }
        let civil = pieces.date().to_datetime(pieces.time().ok_or(Reject::BadTime)?);
        match pieces.to_time_zone() {
            Ok(Some(zone)) => resolve(&zone, civil),
            Ok(None) => resolve(self.zone.as_ref().ok_or(Reject::NoZone)?, civil),
            Err(_) => Err(Reject::BadTime),
        }
    }

    /// A civil time, as seconds of a clock that never changes.
    fn local(&mut self, civil_secs: i64, nanos: i32) -> Result<Timestamp, Reject> {
        let zone = self.zone.as_ref().ok_or(Reject::NoZone)?;
        let day = civil_secs.div_euclid(DAY_SECS);
        let place = usize::try_from(day.rem_euclid(DAYS_CACHED as i64)).expect("below the size");
        if let Some((cached, offset)) = self.days[place]
            && cached == day
        {
            return instant(civil_secs - offset, nanos);
        }
        if let Some(offset) = steady_offset(zone, day) {
            self.days[place] = Some((day, offset));
            return instant(civil_secs - offset, nanos);
        }
        let since_1970 = SignedDuration::new(civil_secs, nanos);
        let civil = civil::date(1970, 1, 1).to_datetime(civil::Time::midnight());
        resolve(zone, civil.checked_add(since_1970).map_err(|_| Reject::BadTime)?)
    }
}

/// The instant of a civil time in a zone.
pub(super) fn resolve(zone: &TimeZone, civil: DateTime) -> Result<Timestamp, Reject> {
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => {
            offset.to_timestamp(civil).map_err(|_| Reject::BadTime)
        }
        AmbiguousOffset::Gap { .. } => Err(Reject::TimeSkipped),
        AmbiguousOffset::Fold { .. } => Err(Reject::TimeRepeated),
    }
}

fn instant(secs: i64, nanos: i32) -> Result<Timestamp, Reject> {
    Timestamp::new(secs, nanos).map_err(|_| Reject::BadTime)
}

/// The offset of a civil day, if one offset holds from an hour before it to an hour after it.
fn steady_offset(zone: &TimeZone, day: i64) -> Option<i64> {
    let midnight = Offset::UTC.to_datetime(Timestamp::from_second(day * DAY_SECS).ok()?);
    let AmbiguousOffset::Unambiguous { offset } = zone.to_ambiguous_timestamp(midnight).offset()
    else {
        return None;
    };
    let start = offset.to_timestamp(midnight).ok()?.as_second() - 3_600;
    let start_instant = Timestamp::from_second(start).ok()?;
    let change = zone.following(start_instant).next();
    let steady =
        change.is_none_or(|change| change.timestamp().as_second() > start + DAY_SECS + 7_200);
    (steady && zone.to_offset(start_instant) == offset).then(|| i64::from(offset.seconds()))
}

/// A time read by hand: a civil time, and its offset unless it is local.
struct Quick {
    civil_secs: i64,
    nanos: i32,
    offset_secs: Option<i64>,
}

/// `2015-11-09T07:12:33`, with a space, a fraction, `Z` or an offset: the forms nearly every record has. Whatever
/// else there is, the calendar library reads.
fn quick(text: &[u8]) -> Option<Quick> {
    let (civil, rest) = text.split_at_checked(19)?;
    let civil_secs = plain_civil_secs(civil)?;
    let (nanos, rest) = match rest.strip_prefix(b".") {
        None => (0, rest),
        Some(after) => {
            let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return None;
            }
            let fraction = i32::try_from(number(&after[..digits])?).ok()?;
            (fraction * 10_i32.pow(u32::try_from(9 - digits).ok()?), &after[digits..])
        }
    };
    let offset_secs = match rest {
        [] => None,
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), hours @ .., b':', m1, m2] if hours.len() == 2 => {
            let (hours, minutes) = (number(hours)?, number(&[*m1, *m2])?);
            if hours > 18 || minutes > 59 {
                return None;
            }
            let secs = hours * 3_600 + minutes * 60;
            Some(if *sign == b'-' { -secs } else { secs })
        }
        _ => return None,
    };
    // Before 1970 a fraction counts the other way; the library knows how.
    (civil_secs > 86_400).then_some(Quick { civil_secs, nanos, offset_secs })
}

/// Decimal digits as a number; at most nine of them here.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |sum, digit| {
        digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
    })
}

/// The nineteen bytes of a civil time, as seconds of a clock that never changes.
fn plain_civil_secs(text: &[u8]) -> Option<i64> {
    if text[4] != b'-'
        || text[7] != b'-'
        || !matches!(text[10], b'T' | b' ')
        || text[13] != b':'
        || text[16] != b':'
    {
        return None;
    }
    let part = |from: usize, to: usize| number(&text[from..to]);
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year < 1 || day < 1 || day > last || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(days_from_civil(year, month, day) * DAY_SECS + hour * 3_600 + minute * 60 + second)
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar (Hinnant, "chrono-compatible low-level date
/// algorithms"): years begin in March, so that the leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Seconds (up to 11 digits) or milliseconds (12 to 14) since 1970, with a fraction if there is one.
fn epoch(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: i64 = whole.parse().ok()?;
    match whole.trim_start_matches('-').len() {
        12..=14 => Timestamp::from_millisecond(number).ok(),
        1..=11 => {
            let millis: i64 = format!("{fraction:0<3}")[..3].parse().ok()?;
            let sign = if whole.starts_with('-') { -1 } else { 1 };
            Timestamp::from_millisecond(number.checked_mul(1_000)? + sign * millis).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(zone: Option<&str>, text: &str) -> Result<String, Reject> {
        let zone = zone.map(|name| TimeZone::get(name).unwrap());
        TimeReader::new(zone).read(text).map(|instant| instant.to_string())
    }

    #[test]
    fn every_documented_form_is_read() {
        let noon = Ok("2015-11-09T13:00:00Z".to_owned());
        let mexico = Some("America/Mexico_City");
        assert_eq!(read(None, "2015-11-09T13:00:00Z"), noon);
        assert_eq!(read(None, "2015-11-09T07:00:00-06:00"), noon);
        assert_eq!(read(None, "2015-11-09 07:00:00-06:00"), noon);
        assert_eq!(read(None, "1447074000"), noon);
        assert_eq!(read(None, "1447074000000"), noon);
        assert_eq!(read(None, "1447074000.0"), noon);
        assert_eq!(read(mexico, "2015-11-09T07:00:00"), noon);
        assert_eq!(read(mexico, "2015-11-09 07:00"), noon);
        assert_eq!(
            read(mexico, "2015-11-09T07:00:00.250"),
            Ok("2015-11-09T13:00:00.25Z".to_owned())
        );
    }

    #[test]
    fn what_cannot_be_read_is_rejected_for_its_reason() {
        let toronto = Some("America/Toronto");
        assert_eq!(read(None, "2015-11-09T07:00:00"), Err(Reject::NoZone));
        assert_eq!(read(toronto, "2024-03-10T02:30:00"), Err(Reject::TimeSkipped));
        assert_eq!(read(toronto, "2024-11-03T01:30:00"), Err(Reject::TimeRepeated));
        assert_eq!(
            read(toronto, "2024-11-03T01:30:00-05:00").as_deref(),
            Ok("2024-11-03T06:30:00Z")
        );
        for bad in [
            "",
            "yesterday",
            "2015-11-09",
            "2015-13-09T07:00:00",
            "2015-02-29T07:00:00",
            "-",
            "1.2.3",
            "999999999999999999999",
            "2015-11-09T25:00:00",
            "--5",
            "2015-11-09T07:00:00+99:00",
        ] {
            assert_eq!(read(toronto, bad), Err(Reject::BadTime), "{bad:?}");
        }
    }

    /// A zone in brackets is the zone of the time, not a remark on the feed's zone.
    #[test]
    fn a_zone_in_brackets_counts() {
        let toronto = Some("America/Toronto");
        let tokyo = Ok("2015-11-08T22:00:00Z".to_owned());
        assert_eq!(read(toronto, "2015-11-09T07:00:00[Asia/Tokyo]"), tokyo);
        assert_eq!(read(None, "2015-11-09T07:00[Asia/Tokyo]"), tokyo);
        assert_eq!(read(None, "2015-11-08T22:00:00Z[Asia/Tokyo]"), tokyo);
        for bad in ["2015-11-09T07:00:00[Asia/Atlantis]", "2015-11-09[Asia/Tokyo]"] {
            assert_eq!(read(toronto, bad), Err(Reject::BadTime), "{bad}");
        }
        let skipped = "2024-03-10T02:30:00[America/Toronto]";
        assert_eq!(read(None, skipped), Err(Reject::TimeSkipped));
    }

    #[test]
    fn an_epoch_has_one_fraction_at_most() {
        for bad in ["1447074000000.1.2.3", "1447074000.1.2", "1447074000.x"] {
            assert_eq!(read(None, bad), Err(Reject::BadTime), "{bad}");
        }
        let half = Ok("2015-11-09T13:00:00.5Z".to_owned());
        assert_eq!(read(None, "1447074000.5"), half);
        assert_eq!(read(None, "1447074000500.25"), half);
    }

    /// The last day that the calendar library knows: local times there count as long as their instant exists, with
    /// seconds or without; an instant that does not exist is no local time.
    #[test]
    fn the_last_day_of_all_is_read_the_same_in_every_form() {
        let kathmandu = Some("Asia/Kathmandu");
        for (text, expected) in [
            ("9999-12-30T23:59", Ok("9999-12-30T18:14:00Z".to_owned())),
            ("9999-12-30T23:59:00", Ok("9999-12-30T18:14:00Z".to_owned())),
            ("9999-12-31T23:59", Err(Reject::BadTime)),
            ("9999-12-31T23:59:00", Err(Reject::BadTime)),
            ("9999-12-30T23:59:00-05:00", Err(Reject::BadTime)),
            ("9999-12-30T23:59-05:00", Err(Reject::BadTime)),
            ("9999-12-30T23:59Z", Err(Reject::BadTime)),
        ] {
            assert_eq!(read(kathmandu, text), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(crate::ingest::tests::comparisons(10_000))]

        #[test]
        fn the_quick_way_agrees_with_the_calendar_library(
            secs in 0_i64..4_000_000_000,
            zone in prop::sample::select(vec!["America/Toronto", "Australia/Lord_Howe", "Asia/Shanghai", "Europe/Dublin"]),
        ) {
            let zone = TimeZone::get(zone).unwrap();
            let mut reader = TimeReader::new(Some(zone.clone()));
            let civil = Offset::UTC.to_datetime(Timestamp::from_second(secs).unwrap());
            let text = civil.strftime("%Y-%m-%dT%H:%M:%S").to_string();
            let expected = match zone.to_ambiguous_timestamp(civil).offset() {
                AmbiguousOffset::Unambiguous { offset } => Ok(offset.to_timestamp(civil).unwrap()),
                AmbiguousOffset::Gap { .. } => Err(Reject::TimeSkipped),
                AmbiguousOffset::Fold { .. } => Err(Reject::TimeRepeated),
            };
            prop_assert_eq!(reader.read(&text), expected);
            prop_assert_eq!(reader.read(&text), expected);
        }

        /// Good times, changed a little: with the short cut and without it they mean the same.
        #[test]
        fn the_short_cut_never_disagrees_with_the_calendar_library(
            secs in prop_oneof![-100_000_i64..4_000_000_000, 253_402_000_000_i64..253_402_300_800],
            form in prop::sample::select(vec![
                "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y%m%dT%H%M%S", "%Y-%m-%dT%H:%M:%S.25",
                "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S-05:00", "%Y-%m-%dT%H:%M:%S.123456789+05:45",
                "%Y-%m-%dT%H:%M:%S[Asia/Tokyo]", "%Y-%m-%dT%H:%M-05:00[America/Toronto]", "%s", "%s000", "%s.5",
            ]),
            zone in prop::sample::select(
                vec!["Asia/Kathmandu", "America/Toronto", "Australia/Lord_Howe", "Pacific/Apia"]),
            changes in prop::collection::vec(
                (any::<prop::sample::Index>(), "[0-9TtZz:. +\\-\\[\\]/,]", 0..3_u8), 0..3),
        ) {
            let civil = civil::date(1970, 1, 1).to_datetime(civil::Time::midnight());
            let civil = civil.checked_add(SignedDuration::from_secs(secs)).unwrap();
            let form = form.replace("%s", &secs.to_string());
            let mut text: Vec<char> = civil.strftime(&form).to_string().chars().collect();
            for (index, new, change) in &changes {
                let at = index.index(text.len());
                let new = if *change == 0 { "" } else { new };
                text.splice(at..at + usize::from(*change < 2), new.chars());
            }
            let text: String = text.into_iter().collect();
            let mut reader = TimeReader::new(Some(TimeZone::get(zone).unwrap()));
            let expected = reader.read_by_library(&text);
            prop_assert_eq!(reader.read(&text), expected, "{} in {}", text, zone);
            prop_assert_eq!(reader.read(&text), expected, "{} in {}, from the cache", text, zone);
            let mut no_zone = TimeReader::new(None);
            prop_assert_eq!(no_zone.read(&text), no_zone.read_by_library(&text), "{} without a zone", text);
        }

        #[test]
        fn times_with_an_offset_agree_with_the_calendar_library(
            millis in 0_i64..4_000_000_000_000,
            offset_minutes in -18 * 60_i32..18 * 60,
            digits in 0_usize..7,
        ) {
            let instant = Timestamp::from_millisecond(millis).unwrap();
            let offset = Offset::from_seconds(offset_minutes * 60).unwrap();
            let civil = offset.to_datetime(instant).strftime("%Y-%m-%dT%H:%M:%S").to_string();
            let fraction = if digits == 0 { String::new() } else { format!(".{}", &"250000"[..digits.min(6)]) };
            let zone = offset.to_time_zone();
            let zone = Timestamp::UNIX_EPOCH.to_zoned(zone).strftime("%:z").to_string();
            let text = format!("{civil}{fraction}{zone}");
            let expected = text.parse::<Timestamp>().map_err(|_| Reject::BadTime);
            prop_assert_eq!(TimeReader::new(None).read(&text), expected, "{}", text);
        }
    }
}
