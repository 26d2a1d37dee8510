//! How ε is split: exact fractions from the budget to the threshold.
//!
//! Lines as in PROOF.md. ε_level = ε/h; a level has two sub-levels of ε_s = ε_level/2 each. Inside a
//! sub-level a general node of depth d gets ε_g(d), and a leaf gets what its own ancestors left of ε_s.

use std::fmt;

use num_bigint::BigUint;
use num_rational::Ratio;

use super::{Places, Settings, Shape, Times};
use crate::engine::ShareFact;
use crate::engine::noise::{NodeClass, Scale};
use crate::engine::tree::Classes;
use crate::model::{MicroEpsilon, Taxonomy};

/// When a noisy count is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// 2√2 times a leaf's own scale, 4√2 times a general node's own.
    OwnNoise,
    /// The same multiples of the level's scale, as the paper prints it (erratum 3: much too low).
    LevelNoise,
    /// A public number, at least 1.
    Fixed(u64),
}

/// How a sub-level's share is split over the depths of its taxonomy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allocation {
    /// ε_g(d) = d·2ε_s/|U|: the paper's.
    Paper,
    /// ε_g(d) = ε_s/(H+1): every depth the same.
    Even,
}

/// Why a taxonomy cannot be paid for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BudgetError {
    /// General nodes take everything (erratum 2).
    #[error(
        "{key}: a height of {height} leaves no budget for the {n_leaves} leaves under allocation = \
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
    /// The numbers are beyond the exact arithmetic.
    #[error(
        "{key}: epsilon is too small for this height and universe; raise epsilon or lower the height"
    )]
    TooFine {
        /// The configuration key.
        key: &'static str,
    },
}

/// One class of nodes with its share of the budget.
#[derive(Clone, Debug)]
pub struct Share {
    key: &'static str,
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

    /// The configuration key of the taxonomy it belongs to.
    pub fn key(&self) -> &'static str {
        self.key
    }

    /// Scale and threshold.
    pub fn class(&self) -> &NodeClass {
        &self.class
    }

    /// As it stands in the manifest.
    pub fn fact(&self) -> ShareFact {
        let of = if self.key.ends_with("times") { "times" } else { "locations" };
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

/// The largest height that leaves something for the leaves: H(H+1) < |U|.
pub fn largest_height(n_leaves: u32) -> u32 {
    let fits = |height: u64| height * (height + 1) < u64::from(n_leaves);
    (1..).take_while(|&height| fits(height)).last().map_or(0, |height| {
        u32::try_from(height).expect("below the square root of a 32-bit number")
    })
}

impl Settings {
    /// The share of every class of nodes in a taxonomy whose configured height is `asked`.
    pub(super) fn shares(
        &self,
        key: &'static str,
        taxonomy: &Taxonomy,
        asked: Option<u32>,
    ) -> Result<Vec<Share>, BudgetError> {
        let n_leaves = taxonomy.n_leaves();
        let height = asked.unwrap_or(0).max(taxonomy.height());
        if self.allocation == Allocation::Paper && height > largest_height(n_leaves) && height > 0 {
            let fits = largest_height(n_leaves);
            return Err(BudgetError::NothingLeft { key, height, n_leaves, fits });
        }
        let sub_level = sub_level_epsilon(self.epsilon, self.height.get());
        let general = |depth: u32| match self.allocation {
            Allocation::Paper => {
                sub_level * Ratio::new(2 * u128::from(depth), u128::from(n_leaves))
            }
            Allocation::Even => sub_level / (u128::from(taxonomy.height()) + 1),
        };
        let mut shares = Vec::new();
        let mut left = sub_level;
        for depth in 0..=taxonomy.height() {
            if depth > 0 {
                left -= general(depth);
                shares.push((NodeKind::General { depth }, general(depth)));
            }
            if has_leaves_below(taxonomy, depth) {
                shares.push((NodeKind::Leaf { below: depth }, left));
            }
        }
        shares.into_iter().map(|(kind, share)| self.priced(key, kind, share)).collect()
    }

    fn priced(
        &self,
        key: &'static str,
        kind: NodeKind,
        share: Ratio<u128>,
    ) -> Result<Share, BudgetError> {
        let too_fine = BudgetError::TooFine { key };
        let scale = Scale::for_epsilon(share).ok_or(too_fine.clone())?;
        let level = level_epsilon(self.epsilon, self.height.get());
        // θ² = 8s² for leaves, 32s² for general nodes: (2√2·s)² and (4√2·s)².
        let factor = if matches!(kind, NodeKind::Leaf { .. }) { 8 } else { 32 };
        let threshold = match self.threshold {
            Threshold::Fixed(threshold) => Some(threshold),
            Threshold::OwnNoise => root_multiple(factor, scale),
            Threshold::LevelNoise => {
                Scale::for_epsilon(level).and_then(|scale| root_multiple(factor, scale))
            }
        };
        let class = NodeClass::new(scale, threshold.ok_or(too_fine)?);
        let epsilon = Ratio::new(u128::from(self.epsilon.micro()), 1_000_000);
        Ok(Share { key, kind, share, of_epsilon: share / epsilon, class })
    }
}

/// The classes the walk asks by; a depth without leaves gets the class of the next depth that has some.
pub(super) fn classes(shares: &[Share]) -> Classes {
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
    use crate::model::Child;
    taxonomy.nodes().filter(|&node| taxonomy.depth(node) == depth).any(|node| {
        let last = taxonomy.n_children(node) - 1;
        taxonomy.is_mixed(node) || matches!(taxonomy.child(node, last), Child::Leaf(_))
    })
}

fn level_epsilon(epsilon: MicroEpsilon, height: u32) -> Ratio<u128> {
    Ratio::new(u128::from(epsilon.micro()), 1_000_000 * u128::from(height))
}

fn sub_level_epsilon(epsilon: MicroEpsilon, height: u32) -> Ratio<u128> {
    level_epsilon(epsilon, height) / 2
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

impl Places {
    /// The height a user asked for, if any.
    pub fn height(self) -> Option<u32> {
        match self {
            Self::Balanced(shape) => Some(shape.height),
            Self::Flat | Self::Lines => None,
        }
    }
}

impl Times {
    /// The height a user asked for, if any.
    pub fn height(self) -> Option<u32> {
        match self {
            Self::Balanced(shape) => Some(shape.height),
            Self::Flat => None,
        }
    }
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

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paper => "paper",
            Self::Even => "even",
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fanout {}, height {}", self.fanout, self.height)
    }
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat => f.write_str("flat"),
            Self::Lines => f.write_str("lines"),
            Self::Balanced(shape) => shape.fmt(f),
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat => f.write_str("flat"),
            Self::Balanced(shape) => shape.fmt(f),
        }
    }
}
