use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::engine::Engine;
use crate::engine::noise::ZeroNoise;
use crate::engine::tree::fixture::{
    Path, brute_force, params, release, sealed, silent_rows, window,
};
use crate::engine::tree::{Growth, Level, Shape, Threshold, grow};
use crate::model::{Station, Stations};

fn settings(n_stations: u32, input: PathKind, groups: Option<Groups>) -> Settings {
    let inference = Inference::WithoutGroups;
    Settings { params: params(n_stations), input, groups, inference }
}

fn threes(height: u32) -> Groups {
    Groups { places: Places::Balanced(Shape { fanout: 3, height }), fanout: 3 }
}

fn lines(fanout: u32) -> Groups {
    Groups { places: Places::Lines, fanout }
}

fn with_threshold(threshold: u64, settings: Settings) -> Hybrid {
    let threshold = Threshold::Fixed(threshold);
    Hybrid::new(Settings { params: TreeParams { threshold, ..settings.params }, ..settings })
        .unwrap()
}

/// Table 1 of the paper: eight paths over L1 … L4, here 0 … 3.
fn table_1() -> Vec<Vec<u32>> {
    vec![
        vec![0, 1, 2],
        vec![0, 1],
        vec![2, 1, 0],
        vec![0, 1, 3],
        vec![0, 1, 2],
        vec![2, 1],
        vec![0, 1, 3, 0],
        vec![2, 0],
    ]
}

/// Sequences as the fixture seals them: all in one hour, which the engine does not see.
fn sequences(paths: &[Vec<u32>]) -> Vec<Path> {
    paths.iter().map(|path| path.iter().map(|&station| (station, 7)).collect()).collect()
}

/// Its example generalises L1, L2 to one group and L3, L4 to another.
fn two_groups() -> Arc<Stations> {
    let station = |i: u32| Station {
        id: format!("L{}", i + 1),
        line: if i < 2 { "L{1,2}" } else { "L{3,4}" }.to_owned(),
        ..Station::default()
    };
    Arc::new(Stations::new((0..4).map(station).collect()).unwrap())
}

/// Figure 1 of the paper, node by node: every prefix with the number of paths that begin with it.
#[test]
fn table_1_of_the_paper_gives_the_tree_of_its_figure_1_when_noise_is_off() {
    let figure_1: &[(&[u32], u64)] = &[
        (&[0], 5),
        (&[2], 3),
        (&[0, 1], 5),
        (&[2, 0], 1),
        (&[2, 1], 2),
        (&[0, 1, 2], 2),
        (&[0, 1, 3], 2),
        (&[2, 1, 0], 1),
        (&[0, 1, 3, 0], 1),
    ];
    let window = sealed(&sequences(&table_1()));
    for groups in [None, Some(lines(3))] {
        let threshold = Threshold::Fixed(1);
        let params = TreeParams { stations: two_groups(), threshold, ..params(4) };
        let engine =
            Hybrid::new(Settings { params, ..settings(4, PathKind::Untimed, groups) }).unwrap();
        let level = engine.level(24).unwrap();
        let TreeParams { height, max_nodes, .. } = engine.settings.params;
        let growth = Growth { height: height.get(), max_nodes };
        let levels = grow(window.trajectories(), &level, growth, &ZeroNoise).levels;
        let mut tree = Vec::new();
        for (depth, level) in levels.iter().enumerate() {
            for node in level {
                let (mut path, mut at) = (vec![node.doublet.station.0], node.parent as usize);
                for above in levels[..depth].iter().rev() {
                    path.insert(0, above[at].doublet.station.0);
                    at = above[at].parent as usize;
                }
                tree.push((path, node.noisy));
            }
        }
        let expected: Vec<_> = figure_1.iter().map(|(path, n)| (path.to_vec(), *n)).collect();
        assert_eq!(tree, expected);
        let mut paths: BTreeMap<Path, u64> = BTreeMap::new();
        for path in table_1() {
            *paths.entry(path.into_iter().map(|station| (station, 0)).collect()).or_default() += 1;
        }
        assert_eq!(silent_rows(&engine, &window), paths, "and the release is the table");
    }
}

proptest! {
    /// Without noise every form of the engine is a prefix tree cut at the threshold.
    #[test]
    fn without_noise_hybrid_and_simple_equal_brute_force(
        paths in prop::collection::vec(prop::collection::vec((0_u32..20, 0_u32..24), 1..5), 0..60),
        threshold in 1_u64..4,
        input in prop::sample::select(vec![PathKind::Timed, PathKind::Untimed]),
        groups in prop::sample::select(vec![None, Some(threes(1)), Some(threes(2)), Some(lines(4))]),
    ) {
        let paths: Vec<Path> = paths.into_iter().map(|mut path| { path.sort_by_key(|p| p.1); path }).collect();
        let engine = with_threshold(threshold, settings(20, input, groups));
        let seen: Vec<Path> = match input {
            PathKind::Timed => paths.clone(),
            PathKind::Untimed => paths.iter().map(|p| p.iter().map(|&(s, _)| (s, 0)).collect()).collect(),
        };
        prop_assert_eq!(silent_rows(&engine, &sealed(&paths)), brute_force(&seen, threshold, 4));
    }
}

#[test]
fn a_fan_out_that_leaves_nothing_for_stations_is_refused() {
    for fanout in 0..=2 {
        let groups = Groups { places: Places::Lines, fanout };
        let refused = Hybrid::new(settings(20, PathKind::Untimed, Some(groups))).unwrap_err();
        assert_eq!(refused, [BudgetError::Fanout { key: KEY, fanout }]);
    }
}

/// Two general sub-levels share 2/f of a level equally, and a station without a line has a whole level.
#[test]
fn groups_take_two_parts_in_f_of_a_level() {
    let shares = |groups| {
        let engine = Hybrid::new(settings(70, PathKind::Untimed, Some(groups))).unwrap();
        let shares = engine.level(24).unwrap().shares();
        shares.iter().map(|share| share.fact()).map(|f| (f.class, f.share)).collect::<Vec<_>>()
    };
    let row = |class: &str, share: &str| (class.to_owned(), share.to_owned());
    assert_eq!(
        shares(threes(2)),
        [
            row("locations: groups of depth 1", "1/12"),
            row("locations: groups of depth 2", "1/12"),
            row("locations: leaves in groups of depth 2", "1/12"),
        ]
    );
    assert_eq!(
        shares(lines(8)),
        [
            row("locations: leaves without a group", "1/4"),
            row("locations: groups of depth 1", "1/16"),
            row("locations: leaves in groups of depth 1", "3/16"),
        ]
    );
}

/// The figures of the design: false children per empty node.
#[test]
fn growth_of_hybrid_and_simple_is_as_computed_by_hand() {
    let growth = |n, input, groups, n_slots| {
        let engine = Hybrid::new(settings(n, input, groups)).unwrap();
        engine
            .forecast(n_slots, crate::engine::USUAL_CARDS)
            .expected_error
            .unwrap()
            .get("false_paths_per_empty_path")
            .unwrap()
    };
    let simple = growth(944, PathKind::Untimed, None, 168);
    assert!((26.0..30.0).contains(&simple), "{simple}");
    let groups = Groups { places: Places::Balanced(Shape { fanout: 30, height: 1 }), fanout: 30 };
    let doublets = growth(893, PathKind::Timed, Some(groups.clone()), 168);
    assert!((6.5..9.5).contains(&doublets), "{doublets}");
    let sequences = growth(944, PathKind::Untimed, Some(groups), 168);
    assert!(sequences < 0.1, "{sequences}");
}

/// Holds T-3. A path that noise bent the wrong way is bent back: the mean of those that violate, as Theorem 4.3 says.
#[test]
fn the_first_phase_pools_neighbours_that_increase_downwards() {
    use crate::engine::tree::{Consistency, Node, rows};
    use crate::model::{Doublet, StationIx};
    let node = |parent, station, noisy| Node {
        parent,
        doublet: Doublet { station: StationIx(station), slot: 0 },
        noisy,
        group: None,
    };
    // One path with 10 above 14: both are 12. A second child of 4 sees 10 and 4, so the parent's mean is 11.
    let levels = vec![vec![node(0, 0, 10)], vec![node(0, 1, 14), node(0, 2, 4)]];
    let released: Vec<(usize, u64)> = rows(&levels, Consistency::TwoPhase)
        .iter()
        .map(|row| (row.path.len(), row.count))
        .collect();
    // 12 and 4 under 11 are lowered by 5/2 each: 9.5 and 1.5, whole numbers by path order 10 and 1.
    assert_eq!(released, [(2, 10), (2, 1)]);
    let one_path = vec![vec![node(0, 0, 10)], vec![node(0, 1, 14)], vec![node(0, 1, 3)]];
    let released: Vec<(usize, u64)> = rows(&one_path, Consistency::TwoPhase)
        .iter()
        .map(|row| (row.path.len(), row.count))
        .collect();
    assert_eq!(released, [(2, 9), (3, 3)], "12, 12, 3: nobody stops at the first");
}

#[test]
fn sequences_come_out_with_slot_zero_and_say_so() {
    let paths: Vec<Path> = (0..4_000).map(|i| vec![(i % 4, 8), (3, 9)]).collect();
    let engine = Hybrid::new(settings(20, PathKind::Untimed, Some(threes(1)))).unwrap();
    let released = release(&engine, &sealed(&paths), 1);
    assert_eq!(released.input(), PathKind::Untimed);
    assert!(released.rows().len() >= 4, "{:?}", released.rows());
    assert!(released.rows().iter().all(|row| row.path.iter().all(|d| d.slot == 0)));
    assert_eq!(released.engine().name, "hybrid");
    assert_eq!(window().n_slots(), released.universe().slots);
}

/// A deep tree over short trips costs its price and shows what there is.
#[test]
fn a_height_beyond_the_longest_trip_is_no_trouble() {
    let crowd: Vec<Path> = vec![vec![(0, 5), (1, 6)]; 30_000];
    let height = NonZeroU32::new(12).unwrap();
    for groups in [None, Some(threes(1))] {
        let params = TreeParams { height, ..params(9) };
        let engine =
            Hybrid::new(Settings { params, ..settings(4, PathKind::Untimed, groups) }).unwrap();
        let released = release(&engine, &sealed(&crowd), 1);
        let long = released.rows().iter().find(|row| row.path.len() == 2).map_or(0, |r| r.count);
        assert!((28_000..32_000).contains(&long), "{long}");
    }
}
