//! Ratios of a cell to its prior mean, on a lattice, and what components of their distribution say about a noisy value.

use super::blur::Blur;
use super::real::{exp, ln};

/// The share of the squared width in the mean, from narrow to wide.
const DISPERSIONS: [f64; 8] = [0.003, 0.02, 0.08, 0.3, 1.0, 4.0, 16.0, 64.0];
pub(super) const KINDS: usize = DISPERSIONS.len();

/// The ratios that are told apart, ascending, and how likely each component makes each of them.
pub(super) struct Lattice {
    pub(super) ratios: Vec<f64>,
    pub(super) likely: Vec<[f64; KINDS]>,
}

impl Lattice {
    const MOST_POINTS: f64 = 4_000.0;

    /// Ratios up to `most`: an even step in the logarithm, but never wider than `step`, which noise hides.
    pub(super) fn new(most: f64, step: f64) -> Self {
        let most = most.max(3.0);
        let step = step.max(most / Self::MOST_POINTS);
        let mut ratios = vec![1.0];
        let mut ratio: f64 = 1.0;
        while ratio > 0.003 {
            ratio -= (0.12 * ratio).min(step);
            ratios.push(ratio.max(0.0));
        }
        ratios.push(0.0);
        ratios.reverse();
        ratio = 1.0;
        while ratio < most {
            ratio += (0.12 * ratio).min(step);
            ratios.push(ratio);
        }
        ratios.dedup();
        let mut likely = vec![[0.0; KINDS]; ratios.len()];
        for (kind, dispersion) in DISPERSIONS.into_iter().enumerate() {
            let weights = gamma(&ratios, dispersion);
            likely.iter_mut().zip(weights).for_each(|(likely, weight)| likely[kind] = weight);
        }
        Self { ratios, likely }
    }
}

/// A gamma distribution of mean one on these ratios. What a wide one has near zero lies on zero.
fn gamma(ratios: &[f64], dispersion: f64) -> Vec<f64> {
    let peak = |ratio: f64| ((1.0 - dispersion) * ln(ratio) - ratio) / dispersion;
    let width = |at: usize| {
        let (low, high) = (ratios[at - 1], ratios[(at + 1).min(ratios.len() - 1)]);
        (high - low) / 2.0
    };
    let mut weights: Vec<f64> = vec![0.0];
    weights.extend((1..ratios.len()).map(|at| width(at) * exp(peak(ratios[at]) - peak(1.0))));
    let total: f64 = weights.iter().sum();
    let mean =
        weights.iter().zip(ratios).map(|(weight, ratio)| weight * ratio).sum::<f64>() / total;
    let kept = (1.0 / mean).min(1.0);
    weights.iter_mut().for_each(|weight| *weight *= kept / total);
    weights[0] = 1.0 - kept;
    weights
}

/// What one component says about one bin: how likely it is, and the first two moments of the ratio.
#[derive(Clone, Copy)]
pub(super) struct Say {
    pub(super) likelihood: f64,
    mean: f64,
    square: f64,
}

/// What the components say about a noisy value of a cell with this prior mean.
pub(super) fn says(lattice: &Lattice, noisy: f64, prior: f64, blur: Blur) -> [Say; KINDS] {
    if let Some(says) = sharper_than_the_lattice(lattice, noisy, prior, blur) {
        return says;
    }
    // What lies farther off cannot matter.
    let (centre, reach) = (noisy.max(0.0), 10.0 * blur.deviation());
    let first = lattice.ratios.partition_point(|ratio| ratio * prior < centre - reach);
    let mut sums = [[1e-280, 0.0, 0.0]; KINDS];
    for (ratio, likely) in lattice.ratios.iter().zip(&lattice.likely).skip(first) {
        if ratio * prior > centre + reach {
            break;
        }
        let near = blur.likelihood(noisy - ratio * prior);
        for (sums, likely) in sums.iter_mut().zip(likely) {
            let weight = near * likely;
            sums[0] += weight;
            sums[1] += weight * ratio;
            sums[2] += weight * ratio * ratio;
        }
    }
    sums.map(|[total, mean, square]| Say {
        likelihood: total,
        mean: mean / total,
        square: square / total,
    })
}

/// Where noise is finer than the lattice's steps, a cell is what its noisy value says: no ratio may be near enough.
fn sharper_than_the_lattice(
    lattice: &Lattice,
    noisy: f64,
    prior: f64,
    blur: Blur,
) -> Option<[Say; KINDS]> {
    let above = lattice.ratios.partition_point(|ratio| ratio * prior < noisy);
    let (low, high) = (lattice.ratios.get(above.checked_sub(1)?)?, lattice.ratios.get(above)?);
    let is_finer = (high - low) * prior > 2.0 * blur.deviation();
    let ratio = noisy / prior;
    let square = ratio * ratio + blur.variance() / (prior * prior);
    let say = |likely: f64| Say { likelihood: likely.max(1e-280), mean: ratio, square };
    is_finer.then(|| lattice.likely[above].map(say))
}

/// Mean and variance of the ratio under a mixture.
pub(super) fn believe(says: &[Say; KINDS], weights: &[f64; KINDS]) -> (f64, f64) {
    let (mut total, mut mean, mut square) = (1e-300, 0.0, 0.0);
    for (say, weight) in says.iter().zip(weights) {
        let likely = say.likelihood * weight;
        total += likely;
        mean += likely * say.mean;
        square += likely * say.square;
    }
    let mean = mean / total;
    (mean, (square / total - mean * mean).max(0.0))
}
