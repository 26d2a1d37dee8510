//! The published tables: estimates with what clipping took away put back, and intervals that know of both.

use super::Shape;
use super::estimate::{Belief, Estimates};
use super::measure::Answers;
use super::plan::Plan;
use super::synthetic::Synthetic;
use super::tables::Name;
use super::walk::Walk;
use super::weights::{Contribution, UNIT};
use crate::engine::{Interval, LegCount, LengthCount, StationCount, Tables};
use crate::model::StationIx;

/// Half the width of a 95 % interval in standard deviations, for noise with the tails of a Laplace distribution:
/// ln 20 / √2.
const HALF_WIDTH: f64 = 2.12;
/// Legs are clipped by whole trajectories and told once a period: a part of each count that no table knows about.
const UNMODELLED: f64 = 0.06;
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

/// A mean with its interval: sums over cells stay right. A little is always left to what nobody modelled.
fn interval(mean: f64, variance: f64) -> Interval {
    let value = (mean + 0.5).max(0.0) as u64;
    let low = quantile(mean, variance, -HALF_WIDTH).floor() as u64;
    let high = quantile(mean, variance, HALF_WIDTH).ceil() as u64;
    Interval { value, low: low.min(value), high: high.max(value) }
}

/// The same where a value below the noise is told as nothing: as far to both sides.
fn even_interval(value: f64, variance: f64) -> Interval {
    let half = HALF_WIDTH * (variance + 0.25).sqrt();
    let whole = |number: f64| number.max(0.0) as u64;
    Interval {
        value: whole(value + 0.5),
        low: whole((value - half).floor()),
        high: whole((value + half).ceil()),
    }
}

/// Where a count with this mean and variance lies that is never negative: a gamma distribution's quantile, so many
/// standard deviations of a normal one from its middle (Wilson and Hilferty, 1931).
fn quantile(mean: f64, variance: f64, deviations: f64) -> f64 {
    let mean = mean.max(1e-3);
    let shape = mean * mean / (variance + 0.25);
    let root = 1.0 - 1.0 / (9.0 * shape) + deviations / (3.0 * shape.sqrt());
    mean * root.max(0.0) * root.max(0.0) * root.max(0.0)
}

/// How many cards are in each doublet: as measured, with what clipping took put back.
fn stations(answers: &Answers, known: &Estimates, window: &Synthetic) -> Vec<StationCount> {
    let plan = &answers.plan;
    let shape = plan.shape();
    let clipping = Clipping::of(plan, Name::Occupancy, window);
    let all = clipping.factor(0..clipping.full.len());
    let belief = known.of(Name::Occupancy);
    let factors: Vec<f64> =
        (0..belief.mean.len()).map(|cell| clipping.factor_near(cell, all)).collect();
    let by_slot = slot_corrections(plan, belief, &factors, &clipping);
    (0..)
        .zip(belief.mean.iter().zip(&belief.variance))
        .map(|(code, (mean, variance))| {
            let factor = factors[code as usize];
            let slot = code % shape.slots;
            // Half of what clipping took is in doubt, and so is a part of what the window has to say about it.
            let doubt = (0.5 * (factor - 1.0) + 0.01) * mean;
            let fitted = by_slot[slot as usize];
            let variance = (variance * factor * factor + doubt * doubt) * fitted * fitted;
            let taps = interval(mean * factor * fitted, variance);
            StationCount { station: StationIx(code / shape.slots), slot, taps }
        })
        .collect()
}

/// What to multiply the cells of a slot by. When cards tap first, last and next was asked too, and all of that is in
/// the synthetic trips: on one day their sums by slot are as good as the table's own, so both are taken by half.
fn slot_corrections(
    plan: &Plan,
    belief: &Belief,
    factors: &[f64],
    clipping: &Clipping,
) -> Vec<f64> {
    let slots = plan.shape().slots as usize;
    if slots == 1 || plan.shape().n_days() > 1 || !plan.asks(Name::First) {
        return vec![1.0; slots];
    }
    let (mut own, mut woven) = (vec![0.0; slots], vec![0.0; slots]);
    for (cell, (mean, factor)) in belief.mean.iter().zip(factors).enumerate() {
        own[cell % slots] += mean * factor;
        woven[cell % slots] += clipping.full[cell];
    }
    let half = |(own, woven): (&f64, &f64)| {
        if *own > 0.0 { (0.5 + 0.5 * woven / own).clamp(0.5, 2.0) } else { 1.0 }
    };
    own.iter().zip(&woven).map(half).collect()
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

    /// What clipping divided some cells by, all together.
    fn factor(&self, cells: std::ops::Range<usize>) -> f64 {
        self.full[cells.clone()].iter().sum::<f64>().max(1.0)
            / self.clipped[cells].iter().sum::<f64>().max(1.0)
    }

    /// What it divided one cell by; a small one leans on `usual`.
    fn factor_near(&self, cell: usize, usual: f64) -> f64 {
        (self.full[cell] + LEAN * usual) / (self.clipped[cell] + LEAN)
    }
}

/// Legs by period: pairs of the whole window, divided as moves have it.
fn od(answers: &Answers, known: &Estimates, window: &Synthetic) -> Vec<LegCount> {
    let plan = &answers.plan;
    if !plan.asks(Name::Pairs) {
        return Vec::new();
    }
    let shape = plan.shape();
    let (stations, periods) = (shape.stations as usize, plan.moves.clock.parts as usize);
    let n_pairs = stations * stations;
    let clipping = Clipping::of(plan, Name::Pairs, window);
    let kinds: Vec<(usize, f64)> = (0..plan.moves.kinds.n())
        .filter(|&kind| plan.moves.kinds.is_leg(kind))
        .map(|kind| kind as usize)
        .map(|kind| (kind, clipping.factor(kind * n_pairs..(kind + 1) * n_pairs)))
        .collect();
    let pairs = known.of(Name::Pairs);
    let stays = stays_by_period(plan, known);
    let shares = Shares { moves: known.of(Name::Moves), stays: &stays, stations, periods };
    let mut legs = Vec::new();
    let mut by_period = vec![(0.0, 0.0); periods];
    for pair in 0..n_pairs {
        by_period.fill((0.0, 0.0));
        let mut noise = 0.0;
        for &(kind, lost) in &kinds {
            let cell = kind * n_pairs + pair;
            let factor = clipping.factor_near(cell, lost);
            let doubt = (0.3 * (factor - 1.0) + UNMODELLED) * pairs.mean[cell];
            let measured = pairs.variance[cell] * factor * factor;
            noise += measured;
            let day = (pairs.mean[cell] * factor, measured + doubt * doubt);
            shares.divide(kind, pair, day, &mut by_period);
        }
        let values = whole_parts(&by_period, noise);
        for (period, (&(mean, variance), value)) in by_period.iter().zip(values).enumerate() {
            if value > 0 {
                legs.push(LegCount {
                    origin: StationIx((pair / stations) as u32),
                    dest: StationIx((pair % stations) as u32),
                    period: first_slot(shape, period, periods),
                    trips: around(value, interval(mean, variance)),
                });
            }
        }
    }
    legs
}

/// When stays at each station begin, as shares of the periods; where stays were not asked, when cards are there.
fn stays_by_period(plan: &Plan, known: &Estimates) -> Vec<f64> {
    let (shape, periods) = (plan.shape(), plan.moves.clock.parts as usize);
    let stations = shape.stations as usize;
    let mut shares = vec![1e-6; stations * periods];
    if plan.asks(Name::Stays) {
        let parts = plan.stays.clock.parts as usize;
        for (row, times) in known.of(Name::Stays).mean.chunks(parts).enumerate() {
            let (station, part) = (row / parts % stations, row % parts);
            shares[station * periods + part * periods / parts] += times.iter().sum::<f64>();
        }
    } else {
        for (code, cards) in (0..).zip(&known.of(Name::Occupancy).mean) {
            let (station, slot): (u32, u32) = (code / shape.slots, code % shape.slots);
            shares[station as usize * periods + plan.moves.clock.part(slot) as usize] += cards;
        }
    }
    for own in shares.chunks_mut(periods) {
        let total: f64 = own.iter().sum();
        own.iter_mut().for_each(|share| *share /= total);
    }
    shares
}

/// The legs of a pair by period, in whole numbers that add up to the pair's median. Of all values a median has the
/// smallest expected distance from the truth, so a table of medians is not farther off, as far as the belief is right,
/// than an empty one: rare pairs are 0, and sums over pairs are a little low.
fn whole_parts(by_period: &[(f64, f64)], noise: f64) -> Vec<u64> {
    let day: f64 = by_period.iter().map(|part| part.0).sum();
    let total = (quantile(day, noise, 0.0) + 0.5) as u64;
    let exact: Vec<f64> =
        by_period.iter().map(|part| part.0 * total as f64 / day.max(1e-9)).collect();
    let mut whole: Vec<u64> = exact.iter().map(|part| *part as u64).collect();
    let mut order: Vec<usize> = (0..whole.len()).collect();
    let rest = |period: usize| exact[period] - exact[period].floor();
    order.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)).then(a.cmp(&b)));
    let given: u64 = whole.iter().sum();
    for &period in order.iter().take(total.saturating_sub(given) as usize) {
        whole[period] += 1;
    }
    whole
}

/// The same interval around another value, which lies in it.
fn around(value: u64, interval: Interval) -> Interval {
    Interval { value, low: interval.low.min(value), high: interval.high.max(value) }
}

/// How the legs of a pair are divided among periods.
struct Shares<'a> {
    moves: &'a Belief,
    /// By station and period: the share of stays that begin then.
    stays: &'a [f64],
    stations: usize,
    periods: usize,
}

impl Shares<'_> {
    /// Adds a pair's legs of one kind, mean and variance, to its periods.
    fn divide(&self, kind: usize, pair: usize, day: (f64, f64), by_period: &mut [(f64, f64)]) {
        let Self { moves, stays, stations, periods } = *self;
        if periods == 1 {
            by_period[0].0 += day.0;
            by_period[0].1 += day.1;
            return;
        }
        let (from, to) = (pair / stations, pair % stations);
        if from == to {
            // Moves have no stays; how those are divided is known from another table, and less well.
            let shares = &stays[from * periods..(from + 1) * periods];
            for (sum, share) in by_period.iter_mut().zip(shares) {
                let apart = 0.3 * day.0 * share;
                sum.0 += day.0 * share;
                sum.1 += day.1 * share * share + apart * apart;
            }
            return;
        }
        let row = |period: usize| ((kind * stations + from) * periods + period) * stations + to;
        let total: f64 = (0..periods).map(|period| moves.mean[row(period)]).sum();
        let blur: f64 = (0..periods).map(|period| moves.variance[row(period)]).sum();
        let scale = day.0 / total.max(1.0);
        for (period, sum) in by_period.iter_mut().enumerate() {
            let known = total > 0.0;
            let share = if known { moves.mean[row(period)] / total } else { 1.0 / periods as f64 };
            // The share is in doubt as far as the moves are, the whole as far as the pairs are.
            let own = moves.variance[row(period)] * (1.0 - share) + share * share * blur;
            let apart = UNMODELLED * day.0 * share;
            sum.0 += day.0 * share;
            sum.1 += day.1 * share * share + own * scale * scale + apart * apart;
        }
    }
}

/// The first slot of a period of the day.
fn first_slot(shape: Shape, period: usize, periods: usize) -> u32 {
    let slot = (period as u64 * u64::from(shape.day)).div_ceil(periods as u64);
    u32::try_from(slot).expect("a slot of the first day")
}

fn lengths(known: &Estimates) -> Vec<LengthCount> {
    let belief = &known.lengths;
    (1..)
        .zip(belief.mean.iter().zip(&belief.variance))
        .map(|(taps, (mean, variance))| LengthCount {
            taps,
            cards: even_interval(*mean, *variance),
        })
        .collect()
}
