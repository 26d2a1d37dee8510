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
