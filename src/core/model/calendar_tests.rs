use jiff::civil::Weekday;
use proptest::prelude::*;

use super::*;

fn calendar(zone: &str, length_secs: i64, day_start_secs: i64, slot_secs: i64) -> Calendar {
    let zone = TimeZone::get(zone).expect("the zone is in the bundled database");
    Calendar::new(zone, length_secs, day_start_secs, slot_secs).expect("the numbers fit")
}

fn instant(text: &str) -> Timestamp {
    text.parse().expect("an RFC 3339 time")
}

#[test]
fn a_service_day_begins_at_four() {
    let days = calendar("America/Mexico_City", DAY_SECS, 4 * 3_600, 3_600);
    let before = days.window_at(instant("2015-11-09T03:59:59-06:00")).unwrap();
    let after = days.window_at(instant("2015-11-09T04:00:00-06:00")).unwrap();
    assert_eq!(before.name(), "20151108T0400_20151109T0400");
    assert_eq!(after.name(), "20151109T0400_20151110T0400");
    assert_eq!(after.slot_label(3), "2015-11-09T07:00-06:00");
    assert_eq!(after.n_slots(), 24);
    assert_eq!(
        (after.service_date(0), after.service_date(23)),
        ("2015-11-09".into(), "2015-11-09".into())
    );
}

#[test]
fn weeks_begin_on_monday() {
    let weeks = calendar("UTC", 7 * DAY_SECS, 4 * 3_600, 3_600);
    let week = weeks.window_at(instant("2015-11-15T23:00:00Z")).unwrap();
    assert_eq!(week.name(), "20151109T0400_20151116T0400");
    assert_eq!(week.n_slots(), 168);
}

#[test]
fn days_with_a_clock_change_have_23_or_25_hours() {
    let days = calendar("America/Toronto", DAY_SECS, 0, 3_600);
    let spring = days.window_at(instant("2024-03-10T12:00:00-04:00")).unwrap();
    let autumn = days.window_at(instant("2024-11-03T12:00:00-05:00")).unwrap();
    assert_eq!((spring.n_slots(), autumn.n_slots()), (23, 25));
    assert_eq!(spring.slot_label(2), "2024-03-10T03:00-04:00");
    assert_eq!(autumn.slot_label(1), "2024-11-03T01:00-04:00");
    assert_eq!(autumn.slot_label(2), "2024-11-03T01:00-05:00");
}

#[test]
fn a_window_inside_the_skipped_hour_does_not_exist() {
    let quarters = calendar("America/Toronto", 900, 0, 300);
    let span =
        Span { from: "2024-03-10T01:30".parse().unwrap(), to: "2024-03-10T03:30".parse().unwrap() };
    let names: Vec<_> = quarters.windows_within(&span).map(|window| window.name()).collect();
    assert_eq!(
        names,
        [
            "20240310T0130_20240310T0145",
            "20240310T0145_20240310T0200",
            "20240310T0300_20240310T0315",
            "20240310T0315_20240310T0330",
        ]
    );
}

#[test]
fn the_repeated_hour_stays_with_the_last_window_before_it_ends() {
    let quarters = calendar("America/Toronto", 900, 0, 300);
    let second_pass = quarters.window_at(instant("2024-11-03T01:10:00-05:00")).unwrap();
    assert_eq!(second_pass.name(), "20241103T0145_20241103T0200");
    assert_eq!(second_pass.n_slots(), 15);
}

#[test]
fn a_span_takes_whole_windows_only() {
    let weeks = calendar("UTC", 7 * DAY_SECS, 0, 3_600);
    let span = |from: &str, to: &str| Span {
        from: weeks.parse_moment(from).unwrap(),
        to: weeks.parse_moment(to).unwrap(),
    };
    assert_eq!(weeks.windows_within(&span("2015-11-09", "2015-11-23")).count(), 2);
    assert_eq!(weeks.windows_within(&span("2015-11-10", "2015-11-23")).count(), 1);
    assert_eq!(weeks.windows_within(&span("2015-11-10", "2015-11-16")).count(), 0);
}

#[test]
fn relations_between_the_numbers_are_checked_all_at_once() {
    let complaints = Calendar::new(TimeZone::UTC, 7 * 3_600, 90_000, 7_000).unwrap_err();
    assert_eq!(complaints.len(), 3);
    assert!(Calendar::new(TimeZone::UTC, 36 * 3_600, 0, 3_600).is_err());
    assert!(Calendar::new(TimeZone::UTC, 32 * DAY_SECS, 0, 3_600).is_err());
    assert!(Calendar::new(TimeZone::UTC, 30, 0, 10).is_err());
}

proptest! {
    #[test]
    fn every_instant_lies_in_exactly_one_window(
        secs in 1_000_000_000_i64..2_000_000_000,
        zone in prop::sample::select(vec!["America/Toronto", "Australia/Lord_Howe", "Asia/Shanghai", "Pacific/Apia"]),
        length in prop::sample::select(vec![60, 900, 3_600, 6 * 3_600, DAY_SECS, 7 * DAY_SECS, 31 * DAY_SECS]),
    ) {
        let calendar = calendar(zone, length, 4 * 3_600, 60);
        let at = Timestamp::from_second(secs).unwrap();
        let window = calendar.window_at(at).unwrap();
        prop_assert!(window.start() <= at && at < window.end());
        let offset = window.offset_millis(at).unwrap();
        let slot = window.slot_at(offset);
        prop_assert!(slot < window.n_slots());
        prop_assert!(window.slot_start(slot) <= at);
        // The neighbours touch: the next existing window begins where this one ends.
        let next = calendar.window_at(window.end()).unwrap();
        prop_assert_eq!(next.start(), window.end());
        prop_assert!(next.id() > window.id());
    }
}

/// Four hundred years of minutes have a first and a last one without anybody listing them.
#[test]
fn the_ends_of_a_wide_range_are_found_without_a_list() {
    let minutes = Calendar::new(TimeZone::UTC, 60, 0, 60).unwrap();
    let moment = |text: &str| minutes.parse_moment(text).unwrap();
    let span = |from: &str, to: &str| Span { from: moment(from), to: moment(to) };
    let wide = span("2015-11-09", "2415-11-09");
    let (first, last) = minutes.ends_within(&wide).unwrap();
    assert_eq!(last.number() - first.number() + 1, minutes.count_within(&wide).cast_signed());
    assert_eq!(minutes.ends_within(&span("2015-11-09", "2015-11-09")), None);
    assert_eq!(minutes.count_within(&span("2015-11-10", "2015-11-09")), 0);
}

#[test]
fn months_are_the_calendars_own() {
    let zone = TimeZone::get("America/Toronto").unwrap();
    let months = Calendar::new(zone, Length::Month, 4 * 3_600, 3_600).unwrap();
    let window = |text: &str| months.window_at(instant(text)).unwrap();
    // The night's last trips belong to the month before.
    assert_eq!(window("2026-03-01T03:59:00-05:00").name(), "20260201T0400_20260301T0400");
    assert_eq!(window("2026-03-01T04:00:00-05:00").name(), "20260301T0400_20260401T0400");
    assert_eq!(window("1970-01-15T00:00:00Z").id().number(), 0);
    assert_eq!(window("1969-12-15T00:00:00Z").id().number(), -1);
    let slots: Vec<u32> = ["2026-02-10", "2024-02-10", "2026-03-10", "2026-04-10", "2026-10-10"]
        .map(|day| window(&format!("{day}T12:00:00Z")).n_slots())
        .to_vec();
    // 28 and 29 days; 31 less an hour in March; 30; 31 and an hour in October, whose last night holds the change.
    assert_eq!(slots, [28 * 24, 29 * 24, 31 * 24 - 1, 30 * 24, 31 * 24 + 1]);
    assert_eq!(months.slots_nominal(), 31 * 24);
    let year = Span {
        from: months.parse_moment("2026-01-15").unwrap(),
        to: months.parse_moment("2027-01-01").unwrap(),
    };
    let names: Vec<String> = months.windows_within(&year).map(|window| window.name()).collect();
    assert_eq!((names.len(), months.count_within(&year)), (11, 11));
    assert_eq!(names[0], "20260201T0400_20260301T0400");
    assert_eq!(months.window_named(&names[10]).unwrap().end_label(), "2027-01-01T04:00-05:00");
}

#[test]
fn weeks_may_begin_on_another_day() {
    let length = Length::Seconds(7 * DAY_SECS).with_weeks_from(Weekday::Sunday).unwrap();
    let weeks = Calendar::new(TimeZone::UTC, length, 4 * 3_600, 3_600).unwrap();
    let week = weeks.window_at(instant("2026-11-18T12:00:00Z")).unwrap();
    assert_eq!(week.name(), "20261115T0400_20261122T0400");
    assert_eq!(
        Length::Seconds(DAY_SECS).with_weeks_from(Weekday::Sunday),
        Err(CalendarError::WeekStart)
    );
    assert_eq!(
        Length::Seconds(DAY_SECS).with_weeks_from(Weekday::Monday),
        Ok(Length::Seconds(DAY_SECS))
    );
}

#[test]
fn a_slot_of_months_divides_a_day() {
    let refused = Calendar::new(TimeZone::UTC, Length::Month, 0, 31 * DAY_SECS).unwrap_err();
    assert_eq!(refused, [CalendarError::SlotDividesDay(31 * DAY_SECS)]);
    assert_eq!(refused[0].key(), "window.slot");
}

proptest! {
    /// Months and weeks of any day cover every instant once, as days do.
    #[test]
    fn months_and_weeks_follow_each_other_without_a_gap(
        zone in prop::sample::select(vec!["America/Toronto", "Pacific/Apia", "Asia/Kathmandu", "UTC"]),
        second in -2_000_000_000_i64..4_000_000_000, day in 0_i8..7, is_month: bool,
    ) {
        let begin = Weekday::from_monday_zero_offset(day).unwrap();
        let length = match is_month {
            true => Length::Month,
            false => Length::Seconds(7 * DAY_SECS).with_weeks_from(begin).unwrap(),
        };
        let calendar = Calendar::new(TimeZone::get(zone).unwrap(), length, 4 * 3_600, 3_600).unwrap();
        let at = Timestamp::from_second(second).unwrap();
        let window = calendar.window_at(at).unwrap();
        prop_assert!(window.start() <= at && at < window.end());
        let next = calendar.window(window.id().next().unwrap()).unwrap();
        prop_assert_eq!(next.start(), window.end());
        prop_assert_eq!(calendar.window_at(window.end()).unwrap().id(), next.id());
        prop_assert_eq!(calendar.window_named(&window.name()).unwrap().id(), window.id());
        prop_assert!(window.n_slots() <= calendar.slots_nominal() + 25);
    }
}
