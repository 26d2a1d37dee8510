use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;
use crate::engine::fixture::with_threads;
use crate::engine::tree::fixture::{brute_force, params, release, sealed, silent_rows};
use crate::engine::tree::{Shape, Threshold, expected_nodes};
use crate::engine::{Engine, Error, Release};
use crate::ledger::{Permit, Request};
use crate::model::{Cost, Digest, MicroEpsilon};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;

fn settings(n_stations: u32) -> Settings {
    let two_by_three = Shape { fanout: 2, height: 3 };
    Settings {
        params: params(n_stations),
        allocation: Allocation::Paper,
        places: Places::Balanced(two_by_three),
        times: Times::Balanced(two_by_three),
    }
}

/// The same with another threshold.
fn with_threshold(threshold: Threshold, settings: Settings) -> Settings {
    Settings { params: TreeParams { threshold, ..settings.params.clone() }, ..settings }
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
        places: Places::Flat,
        times: Times::Balanced(Shape { fanout: 2, height: 2 }),
        ..with_threshold(Threshold::Fixed(1), settings(3))
    };
    let engine = SafePath::new(settings, 24).unwrap();
    let expected: std::collections::BTreeMap<_, _> =
        table_1().into_iter().map(|path| (path, 1)).collect();
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
        let settings = with_threshold(Threshold::Fixed(threshold), settings(20));
        let settings = Settings { places, times, ..settings };
        let engine = SafePath::new(settings, 24).unwrap();
        prop_assert_eq!(silent_rows(&engine, &sealed(&paths)), brute_force(&paths, threshold, 4));
    }
}

#[test]
fn erratum_2_a_taxonomy_that_starves_its_leaves_is_refused_with_the_height_that_fits() {
    let six = Shape { fanout: 2, height: 6 };
    let settings = Settings { times: Times::Balanced(six), ..settings(68) };
    let complaints = SafePath::new(settings, 24).unwrap_err();
    let expected = BudgetError::NothingLeft {
        key: "engine.safepath.taxonomy.times",
        height: 6,
        n_leaves: 24,
        fits: 4,
    };
    assert_eq!(complaints, [expected]);
    assert_eq!(
        [largest_height(1), largest_height(2), largest_height(3), largest_height(7)],
        [0, 0, 1, 2]
    );
}

#[test]
fn erratum_3_the_printed_threshold_is_far_below_the_noise_it_meets() {
    let top = |threshold| {
        let height = NonZeroU32::new(12).unwrap();
        let params = TreeParams { height, threshold, ..params(68) };
        let settings = Settings { params, ..settings(68) };
        settings.priced_times(168, 168).unwrap().shares()[0].fact()
    };
    let printed = top(Threshold::LevelNoise);
    assert_eq!((printed.scale.as_str(), printed.threshold), ("2016", 68));
    assert_eq!(top(Threshold::OwnNoise).threshold, 11_405);
}

#[test]
fn growth_is_a_property_of_the_configuration() {
    let flat = |n| Settings { places: Places::Flat, times: Times::Flat, ..settings(n) };
    let of = |settings| {
        SafePath::new(settings, 168)
            .unwrap()
            .forecast(168, crate::engine::USUAL_CARDS)
            .expected_error
            .unwrap()
            .get("false_paths_per_empty_path")
            .unwrap()
    };
    let growth = |n| of(flat(n));
    assert!((9.0..11.0).contains(&growth(68)), "{}", growth(68));
    assert!((125.0..137.0).contains(&growth(893)), "{}", growth(893));
    let halves = of(settings(68));
    assert!(halves < 0.01, "{halves}");
    assert!((expected_nodes(10.0, 3) - 1_110.0).abs() < 1e-9);
}

/// Holds E-4.
#[test]
fn an_empty_window_one_station_and_a_tree_higher_than_any_trip_still_give_a_release() {
    let one = SafePath::new(
        Settings {
            places: Places::Flat,
            times: Times::Flat,
            ..with_threshold(Threshold::Fixed(1), settings(1))
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
            params: TreeParams { height: NonZeroU32::new(12).unwrap(), ..params(68) },
            allocation: Allocation::Even,
            ..settings(68)
        },
        24,
    )
    .unwrap();
    let rows = release(&high, &sealed(&crowd), 1);
    let count = rows.rows().iter().find(|row| row.path.len() == 1).map_or(0, |row| row.count);
    assert!((4_000..6_000).contains(&count), "{count}");
    let micro = TreeParams { epsilon: MicroEpsilon::new(1), ..params(68) };
    let tiny = SafePath::new(Settings { params: micro, ..settings(68) }, 24).unwrap();
    assert!(
        release(&tiny, &sealed(&crowd), 1).rows().is_empty(),
        "a threshold above the window keeps nothing"
    );
}

#[test]
fn the_same_key_gives_the_same_release_and_threads_do_not_matter() {
    let paths: Vec<_> = (0..40_000).map(|i| vec![(i % 9, i % 20), (i % 5, 22)]).collect();
    let window = sealed(&paths);
    let settings = Settings { allocation: Allocation::Even, ..settings(68) };
    let one = SafePath::new(settings, 24).unwrap();
    let rows = |n| with_threads(n, || release(&one, &window, 7).rows().to_vec());
    let alone = rows(1);
    assert!([2, 7].iter().all(|&n| rows(n) == alone));
    assert_ne!(release(&one, &window, 7).rows(), release(&one, &window, 8).rows());
}

#[test]
fn slots_never_decrease_along_a_released_path() {
    let params = TreeParams { threshold: Threshold::Fixed(1), max_nodes: 20_000, ..params(3) };
    let settings = Settings { params, places: Places::Flat, ..settings(3) };
    let engine = SafePath::new(settings, 24).unwrap();
    let window = sealed(&table_1());
    let released: Vec<Release> = (0..8).map(|seed| release(&engine, &window, seed)).collect();
    let rows = || released.iter().flat_map(Release::rows);
    assert!(rows().any(|row| row.path.len() > 1), "one of eight keys shows a longer path");
    for row in rows() {
        assert!(row.path.is_sorted_by_key(|doublet| doublet.slot), "{row:?}");
    }
}

/// Holds L-2, E-1.
#[test]
fn a_permit_for_something_else_makes_no_release() {
    let engine = SafePath::new(settings(68), 24).unwrap();
    let (mine, other) = (sealed(&[vec![(1, 1)]]), sealed(&[vec![(1, 2)]]));
    let request = |window: &SealedWindow, cost| {
        Request::of_nobody(window.window().clone(), *window.mac(), Digest::of(b"test"), cost)
    };
    let cheap = Cost::differential(MicroEpsilon::new(1));
    for wrong in [request(&other, engine.price()), request(&mine, cheap)] {
        let refused = engine.sanitize(&mine, Permit::unbooked(&wrong), &NoiseKey::for_test(1));
        assert!(matches!(refused, Err(Error::Permit(_))), "{refused:?}");
    }
}
