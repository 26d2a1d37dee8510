use jiff::tz::TimeZone;

use super::super::Watermark;
use super::*;
use crate::model::StationIx;
use crate::passenger::CardKey;
use crate::secret::Secret;

const MINUTE: SignedDuration = SignedDuration::from_secs(60);
const GRACE: SignedDuration = SignedDuration::from_mins(20);
const MARGIN: SignedDuration = SignedDuration::from_secs(3);
const ARRIVAL: Closing = Closing::Arrival { grace: GRACE, clock_margin: MARGIN };

fn rules() -> Rules {
    let calendar = Calendar::new(TimeZone::UTC, 60, 0, 60).unwrap();
    let first = calendar.window_at(at("2015-11-09T12:00:00Z")).unwrap().id();
    let gate = Gate {
        range: Some(first..WindowId::new(i64::MAX)),
        grace: Some(MINUTE),
        max_ahead: MINUTE,
    };
    let closing = Closing::Arrival { grace: MINUTE, clock_margin: SignedDuration::from_secs(5) };
    Rules { gate, closing, calendar, first, past: None }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn take(
    state: &mut PartitionState,
    rules: &Rules,
    event: &str,
    arrived: &str,
) -> Result<(), Reject> {
    let (event, arrival) = (at(event), Arrival::Stamped(at(arrived)));
    let window = rules.calendar.window_at(event).unwrap();
    let card = CardKey::from_halves([1, 2]);
    let tap = Tap::new(window.id(), card, window.offset_millis(event).unwrap(), StationIx(0));
    state.take(rules.closing, &Judged::new(&rules.gate, tap, &window, event, arrival))
}

#[test]
fn a_clock_that_runs_ahead_moves_no_watermark() {
    let rules = rules();
    let mut state = PartitionState::new(&rules, PartitionSeals::default(), None);
    let (honest, arrived) = ("2015-11-09T12:00:10Z", "2015-11-09T12:00:11Z");
    assert_eq!(take(&mut state, &rules, honest, arrived), Ok(()));
    let ahead = take(&mut state, &rules, "2015-11-09T12:02:10Z", arrived);
    assert_eq!((ahead, state.greatest_event()), (Err(Reject::TooFarAhead), Some(at(honest))));
}

#[test]
fn a_window_is_due_after_deadline_and_margin_and_empty_ones_are_due_too() {
    let rules = rules();
    let mut state = PartitionState::new(&rules, PartitionSeals::default(), None);
    assert_eq!(take(&mut state, &rules, "2015-11-09T12:00:10Z", "2015-11-09T12:00:11Z"), Ok(()));
    let due =
        |state: &PartitionState| state.due(&rules, 100, PartitionState::finished_by_arrival).len();
    assert_eq!(due(&state), 0);
    state.reached_end(at("2015-11-09T12:02:05Z"));
    assert_eq!(due(&state), 0, "exactly at deadline plus margin is not after it");
    state.reached_end(at("2015-11-09T12:03:06Z"));
    assert_eq!(due(&state), 2);
    state.committed(Some(WindowId::new(rules.first.number() + 1)));
    assert_eq!((due(&state), state.n_held()), (0, 0));
    let late = take(&mut state, &rules, "2015-11-09T12:00:20Z", "2015-11-09T12:00:50Z");
    assert_eq!(late, Err(Reject::ArrivalAfterSeal));
}

#[test]
fn a_partition_has_ended_when_it_was_at_its_end_for_a_while() {
    let rules = rules();
    let mut state = PartitionState::new(&rules, PartitionSeals::default(), None);
    let [begin, soon, later] =
        ["2015-11-09T12:00:00Z", "2015-11-09T12:00:01Z", "2015-11-09T12:00:02Z"];
    assert!(!state.has_ended(at(later)), "nobody has looked for an end");
    state.reached_end(at(begin));
    state.reached_end(at(soon));
    assert!(!state.has_ended(at(soon)));
    assert!(state.has_ended(at(later)));
    take(&mut state, &rules, begin, soon).unwrap();
    assert!(!state.has_ended(at(later)), "there was more");
}

#[test]
fn taps_before_the_first_window_do_not_count() {
    let rules = rules();
    let mut state = PartitionState::new(&rules, PartitionSeals::default(), None);
    let early = take(&mut state, &rules, "2015-11-09T11:59:10Z", "2015-11-09T11:59:11Z");
    assert_eq!(early, Err(Reject::OutsideRange));
}

#[test]
fn what_a_commit_remembers_reads_back() {
    let event = Some(at("2015-11-09T12:00:00.5Z"));
    for remembered in [
        IngestMetadata::default(),
        IngestMetadata { sealed_through: Some(WindowId::new(-4)), greatest_event: event },
    ] {
        assert_eq!(IngestMetadata::from_text(&remembered.to_text()), Some(remembered));
    }
    assert_eq!(IngestMetadata::from_text("- - more"), None);
    assert_eq!(IngestMetadata::from_text("somebody else's"), None);
}

fn id(number: i64) -> WindowId {
    WindowId::new(number)
}

fn day(number: i64) -> Window {
    days(0, None).calendar.window(id(number)).unwrap()
}

/// Days of UTC from the first to before `past`, closed by arrival.
fn days(first: i64, past: Option<i64>) -> Rules {
    Rules {
        gate: Gate { range: None, grace: Some(GRACE), max_ahead: MARGIN },
        closing: ARRIVAL,
        calendar: Calendar::new(TimeZone::UTC, 86_400, 0, 3_600).unwrap(),
        first: id(first),
        past: past.map(id),
    }
}

fn sealed(rules: &Rules, through: Option<i64>) -> PartitionState {
    PartitionState::new(rules, PartitionSeals::through(through.map(id)), None)
}

/// A tap of this window that arrived with its end.
fn tap(window: i64) -> Judged {
    let secret = Secret::from_bytes(&[5; 32]).unwrap();
    let card = CardKey::new(&secret.card_key(id(window)), b"card");
    let tap = Tap::new(id(window), card, 1_000, StationIx(0));
    Judged { arrival: Arrival::Stamped(day(window).end()), progress: None, tap: Ok(tap) }
}

fn always(_: &PartitionState, _: &Window) -> Finished {
    Finished::Yes
}

fn numbers(due: &[Sealing]) -> Vec<i64> {
    due.iter().map(|one| one.window.number()).collect()
}

#[test]
fn a_window_is_complete_a_grace_and_a_margin_after_its_end() {
    assert_eq!(ARRIVAL.closes_after(), Some(GRACE + MARGIN));
    assert_eq!(Closing::Watermark { disorder: GRACE }.closes_after(), None, "no clock decides");
}

#[test]
fn a_watermark_waits_for_a_partition_of_which_nothing_was_read() {
    let mut watermark = Watermark::new(GRACE, 1);
    watermark.read(0, day(2).end() + GRACE);
    assert_eq!(watermark.finished(&day(2)), Finished::Yes);
    watermark.watch(1);
    assert_eq!(watermark.finished(&day(2)), Finished::NotYet);
    watermark.ended(1);
    assert_eq!(watermark.finished(&day(2)), Finished::Yes);
}

#[test]
fn the_next_window_follows_the_last_sealed_one_and_is_before_the_past() {
    let rules = days(4, Some(7));
    let next = |through| sealed(&rules, through).next_window(&rules).map(|id| id.number());
    assert_eq!(next(None), Some(4));
    assert_eq!(next(Some(1)), Some(4), "windows before the first are nobody's");
    assert_eq!(next(Some(5)), Some(6));
    assert_eq!(next(Some(6)), None, "the range is done");
    assert_eq!(next(Some(7)), None);
}

#[test]
fn at_most_so_many_windows_are_due_and_none_past_the_range() {
    let (open, ends) = (days(4, None), days(4, Some(7)));
    assert_eq!(numbers(&sealed(&open, None).due(&open, 2, always)), [4, 5]);
    assert_eq!(numbers(&sealed(&open, None).due(&open, 0, always)), [0; 0]);
    assert_eq!(numbers(&sealed(&ends, None).due(&ends, 9, always)), [4, 5, 6]);
    let until_5 = |_: &PartitionState, window: &Window| match window.id() <= id(5) {
        true => Finished::Yes,
        false => Finished::NotYet,
    };
    assert_eq!(numbers(&sealed(&ends, None).due(&ends, 9, until_5)), [4, 5]);
}

#[test]
fn what_is_committed_is_forgotten_and_seals_never_move_back() {
    let rules = days(0, None);
    let mut state = sealed(&rules, Some(3));
    assert_eq!(state.seals(), PartitionSeals::through(Some(id(3))));
    for window in [4, 4, 5] {
        state.take(ARRIVAL, &tap(window)).unwrap();
    }
    let held: Vec<(i64, usize)> =
        state.held().iter().map(|(id, taps)| (id.number(), taps.len())).collect();
    assert_eq!((held, state.n_held()), (vec![(4, 2), (5, 1)], 3));
    assert_eq!(state.take(ARRIVAL, &tap(3)), Err(Reject::ArrivalAfterSeal));
    assert_eq!(state.n_held(), 3, "a tap that does not count is not held");

    state.committed(Some(id(4)));
    assert!(state.held().is_empty() && state.n_held() == 0);
    assert_eq!(state.seals().last(), Some(id(4)));
    // The same seal once more, as after a transaction that was tried again, and none.
    state.committed(Some(id(4)));
    state.committed(None);
    assert_eq!(state.seals().last(), Some(id(4)));
}

#[test]
fn a_watermark_moves_with_the_greatest_honest_time() {
    let rules = days(0, None);
    let mut state = sealed(&rules, None);
    let event = |hour: i64| day(1).start() + SignedDuration::from_hours(hour);
    let progress = |at: Option<Timestamp>| Judged { progress: at, ..tap(1) };
    for (at, greatest) in [(Some(9), 9), (Some(7), 9), (None, 9), (Some(11), 11)] {
        state.take(ARRIVAL, &progress(at.map(event))).unwrap();
        assert_eq!(state.greatest_event(), Some(event(greatest)));
    }
}
