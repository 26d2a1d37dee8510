use std::collections::BTreeSet;
use std::num::NonZeroU32;

use jiff::tz::TimeZone;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::*;
use crate::model::{Calendar, Doublet, Mac, StationIx, TapKind};
use crate::passenger::CardKey;
use crate::seal::SealedWindow;
use crate::secret::Secret;

const MAX_LENGTH: u32 = 3;
const DAY_MILLIS: i64 = 86_400_000;

fn calendar() -> Calendar {
    Calendar::new(TimeZone::UTC, 86_400, 4 * 3_600, 3_600).unwrap()
}

fn day(number: i64) -> Window {
    calendar().window(WindowId::new(number)).unwrap()
}

fn gate() -> Gate {
    Gate {
        range: None,
        grace: Some(SignedDuration::from_hours(2)),
        max_ahead: SignedDuration::from_mins(5),
    }
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap()
}

#[test]
fn a_tap_that_arrives_on_the_deadline_counts_and_one_just_after_is_late() {
    let (gate, window) = (gate(), day(10));
    let deadline = later(window.end(), SignedDuration::from_hours(2));
    let judge = |arrived| gate.judge(&window, window.start(), Arrival::Stamped(arrived));
    assert_eq!(judge(window.end()), Ok(()));
    assert_eq!(judge(deadline), Ok(()));
    assert_eq!(judge(later(deadline, SignedDuration::from_nanos(1))), Err(Reject::Late));
    assert_eq!(judge(later(deadline, SignedDuration::from_millis(1))), Err(Reject::Late));
}

#[test]
fn without_a_grace_no_arrival_is_late() {
    let (gate, window) = (Gate { grace: None, ..gate() }, day(10));
    let a_year_on = later(window.end(), SignedDuration::from_hours(365 * 24));
    assert_eq!(gate.judge(&window, window.start(), Arrival::Stamped(a_year_on)), Ok(()));
}

#[test]
fn a_tap_from_the_future_is_judged_by_its_own_arrival() {
    let (gate, window) = (gate(), day(10));
    let event = later(window.start(), SignedDuration::from_hours(3));
    let judge =
        |ahead: SignedDuration| gate.judge(&window, event, Arrival::Stamped(later(event, -ahead)));
    assert_eq!(judge(SignedDuration::from_mins(5)), Ok(()));
    let a_hair_more = SignedDuration::from_mins(5) + SignedDuration::from_nanos(1);
    assert_eq!(judge(a_hair_more), Err(Reject::TooFarAhead));
    assert_eq!(judge(SignedDuration::from_hours(999)), Err(Reject::TooFarAhead));
}

#[test]
fn a_record_without_the_brokers_stamp_does_not_count() {
    let window = day(10);
    let judged = gate().judge(&window, window.start(), Arrival::Unstamped);
    assert_eq!(judged, Err(Reject::NoArrivalTime));
    let watermark = Gate { grace: None, ..gate() };
    let judged = watermark.judge(&window, window.start(), Arrival::Unstamped);
    assert_eq!(judged, Err(Reject::NoArrivalTime));
}

#[test]
fn nothing_in_a_file_is_late_or_ahead() {
    let window = day(40_000);
    assert_eq!(gate().judge(&window, window.start(), Arrival::InFile), Ok(()));
}

/// Holds W-1.
#[test]
fn the_range_is_half_open_and_comes_first() {
    let range = Some(WindowId::new(10)..WindowId::new(12));
    let gate = Gate { range, ..gate() };
    let judge = |number| gate.judge(&day(number), day(number).start(), Arrival::InFile);
    assert_eq!(judge(9), Err(Reject::OutsideRange));
    assert_eq!(judge(10), Ok(()));
    assert_eq!(judge(11), Ok(()));
    assert_eq!(judge(12), Err(Reject::OutsideRange));
    let unstamped = gate.judge(&day(12), day(12).start(), Arrival::Unstamped);
    assert_eq!(
        unstamped,
        Err(Reject::OutsideRange),
        "a window that does not exist says nothing else"
    );
}

#[test]
fn open_windows_hold_what_they_were_given_and_hand_it_over_once() {
    let hasher = Secret::from_bytes(&[1; 32]).unwrap().card_key(WindowId::new(1));
    let tap = |window, offset| {
        Tap::new(WindowId::new(window), CardKey::new(&hasher, b"card"), offset, StationIx(0))
    };
    let mut open = OpenWindows::default();
    open.add(tap(1, 5));
    open.add(tap(3, 6));
    open.add_all(WindowId::new(1), vec![tap(1, 7).stamp, tap(1, 8).stamp]);
    open.add_all(WindowId::new(2), vec![tap(2, 9).stamp]);
    assert_eq!(open.n_taps(), 5);
    assert_eq!(open.ids(), [1, 2, 3].map(WindowId::new));
    let offsets: Vec<u32> =
        open.take(WindowId::new(1)).iter().map(|stamp| stamp.offset_millis).collect();
    assert_eq!(offsets, [5, 7, 8]);
    assert!(open.take(WindowId::new(1)).is_empty(), "a window that is not there is empty");
    assert_eq!(open.n_taps(), 2);
}

/// A tap as a feed would send it.
#[derive(Clone, Debug)]
struct Sent {
    card: u8,
    station: u32,
    event: Timestamp,
    arrival: Arrival,
    kind: Option<TapKind>,
}

/// A card's trajectory and the kinds of its taps.
type Path = (Vec<Doublet>, Vec<Option<TapKind>>);

/// What comes out of the whole way: every card's trajectory by window, and every window's MAC.
type Outcome = (BTreeMap<(WindowId, CardKey), Path>, Vec<Mac>);

fn card_key(window: WindowId, card: u8) -> CardKey {
    CardKey::new(&Secret::from_bytes(&[1; 32]).unwrap().card_key(window), &[card])
}

/// Gate, open windows, seal: the way a tap goes.
fn way(gate: &Gate, sent: &[Sent]) -> Outcome {
    let (calendar, secret) = (calendar(), Secret::from_bytes(&[1; 32]).unwrap());
    let mut open = OpenWindows::default();
    for tap in sent {
        let window = calendar.window_at(tap.event).unwrap();
        if gate.judge(&window, tap.event, tap.arrival).is_ok() {
            let offset = window.offset_millis(tap.event).unwrap();
            let card = card_key(window.id(), tap.card);
            let station = StationIx(tap.station);
            open.add(Tap::new(window.id(), card, offset, station).of_kind(tap.kind));
        }
    }
    let mut trajectories = BTreeMap::new();
    let mut macs = Vec::new();
    for number in 0..4 {
        let window = day(number);
        let stamps = open.take(window.id());
        let sealed =
            SealedWindow::freeze(window.clone(), stamps, NonZeroU32::new(MAX_LENGTH), &secret);
        for (ix, (card, doublets)) in sealed.trajectories().iter().enumerate() {
            // Kinds of a window in which no tap has one are not stored.
            let mut kinds = sealed.trajectories().kinds(ix).to_vec();
            kinds.resize(doublets.len(), None);
            trajectories.insert((window.id(), card), (doublets.to_vec(), kinds));
        }
        macs.push(*sealed.mac());
    }
    assert_eq!(open.n_taps(), 0, "every tap lies in one of the windows");
    (trajectories, macs)
}

/// Few cards, stations and times, so that duplicates and long trajectories are frequent; arrivals around
/// the deadline and around the tap's own time, so that late and far-future taps are.
fn sent() -> impl Strategy<Value = Sent> {
    let arrival = prop_oneof![
        4 => (0..60_i64).prop_map(|mins| (true, mins)),
        2 => (-9..3_i64).prop_map(|mins| (true, mins)),
        3 => (110..130_i64).prop_map(|mins| (false, mins)),
        1 => Just((false, i64::MAX)),
    ];
    let kind = prop_oneof![Just(None), Just(Some(TapKind::Entry)), Just(Some(TapKind::Exit))];
    (0..5_u8, 0..3_u32, 0..3_i64, 0..8_i64, arrival, kind).prop_map(
        |(card, station, number, step, (from_event, mins), kind)| {
            let window = day(number);
            let offset = SignedDuration::from_millis(step * (DAY_MILLIS / 8) + step % 2 * 59_999);
            let event = later(window.start(), offset);
            let arrival = match (from_event, mins) {
                (_, i64::MAX) => Arrival::Unstamped,
                (true, mins) => Arrival::Stamped(later(event, SignedDuration::from_mins(mins))),
                (false, mins) => {
                    Arrival::Stamped(later(window.end(), SignedDuration::from_mins(mins)))
                }
            };
            Sent { card, station, event, arrival, kind }
        },
    )
}

fn feed() -> impl Strategy<Value = (Vec<Sent>, Vec<Sent>)> {
    prop::collection::vec(sent(), 0..150)
        .prop_flat_map(|sent| (Just(sent.clone()), Just(sent).prop_shuffle()))
}

fn gates() -> [Gate; 3] {
    let ranged = Gate { range: Some(WindowId::new(1)..WindowId::new(3)), ..gate() };
    [gate(), Gate { grace: None, ..gate() }, ranged]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Holds W-2.
    #[test]
    fn any_one_card_taken_away_leaves_every_other_trajectory_as_it_was(
        (sent, shuffled) in feed(),
        gone in 0..5_u8,
    ) {
        for gate in gates() {
            let (mut all, _) = way(&gate, &sent);
            let others: Vec<Sent> = shuffled.iter().filter(|tap| tap.card != gone).cloned().collect();
            let (left, _) = way(&gate, &others);
            for number in 0..4 {
                let window = WindowId::new(number);
                all.remove(&(window, card_key(window, gone)));
            }
            prop_assert_eq!(all, left);
        }
    }

    /// Holds F-4.
    #[test]
    fn any_order_of_arrival_gives_the_same_batch((sent, shuffled) in feed()) {
        for gate in gates() {
            prop_assert_eq!(way(&gate, &sent), way(&gate, &shuffled));
        }
    }

    #[test]
    fn sending_everything_twice_changes_nothing((sent, shuffled) in feed()) {
        let twice: Vec<Sent> = sent.iter().chain(&shuffled).cloned().collect();
        prop_assert_eq!(way(&gate(), &sent), way(&gate(), &twice));
    }
}

/// The property above says little if the feeds never hold what it is about.
#[test]
fn the_random_feeds_hold_late_early_unstamped_repeated_and_overlong_taps() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut met = BTreeSet::new();
    for _ in 0..20 {
        let (sent, _) = feed().new_tree(&mut runner).unwrap().current();
        let mut counted: Vec<(u8, u32, Timestamp, Option<TapKind>)> = Vec::new();
        for tap in &sent {
            let window = calendar().window_at(tap.event).unwrap();
            match gate().judge(&window, tap.event, tap.arrival) {
                Err(reject) => {
                    met.insert(reject.label());
                }
                Ok(()) if counted.contains(&(tap.card, tap.station, tap.event, tap.kind)) => {
                    met.insert("duplicate");
                }
                Ok(()) => counted.push((tap.card, tap.station, tap.event, tap.kind)),
            }
        }
        let of_one = counted.iter().filter(|tap| tap.0 == 0 && tap.2 < day(0).end()).count();
        if of_one > MAX_LENGTH as usize {
            met.insert("overlong");
        }
    }
    let all = ["duplicate", "late", "no_arrival_time", "overlong", "too_far_ahead"];
    assert_eq!(met.into_iter().collect::<Vec<_>>(), all);
}
