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

    /// The doublet with the highest score among those that gain something. Ties go to the smaller number: the
    /// earlier slot, then the station that comes first by id.
    pub(super) fn best(&self, candidates: &[u32], gain: &[u32]) -> Option<u32> {
        let mut best: Option<u32> = None;
        for &item in candidates.iter().filter(|&&item| gain[item as usize] > 0) {
            let is_better = best.is_none_or(|before| match self.compare(item, before, gain) {
                Ordering::Greater => true,
                Ordering::Equal => item < before,
                Ordering::Less => false,
            });
            if is_better {
                best = Some(item);
            }
        }
        best
    }

    fn compare(&self, a: u32, b: u32, gain: &[u32]) -> Ordering {
        let value = |item: u32| u128::from(self.values[item as usize]);
        let gained = |item: u32| u128::from(gain[item as usize]);
        match self.score {
            // a/b against c/d as a·d against c·b: exact, and an Info of zero is above everything.
            Score::GainPerInfo => (gained(a) * value(b)).cmp(&(gained(b) * value(a))),
            Score::Random => value(a).cmp(&value(b)),
            Score::Gain => gained(a).cmp(&gained(b)),
            Score::LeastInfo => value(b).cmp(&value(a)),
        }
    }
}
