//! The hybrid-granularity prefix tree (Chen et al. 2012, for the STM): a level is split first by groups of
//! stations, then by stations; and `simple`, its baseline without groups.
//!
//! In → out: a sealed window → consistent noisy counts of whole sequences, or of paths of doublets.
//! Promises: G-1 ε-differential privacy for one card in one window; G-2 the longest path costs exactly ε.
//! Refuses: a fan-out of 2 or less, which leaves nothing for stations, before anything is paid.
//! Why: `PROOF.md` beside this file.
#![doc = include_str!("PROOF.md")]

mod keys;

pub use keys::{REGISTRATION, SIMPLE};

use num_rational::Ratio;

use super::tree::{
    BudgetError, ByPlace, Consistency, Places, PricedTaxonomy, SubLevel, TreeMechanism, TreeParams,
    unfit,
};
use crate::model::{Outline, PathKind};

/// Changes whenever the same input could give other output. Part of the configuration digest.
pub const REVISION: u32 = 1;

const KEY: &str = "engine.hybrid.taxonomy.locations";

/// The groups of a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Groups {
    /// Which stations stand together.
    pub places: Places,
    /// f: one public number, also where groups are uneven. They take 2/f of a level.
    pub fanout: u32,
}

/// What the engine is built from. Checked by [`Hybrid::new`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// What all engines over the tree have.
    pub params: TreeParams,
    /// Places with times, or places alone.
    pub input: PathKind,
    /// The groups; `None` is `simple`.
    pub groups: Option<Groups>,
    /// Whether counts of groups take part in the inference.
    pub inference: Inference,
}

crate::words! {
    /// Over what the inference goes, after footnote 3.
    pub enum Inference {
        /// "With all generalized nodes removed".
        WithoutGroups = "without-groups",
        /// With generalized nodes.
        KeptGroups = "kept-groups",
    }
}

/// The engine. Cannot be built wrong.
#[derive(Debug)]
pub struct Hybrid {
    settings: Settings,
    places: PricedTaxonomy,
}

impl Hybrid {
    /// Checks the settings against the station list.
    pub fn new(settings: Settings) -> Result<Self, Vec<BudgetError>> {
        let params = &settings.params;
        let level = params.level_epsilon();
        let leaves_are = match settings.input {
            PathKind::Timed => "doublets",
            PathKind::Untimed => "locations",
        };
        let sub_level = SubLevel { key: KEY, leaves_are, epsilon: level };
        let places = match settings.groups {
            None => PricedTaxonomy::flat(params, sub_level, params.stations.len()),
            Some(Groups { fanout, .. }) if fanout <= 2 => {
                Err(BudgetError::Fanout { key: KEY, fanout })
            }
            Some(Groups { ref places, fanout }) => {
                let taxonomy = places.taxonomy(&params.stations);
                let taxonomy = taxonomy.map_err(|complaints| unfit(KEY, complaints))?;
                // Lines 2 and 3 of PROOF.md: all general sub-levels together 2/f of a level, each the same.
                let parts = u128::from(fanout) * u128::from(taxonomy.height());
                let general = move |_| level * Ratio::new(2, parts);
                PricedTaxonomy::new(params, sub_level, taxonomy, general)
            }
        };
        let places = places.map_err(|error| vec![error])?;
        Ok(Self { settings, places })
    }
}

impl TreeMechanism for Hybrid {
    type Level<'a> = ByPlace<'a>;

    fn name_and_revision(&self) -> (&'static str, u32) {
        (if self.settings.groups.is_some() { "hybrid" } else { "simple" }, REVISION)
    }

    fn params(&self) -> &TreeParams {
        &self.settings.params
    }

    fn own_parameters(&self) -> Vec<(&'static str, String)> {
        let input = match self.settings.input {
            PathKind::Timed => "doublets",
            PathKind::Untimed => "sequences",
        };
        let mut parameters = vec![("input", input.to_owned())];
        if let Some(Groups { places, fanout }) = &self.settings.groups {
            parameters.push(("taxonomy.locations", places.to_string()));
            parameters.push(("taxonomy.fanout", fanout.to_string()));
        }
        // Said only where it is not the usual one: other releases stay byte by byte what they were.
        if self.settings.inference == Inference::KeptGroups {
            parameters.push(("inference", self.settings.inference.to_string()));
        }
        parameters
    }

    fn lowered(&self, _: u32) -> Vec<String> {
        let groups = self.settings.groups.as_ref();
        groups
            .and_then(|groups| groups.places.lowered(&self.settings.params.stations))
            .into_iter()
            .collect()
    }

    fn outlines(&self, _: u32) -> Vec<Outline> {
        let Settings { params, groups, .. } = &self.settings;
        let station = Places::leaf_name(&params.stations);
        let shown = |_| Outline::new("taxonomy.locations", self.places.taxonomy(), &station);
        groups.iter().map(shown).collect()
    }

    fn input(&self) -> PathKind {
        self.settings.input
    }

    fn consistency(&self) -> Consistency {
        match self.settings.inference {
            Inference::WithoutGroups => Consistency::TwoPhase,
            Inference::KeptGroups => Consistency::TwoPhaseWithGroups,
        }
    }

    fn level(&self, n_slots: u32) -> Result<ByPlace<'_>, BudgetError> {
        let n_slots = (self.settings.input == PathKind::Timed).then_some(n_slots);
        let keeps_groups = self.settings.inference == Inference::KeptGroups;
        Ok(ByPlace { places: &self.places, n_slots, keeps_groups })
    }
}

#[cfg(test)]
mod tests;
