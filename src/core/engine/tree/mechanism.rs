//! An engine over the tree says how a level is split and priced; everything else is the same for all of them.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use num_rational::Ratio;

use super::{
    BudgetError, Consistency, Growth, Share, Splitter, Threshold, expected_nodes, grow, rows,
};
use crate::engine::noise::{NodeClass, NoiseSource};
use crate::engine::{
    AuditOutput, Draft, Engine, EngineDescription, Error, ExpectedError, Forecast, Guarantee,
    Release, Row, UniverseFacts,
};
use crate::ledger::{AuditPermit, Permit};
use crate::model::{Cost, Digest, MicroEpsilon, PathKind, Stations, Window};
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
    rows(&grow(window.trajectories(), level, growth, source), mechanism.consistency())
}

/// Does all an engine does, for an auditor: any noise, and an output that no sink accepts.
pub(crate) fn run_audited<R: TreeMechanism, S: NoiseSource>(
    mechanism: &R,
    window: &SealedWindow,
    permit: AuditPermit,
    source: &S,
) -> Result<AuditOutput, Error> {
    let level = fitting_level(mechanism, window.window())?;
    Ok(AuditOutput::new(permit, noisy_rows(mechanism, window, &level, source)))
}

fn fitting_level<'a, R: TreeMechanism>(
    mechanism: &'a R,
    window: &Window,
) -> Result<R::Level<'a>, Error> {
    let level = mechanism.level(window.n_slots()).map_err(|error| Error::Configuration {
        window: window.name(),
        complaint: error.to_string(),
    })?;
    let params = mechanism.params();
    let height = u128::from(params.height.get());
    assert!(
        level.path_costs().iter().all(|cost| *cost * height <= params.whole_epsilon()),
        "T-1: no path of the tree costs more than epsilon"
    );
    Ok(level)
}

fn draft<R: TreeMechanism>(
    mechanism: &R,
    level: &R::Level<'_>,
    rows: Vec<Row>,
    window: &Window,
) -> Draft {
    let (params, leaf) = (mechanism.params(), level.leaf());
    Draft {
        rows,
        input: mechanism.input(),
        guarantee: Guarantee::Differential {
            epsilon_micro: params.epsilon,
            unit: format!(
                "one card's whole trajectory in one window, at most its first {} doublets",
                params.max_length
            ),
            neighbouring: "one card added or removed (replacing one costs twice as much)"
                .to_owned(),
        },
        engine: mechanism.describe(),
        shares: level.shares().iter().map(Share::fact).collect(),
        universe: UniverseFacts {
            stations_sha256: params.stations.digest(),
            taxonomy_sha256: level.taxonomy_digest(),
            slots: window.n_slots(),
        },
        post_processing: mechanism.consistency().in_words(),
        expected_error: Some(ExpectedError {
            count_standard_deviation: leaf.scale().approximately() * std::f64::consts::SQRT_2,
            smallest_count_likely_kept: leaf.threshold(),
            false_children_per_empty_node: level.false_children(),
        }),
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

    fn forecast(&self, n_slots: u32) -> Forecast {
        let Ok(level) = self.level(n_slots) else { return Forecast::default() };
        let false_children = level.false_children();
        let height = self.params().height.get();
        Forecast {
            shares: level.shares().iter().map(Share::fact).collect(),
            false_children: Some(false_children),
            expected_nodes: Some(expected_nodes(false_children, height)),
        }
    }

    fn price(&self) -> Cost {
        Cost::differential(self.params().epsilon)
    }

    fn check_window(&self, window: &Window) -> Result<(), Error> {
        fitting_level(self, window).map(|_| ())
    }

    fn sanitize(
        &self,
        window: &SealedWindow,
        permit: Permit,
        key: &NoiseKey,
    ) -> Result<Release, Error> {
        let level = fitting_level(self, window.window())?;
        let rows = noisy_rows(self, window, &level, key);
        let draft = draft(self, &level, rows, window.window());
        Release::new(self, window, permit, draft)
    }
}
