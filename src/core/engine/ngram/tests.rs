//! What PROOF.md claims, tried.

mod degenerate;
mod scripted;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use num_bigint::BigUint;
use num_rational::Ratio;
use proptest::prelude::*;

use super::grow::grow;
use super::plan::{Clip, Price, Terms, UNIT, Universe, scale};
use super::synthesis::rows;
use crate::engine::Row;
use crate::engine::weave::tests::{cards, city};
use crate::model::MicroEpsilon;
use crate::secret::NoiseKey;
use scripted::Scripted;

type Path = Vec<(u32, u32)>;

fn terms(stations: u32, slots: u32, micro: u64) -> Terms {
    Terms {
        universe: Universe { stations, slots },
        epsilon: MicroEpsilon::new(micro),
        max_length: NonZeroU32::new(12).unwrap(),
        longest: 5,
        max_nodes: 1 << 20,
    }
}

fn any_path() -> impl Strategy<Value = Path> {
    proptest::collection::vec((0_u32..5, 0_u32..4), 1..16).prop_map(|mut path| {
        path.sort_by_key(|tap| tap.1);
        path
    })
}

/// Every price on the longest paths that counts of any size can lead to, added up.
fn spent(terms: &Terms, clip: Clip, counts: &[u64]) -> u64 {
    let n_after = terms.universe.n_after(Some(0));
    let first = Price::first(counts[0], terms.gram_share(), clip, n_after, terms.longest);
    let (mut sum, mut left) = (first.share, first.left);
    for (level, &count) in (2..=terms.longest).zip(&counts[1..]) {
        let Some(price) = Price::new(count, left, clip, n_after, terms.longest + 1 - level) else {
            break;
        };
        assert!(price.share > 0 && price.share + price.left == left);
        (sum, left) = (sum + price.share, price.left);
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Holds B-1.
    #[test]
    fn the_starts_of_a_card_weigh_no_more_than_the_clip(
        lengths in proptest::collection::vec(-50_i64..5_000, 1..40),
        starts in 2_u64..1_002,
    ) {
        let clip = Clip::new(&lengths);
        prop_assert!((2..=lengths.len() as u32 + 1).contains(&clip.0));
        prop_assert!(clip.units(starts) <= UNIT);
        prop_assert!(clip.units(starts) * starts.min(lengths.len() as u64 + 1) <= clip.most());
        prop_assert!(clip.units(starts) * starts <= clip.most());
    }

    /// Holds B-2.
    /// Whatever the answers are, the prices of a path add up to at most what the tree may cost, and a scale charges a
    /// start exactly its price.
    #[test]
    fn no_path_costs_more_than_what_is_left_of_epsilon(
        micro in 1_000_u64..20_000_000,
        stations in 1_u32..5_000,
        clip in 2_u32..1_000,
        counts in proptest::collection::vec(0_u64..1 << 50, 5),
    ) {
        let (terms, clip) = (terms(stations, 1, micro), Clip(clip));
        let sum = spent(&terms, clip, &counts);
        prop_assert!(sum <= terms.gram_share());
        prop_assert!(terms.first_share() + sum <= micro * 1_000);
        let share = sum.max(1);
        let scale = clip.scale(share);
        let paid = Ratio::new(u128::from(clip.most()) * u128::from(scale.den()), scale.num().into());
        prop_assert_eq!(paid, Ratio::new(u128::from(share), 1_000_000_000));
    }

    /// Holds B-2, B-3.
    /// Neighbours are given the same answers: they are asked the same, their counts differ by what ε allows, and they
    /// release the same.
    #[test]
    fn neighbours_with_the_same_answers_are_asked_the_same_and_pay_at_most_epsilon(
        paths in proptest::collection::vec(any_path(), 0..8),
        more in any_path(),
        timed in any::<bool>(),
        seed in any::<u64>(),
        micro in prop_oneof![Just(1_000_000_u64), Just(100_003), Just(7_000_000)],
    ) {
        let terms = terms(5, if timed { 4 } else { 1 }, micro);
        let key = NoiseKey::for_test(1);
        let asked = |paths: &[Path]| {
            let source = Scripted::new(seed);
            let model = grow(&cards(paths), terms, &source);
            (source.asked(), rows(&model, &key))
        };
        let (without, before) = asked(&paths);
        let with: Vec<Path> = paths.iter().cloned().chain([more]).collect();
        let (with, after) = asked(&with);
        prop_assert_eq!(before, after);
        let mut paid = Ratio::from_integer(BigUint::ZERO);
        prop_assert_eq!(without.len(), with.len());
        for ((at, one), (other_at, other)) in without.iter().zip(&with) {
            prop_assert_eq!(at, other_at);
            prop_assert_eq!((one.scale, one.threshold), (other.scale, other.threshold));
            prop_assert_eq!(one.counts.len(), other.counts.len());
            let changed: u64 = one.counts.iter().zip(&other.counts).map(|(a, b)| a.abs_diff(*b)).sum();
            paid += Ratio::new(BigUint::from(changed) * one.scale.den(), one.scale.num().into());
        }
        prop_assert!(paid <= Ratio::new(micro.into(), 1_000_000_u32.into()), "{paid}");
    }
}

/// The scripted answers lead to runs of all lengths: otherwise the test above says little.
#[test]
fn scripted_answers_lead_to_the_longest_runs() {
    let mut deepest = 0;
    for seed in 0..8 {
        let source = Scripted::new(seed);
        grow(&cards(&[vec![(0, 0), (1, 0)]]), terms(5, 1, 1_000_000), &source);
        deepest = source.asked().keys().map(|at| at.0).max().unwrap().max(deepest);
    }
    assert_eq!(deepest, 5);
}

fn runs(rows: &[Row], n: usize) -> BTreeMap<Vec<u32>, u64> {
    let mut runs = BTreeMap::new();
    for row in rows {
        let stations: Vec<u32> = row.path.iter().map(|tap| tap.station.0).collect();
        for run in stations.windows(n) {
            *runs.entry(run.to_vec()).or_default() += row.count;
        }
    }
    runs
}

fn true_runs(paths: &[Path], n: usize) -> BTreeMap<Vec<u32>, u64> {
    let mut runs = BTreeMap::new();
    for path in paths {
        let stations: Vec<u32> = path.iter().map(|tap| tap.0).collect();
        for run in stations.windows(n) {
            *runs.entry(run.to_vec()).or_default() += 1;
        }
    }
    runs
}

fn error(truth: &BTreeMap<Vec<u32>, u64>, made: &BTreeMap<Vec<u32>, u64>) -> f64 {
    let of = |runs: &BTreeMap<Vec<u32>, u64>, run| runs.get(run).copied().unwrap_or(0);
    let mut all: Vec<&Vec<u32>> = truth.keys().chain(made.keys()).collect();
    all.sort();
    all.dedup();
    let off: u64 = all.iter().map(|run| of(truth, *run).abs_diff(of(made, *run))).sum();
    off as f64 / truth.values().sum::<u64>() as f64
}

/// With an ε at which noise is nothing, the trips have the runs of the window.
#[test]
fn without_noise_the_trips_have_the_runs_of_the_window() {
    let paths = city(20_000, 12, 24, 1);
    let key = NoiseKey::for_test(1);
    let made = rows(&grow(&cards(&paths), terms(12, 1, 1_000_000_000), &key), &key);
    for (n, most) in [(1, 0.02), (2, 0.03), (3, 0.04), (4, 0.06)] {
        let error = error(&true_runs(&paths, n), &runs(&made, n));
        assert!(error < most, "runs of {n}: {error}");
    }
    let n: u64 = made.iter().map(|row| row.count).sum();
    assert!(n.abs_diff(20_000) < 3, "{n}");
}

#[test]
fn an_ordinary_release_keeps_stations_and_pairs() {
    let paths = city(20_000, 20, 24, 1);
    let key = NoiseKey::for_test(1);
    let made = rows(&grow(&cards(&paths), terms(20, 1, 1_000_000), &key), &key);
    for (n, most) in [(1, 0.1), (2, 0.35)] {
        let error = error(&true_runs(&paths, n), &runs(&made, n));
        assert!(error < most, "runs of {n}: {error}");
    }
}

/// Who goes out and comes home does so in a release too, though most pairs are too rare to say it by themselves.
#[test]
fn returns_are_kept_where_runs_are_rare() {
    let mut path = 0;
    let paths: Vec<Path> = std::iter::repeat_with(|| {
        path += 1;
        let (home, work) = (path * path % 31 * (path % 7) / 6, path * 7 % 31);
        vec![(home, 0), (work, 0), (home, 0)]
    })
    .take(20_000)
    .collect();
    let key = NoiseKey::for_test(1);
    let model = grow(&cards(&paths), terms(31, 1, 1_000_000), &key);
    let runs = runs(&rows(&model, &key), 3);
    let back: u64 = runs.iter().filter(|(run, _)| run[0] == run[2]).map(|(_, n)| n).sum();
    let share = back as f64 / runs.values().sum::<u64>() as f64;
    println!("{share} return, {} of them because all do", model.returns);
    assert!(share > 0.5, "{share}");
}

/// Holds B-4.
/// Whole numbers and keyed streams only: this digest is the same on every machine, and for any number of threads.
#[test]
fn a_small_window_has_the_same_digest_everywhere() {
    use crate::engine::fixture::with_threads;
    use crate::model::Digest;
    let paths = city(3_000, 9, 24, 3);
    let digest = |slots: u32| {
        let key = NoiseKey::for_test(5);
        let made = rows(&grow(&cards(&paths), terms(9, slots, 1_000_000), &key), &key);
        Digest::of(format!("{made:?}").as_bytes()).to_string()
    };
    for (slots, wanted) in [(1, "237bafe4a047"), (24, "1c72a50dd617")] {
        assert!([1, 2, 7].iter().all(|&n| with_threads(n, || digest(slots)) == digest(slots)));
        assert_eq!(&digest(slots)[..12], wanted, "{slots} slots");
    }
}

#[test]
fn a_scale_is_the_inverse_of_its_share() {
    let scale = scale(3 * UNIT, 500_000_000);
    assert_eq!((scale.num(), scale.den()), (6 * UNIT, 1));
}
