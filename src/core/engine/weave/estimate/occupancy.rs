//! Stations × slots: occupancy toward the product of its margins, first doublets toward occupancy.

use super::blur::Blur;
use super::posterior::{Belief, posterior};
use super::{kept, noisy};
use crate::engine::weave::measure::Answers;
use crate::engine::weave::shape::Shape;
use crate::engine::weave::tables::Name;

/// Sums over slots, by station.
pub(super) fn by_station(cells: &[f64], shape: Shape) -> Vec<f64> {
    cells.chunks(shape.slots as usize).map(|row| row.iter().sum()).collect()
}

/// Sums over stations, by slot.
pub(super) fn by_slot(cells: &[f64], shape: Shape) -> Vec<f64> {
    let mut sums = vec![0.0; shape.slots as usize];
    for row in cells.chunks(shape.slots as usize) {
        sums.iter_mut().zip(row).for_each(|(sum, cell)| *sum += cell);
    }
    sums
}

/// Cards per station, per slot, and per station and slot.
pub(super) struct Occupied {
    pub(super) places: Belief,
    pub(super) hours: Belief,
    pub(super) cells: Belief,
}

/// Who was where when.
pub(super) fn occupancy(answers: &Answers, lengths: &[f64]) -> Occupied {
    let shape = answers.plan.shape();
    let (stations, slots) = (shape.stations as usize, shape.slots as usize);
    let asked = noisy(answers, Name::Occupancy);
    let sums = |of: fn(&[f64], Shape) -> Vec<f64>, n: usize| {
        asked.as_ref().map(|(cells, blur)| (of(cells, shape), blur.over(n)))
    };
    let rows = margin(sums(by_station, slots), noisy(answers, Name::Places), stations);
    let columns = margin(sums(by_slot, stations), noisy(answers, Name::Hours), slots);
    let clip = f64::from(answers.plan.clip(Name::Occupancy).get());
    let by_length =
        (1..).zip(lengths).map(|(n, cards)| cards * (f64::from(n) * 0.93).clamp(1.0, clip));
    let expected: f64 = by_length.sum();
    let measured: f64 = columns.0.iter().sum();
    let off = measured - expected;
    let total = (expected + kept(off * off, columns.1 * slots as f64) * off).max(0.3 * expected);
    let believed = |margin: &(Vec<f64>, f64)| {
        let mean: Vec<f64> =
            shrunk(&margin.0, margin.1, total).iter().map(|share| share * total).collect();
        Belief { variance: vec![margin.1; mean.len()], mean }
    };
    let (places, hours) = (believed(&rows), believed(&columns));
    let rows = shrunk(&rows.0, rows.1, total);
    let columns = shrunk(&columns.0, columns.1, total);
    let mut prior: Vec<f64> = Vec::with_capacity(stations * slots);
    for row in &rows {
        prior.extend(columns.iter().map(|column| (row * column * total).max(1e-5)));
    }
    let Some((cells, blur)) = asked else {
        // Nothing but totals was asked: how far cells are from the product is anybody's guess.
        let variance = prior.iter().map(|mean| UNKNOWN * mean * mean + mean).collect();
        return Occupied { places, hours, cells: Belief { mean: prior, variance } };
    };
    if stations == 1 || slots == 1 {
        // The cells are a margin themselves: a prior made of them would make them look surer than they are.
        let variance = vec![blur.variance(); prior.len()];
        return Occupied { places, hours, cells: Belief { mean: prior, variance } };
    }
    if shape.n_days() > 1 {
        by_time_of_day(&cells, &mut prior, shape, blur);
    }
    let mut cells = posterior(&cells, &prior, blur);
    cells.scale_to(total);
    let places = corrected(&cells, shape, by_station, noisy(answers, Name::Places), total);
    let hours = corrected(&cells, shape, by_slot, noisy(answers, Name::Hours), total);
    cells.fit_margins(&places.mean, &hours.mean);
    Occupied { places, hours, cells }
}

/// Sums of the believed cells, and what their own answer says of them where they were asked: by their variances.
/// Sums of noisy cells would not do: where most cells are empty, believed cells have lost most of the noise.
fn corrected(
    cells: &Belief,
    shape: Shape,
    of: fn(&[f64], Shape) -> Vec<f64>,
    asked: Option<(Vec<f64>, Blur)>,
    total: f64,
) -> Belief {
    let mut sums = Belief { mean: of(&cells.mean, shape), variance: of(&cells.variance, shape) };
    let Some((own, blur)) = asked else { return sums };
    for ((mean, variance), own) in sums.mean.iter_mut().zip(&mut sums.variance).zip(own) {
        let trust = *variance / (*variance + blur.variance());
        *mean = (*mean + trust * (own - *mean)).max(0.02 * *mean);
        *variance *= 1.0 - trust;
    }
    sums.scale_to(total);
    sums
}

/// The squared relative deviation of a cell from the product of its margins, where nothing was measured.
const UNKNOWN: f64 = 0.6;

/// A margin of `n` sums from the cells and from its own answer, whichever were asked: by their variances.
fn margin(
    sums: Option<(Vec<f64>, Blur)>,
    asked: Option<(Vec<f64>, Blur)>,
    n: usize,
) -> (Vec<f64>, f64) {
    let (mut weighted, mut weight) = (vec![0.0; n], 0.0);
    for (values, blur) in [sums, asked].into_iter().flatten() {
        let own = 1.0 / blur.variance();
        weighted.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * own);
        weight += own;
    }
    let weight = f64::max(weight, 1e-12);
    (weighted.iter().map(|sum| sum / weight).collect(), 1.0 / weight)
}

/// Shares of a total, drawn toward their mean as far as noise goes.
fn shrunk(sums: &[f64], variance: f64, total: f64) -> Vec<f64> {
    let n = sums.len() as f64;
    let mean = total / n;
    let square = sums.iter().map(|sum| (sum - mean) * (sum - mean)).sum::<f64>() / n;
    let trust = kept(square, variance);
    let near: Vec<f64> =
        sums.iter().map(|sum| (mean + trust * (sum - mean)).max(0.02 * mean)).collect();
    let all: f64 = near.iter().sum();
    near.iter().map(|share| share / all).collect()
}

/// In a window of several days a station's times of day are alike on all of them.
fn by_time_of_day(cells: &[f64], prior: &mut [f64], shape: Shape, blur: Blur) {
    let (slots, day) = (shape.slots as usize, shape.day as usize);
    let fold = |cells: &[f64]| {
        let mut folded = vec![0.0; shape.stations as usize * day];
        for (cell, value) in cells.iter().enumerate() {
            folded[cell / slots * day + cell % slots % day] += value;
        }
        folded
    };
    let expected = fold(prior);
    let believed = posterior(&fold(cells), &expected, blur.over(shape.n_days() as usize));
    for (cell, prior) in prior.iter_mut().enumerate() {
        let folded = cell / slots * day + cell % slots % day;
        *prior = (*prior * believed.mean[folded] / expected[folded].max(1e-9)).max(1e-5);
    }
}

/// Where and when cards tap first: occupancy, with the first doublets' own slots and stations.
pub(super) fn first(answers: &Answers, occupancy: &[f64], n_cards: f64) -> Belief {
    let shape = answers.plan.shape();
    let mut prior = Belief {
        mean: occupancy.iter().map(|cell| cell.max(1e-5)).collect(),
        variance: Vec::new(),
    };
    prior.scale_to(n_cards);
    let Some((cells, blur)) = noisy(answers, Name::First) else {
        let variance = prior.mean.iter().map(|mean| mean * mean).collect();
        return Belief { variance, ..prior };
    };
    let (stations, slots) = (shape.stations as usize, shape.slots as usize);
    let mut prior = prior.mean;
    for _ in 0..2 {
        let expected = by_slot(&prior, shape);
        let believed = posterior(&by_slot(&cells, shape), &expected, blur.over(stations));
        for (cell, prior) in prior.iter_mut().enumerate() {
            *prior *= believed.mean[cell % slots] / expected[cell % slots].max(1e-9);
        }
        let expected = by_station(&prior, shape);
        let believed = posterior(&by_station(&cells, shape), &expected, blur.over(slots));
        for (cell, prior) in prior.iter_mut().enumerate() {
            *prior *= believed.mean[cell / slots] / expected[cell / slots].max(1e-9);
        }
    }
    let mut belief = posterior(&cells, &prior, blur);
    belief.scale_to(n_cards);
    belief
}
