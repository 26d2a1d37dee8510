//! Ways that go on: only cells that reached the threshold are known; the others are part of the fit all the same.

use std::collections::BTreeMap;

use super::posterior::{Census, enter, posterior_above};
use super::{Estimates, blur};
use crate::engine::weave::measure::Answers;
use crate::engine::weave::tables::{Loop, Loops, Name, Table};
use crate::engine::weave::weights::UNIT;

/// How often each kind goes on when, as a first draft has it: one cell a kind, beginning and going on.
#[derive(Clone, Debug)]
pub(in crate::engine::weave) struct LoopProfile {
    parts: usize,
    cards: Vec<f64>,
}

impl LoopProfile {
    pub(in crate::engine::weave) fn new(loops: &Loops) -> Self {
        let parts = loops.clock.parts as usize;
        Self { parts, cards: vec![0.0; Loops::KINDS as usize * parts * parts] }
    }

    /// Adds a way that weighs so many units.
    pub(in crate::engine::weave) fn add(&mut self, loops: &Loops, way: Loop, units: u32) {
        let from = way.kind as usize * self.parts + loops.clock.part(way.begun) as usize;
        self.cards[from * self.parts + loops.clock.part(way.on) as usize] +=
            f64::from(units) / f64::from(UNIT);
    }
}

/// Cards and variance of the cells that count.
pub(in crate::engine::weave) fn loops(
    answers: &Answers,
    known: &Estimates,
    profile: &LoopProfile,
) -> BTreeMap<u64, (f64, f64)> {
    let mut found = BTreeMap::new();
    if answers.loops.is_empty() {
        return found;
    }
    let begins = beginnings(answers, known, profile.parts);
    let (stations, parts) = (answers.plan.shape().stations as usize, profile.parts);
    let mut by_part = vec![1e-9; parts];
    begins.iter().enumerate().for_each(|(cell, cards)| by_part[cell % parts] += cards);
    let threshold = answers.plan.threshold() as f64 / f64::from(UNIT);
    let block = (stations * stations * parts * parts) as u64;
    for kind in 0..Loops::KINDS as usize {
        let expected = |pair: usize, begun: usize, on: usize| {
            let share = begins[pair * parts + begun] / by_part[begun];
            share * profile.cards[(kind * parts + begun) * parts + on]
        };
        let mut census = Census::new();
        for pair in (0..stations * stations).filter(|pair| pair / stations != pair % stations) {
            for times in 0..parts * parts {
                let prior = expected(pair, times / parts, times % parts);
                if prior > LEAST {
                    enter(&mut census, prior);
                }
            }
        }
        let (mut cells, mut noisy, mut prior) = (Vec::new(), Vec::new(), Vec::new());
        let start = answers.loops.partition_point(|&(cell, _)| cell < kind as u64 * block);
        let end = answers.loops.partition_point(|&(cell, _)| cell < (kind as u64 + 1) * block);
        for &(cell, units) in &answers.loops[start..end] {
            let within = (cell % block) as usize;
            let (pair, times) = (within / (parts * parts), within % (parts * parts));
            let mean = expected(pair, times / parts, times % parts);
            if mean > LEAST && pair / stations != pair % stations {
                cells.push(cell);
                noisy.push(units as f64 / f64::from(UNIT));
                prior.push(mean);
            }
        }
        let belief =
            posterior_above(&noisy, &prior, blur(answers, Name::Loops), threshold, &census);
        for (nth, cell) in cells.into_iter().enumerate() {
            if belief.mean[nth] > 0.3 {
                found.insert(cell, (belief.mean[nth], belief.variance[nth]));
            }
        }
    }
    found
}

/// Cells with a smaller prior are left alone.
const LEAST: f64 = 1e-4;

/// Moves of all kinds by pair and part of the day in which they begin.
fn beginnings(answers: &Answers, known: &Estimates, parts: usize) -> Vec<f64> {
    let stations = answers.plan.shape().stations as usize;
    let periods = answers.plan.moves.clock.parts as usize;
    let mut begins = vec![0.0; stations * stations * parts];
    let kinds = answers.plan.moves.kinds;
    let half = answers.plan.moves.n_cells() as usize / kinds.n() as usize;
    for (cell, cards) in known.of(Name::Moves).mean.iter().enumerate() {
        let weight = f64::from(kinds.weight((cell / half) as u32)) / f64::from(UNIT);
        let (to, row) = (cell % stations, cell % half / stations);
        let (from, period) = (row / periods, row % periods);
        let (first, last) = (period * parts / periods, ((period + 1) * parts).div_ceil(periods));
        let each = cards / weight / (last - first) as f64;
        for part in first..last {
            begins[(from * stations + to) * parts + part] += each;
        }
    }
    begins
}
