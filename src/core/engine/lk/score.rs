//! Which doublet to suppress next.

use std::cmp::Ordering;
use std::fmt;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::flowgraph::{Measures, Weights};
use crate::secret::NoiseKey;

/// How doublets are compared: the paper's four functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Score {
    /// Score1: violations that go, per unit of information that goes.
    GainPerInfo,
    /// Score2: at random, from the release's own key.
    Random,
    /// Score3: violations that go.
    Gain,
    /// Score4: the least information first.
    LeastInfo,
}

impl Score {
    /// All four, by number.
    pub const ALL: [Self; 4] = [Self::GainPerInfo, Self::Random, Self::Gain, Self::LeastInfo];
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = Self::ALL.iter().position(|score| score == self).map_or(0, |at| at + 1);
        write!(f, "{number}")
    }
}

/// What the comparison needs to know about every doublet, beside its gain.
pub(super) struct Ranking {
    score: Score,
    /// Info in millionths, or a number drawn for it.
    values: Vec<u64>,
}

impl Ranking {
    pub(super) fn new(
        score: Score,
        measures: &[Measures],
        weights: &Weights,
        key: &NoiseKey,
    ) -> Self {
        let values = match score {
            Score::Random => {
                let mut drawn = ChaCha20Rng::from_seed(key.bytes());
                measures.iter().map(|_| drawn.next_u64()).collect()
            }
            _ => measures.iter().map(|measures| measures.info_micro(weights)).collect(),
        };
        Self { score, values }
    }

    /// How a suppression of a doublet stands that ends so many violations.
    pub(super) fn standing(&self, item: u32, gain: u32) -> Standing {
        let (value, gain) = (self.values[item as usize], u64::from(gain));
        let (over, under) = match self.score {
            // An Info of zero is above everything.
            Score::GainPerInfo => (gain, value),
            Score::Random => (value, 1),
            Score::Gain => (gain, 1),
            Score::LeastInfo => (1, value),
        };
        Standing { over, under, item }
    }

    /// Whether a score looks at what a suppression gains.
    pub(super) fn counts_gain(&self) -> bool {
        matches!(self.score, Score::GainPerInfo | Score::Gain)
    }
}

/// The score of a suppression, an exact fraction. The greatest goes first; ties go to the smaller number: the earlier
/// slot, then the station that comes first by id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Standing {
    over: u64,
    under: u64,
    pub(super) item: u32,
}

impl Ord for Standing {
    fn cmp(&self, other: &Self) -> Ordering {
        // a/b against c/d as a·d against c·b.
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.over, other.under)
            .cmp(&product(other.over, self.under))
            .then(other.item.cmp(&self.item))
    }
}

impl PartialOrd for Standing {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
