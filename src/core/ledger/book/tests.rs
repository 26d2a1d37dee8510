use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::ledger::{Before, Horizon, Settings};
use crate::model::{Calendar, Window};

const DAY_SECS: i64 = 86_400;

fn calendar(days: i64) -> Calendar {
    Calendar::new(TimeZone::UTC, days * DAY_SECS, 4 * 3_600, 3_600).unwrap()
}

fn window(days: i64, number: i64) -> Window {
    calendar(days).window(WindowId::new(number)).unwrap()
}

/// A request for a daily window; the batch stands for its taps.
fn request(day: i64, batch: u8, micro: u64) -> Request {
    Request::of_nobody(
        window(1, day),
        Mac::from_bytes([batch; 32]),
        Digest::of(b"configuration"),
        Cost::differential(MicroEpsilon::new(micro)),
    )
}

fn settings() -> Settings {
    Settings { feed: "metro".to_owned(), calendar: calendar(1), lifetime: None, horizon: None }
}

impl Book {
    /// Takes a record whose MAC does not matter.
    fn apply(&mut self, record: &Record) -> Result<(), String> {
        self.append(record, record::chain_start())
    }
}

fn opened() -> Book {
    let mut book = Book::new(FeedKey::of_nobody());
    let genesis = record::Genesis::new("2015-11-09T04:00:00Z".parse().unwrap());
    book.apply(&Record::Genesis(genesis)).unwrap();
    book
}

fn pay(book: &mut Book, request: &Request, settings: &Settings) {
    let verdict = book.decide(request, settings);
    let Verdict::Pay(revision) = verdict else { panic!("{verdict:?}") };
    book.apply(&reserved("metro", request, revision)).unwrap();
}

fn settle(book: &mut Book) {
    let reserved = book.entries().last().unwrap().reservation.sequence;
    let release = Digest::of(b"rows").to_string();
    book.apply(&Record::Settled { reserved, release }).unwrap();
}

fn revision(day: i64, batch: u8, micro: u64) -> Request {
    let edition = Edition::Revision { why: "late taps".to_owned() };
    Request { edition, ..request(day, batch, micro) }
}

/// The spent sum a cap complains with, if it does.
fn capped(verdict: Verdict) -> Option<(&'static str, u64)> {
    match verdict {
        Verdict::Refuse(Refusal::Cap { cap, spent, .. }) => Some((cap, spent.micro())),
        _ => None,
    }
}

#[test]
fn the_very_same_request_is_known_and_free() {
    let (mut book, settings) = (opened(), settings());
    let asked = request(10, 1, 500);
    pay(&mut book, &asked, &settings);
    let booked = book.entries()[0].reservation.clone();
    assert_eq!(book.decide(&asked, &settings), Verdict::Known(booked.clone(), Before::Reserved));
    let release = Digest::of(b"rows");
    book.apply(&Record::Settled { reserved: 1, release: release.to_string() }).unwrap();
    assert_eq!(book.decide(&asked, &settings), Verdict::Known(booked, Before::Settled(release)));
    assert_eq!(book.spent(), MicroEpsilon::new(500), "neither asking nor settling costs anything");
}

#[test]
fn anything_else_for_a_paid_window_is_refused_and_says_what_differs() {
    let (mut book, settings) = (opened(), settings());
    pay(&mut book, &request(10, 1, 500), &settings);
    let other_taps = request(10, 2, 500);
    let what = "other taps";
    assert_eq!(book.decide(&other_taps, &settings), Verdict::Refuse(Refusal::Repeat { what }));
    let mut other_configuration = request(10, 1, 500);
    other_configuration.configuration = Digest::of(b"another");
    let what = "another configuration";
    assert_eq!(
        book.decide(&other_configuration, &settings),
        Verdict::Refuse(Refusal::Repeat { what })
    );
}

#[test]
fn a_window_of_another_length_over_the_same_time_is_refused() {
    let (mut book, settings) = (opened(), settings());
    pay(&mut book, &request(10, 1, 500), &settings);
    let mut week = request(0, 1, 500);
    week.window = window(7, 1);
    let Verdict::Refuse(Refusal::Overlap { other }) = book.decide(&week, &settings) else {
        panic!("days 7 to 13 cover day 10");
    };
    assert!(other.contains("1970-01-15T04:00:00Z to 1970-01-16T04:00:00Z"), "{other}");
    week.window = window(7, 2);
    assert_eq!(book.decide(&week, &settings), Verdict::Pay(0), "days 14 to 20 do not");
}

#[test]
fn a_window_of_an_earlier_epoch_is_refused_in_words() {
    let (mut book, settings) = (opened(), settings());
    pay(&mut book, &request(10, 1, 500), &settings);
    settle(&mut book);
    book.apply(&Record::Rotated { epoch: 1, at: "2026-01-01T00:00:00Z".to_owned() }).unwrap();
    // Other keys: the same taps have another MAC.
    let again = Request { epoch: 1, ..request(10, 2, 500) };
    let what = "keys that were destroyed since";
    assert_eq!(book.decide(&again, &settings), Verdict::Refuse(Refusal::Repeat { what }));
    assert_eq!(
        book.decide(&Request { epoch: 1, ..request(11, 2, 500) }, &settings),
        Verdict::Pay(0)
    );
}

/// Hourly windows of another zone begin at the same instants, but the same local times lie in others.
#[test]
fn a_changed_time_zone_does_not_release_the_same_taps_twice() {
    let (mut book, settings) = (opened(), settings());
    pay(&mut book, &request(10, 1, 500), &settings);
    let elsewhere = Calendar::new(TimeZone::get("Asia/Tokyo").unwrap(), 3_600, 0, 3_600).unwrap();
    let far = elsewhere.window_at("2020-01-01T00:00:00Z".parse().unwrap()).unwrap();
    let verdict = book.decide(&Request { window: far, ..request(10, 1, 500) }, &settings);
    assert!(matches!(verdict, Verdict::Refuse(Refusal::OtherZone { .. })), "{verdict:?}");
}

#[test]
fn windows_that_only_touch_do_not_overlap() {
    let (mut book, settings) = (opened(), settings());
    pay(&mut book, &request(10, 1, 500), &settings);
    assert_eq!(book.decide(&request(9, 1, 500), &settings), Verdict::Pay(0));
    assert_eq!(book.decide(&request(11, 1, 500), &settings), Verdict::Pay(0));
}

#[test]
fn a_revision_is_numbered_and_always_charged_even_for_the_same_taps() {
    let mut book = opened();
    let settings = Settings { lifetime: Some(MicroEpsilon::new(1_500)), ..settings() };
    let nothing = Verdict::Refuse(Refusal::NothingToRevise);
    assert_eq!(book.decide(&revision(10, 1, 500), &settings), nothing, "there is no release");
    pay(&mut book, &request(10, 1, 500), &settings);
    assert_eq!(book.decide(&revision(10, 1, 500), &settings), nothing, "it is not in place");
    settle(&mut book);
    for (batch, number) in [(1, 1), (2, 2)] {
        assert_eq!(book.decide(&revision(10, batch, 500), &settings), Verdict::Pay(number));
        pay(&mut book, &revision(10, batch, 500), &settings);
        let known = book.decide(&revision(10, batch, 500), &settings);
        let Verdict::Known(booked, Before::Reserved) = known else { panic!("{known:?}") };
        assert_eq!(booked.revision, number, "what a crash left open is finished for nothing");
        settle(&mut book);
    }
    let totals: Vec<u64> =
        book.entries().iter().map(|entry| entry.reservation.window_total.micro()).collect();
    assert_eq!(totals, [500, 1_000, 1_500]);
    assert_eq!(
        capped(book.decide(&revision(10, 2, 500), &settings)),
        Some(("budget.lifetime", 1_500)),
        "the same taps again are a further revision"
    );
    let known = book.decide(&request(10, 1, 500), &settings);
    assert!(matches!(known, Verdict::Known(..)), "the first release again is free at the cap");
}

#[test]
fn a_revision_of_what_another_window_covers_or_of_suppression_is_refused() {
    let (mut book, settings) = (opened(), settings());
    pay(&mut book, &request(10, 1, 500), &settings);
    settle(&mut book);
    let week = Request { window: window(7, 1), ..revision(0, 1, 500) };
    assert!(matches!(book.decide(&week, &settings), Verdict::Refuse(Refusal::Overlap { .. })));
    let cheap = Request { cost: Cost::syntactic(), ..revision(10, 1, 0) };
    assert!(matches!(book.decide(&cheap, &settings), Verdict::Refuse(Refusal::Mixed { .. })));
    pay(&mut book, &suppressed(11, 1), &settings);
    settle(&mut book);
    let again = Request { cost: Cost::syntactic(), ..revision(11, 2, 0) };
    assert!(matches!(book.decide(&again, &settings), Verdict::Refuse(Refusal::Suppressed { .. })));
}

/// Holds L-7.
#[test]
fn while_a_feed_is_stopped_or_another_statement_is_approved_nothing_is_granted() {
    let (mut book, settings) = (opened(), settings());
    let asked = request(10, 1, 500);
    pay(&mut book, &asked, &settings);
    settle(&mut book);
    let said = |record: &str| format!("{record} by an officer");
    let (why, by, at) = (said("stop"), "A. Officer".to_owned(), "2026-01-01T00:00:00Z".to_owned());
    book.apply(&Record::Stopped { why: why.clone(), by: by.clone(), at: at.clone() }).unwrap();
    for request in [&asked, &request(11, 1, 1), &revision(10, 1, 1)] {
        let verdict = book.decide(request, &settings);
        assert!(matches!(verdict, Verdict::Refuse(Refusal::Stopped { .. })), "{verdict:?}");
    }
    book.apply(&Record::Resumed { why, by: by.clone(), at: at.clone() }).unwrap();
    assert!(matches!(book.decide(&asked, &settings), Verdict::Known(..)));
    let approve = |book: &mut Book, statement: Digest| {
        let statement = statement.to_string();
        book.apply(&Record::Approved { statement, by: by.clone(), at: at.clone() }).unwrap();
    };
    approve(&mut book, Digest::of(b"another"));
    for request in [&asked, &request(11, 1, 1), &revision(10, 1, 1)] {
        let verdict = book.decide(request, &settings);
        assert!(matches!(verdict, Verdict::Refuse(Refusal::NotApproved { .. })), "{verdict:?}");
    }
    approve(&mut book, asked.statement);
    assert!(matches!(book.decide(&asked, &settings), Verdict::Known(..)));
    assert_eq!(book.decide(&request(11, 1, 1), &settings), Verdict::Pay(0));
}

/// Holds L-3.
#[test]
fn the_lifetime_cap_is_exact() {
    let mut book = opened();
    let settings = Settings { lifetime: Some(MicroEpsilon::new(1_000)), ..settings() };
    pay(&mut book, &request(1, 1, 999), &settings);
    assert_eq!(capped(book.decide(&request(2, 1, 2), &settings)), Some(("budget.lifetime", 999)));
    pay(&mut book, &request(2, 1, 1), &settings);
    assert_eq!(capped(book.decide(&request(3, 1, 1), &settings)), Some(("budget.lifetime", 1_000)));
}

#[test]
fn a_reservation_that_was_never_settled_counts() {
    let mut book = opened();
    let settings = Settings { lifetime: Some(MicroEpsilon::new(1_000)), ..settings() };
    pay(&mut book, &request(1, 1, 1_000), &settings);
    assert!(book.entries()[0].settled.is_none());
    assert!(capped(book.decide(&request(2, 1, 1), &settings)).is_some(), "its noise may be seen");
}

#[test]
fn the_horizon_looks_both_ways() {
    let horizon = Some(Horizon { windows: 3, cap: MicroEpsilon::new(2) });
    let settings = Settings { horizon, ..settings() };
    let mut book = opened();
    pay(&mut book, &request(10, 1, 1), &settings);
    pay(&mut book, &request(12, 1, 1), &settings);
    // Booked last, but it lies between the two: the run 10, 11, 12 would cost three.
    assert_eq!(capped(book.decide(&request(11, 1, 1), &settings)), Some(("budget.horizon", 2)));
    assert_eq!(book.decide(&request(9, 1, 1), &settings), Verdict::Pay(0));
    assert_eq!(book.decide(&request(13, 1, 1), &settings), Verdict::Pay(0));
}

#[test]
fn a_window_of_another_length_counts_in_every_run_it_touches() {
    let horizon = Some(Horizon { windows: 2, cap: MicroEpsilon::new(5) });
    let settings = Settings { horizon, ..settings() };
    let mut book = opened();
    let mut week = request(0, 1, 4);
    week.window = window(7, 1);
    book.apply(&reserved("metro", &week, 0)).unwrap();
    assert_eq!(capped(book.decide(&request(14, 1, 2), &settings)), Some(("budget.horizon", 4)));
    assert_eq!(capped(book.decide(&request(6, 1, 2), &settings)), Some(("budget.horizon", 4)));
    assert_eq!(book.decide(&request(15, 1, 2), &settings), Verdict::Pay(0));
}

#[test]
fn records_that_cannot_follow_are_refused() {
    let mut book = opened();
    let genesis = record::Genesis::new(jiff::Timestamp::UNIX_EPOCH);
    let release = Digest::of(b"rows").to_string();
    assert!(book.apply(&Record::Genesis(genesis)).unwrap_err().contains("second opening"));
    let settles = |reserved| Record::Settled { reserved, release: release.clone() };
    assert!(book.apply(&settles(1)).unwrap_err().contains("never reserved"));
    book.apply(&reserved("metro", &request(1, 1, 1), 0)).unwrap();
    book.apply(&settles(1)).unwrap();
    assert!(book.apply(&settles(1)).unwrap_err().contains("twice"));
    let dear = request(2, 1, MicroEpsilon::MAX.micro() + 1);
    assert!(book.apply(&reserved("metro", &dear, 0)).unwrap_err().contains("beyond every budget"));
    let mut unopened = Book::new(FeedKey::of_nobody());
    assert!(unopened.apply(&settles(1)).unwrap_err().contains("opening record"));
    let genesis =
        record::Genesis { version: 3, ..record::Genesis::new(jiff::Timestamp::UNIX_EPOCH) };
    assert!(unopened.apply(&Record::Genesis(genesis)).unwrap_err().contains("version 3"));
    let foreign = Some("f".repeat(32));
    let genesis =
        record::Genesis { feed_key: foreign, ..record::Genesis::new(jiff::Timestamp::UNIX_EPOCH) };
    assert!(unopened.apply(&Record::Genesis(genesis)).unwrap_err().contains("another feed"));
    assert_eq!(
        (book.n_records(), unopened.n_records()),
        (3, 0),
        "a refused record leaves no trace"
    );
}

/// The most that any run of `n` consecutive days with this day in it costs, by trying them all.
fn fullest_run(paid: &[(i64, u64)], n: i64, day: i64) -> u64 {
    (-20..40)
        .filter(|first| (*first..first + n).contains(&day))
        .map(|first| {
            let inside = paid.iter().filter(|(at, _)| (first..first + n).contains(at));
            inside.map(|(_, micro)| micro).sum()
        })
        .max()
        .unwrap_or(0)
}

proptest! {
    /// Windows come in any order, some twice. Every verdict must be the one that a sum over all runs gives,
    /// and at the end no run of so many windows costs more than the cap.
    #[test]
    fn the_horizon_cap_is_exact_over_every_run(
        n in 1_u32..6,
        cap in 1_u64..16,
        lifetime in 1_u64..60,
        revises in any::<bool>(),
        asked in prop::collection::vec((0_i64..16, 0_u8..3, 1_u64..6), 1..40),
    ) {
        let settings = Settings {
            lifetime: Some(MicroEpsilon::new(lifetime)),
            horizon: Some(Horizon { windows: n, cap: MicroEpsilon::new(cap) }),
            ..settings()
        };
        let mut book = opened();
        let mut paid: Vec<(i64, u64)> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for (day, batch, micro) in asked {
            let all: u64 = paid.iter().map(|(_, micro)| micro).sum();
            let run = fullest_run(&paid, i64::from(n), day);
            let before = paid.iter().filter(|(at, _)| *at == day).count();
            let asked = match revises && before > 0 {
                true => revision(day, batch, micro),
                false => request(day, batch, micro),
            };
            let verdict = book.decide(&asked, &settings);
            if !revises && seen.contains(&(day, batch, micro)) {
                prop_assert!(matches!(verdict, Verdict::Known(_, Before::Settled(_))));
            } else if !revises && before > 0 {
                prop_assert_eq!(verdict, Verdict::Refuse(Refusal::Repeat { what: "other taps" }));
            } else if all + micro > lifetime {
                prop_assert_eq!(capped(verdict), Some(("budget.lifetime", all)));
            } else if run + micro > cap {
                prop_assert_eq!(capped(verdict), Some(("budget.horizon", run)));
            } else {
                prop_assert_eq!(verdict, Verdict::Pay(before as u32));
                book.apply(&reserved("metro", &asked, before as u32)).unwrap();
                settle(&mut book);
                paid.push((day, micro));
                seen.insert((day, batch, micro));
            }
        }
        prop_assert_eq!(book.spent().micro(), paid.iter().map(|(_, micro)| micro).sum::<u64>());
        for day in 0..16 {
            prop_assert!(fullest_run(&paid, i64::from(n), day) <= cap);
        }
    }
}

fn suppressed(day: i64, batch: u8) -> Request {
    Request { cost: Cost::syntactic(), ..request(day, batch, 0) }
}

/// Holds E-3.
#[test]
fn suppression_costs_nothing_and_is_recorded_once_per_window() {
    let (mut book, mut settings) = (opened(), settings());
    settings.lifetime = Some(MicroEpsilon::new(1));
    pay(&mut book, &suppressed(10, 1), &settings);
    pay(&mut book, &suppressed(11, 1), &settings);
    assert_eq!(book.spent(), MicroEpsilon::default());
    assert!(!book.entries()[0].reservation.cost.is_differential(), "the record says what it is");
    assert!(matches!(book.decide(&suppressed(10, 1), &settings), Verdict::Known(..)));
    let verdict = book.decide(&suppressed(10, 2), &settings);
    let Verdict::Refuse(refusal @ Refusal::Suppressed { .. }) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(refusal.reason(), "repeat");
}

#[test]
fn suppression_and_differential_privacy_never_cover_the_same_time() {
    let settings = settings();
    let week = |cost| Request { window: window(7, 1), cost, ..request(0, 3, 0) };
    let epsilon = Cost::differential(MicroEpsilon::new(500));
    for (first, then) in [
        (request(10, 1, 500), suppressed(10, 1)),
        (suppressed(10, 1), request(10, 1, 500)),
        (request(10, 1, 500), week(Cost::syntactic())),
        (suppressed(10, 1), week(epsilon)),
    ] {
        let mut book = opened();
        pay(&mut book, &first, &settings);
        let verdict = book.decide(&then, &settings);
        let Verdict::Refuse(refusal @ Refusal::Mixed { .. }) = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(refusal.reason(), "mixed");
        assert!(refusal.to_string().contains("1970-01-15T04:00:00Z to"), "{refusal}");
    }
    let mut book = opened();
    pay(&mut book, &suppressed(10, 1), &settings);
    pay(&mut book, &request(11, 1, 500), &settings);
}

/// What earlier versions wrote has no member `differential`; it must read as what it was.
#[test]
fn a_record_without_its_kind_is_differentially_private() {
    let record = reserved("metro", &request(10, 1, 500), 0);
    let text = serde_json::to_string(&record).unwrap();
    assert!(!text.contains("differential"), "the form of old records is kept: {text}");
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    let text = serde_json::to_string(&reserved("metro", &suppressed(10, 1), 0)).unwrap();
    assert!(text.contains("\"differential\":false"), "{text}");
    let priced = text.replace("\"epsilon_micro\":0", "\"epsilon_micro\":5");
    let priced: Record = serde_json::from_str(&priced).unwrap();
    assert!(opened().apply(&priced).is_err(), "suppression has no price");
}
