//! The first draft: walkers that follow the chain, corrected until they are where occupancy has them.

use std::num::NonZeroUsize;

use super::chain::Steps;
use super::dice::{Dice, Thrower, Usage, below, evenly, happens, shuffle, thrower};
use super::estimate::Estimates;
use super::lookahead::Lookahead;
use super::plan::Plan;
use super::shape::Shape;
use super::synthetic::Synthetic;
use super::tables::{Name, ends_class, ends_time, ends_times};
use super::threads;
use super::walk::Past;
use crate::secret::NoiseKey;

const ROUNDS: u64 = 3;
/// Walkers that share one generator.
const BLOCK: usize = 4_096;
/// Longer trajectories are strung along a profile of the whole window.
pub(super) const SHORT: usize = 12;

/// A window drawn from the chain.
pub(super) fn draft(
    plan: &Plan,
    known: &Estimates,
    key: &NoiseKey,
    threads: NonZeroUsize,
) -> Synthetic {
    let mut rng = thrower(key, Usage::Starts, 0);
    let n = known.n_cards as usize;
    let starts = evenly(&known.of(Name::First).mean, n, &mut rng);
    let lengths = lengths(plan, known, &starts, &mut rng);
    let mut correction = Correction::new(plan);
    let mut lookahead = Lookahead::new(plan, known);
    let steps = Steps::new(plan, known);
    let mut window = Synthetic::default();
    for round in 0..ROUNDS {
        let walker = Walker { plan, steps: &steps, correction: &correction, lookahead: &lookahead };
        let blocks: Vec<usize> = (0..n.div_ceil(BLOCK)).collect();
        let drawn = threads::map(threads, blocks, |block| {
            let mut rng = thrower(key, Usage::Draft, round << 32 | block as u64);
            let mut walks = Synthetic::default();
            let mut codes = Vec::new();
            for ix in block * BLOCK..((block + 1) * BLOCK).min(n) {
                walker.walk(starts[ix], lengths[ix] as usize, &mut rng, &mut codes);
                walks.push(&codes);
            }
            walks
        });
        window = Synthetic::default();
        drawn.iter().for_each(|walks| window.append(walks));
        if round + 1 < ROUNDS {
            correction.improve(plan, known, &window);
            lookahead.improve(plan, known, &window);
        }
    }
    window
}

/// Numbers of taps, dealt among the walkers that begin at like times.
fn lengths(plan: &Plan, known: &Estimates, starts: &[u32], rng: &mut Thrower) -> Vec<u8> {
    let shape = plan.shape();
    let of_length = &known.lengths.mean;
    let n_times = ends_times(shape) as usize;
    let mut by_time: Vec<Vec<u32>> = vec![Vec::new(); n_times];
    for (walker, &code) in (0..).zip(starts) {
        by_time[ends_time(shape, code % shape.slots) as usize].push(walker);
    }
    let mut of_class = vec![0.0; n_times.max(16)];
    for (length, cards) in (1..).zip(of_length) {
        of_class[ends_class(length) as usize] += cards;
    }
    let mut dealt = vec![1; starts.len()];
    for (time, mut walkers) in by_time.into_iter().enumerate() {
        let weights: Vec<f64> = (1..)
            .zip(of_length)
            .map(|(length, cards)| {
                let class = ends_class(length) as usize;
                let here = known.of(Name::Starts).mean.get(class * n_times + time);
                here.map_or(*cards, |here| here * cards / of_class[class].max(1e-9))
            })
            .collect();
        let weights = if weights.iter().sum::<f64>() > 0.0 { weights } else { of_length.clone() };
        shuffle(&mut walkers, rng);
        for (walker, length) in walkers.iter().zip(evenly(&weights, walkers.len(), rng)) {
            dealt[*walker as usize] = u8::try_from(length + 1).expect("at most 64 taps");
        }
    }
    dealt
}

/// By how much each doublet is to be drawn more or less often.
#[derive(Debug)]
struct Correction {
    factor: Vec<f64>,
    /// The largest factor of a slot's stations.
    most: Vec<f64>,
    /// How often a slot comes up, for long trajectories.
    profile: Dice,
    slots: Vec<f64>,
    most_of_slots: f64,
}

impl Correction {
    fn new(plan: &Plan) -> Self {
        let shape = plan.shape();
        let n = usize::try_from(shape.n_doublets()).expect("at most 2^24");
        let slots = shape.slots as usize;
        let flat = Dice::new((0..slots).map(|_| 1.0));
        Self {
            factor: vec![1.0; n],
            most: vec![1.0; slots],
            profile: flat,
            slots: vec![1.0; slots],
            most_of_slots: 1.0,
        }
    }

    /// Compares the draft with occupancy, both clipped.
    fn improve(&mut self, plan: &Plan, known: &Estimates, window: &Synthetic) {
        let slots = plan.shape().slots as usize;
        let (want, first) = (&known.of(Name::Occupancy).mean, &known.of(Name::First).mean);
        let have = occupied(plan, window);
        let fit = have.iter().sum::<f64>() / want.iter().sum::<f64>().max(1e-9);
        let (mut wanted, mut had) = (vec![20.0; slots], vec![20.0; slots]);
        for cell in 0..have.len() {
            let (rest, drawn) = (want[cell] * fit - first[cell], have[cell] - first[cell]);
            wanted[cell % slots] += rest;
            had[cell % slots] += drawn;
            let step = ((rest.max(0.0) + 8.0) / (drawn.max(0.0) + 8.0)).clamp(0.4, 2.5);
            self.factor[cell] = (self.factor[cell] * step).clamp(0.02, 20.0);
        }
        self.most.fill(0.0);
        for (cell, factor) in self.factor.iter().enumerate() {
            self.most[cell % slots] = self.most[cell % slots].max(*factor);
        }
        for slot in 0..slots {
            let step = (wanted[slot].max(5.0) / had[slot].max(5.0)).clamp(0.5, 2.0);
            self.slots[slot] = (self.slots[slot] * step).clamp(0.1, 8.0);
        }
        self.most_of_slots = self.slots.iter().copied().fold(1e-9, f64::max);
        let by_slot =
            |slot: usize| want[slot..].iter().step_by(slots).sum::<f64>() * self.slots[slot];
        self.profile = Dice::new((0..slots).map(by_slot));
    }

    /// How likely a walker takes a slot, for what there is in it so far.
    fn of_slot(&self, slot: u32) -> f64 {
        self.slots[slot as usize] / self.most_of_slots
    }

    fn takes(&self, code: u32, slot: u32, rng: &mut Thrower) -> bool {
        happens(rng, self.factor[code as usize] / self.most[slot as usize].max(1e-9))
    }
}

/// The clipped occupancy of a synthetic window, in cards.
fn occupied(plan: &Plan, window: &Synthetic) -> Vec<f64> {
    let clip = f64::from(plan.clip(Name::Occupancy).get());
    let mut have = vec![0.0; usize::try_from(plan.shape().n_doublets()).expect("at most 2^24")];
    for codes in window.iter() {
        let is_new = |&at: &usize| !codes[..at].contains(&codes[at]);
        let distinct = (0..codes.len()).filter(is_new).count() as f64;
        let weight = (clip / distinct).min(1.0);
        (0..codes.len()).filter(is_new).for_each(|at| have[codes[at] as usize] += weight);
    }
    have
}

/// Draws single trajectories.
struct Walker<'a> {
    plan: &'a Plan,
    steps: &'a Steps,
    correction: &'a Correction,
    lookahead: &'a Lookahead,
}

impl Walker<'_> {
    fn walk(&self, start: u32, length: usize, rng: &mut Thrower, codes: &mut Vec<u32>) {
        let Shape { slots, .. } = self.plan.shape();
        codes.clear();
        codes.push(start);
        let (mut station, mut slot) = (start / slots, start % slots);
        let mut past = Past::new(station);
        let anchors = self.anchors(slot, length, rng);
        for at in 0..length - 1 {
            let parity = at as u32 % self.plan.parities;
            let relation = self.steps.relation(parity, at + 2 == length, &past, slot, rng);
            let anchor = anchors.get(at / 2).copied();
            let next = match anchor {
                Some(anchor) if at % 2 == 1 => anchor.max(slot),
                Some(anchor) => self.before(anchor, length, relation, slot, rng),
                None => self.slot(length, at, relation, slot, rng),
            };
            let older = |n: u32| below(rng, n);
            station = match past.named(relation, older) {
                Some(known) => known,
                None => self.next_station(at, station, slot, next, &past, rng),
            };
            slot = next;
            past.go(station);
            codes.push(station * slots + slot);
        }
    }

    /// Where every second tap of a long trajectory lies, in order.
    fn anchors(&self, from: u32, length: usize, rng: &mut Thrower) -> Vec<u32> {
        if length <= SHORT || self.plan.shape().slots == 1 {
            return Vec::new();
        }
        let mut anchors: Vec<u32> = (0..(length - 1) / 2)
            .map(|_| {
                let mut slot = from;
                for _ in 0..40 {
                    slot = self.correction.profile.throw(rng).unwrap_or(from);
                    if slot >= from {
                        break;
                    }
                }
                slot.max(from)
            })
            .collect();
        anchors.sort_unstable();
        anchors
    }

    /// The next slot, not after an anchor.
    fn before(
        &self,
        anchor: u32,
        length: usize,
        relation: u8,
        slot: u32,
        rng: &mut Thrower,
    ) -> u32 {
        let mut next = anchor;
        for _ in 0..6 {
            next = self.steps.slot(length, 0, relation, slot, rng);
            if next <= anchor {
                break;
            }
        }
        next.min(anchor.max(slot))
    }

    /// The next slot, such that the taps to come find room.
    fn slot(&self, length: usize, at: usize, relation: u8, slot: u32, rng: &mut Thrower) -> u32 {
        let mut next = slot;
        for _ in 0..24 {
            next = self.steps.slot(length, at as u32 % self.plan.parities, relation, slot, rng);
            let ahead = self.lookahead.chance(length, length - 2 - at, slot, next);
            if happens(rng, ahead * self.correction.of_slot(next)) {
                break;
            }
        }
        next
    }

    /// A new station, as often as occupancy has it then.
    fn next_station(
        &self,
        at: usize,
        from: u32,
        slot: u32,
        next: u32,
        past: &Past,
        rng: &mut Thrower,
    ) -> u32 {
        let slots = self.plan.shape().slots;
        let kind = self.plan.moves.kinds.of(at, slot, next);
        let mut to = from;
        for _ in 0..20 {
            to = self.steps.next_station(kind, from, slot, rng);
            if past.is_new(to) && self.correction.takes(to * slots + next, next, rng) {
                break;
            }
        }
        to
    }
}
