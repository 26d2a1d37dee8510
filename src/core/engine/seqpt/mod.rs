//! SeqPT (the baseline in Al-Hussaeni et al. 2018, 5.2): one flat candidate set of all doublets under every
//! node. It exists to be measured against.
//!
//! In → out: a sealed window → consistent noisy counts of whole paths.
//! Promises: G-1 ε-differential privacy for one card in one window; G-2 the longest path costs exactly ε.
//! Refuses: nothing by itself; the configuration refuses a tree that noise alone would fill.
//! Why: `PROOF.md` beside this file.
#![doc = include_str!("PROOF.md")]

mod keys;

pub use keys::REGISTRATION;

use super::tree::{
    BudgetError, ByPlace, Consistency, PricedTaxonomy, SubLevel, TreeMechanism, TreeParams,
};
use crate::model::PathKind;

/// Changes whenever the same input could give other output. Part of the configuration digest.
pub const REVISION: u32 = 1;

/// The engine. Cannot be built wrong.
#[derive(Debug)]
pub struct SeqPt {
    params: TreeParams,
    places: PricedTaxonomy,
}

impl SeqPt {
    /// Checks the settings.
    pub fn new(params: TreeParams) -> Result<Self, BudgetError> {
        let epsilon = params.level_epsilon();
        let sub_level = SubLevel { key: "engine.epsilon", leaves_are: "doublets", epsilon };
        let places = PricedTaxonomy::flat(&params, sub_level, params.stations.len())?;
        Ok(Self { params, places })
    }
}

impl TreeMechanism for SeqPt {
    type Level<'a> = ByPlace<'a>;

    fn name_and_revision(&self) -> (&'static str, u32) {
        ("seqpt", REVISION)
    }

    fn params(&self) -> &TreeParams {
        &self.params
    }

    fn own_parameters(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn input(&self) -> PathKind {
        PathKind::Timed
    }

    fn consistency(&self) -> Consistency {
        Consistency::TopDown
    }

    fn level(&self, n_slots: u32) -> Result<ByPlace<'_>, BudgetError> {
        Ok(ByPlace { places: &self.places, n_slots: Some(n_slots), keeps_groups: false })
    }
}

#[cfg(test)]
mod tests;
