//! The published tables: estimates with what clipping took away put back, and intervals that know of both.

use super::estimate::Estimates;
use super::legs::legs;
use super::measure::Answers;
use super::plan::Plan;
use super::synthetic::Synthetic;
use super::tables::Name;
use super::walk::Walk;
use super::weights::{Contribution, UNIT};
use super::{Legs, Shape};
use crate::engine::{Interval, LegCount, LengthCount, StationCount, Tables};
use crate::model::StationIx;

/// Half the width of a 95 % interval in standard deviations, for noise with the tails of a Laplace distribution:
/// ln 20 / √2.
const HALF_WIDTH: f64 = 2.12;
/// Cells with fewer cards lean on what clipping does to all cells together.
const LEAN: f64 = 50.0;

/// All tables that a release publishes.
pub(super) fn tables(answers: &Answers, known: &Estimates, window: &Synthetic) -> Tables {
    Tables {
        stations: stations(answers, known, window),
        od: od(answers, known, window),
        lengths: lengths(known),
    }
}

/// A value with its interval. A little is always left to what nobody modelled.
fn interval(value: f64, variance: f64) -> Interval {
    let half = HALF_WIDTH * (variance + 0.25).sqrt();
    let whole = |number: f64| number.max(0.0) as u64;
    Interval {
        value: whole(value + 0.5),
        low: whole((value - half).floor()),
        high: whole((value + half).ceil()),
    }
}

/// How many cards are in each doublet, counted fully and as clipped.
fn stations(answers: &Answers, known: &Estimates, window: &Synthetic) -> Vec<StationCount> {
    let plan = &answers.plan;
    let shape = plan.shape();
    let Clipping { full, clipped } = Clipping::of(plan, Name::Occupancy, window);
    let all = full.iter().sum::<f64>().max(1.0) / clipped.iter().sum::<f64>().max(1.0);
    let belief = known.of(Name::Occupancy);
    (0..)
        .zip(belief.mean.iter().zip(&belief.variance))
        .map(|(code, (mean, variance))| {
            let cell = code as usize;
            let factor = (full[cell] + LEAN * all) / (clipped[cell] + LEAN);
            // Half of what clipping took is in doubt, and so is a part of what the window has to say about it.
            let doubt = 0.3 * (factor - 1.0) * mean;
            let taps = interval(mean * factor, variance * factor * factor + doubt * doubt);
            StationCount { station: StationIx(code / shape.slots), slot: code % shape.slots, taps }
        })
        .collect()
}

/// What a synthetic window has in the cells of a table.
struct Clipping {
    full: Vec<f64>,
    clipped: Vec<f64>,
}

impl Clipping {
    fn of(plan: &Plan, name: Name, window: &Synthetic) -> Self {
        let table = plan.table(name);
        let n = usize::try_from(table.n_cells()).expect("the plan bounds tables");
        let (mut full, mut clipped) = (vec![0_u64; n], vec![0_u64; n]);
        let (mut walk, mut cells) = (Walk::new(), Contribution::default());
        for codes in window.iter() {
            walk.read(codes, plan.shape());
            cells.clear();
            table.cells(&walk, &mut cells);
            cells.cells().iter().for_each(|&(cell, _)| full[cell as usize] += u64::from(UNIT));
            cells.clip(plan.clip(name));
            cells
                .cells()
                .iter()
                .for_each(|&(cell, units)| clipped[cell as usize] += u64::from(units));
        }
        let cards =
            |units: Vec<u64>| units.into_iter().map(|n| n as f64 / f64::from(UNIT)).collect();
        Self { full: cards(full), clipped: cards(clipped) }
    }
}

/// Legs by period: pairs of the whole day, divided as moves have it.
fn od(answers: &Answers, known: &Estimates, window: &Synthetic) -> Vec<LegCount> {
    let plan = &answers.plan;
    if !plan.asks(Name::Pairs) || !plan.asks(Name::Moves) {
        return Vec::new();
    }
    let shape = plan.shape();
    let (stations, periods) = (shape.stations as usize, plan.moves.clock.parts as usize);
    let n_pairs = stations * stations;
    let parities = if plan.terms.legs == Legs::Pairs { 1 } else { plan.parities };
    let factors = leg_factors(plan, window);
    let (pairs, moves) = (known.of(Name::Pairs), known.of(Name::Moves));
    let mut legs = Vec::new();
    for pair in 0..n_pairs {
        let (from, to) = (pair / stations, pair % stations);
        let mut by_period = vec![(0.0, 0.0); periods];
        for (parity, factor) in (0..parities as usize).zip(&factors) {
            let day = (
                pairs.mean[parity * n_pairs + pair] * factor,
                pairs.variance[parity * n_pairs + pair] * factor * factor,
            );
            let row =
                |period: usize| ((parity * stations + from) * periods + period) * stations + to;
            let total: f64 = (0..periods).map(|period| moves.mean[row(period)]).sum();
            for (period, sum) in by_period.iter_mut().enumerate() {
                let share = if total > 0.0 {
                    moves.mean[row(period)] / total
                } else {
                    1.0 / periods as f64
                };
                // The share is in doubt as far as the moves are, the whole as far as the pairs are.
                let own = moves.variance[row(period)] * factor * factor;
                sum.0 += day.0 * share;
                sum.1 += day.1 * share * share + own * (1.0 - share);
            }
        }
        for (period, (mean, variance)) in
            by_period.into_iter().enumerate().filter(|(_, (mean, _))| *mean >= 0.5)
        {
            legs.push(LegCount {
                origin: StationIx(from as u32),
                dest: StationIx(to as u32),
                period: first_slot(shape, period, periods),
                trips: interval(mean, variance),
            });
        }
    }
    legs
}

/// The first slot of a period of the day.
fn first_slot(shape: Shape, period: usize, periods: usize) -> u32 {
    let slot = (period as u64 * u64::from(shape.day)).div_ceil(periods as u64);
    u32::try_from(slot).expect("a slot of the first day")
}

/// By parity: legs of the synthetic window over what is left of them after the clip.
fn leg_factors(plan: &Plan, window: &Synthetic) -> Vec<f64> {
    let n = plan.parities as usize;
    let (mut full, mut clipped) = (vec![0_u64; n], vec![0_u64; n]);
    let table = plan.table(Name::Pairs);
    let half = table.n_cells() / n as u64;
    let (mut walk, mut cells) = (Walk::new(), Contribution::default());
    for codes in window.iter() {
        walk.read(codes, plan.shape());
        let is_counted =
            |at: &usize| at.is_multiple_of(n) || walk.station[*at] != walk.station[at + 1];
        legs(Legs::Next, &walk).filter(is_counted).for_each(|at| full[at % n] += u64::from(UNIT));
        cells.clear();
        table.cells(&walk, &mut cells);
        cells.clip(plan.clip(Name::Pairs));
        cells
            .cells()
            .iter()
            .for_each(|&(cell, units)| clipped[(cell / half) as usize] += u64::from(units));
    }
    full.iter()
        .zip(&clipped)
        .map(|(full, clipped)| *full as f64 / (*clipped).max(1) as f64)
        .collect()
}

fn lengths(known: &Estimates) -> Vec<LengthCount> {
    let belief = &known.lengths;
    (1..)
        .zip(belief.mean.iter().zip(&belief.variance))
        .map(|(taps, (mean, variance))| LengthCount { taps, cards: interval(*mean, *variance) })
        .collect()
}
