//! Figures by hand, and against a second, plain way to compute them on random windows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::cells::Cells;
use super::*;
use crate::engine::fixture::{paths, sealed};
use crate::model::{Doublet, StationIx};

mod naive;

pub(super) fn terms(seed: u64) -> Terms {
    let rows: String = ('a'..='f').map(|id| format!("{id},{}.5,7\n", id as u32 - 96)).collect();
    let stations = Stations::from_csv(format!("id,lat,lon\n{rows}").as_bytes()).unwrap();
    Terms {
        stations: Arc::new(stations),
        legs: Legs::Next,
        longest_secs: NonZeroU32::new(120 * 60),
        max_length: NonZeroU32::new(8),
        seed,
        n_queries: 40,
    }
}

pub(super) fn rows(paths: &[Vec<Doublet>], times: u64) -> Vec<Row> {
    let mut counts: BTreeMap<Vec<Doublet>, u64> = BTreeMap::new();
    paths.iter().for_each(|path| *counts.entry(path.clone()).or_default() += times);
    counts.into_iter().map(|(path, count)| Row { path, count }).collect()
}

pub(super) fn said(rows: Vec<Row>) -> Said {
    Said { rows, kind: PathKind::Timed, tables: None, is_suppressed: true }
}

/// A city of a few cards: they go out and back, one only taps once, one dwells for hours.
const CITY: [&str; 8] = [
    "a10 b30 b500 a520",
    "a10 b30 b500 a520",
    "a12 c40 c510 a540",
    "b5",
    "d700 e760 f1300",
    "a10 b30",
    "c40 c40 d41",
    "a100 b101 c102 d103",
];

fn judge() -> Judge {
    Judge::new(&sealed(&paths(&CITY)), terms(1))
}

#[test]
fn an_exact_release_is_right_about_everything() {
    let judge = judge();
    let mut exact = said(rows(&paths(&CITY), 1));
    exact.tables = Some(judge.exact_tables());
    let by_trips = judge.release(&said(rows(&paths(&CITY), 1)));
    let score = judge.release(&exact);
    for metric in judge.metrics() {
        let (group, better) = (metric.group, metric.better);
        for score in [&score, &by_trips] {
            match (score.get(&metric.id), better) {
                (Some(value), Better::Lower) => assert_eq!(value, 0.0, "{}", metric.id),
                (Some(value), Better::One) => assert_eq!(value, 1.0, "{}", metric.id),
                (Some(value), Better::Stated) => assert_eq!(value, 1.0, "{}", metric.id),
                _ => {}
            }
        }
        let can_be_missing = group == Group::Intervals
            || metric.id.ends_with(".median")
            || metric.id == "planner.weekdays";
        assert!(by_trips.get(&metric.id).is_some() || can_be_missing, "{}", metric.id);
    }
    // Minutes that see somebody: 5, 10, 12, 30, 40, 41, 100 to 103, 500, 510, 520, 540, 700, 760, 1300.
    assert_eq!(score.get("planner.busiest"), Some(17.0));
    // a-b, b-a, a-c, c-a, d-e, c-c, c-d, b-c; b stays for 470 minutes and f comes 540 minutes later: no legs.
    assert_eq!(score.get("planner.pairs"), Some(8.0));
    assert_eq!(score.get("rmse.matched"), Some(1.0));
    assert_eq!(score.get("coverage.stations"), Some(1.0));
}

#[test]
fn nothing_scores_what_theory_says() {
    let judge = judge();
    let score = judge.nothing();
    for id in ["stations_by_slot.error", "od.error", "od_by_quarter.error", "lengths.error"] {
        assert_eq!(score.get(id), Some(1.0), "{id}");
    }
    assert_eq!(score.get("stations_by_slot.dropped"), Some(1.0));
    assert_eq!(score.get("stations_by_slot.spurious"), None, "nothing was published");
    assert_eq!(score.get("stations_by_slot.jsd"), None, "nothing has no shares");
    assert_eq!(score.get("planner.mean_taps"), None);
    // s is below 1 for so few cards: every drawn query is wrong by all of it, and nearly every uniform one is right.
    assert_eq!(score.get("queries.doublets.drawn.2"), Some(1.0));
    assert!(score.get("queries.doublets.uniform.2").unwrap() < 0.05);
    assert_eq!(score.get("patterns.100.true_positives"), Some(0.0));
    let drops = score.get("patterns.100.false_drops").unwrap();
    assert_eq!(drops, naive::patterns(&paths(&CITY), 100).len() as f64);
    assert_eq!(score.get("flowgraph.phi"), Some(0.0));
    assert_eq!(score.get("rmse.km"), None);
}

#[test]
fn a_doubled_release_is_wrong_by_half_and_right_about_shares() {
    let judge = judge();
    let score = judge.release(&said(rows(&paths(&CITY), 2)));
    for id in ["stations_by_slot.error", "od.error", "lengths.error", "queries.sets.drawn.1"] {
        assert_eq!(score.get(id), Some(1.0), "{id}");
    }
    for id in ["stations_by_slot.jsd", "od.jsd", "planner.mean_taps", "trips.returning"] {
        assert_eq!(score.get(id), Some(0.0), "{id}");
    }
    assert_eq!(score.get("patterns.support"), Some(1.0));
    // α, β and γ are those of the tree; δ is twice as large: 0.4 + 0.2 + 0.2 + 2 × 0.2.
    assert_eq!(score.get("flowgraph.phi"), Some(1.2));
    assert_eq!(score.get("kept.doublets"), Some(2.0));
}

#[test]
fn tables_by_hand() {
    let truth = Cells::new(vec![(1, 100.0), (2, 200.0), (3, 50.0)]);
    let said = Cells::new(vec![(1, 110.0), (2, 180.0), (9, 40.0)]);
    assert_eq!(truth.error(&said), Some((10.0 + 20.0 + 50.0 + 40.0) / 350.0));
    assert_eq!(truth.median_error(&said, 100.0), Some(0.1));
    assert_eq!(truth.dropped(&said, 50.0), Some(1.0 / 3.0));
    assert_eq!(truth.spurious(&said), Some(1.0 / 3.0));
    let (left, right) = (Cells::new(vec![(1, 1.0)]), Cells::new(vec![(2, 5.0)]));
    assert_eq!((left.divergence(&right), left.divergence(&left)), (Some(1.0), Some(0.0)));
    assert_eq!(truth.largest(2), [2, 1]);
}

/// Table 1 of lk-flowgraph-2014.
const TABLE_1: [&str; 13] = [
    "a1 b2 c3 e5 f6 c9",
    "e5 f6 e7 c9",
    "e5 e7",
    "c3 e7 d8",
    "b2 c3 d4 f6 d8",
    "c1 b2 f6",
    "a1 b2 e5 f6 e7",
    "f6 c9",
    "e5 e7 c9",
    "b2 f6 e7 d8",
    "a1 c3 f6 e7",
    "c1 b2 f6",
    "b2 c3 e5 f6",
];

/// b2 and f6 have the measures that the paper states.
#[test]
fn the_flowgraph_of_the_paper_has_its_measures() {
    let judge = Judge::new(&sealed(&paths(&TABLE_1)), terms(1));
    let graph = Flowgraph::of(&judge.journeys);
    let code = |station: u64, slot: u64| station * judge.shape.slots + slot;
    assert_eq!(graph.measures(code(1, 2)), [3.0, 5.0, 6.0, 7.0]);
    assert_eq!(graph.measures(code(5, 6)), [9.0, 7.0, 9.0, 10.0]);
}

/// Stations are a degree of latitude apart: 111.195 km.
#[test]
fn the_distance_to_the_nearest_trip_by_hand() {
    let judge = Judge::new(&sealed(&paths(&["a1 b2"])), terms(1));
    let score = judge.release(&said(rows(&paths(&["a1 c2", "a1 e2", "a1"]), 1)));
    assert_eq!(score.get("rmse.km"), Some(55.5975));
    assert_eq!(score.get("rmse.matched"), Some(1.0));
    let score = judge.release(&said(rows(&paths(&["a1 c2 d3"]), 1)));
    assert_eq!((score.get("rmse.km"), score.get("rmse.matched")), (None, Some(0.0)));
}

/// Two cards that enter twice before they leave, and enter once more.
#[test]
fn legs_go_from_entry_to_exit_where_taps_say_so() {
    use crate::model::TapKind::{Entry, Exit};
    let day = sealed(&[]).window().clone();
    let secret = crate::secret::Secret::from_bytes(&[7; 32]).unwrap();
    let hasher = secret.card_key(day.id());
    let mut open = crate::window::OpenWindows::default();
    let taps = [(0, 10, Entry), (1, 20, Entry), (2, 40, Exit), (3, 50, Entry)];
    for (station, minute, kind) in taps {
        for card in [1, 2] {
            let card = crate::passenger::CardKey::new(&hasher, &[card]);
            let (offset, station) = (minute * 60_000, StationIx(station));
            let tap = crate::passenger::Tap::new(day.id(), card, offset, station);
            open.add(tap.of_kind(Some(kind)));
        }
    }
    let stamps = open.take(day.id());
    let window = SealedWindow::freeze(day, stamps, None, &secret);
    let judge = Judge::new(&window, Terms { legs: Legs::Kinds, ..terms(1) });
    let exact = judge.exact_tables();
    let legs: Vec<(u32, u32, u64)> =
        exact.od.iter().map(|leg| (leg.origin.0, leg.dest.0, leg.trips.value)).collect();
    assert_eq!(legs, [(1, 2, 2)]);
    let path = taps.map(|(station, slot, _)| Doublet { station: StationIx(station), slot });
    let score = judge.release(&Said { tables: Some(exact), ..said(rows(&[path.to_vec()], 2)) });
    assert_eq!((score.get("od.error"), score.get("coverage.od")), (Some(0.0), Some(1.0)));
    // Plain tables count the same legs: with so much budget they are nearly right.
    let plain = judge.histogram(MicroEpsilon::new(1_000_000_000), NonZeroU64::new(3).unwrap());
    assert!(plain.get("od.error").unwrap() < 0.1, "{plain:?}");
}

/// A week of hours from a Monday on; each number is how many cards tap on that day at eight.
fn week(cards_by_day: [u32; 7]) -> (SealedWindow, Vec<Row>) {
    let calendar =
        crate::model::Calendar::new(jiff::tz::TimeZone::UTC, 7 * 86_400, 0, 3_600).unwrap();
    let window = calendar.window(crate::model::WindowId::new(20)).unwrap();
    let secret = crate::secret::Secret::from_bytes(&[7; 32]).unwrap();
    let hasher = secret.card_key(window.id());
    let mut open = crate::window::OpenWindows::default();
    let mut rows = Vec::new();
    for (day, n) in (0_u32..).zip(cards_by_day) {
        for number in 0..n {
            let card = crate::passenger::CardKey::new(&hasher, &[day as u8, number as u8]);
            let offset = (day * 24 + 8) * 3_600_000;
            open.add(crate::passenger::Tap::new(window.id(), card, offset, StationIx(0)));
        }
        let path = vec![Doublet { station: StationIx(0), slot: day * 24 + 8 }];
        if n > 0 {
            rows.push(Row { path, count: n.into() });
        }
    }
    let stamps = open.take(window.id());
    (SealedWindow::freeze(window, stamps, None, &secret), rows)
}

#[test]
fn weekdays_are_told_from_weekends() {
    let (sealed, _) = week([4, 4, 4, 4, 4, 2, 2]);
    let judge = Judge::new(&sealed, terms(1));
    // Truly a weekday has twice as many as a day of the weekend; said are as many.
    let (_, flat) = week([3; 7]);
    let score = judge.release(&said(flat));
    assert_eq!(score.get("planner.weekdays"), Some(0.5));
    assert_eq!(score.get("planner.busiest"), Some(1.0), "one hour of the day, one station");
    let (_, late) = week([0, 0, 0, 0, 0, 1, 1]);
    assert_eq!(judge.release(&said(late)).get("planner.weekdays"), Some(1.0));
}

/// Holds J-2.
#[test]
fn what_has_no_times_is_not_asked_for_times() {
    let judge = judge();
    let untimed: Vec<Vec<Doublet>> = paths(&CITY)
        .iter()
        .map(|path| path.iter().map(|at| Doublet { slot: 0, ..*at }).collect())
        .collect();
    let score = judge.release(&Said { kind: PathKind::Untimed, ..said(rows(&untimed, 1)) });
    for id in ["stations_by_slot.error", "od.error", "flowgraph.phi", "queries.doublets.drawn.1"] {
        assert_eq!(score.get(id), None, "{id}");
    }
    for id in ["stations.error", "lengths.error", "queries.sets.drawn.2", "patterns.support"] {
        assert_eq!(score.get(id), Some(0.0), "{id}");
    }
}

#[test]
fn published_tables_count_and_not_what_trips_add_up_to() {
    let judge = judge();
    let mut tables = judge.exact_tables();
    tables.stations.iter_mut().for_each(|cell| {
        cell.taps.value += 1;
        cell.taps.low += 1;
        cell.taps.high += 1;
    });
    tables.od.clear();
    let score = judge.release(&Said { tables: Some(tables), ..said(rows(&paths(&CITY), 1)) });
    assert_eq!(score.get("coverage.stations"), Some(0.0));
    assert_eq!(score.get("coverage.od"), None);
    assert!(score.get("stations_by_slot.error").unwrap() > 0.5);
    assert_eq!(score.get("od.error"), None, "without od.csv nothing is said about flows");
    assert_eq!(score.get("queries.doublets.drawn.1"), Some(0.0), "queries ask the trips");
}

/// Holds J-3.
#[test]
fn the_same_seed_gives_the_same_figures_whatever_the_threads() {
    let score = |threads: usize, seed: u64| {
        crate::engine::fixture::with_threads(threads, || {
            let judge = Judge::new(&sealed(&paths(&CITY)), terms(seed));
            let three = NonZeroU64::new(3).unwrap();
            (judge.histogram(MicroEpsilon::new(1_000_000), three), judge.saved_queries())
        })
    };
    let (one, two, other) = (score(1, 5), score(3, 5), score(1, 6));
    assert_eq!(one, two);
    assert_ne!(one.1, other.1);
}

#[test]
fn plain_tables_of_much_budget_are_nearly_right_and_say_nothing_about_trips() {
    let judge = judge();
    let score = judge.histogram(MicroEpsilon::new(1_000_000_000), NonZeroU64::new(3).unwrap());
    assert!(score.get("od.error").unwrap() < 0.02, "{score:?}");
    assert!(score.get("lengths.error").unwrap() < 0.01, "{score:?}");
    assert!(score.get("queries.doublets.drawn.1").unwrap() < 0.01);
    assert_eq!(score.get("queries.doublets.drawn.2"), None);
    assert_eq!(score.get("flowgraph.phi"), None);
}

/// Holds J-1.
#[test]
fn a_judge_shows_nothing_of_a_passenger() {
    let judge = judge();
    assert_eq!(format!("{judge:?}"), format!("Judge({})", judge.window()));
    assert_eq!(format!("{:?}", judge.journeys), "Journeys(***)");
}

#[test]
fn an_empty_window_has_figures_for_nothing_and_breaks_nothing() {
    let judge = Judge::new(&sealed(&[]), terms(1));
    assert_eq!(judge.n_cards(), 0);
    let score = judge.release(&said(rows(&paths(&["a1 b2"]), 3)));
    assert_eq!(score.get("stations_by_slot.error"), None);
    assert_eq!(score.get("stations_by_slot.spurious"), Some(1.0));
    judge.histogram(MicroEpsilon::new(1_000_000), NonZeroU64::new(1).unwrap());
}

fn trips() -> impl Strategy<Value = Vec<Vec<Doublet>>> {
    let doublet = (0_u32..6, 0_u32..30);
    let trip = proptest::collection::vec(doublet, 1..6).prop_map(|mut taps| {
        taps.sort_by_key(|tap| tap.1);
        taps.iter().map(|tap| Doublet { station: StationIx(tap.0), slot: tap.1 * 40 }).collect()
    });
    proptest::collection::vec(trip, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Every figure that can be computed in another way is.
    #[test]
    fn a_plain_way_gives_the_same_figures(raw in trips(), made in trips(), seed in 0_u64..1000) {
        let judge = Judge::new(&sealed(&raw), terms(seed));
        // The sealed window may order taps of one slot by station: take what was judged.
        let raw: Vec<Vec<Doublet>> = sealed(&raw).trajectories().iter().map(|t| t.1.to_vec()).collect();
        let score = judge.release(&said(rows(&made, 1)));
        let ids: BTreeSet<&str> = judge.metrics().iter().map(|metric| metric.id.as_str()).collect();
        for (id, value) in score.iter() {
            prop_assert!(ids.contains(id), "{id} is no metric");
            if let Some(plain) = naive::figure(id, &judge, &raw, &made) {
                prop_assert!((plain - value).abs() < 2e-6, "{id}: {value}, but plainly {plain}");
            }
        }
        for id in naive::FIGURES {
            prop_assert!(score.get(id).is_some(), "{id}");
        }
    }

    #[test]
    fn the_most_frequent_patterns_are_those_of_an_exhaustive_search(raw in trips(), k in 1_usize..30) {
        let judge = Judge::new(&sealed(&raw), terms(1));
        let found = patterns::top(&judge.journeys.places(judge.shape), k);
        let found: Vec<(Vec<u64>, u64)> =
            found.into_iter().map(|pattern| (pattern.stations, pattern.support)).collect();
        prop_assert_eq!(found, naive::patterns(&raw, k));
    }
}
