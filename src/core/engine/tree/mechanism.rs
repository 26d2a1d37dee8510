//! An engine over the tree says how a level is split and priced; everything else is the same for all of them.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use num_rational::Ratio;

use super::{BudgetError, Consistency, Growth, Share, Splitter, Threshold, expected_nodes, grow};
use crate::engine::noise::{AnyNoise, Borrowed, NodeClass, NoiseSource};
use crate::engine::{
    Draft, Engine, EngineDescription, Error, ExpectedError, Figure, Forecast, Guarantee, Reading,
    Recorded, Row, UniverseFacts,
};
use crate::model::{Cost, Digest, MicroEpsilon, Outline, PathKind, Stations, Window};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;

/// What every engine over the tree is built from.
#[derive(Clone, Debug)]
pub struct TreeParams {
    /// ε of one release.
    pub epsilon: MicroEpsilon,
    /// Levels of the tree.
    pub height: NonZeroU32,
    /// When a node is kept.
    pub threshold: Threshold,
    /// Noisy nodes in all.
    pub max_nodes: u64,
    /// How many doublets of a card count; for the words of the guarantee.
    pub max_length: NonZeroU32,
    /// The public stations.
    pub stations: Arc<Stations>,
}

impl TreeParams {
    /// ε, as a fraction.
    pub fn whole_epsilon(&self) -> Ratio<u128> {
        Ratio::new(u128::from(self.epsilon.micro()), 1_000_000)
    }

    /// ε/h: what one level of the tree may cost.
    pub fn level_epsilon(&self) -> Ratio<u128> {
        self.whole_epsilon() / u128::from(self.height.get())
    }
}

/// How an engine splits every level of a window's tree, and what that costs.
pub trait Level: Splitter {
    /// Every class of nodes with its share.
    fn shares(&self) -> Vec<Share>;

    /// What each way through one level costs, from general nodes to the leaf.
    fn path_costs(&self) -> Vec<Ratio<u128>>;

    /// Paths per empty node that noise alone makes up; a float, for words.
    fn false_children(&self) -> f64;

    /// The class that a path's own count is asked with.
    fn leaf(&self) -> &NodeClass;

    /// A digest of every taxonomy it uses.
    fn taxonomy_digest(&self) -> Digest;
}

/// An engine over the tree.
pub trait TreeMechanism: Send + Sync + fmt::Debug {
    /// How it splits a level.
    type Level<'a>: Level
    where
        Self: 'a;

    /// Its name in the configuration, and its revision: another one whenever the same input could give other
    /// output.
    fn name_and_revision(&self) -> (&'static str, u32);

    /// What all such engines have.
    fn params(&self) -> &TreeParams;

    /// Its other parameters, name and value.
    fn own_parameters(&self) -> Vec<(&'static str, String)>;

    /// What of its taxonomies is lower than was asked for, in words.
    fn lowered(&self, _n_slots: u32) -> Vec<String> {
        Vec::new()
    }

    /// Its taxonomies for a window with so many slots, for people.
    fn outlines(&self, _n_slots: u32) -> Vec<Outline> {
        Vec::new()
    }

    /// Places with times, or places alone.
    fn input(&self) -> PathKind;

    /// How noisy counts are made consistent.
    fn consistency(&self) -> Consistency;

    /// The levels of a window with so many slots; no other property of the window is known here.
    fn level(&self, n_slots: u32) -> Result<Self::Level<'_>, BudgetError>;
}

/// The rows of a window under any source of noise. Public numbers come out; the trajectories stay.
pub(crate) fn noisy_rows<R: TreeMechanism, S: NoiseSource>(
    mechanism: &R,
    window: &SealedWindow,
    level: &R::Level<'_>,
    source: &S,
) -> Vec<Row> {
    let params = mechanism.params();
    let growth = Growth { height: params.height.get(), max_nodes: params.max_nodes };
    grow(window.trajectories(), level, growth, source).rows(mechanism.consistency())
}

fn fitting_level<'a, R: TreeMechanism>(
    mechanism: &'a R,
    window: &Window,
) -> Result<R::Level<'a>, Error> {
    let level = mechanism.level(window.n_slots()).map_err(|error| Error::Configuration {
        window: window.name(),
        complaint: format!("{}: {error}", error.key()),
    })?;
    let params = mechanism.params();
    let height = u128::from(params.height.get());
    assert!(
        level.path_costs().iter().all(|cost| *cost * height <= params.whole_epsilon()),
        "T-1: no path of the tree costs more than epsilon"
    );
    Ok(level)
}

/// What error to expect from a level: a leaf's noise, its threshold, and how noise alone grows.
fn expected_error(level: &impl Level) -> ExpectedError {
    let leaf = level.leaf();
    // A path shows only if every group above it does: the highest threshold on its way decides.
    let highest = level.shares().iter().map(Share::threshold).max().unwrap_or(leaf.threshold());
    let figure = |name, value, about| Figure { name, value, about };
    ExpectedError {
        figures: vec![
            figure(
                ExpectedError::DEVIATION,
                leaf.scale().approximately() * std::f64::consts::SQRT_2,
                "standard deviation of the noise on one path's count",
            ),
            figure(
                ExpectedError::LIKELY_KEPT,
                highest as f64,
                "a path with fewer passengers is more likely missing than not",
            ),
            figure(
                "false_paths_per_empty_path",
                level.false_children(),
                "paths that noise makes up below every empty one",
            ),
        ],
    }
}

impl<R: TreeMechanism> Engine for R {
    fn describe(&self) -> EngineDescription {
        let params = self.params();
        let (name, version) = self.name_and_revision();
        let parameters = [
            ("epsilon", params.epsilon.to_string()),
            ("height", params.height.to_string()),
            ("threshold", params.threshold.to_string()),
            ("max_nodes", params.max_nodes.to_string()),
            ("max_length", params.max_length.to_string()),
        ];
        let all = parameters.into_iter().chain(self.own_parameters());
        let parameters = all.map(|(name, value)| (name.to_owned(), value)).collect();
        EngineDescription { name, version, parameters }
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::differential(self.params().epsilon, self.params().max_length)
    }

    fn forecast(&self, n_slots: u32, _: u64) -> Forecast {
        let Ok(level) = self.level(n_slots) else { return Forecast::default() };
        let false_children = level.false_children();
        let nodes = expected_nodes(false_children, self.params().height.get());
        let growth = format!(
            "noise alone makes up {false_children:.1} paths below every empty one, about {nodes:.0} in all: use a \
             taxonomy, a lower height or a higher threshold"
        );
        Forecast {
            shares_of: "every class of tree nodes, with its share of epsilon on a path",
            shares: level.shares().iter().map(Share::fact).collect(),
            expected_error: Some(expected_error(&level)),
            warnings: (false_children > 1.0)
                .then_some(growth)
                .into_iter()
                .chain(self.lowered(n_slots))
                .collect(),
        }
    }

    fn taxonomies(&self, n_slots: u32) -> Vec<Outline> {
        self.outlines(n_slots)
    }

    fn price(&self) -> Cost {
        Cost::differential(self.params().epsilon)
    }

    fn check_window(&self, window: &Window) -> Result<(), Error> {
        fitting_level(self, window).map(|_| ())
    }

    fn draft(&self, window: &SealedWindow, key: &NoiseKey) -> Result<Draft, Error> {
        let level = fitting_level(self, window.window())?;
        let error = expected_error(&level);
        Ok(Draft {
            rows: noisy_rows(self, window, &level, key),
            input: self.input(),
            guarantee: self.guarantee(),
            engine: self.describe(),
            shares: level.shares().iter().map(Share::fact).collect(),
            universe: UniverseFacts {
                stations_sha256: self.params().stations.digest(),
                taxonomy_sha256: level.taxonomy_digest(),
                slots: window.window().n_slots(),
            },
            post_processing: self.consistency().in_words(),
            reading: Reading::noisy(&error),
            expected_error: Some(error),
            tables: None,
        })
    }

    fn recorded(
        &self,
        window: &SealedWindow,
        noise: &dyn AnyNoise,
    ) -> Option<Result<Recorded, Error>> {
        let rows = |level| noisy_rows(self, window, &level, &Borrowed(noise)).into();
        Some(fitting_level(self, window.window()).map(rows))
    }
}
