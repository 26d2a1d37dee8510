//! What a release promises: the type, its words, and an independent check of promises that rows alone can break.
//!
//! In → out: an engine's [`Guarantee`]; paths with counts → nothing, or the first [`Breach`].
//! Promises: Q-1 the check shares no code with the engines; Q-2 every breach of the definition is found; Q-3 memory
//! grows
//!   with the rows, not with the sequences that can be made from them.
//! Refuses: nothing; it only looks.
//! Why: what is promised, what is said about it and how it is checked must be one thing.

mod check;
mod words;

pub use check::{Breach, Trip, lk, projection};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::MicroEpsilon;

/// What the release promises. The serialized names are those of the manifest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "model")]
pub enum Guarantee {
    /// ε-differential privacy.
    #[serde(rename = "differential-privacy")]
    Differential {
        /// ε in millionths.
        epsilon_micro: MicroEpsilon,
        /// What one unit of privacy is.
        unit: String,
        /// What neighbouring means.
        neighbouring: String,
    },
    /// LK-privacy: what an adversary knows of a card, if at most L doublets, fits at least K cards.
    #[serde(rename = "lk")]
    Lk {
        /// How many doublets an adversary knows.
        #[serde(rename = "L")]
        l: u32,
        /// How many trajectories share them.
        #[serde(rename = "K")]
        k: u32,
        /// Always false.
        dp: bool,
        /// What one unit of privacy is.
        unit: String,
    },
    /// No adversary infers a place of others with more than this probability.
    #[serde(rename = "projection")]
    Projection {
        /// The probability, an exact decimal.
        #[serde(rename = "P_br")]
        breach: String,
        /// Every adversary with the ids of its stations.
        adversaries: BTreeMap<String, Vec<String>>,
        /// Always false.
        dp: bool,
        /// What one unit of privacy is.
        unit: String,
    },
    /// Nothing is promised.
    #[serde(rename = "none")]
    Nothing {
        /// Always false.
        dp: bool,
        why: String,
    },
}

impl Guarantee {
    /// ε for one card in one window, of which so many doublets count.
    pub fn differential(epsilon: MicroEpsilon, max_length: std::num::NonZeroU32) -> Self {
        Self::Differential {
            epsilon_micro: epsilon,
            unit: format!(
                "one card's whole trajectory in one window, at most its first {max_length} doublets"
            ),
            neighbouring: "one card added or removed (replacing one costs twice as much)"
                .to_owned(),
        }
    }
}
