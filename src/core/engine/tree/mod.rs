//! The noisy prefix tree under every differentially private engine.
//!
//! In → out: trajectories + how a level is split and priced + noise → nodes with noisy counts → rows.
//! Promises: T-1 which questions are asked at a node depends on noisy answers and configuration only;
//!   T-2 the result does not depend on the number of threads; T-3 released counts are whole numbers and
//!   children never exceed their parent.
//! Refuses: nothing; `max_nodes` truncates in a fixed order, and the price stays paid.
//! Why: `PROOF.md` beside this file.
#![doc = include_str!("PROOF.md")]

mod budget;
mod by_place;
mod consistent;
mod grow;
mod growth;
mod keys;
mod mechanism;
mod shape;
mod walk;
mod with_groups;

pub use budget::{BudgetError, PricedTaxonomy, Share, SubLevel, Threshold};
pub use by_place::ByPlace;
pub use consistent::{Consistency, rows};
pub use grow::{Growth, KeptGroup};
pub(crate) use grow::{Tree, grow};
pub use growth::{expected_nodes, false_children};
pub use keys::{TreeKeys, audit_keys, built};
#[cfg(test)]
pub(crate) use mechanism::noisy_rows;
pub use mechanism::{Level, TreeMechanism, TreeParams};
pub use shape::{Places, Shape, Times, unfit};
pub use walk::{Cell, Classes, Found, GroupIx, PassedGroup, Universe, walk, walk_through};

use crate::model::Doublet;

/// A trajectory at the node being split: its next doublet by rank and slot, and which one it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Item {
    /// The next station's rank in the location taxonomy.
    pub rank: u32,
    /// The next slot.
    pub slot: u32,
    /// The trajectory's number.
    pub ix: u32,
}

/// A child that passed: what it stands for, its noisy count, and the items that are below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChildNode {
    /// Place and slot.
    pub doublet: Doublet,
    /// Noisy count, at least the threshold.
    pub noisy: u64,
    /// From this item on …
    pub from: u32,
    /// … up to but without this one.
    pub to: u32,
    /// The group that it passed through last, if groups are kept.
    pub group: Option<GroupIx>,
}

/// What passed below one node.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Children {
    /// Places, or doublets.
    pub nodes: Vec<ChildNode>,
    /// The groups on the way to them, and those below which nothing passed; empty where groups are not kept.
    pub groups: Vec<PassedGroup>,
}

/// How an engine splits one node: the only thing the engines differ in.
pub trait Splitter: Sync {
    /// Where the next doublet of a trajectory lies in the engine's eyes: the station's rank in the location
    /// taxonomy, and the slot (always 0 for an engine that sees no times).
    fn rank(&self, next: Doublet) -> (u32, u32);

    /// Splits a node whose path ends in slot `min_slot`; pushes what passes. `items` may be reordered.
    fn split(
        &self,
        items: &mut [Item],
        min_slot: u32,
        noise: &mut impl super::noise::Noise,
        children: &mut Children,
    );
}

/// One node of a grown tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// The parent's place in the level above; 0 at the first level.
    pub parent: u32,
    /// Place and slot.
    pub doublet: Doublet,
    /// Noisy count.
    pub noisy: u64,
    /// The group right above it in its level, if groups are kept.
    pub group: Option<GroupIx>,
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
