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

/// Who was where when.
pub(super) fn occupancy(answers: &Answers, lengths: &[f64]) -> Belief {
    let shape = answers.plan.shape();
    let (cells, blur) = noisy(answers, Name::Occupancy).expect("occupancy is always asked");
    let (stations, slots) = (shape.stations as usize, shape.slots as usize);
    let rows = margin(by_station(&cells, shape), blur.over(slots), noisy(answers, Name::Places));
    let columns = margin(by_slot(&cells, shape), blur.over(stations), noisy(answers, Name::Hours));
    let clip = f64::from(answers.plan.clip(Name::Occupancy).get());
    let by_length =
        (1..).zip(lengths).map(|(n, cards)| cards * (f64::from(n) * 0.93).clamp(1.0, clip));
    let expected: f64 = by_length.sum();
    let measured: f64 = columns.0.iter().sum();
    let off = measured - expected;
    let total = (expected + kept(off * off, columns.1 * slots as f64) * off).max(0.3 * expected);
    let rows = shrunk(&rows.0, rows.1, total);
    let columns = shrunk(&columns.0, columns.1, total);
    let mut prior: Vec<f64> = Vec::with_capacity(cells.len());
    for row in &rows {
        prior.extend(columns.iter().map(|column| (row * column * total).max(1e-5)));
    }
    if shape.n_days() > 1 {
        by_time_of_day(&cells, &mut prior, shape, blur);
    }
    let mut belief = posterior(&cells, &prior, blur);
    belief.scale_to(total);
    belief
}

/// A margin from the cells and, if it was asked by itself, from that answer: by their variances.
fn margin(sums: Vec<f64>, blur: Blur, asked: Option<(Vec<f64>, Blur)>) -> (Vec<f64>, f64) {
    let Some((own, own_blur)) = asked else { return (sums, blur.variance()) };
    let (fine, coarse) = (1.0 / blur.variance(), 1.0 / own_blur.variance());
    let both = |(sum, own): (&f64, &f64)| (sum * fine + own * coarse) / (fine + coarse);
    (sums.iter().zip(&own).map(both).collect(), 1.0 / (fine + coarse))
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
