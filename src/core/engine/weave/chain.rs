//! When and where a walker goes next, as the estimates have it: dice made once, thrown by every walker.

use super::dice::{Dice, Rows, Thrower, below, happens};
use super::estimate::Estimates;
use super::plan::Plan;
use super::tables::{Days, Name, Relations};
use super::walk::{FLAGS, GROUPS, Past, RELATIONS, group};

/// Dice for single steps.
#[derive(Debug)]
pub(super) struct Steps {
    plan: Plan,
    /// By row of circumstances and period: how the step relates to the past.
    relations: Rows,
    /// By parity, group, later day or not, and hour: the hour it leads to.
    hours: Rows,
    /// By the same without the day: how likely it leads to a later day.
    later: Vec<f64>,
    /// By class of length, parity and day: which later day.
    days: Rows,
    /// By the same: how much likelier a later day is than for all days and lengths together.
    odds: Vec<f64>,
    /// By kind of step, origin and period: where to.
    places: Rows,
    /// Where to if nothing else is known.
    anywhere: Dice,
}

impl Steps {
    pub(super) fn new(plan: &Plan, known: &Estimates) -> Self {
        let shape = plan.shape();
        let stations = shape.stations as usize;
        let occupancy = &known.of(Name::Occupancy).mean;
        let popular =
            occupancy.chunks(shape.slots as usize).map(|row| row.iter().sum::<f64>() + 1e-6);
        let places = Rows::new(&known.of(Name::Moves).mean, stations);
        let (hours, later) = hours(plan, known);
        let (days, odds) = days(plan, known, &later);
        Self {
            plan: *plan,
            relations: relations(plan, known),
            hours,
            later,
            days,
            odds,
            places,
            anywhere: Dice::new(popular),
        }
    }

    /// How the next step relates to the past.
    pub(super) fn relation(
        &self,
        parity: u32,
        last: bool,
        past: &Past,
        slot: u32,
        rng: &mut Thrower,
    ) -> u8 {
        let clock = self.plan.relations.clock;
        let row = Relations::row(parity, last, past.flag()) * clock.parts + clock.part(slot);
        self.relations.get(row as usize).throw(rng).map_or(4, |relation| relation as u8)
    }

    /// The slot that a step leads to.
    pub(super) fn slot(
        &self,
        length: usize,
        parity: u32,
        relation: u8,
        from: u32,
        rng: &mut Thrower,
    ) -> u32 {
        let (shape, clock) = (self.plan.shape(), self.plan.times.clock);
        if shape.slots == 1 {
            return 0;
        }
        let hour = clock.part(from);
        let row = (parity * GROUPS + group(relation)) * clock.parts + hour;
        let day = from / shape.day;
        let class = (Days::class(length) * self.plan.parities + parity) * shape.n_days() + day;
        let share =
            self.later[row as usize] * self.odds.get(class as usize).copied().unwrap_or(1.0);
        let later = day + 1 < shape.n_days() && happens(rng, share / (1.0 + share));
        let block = parity * GROUPS + group(relation);
        let dice = self.hours.get(((block * 2 + u32::from(later)) * clock.parts + hour) as usize);
        let to = dice.throw(rng).unwrap_or(hour);
        let day = match later {
            true => self.days.get(class as usize).throw(rng).unwrap_or(day + 1).max(day + 1),
            false => day,
        };
        self.within(day, to, from, rng)
    }

    /// A slot of an hour, not before `from`.
    fn within(&self, day: u32, part: u32, from: u32, rng: &mut Thrower) -> u32 {
        let shape = self.plan.shape();
        let width = shape.day / self.plan.times.clock.parts;
        let start = day * shape.day + part * width;
        let slot = if width > 1 { start + below(rng, width) } else { start };
        slot.clamp(from, shape.slots - 1)
    }

    /// A new destination, before any rejection.
    pub(super) fn next_station(&self, kind: u32, from: u32, slot: u32, rng: &mut Thrower) -> u32 {
        let row = self.plan.moves.row(kind, from, slot) as usize;
        self.places.get(row).throw(rng).or_else(|| self.anywhere.throw(rng)).unwrap_or(0)
    }
}

fn relations(plan: &Plan, known: &Estimates) -> Rows {
    let parts = plan.relations.clock.parts as usize;
    let cells = &known.of(Name::Relations).mean;
    let n = RELATIONS as usize;
    let mut weights = Vec::with_capacity(cells.len());
    for row in 0..(plan.parities * 2 * FLAGS) as usize {
        for part in 0..parts {
            weights.extend((0..n).map(|relation| cells[(row * n + relation) * parts + part]));
        }
    }
    Rows::new(&weights, n)
}

/// Dice over hours, and the ratio of steps to a later day to those of the same day.
fn hours(plan: &Plan, known: &Estimates) -> (Rows, Vec<f64>) {
    let parts = plan.times.clock.parts as usize;
    let cells = &known.of(Name::Times).mean;
    let mut later = Vec::new();
    for block in cells.chunks(2 * parts * parts) {
        let sum = |row: usize| block[row * parts..(row + 1) * parts].iter().sum::<f64>();
        later.extend((0..parts).map(|hour| (sum(parts + hour) + 1e-9) / (sum(hour) + 1e-6)));
    }
    if plan.shape().n_days() == 1 || cells.is_empty() {
        later = vec![0.0; (plan.parities * GROUPS) as usize * parts];
    }
    (Rows::new(cells, parts), later)
}

/// Dice over later days, and how much likelier a later day is by length and day.
fn days(plan: &Plan, known: &Estimates, later: &[f64]) -> (Rows, Vec<f64>) {
    let n = plan.shape().n_days() as usize;
    let parities = plan.parities as usize;
    let cells = &known.of(Name::Days).mean;
    if n == 1 || cells.is_empty() || later.is_empty() {
        return (Rows::default(), Vec::new());
    }
    let after = |row: usize| cells[row * n + row % n + 1..(row + 1) * n].iter().sum::<f64>();
    let same = |row: usize| cells[row * n + row % n];
    let rows = cells.len() / n;
    let mut weights = cells.clone();
    let mut odds = Vec::with_capacity(rows);
    for row in 0..rows {
        weights[row * n..=row * n + row % n].fill(0.0);
        let alike = (0..rows).filter(|other| other / n % parities == row / n % parities);
        let (mut all_after, mut all_same) = (1e-6, 1e-6);
        for other in alike {
            all_after += after(other);
            all_same += same(other);
        }
        let own = (after(row) + 1e-3) / (same(row) + 1e-3);
        odds.push((own * all_same / all_after).clamp(0.02, 50.0));
    }
    (Rows::new(&weights, n), odds)
}
