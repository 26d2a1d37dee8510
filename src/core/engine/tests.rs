//! What every engine over the tree must hold, whatever it is.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use num_rational::Ratio;
use proptest::prelude::*;

use super::hybrid::{self, Groups, Hybrid, Inference};
use super::noise::{NodeClass, Noise, NoiseSource, Occupied};
use super::safepath::{self, Allocation, SafePath};
use super::seqpt::SeqPt;
use super::tree::fixture::{Path, params, release, sealed};
use super::tree::{
    BudgetError, Level, Places, Shape, Threshold, Times, TreeMechanism, TreeParams, noisy_rows,
};
use super::*;
use crate::engine::fixture::with_threads;
use crate::model::{MicroEpsilon, OwnTaxonomy, PathKind};

/// Something to do with every engine.
trait ForEngine {
    fn visit<R: TreeMechanism>(&mut self, engine: &R);
}

/// The shape of groups where a test is not about them.
const USUAL: Shape = Shape { fanout: 3, height: 2 };

/// Every engine in every form, with balanced groups of this shape.
fn for_each(params: &TreeParams, shape: Shape, visitor: &mut impl ForEngine) {
    for allocation in [Allocation::Paper, Allocation::Even] {
        for (places, times) in [
            (Places::Flat, Times::Flat),
            (Places::Lines, Times::Balanced(Shape { fanout: 2, height: 3 })),
            (Places::Balanced(shape), Times::Balanced(shape)),
        ] {
            let settings = safepath::Settings { params: params.clone(), allocation, places, times };
            // A universe too small for the paper's allocation is refused, which has its own test.
            if let Ok(engine) = SafePath::new(settings, 24) {
                visitor.visit(&engine);
            }
        }
    }
    for input in [PathKind::Timed, PathKind::Untimed] {
        for groups in [
            None,
            Some(Groups { places: Places::Lines, fanout: 5 }),
            Some(Groups { places: Places::Balanced(shape), fanout: shape.fanout }),
            Some(Groups { places: Places::Balanced(Shape { fanout: 4, height: 1 }), fanout: 9 }),
        ] {
            for inference in [Inference::WithoutGroups, Inference::KeptGroups] {
                let (params, groups) = (params.clone(), groups.clone());
                let settings = hybrid::Settings { params, input, groups, inference };
                visitor.visit(&Hybrid::new(settings).unwrap());
            }
        }
    }
    visitor.visit(&SeqPt::new(params.clone()).unwrap());
}

/// Adds up every path of an engine's tree, in exact fractions.
struct AddUp {
    n_slots: u32,
    n_added: usize,
}

impl ForEngine for AddUp {
    fn visit<R: TreeMechanism>(&mut self, engine: &R) {
        let (name, _) = engine.name_and_revision();
        let epsilon = engine.params().whole_epsilon();
        let height = u128::from(engine.params().height.get());
        // A window too short for the paper's allocation is refused from its slots alone, like a configuration.
        let level = match engine.level(self.n_slots) {
            Err(BudgetError::NothingLeft { .. }) => return,
            level => level.unwrap(),
        };
        self.n_added += 1;
        let costs = level.path_costs();
        let dearest = *costs.iter().max().unwrap();
        assert_eq!(dearest * height, epsilon, "{name}: the longest path costs exactly ε");
        assert!(costs.iter().all(|cost| *cost * height <= epsilon), "{name}: none costs more");
        // The scale of every class is the inverse of its share, and the table shows both.
        for share in level.shares() {
            let scale = share.class().scale();
            let inverse = Ratio::new(u128::from(scale.den()), u128::from(scale.num()));
            assert_eq!(share.epsilon(), inverse, "{name}: {}", share.fact().class);
            let shown: Ratio<u128> = share.fact().share.parse().unwrap();
            assert_eq!(shown * epsilon, share.epsilon(), "{name}: {}", share.fact().class);
        }
        assert_eq!(
            engine.forecast(self.n_slots, crate::engine::USUAL_CARDS).shares.len(),
            level.shares().len()
        );
    }
}

proptest! {
    /// Holds G-2.
    /// In exact fractions, for every engine: the longest path costs ε, and none costs more.
    #[test]
    fn the_longest_path_costs_exactly_epsilon_and_none_costs_more(
        micro in 1_u64..20_000_000,
        height in 1_u32..30,
        n_stations in 1_u32..200,
        n_slots in 13_u32..200,
        fanout in 3_u32..12,
        depth in 0_u32..5,
    ) {
        let params = TreeParams {
            epsilon: MicroEpsilon::new(micro),
            height: NonZeroU32::new(height).unwrap(),
            // Thresholds cost nothing; they are tested elsewhere.
            threshold: Threshold::Fixed(1),
            ..params(n_stations)
        };
        let shape = Shape { fanout, height: depth };
        let mut add_up = AddUp { n_slots, n_added: 0 };
        for_each(&params, shape, &mut add_up);
        prop_assert!(add_up.n_added >= 12, "{} engines", add_up.n_added);
    }
}

/// A text that puts every leaf on its way; groups are named by their whole way.
fn written(ways: &[Vec<String>], leaf: impl Fn(usize) -> String) -> Arc<OwnTaxonomy> {
    let mut parents: BTreeMap<String, String> = BTreeMap::new();
    for (at, way) in ways.iter().enumerate() {
        let mut above = String::new();
        for name in way {
            let group = format!("{above}/{name}");
            parents.insert(group.clone(), above);
            above = group;
        }
        parents.insert(leaf(at), above);
    }
    let rows: String = parents.iter().map(|(id, parent)| format!("{id},{parent}\n")).collect();
    Arc::new(OwnTaxonomy::read(&format!("id,parent\n{rows}")))
}

/// Adds up what is asked about one trajectory: the inverse scale of every question whose count has it. Only what has
/// somebody passes.
#[derive(Clone, Default)]
struct Spent(Arc<Mutex<Ratio<u128>>>);

impl NoiseSource for Spent {
    type Node = Self;
    fn node(&self, _: u32, _: u64) -> Self {
        self.clone()
    }
}

impl Noise for Spent {
    fn ask(
        &mut self,
        class: &NodeClass,
        _: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        for candidate in occupied {
            let scale = class.scale();
            *self.0.lock().unwrap() += Ratio::new(u128::from(scale.den()), u128::from(scale.num()));
            kept(candidate.index, candidate.count);
        }
    }
}

/// One trajectory through every level of a tree over taxonomies that somebody wrote.
struct OneCard {
    window: SealedWindow,
    n_checked: usize,
}

impl ForEngine for OneCard {
    fn visit<R: TreeMechanism>(&mut self, engine: &R) {
        let level = engine.level(24).unwrap();
        let (name, _) = engine.name_and_revision();
        let each = engine.params().level_epsilon();
        assert!(level.path_costs().iter().all(|cost| *cost == each), "{name}: every way costs ε/h");
        let spent = Spent::default();
        let rows = noisy_rows(engine, &self.window, &level, &spent);
        assert_eq!(rows.len(), 1, "{name}: the one trajectory");
        let epsilon = engine.params().whole_epsilon();
        assert_eq!(*spent.0.lock().unwrap(), epsilon, "{name}: what is asked about it costs ε");
        self.n_checked += 1;
    }
}

proptest! {
    /// Holds G-2.
    /// Over random uneven taxonomies of one's own every way down costs the same, and what an engine really asks about
    /// one trajectory of full length costs exactly ε, wherever its stations and slots hang.
    #[test]
    fn over_uneven_taxonomies_of_ones_own_a_card_costs_exactly_epsilon(
        micro in 1_u64..20_000_000,
        places in prop::collection::vec(prop::collection::vec("[ab]", 0..6), 40..60),
        times in prop::collection::vec(prop::collection::vec("[ab]", 0..4), 24),
        path in prop::collection::vec((0_u32..40, 0_u32..24), 4),
        fanout in 3_u32..12,
    ) {
        let n_stations = u32::try_from(places.len()).unwrap();
        let mut slots = times;
        slots.sort();
        let places = Places::Own(written(&places, |at| format!("s{at:06}")));
        let times = Times::Own(written(&slots, |at| at.to_string()));
        let epsilon = MicroEpsilon::new(micro);
        let params = TreeParams { epsilon, threshold: Threshold::Fixed(1), ..params(n_stations) };
        let mut path = path;
        path.sort_by_key(|doublet| doublet.1);
        let mut card = OneCard { window: sealed(&[path]), n_checked: 0 };
        for allocation in [Allocation::Paper, Allocation::Even] {
            let (places, times, params) = (places.clone(), times.clone(), params.clone());
            let settings = safepath::Settings { params, allocation, places, times };
            card.visit(&SafePath::new(settings, 24).unwrap());
        }
        for input in [PathKind::Timed, PathKind::Untimed] {
            let groups = Some(Groups { places: places.clone(), fanout });
            let inference = Inference::KeptGroups;
            let settings = hybrid::Settings { params: params.clone(), input, groups, inference };
            card.visit(&Hybrid::new(settings).unwrap());
        }
        prop_assert_eq!(card.n_checked, 4);
    }
}

/// Compares releases made with one, two and seven threads.
struct Threads<'a> {
    window: &'a SealedWindow,
    alone: Option<Vec<Vec<Row>>>,
    seen: Vec<Vec<Row>>,
}

impl ForEngine for Threads<'_> {
    fn visit<R: TreeMechanism>(&mut self, engine: &R) {
        self.seen.push(release(engine, self.window, 7).rows().to_vec());
    }
}

#[test]
fn no_engine_shows_how_many_threads_it_had() {
    let paths: Vec<Path> =
        (0..30_000).map(|i| vec![(i % 9, i % 20), (i % 5, 22), (i % 7, 23)]).collect();
    let window = sealed(&paths);
    let mut threads = Threads { window: &window, alone: None, seen: Vec::new() };
    for n in [1, 2, 7] {
        let params =
            TreeParams { epsilon: MicroEpsilon::new(20_000_000), max_nodes: 200_000, ..params(30) };
        with_threads(n, || for_each(&params, USUAL, &mut threads));
        let seen = std::mem::take(&mut threads.seen);
        match threads.alone.replace(seen) {
            None => {}
            Some(alone) => {
                assert_eq!(Some(&alone), threads.alone.as_ref());
                assert!(alone.iter().all(|rows| !rows.is_empty()), "every engine shows rows");
            }
        }
    }
}

/// Every window the issue calls bad, under every engine: a release, or no engine at all.
struct Endure {
    windows: Vec<SealedWindow>,
    n_releases: usize,
}

impl ForEngine for Endure {
    fn visit<R: TreeMechanism>(&mut self, engine: &R) {
        for window in &self.windows {
            let released = release(engine, window, 3);
            assert!(released.rows().iter().all(|row| row.count > 0));
            let nodes: usize = released.rows().iter().map(|row| row.path.len()).sum();
            assert!(released.rows().len() as u64 <= engine.params().max_nodes, "{nodes}");
            self.n_releases += 1;
        }
    }
}

fn bad_windows() -> Vec<SealedWindow> {
    let identical = vec![vec![(0, 3), (0, 3), (0, 4)]; 500];
    vec![sealed(&[]), sealed(&[vec![(0, 5)]]), sealed(&identical)]
}

/// An empty window, one card, every card the same; one station; ε of one micro; a height beyond every trip;
/// few nodes. Nothing panics, nothing is refused, and the shape of the outcome is always a release.
#[test]
fn bad_input_gives_a_release_like_any_other() {
    for n_stations in [1, 2, 30] {
        for micro in [1, 1_000_000] {
            for (height, max_nodes, threshold) in [
                (12, 500, Threshold::Fixed(1)),
                (3, 20_000, Threshold::OwnNoise),
                (1, 1, Threshold::Fixed(1)),
            ] {
                let mut endure = Endure { windows: bad_windows(), n_releases: 0 };
                let params = TreeParams {
                    epsilon: MicroEpsilon::new(micro),
                    height: NonZeroU32::new(height).unwrap(),
                    max_nodes,
                    threshold,
                    ..params(n_stations)
                };
                for_each(&params, USUAL, &mut endure);
                assert!(endure.n_releases >= 30, "{}", endure.n_releases);
            }
        }
    }
}

#[test]
fn a_hundred_thousand_stations_are_walked_without_being_visited() {
    let mut endure = Endure { windows: bad_windows(), n_releases: 0 };
    let params = TreeParams { max_nodes: 20_000, ..params(100_000) };
    for_each(&params, USUAL, &mut endure);
    assert!(endure.n_releases >= 30);
}
