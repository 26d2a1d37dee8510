use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;
use crate::model::{Calendar, Reject, StationIx, TapKind, WindowId};
use crate::passenger::{CardKey, Tap};

const HOUR_MILLIS: u32 = 3_600_000;

fn calendar(zone: &str) -> Calendar {
    Calendar::new(TimeZone::get(zone).unwrap(), 86_400, 0, 3_600).unwrap()
}

fn day(number: i64) -> Window {
    calendar("UTC").window(WindowId::new(number)).unwrap()
}

fn secret() -> Secret {
    Secret::from_bytes(&[5; 32]).unwrap()
}

fn stamp(card: u32, offset_millis: u32, station: u32) -> Stamp {
    let id = WindowId::new(7);
    let card = CardKey::new(&secret().card_key(id), &card.to_le_bytes());
    Tap::new(id, card, offset_millis, StationIx(station)).stamp
}

fn freeze(stamps: &[Stamp], max_length: u32) -> SealedWindow {
    SealedWindow::freeze(day(7), stamps.to_vec(), NonZeroU32::new(max_length), &secret())
}

/// Stations and slots of the only card.
fn only(sealed: &SealedWindow) -> Vec<(u32, u32)> {
    assert_eq!(sealed.trajectories().len(), 1);
    sealed.trajectories().get(0).iter().map(|doublet| (doublet.station.0, doublet.slot)).collect()
}

#[test]
fn a_tap_that_is_there_three_times_counts_once() {
    let tap = stamp(1, 5, 2);
    let sealed = freeze(&[tap, stamp(1, 6, 2), tap, tap], 12);
    assert_eq!(sealed.n_duplicates(), 2);
    assert_eq!(only(&sealed), [(2, 0), (2, 0)], "a millisecond apart is another tap");
    assert_eq!(sealed.mac(), freeze(&[tap, stamp(1, 6, 2)], 12).mac());
}

/// Holds S-1.
#[test]
fn the_same_tap_of_another_card_is_no_duplicate() {
    let sealed = freeze(&[stamp(1, 5, 2), stamp(2, 5, 2)], 12);
    assert_eq!((sealed.n_duplicates(), sealed.trajectories().len()), (0, 2));
}

#[test]
fn a_trajectory_keeps_its_first_doublets() {
    let taps: Vec<Stamp> = (0..10).rev().map(|hour| stamp(1, hour * HOUR_MILLIS, hour)).collect();
    assert_eq!(only(&freeze(&taps, 3)), [(0, 0), (1, 1), (2, 2)]);
    assert_eq!(only(&freeze(&taps, 10)).len(), 10);
    let unbounded = SealedWindow::freeze(day(7), taps.clone(), None, &secret());
    assert_eq!(only(&unbounded).len(), 10);
    assert_eq!(
        freeze(&taps, 3).mac(),
        freeze(&taps[7..], 3).mac(),
        "what is cut is not in the MAC"
    );
}

/// Holds S-2.
#[test]
fn duplicates_go_before_lengths_are_cut() {
    let (first, second, third) = (stamp(1, 1, 4), stamp(1, 2, 5), stamp(1, 3, 6));
    let sealed = freeze(&[first, first, first, second, third], 2);
    assert_eq!(only(&sealed), [(4, 0), (5, 0)]);
}

#[test]
fn the_order_inside_a_trajectory_is_time_then_station() {
    let taps = [stamp(1, 9, 1), stamp(1, 3, 8), stamp(1, 3, 2), stamp(1, 2 * HOUR_MILLIS, 0)];
    assert_eq!(only(&freeze(&taps, 12)), [(2, 0), (8, 0), (1, 0), (0, 2)]);
}

#[test]
fn a_repeated_doublet_stays() {
    let taps = [stamp(1, 1, 3), stamp(1, 2, 3), stamp(1, 3, 3)];
    assert_eq!(only(&freeze(&taps, 12)), [(3, 0), (3, 0), (3, 0)]);
}

/// Holds S-3.
#[test]
fn the_mac_follows_window_card_station_and_slot() {
    let base = [stamp(1, 1, 3), stamp(2, 2, 3)];
    let mac = *freeze(&base, 12).mac();
    assert_ne!(*freeze(&[stamp(3, 1, 3), base[1]], 12).mac(), mac, "another card");
    assert_ne!(*freeze(&[stamp(1, 1, 4), base[1]], 12).mac(), mac, "another station");
    assert_ne!(*freeze(&[stamp(1, HOUR_MILLIS, 3), base[1]], 12).mac(), mac, "another slot");
    assert_ne!(*freeze(&base[..1], 12).mac(), mac, "one tap less");
    let entry = Stamp::new(base[0].card, 1, StationIx(3), Some(TapKind::Entry));
    let exit = Stamp::new(base[0].card, 1, StationIx(3), Some(TapKind::Exit));
    let macs = [entry, exit].map(|first| *freeze(&[first, base[1]], 12).mac());
    assert!(macs[0] != mac && macs[1] != mac && macs[0] != macs[1], "another kind");
    assert_ne!(*freeze(&[], 12).mac(), mac, "none at all");
    assert_eq!(*freeze(&[stamp(1, 2, 3), base[1]], 12).mac(), mac, "slots count, not milliseconds");
    let elsewhere = SealedWindow::freeze(day(8), base.to_vec(), NonZeroU32::new(12), &secret());
    assert_ne!(*elsewhere.mac(), mac, "another window");
    let other = Secret::from_bytes(&[6; 32]).unwrap();
    let keyed = SealedWindow::freeze(day(7), base.to_vec(), NonZeroU32::new(12), &other);
    assert_ne!(*keyed.mac(), mac, "another secret");
}

#[test]
fn two_threads_sort_as_one_does() {
    const SEED: u64 = 20_151_109;
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut stamps: Vec<Stamp> = (0..150_001)
        .map(|_| stamp(random.next_u32() % 9_000, random.next_u32() % 50, random.next_u32() % 3))
        .collect();
    let mut plain = stamps.clone();
    plain.sort();
    sort_canonically(&mut stamps);
    assert!(stamps == plain, "seed {SEED}");
    let all_of_one_card: Vec<Stamp> =
        (0..100_000).map(|_| stamp(1, random.next_u32() % 99, 0)).collect();
    let (mut one, mut two) = (all_of_one_card.clone(), all_of_one_card);
    one.sort();
    sort_canonically(&mut two);
    assert!(one == two, "also when the halves share a card, seed {SEED}");
}

#[test]
fn days_with_a_clock_change_freeze_into_their_23_or_25_slots() {
    let last_slot = |date: &str| {
        let noon: Timestamp = format!("{date}T17:00:00Z").parse().unwrap();
        let window = calendar("America/Toronto").window_at(noon).unwrap();
        let last = window.end().checked_sub(SignedDuration::from_millis(1)).unwrap();
        let offset = window.offset_millis(last).unwrap();
        let sealed = SealedWindow::freeze(window, vec![stamp(1, offset, 0)], None, &secret());
        (sealed.window().n_slots(), only(&sealed)[0].1)
    };
    assert_eq!(last_slot("2024-03-10"), (23, 22));
    assert_eq!(last_slot("2024-03-11"), (24, 23));
    assert_eq!(last_slot("2024-11-03"), (25, 24));
}

proptest! {
    #[test]
    fn the_batch_has_one_form_whatever_the_order(
        (taps, shuffled) in prop::collection::vec((0..6_u32, 0..9_u32, 0..4_u32), 0..80)
            .prop_flat_map(|taps| (Just(taps.clone()), Just(taps).prop_shuffle())),
        max_length in 1..9_u32,
    ) {
        let stamps = |taps: &[(u32, u32, u32)]| -> Vec<Stamp> {
            taps.iter().map(|&(card, time, station)| stamp(card, time * 999_999, station)).collect()
        };
        let (one, other) = (freeze(&stamps(&taps), max_length), freeze(&stamps(&shuffled), max_length));
        prop_assert_eq!(one.mac(), other.mac());
        prop_assert_eq!(one.n_duplicates(), other.n_duplicates());
        prop_assert!(one.trajectories() == other.trajectories());
    }

    /// Holds S-4.
    #[test]
    fn one_card_never_touches_another(
        taps in prop::collection::vec((0..4_u32, 0..9_u32, 0..4_u32), 1..60),
        gone in 0..4_u32,
    ) {
        let of = |keep: &dyn Fn(u32) -> bool| {
            let kept = taps.iter().filter(|tap| keep(tap.0));
            let stamps: Vec<Stamp> = kept.map(|tap| stamp(tap.0, tap.1, tap.2)).collect();
            let sealed = freeze(&stamps, 3);
            let owned = sealed.trajectories().iter().map(|(card, list)| (card, list.to_vec()));
            owned.collect::<Vec<_>>()
        };
        let mut all = of(&|_| true);
        all.retain(|(card, _)| *card != stamp(gone, 0, 0).card);
        prop_assert_eq!(all, of(&|card| card != gone));
    }
}

mod closing {
    use super::*;

    fn hours(n: i64) -> SignedDuration {
        SignedDuration::from_hours(n)
    }

    fn margin() -> SignedDuration {
        SignedDuration::from_secs(60)
    }

    fn after_end(window: &Window, by: SignedDuration) -> Timestamp {
        window.end().checked_add(by).unwrap()
    }

    #[test]
    fn a_record_after_deadline_and_margin_finishes_a_window() {
        let window = day(7);
        let deadline = after_end(&window, hours(2) + margin());
        let mut partition = ArrivalProgress::new(hours(2), margin());
        partition.read(after_end(&window, hours(2)));
        assert_eq!(partition.finished(&window), Finished::NotYet, "clocks may differ");
        partition.read(deadline);
        assert_eq!(partition.finished(&window), Finished::NotYet, "on the edge is not past it");
        partition.read(deadline.checked_add(SignedDuration::from_millis(1)).unwrap());
        assert_eq!(partition.finished(&window), Finished::Yes);
        partition.read(window.start());
        assert_eq!(partition.finished(&window), Finished::Yes, "once finished, always finished");
        assert_eq!(partition.finished(&day(8)), Finished::NotYet);
    }

    #[test]
    fn a_silent_partition_finishes_only_at_an_end_that_was_fetched_late_enough() {
        let window = day(7);
        let mut silent = ArrivalProgress::new(hours(2), margin());
        assert_eq!(silent.finished(&window), Finished::NotYet, "nothing is known of it");
        silent.reached_end(after_end(&window, hours(1)));
        assert_eq!(silent.finished(&window), Finished::NotYet, "records may still come in time");
        silent.reached_end(after_end(&window, hours(3)));
        assert_eq!(silent.finished(&window), Finished::Yes);
    }

    #[test]
    fn a_grace_longer_than_a_window_keeps_several_open() {
        let mut partition = ArrivalProgress::new(hours(48), margin());
        partition.read(after_end(&day(9), hours(1)));
        let finished = [6, 7, 8, 9].map(|number| partition.finished(&day(number)));
        assert_eq!(
            finished,
            [Finished::Yes, Finished::Yes, Finished::NotYet, Finished::NotYet],
            "day 7 ended 49 hours before, day 8 only 25"
        );
    }

    #[test]
    fn the_slowest_partition_holds_the_watermark() {
        let window = day(7);
        let mut all = Watermark::new(hours(1), 2);
        all.read(0, after_end(&window, hours(5)));
        assert_eq!(all.finished(&window), Finished::NotYet, "of partition 1 nothing was read");
        all.read(1, after_end(&window, hours(1) - SignedDuration::from_millis(1)));
        assert_eq!(all.finished(&window), Finished::NotYet, "less than the disorder past the end");
        all.read(1, after_end(&window, hours(1)));
        assert_eq!(all.finished(&window), Finished::Yes);
        all.read(1, window.start());
        assert_eq!(all.finished(&window), Finished::Yes, "an old tap moves nothing back");
        assert_eq!(all.finished(&day(8)), Finished::NotYet);
    }

    #[test]
    fn an_empty_partition_holds_the_watermark_until_its_end() {
        let window = day(7);
        let mut all = Watermark::new(hours(0), 3);
        all.read(0, after_end(&window, hours(9)));
        all.ended(1);
        assert_eq!(all.finished(&window), Finished::NotYet);
        all.ended(2);
        all.ended(2);
        assert_eq!(all.finished(&window), Finished::Yes);
        all.ended(0);
        assert_eq!(all.finished(&day(999)), Finished::Yes, "all ends reached: the rest seals");
    }

    #[test]
    fn a_day_of_25_hours_closes_by_its_own_end() {
        let noon: Timestamp = "2024-11-03T17:00:00Z".parse().unwrap();
        let window = calendar("America/Toronto").window_at(noon).unwrap();
        let mut partition = ArrivalProgress::new(hours(0), hours(0));
        partition.read(window.start().checked_add(hours(25)).unwrap());
        assert_eq!(partition.finished(&window), Finished::NotYet);
        partition.read(after_end(&window, SignedDuration::from_millis(1)));
        assert_eq!(partition.finished(&window), Finished::Yes);
        let hours_long = window.end().duration_since(window.start()).as_hours();
        assert_eq!(hours_long, 25);
    }

    #[test]
    fn a_tap_after_the_seal_is_refused_in_the_words_of_its_closing() {
        let arrival = Closing::Arrival { grace: hours(2), clock_margin: margin() };
        let watermark = Closing::Watermark { disorder: hours(1) };
        let mut seals = PartitionSeals::default();
        assert_eq!(seals.admit(WindowId::new(-5), arrival), Ok(()));
        seals.seal(WindowId::new(7));
        for sealed in [6, 7] {
            let window = WindowId::new(sealed);
            assert_eq!(seals.admit(window, arrival), Err(Reject::ArrivalAfterSeal));
            assert_eq!(seals.admit(window, watermark), Err(Reject::Late));
        }
        assert_eq!(seals.admit(WindowId::new(8), arrival), Ok(()));
        assert_eq!(seals.last(), Some(WindowId::new(7)));
        assert_eq!(PartitionSeals::through(seals.last()), seals, "as read back from a commit");
        seals.seal(WindowId::new(9));
        assert_eq!(seals.admit(WindowId::new(8), arrival), Err(Reject::ArrivalAfterSeal));
    }

    #[test]
    #[should_panic(expected = "S-5")]
    fn a_window_never_seals_twice() {
        let mut seals = PartitionSeals::through(Some(WindowId::new(7)));
        seals.seal(WindowId::new(7));
    }
}
