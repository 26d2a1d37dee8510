//! Empirical Bayes: what a cell probably was, given its noisy value and a prior mean.
//!
//! A cell is its prior mean times a ratio. Ratios come from a mixture of gamma distributions of mean one, narrow to
//! wide, so the prior mean is kept whatever the mixture; its weights are learned, for cells of like prior mean
//! together, from the noisy values themselves. Reads noisy numbers and public scales: free post-processing.

use super::real::{exp, half_octave, ln};

/// Noise of a value that is the sum of so many cells.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Blur {
    /// The scale of one cell's noise, in cards.
    pub(in crate::engine::weave) scale: f64,
    /// How many cells were added up.
    pub(in crate::engine::weave) cells: f64,
}

impl Blur {
    pub(in crate::engine::weave) fn variance(self) -> f64 {
        2.0 * self.scale * self.scale * self.cells
    }

    pub(in crate::engine::weave) fn deviation(self) -> f64 {
        self.variance().sqrt()
    }

    /// The same noise on the sum of `cells` cells.
    pub(in crate::engine::weave) fn over(self, cells: usize) -> Self {
        Self { cells: cells as f64, ..self }
    }

    /// How likely a distance from the truth is, up to a factor that is the same for all.
    fn likelihood(self, distance: f64) -> f64 {
        if self.cells <= 1.0 {
            exp(-distance.abs() / self.scale)
        } else {
            exp(-distance * distance / (2.0 * self.variance()))
        }
    }

    /// How likely one cell that holds `value` stays below a threshold.
    fn below(self, threshold: f64, value: f64) -> f64 {
        let tail = 0.5 * exp(-(threshold - value).abs() / self.scale);
        if threshold >= value { 1.0 - tail } else { tail }
    }
}

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

/// The share of the squared width in the mean, from narrow to wide.
const DISPERSIONS: [f64; 8] = [0.003, 0.02, 0.08, 0.3, 1.0, 4.0, 16.0, 64.0];
const POINTS: i32 = 48;
const KINDS: usize = DISPERSIONS.len();

/// Ratios with probabilities, of mean one.
type Component = Vec<(f64, f64)>;

fn components() -> Vec<Component> {
    DISPERSIONS.iter().map(|&dispersion| component(dispersion)).collect()
}

/// A gamma distribution of mean one, on a grid that is even in the logarithm.
fn component(dispersion: f64) -> Component {
    let width = dispersion.sqrt();
    let (low, high) = if dispersion < 0.5 {
        ((1.0 - 4.5 * width).max(0.02), 1.0 + 6.0 * width)
    } else {
        ((0.02 / dispersion).min(0.01), 3.0 + 9.0 * dispersion)
    };
    let step = ln(high / low) / f64::from(POINTS - 1);
    let peak = |ratio: f64| (ln(ratio) - ratio) / dispersion;
    let mut points: Component = (0..POINTS)
        .map(|n| low * exp(step * f64::from(n)))
        .map(|ratio| (ratio, exp(peak(ratio) - peak(1.0))))
        .collect();
    let total: f64 = points.iter().map(|point| point.1).sum();
    let mean = points.iter().map(|point| point.0 * point.1).sum::<f64>() / total;
    // A wide distribution lies mostly near zero, below the grid: that mass makes the mean one. A narrow one is
    // shifted by a hair.
    let (shift, kept) =
        if mean > 1.0 && dispersion >= 0.5 { (1.0, 1.0 / mean) } else { (1.0 / mean, 1.0) };
    points.iter_mut().for_each(|point| *point = (point.0 * shift, point.1 / total * kept));
    points.push((0.0, 1.0 - kept));
    points
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
        let place = ((noisy - self.origin) / self.step - 0.5).clamp(0.0, last as f64);
        let (bin, part) = (place as usize, place - place.floor());
        let (low, high) = (self.bins[bin], self.bins[(bin + 1).min(last)]);
        (low.0 + (high.0 - low.0) * part, low.1 + (high.1 - low.1) * part)
    }
}

/// What one component says about one bin: how likely it is, and the first two moments of the ratio.
#[derive(Clone, Copy, Default)]
struct Say {
    likelihood: f64,
    mean: f64,
    square: f64,
}

impl Group<'_> {
    fn curve(&self, components: &[Component]) -> Curve {
        let least = self.noisy.iter().copied().fold(f64::MAX, f64::min);
        let most = self.noisy.iter().copied().fold(f64::MIN, f64::max);
        let step = (self.blur.deviation() / 6.0).max((most - least) / 500.0).max(1e-9);
        let n_bins = ((most - least) / step) as usize + 2;
        let mut counts = vec![0.0; n_bins];
        for noisy in self.noisy {
            counts[((noisy - least) / step) as usize] += 1.0;
        }
        let middle = |bin: usize| least + (bin as f64 + 0.5) * step;
        let says: Vec<[Say; KINDS]> =
            (0..n_bins).map(|bin| self.says(components, middle(bin))).collect();
        let weights = self.mixture(components, &counts, &says);
        let believe = |says: &[Say; KINDS]| {
            let (mut total, mut mean, mut square) = (1e-300, 0.0, 0.0);
            for (say, weight) in says.iter().zip(&weights) {
                let likely = say.likelihood * weight;
                total += likely;
                mean += likely * say.mean;
                square += likely * say.square;
            }
            let mean = mean / total;
            (mean, (square / total - mean * mean).max(0.0))
        };
        Curve { origin: least, step, bins: says.iter().map(believe).collect() }
    }

    fn says(&self, components: &[Component], noisy: f64) -> [Say; KINDS] {
        let mut says = [Say::default(); KINDS];
        for (say, component) in says.iter_mut().zip(components) {
            let (mut total, mut mean, mut square) = (1e-280, 0.0, 0.0);
            for &(ratio, weight) in component {
                let likely = weight * self.blur.likelihood(noisy - ratio * self.prior);
                total += likely;
                mean += likely * ratio;
                square += likely * ratio * ratio;
            }
            *say = Say { likelihood: total, mean: mean / total, square: square / total };
        }
        says
    }

    /// The weights of the components, by expectation and maximization.
    fn mixture(
        &self,
        components: &[Component],
        counts: &[f64],
        says: &[[Say; KINDS]],
    ) -> [f64; KINDS] {
        let known: f64 = counts.iter().sum();
        let (hidden, unseen) = match self.hidden {
            None => (0.0, [1.0; KINDS]),
            Some((threshold, n)) => {
                let mut unseen = [0.0; KINDS];
                for (unseen, component) in unseen.iter_mut().zip(components) {
                    let below = |&(ratio, weight): &(f64, f64)| {
                        weight * self.blur.below(threshold, ratio * self.prior)
                    };
                    // A density against a probability: the likelihoods lack the factor 1/2b.
                    *unseen = component.iter().map(below).sum::<f64>() * 2.0 * self.blur.scale;
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
    let components = components();
    for group in groups(prior, 60) {
        settle(&group, noisy, prior, blur, &components, &mut belief);
    }
    belief
}

/// Fits one group and writes down what is believed of its cells.
fn settle(
    group: &[u32],
    noisy: &[f64],
    prior: &[f64],
    blur: Blur,
    components: &[Component],
    belief: &mut Belief,
) {
    let n = group.len() as f64;
    let values: Vec<f64> = group.iter().map(|&cell| noisy[cell as usize]).collect();
    let expected: f64 = group.iter().map(|&cell| prior[cell as usize]).sum();
    // The total moves away from the prior's only as far as it is surely off.
    let off = values.iter().sum::<f64>() - expected;
    let sure = (1.0 - blur.variance() * n / (off * off).max(1e-12)).max(0.0);
    let factor = ((expected + sure * off) / expected).max(0.05);
    let mean = expected / n * factor;
    let curve = Group { noisy: &values, prior: mean, hidden: None, blur }.curve(components);
    let deviation = blur.deviation();
    let mut total = 0.0;
    for (&cell, value) in group.iter().zip(&values) {
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
        total += belief.mean[cell];
    }
    if total > 0.0 {
        let fit = (expected * factor / total).clamp(0.7, 1.4);
        group.iter().for_each(|&cell| belief.mean[cell as usize] *= fit);
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
    let components = components();
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
        let curve = Group { noisy: &values, prior: mean, hidden, blur }.curve(&components);
        for (&cell, value) in group.iter().zip(&values) {
            let (ratio, variance) = curve.at(*value);
            belief.mean[cell as usize] = ratio * mean;
            belief.variance[cell as usize] = variance * mean * mean;
        }
    }
    belief
}
