use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::model::Length;

fn calendar(zone: &str, length: impl Into<Length>, day_start_secs: i64) -> Calendar {
    Calendar::new(TimeZone::get(zone).unwrap(), length, day_start_secs, 3_600).unwrap()
}

fn at(hour: i8, minute: i8) -> Option<Time> {
    Some(Time::constant(hour, minute, 0, 0))
}

/// When the window that holds this instant is due, with the offset of the zone.
fn due(schedule: &Schedule, calendar: &Calendar, instant: &str) -> String {
    let window = calendar.window_at(instant.parse().unwrap()).unwrap();
    let due = schedule.due(calendar, &window).to_zoned(calendar.zone().clone());
    due.strftime("%a %Y-%m-%dT%H:%M%:z").to_string()
}

#[test]
fn without_a_schedule_a_window_is_due_at_its_end() {
    let days = calendar("America/Toronto", 86_400, 4 * 3_600);
    let due = |instant| due(&Schedule::default(), &days, instant);
    assert_eq!(due("2026-10-31T12:00:00-04:00"), "Sun 2026-11-01T04:00-05:00");
    assert!(Schedule::default().is_at_once());
}

/// Clocks in Toronto go back on 2026-11-01 and forward on 2026-03-08, both at two in the morning.
#[test]
fn a_time_of_day_is_what_the_clocks_show() {
    let days = calendar("America/Toronto", 86_400, 0);
    let six = Schedule { at: at(6, 0), ..Schedule::default() };
    assert_eq!(due(&six, &days, "2026-10-31T12:00:00-04:00"), "Sun 2026-11-01T06:00-05:00");
    assert_eq!(due(&six, &days, "2026-11-01T12:00:00-05:00"), "Mon 2026-11-02T06:00-05:00");
    assert_eq!(due(&six, &days, "2026-03-07T12:00:00-05:00"), "Sun 2026-03-08T06:00-04:00");
    // Half past two is skipped in March: the moment of the change. Half past one is twice in November: the first.
    let skipped = Schedule { at: at(2, 30), ..Schedule::default() };
    assert_eq!(due(&skipped, &days, "2026-03-07T12:00:00-05:00"), "Sun 2026-03-08T03:00-04:00");
    let twice = Schedule { at: at(1, 30), ..Schedule::default() };
    assert_eq!(due(&twice, &days, "2026-10-31T12:00:00-04:00"), "Sun 2026-11-01T01:30-04:00");
}

#[test]
fn a_time_of_day_before_the_end_is_of_the_next_day() {
    let days = calendar("UTC", 86_400, 4 * 3_600);
    let three = Schedule { at: at(3, 0), ..Schedule::default() };
    assert_eq!(due(&three, &days, "2026-11-18T12:00:00Z"), "Fri 2026-11-20T03:00+00:00");
    let four = Schedule { at: at(4, 0), ..Schedule::default() };
    assert_eq!(due(&four, &days, "2026-11-18T12:00:00Z"), "Thu 2026-11-19T04:00+00:00");
}

#[test]
fn days_after_the_end_and_working_days_add_up() {
    let days = calendar("Europe/Vienna", 86_400, 0);
    let working = Weekdays::new(&[
        Weekday::Monday,
        Weekday::Tuesday,
        Weekday::Wednesday,
        Weekday::Thursday,
        Weekday::Friday,
    ]);
    let schedule =
        Schedule { at: at(6, 0), after_days: 2, on: working.unwrap(), missed: Missed::All };
    assert_eq!(due(&schedule, &days, "2026-11-16T12:00:00Z"), "Thu 2026-11-19T06:00+01:00");
    // Wednesday's, Thursday's and Friday's would be due on Saturday, Sunday and Monday.
    for day in ["2026-11-18T12:00:00Z", "2026-11-19T12:00:00Z", "2026-11-20T12:00:00Z"] {
        assert_eq!(due(&schedule, &days, day), "Mon 2026-11-23T06:00+01:00");
    }
    assert_eq!(working.unwrap().days().count(), 5);
    let words =
        "2 days after the window's end, at 06:00, on Monday, Tuesday, Wednesday, Thursday, Friday";
    assert_eq!(schedule.to_string(), words);
    assert_eq!(Weekdays::new(&[]), None);
}

#[test]
fn a_month_is_due_in_the_next() {
    let months = calendar("America/Toronto", Length::Month, 4 * 3_600);
    let monday = Weekdays::new(&[Weekday::Monday]).unwrap();
    let schedule = Schedule { at: at(7, 0), after_days: 3, on: monday, missed: Missed::All };
    // February 2026 ends on Sunday, the first of March, at four; three days later is Wednesday.
    assert_eq!(due(&schedule, &months, "2026-02-10T12:00:00Z"), "Mon 2026-03-09T07:00-04:00");
}

#[test]
fn what_is_late_for_too_long_has_a_last_moment() {
    let days = calendar("UTC", 86_400, 0);
    let window = days.window_at("2026-11-18T12:00:00Z".parse().unwrap()).unwrap();
    let schedule = Schedule {
        missed: Missed::Within(SignedDuration::from_hours(48)),
        at: at(6, 0),
        ..Schedule::default()
    };
    assert_eq!(schedule.latest(&days, &window).unwrap().to_string(), "2026-11-21T06:00:00Z");
    assert_eq!(Schedule::default().latest(&days, &window), None);
}

const ZONES: [&str; 6] = [
    "America/Toronto",
    "Europe/Vienna",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
];

proptest! {
    /// Never before the window's end, on an allowed day, at the time of day wherever the clocks show it, and later
    /// windows are never due earlier.
    #[test]
    fn due_times_keep_to_the_schedule(
        zone in 0..ZONES.len(), second in 0_i64..2_000_000_000, minutes in 0_i64..1_440, after in 0_u16..40,
        days in 1_u8..128, length in 0..4_usize,
    ) {
        let lengths = [3_600, 86_400, 7 * 86_400].map(Length::Seconds);
        let length = lengths.get(length).copied().unwrap_or(Length::Month);
        let calendar = calendar(ZONES[zone], length, 4 * 3_600);
        let time = Time::midnight() + SignedDuration::from_mins(minutes);
        let on: Vec<Weekday> = Weekday::Monday
            .cycle_forward()
            .take(7)
            .filter(|day| days >> day.to_monday_zero_offset() & 1 == 1)
            .collect();
        let on = Weekdays::new(&on).unwrap();
        let schedule = Schedule { at: Some(time), after_days: after, on, missed: Missed::All };
        let window = calendar.window_at(Timestamp::from_second(second).unwrap()).unwrap();
        let due = schedule.due(&calendar, &window);
        prop_assert!(due >= window.end());
        let shown = due.to_zoned(calendar.zone().clone()).datetime();
        let there = calendar.zone().to_ambiguous_timestamp(shown.date().to_datetime(time));
        let is_skipped = matches!(there.offset(), jiff::tz::AmbiguousOffset::Gap { .. });
        prop_assert!(shown.time() == time || is_skipped || due == window.end(), "{shown} {time}");
        // A whole day can be skipped (Apia, 2011-12-30): then it is the next moment there is.
        prop_assert!(on.contains(shown.weekday()) || shown.time() == Time::midnight(), "{shown}");
        let most = i64::from(after) + 9;
        prop_assert!(due.duration_since(window.end()) <= SignedDuration::from_hours(most * 24));
        let next = calendar.window_at(window.end()).unwrap();
        prop_assert!(schedule.due(&calendar, &next) >= due);
    }
}

#[test]
fn a_release_is_expected_when_it_is_due_and_complete() {
    let days = calendar("UTC", 86_400, 0);
    let window = days.window_at("2026-11-17T12:00:00Z".parse().unwrap()).unwrap();
    let six = Schedule { at: at(6, 0), ..Schedule::default() };
    let expected =
        |hours| six.expected(&days, &window, SignedDuration::from_hours(hours)).to_string();
    assert_eq!(expected(2), "2026-11-18T06:00:00Z");
    assert_eq!(expected(9), "2026-11-18T09:00:00Z");
}

#[test]
fn any_part_of_a_schedule_makes_a_release_wait() {
    let at_six = Schedule { at: at(6, 0), ..Schedule::default() };
    let later = Schedule { after_days: 1, ..Schedule::default() };
    let sundays =
        Schedule { on: Weekdays::new(&[Weekday::Sunday]).unwrap(), ..Schedule::default() };
    for schedule in [at_six, later, sundays] {
        assert!(!schedule.is_at_once(), "{schedule}");
    }
}
