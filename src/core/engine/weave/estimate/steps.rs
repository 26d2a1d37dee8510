//! Steps without their stations: how they relate to the past, when they lead to when, when trajectories end.

use super::blur::Blur;
use super::posterior::{Belief, posterior};
use super::{kept, noisy};
use crate::engine::weave::measure::Answers;
use crate::engine::weave::tables::{Days, Name, ends_class, ends_times};
use crate::engine::weave::walk::{FLAGS, GROUPS, RELATIONS, group};

/// What is known of any network: how the next station relates to the past ones, by flag.
const USUAL: [[f64; RELATIONS as usize]; FLAGS as usize] = [
    [0.15, 0.0, 0.0, 0.0, 0.85],
    [0.3, 0.2, 0.0, 0.05, 0.45],
    [0.3, 0.3, 0.0, 0.05, 0.35],
    [0.3, 0.15, 0.15, 0.05, 0.35],
];

/// How steps relate to the past: each row drawn toward the one that does not know which step is the last, each
/// period toward all periods, and where nothing is known to what is usual.
pub(super) fn relations(answers: &Answers) -> Belief {
    let parts = answers.plan.relations.clock.parts as usize;
    let n_rows = (answers.plan.parities * 2 * FLAGS * RELATIONS) as usize;
    let usual =
        |row: usize| USUAL[row / RELATIONS as usize % FLAGS as usize][row % RELATIONS as usize];
    let Some((cells, blur)) = noisy(answers, Name::Relations) else {
        let mean: Vec<f64> = (0..n_rows * parts).map(|cell| usual(cell / parts)).collect();
        return Belief { variance: mean.clone(), mean };
    };
    let totals: Vec<f64> = cells.chunks(parts).map(|row| row.iter().sum()).collect();
    let expected = without_last(&totals);
    let variance = blur.over(parts).variance();
    let mut mean = Vec::with_capacity(cells.len());
    for (row, periods) in cells.chunks(parts).enumerate() {
        let off = totals[row] - expected[row];
        let total = expected[row] + kept(off * off, variance) * off;
        let total = if total > 0.7 * variance.sqrt() { total } else { 0.0 };
        mean.extend(over_periods(periods, total, &profile(&cells, row, parts, blur), blur));
        let floor = 0.3 * blur.scale * usual(row) / parts as f64;
        let row = mean.len() - parts;
        mean[row..].iter_mut().for_each(|cell| *cell += floor);
    }
    let variance = vec![blur.variance(); mean.len()];
    Belief { mean, variance }
}

/// What each row would be if the last step were like the others.
fn without_last(totals: &[f64]) -> Vec<f64> {
    let (all, flag) = ((FLAGS * RELATIONS) as usize, RELATIONS as usize);
    let both = |row: usize| {
        let (parity, of_parity) = (row / (2 * all), row % all);
        (totals[parity * 2 * all + of_parity] + totals[parity * 2 * all + all + of_parity]).max(0.0)
    };
    (0..totals.len())
        .map(|row| {
            let family = row / flag * flag..row / flag * flag + flag;
            let together: f64 = family.clone().map(both).sum();
            let own: f64 = family.map(|row| totals[row].max(0.0)).sum();
            both(row) / together.max(1e-9) * own
        })
        .collect()
}

/// The shares of the periods among all steps of a row's parity.
fn profile(cells: &[f64], row: usize, parts: usize, blur: Blur) -> Vec<f64> {
    let half = (2 * FLAGS * RELATIONS) as usize * parts;
    let start = row * parts / half * half;
    let mut sums = vec![0.0; parts];
    for (cell, value) in cells[start..start + half].iter().enumerate() {
        sums[cell % parts] += value;
    }
    sums.iter_mut().for_each(|sum| *sum = sum.max(blur.scale));
    let total: f64 = sums.iter().sum();
    sums.iter().map(|sum| sum / total).collect()
}

fn over_periods(periods: &[f64], total: f64, profile: &[f64], blur: Blur) -> Vec<f64> {
    let expected: Vec<f64> = profile.iter().map(|share| share * total).collect();
    let square: f64 =
        periods.iter().zip(&expected).map(|(cell, mean)| (cell - mean) * (cell - mean)).sum();
    let trust = kept(square, blur.over(periods.len()).variance());
    let near = |(cell, mean): (&f64, &f64)| (mean + trust * (cell - mean)).max(0.0);
    if total > 0.0 {
        periods.iter().zip(&expected).map(near).collect()
    } else {
        vec![0.0; periods.len()]
    }
}

/// When a step leads to when: toward one distribution of lags for all hours. Totals by relation are the relations'.
pub(super) fn times(answers: &Answers, relations: &[f64]) -> Belief {
    let Some((cells, blur)) = noisy(answers, Name::Times) else { return Belief::default() };
    let parts = answers.plan.times.clock.parts as usize;
    let (block, several) = (parts * parts, answers.plan.shape().n_days() > 1);
    let mut belief = Belief { mean: vec![0.0; cells.len()], variance: vec![0.0; cells.len()] };
    for kind in 0..(answers.plan.parities * GROUPS) as usize {
        for later in [false, true].into_iter().filter(|&later| several || !later) {
            let start = (kind * 2 + usize::from(later)) * block;
            let own = one_kind(&cells[start..start + block], parts, later, blur);
            belief.mean[start..start + block].copy_from_slice(&own.mean);
            belief.variance[start..start + block].copy_from_slice(&own.variance);
        }
        let total = of_kind(answers, relations, kind as u32);
        let range = kind * 2 * block..(kind + 1) * 2 * block;
        let now: f64 = belief.mean[range.clone()].iter().sum();
        if now > 0.0 && total > 0.0 && answers.plan.asks(Name::Relations) {
            belief.mean[range].iter_mut().for_each(|cell| *cell *= total / now);
        }
    }
    belief
}

/// Steps of one parity and group of relations.
fn of_kind(answers: &Answers, relations: &[f64], kind: u32) -> f64 {
    let parts = answers.plan.relations.clock.parts as usize;
    let is_of_kind = |row: usize| {
        let row = row as u32;
        let (parity, relation) = (row / (2 * FLAGS * RELATIONS), row % RELATIONS);
        parity * GROUPS + group(relation as u8) == kind
    };
    let rows = relations.chunks(parts).enumerate();
    rows.filter(|(row, _)| is_of_kind(*row)).map(|(_, row)| row.iter().sum::<f64>()).sum()
}

/// One kind of step on the same day, or to a later one.
fn one_kind(cells: &[f64], parts: usize, later: bool, blur: Blur) -> Belief {
    let possible = |cell: &usize| later || cell % parts >= cell / parts;
    let lag = |cell: usize| cell % parts + if later { parts } else { 0 } - cell / parts;
    let places: Vec<usize> = (0..cells.len()).filter(possible).collect();
    let mut by_lag = vec![(0.0, 0.0); 2 * parts];
    let mut by_hour = vec![(0.0, 0.0); parts];
    for &cell in &places {
        for (sum, n) in [&mut by_lag[lag(cell)], &mut by_hour[cell / parts]] {
            *sum += cells[cell];
            *n += 1.0;
        }
    }
    let clear = |low: f64| {
        move |&(sum, n): &(f64, f64)| {
            let noise = blur.scale * f64::sqrt(2.0 * n);
            if sum > noise { sum } else { low * noise + 1e-9 }
        }
    };
    let of_lag: Vec<f64> = by_lag.iter().map(clear(0.1)).collect();
    let of_hour: Vec<f64> = by_hour.iter().map(clear(0.3)).collect();
    let mut prior: Vec<f64> =
        places.iter().map(|&cell| of_lag[lag(cell)] / by_lag[lag(cell)].1).collect();
    for _ in 0..4 {
        fit(&mut prior, &places, |cell| cell / parts, &of_hour);
        fit(&mut prior, &places, lag, &of_lag);
    }
    prior.iter_mut().for_each(|prior| *prior += 1e-5);
    let values: Vec<f64> = places.iter().map(|&cell| cells[cell]).collect();
    let own = posterior(&values, &prior, blur);
    let mut belief = Belief { mean: vec![0.0; cells.len()], variance: vec![0.0; cells.len()] };
    for (nth, &cell) in places.iter().enumerate() {
        (belief.mean[cell], belief.variance[cell]) = (own.mean[nth], own.variance[nth]);
    }
    belief
}

/// Scales cells so that the sums of their classes are as wanted.
fn fit(prior: &mut [f64], places: &[usize], class: impl Fn(usize) -> usize, wanted: &[f64]) {
    let mut sums = vec![1e-9; wanted.len()];
    for (prior, &cell) in prior.iter().zip(places) {
        sums[class(cell)] += prior;
    }
    for (prior, &cell) in prior.iter_mut().zip(places) {
        *prior *= wanted[class(cell)] / sums[class(cell)];
    }
}

/// Day to day by class of length: toward the same for all lengths.
pub(super) fn days(answers: &Answers) -> Belief {
    let Some((cells, blur)) = noisy(answers, Name::Days) else { return Belief::default() };
    let n = answers.plan.days.n_days as usize;
    let block = cells.len() / Days::CLASSES as usize;
    let noise = blur.over(Days::CLASSES as usize).deviation();
    let all: Vec<f64> = (0..block)
        .map(|cell| {
            let sum: f64 = cells[cell..].iter().step_by(block).sum();
            let possible = cell % n >= cell / n % n;
            if !possible {
                0.0
            } else if sum > noise {
                sum
            } else {
                0.2 * noise + 1e-6
            }
        })
        .collect();
    let mut mean = Vec::with_capacity(cells.len());
    for (row, values) in cells.chunks(n).enumerate() {
        let usual = &all[row * n % block..row * n % block + n];
        let together: f64 = usual.iter().sum();
        let own = values[row % n..].iter().sum::<f64>().max(0.02 * together).max(1e-6);
        let expected: Vec<f64> =
            usual.iter().map(|usual| own * usual / together.max(1e-9)).collect();
        let square: f64 = values[row % n..]
            .iter()
            .zip(&expected[row % n..])
            .map(|(a, b)| (a - b) * (a - b))
            .sum();
        let trust = kept(square, blur.over(n - row % n).variance());
        let near = |(value, mean): (&f64, &f64)| (mean + trust * (value - mean)).max(0.02 * mean);
        mean.extend(values.iter().zip(&expected).map(near));
    }
    let variance = vec![blur.variance(); mean.len()];
    Belief { mean, variance }
}

/// First or last slots by class of length: rows add up to the lengths, and are alike.
pub(super) fn ends(answers: &Answers, name: Name, lengths: &[f64]) -> Belief {
    let Some((cells, blur)) = noisy(answers, name) else { return Belief::default() };
    let n = ends_times(answers.plan.shape()) as usize;
    let mut of_class = vec![0.0; cells.len() / n];
    for (length, cards) in (1..).zip(lengths) {
        of_class[ends_class(length) as usize] += cards;
    }
    let noise = blur.over(of_class.len()).deviation();
    let profile: Vec<f64> = (0..n)
        .map(|time| cells[time..].iter().step_by(n).sum::<f64>().max(0.3 * noise + 1e-6))
        .collect();
    let together: f64 = profile.iter().sum();
    let expected = |cell: usize| (of_class[cell / n] * profile[cell % n] / together).max(1e-5);
    let prior: Vec<f64> = (0..cells.len()).map(expected).collect();
    let mut belief = posterior(&cells, &prior, blur);
    for (row, cards) in belief.mean.chunks_mut(n).zip(&of_class) {
        let now: f64 = row.iter().sum();
        row.iter_mut().for_each(|cell| *cell *= cards / now.max(1e-9));
    }
    belief
}
