use std::num::NonZeroUsize;

use num_rational::Ratio;
use proptest::prelude::*;

use super::*;
use crate::engine::fixture::{paths, sealed, unbooked};
use crate::engine::noise::{NodeClass, Noise, Occupied, TableClass};
use crate::engine::tree::Node;
use crate::model::{Doublet, StationIx};

/// Counts as they are, plus so many.
struct Told(u64);

struct ToldNode(u64);

impl AnyNoise for Told {
    fn any_node(&self, level: u32, _: u64) -> Box<dyn Noise + '_> {
        Box::new(ToldNode(if level == 0 { self.0 } else { 0 }))
    }

    fn any_table(&self, _: u32, _: TableClass, _: &mut [i64], _: NonZeroUsize) {}
}

impl Noise for ToldNode {
    fn ask(
        &mut self,
        class: &NodeClass,
        _: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        for one in occupied.iter().filter(|one| one.count + self.0 >= class.threshold()) {
            kept(one.index, one.count + self.0);
        }
    }
}

/// Table I of the paper: cluster numbers at four timestamps.
const TABLE_1: [[u32; 4]; 9] = [
    [1, 2, 2, 3],
    [2, 1, 3, 2],
    [2, 2, 1, 1],
    [1, 1, 2, 2],
    [3, 2, 4, 3],
    [2, 1, 3, 3],
    [3, 2, 2, 2],
    [1, 1, 1, 1],
    [2, 2, 4, 1],
];

fn table_1() -> Vec<Vec<u32>> {
    TABLE_1.iter().map(|path| path.to_vec()).collect()
}

fn settings(height: u32, variant: Variant) -> Settings {
    // Three places about a kilometre apart, two stations at each.
    let rows: String = ('a'..='f')
        .zip(0..)
        .map(|(id, n)| format!("{id},45.{:02}0{},-73.5\n", n / 2, n % 2))
        .collect();
    Settings {
        epsilon: MicroEpsilon::new(1_000_000),
        variant,
        height: NonZeroU32::new(height).unwrap(),
        radius: NonZeroU32::new(300).unwrap(),
        least: 2,
        clusters: Portion::parse("0.2").unwrap(),
        moves: Portion::parse("0.2").unwrap(),
        threshold: Some(1),
        max_nodes: 1_000,
        max_length: NonZeroU32::new(12).unwrap(),
        stations: Arc::new(Stations::from_csv(format!("id,lat,lon\n{rows}").as_bytes()).unwrap()),
    }
}

#[test]
fn table_2_has_the_printed_probabilities() {
    let found = published::ratios(&table_1());
    let at = |layer, from, to| found.get(&(layer, from, to)).copied().unwrap_or(Ratio::from(0));
    let half = Ratio::new(1, 2);
    let first =
        [[Ratio::new(2, 3), half, Ratio::from(0)], [Ratio::new(1, 3), half, Ratio::from(1)]];
    for (to, row) in (1..).zip(first) {
        for (from, printed) in (1..).zip(row) {
            assert_eq!(at(0, from, to), printed, "P(2,{to} | 1,{from})");
        }
    }
    let (none, third) = (Ratio::from(0), Ratio::new(1, 3));
    let second = [
        [Ratio::from(1), none, none, half],
        [none, Ratio::new(2, 3), half, none],
        [none, third, half, half],
    ];
    for (to, row) in (1..).zip(second) {
        for (from, printed) in (1..).zip(row) {
            assert_eq!(at(2, from, to), printed, "P(4,{to} | 3,{from})");
        }
    }
    assert!(!found.contains_key(&(1, 2, 2)), "even layers have none");
}

/// Fig. 2: three cards begin in the first cluster; noise makes four of them, of which 4 · 2/3 ≈ 3 go to the first
/// cluster and 4 · 1/3 ≈ 1 to the second.
#[test]
fn the_tree_of_table_1_has_the_counts_of_figure_2() {
    let paths = table_1();
    let of = published::ratios(&paths);
    let levels = published::tree(&paths, 4, &of, &settings(4, Variant::Published), &Told(1));
    let named = |level: &[Node]| -> Vec<(u32, u64)> {
        level.iter().map(|node| (node.doublet.station.0, node.noisy)).collect()
    };
    assert_eq!(named(&levels[0]), [(1, 4), (2, 5), (3, 3)]);
    let below_first: Vec<(u32, u64)> = levels[1]
        .iter()
        .filter(|node| node.parent == 0)
        .map(|node| (node.doublet.station.0, node.noisy))
        .collect();
    assert_eq!(below_first, [(1, 3), (2, 1)]);
    assert_eq!(levels.len(), 4);
    // 1 → 2 → 2 was one card; by Table II two thirds of it go to 2 and a third to 3, but only 3 occurs.
    let third: usize = levels[2]
        .iter()
        .position(|node| levels[1][node.parent as usize].doublet.station.0 == 2)
        .unwrap();
    assert_eq!(levels[2][third].noisy, 1);
}

#[test]
fn what_is_asked_about_a_card_costs_exactly_epsilon() {
    for height in 1..=9 {
        let engine = Dptd::new(settings(height, Variant::Sound)).unwrap();
        assert_eq!(engine.terms.cost(height), Ratio::from(1), "height {height}");
    }
}

/// Without noise the sound variant shows every path over its clusters.
#[test]
fn without_noise_paths_are_shown_over_clusters() {
    let before = paths(&["a1 c2 e3", "b1 d2 e3", "a1 c2", "a1 c2 e3"]);
    let engine = Dptd::new(settings(3, Variant::Sound)).unwrap();
    let recorded = engine.recorded(&sealed(&before), &Told(0)).unwrap().unwrap();
    let shown: Vec<(usize, u64)> =
        recorded.rows.iter().map(|row| (row.path.len(), row.count)).collect();
    let passengers: u64 = shown.iter().map(|(_, count)| count).sum();
    assert_eq!(passengers, 4, "{shown:?}");
    assert!(
        recorded.rows.iter().all(|row| row.path[0].station == StationIx(0)),
        "a stands for a and b"
    );
    assert!(shown.contains(&(3, 3)) && shown.contains(&(2, 1)), "{shown:?}");
}

#[test]
fn stations_without_coordinates_are_a_complaint_that_names_them() {
    let mut without = settings(3, Variant::Sound);
    without.stations = Arc::new(Stations::from_csv(b"id,lat,lon\na,45,-73\nb,,\n").unwrap());
    let complaints = Dptd::new(without).unwrap_err();
    assert_eq!(complaints[0].0, "name");
    assert!(complaints[0].1.contains("1 of 2 have none: b"), "{complaints:?}");
    let mut greedy = settings(3, Variant::Sound);
    greedy.moves = Portion::parse("0.8").unwrap();
    assert_eq!(Dptd::new(greedy).unwrap_err()[0].0, "shares");
}

#[test]
fn a_release_says_which_variant_it_is_and_what_that_promises() {
    let window = sealed(&paths(&["a1 c2 e3", "a1 c2 e3", "b1 d2"]));
    let release = |variant| {
        let engine = Dptd::new(settings(3, variant)).unwrap();
        let permit = unbooked(&engine, &window);
        engine.sanitize(&window, permit, &NoiseKey::for_test(1)).unwrap()
    };
    let sound = release(Variant::Sound);
    assert!(matches!(sound.guarantee(), Guarantee::Differential { .. }));
    assert!(sound.cost().is_differential());
    let shares: Vec<&str> = sound.shares().iter().map(|share| share.share.as_str()).collect();
    assert_eq!(shares, ["1/5", "1/5", "3/5"]);
    let published = release(Variant::Published);
    let Guarantee::Nothing { why, .. } = published.guarantee() else {
        panic!("{:?}", published.guarantee())
    };
    assert!(why.contains("raw taps"), "{why}");
    assert!(!published.cost().is_differential() && published.expected_error().is_none());
}

#[test]
fn the_published_tree_tells_neighbours_apart_by_its_structure() {
    let engine = Dptd::new(Settings { least: 1, ..settings(2, Variant::Published) }).unwrap();
    let all = paths(&["a1 c2", "a1 c2", "a1 e2"]);
    let shown = |cards: &[Vec<Doublet>]| {
        let recorded = engine.recorded(&sealed(cards), &Told(5)).unwrap().unwrap();
        recorded.rows.iter().flat_map(|row| row.path.clone()).any(|at| at.station == StationIx(4))
    };
    assert!(shown(&all) && !shown(&all[..2]), "the third card alone was at e");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Empty windows, one place, one cluster, none: a release comes out, the same each time.
    #[test]
    fn whatever_comes_in_a_release_comes_out_and_comes_again(
        cards in prop::collection::vec(prop::collection::vec((0..6_u32, 0..4_u32), 1..5), 0..30),
        height in 1..5_u32, least in prop::sample::select(vec![1_u64, 5, 1_000_000]), is_published: bool,
        key in 0..9_u64,
    ) {
        let cards: Vec<Vec<Doublet>> = cards
            .into_iter()
            .map(|card| {
                let mut card: Vec<Doublet> =
                    card.into_iter().map(|(at, slot)| Doublet { station: StationIx(at), slot }).collect();
                card.sort_by_key(|doublet| doublet.slot);
                card
            })
            .collect();
        let variant = if is_published { Variant::Published } else { Variant::Sound };
        let engine = Dptd::new(Settings { least, threshold: None, ..settings(height, variant) }).unwrap();
        let window = sealed(&cards);
        let run = || engine.draft(&window, &NoiseKey::for_test(key)).unwrap().rows;
        let rows = run();
        prop_assert_eq!(&rows, &run());
        prop_assert!(rows.iter().all(|row| row.count > 0 && row.path.len() <= height as usize));
        prop_assert!(rows.iter().all(|row| row.path.is_sorted_by_key(|doublet| doublet.slot)));
    }
}
