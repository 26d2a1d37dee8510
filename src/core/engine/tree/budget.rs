//! What every class of nodes costs: exact fractions from the budget to the threshold.
//!
//! An engine says what a sub-level may cost and what a general node of each depth takes of it. A leaf gets what
//! its own ancestors left, so every path through a sub-level costs the same, however uneven the taxonomy.

use std::fmt;

use num_bigint::BigUint;
use num_rational::Ratio;

use super::{Classes, TreeParams, Universe};
use crate::engine::ShareFact;
use crate::engine::noise::{NodeClass, Scale};
use crate::model::{Child, Digest, Taxonomy, TaxonomyError};

/// When a noisy count is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// 2√2 times a leaf's own scale, 4√2 times a general node's own.
    OwnNoise,
    /// The same multiples of the level's scale, as safepath-2018 prints it (its erratum 3: much too low).
    LevelNoise,
    /// A public number, at least 1.
    Fixed(u64),
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnNoise => f.write_str("own-noise"),
            Self::LevelNoise => f.write_str("level-noise"),
            Self::Fixed(threshold) => write!(f, "{threshold}"),
        }
    }
}

/// Why a taxonomy cannot be paid for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BudgetError {
    /// General nodes take everything (erratum 2 of safepath-2018).
    #[error(
        "a height of {height} leaves no budget for the {n_leaves} leaves under allocation = \
         \"paper\", where height*(height+1) must be less than the number of leaves; the largest height that \
         fits is {fits}"
    )]
    NothingLeft {
        /// The configuration key.
        key: &'static str,
        /// The height asked for.
        height: u32,
        /// The universe.
        n_leaves: u32,
        /// The largest height that works.
        fits: u32,
    },
    /// 2/f of a level for groups is all of it.
    #[error(
        "a fan-out of {fanout} leaves no budget for stations: groups take 2/fan-out of every level; \
         use 3 or more, or engine.name = \"simple\", which has no groups"
    )]
    Fanout {
        /// The configuration key.
        key: &'static str,
        /// The fan-out asked for.
        fanout: u32,
    },
    /// It does not fit the stations or the slots.
    #[error("{complaint}")]
    Unfit {
        /// The configuration key.
        key: &'static str,
        /// Why, in words.
        complaint: String,
    },
    /// The numbers are beyond the exact arithmetic.
    #[error("epsilon is too small for this height and universe; raise epsilon or lower the height")]
    TooFine {
        /// The configuration key.
        key: &'static str,
    },
}

impl BudgetError {
    /// The configuration key that it is about.
    pub fn key(&self) -> &'static str {
        match self {
            Self::NothingLeft { key, .. }
            | Self::Fanout { key, .. }
            | Self::Unfit { key, .. }
            | Self::TooFine { key } => key,
        }
    }
}

/// One class of nodes with its share of the budget.
#[derive(Clone, Debug)]
pub struct Share {
    leaves_are: &'static str,
    kind: NodeKind,
    share: Ratio<u128>,
    of_epsilon: Ratio<u128>,
    class: NodeClass,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NodeKind {
    General { depth: u32 },
    Leaf { below: u32 },
}

impl Share {
    /// From which noisy count on a node of the class is kept.
    pub fn threshold(&self) -> u64 {
        self.class.threshold()
    }

    /// The share in ε, an exact fraction.
    pub fn epsilon(&self) -> Ratio<u128> {
        self.share
    }

    /// For general nodes their depth; `None` for leaves.
    pub fn general_depth(&self) -> Option<u32> {
        match self.kind {
            NodeKind::General { depth } => Some(depth),
            NodeKind::Leaf { .. } => None,
        }
    }

    /// For leaves the depth of the node they hang from; `None` for general nodes.
    pub fn leaf_below(&self) -> Option<u32> {
        match self.kind {
            NodeKind::Leaf { below } => Some(below),
            NodeKind::General { .. } => None,
        }
    }

    /// Scale and threshold.
    pub fn class(&self) -> &NodeClass {
        &self.class
    }

    /// As it stands in the manifest.
    pub fn fact(&self) -> ShareFact {
        let of = self.leaves_are;
        let class = match self.kind {
            NodeKind::General { depth } => format!("{of}: groups of depth {depth}"),
            NodeKind::Leaf { below: 0 } => format!("{of}: leaves without a group"),
            NodeKind::Leaf { below } => format!("{of}: leaves in groups of depth {below}"),
        };
        ShareFact {
            class,
            share: self.of_epsilon.to_string(),
            scale: Ratio::new(self.class.scale().num(), self.class.scale().den()).to_string(),
            threshold: self.class.threshold(),
        }
    }
}

/// What one sub-level may cost, and where the words come from.
#[derive(Clone, Copy, Debug)]
pub struct SubLevel {
    /// The configuration key of its taxonomy, for complaints.
    pub key: &'static str,
    /// What its leaves are, for the table of shares.
    pub leaves_are: &'static str,
    /// What a path through it may cost.
    pub epsilon: Ratio<u128>,
}

/// A taxonomy with the share of every class of its nodes.
#[derive(Clone, Debug)]
pub struct PricedTaxonomy {
    taxonomy: Taxonomy,
    shares: Vec<Share>,
    classes: Classes,
}

impl PricedTaxonomy {
    /// Prices a taxonomy: a general node of depth d takes `general(d)`, a leaf what is left.
    pub fn new(
        params: &TreeParams,
        sub_level: SubLevel,
        taxonomy: Taxonomy,
        general: impl Fn(u32) -> Ratio<u128>,
    ) -> Result<Self, BudgetError> {
        let mut shares = Vec::new();
        let mut left = sub_level.epsilon;
        for depth in 0..=taxonomy.height() {
            if depth > 0 {
                left -= general(depth);
                let kind = NodeKind::General { depth };
                shares.push(priced(params, sub_level, kind, general(depth))?);
            }
            if has_leaves_below(&taxonomy, depth) {
                let kind = NodeKind::Leaf { below: depth };
                shares.push(priced(params, sub_level, kind, left)?);
            }
        }
        let classes = classes(&shares);
        Ok(Self { taxonomy, shares, classes })
    }

    /// So many leaves without groups: each takes all of it.
    pub fn flat(
        params: &TreeParams,
        sub_level: SubLevel,
        n_leaves: u32,
    ) -> Result<Self, BudgetError> {
        let empty = |error: TaxonomyError| BudgetError::Unfit {
            key: sub_level.key,
            complaint: error.to_string(),
        };
        let flat = Taxonomy::flat(n_leaves).map_err(empty)?;
        Self::new(params, sub_level, flat, |_| sub_level.epsilon)
    }

    /// The taxonomy.
    pub fn taxonomy(&self) -> &Taxonomy {
        &self.taxonomy
    }

    /// Every class with its share.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// The class of the deepest leaves.
    pub fn leaf(&self) -> &NodeClass {
        self.classes.leaf.last().expect("a taxonomy has leaves")
    }

    /// What every way from the root to a leaf costs, added up share by share; each cost once a group.
    pub fn path_costs(&self) -> Vec<Ratio<u128>> {
        let of = |wanted: &dyn Fn(&Share) -> bool| {
            self.shares.iter().find(|share| wanted(share)).map(Share::epsilon)
        };
        let mut costs = Vec::new();
        for node in self.taxonomy.nodes() {
            let depth = self.taxonomy.depth(node);
            let last = self.taxonomy.child(node, self.taxonomy.n_children(node) - 1);
            if self.taxonomy.is_mixed(node) || matches!(last, Child::Leaf(_)) {
                let above = (1..=depth).filter_map(|d| of(&|s| s.general_depth() == Some(d)));
                let leaf = of(&|share| share.leaf_below() == Some(depth));
                costs.push(above.chain(leaf).sum());
            }
        }
        costs
    }

    /// A digest of the taxonomy.
    pub fn digest(&self) -> Digest {
        self.taxonomy.digest()
    }

    /// What is walked over: leaves from `min_rank` on, each standing for `width` cells.
    pub fn universe(&self, min_rank: u32, width: u32) -> Universe<'_> {
        Universe { taxonomy: &self.taxonomy, classes: &self.classes, min_rank, width }
    }
}

fn priced(
    params: &TreeParams,
    sub_level: SubLevel,
    kind: NodeKind,
    share: Ratio<u128>,
) -> Result<Share, BudgetError> {
    let SubLevel { key, leaves_are, .. } = sub_level;
    let too_fine = BudgetError::TooFine { key };
    let scale = Scale::for_epsilon(share).ok_or(too_fine.clone())?;
    // θ² = 8s² for leaves, 32s² for general nodes: (2√2·s)² and (4√2·s)².
    let factor = if matches!(kind, NodeKind::Leaf { .. }) { 8 } else { 32 };
    let threshold = match params.threshold {
        Threshold::Fixed(threshold) => Some(threshold),
        Threshold::OwnNoise => root_multiple(factor, scale),
        Threshold::LevelNoise => Scale::for_epsilon(params.level_epsilon())
            .and_then(|scale| root_multiple(factor, scale)),
    };
    let class = NodeClass::new(scale, threshold.ok_or(too_fine)?);
    let of_epsilon = share / params.whole_epsilon();
    Ok(Share { leaves_are, kind, share, of_epsilon, class })
}

/// The classes the walk asks by; a depth without leaves gets the class of the next depth that has some.
fn classes(shares: &[Share]) -> Classes {
    let of = |wanted: &dyn Fn(&Share) -> bool| shares.iter().find(|share| wanted(share));
    let height = shares.iter().filter_map(Share::general_depth).max().unwrap_or(0);
    let last = shares.iter().rfind(|share| share.leaf_below().is_some());
    let last = last.expect("a taxonomy has leaves");
    Classes {
        general: (1..=height)
            .map(|depth| of(&|share| share.general_depth() == Some(depth)))
            .map(|share| share.expect("every depth up to the height has a share").class.clone())
            .collect(),
        leaf: (0..=height)
            .map(|below| {
                of(&|share| share.leaf_below() == Some(below)).unwrap_or(last).class.clone()
            })
            .collect(),
    }
}

fn has_leaves_below(taxonomy: &Taxonomy, depth: u32) -> bool {
    taxonomy.nodes().filter(|&node| taxonomy.depth(node) == depth).any(|node| {
        let last = taxonomy.n_children(node) - 1;
        taxonomy.is_mixed(node) || matches!(taxonomy.child(node, last), Child::Leaf(_))
    })
}

/// ⌈√factor · scale⌉, exactly: the smallest θ with θ²·den² ≥ factor·num².
fn root_multiple(factor: u32, scale: Scale) -> Option<u64> {
    let (num, den) = (BigUint::from(scale.num()), BigUint::from(scale.den()));
    let (top, bottom) = (&num * &num * factor, &den * &den);
    let square = (top + &bottom - 1_u32) / bottom;
    let root = square.sqrt();
    let up = if &root * &root < square { root + 1_u32 } else { root };
    u64::try_from(up).ok()
}
