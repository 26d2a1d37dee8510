//! Power: how small a violation released rows give away, with so many releases. An audit that says "holds" says no
//! more than this.

use super::mutants::Mutant;
use super::statistical::Sampling;

/// What engines that claim ε = 1 were made to spend, in hundredths.
pub(super) const SPENT: [u16; 8] = [101, 102, 103, 105, 110, 120, 150, 200];

/// The smallest violation that was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Power {
    /// Releases of each of two windows.
    pub samples: u64,
    /// What was tried: ε spent where 1 was claimed.
    pub tried: Vec<f64>,
    /// The smallest of them from which on all were found; `None`: not even the largest.
    pub smallest_found: Option<f64>,
}

pub(super) fn measured(sampling: &Sampling, samples: u64) -> Power {
    let spends = |hundredths: u16| f64::from(hundredths) / 100.0;
    let is_found =
        |&hundredths: &u16| sampling.lower_bound(&Mutant::spends(hundredths), samples) > 1.0;
    let missed = SPENT.iter().rposition(|hundredths| !is_found(hundredths));
    let smallest = SPENT.get(missed.map_or(0, |last| last + 1)).copied();
    Power { samples, tried: SPENT.map(spends).to_vec(), smallest_found: smallest.map(spends) }
}
