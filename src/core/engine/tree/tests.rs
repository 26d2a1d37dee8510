use std::collections::BTreeMap;

use num_rational::Ratio;
use proptest::prelude::*;

use super::consistent::{averaged_over_paths, fit_under};
use super::*;
use crate::engine::fixture::with_threads;
use crate::engine::noise::{NodeClass, Noise, NoiseSource, Occupied, Scale, ZeroNoise};
use crate::model::{Child, StationIx, Taxonomy};
use crate::passenger::{CardKey, Trajectories};
use crate::secret::{NoiseKey, Secret};

mod kept_groups;

/// The printed formula, repeated until it holds, in fractions; then largest remainder, ties by path.
fn fit_by_repetition(parent: u64, noisy: &[u64]) -> Vec<u64> {
    let parent = Ratio::from_integer(i128::from(parent));
    let mut fitted: Vec<Ratio<i128>> =
        noisy.iter().map(|&count| Ratio::from_integer(i128::from(count))).collect();
    loop {
        let excess = fitted.iter().sum::<Ratio<i128>>() - parent;
        let above: Vec<usize> =
            (0..fitted.len()).filter(|&i| fitted[i] > Ratio::from_integer(0)).collect();
        if excess <= Ratio::from_integer(0) || above.is_empty() {
            break;
        }
        let each = excess / i128::try_from(above.len()).unwrap();
        for i in above {
            fitted[i] = (fitted[i] - each).max(Ratio::from_integer(0));
        }
    }
    let mut whole: Vec<i128> = fitted.iter().map(|f| f.floor().to_integer()).collect();
    let sum = fitted.iter().sum::<Ratio<i128>>().to_integer();
    let mut order: Vec<usize> = (0..noisy.len()).collect();
    order.sort_by(|&a, &b| fitted[b].fract().cmp(&fitted[a].fract()).then(a.cmp(&b)));
    let short = sum - whole.iter().sum::<i128>();
    for &i in order.iter().take(usize::try_from(short).unwrap()) {
        whole[i] += 1;
    }
    whole.into_iter().map(|count| u64::try_from(count).unwrap()).collect()
}

/// Whole noisy counts, as the engines without a first phase have them.
fn fit(parent: u64, noisy: &[u64]) -> Vec<u64> {
    let counts: Vec<u128> = noisy.iter().map(|&count| u128::from(count) << 20).collect();
    fit_under(Some(parent), &counts)
}

#[test]
fn parent_five_over_ten_and_one_gives_five_and_nothing() {
    assert_eq!(fit(5, &[10, 1]), [5, 0]);
    assert_eq!(fit(5, &[3, 2]), [3, 2]);
    assert_eq!(fit(0, &[3, 2]), [0, 0]);
    assert_eq!(fit(4, &[3, 3, 3]), [2, 1, 1]);
    assert!(fit(7, &[]).is_empty());
    assert_eq!(fit(u64::MAX, &[u64::MAX, u64::MAX]), [1 << 63, (1 << 63) - 1]);
}

proptest! {
    #[test]
    fn children_are_fitted_as_the_formula_repeated(
        parent in 0_u64..60,
        noisy in prop::collection::vec(1_u64..40, 0..9),
    ) {
        let fitted = fit(parent, &noisy);
        prop_assert_eq!(&fitted, &fit_by_repetition(parent, &noisy));
        prop_assert_eq!(fitted.iter().sum::<u64>(), parent.min(noisy.iter().sum()));
    }
}

/// Answers like a node would and counts how many candidates of each class it was asked about.
#[derive(Default)]
struct Counting {
    asked: BTreeMap<(u64, u64), u64>,
}

impl Noise for Counting {
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        *self.asked.entry((class.scale().num(), class.threshold())).or_default() += n;
        let count = |index| {
            let found = occupied.binary_search_by_key(&index, |candidate| candidate.index);
            found.map_or(0, |found| occupied[found].count)
        };
        (0..n).for_each(|index| kept(index, count(index).max(class.threshold())));
    }
}

fn class(number: u64) -> NodeClass {
    NodeClass::new(Scale::new(number, 1).unwrap(), 1)
}

fn classes(taxonomy: &Taxonomy) -> Classes {
    let height = u64::from(taxonomy.height());
    Classes {
        general: (1..=height).map(class).collect(),
        leaf: (0..=height).map(|below| class(100 + below)).collect(),
    }
}

fn taxonomy() -> impl Strategy<Value = Taxonomy> {
    prop_oneof![
        (1_u32..40).prop_map(|n| Taxonomy::flat(n).unwrap()),
        (1_u32..40, 2_u32..5, 0_u32..4).prop_map(|(n, f, h)| Taxonomy::balanced(n, f, h).unwrap()),
        prop::collection::vec(prop::collection::vec("[abc]", 0..3), 1..30)
            .prop_map(|ways| Taxonomy::grouped(&ways).unwrap()),
    ]
}

proptest! {
    /// Holds N-3, T-4, T-5.
    /// If everything passes, every candidate is asked about once: what is counted is what there is.
    #[test]
    fn every_candidate_is_asked_about_exactly_once(
        taxonomy in taxonomy(),
        keys in prop::collection::vec((0_u32..40, 0_u32..5), 0..30),
        min_rank in 0_u32..40,
        width in 1_u32..5,
    ) {
        let n = taxonomy.n_leaves();
        let min_rank = min_rank % n;
        let mut keys: Vec<Cell> = keys
            .into_iter()
            .map(|(k, w)| Cell { rank: min_rank + k % (n - min_rank), within: w % width })
            .collect();
        keys.sort_unstable();
        let mut noise = Counting::default();
        let mut found = Vec::new();
        let classes = classes(&taxonomy);
        let universe = Universe { taxonomy: &taxonomy, classes: &classes, min_rank, width };
        walk(universe, &keys, |k| *k, &mut noise, &mut |f| found.push(f));
        let mut expected: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for node in taxonomy.nodes() {
            for number in 0..taxonomy.n_children(node) {
                let child = taxonomy.child(node, number);
                if taxonomy.child_ranks(&child).end > min_rank {
                    let depth = u64::from(taxonomy.depth(node));
                    let (class, cells) = match child {
                        Child::General(_) => (depth + 1, 1),
                        Child::Leaf(_) => (100 + depth, u64::from(width)),
                    };
                    *expected.entry((class, 1)).or_default() += cells;
                }
            }
        }
        noise.asked.retain(|_, n| *n > 0);
        prop_assert_eq!(noise.asked, expected);
        let mut cells: Vec<Cell> = found.iter().map(|f| f.cell).collect();
        cells.sort_unstable();
        let all = (min_rank..n).flat_map(|rank| (0..width).map(move |within| Cell { rank, within }));
        prop_assert_eq!(cells, all.collect::<Vec<_>>());
        for f in found {
            let below = keys.iter().filter(|&&key| key == f.cell).count();
            prop_assert_eq!(f.items.len(), below, "the items in a cell are those that lie there");
            prop_assert_eq!(f.noisy, (below as u64).max(1));
        }
    }
}

/// A splitter over stations alone, for growing trees in tests.
struct Flat {
    taxonomy: Taxonomy,
    classes: Classes,
}

impl Flat {
    fn new(n_stations: u32, class: NodeClass) -> Self {
        let classes = Classes { general: vec![], leaf: vec![class] };
        Self { taxonomy: Taxonomy::flat(n_stations).unwrap(), classes }
    }
}

impl Splitter for Flat {
    fn rank(&self, next: Doublet) -> (u32, u32) {
        (next.station.0, 0)
    }

    fn split(&self, items: &mut [Item], _: u32, noise: &mut impl Noise, children: &mut Children) {
        items.sort_unstable();
        let Self { taxonomy, classes } = self;
        let universe = Universe { taxonomy, classes, min_rank: 0, width: 1 };
        let cell = |item: &Item| Cell { rank: item.rank, within: 0 };
        walk(universe, items, cell, noise, &mut |found| {
            children.nodes.push(ChildNode {
                doublet: Doublet { station: StationIx(found.cell.rank), slot: 0 },
                noisy: found.noisy,
                from: u32::try_from(found.items.start).unwrap(),
                to: u32::try_from(found.items.end).unwrap(),
                group: None,
            });
        });
    }
}

fn trajectories(paths: &[Vec<u32>]) -> Trajectories {
    let hasher = Secret::from_bytes(&[1; 32]).unwrap().card_key(crate::model::WindowId::new(0));
    let mut all = Trajectories::default();
    for (card, path) in paths.iter().enumerate() {
        let doublet = |&station: &u32| Doublet { station: StationIx(station), slot: 0 };
        let doublets = path.iter().map(|station| (doublet(station), None));
        all.push(CardKey::new(&hasher, &card.to_le_bytes()), doublets);
    }
    all
}

fn growth(height: u32, max_nodes: u64) -> Growth {
    Growth { height, max_nodes }
}

proptest! {
    #[test]
    fn without_noise_the_rows_are_the_trajectories(
        paths in prop::collection::vec(prop::collection::vec(0_u32..4, 1..5), 0..40),
    ) {
        let levels = grow(&trajectories(&paths), &Flat::new(4, class(1)), growth(5, 1 << 20), &ZeroNoise).levels;
        let mut expected: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        paths.iter().for_each(|path| *expected.entry(path.clone()).or_default() += 1);
        let released: BTreeMap<Vec<u32>, u64> = rows(&levels, Consistency::TopDown)
            .into_iter()
            .map(|row| (row.path.iter().map(|d| d.station.0).collect(), row.count))
            .collect();
        prop_assert_eq!(released, expected);
    }

    /// Holds T-2.
    #[test]
    fn the_tree_does_not_depend_on_the_number_of_threads(
        paths in prop::collection::vec(prop::collection::vec(0_u32..30, 1..5), 0..200),
        seed in any::<u64>(),
    ) {
        let splitter = Flat::new(30, NodeClass::new(Scale::new(2, 1).unwrap(), 5));
        let (trajectories, key) = (trajectories(&paths), NoiseKey::for_test(seed));
        let grow = |threads| {
            with_threads(threads, || grow(&trajectories, &splitter, growth(4, 3_000), &key).levels)
        };
        let one = grow(1);
        prop_assert!([2, 7].iter().all(|&n| grow(n) == one));
    }

    #[test]
    fn max_nodes_keeps_the_first_nodes_in_path_order(
        paths in prop::collection::vec(prop::collection::vec(0_u32..8, 1..4), 1..60),
        most in 1_u64..40,
    ) {
        let trajectories = trajectories(&paths);
        let splitter = Flat::new(8, class(1));
        let all = grow(&trajectories, &splitter, growth(3, 1 << 20), &ZeroNoise).levels;
        let cut = grow(&trajectories, &splitter, growth(3, most), &ZeroNoise).levels;
        let n: usize = cut.iter().map(Vec::len).sum();
        prop_assert!(n as u64 <= most);
        prop_assert_eq!(&cut[0][..], &all[0][..cut[0].len()]);
    }
}

/// With enough nodes for several batches the threads really share the work.
#[test]
fn many_nodes_are_split_side_by_side_with_one_result() {
    let paths: Vec<Vec<u32>> = (0..60_000).map(|i| vec![i % 97, i % 89, i % 83, i % 79]).collect();
    let splitter = Flat::new(100, NodeClass::new(Scale::new(3, 1).unwrap(), 9));
    let trajectories = trajectories(&paths);
    let key = NoiseKey::for_test(1);
    let grow = |threads| {
        with_threads(threads, || grow(&trajectories, &splitter, growth(4, 1 << 22), &key).levels)
    };
    let (one, three) = (grow(1), grow(3));
    assert!(one[1].len() > 2_000, "{} nodes in the second level", one[1].len());
    assert_eq!(one, three);
    let total: u64 = rows(&one, Consistency::TopDown).iter().map(|row| row.count).sum();
    assert_eq!(
        total,
        one[0].iter().map(|node| node.noisy).sum::<u64>(),
        "rows add up to the first level"
    );
}

/// Noise must come from the node's own index: two sources that differ there give different trees.
#[test]
fn each_node_asks_its_own_noise() {
    struct ByPlace;
    struct Only(bool);
    impl NoiseSource for ByPlace {
        type Node = Only;
        fn node(&self, level: u32, index: u64) -> Only {
            Only(level == 0 || index == 1)
        }
    }
    impl Noise for Only {
        fn ask(
            &mut self,
            _: &NodeClass,
            _: u64,
            occupied: &[Occupied],
            kept: &mut dyn FnMut(u64, u64),
        ) {
            occupied.iter().filter(|_| self.0).for_each(|o| kept(o.index, o.count));
        }
    }
    let paths = vec![vec![0, 0], vec![1, 0], vec![2, 0]];
    let levels =
        grow(&trajectories(&paths), &Flat::new(3, class(1)), growth(2, 100), &ByPlace).levels;
    assert_eq!(levels[1].iter().map(|node| node.parent).collect::<Vec<_>>(), [1]);
}

/// A random tree: each level's nodes name their parents, side by side.
fn random_levels() -> impl Strategy<Value = Vec<Vec<Node>>> {
    let level = || prop::collection::vec((0_u32..6, 1_u64..50), 1..7);
    prop::collection::vec(level(), 1..5).prop_map(|levels| {
        let mut n_above = 1;
        let node = |parent, noisy| {
            let doublet = Doublet { station: StationIx(0), slot: 0 };
            Node { parent, doublet, noisy, group: None }
        };
        levels
            .into_iter()
            .map(|level| {
                let mut nodes: Vec<Node> =
                    level.into_iter().map(|(parent, n)| node(parent % n_above, n)).collect();
                nodes.sort_by_key(|node| node.parent);
                n_above = u32::try_from(nodes.len()).unwrap();
                nodes
            })
            .collect()
    })
}

/// Theorem 4.3 of stm-hybrid-2012, read off the page: min over j ≥ m of max over i ≤ j of the mean of i to j, from
/// the leaf (1) up.
fn fitted_by_the_theorem(upwards: &[u64]) -> Vec<Ratio<i128>> {
    let mean = |i: usize, j: usize| {
        let sum: u64 = upwards[i..=j].iter().sum();
        Ratio::new(i128::from(sum), i128::try_from(j - i + 1).unwrap())
    };
    let greatest = |j: usize| (0..=j).map(|i| mean(i, j)).max().unwrap();
    let n = upwards.len();
    (0..n).map(|m| (m..n).map(greatest).min().unwrap()).collect()
}

proptest! {
    /// The first phase against the theorem, in fractions; what is rounded down is less than two units of 2⁻²⁰.
    #[test]
    fn paths_are_fitted_as_the_theorem_says_and_averaged_over_their_leaves(levels in random_levels()) {
        let mut estimates: BTreeMap<(usize, usize), Vec<Ratio<i128>>> = BTreeMap::new();
        for (depth, level) in levels.iter().enumerate() {
            for leaf in 0..level.len() {
                let below = levels.get(depth + 1).map_or(&[][..], Vec::as_slice);
                if below.iter().any(|node| node.parent as usize == leaf) {
                    continue;
                }
                let (mut places, mut at) = (Vec::new(), leaf);
                for up in (0..=depth).rev() {
                    places.push((up, at));
                    at = levels[up][at].parent as usize;
                }
                let noisy: Vec<u64> = places.iter().map(|&(d, p)| levels[d][p].noisy).collect();
                for (index, fitted) in places.into_iter().zip(fitted_by_the_theorem(&noisy)) {
                    estimates.entry(index).or_default().push(fitted);
                }
            }
        }
        let averaged = averaged_over_paths(&levels);
        for ((depth, index), estimates) in estimates {
            let n = i128::try_from(estimates.len()).unwrap();
            let exact = estimates.iter().sum::<Ratio<i128>>() / n * (1 << 20);
            let ours = Ratio::from_integer(i128::try_from(averaged[depth][index]).unwrap());
            prop_assert!(ours <= exact && exact < ours + 2, "{ours} for {exact}");
        }
        let released: u64 = rows(&levels, Consistency::TwoPhase).iter().map(|row| row.count).sum();
        let first: u128 = averaged[0].iter().sum();
        prop_assert_eq!(u128::from(released), first >> 20, "rows add up to the first level");
    }
}
