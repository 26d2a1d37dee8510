use jiff::civil::Weekday;

use super::*;
use crate::model::{Length, Missed};

fn loaded(feed: &Feed, added: &str) -> Settings {
    feed.load(&format!("{MINIMAL}{added}")).unwrap()
}

#[test]
fn a_timetable_office_says_when_releases_are_due() {
    let feed = Feed::new();
    let plain = loaded(&feed, "").release.schedule;
    assert!(plain.is_at_once() && plain.missed == Missed::All);
    let added =
        "[release]\nat = \"06:00\"\nafter = \"2d\"\non = [\"mon\", \"thu\"]\nmissed = \"7d\"";
    let schedule = loaded(&feed, added).release.schedule;
    assert_eq!(
        schedule.to_string(),
        "2 days after the window's end, at 06:00, on Monday, Thursday"
    );
    assert_eq!(schedule.missed, Missed::Within(SignedDuration::from_hours(7 * 24)));
    let older = loaded(&feed, "[release]\nnot_before = \"06:00\"").release.schedule;
    assert_eq!(older, loaded(&feed, "[release]\nat = \"06:00\"").release.schedule);
}

#[test]
fn windows_may_be_months_and_weeks_of_any_day() {
    let feed = Feed::new();
    let month = loaded(&feed, "[window]\nlength = \"1month\"");
    assert_eq!((month.calendar.length(), month.calendar.slots_nominal()), (Length::Month, 744));
    let text = Statement::of(&month).text;
    assert!(text.contains("one release for every window of 1 calendar month"), "{text}");
    assert!(text.contains("for who travels in every window of a year (12)"), "{text}");
    let plain = loaded(&feed, "[window]\nlength = \"7d\"");
    let week = loaded(&feed, "[window]\nlength = \"7d\"\nweek_start = \"sun\"");
    assert_eq!(week.calendar.length(), Length::Weeks { n: 1, begin: Weekday::Sunday });
    assert_ne!(week.digest, plain.digest);
    let monday = loaded(&feed, "[window]\nlength = \"7d\"\nweek_start = \"mon\"");
    assert_eq!(monday.digest, plain.digest);
}

/// All of them at once, each with its key.
#[test]
fn what_no_calendar_has_is_complained_about() {
    let feed = Feed::new();
    for (added, complaint) in [
        (
            "[release]\nat = \"06:00\"\nnot_before = \"06:00\"",
            "release.not_before: is the older name of release.at: write one of them",
        ),
        (
            "[release]\nafter = \"36h\"",
            "release.after: must be whole days up to \"366d\", not \"36h\"",
        ),
        (
            "[release]\non = []",
            "release.on: must be a list of days like [\"mon\", \"thu\"], not []",
        ),
        (
            "[release]\nmissed = \"some\"",
            "release.missed: \"some\" is neither \"all\" nor a duration like \"7d\"",
        ),
        (
            "[window]\nweek_start = \"sun\"",
            "window.week_start: is for a window.length of whole weeks, such as \"7d\"",
        ),
        (
            "[window]\nlength = \"1month\"\nslot = \"7h\"",
            "window.slot: is 25200s, but with months it must divide 24h",
        ),
    ] {
        assert_eq!(feed.complaints(&format!("{MINIMAL}{added}")), [complaint]);
    }
    let day = feed.complaints(&format!("{MINIMAL}[release]\non = [\"friday\"]"));
    assert!(day[0].starts_with("release.on: ") && day[0].contains("fri"), "{day:?}");
    let old = feed.complaints(&format!(
        "{MINIMAL}[window]\nclose = \"watermark\"\n[release]\nmissed = \"7d\""
    ));
    assert!(old[0].starts_with("release.missed: needs window.close = \"arrival\""), "{old:?}");
}

/// Nobody pays for a downtime without having signed it.
#[test]
fn the_statement_says_what_a_downtime_costs() {
    let feed = Feed::new();
    let words = |added: &str| {
        let text = Statement::of(&loaded(&feed, added)).text;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let all = words("");
    assert!(all.contains("Windows without data are released and paid for like any other."));
    assert!(all.contains("every window that was missed is released and paid for, in order"));
    let some = words("[release]\nmissed = \"7d\"");
    assert!(some.contains("late by more than 1 week goes without one and costs nothing"), "{some}");
}
