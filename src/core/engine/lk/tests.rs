use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::mining::{mine, rare_doublets};
use super::*;
use crate::engine::fixture::{paths, sealed, unbooked};
use crate::engine::trips::contains;
use crate::model::{Doublet, ErrorKind, Portion};

mod brute;

/// Table 1 of the paper.
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

fn weights(parts: [&str; 4]) -> Weights {
    let [alpha, beta, gamma, delta] = parts.map(|part| Portion::parse(part).unwrap());
    Weights { alpha, beta, gamma, delta }
}

fn engine(l: u32, k: u32, score: Score) -> Lk {
    variant(l, k, score, Variant::Best)
}

fn variant(l: u32, k: u32, score: Score, variant: Variant) -> Lk {
    let text = "id\n".to_owned() + &('a'..='z').map(|id| format!("{id}\n")).collect::<String>();
    Lk::new(Settings {
        l: NonZeroU32::new(l).unwrap(),
        k: NonZeroU32::new(k).unwrap(),
        variant,
        score,
        weights: weights(["0.4", "0.2", "0.2", "0.2"]),
        max_work: 1_000_000,
        stations: Arc::new(Stations::from_csv(text.as_bytes()).unwrap()),
    })
    .unwrap()
}

/// The violating sequences the miner finds, written out.
fn mined(paths: &[Vec<Doublet>], l: u32, k: u32) -> BTreeSet<Vec<Doublet>> {
    let trips = Trips::from_paths(paths);
    let (rare, _) = rare_doublets(&trips, k);
    let single = rare.iter().map(|&item| vec![trips.doublet(item)]).collect::<Vec<_>>();
    let frequent = without_rare(trips, k);
    let Mined { violating, .. } = mine(&frequent, l, k, &mut Work::new(u64::MAX)).unwrap();
    let write = |sequence: &[u32]| sequence.iter().map(|&item| frequent.doublet(item)).collect();
    let longer = violating.sequences.iter().map(write);
    single.into_iter().chain(longer).collect()
}

/// What the engine leaves, path by path with counts, written out.
fn left(engine: &Lk, paths: &[Vec<Doublet>]) -> BTreeMap<Vec<Doublet>, u64> {
    let trips = engine.suppressed(Trips::from_paths(paths), &NoiseKey::for_test(1)).unwrap();
    let rows = trips.rows();
    engine.recheck(&rows).unwrap();
    rows.into_iter().map(|row| (row.path, row.count)).collect()
}

fn counted(paths: &[Vec<Doublet>]) -> BTreeMap<Vec<Doublet>, u64> {
    let mut counts = BTreeMap::new();
    for path in paths.iter().filter(|path| !path.is_empty()) {
        *counts.entry(path.clone()).or_default() += 1;
    }
    counts
}

#[test]
fn the_flowgraph_of_table_1_has_the_printed_measures() {
    let graph = Flowgraph::of_trips(&Trips::from_paths(&paths(&TABLE_1)));
    let at = |word: &str| paths(&[word])[0][0];
    let measures =
        |nodes, children, ways, trajectories| Measures { nodes, children, ways, trajectories };
    assert_eq!(graph.measures(at("b2")), measures(3, 5, 6, 7));
    assert_eq!(graph.measures(at("f6")), measures(9, 7, 9, 10));
    assert_eq!(graph.measures(at("z9")), Measures::default());
    let even = weights(["0.4", "0.2", "0.2", "0.2"]);
    assert_eq!(graph.measures(at("b2")).info_micro(&even), 4_800_000, "Info(b2) = 4.8");
    let way = |text: &str| paths(&[text]).remove(0);
    assert_eq!(graph.transition(&way("b2")), Some((3, 13)), "3 of 13 start at b2");
    assert_eq!(graph.transition(&way("b2 c3")), Some((2, 3)));
    assert_eq!(graph.transition(&way("z1 b2")), None, "nobody came that far");
    assert_eq!(graph.termination(&way("c1 b2 f6")), Some((2, 2)));
    assert_eq!(graph.termination(&way("e5 e7")), Some((1, 2)));
}

#[test]
fn table_1_has_the_printed_violations() {
    let found = mined(&paths(&TABLE_1), 2, 2);
    let printed = paths(&["d4", "a1 c9", "b2 c9", "c3 c9"]);
    assert_eq!(found, printed.into_iter().collect());
    assert_eq!(mined(&paths(&TABLE_1), 3, 2).len(), 17);
}

/// Table 2 without its misprint: row 8 had no e7 to keep.
#[test]
fn table_1_becomes_table_2() {
    let mut expected = TABLE_1;
    expected[0] = "a1 b2 c3 e5 f6";
    expected[4] = "b2 c3 f6 d8";
    let left = left(&engine(2, 2, Score::GainPerInfo), &paths(&TABLE_1));
    assert_eq!(left, counted(&paths(&expected)));
}

#[test]
fn a_suppression_that_the_papers_check_lets_through_is_not_valid() {
    let before = paths(&["a1 b2 b4", "a2 b3 a4", "a1 a2 b3 a4", "a1 b2 a4", "a1 b2 b3 b4"]);
    let violating = brute::violating(&before, 3, 2);
    let sequence = paths(&["a1 b3 a4"]).remove(0);
    assert!(violating.contains(&sequence));
    let item = sequence[0];
    let after = brute::suppressed(&before, &sequence, item);
    let fresh: BTreeSet<_> =
        brute::violating(&after, 3, 2).difference(&violating).cloned().collect();
    assert_eq!(fresh, paths(&["a1 b3", "a1 a4"]).into_iter().collect());
    assert!(!state::tests::is_valid(&before, 3, 2, &sequence, item));
}

#[test]
fn two_doublets_of_one_slot_come_in_both_orders_and_a_doublet_after_itself() {
    let twice = |path: &str| vec![path.to_owned(); 3];
    let mut all = [twice("a1 b1 c2"), twice("b1 c2 c2")].concat();
    all.push("b1 a1 c2".to_owned());
    all.push("a1 a1 c2".to_owned());
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let expected = paths(&["b1 a1", "a1 a1"]);
    assert_eq!(mined(&paths(&all), 2, 3), expected.into_iter().collect());
}

/// Holds X-2.
#[test]
fn a_trajectory_keeps_its_order_and_an_emptied_one_disappears() {
    let before = paths(&["c1 a1 b2", "c1 a1 b2", "z9"]);
    assert_eq!(left(&engine(2, 2, Score::GainPerInfo), &before), counted(&before[..2]));
    assert!(left(&engine(2, 4, Score::GainPerInfo), &before).is_empty(), "K above the window");
}

#[test]
fn whole_trajectories_are_shared_when_an_adversary_may_know_all_of_one() {
    for score in Score::ALL {
        let left = left(&engine(9, 3, score), &paths(&TABLE_1));
        assert!(!left.is_empty());
        let rows: Vec<Vec<Doublet>> = left
            .iter()
            .flat_map(|(path, count)| vec![path.clone(); usize::try_from(*count).unwrap()])
            .collect();
        for path in &rows {
            assert!(brute::support(&rows, path) >= 3, "{path:?}");
        }
    }
}

/// Fig. 3: with L no shorter than any trajectory 38 % of those that are left begin at b2.
#[test]
fn algorithm_3_as_printed_gives_the_share_of_figure_3() {
    for l in [6, 7, 200] {
        let left = left(&variant(l, 2, Score::GainPerInfo, Variant::Published), &paths(&TABLE_1));
        let b2 = paths(&["b2"])[0][0];
        let starting: u64 = left.iter().filter(|(path, _)| path[0] == b2).map(|(_, n)| n).sum();
        assert_eq!((starting, left.values().sum()), (5, 13), "L = {l}");
    }
}

/// A table of scores that is not asked again lets the second of two suppressions leave x1 → y2 in one record.
#[test]
fn a_score_that_was_right_at_the_start_is_asked_again() {
    let mut records = vec!["x1 y2 u3", "x1 y2 w4", "x1 y2", "y2 u3", "x1 w4"];
    records.extend(["u3"; 3]);
    records.extend(["w4"; 8]);
    let before = paths(&records);
    assert_eq!(before.len(), 16);
    for which in [Variant::Published, Variant::Best] {
        for score in Score::ALL {
            let left = left(&variant(2, 2, score, which), &before);
            assert!(!left.is_empty(), "and the promise was checked");
        }
    }
}

#[test]
fn a_window_that_takes_too_much_is_refused_before_it_is_booked() {
    let long: String = (0..60).map(|slot| format!("a{slot} ")).collect();
    let window = sealed(&paths(&[&long, &long, &long]));
    let mut settings = engine(3, 2, Score::GainPerInfo).settings;
    // All 1,770 pairs are frequent, and so would be 34,220 triples.
    settings.max_work = 30_000;
    let engine = Lk::new(settings.clone()).unwrap();
    let refused = engine.check_work(&window).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Config);
    let words = refused.to_string();
    assert!(
        words.contains("sequence of 3 doublets") && words.contains("max_work = 30000"),
        "{words}"
    );
    let permit = unbooked(&engine, &window);
    assert!(matches!(
        engine.sanitize(&window, permit, &NoiseKey::for_test(1)),
        Err(Error::Work { .. })
    ));
    settings.max_work = 40_000;
    Lk::new(settings).unwrap().check_work(&window).unwrap();
}

#[test]
fn a_result_that_breaks_the_promise_is_refused() {
    let engine = engine(2, 2, Score::GainPerInfo);
    let row = |text: &str, count| Row { path: paths(&[text]).remove(0), count };
    let broken = engine.recheck(&[row("a1 b2", 1), row("a1", 4), row("b2", 4)]).unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::Broken);
    assert!(broken.to_string().contains("shared by 1 trajectories"), "{broken}");
    engine.recheck(&[row("a1 b2", 2), row("a1", 4)]).unwrap();
}

#[test]
fn a_release_says_what_it_promises_and_what_it_does_not() {
    let window = sealed(&paths(&TABLE_1));
    let release = |l, k| {
        let engine = engine(l, k, Score::GainPerInfo);
        let permit = unbooked(&engine, &window);
        engine.sanitize(&window, permit, &NoiseKey::for_test(1)).unwrap()
    };
    let two = release(2, 2);
    assert!(matches!(two.guarantee(), Guarantee::Lk { l: 2, k: 2, dp: false, .. }));
    assert!(!two.cost().is_differential() && two.expected_error().is_none());
    assert!(matches!(release(2, 1).guarantee(), Guarantee::Nothing { dp: false, .. }));
    let empty = release(2, 14);
    assert!(empty.rows().is_empty());
    assert!(empty.post_processing().iter().any(|words| words.contains("empty")));
}

/// Holds Y-3.
#[test]
fn random_suppression_follows_the_key_alone() {
    let random = engine(3, 3, Score::Random);
    let run = |seed| {
        let trips = Trips::from_paths(&paths(&TABLE_1));
        random.suppressed(trips, &NoiseKey::for_test(seed)).unwrap().rows()
    };
    assert_eq!(run(1), run(1));
    assert!((2..40).any(|seed| run(seed) != run(1)), "another key gives another order");
}

/// Holds Y-2.
/// When no steps are left for checking, what is known to be valid is done: everything goes everywhere.
#[test]
fn without_steps_left_suppression_is_global_and_the_promise_holds() {
    let before = paths(&TABLE_1);
    let trips = without_rare(Trips::from_paths(&before), 2);
    let graph = Flowgraph::of_trips(&trips);
    let weights = weights(["0.4", "0.2", "0.2", "0.2"]);
    let ranking = Ranking::new(Score::Gain, graph.all_measures(), &weights, &NoiseKey::for_test(1));
    for run in [published::run, best::run] {
        let mut trips = trips.clone();
        let mined = mine(&trips, 3, 2, &mut Work::new(u64::MAX)).unwrap();
        run(State::new(&mut trips, mined, 3, 2, Work::new(0)), &ranking);
        engine(3, 2, Score::Gain).recheck(&trips.rows()).unwrap();
        assert!(!trips.rows().is_empty());
    }
}

/// A small city: few places and slots, so that ties and repetitions are common.
fn small_city() -> impl Strategy<Value = Vec<Vec<Doublet>>> {
    let doublet = (0..4_u32, 0..4_u32)
        .prop_map(|(station, slot)| Doublet { station: crate::model::StationIx(station), slot });
    let path = prop::collection::vec(doublet, 1..6).prop_map(|mut path| {
        path.sort_by_key(|doublet| doublet.slot);
        path
    });
    prop::collection::vec(path, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Holds X-1.
    #[test]
    fn the_miner_finds_exactly_the_minimal_violating_sequences(
        paths in small_city(), l in 1..5_u32, k in 1..5_u32,
    ) {
        prop_assert_eq!(mined(&paths, l, k), brute::minimal(&brute::violating(&paths, l, k)));
    }

    #[test]
    fn a_local_suppression_is_valid_exactly_if_it_makes_nothing_violate_anew(
        paths in small_city(), l in 1..5_u32, k in 2..5_u32,
    ) {
        // Single doublets that violate are gone before anything is checked.
        let rare = brute::minimal(&brute::violating(&paths, 1, k));
        let paths: Vec<Vec<Doublet>> = paths
            .into_iter()
            .map(|path| path.into_iter().filter(|item| !rare.contains(&vec![*item])).collect())
            .collect();
        let before = brute::violating(&paths, l, k);
        for sequence in brute::minimal(&before) {
            for &item in &sequence {
                let after = brute::violating(&brute::suppressed(&paths, &sequence, item), l, k);
                let is_valid = after.is_subset(&before);
                prop_assert_eq!(state::tests::is_valid(&paths, l, k, &sequence, item), is_valid);
            }
        }
    }

    #[test]
    fn whatever_comes_in_what_leaves_keeps_the_promise_and_is_part_of_it(
        paths in small_city(), l in 1..7_u32, k in 1..6_u32, score in 0..4_usize, is_best: bool,
    ) {
        let which = if is_best { Variant::Best } else { Variant::Published };
        let engine = variant(l, k, Score::ALL[score], which);
        let once = left(&engine, &paths);
        let rows: Vec<Vec<Doublet>> = once
            .iter()
            .flat_map(|(path, count)| vec![path.clone(); usize::try_from(*count).unwrap()])
            .collect();
        prop_assert!(brute::violating(&rows, l, k).is_empty());
        prop_assert!(rows.len() <= paths.len());
        prop_assert!(rows.iter().all(|row| paths.iter().any(|path| brute::contains(path, row))));
        let mut shuffled = paths.clone();
        shuffled.reverse();
        prop_assert_eq!(left(&engine, &shuffled), once, "the order of cards means nothing");
        if k == 1 {
            prop_assert_eq!(counted(&paths), counted(&rows));
        }
    }

    #[test]
    fn a_path_contains_what_brute_force_says(
        path in prop::collection::vec(0..3_u32, 0..8), sequence in prop::collection::vec(0..3_u32, 0..4),
    ) {
        let mut at = 0;
        let expected = sequence.iter().all(|item| {
            let found = path[at..].iter().position(|there| there == item);
            at += found.map_or(0, |place| place + 1);
            found.is_some()
        });
        prop_assert_eq!(contains(&path, &sequence), expected);
    }
}
