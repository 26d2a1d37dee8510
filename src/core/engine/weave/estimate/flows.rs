//! From where to where: pairs of stations, pairs by period, stays.

use super::occupancy::by_station;
use super::posterior::{Belief, posterior};
use super::{Estimates, noisy};
use crate::engine::weave::measure::Answers;
use crate::engine::weave::tables::Name;
use crate::engine::weave::walk::GROUPS;
use crate::engine::weave::weights::UNIT;

/// From which station to which: toward the product of departures and arrivals, which are drawn toward occupancy.
pub(super) fn pairs(answers: &Answers, known: &Estimates) -> Belief {
    let Some((cells, blur)) = noisy(answers, Name::Pairs) else { return Belief::default() };
    let stations = answers.plan.shape().stations as usize;
    let present = by_station(&known.of(Name::Occupancy).mean, answers.plan.shape());
    let mut belief = Belief::default();
    for (kind, cells) in (0..).zip(cells.chunks(stations * stations)) {
        let total = cells.iter().sum::<f64>().max(blur.over(stations).deviation());
        let share: f64 = total / present.iter().sum::<f64>();
        let expected: Vec<f64> = present.iter().map(|cards| cards * share + 1e-5).collect();
        let rows: Vec<f64> = cells.chunks(stations).map(|row| row.iter().sum()).collect();
        let columns: Vec<f64> =
            (0..stations).map(|to| cells[to..].iter().step_by(stations).sum()).collect();
        let mut from = posterior(&rows, &expected, blur.over(stations));
        let mut to = posterior(&columns, &expected, blur.over(stations));
        from.scale_to(total);
        to.scale_to(total);
        // Whoever goes and comes back to where he was is rarer than chance, or more common.
        let product = |cell: usize| from.mean[cell / stations] * to.mean[cell % stations] / total;
        let is_round = |cell: &usize| cell / stations == cell % stations;
        let chance: f64 = (0..cells.len()).filter(is_round).map(product).sum();
        let seen: f64 = (0..cells.len()).filter(is_round).map(|cell| cells[cell]).sum();
        let rarity = if kind == 0 { (seen / chance.max(1e-9)).clamp(1e-3, 20.0) } else { 0.0 };
        let prior = |cell: usize| product(cell) * if is_round(&cell) { rarity } else { 1.0 };
        let prior: Vec<f64> = (0..cells.len()).map(prior).collect();
        let mut own = posterior(cells, &prior, blur);
        own.scale_to(total);
        belief.mean.extend(own.mean);
        belief.variance.extend(own.variance);
    }
    belief
}

/// The sizes of the moves table.
#[derive(Clone, Copy)]
struct Sizes {
    stations: usize,
    periods: usize,
}

impl Sizes {
    /// Visits every cell: origin × period, destination × period, pair, and the cell itself; stays are left out.
    fn for_each(self, mut visit: impl FnMut(usize, usize, usize, usize)) {
        let Self { stations, periods } = self;
        for from in 0..stations {
            for period in 0..periods {
                let row = (from * periods + period) * stations;
                for to in (0..stations).filter(|&to| to != from) {
                    visit(
                        from * periods + period,
                        to * periods + period,
                        from * stations + to,
                        row + to,
                    );
                }
            }
        }
    }
}

/// From where, when, to where: toward departures × arrivals of each period, fitted to the pairs of the whole day.
pub(super) fn moves(answers: &Answers, known: &Estimates) -> Belief {
    let Some((cells, blur)) = noisy(answers, Name::Moves) else {
        return without_stays(known.of(Name::Pairs), answers.plan.shape().stations as usize);
    };
    let (shape, clock) = (answers.plan.shape(), answers.plan.moves.clock);
    let sizes = Sizes { stations: shape.stations as usize, periods: clock.parts as usize };
    let mut present = vec![0.0; sizes.stations * sizes.periods];
    for (code, cards) in (0..).zip(&known.of(Name::Occupancy).mean) {
        let (station, slot): (u32, u32) = (code / shape.slots, code % shape.slots);
        present[station as usize * sizes.periods + clock.part(slot) as usize] += cards;
    }
    let n_pairs = sizes.stations * sizes.stations;
    let mut belief = Belief::default();
    for (kind, cells) in (0..).zip(cells.chunks(n_pairs * sizes.periods)) {
        let pairs = &known.of(Name::Pairs).mean[kind * n_pairs..(kind + 1) * n_pairs];
        let by_period = departures(answers, known, kind as u32);
        let prior = prior_of_moves(cells, sizes, pairs, &present, &by_period, blur);
        let mut own = posterior(cells, &prior, blur);
        own.scale_to(prior.iter().sum());
        belief.mean.extend(own.mean);
        belief.variance.extend(own.variance);
    }
    belief
}

/// Where periods are not asked: pairs of the whole window, stays left out.
fn without_stays(pairs: &Belief, stations: usize) -> Belief {
    let mut moves = pairs.clone();
    for (cell, mean) in moves.mean.iter_mut().enumerate() {
        if cell / stations % stations == cell % stations {
            *mean = 0.0;
        }
    }
    moves
}

/// How many moves of a kind begin in each period, as the times have it.
fn departures(answers: &Answers, known: &Estimates, kind: u32) -> Vec<f64> {
    let plan = &answers.plan;
    let (times, moves) = (plan.times.clock.parts as usize, plan.moves.clock.parts as usize);
    let kinds = plan.moves.kinds;
    let weight = f64::from(kinds.weight(kind)) / f64::from(UNIT);
    let width = plan.shape().day as usize / times;
    let mut sums = vec![1e-6; moves];
    let cells = &known.of(Name::Times).mean;
    for (row, values) in cells.chunks(times).enumerate() {
        let (block, later, from) = (row / (2 * times), row / times % 2, row % times);
        if block.is_multiple_of(GROUPS as usize) {
            continue;
        }
        let is_of_kind = |to: usize| {
            let lag = (to + later * times).saturating_sub(from) * width;
            kinds.of(block / GROUPS as usize, 0, u32::try_from(lag).unwrap_or(u32::MAX)) == kind
        };
        let own: f64 = (0..times).filter(|&to| is_of_kind(to)).map(|to| values[to]).sum();
        sums[from * moves / times] += own * weight;
    }
    sums
}

fn prior_of_moves(
    cells: &[f64],
    sizes: Sizes,
    pairs: &[f64],
    present: &[f64],
    by_period: &[f64],
    blur: super::Blur,
) -> Vec<f64> {
    let Sizes { stations, periods } = sizes;
    let (mut from, mut to) = (vec![0.0; stations * periods], vec![0.0; stations * periods]);
    let mut measured = 0.0;
    sizes.for_each(|origin, destination, _, cell| {
        from[origin] += cells[cell];
        to[destination] += cells[cell];
        measured += cells[cell];
    });
    let apart = |pair: &usize| pair / stations != pair % stations;
    let known: f64 = (0..pairs.len()).filter(apart).map(|pair| pairs[pair]).sum();
    // Both tables count the same steps, up to repeated ones: trust the sharper unless the other is surely off.
    let off = measured - known;
    let total = known + super::kept(off * off, blur.over(cells.len()).variance()) * off;
    let total = total.clamp(0.7 * known, 1.1 * known).max(1e-3);
    let steps: f64 = by_period.iter().sum();
    let mut here = vec![1e-9; periods];
    present.iter().enumerate().for_each(|(index, cards)| here[index % periods] += cards);
    let expected: Vec<f64> = (0..present.len())
        .map(|index| {
            present[index] / here[index % periods] * by_period[index % periods] * total / steps
                + 1e-5
        })
        .collect();
    let from = posterior(&from, &expected, blur.over(stations)).mean;
    let to = posterior(&to, &expected, blur.over(stations)).mean;
    let mut prior = vec![0.0; cells.len()];
    sizes.for_each(|origin, destination, pair, cell| {
        let chance = from[origin] * to[destination] / by_period[origin % periods].max(1e-9);
        // Something of the pair's own, so that fitting can reach every pair that is known.
        prior[cell] = chance + 1e-4 * pairs[pair] * by_period[origin % periods] / steps + 1e-9;
    });
    let factor = total / known.max(1e-9);
    for round in 0..5 {
        let mut sums = vec![1e-9; pairs.len()];
        sizes.for_each(|_, _, pair, cell| sums[pair] += prior[cell]);
        sizes.for_each(|_, _, pair, cell| prior[cell] *= pairs[pair] * factor / sums[pair]);
        if round < 4 {
            let (mut out, mut into) = (vec![1e-9; from.len()], vec![1e-9; to.len()]);
            sizes.for_each(|origin, destination, _, cell| {
                out[origin] += prior[cell];
                into[destination] += prior[cell];
            });
            let out: Vec<f64> =
                from.iter().zip(&out).map(|(wanted, now)| (wanted / now).sqrt()).collect();
            let into: Vec<f64> =
                to.iter().zip(&into).map(|(wanted, now)| (wanted / now).sqrt()).collect();
            sizes.for_each(|origin, destination, _, cell| {
                prior[cell] *= out[origin] * into[destination]
            });
        }
    }
    prior
}

/// Stays: toward the occupancy of the first slot × where times lead.
pub(super) fn stays(answers: &Answers, known: &Estimates) -> Belief {
    let Some((cells, blur)) = noisy(answers, Name::Stays) else { return Belief::default() };
    let (shape, clock) = (answers.plan.shape(), answers.plan.stays.clock);
    let (stations, parts) = (shape.stations as usize, clock.parts as usize);
    let mut present = vec![0.0; stations * parts];
    for (code, cards) in (0..).zip(&known.of(Name::Occupancy).mean) {
        let (station, slot): (u32, u32) = (code / shape.slots, code % shape.slots);
        present[station as usize * parts + clock.part(slot) as usize] += cards;
    }
    let mut here = vec![1e-9; parts];
    present.iter().enumerate().for_each(|(index, cards)| here[index % parts] += cards);
    let several = shape.n_days() > 1;
    let mut belief = Belief::default();
    for (parity, cells) in cells.chunks(stations * parts * parts).enumerate() {
        let leads = stays_by_time(answers, known, parity, parts);
        let leaving: Vec<f64> = leads.chunks(parts).map(|row| row.iter().sum()).collect();
        let possible = |from: usize, to: usize| several || to >= from;
        let sums: Vec<f64> = cells
            .chunks(parts)
            .enumerate()
            .map(|(row, values)| {
                (0..parts).filter(|&to| possible(row % parts, to)).map(|to| values[to]).sum()
            })
            .collect();
        let expected: Vec<f64> = (0..present.len())
            .map(|index| present[index] * leaving[index % parts] / here[index % parts] + 1e-5)
            .collect();
        let rows = posterior(&sums, &expected, blur.over(parts / 2 + 1)).mean;
        let prior: Vec<f64> = (0..cells.len())
            .map(|cell| {
                let (row, from, to) = (cell / parts, cell / parts % parts, cell % parts);
                let share = leads[from * parts + to] / leaving[from].max(1e-9);
                if possible(from, to) { rows[row] * share } else { 0.0 }
            })
            .collect();
        let own = posterior(cells, &prior, blur);
        belief.mean.extend(own.mean);
        belief.variance.extend(own.variance);
    }
    belief
}

/// How stays of one parity lead from time to time, at the resolution of the stays.
fn stays_by_time(answers: &Answers, known: &Estimates, parity: usize, parts: usize) -> Vec<f64> {
    let times = answers.plan.times.clock.parts as usize;
    let mut leads = vec![1e-9; parts * parts];
    let block = times * times;
    let start = parity * GROUPS as usize * 2 * block;
    for (cell, value) in known.of(Name::Times).mean[start..start + 2 * block].iter().enumerate() {
        let (from, to) = (cell / times % times * parts / times, cell % times * parts / times);
        leads[from * parts + to] += value;
    }
    leads
}
