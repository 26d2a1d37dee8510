use std::collections::BTreeMap;

use num_rational::Ratio;
use proptest::prelude::*;

use super::*;
use crate::engine::noise::Silence;
use crate::ledger::Request;
use crate::model::{Calendar, Child, Station};
use crate::passenger::{CardKey, Stamp};
use crate::secret::Secret;

fn stations(n: u32) -> Arc<Stations> {
    let list = (0..n).map(|i| Station {
        id: format!("s{i:04}"),
        // Every seventh station has no line: the taxonomy by lines is uneven.
        line: if i % 7 == 6 { String::new() } else { format!("line {}", i % 5) },
        ..Station::default()
    });
    Arc::new(Stations::new(list.collect()).unwrap())
}

fn settings(n_stations: u32) -> Settings {
    let two_by_three = Shape { fanout: 2, height: 3 };
    Settings {
        epsilon: MicroEpsilon::new(1_000_000),
        height: NonZeroU32::new(4).unwrap(),
        threshold: Threshold::OwnNoise,
        allocation: Allocation::Paper,
        max_nodes: 1 << 20,
        max_length: NonZeroU32::new(12).unwrap(),
        stations: stations(n_stations),
        places: Places::Balanced(two_by_three),
        times: Times::Balanced(two_by_three),
        threads: NonZeroUsize::new(2).unwrap(),
    }
}

/// One UTC day of hourly slots.
fn window() -> Window {
    let calendar = Calendar::new(jiff::tz::TimeZone::UTC, 86_400, 0, 3_600).unwrap();
    calendar.window_at("2015-11-09T12:00:00Z".parse().unwrap()).unwrap()
}

/// Seals trajectories given as (station, hour) lists, one card each.
fn sealed(paths: &[Vec<(u32, u32)>]) -> SealedWindow {
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let hasher = secret.card_key(window().id());
    let mut stamps = Vec::new();
    for (card, path) in paths.iter().enumerate() {
        for (place, &(station, hour)) in (0_u32..).zip(path) {
            let card = CardKey::new(&hasher, &card.to_le_bytes());
            let offset_millis = hour * 3_600_000 + place * 1_000;
            stamps.push(Stamp { card, offset_millis, station: StationIx(station) });
        }
    }
    SealedWindow::freeze(window(), stamps, None, &secret)
}

fn release(engine: &SafePath, window: &SealedWindow, seed: u64) -> Release {
    let request = Request {
        window: window.window().clone(),
        batch: *window.mac(),
        configuration: Digest::of(b"test"),
        cost: engine.price(),
    };
    let permit = Permit::unbooked(&request);
    engine.sanitize(window, permit, &NoiseKey::for_test(seed)).unwrap()
}

fn silent_rows(engine: &SafePath, window: &SealedWindow) -> BTreeMap<Vec<(u32, u32)>, u64> {
    let times = time_taxonomy(engine.settings.times, window.window().n_slots());
    let shares = engine.time_shares(&times).unwrap();
    engine
        .noisy_rows(window, times, &shares, &Silence)
        .into_iter()
        .map(|row| (row.path.iter().map(|d| (d.station.0, d.slot)).collect(), row.count))
        .collect()
}

/// The paper's Table 1: a = 0, b = 1, c = 2.
fn table_1() -> Vec<Vec<(u32, u32)>> {
    let (a, b, c) = (0, 1, 2);
    vec![
        vec![(a, 1), (c, 2)],
        vec![(c, 2), (b, 4)],
        vec![(a, 2), (b, 3), (c, 4)],
        vec![(c, 3), (a, 4)],
        vec![(a, 1), (b, 2), (c, 3)],
        vec![(a, 3), (c, 4)],
        vec![(a, 3), (b, 4)],
    ]
}

#[test]
fn table_1_of_the_paper_comes_back_when_noise_is_off() {
    let settings = Settings {
        threshold: Threshold::Fixed(1),
        places: Places::Flat,
        times: Times::Balanced(Shape { fanout: 2, height: 2 }),
        ..settings(3)
    };
    let engine = SafePath::new(settings, 24).unwrap();
    let expected: BTreeMap<_, _> = table_1().into_iter().map(|path| (path, 1)).collect();
    assert_eq!(silent_rows(&engine, &sealed(&table_1())), expected);
}

proptest! {
    /// Without noise a release is a prefix tree cut at the threshold, whatever the taxonomies.
    #[test]
    fn without_noise_the_release_equals_brute_force(
        paths in prop::collection::vec(prop::collection::vec((0_u32..20, 0_u32..24), 1..5), 0..60),
        threshold in 1_u64..4,
        places in prop::sample::select(vec![
            Places::Flat, Places::Lines, Places::Balanced(Shape { fanout: 3, height: 2 }),
        ]),
        times in prop::sample::select(vec![Times::Flat, Times::Balanced(Shape { fanout: 2, height: 3 })]),
    ) {
        let paths: Vec<_> = paths.into_iter().map(|mut path| { path.sort_by_key(|p| p.1); path }).collect();
        let settings = Settings { threshold: Threshold::Fixed(threshold), places, times, ..settings(20) };
        let engine = SafePath::new(settings, 24).unwrap();
        prop_assert_eq!(silent_rows(&engine, &sealed(&paths)), brute_force(&paths, threshold, 4));
    }
}

/// Counts every prefix, drops those below the threshold with all below them, and takes children off parents.
fn brute_force(
    paths: &[Vec<(u32, u32)>],
    threshold: u64,
    height: usize,
) -> BTreeMap<Vec<(u32, u32)>, u64> {
    let mut prefixes: BTreeMap<Vec<(u32, u32)>, u64> = BTreeMap::new();
    for path in paths {
        for end in 1..=path.len().min(height) {
            *prefixes.entry(path[..end].to_vec()).or_default() += 1;
        }
    }
    prefixes.retain(|_, count| *count >= threshold);
    let mut rows = BTreeMap::new();
    for (prefix, &count) in &prefixes {
        let is_child =
            |other: &Vec<(u32, u32)>| other.len() == prefix.len() + 1 && other.starts_with(prefix);
        let children: u64 =
            prefixes.iter().filter(|(other, _)| is_child(other)).map(|(_, n)| n).sum();
        if count > children {
            rows.insert(prefix.clone(), count - children);
        }
    }
    rows
}

/// What every root-to-leaf path of a taxonomy costs.
fn path_costs(taxonomy: &Taxonomy, shares: &[Share]) -> Vec<Ratio<u128>> {
    let general = |depth| {
        shares.iter().find(|share| share.general_depth() == Some(depth)).expect("a share").epsilon()
    };
    let leaf = |below| {
        shares.iter().find(|share| share.leaf_below() == Some(below)).expect("a share").epsilon()
    };
    let mut costs = Vec::new();
    for node in taxonomy.nodes() {
        let depth = taxonomy.depth(node);
        let above: Ratio<u128> = (1..=depth).map(general).sum();
        let leaves = (0..taxonomy.n_children(node))
            .filter(|&i| matches!(taxonomy.child(node, i), Child::Leaf(_)));
        costs.extend(leaves.map(|_| above + leaf(depth)));
    }
    costs
}

proptest! {
    /// In exact fractions: every place path and every time path costs ε/2h, so a whole path costs ε.
    #[test]
    fn the_longest_path_costs_exactly_epsilon_and_none_costs_more(
        micro in 1_u64..20_000_000,
        height in 1_u32..30,
        n_stations in 13_u32..200,
        n_slots in 13_u32..200,
        allocation in prop::sample::select(vec![Allocation::Paper, Allocation::Even]),
        places in prop::sample::select(vec![
            Places::Flat, Places::Lines, Places::Balanced(Shape { fanout: 2, height: 3 }),
            Places::Balanced(Shape { fanout: 5, height: 2 }),
        ]),
        times in prop::sample::select(vec![
            Times::Flat, Times::Balanced(Shape { fanout: 2, height: 3 }), Times::Balanced(Shape { fanout: 6, height: 2 }),
        ]),
    ) {
        let settings = Settings {
            epsilon: MicroEpsilon::new(micro),
            height: NonZeroU32::new(height).unwrap(),
            threshold: Threshold::Fixed(1), // thresholds cost nothing; the walk for tiny ε is tested elsewhere
            allocation, places, times,
            ..settings(n_stations)
        };
        let epsilon = Ratio::new(u128::from(micro), 1_000_000);
        let engine = SafePath::new(settings, n_slots).unwrap();
        let time_taxonomy = time_taxonomy(times, n_slots);
        let place_costs = path_costs(&engine.places, &engine.place_shares);
        let time_costs = path_costs(&time_taxonomy, &engine.time_shares(&time_taxonomy).unwrap());
        let sub_level = epsilon / (2 * u128::from(height));
        prop_assert!(place_costs.iter().chain(&time_costs).all(|cost| *cost == sub_level));
        let longest = (*place_costs.iter().max().unwrap() + *time_costs.iter().max().unwrap())
            * u128::from(height);
        prop_assert_eq!(longest, epsilon);
    }
}

#[test]
fn erratum_2_a_taxonomy_that_starves_its_leaves_is_refused_with_the_height_that_fits() {
    let six = Shape { fanout: 2, height: 6 };
    let settings = Settings { times: Times::Balanced(six), ..settings(68) };
    let complaints = SafePath::new(settings, 24).unwrap_err();
    let expected =
        BudgetError::NothingLeft { key: "engine.taxonomy.times", height: 6, n_leaves: 24, fits: 4 };
    assert_eq!(complaints, [expected]);
    assert_eq!(
        [largest_height(1), largest_height(2), largest_height(3), largest_height(7)],
        [0, 0, 1, 2]
    );
}

#[test]
fn erratum_3_the_printed_threshold_is_far_below_the_noise_it_meets() {
    let at =
        |threshold| Settings { height: NonZeroU32::new(12).unwrap(), threshold, ..settings(68) };
    let top = |threshold| {
        let engine = SafePath::new(at(threshold), 168).unwrap();
        let times = time_taxonomy(engine.settings.times, 168);
        engine.time_shares(&times).unwrap()[0].fact()
    };
    let printed = top(Threshold::LevelNoise);
    assert_eq!((printed.scale.as_str(), printed.threshold), ("2016", 68));
    assert_eq!(top(Threshold::OwnNoise).threshold, 11_405);
}

#[test]
fn growth_is_a_property_of_the_configuration() {
    let flat = |n| Settings { places: Places::Flat, times: Times::Flat, ..settings(n) };
    let growth = |n| SafePath::new(flat(n), 168).unwrap().false_children(168).unwrap();
    assert!((9.0..11.0).contains(&growth(68)), "{}", growth(68));
    assert!((125.0..137.0).contains(&growth(893)), "{}", growth(893));
    let halves = SafePath::new(settings(68), 168).unwrap().false_children(168).unwrap();
    assert!(halves < 0.01, "{halves}");
    assert!((expected_nodes(10.0, 3) - 1_110.0).abs() < 1e-9);
}

#[test]
fn an_empty_window_one_station_and_a_tree_higher_than_any_trip_still_give_a_release() {
    let one = SafePath::new(
        Settings {
            places: Places::Flat,
            times: Times::Flat,
            threshold: Threshold::Fixed(1),
            ..settings(1)
        },
        24,
    )
    .unwrap();
    // Nearly half of all keys let the only station pass; twenty keys without one would be a miracle.
    let made_up =
        (0..20).filter(|&seed| !release(&one, &sealed(&[]), seed).rows().is_empty()).count();
    assert!(
        (1..20).contains(&made_up),
        "noise over nothing made up paths under {made_up} of 20 keys"
    );
    let crowd = vec![vec![(0, 5)]; 5_000];
    let high = SafePath::new(
        Settings {
            height: NonZeroU32::new(12).unwrap(),
            allocation: Allocation::Even,
            ..settings(68)
        },
        24,
    )
    .unwrap();
    let rows = release(&high, &sealed(&crowd), 1);
    let count = rows.rows().iter().find(|row| row.path.len() == 1).map_or(0, |row| row.count);
    assert!((4_000..6_000).contains(&count), "{count}");
    let tiny =
        SafePath::new(Settings { epsilon: MicroEpsilon::new(1), ..settings(68) }, 24).unwrap();
    assert!(
        release(&tiny, &sealed(&crowd), 1).rows().is_empty(),
        "a threshold above the window keeps nothing"
    );
}

#[test]
fn the_same_key_gives_the_same_release_and_threads_do_not_matter() {
    let paths: Vec<_> = (0..40_000).map(|i| vec![(i % 9, i % 20), (i % 5, 22)]).collect();
    let window = sealed(&paths);
    let with = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        let settings = Settings { threads, allocation: Allocation::Even, ..settings(68) };
        SafePath::new(settings, 24).unwrap()
    };
    let (one, four) = (with(1), with(4));
    assert_eq!(release(&one, &window, 7).rows(), release(&four, &window, 7).rows());
    assert_ne!(release(&one, &window, 7).rows(), release(&one, &window, 8).rows());
}

#[test]
fn slots_never_decrease_along_a_released_path() {
    let settings = Settings { threshold: Threshold::Fixed(1), places: Places::Flat, ..settings(3) };
    let engine = SafePath::new(Settings { max_nodes: 20_000, ..settings }, 24).unwrap();
    let window = sealed(&table_1());
    let released: Vec<Release> = (0..8).map(|seed| release(&engine, &window, seed)).collect();
    let rows = || released.iter().flat_map(Release::rows);
    assert!(rows().any(|row| row.path.len() > 1), "one of eight keys shows a longer path");
    for row in rows() {
        assert!(row.path.is_sorted_by_key(|doublet| doublet.slot), "{row:?}");
    }
}

#[test]
fn a_permit_for_something_else_makes_no_release() {
    let engine = SafePath::new(settings(68), 24).unwrap();
    let (mine, other) = (sealed(&[vec![(1, 1)]]), sealed(&[vec![(1, 2)]]));
    let request = |window: &SealedWindow, cost| Request {
        window: window.window().clone(),
        batch: *window.mac(),
        configuration: Digest::of(b"test"),
        cost,
    };
    let cheap = Cost::differential(MicroEpsilon::new(1));
    for wrong in [request(&other, engine.price()), request(&mine, cheap)] {
        let refused = engine.sanitize(&mine, Permit::unbooked(&wrong), &NoiseKey::for_test(1));
        assert!(matches!(refused, Err(Error::Permit(_))), "{refused:?}");
    }
}
