//! Local moves: another station for a stay, another slot for a tap, another way for a loop. They are proposed where
//! something is missing; whether one is taken is the goal's matter.

use std::collections::BTreeMap;

use super::dice::{Dice, Rows, Thrower, below};
use super::estimate::Estimates;
use super::goal::{Gap, Goal};
use super::measure::Answers;
use super::plan::Plan;
use super::tables::{Loop, Loops, Name};
use super::walk::Walk;
use super::weights::UNIT;

/// The kinds of moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Another way from the same place and hour.
    Loop,
    /// Another destination, one that is missing from here at this time.
    Destination,
    /// Another destination, one that is missing from here over the day.
    Pair,
    /// Another station wherever this one occurs.
    Everywhere,
    /// Another slot for one tap.
    Slot,
    /// Another station that is missing in this slot.
    Station,
    /// A station that the card is at anyway.
    Known,
}

impl Kind {
    /// What is tried on every trajectory in a pass.
    pub(super) const ROUND: [Self; 8] = [
        Self::Loop,
        Self::Destination,
        Self::Everywhere,
        Self::Slot,
        Self::Pair,
        Self::Station,
        Self::Known,
        Self::Slot,
    ];
}

/// Ways that are missing from one place in one part of the day.
#[derive(Clone, Debug, Default)]
struct Missing {
    cells: Vec<u64>,
    weights: Vec<f64>,
    dice: Dice,
}

/// What is missing, as dice.
pub(super) struct Proposals<'a> {
    plan: &'a Plan,
    /// By slot: stations.
    stations: Rows,
    /// By station: slots.
    slots: Rows,
    /// By kind of step, origin and period: destinations missing.
    moves: Rows,
    /// By kind of step and origin: destinations missing.
    pairs: Rows,
    /// By kind of step, origin and period: destinations, missing or not.
    usual: Rows,
    loops: Vec<Missing>,
}

impl<'a> Proposals<'a> {
    pub(super) fn new(
        answers: &'a Answers,
        known: &Estimates,
        goal: &Goal,
        loops: &BTreeMap<u64, (f64, f64)>,
        gaps: &[Gap],
    ) -> Self {
        let plan = &answers.plan;
        let shape = plan.shape();
        let (stations, slots) = (shape.stations as usize, shape.slots as usize);
        let missing = |cell: usize| (-gaps[cell].over).max(0) as f64 / f64::from(UNIT);
        let of_table = |name: Name| -> Vec<f64> {
            let Some(offset) = goal.offset(name) else { return Vec::new() };
            let n = plan.table(name).n_cells() as usize;
            (offset..offset + n).map(missing).collect()
        };
        // Where cells were not asked, nothing is known to be missing: any cell as often as it is believed.
        let occupancy = match plan.asks(Name::Occupancy) {
            true => of_table(Name::Occupancy),
            false => known.of(Name::Occupancy).mean.clone(),
        };
        let by_slot: Vec<f64> =
            (0..slots).flat_map(|slot| occupancy[slot..].iter().step_by(slots).copied()).collect();
        let some = |missing: f64| (missing - 0.3).max(0.0);
        let moves: Vec<f64> = of_table(Name::Moves).into_iter().map(some).collect();
        let pairs: Vec<f64> = of_table(Name::Pairs).into_iter().map(some).collect();
        Self {
            plan,
            stations: Rows::new(&by_slot, stations),
            slots: Rows::new(&occupancy, slots),
            moves: Rows::new(&moves, stations),
            pairs: Rows::new(&pairs, stations),
            usual: Rows::new(&known.of(Name::Moves).mean, stations),
            loops: missing_loops(plan, goal, loops, &missing),
        }
    }

    /// Changes `codes`, which are the walk's; false if there is nothing to propose.
    pub(super) fn propose(
        &self,
        kind: Kind,
        walk: &Walk,
        codes: &mut [u32],
        rng: &mut Thrower,
    ) -> bool {
        match kind {
            Kind::Destination | Kind::Pair | Kind::Station | Kind::Known => {
                self.run(kind, walk, codes, rng)
            }
            Kind::Everywhere => self.everywhere(walk, codes, rng),
            Kind::Slot => self.slot(walk, codes, rng),
            Kind::Loop => self.way(walk, codes, rng),
        }
    }

    fn code(&self, station: u32, slot: u32) -> u32 {
        station * self.plan.shape().slots + slot
    }

    /// Another station for a run of taps at one station.
    fn run(&self, kind: Kind, walk: &Walk, codes: &mut [u32], rng: &mut Thrower) -> bool {
        let at = below(rng, walk.n as u32) as usize;
        let station = walk.station[at];
        let mut first = at;
        while first > 0 && walk.station[first - 1] == station {
            first -= 1;
        }
        let mut last = at;
        while last + 1 < walk.n && walk.station[last + 1] == station {
            last += 1;
        }
        let there = match kind {
            Kind::Known => Some(walk.station[below(rng, walk.n as u32) as usize]),
            Kind::Station => self.stations.get(walk.slot[at] as usize).throw(rng),
            _ if first == 0 => self.stations.get(walk.slot[at] as usize).throw(rng),
            Kind::Pair => {
                let kind = self.kind_before(walk, first);
                let row = kind * self.plan.shape().stations + walk.station[first - 1];
                self.pairs.get(row as usize).throw(rng)
            }
            _ => {
                let kind = self.kind_before(walk, first);
                let row = self.plan.moves.row(kind, walk.station[first - 1], walk.slot[first - 1])
                    as usize;
                self.moves.get(row).throw(rng).or_else(|| self.usual.get(row).throw(rng))
            }
        };
        let Some(there) = there.filter(|&there| there != station) else { return false };
        for (code, &slot) in codes[first..=last].iter_mut().zip(&walk.slot[first..=last]) {
            *code = self.code(there, slot);
        }
        true
    }

    /// The kind of the step that leads to a tap.
    fn kind_before(&self, walk: &Walk, tap: usize) -> u32 {
        self.plan.moves.kinds.of(tap - 1, walk.slot[tap - 1], walk.slot[tap])
    }

    /// Another station wherever one occurs.
    fn everywhere(&self, walk: &Walk, codes: &mut [u32], rng: &mut Thrower) -> bool {
        let at = below(rng, walk.n as u32) as usize;
        let Some(there) = self.stations.get(walk.slot[at] as usize).throw(rng) else {
            return false;
        };
        if walk.station[..walk.n].contains(&there) {
            return false;
        }
        self.replace(walk, walk.station[at], there, 0, codes);
        true
    }

    fn replace(&self, walk: &Walk, station: u32, there: u32, from: usize, codes: &mut [u32]) {
        for tap in (from..walk.n).filter(|&tap| walk.station[tap] == station) {
            codes[tap] = self.code(there, walk.slot[tap]);
        }
    }

    /// Another slot for one tap, between its neighbours.
    fn slot(&self, walk: &Walk, codes: &mut [u32], rng: &mut Thrower) -> bool {
        let shape = self.plan.shape();
        let at = below(rng, walk.n as u32) as usize;
        let (station, slot) = (walk.station[at], walk.slot[at]);
        let earliest = if at > 0 { walk.slot[at - 1] } else { 0 };
        let latest = if at + 1 < walk.n { walk.slot[at + 1] } else { shape.slots - 1 };
        let step = |by: u32, up: bool| if up { slot.checked_add(by) } else { slot.checked_sub(by) };
        let other = match below(rng, 4) {
            0 => step(1, below(rng, 2) == 1),
            1 if shape.n_days() > 1 => step(shape.day, below(rng, 2) == 1),
            _ => self.slots.get(station as usize).throw(rng),
        };
        let Some(other) = other.filter(|&o| o != slot && o >= earliest && o <= latest) else {
            return false;
        };
        codes[at] = self.code(station, other);
        true
    }

    /// Another way, one that is missing from the same place and hour.
    fn way(&self, walk: &Walk, codes: &mut [u32], rng: &mut Thrower) -> bool {
        if self.loops.is_empty() || walk.n < 3 {
            return false;
        }
        let at = below(rng, walk.n as u32 - 2) as usize;
        let Some(old) = Loops::at(walk, at) else { return false };
        let clock = self.plan.loops.clock;
        let missing = &self.loops[(old.from * clock.parts + clock.part(old.begun)) as usize];
        let Some(chosen) = missing.dice.throw(rng) else { return false };
        let (kind, to, part) = self.taken_apart(missing.cells[chosen as usize]);
        if (kind == 2) != (old.kind == 2) {
            return false;
        }
        let on = self.moved(old.on, part);
        if on < old.begun || on >= self.plan.shape().slots || to == old.from {
            return false;
        }
        let done = match kind {
            2 => self.straight_back(walk, at, old, to, on, codes),
            _ => self.with_stay(walk, at, old, Loop { kind, to, on, ..old }, codes, rng),
        };
        let slots = self.plan.shape().slots;
        done && codes.windows(2).all(|taps| taps[0] % slots <= taps[1] % slots)
    }

    /// Kind, destination and part of the day in which a way goes on.
    fn taken_apart(&self, cell: u64) -> (u32, u32, u32) {
        let (stations, parts) =
            (u64::from(self.plan.shape().stations), u64::from(self.plan.loops.clock.parts));
        let pair = cell / (parts * parts);
        ((pair / (stations * stations)) as u32, (pair % stations) as u32, (cell % parts) as u32)
    }

    /// The slot of the same day that lies in another part of it.
    fn moved(&self, slot: u32, part: u32) -> u32 {
        let (day, clock) = (self.plan.shape().day, self.plan.loops.clock);
        if clock.part(slot) == part {
            return slot;
        }
        let width = day / clock.parts;
        slot / day * day + part * width + slot % width
    }

    fn straight_back(
        &self,
        walk: &Walk,
        at: usize,
        old: Loop,
        to: u32,
        on: u32,
        codes: &mut [u32],
    ) -> bool {
        self.replace(walk, old.to, to, at + 1, codes);
        codes[at + 1] = self.code(to, on);
        true
    }

    fn with_stay(
        &self,
        walk: &Walk,
        at: usize,
        old: Loop,
        new: Loop,
        codes: &mut [u32],
        rng: &mut Thrower,
    ) -> bool {
        let latest = self.plan.shape().slots - 1;
        let after = walk.slot[at + 3] - walk.slot[at + 2];
        let next = match new.kind {
            same if same == old.kind => Some(walk.station[at + 3]),
            0 => Some(new.from),
            _ => self
                .usual
                .get({
                    let kind = self.plan.moves.kinds.of(at + 2, new.on, new.on + after);
                    self.plan.moves.row(kind, new.to, new.on) as usize
                })
                .throw(rng),
        };
        let Some(next) = next.filter(|&next| next != new.to && (new.kind == 0 || next != new.from))
        else {
            return false;
        };
        if new.kind == old.kind {
            self.replace(walk, old.to, new.to, at + 1, codes);
        }
        codes[at + 1] = self.code(new.to, walk.slot[at + 1].min(new.on));
        codes[at + 2] = self.code(new.to, new.on);
        codes[at + 3] = self.code(next, (new.on + after).min(latest));
        true
    }
}

/// Ways that are missing, by place and part of the day in which they begin.
fn missing_loops(
    plan: &Plan,
    goal: &Goal,
    loops: &BTreeMap<u64, (f64, f64)>,
    missing: &dyn Fn(usize) -> f64,
) -> Vec<Missing> {
    if loops.is_empty() {
        return Vec::new();
    }
    let (stations, parts) = (u64::from(plan.shape().stations), u64::from(plan.loops.clock.parts));
    let mut all = vec![Missing::default(); (stations * parts) as usize];
    for &cell in loops.keys() {
        let weight = goal.loop_cell(cell).map_or(0.0, |number| missing(number as usize));
        if weight > 0.4 {
            let from = cell / (parts * parts * stations) % stations;
            let own = &mut all[(from * parts + cell / parts % parts) as usize];
            own.cells.push(cell);
            own.weights.push(weight);
        }
    }
    for own in &mut all {
        own.dice = Dice::new(std::mem::take(&mut own.weights).into_iter());
    }
    all
}
