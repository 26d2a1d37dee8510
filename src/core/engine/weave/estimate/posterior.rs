//! Empirical Bayes: what a cell probably was, given its noisy value and a prior mean.
//!
//! A cell is its prior mean times a ratio. Ratios come from a mixture of gamma distributions of mean one, narrow to
//! wide, so the prior mean is kept whatever the mixture; its weights are learned, for cells of like prior mean
//! together, from the noisy values themselves. Reads noisy numbers and public scales: free post-processing.

use super::blur::Blur;
use super::lattice::{KINDS, Lattice, Say, believe, says};
use super::real::half_octave;

/// What is believed of many cells.
#[derive(Clone, Debug, Default)]
pub(in crate::engine::weave) struct Belief {
    pub(in crate::engine::weave) mean: Vec<f64>,
    pub(in crate::engine::weave) variance: Vec<f64>,
}

impl Belief {
    /// All cells times a factor.
    pub(in crate::engine::weave) fn scale(&mut self, factor: f64) {
        self.mean.iter_mut().for_each(|mean| *mean *= factor);
        self.variance.iter_mut().for_each(|variance| *variance *= factor * factor);
    }

    /// Makes the cells add up to a total.
    pub(in crate::engine::weave) fn scale_to(&mut self, total: f64) {
        let now: f64 = self.mean.iter().sum();
        if now > 0.0 {
            self.scale(total / now);
        }
    }
}

impl Belief {
    /// Makes the rows and columns of a square table add up to these, as far as both can be had.
    pub(in crate::engine::weave) fn fit_margins(&mut self, rows: &[f64], columns: &[f64]) {
        const ROUNDS: usize = 4;
        let width = columns.len();
        for _ in 0..ROUNDS {
            let mut sums = vec![0.0; width];
            for (row, wanted) in self.mean.chunks_mut(width).zip(rows) {
                let now: f64 = row.iter().sum();
                let factor = if now > 0.0 { wanted / now } else { 1.0 };
                row.iter_mut().for_each(|cell| *cell *= factor);
                sums.iter_mut().zip(row.iter()).for_each(|(sum, cell)| *sum += cell);
            }
            let factors: Vec<f64> = sums
                .iter()
                .zip(columns)
                .map(|(now, wanted)| if *now > 0.0 { wanted / now } else { 1.0 })
                .collect();
            for row in self.mean.chunks_mut(width) {
                row.iter_mut().zip(&factors).for_each(|(cell, factor)| *cell *= factor);
            }
        }
    }
}

/// Cells of like prior mean, as they are fitted together.
struct Group<'a> {
    /// Noisy values of those that are known.
    noisy: &'a [f64],
    /// The mean of the prior means.
    prior: f64,
    /// Cells that stayed below a threshold: the threshold, and how many.
    hidden: Option<(f64, f64)>,
    blur: Blur,
}

/// The ratio to the prior mean, believed, as a function of the noisy value.
struct Curve {
    origin: f64,
    step: f64,
    /// Mean and variance of the ratio at each bin's middle.
    bins: Vec<(f64, f64)>,
}

impl Curve {
    fn at(&self, noisy: f64) -> (f64, f64) {
        let last = self.bins.len() - 1;
        let index = ((noisy - self.origin) / self.step - 0.5).clamp(0.0, last as f64);
        let (bin, part) = (index as usize, index - index.floor());
        let (low, high) = (self.bins[bin], self.bins[(bin + 1).min(last)]);
        (low.0 + (high.0 - low.0) * part, low.1 + (high.1 - low.1) * part)
    }
}

impl Group<'_> {
    fn curve(&self) -> Curve {
        let least = self.noisy.iter().copied().fold(f64::MAX, f64::min);
        let most = self.noisy.iter().copied().fold(f64::MIN, f64::max);
        let deviation = self.blur.deviation();
        let step = (deviation / 6.0).max((most - least) / 500.0).max(1e-9);
        let n_bins = ((most - least) / step) as usize + 2;
        let mut counts = vec![0.0; n_bins];
        for noisy in self.noisy {
            counts[((noisy - least) / step) as usize] += 1.0;
        }
        let lattice =
            Lattice::new((most + 3.0 * deviation) / self.prior, deviation / 2.0 / self.prior);
        let middle = |bin: usize| least + (bin as f64 + 0.5) * step;
        let says: Vec<[Say; KINDS]> =
            (0..n_bins).map(|bin| self.says(&lattice, middle(bin))).collect();
        let weights = self.mixture(&lattice, &counts, &says);
        Curve {
            origin: least,
            step,
            bins: says.iter().map(|says| believe(says, &weights)).collect(),
        }
    }

    fn says(&self, lattice: &Lattice, noisy: f64) -> [Say; KINDS] {
        says(lattice, noisy, self.prior, self.blur)
    }

    /// The weights of the components, by expectation and maximization.
    fn mixture(&self, lattice: &Lattice, counts: &[f64], says: &[[Say; KINDS]]) -> [f64; KINDS] {
        let known: f64 = counts.iter().sum();
        let (hidden, unseen) = match self.hidden {
            None => (0.0, [1.0; KINDS]),
            Some((threshold, n)) => {
                let mut unseen = [0.0; KINDS];
                for (ratio, likely) in lattice.ratios.iter().zip(&lattice.likely) {
                    // A density against a probability: the likelihoods lack the factor 1/2b.
                    let below =
                        self.blur.below(threshold, ratio * self.prior) * 2.0 * self.blur.scale;
                    unseen
                        .iter_mut()
                        .zip(likely)
                        .for_each(|(unseen, likely)| *unseen += likely * below);
                }
                (n, unseen)
            }
        };
        let mut weights = [1.0 / KINDS as f64; KINDS];
        for _ in 0..60 {
            let mut next = [0.02 * known.min(200.0) / KINDS as f64; KINDS];
            let mut share_out = |count: f64, likely: [f64; KINDS]| {
                let total: f64 = likely.iter().sum();
                for (next, likely) in next.iter_mut().zip(likely) {
                    *next += count * likely / total;
                }
            };
            for (&count, says) in counts.iter().zip(says).filter(|(count, _)| **count > 0.0) {
                share_out(count, std::array::from_fn(|kind| says[kind].likelihood * weights[kind]));
            }
            if hidden > 0.0 {
                share_out(hidden, std::array::from_fn(|kind| unseen[kind] * weights[kind]));
            }
            let total: f64 = next.iter().sum();
            weights = next.map(|weight| weight / total);
        }
        weights
    }
}

/// Priors below this are taken for impossible.
const LEAST: f64 = 1e-6;

/// Cells in the order of their prior means, cut where the class changes and enough are together.
fn groups(prior: &[f64], enough: usize) -> Vec<Vec<u32>> {
    let mut order: Vec<u32> =
        (0..prior.len() as u32).filter(|&cell| prior[cell as usize] > LEAST).collect();
    order.sort_by_key(|&cell| half_octave(prior[cell as usize]));
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for class in
        order.chunk_by(|&a, &b| half_octave(prior[a as usize]) == half_octave(prior[b as usize]))
    {
        match groups.last_mut() {
            Some(last) if last.len() < enough => last.extend_from_slice(class),
            _ => groups.push(class.to_vec()),
        }
    }
    if groups.len() > 1 && groups.last().is_some_and(|last| last.len() < enough) {
        let few = groups.pop().unwrap_or_default();
        groups.last_mut().expect("there was more than one").extend(few);
    }
    groups
}

/// Means and variances of cells with these noisy values and prior means.
pub(in crate::engine::weave) fn posterior(noisy: &[f64], prior: &[f64], blur: Blur) -> Belief {
    let mut belief = Belief { mean: vec![0.0; noisy.len()], variance: vec![0.0; noisy.len()] };
    for group in groups(prior, 60) {
        settle(&group, noisy, prior, blur, &mut belief);
    }
    belief
}

/// Fits one group and writes down what is believed of its cells.
fn settle(group: &[u32], noisy: &[f64], prior: &[f64], blur: Blur, belief: &mut Belief) {
    let n = group.len() as f64;
    let values: Vec<f64> = group.iter().map(|&cell| noisy[cell as usize]).collect();
    let expected: f64 = group.iter().map(|&cell| prior[cell as usize]).sum();
    // The total moves away from the prior's only as far as it is surely off.
    let off = values.iter().sum::<f64>() - expected;
    let sure = (1.0 - 2.0 * blur.variance() * n / (off * off).max(1e-12)).max(0.0);
    let factor = ((expected + sure * off) / expected).max(0.05);
    let mean = expected / n * factor;
    let is_blurred = 4.0 * blur.deviation() > mean;
    if group.len() < if is_blurred { FEW / 10 } else { FEW } {
        one_by_one(group, &values, prior, factor, blur, belief);
    } else {
        by_curve(group, &values, prior, factor, mean, blur, belief);
    }
    let total: f64 = group.iter().map(|&cell| belief.mean[cell as usize]).sum();
    if total > 0.0 {
        let fit = (expected * factor / total).clamp(0.7, 1.4);
        group.iter().for_each(|&cell| belief.mean[cell as usize] *= fit);
    }
}

/// Groups up to here are believed cell by cell; where noise hides the differences of their priors, a tenth.
const FEW: usize = 4_000;

/// Each cell with its own prior mean.
fn one_by_one(
    group: &[u32],
    values: &[f64],
    prior: &[f64],
    factor: f64,
    blur: Blur,
    belief: &mut Belief,
) {
    let own = |cell: u32| prior[cell as usize] * factor;
    let (mut most, mut largest) = (1.0_f64, 0.0_f64);
    for (&cell, value) in group.iter().zip(values) {
        most = most.max((value + 3.0 * blur.deviation()) / own(cell));
        largest = largest.max(own(cell));
    }
    let lattice = Lattice::new(most, blur.deviation() / 2.0 / largest);
    let cells = group.iter().zip(values);
    let says: Vec<[Say; KINDS]> =
        cells.map(|(&cell, &value)| says(&lattice, value, own(cell), blur)).collect();
    let fit = Group { noisy: values, prior: largest, hidden: None, blur };
    let weights = fit.mixture(&lattice, &vec![1.0; says.len()], &says);
    for (&cell, says) in group.iter().zip(&says) {
        let (ratio, variance) = believe(says, &weights);
        belief.mean[cell as usize] = ratio * own(cell);
        belief.variance[cell as usize] = variance * own(cell) * own(cell);
    }
}

/// All cells by one curve, made for the mean of their prior means.
fn by_curve(
    group: &[u32],
    values: &[f64],
    prior: &[f64],
    factor: f64,
    mean: f64,
    blur: Blur,
    belief: &mut Belief,
) {
    let curve = Group { noisy: values, prior: mean, hidden: None, blur }.curve();
    let deviation = blur.deviation();
    for (&cell, value) in group.iter().zip(values) {
        let cell = cell as usize;
        let own = prior[cell] * factor;
        let (ratio, variance) = curve.at(value - (own - mean));
        // What lies above the prior is a matter of counts, what lies below of shares.
        belief.mean[cell] = if ratio >= 1.0 || deviation < mean {
            (own + (ratio - 1.0) * mean).max(0.02 * own)
        } else {
            own * ratio
        };
        belief.variance[cell] = variance * mean * mean;
    }
}

/// All cells of one class of prior means, known or not: how many, and the sum of their prior means.
pub(in crate::engine::weave) type Census = std::collections::BTreeMap<u64, (f64, f64)>;

/// Enters a cell into a census.
pub(in crate::engine::weave) fn enter(census: &mut Census, prior: f64) {
    let entry = census.entry(half_octave(prior)).or_default();
    entry.0 += 1.0;
    entry.1 += prior;
}

/// The same for cells of which only those that reached a threshold are known; `census` has all of them.
pub(in crate::engine::weave) fn posterior_above(
    noisy: &[f64],
    prior: &[f64],
    blur: Blur,
    threshold: f64,
    census: &Census,
) -> Belief {
    let mut belief = Belief { mean: vec![0.0; noisy.len()], variance: vec![0.0; noisy.len()] };
    let mut classes = census.iter().peekable();
    let groups = groups(prior, 80);
    for (nth, group) in groups.iter().enumerate() {
        let top = group.iter().map(|&cell| half_octave(prior[cell as usize])).max().unwrap_or(0);
        let is_last = nth + 1 == groups.len();
        let (mut cells, mut expected) = (0.0, 0.0);
        while let Some((_, (n, sum))) = classes.next_if(|(class, _)| is_last || **class <= top) {
            cells += n;
            expected += sum;
        }
        let values: Vec<f64> = group.iter().map(|&cell| noisy[cell as usize]).collect();
        let mean = expected / f64::max(cells, 1.0);
        let hidden = Some((threshold, (cells - values.len() as f64).max(0.0)));
        let curve = Group { noisy: &values, prior: mean, hidden, blur }.curve();
        for (&cell, value) in group.iter().zip(&values) {
            let (ratio, variance) = curve.at(*value);
            belief.mean[cell as usize] = ratio * mean;
            belief.variance[cell as usize] = variance * mean * mean;
        }
    }
    belief
}
