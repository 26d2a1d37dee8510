//! `weave`: tables measured once, and synthetic trajectories that agree with them.
//!
//! In → out: a sealed window → noisy tables → estimates with variances → synthetic trips.
//! Promises: V-1 one card changes what a table sums up by at most its clip; V-2 shares of tables add up to at
//!   most ε; V-3 what is asked depends on configuration and answers only; V-4 the same bytes for any number of threads.
//! Refuses: a universe that does not fit into memory, before anything is paid.
//! Why: `PROOF.md` beside this file.
#![doc = include_str!("PROOF.md")]

mod chain;
mod dice;
mod draft;
mod engine;
mod estimate;
mod goal;
mod intervals;
mod keys;
mod kinds;
mod lookahead;
mod measure;
mod mutants;
mod plan;
mod propose;
mod reading;
mod shape;
mod solve;
mod synthetic;
mod tables;
mod threads;
mod walk;
mod weights;

pub use engine::{REVISION, Settings, Weave};
pub use keys::REGISTRATION;
pub use shape::Shape;
pub use weights::UNIT;

use std::num::NonZeroUsize;

use estimate::{Estimates, LoopProfile};
use measure::Answers;
use solve::Solver;
use synthetic::Synthetic;
use tables::{Loops, Name};
use walk::Walk;

use crate::engine::{Legs, Recorded, Tables};
use crate::secret::NoiseKey;

crate::words! {
    /// What a release should be best at.
    pub enum Favour {
        /// A bit of everything.
        Balanced = "balanced",
        /// Cards per station and slot.
        Stations = "stations",
        /// From where to where.
        Od = "od",
        /// Whole trips.
        Trips = "trips",
    }
}

/// From answers to a synthetic window and tables to publish: no trajectory comes here.
fn woven(answers: &Answers, key: &NoiseKey, threads: NonZeroUsize) -> (Synthetic, Tables) {
    let wanted = answers.for_synthetic();
    let window = synthetic(&wanted, key, threads);
    let tables = intervals::tables(answers, &Estimates::new(answers), &window);
    (window, tables)
}

/// A synthetic window whose tables agree with the answers.
fn synthetic(answers: &Answers, key: &NoiseKey, threads: NonZeroUsize) -> Synthetic {
    let known = Estimates::new(answers);
    let window = draft::draft(&answers.plan, &known, key, threads);
    let loops = estimate::loops(answers, &known, &loop_profile(answers, &window));
    Solver { answers, known: &known, loops: &loops, key, threads }.solve(window)
}

/// What would be published, for an auditor: the dice are always the same, so that answers alone make a difference.
fn recorded(answers: &Answers) -> Recorded {
    let dice = NoiseKey::for_test(0);
    let (window, tables) = woven(answers, &dice, NonZeroUsize::MIN);
    Recorded { rows: window.rows(answers.plan.shape()), tables: Some(tables) }
}

/// How the draft's ways go on, clipped as they were measured.
fn loop_profile(answers: &Answers, window: &Synthetic) -> LoopProfile {
    let plan = &answers.plan;
    let mut profile = LoopProfile::new(&plan.loops);
    if answers.loops.is_empty() {
        return profile;
    }
    let clip = plan.clip(Name::Loops).get();
    let mut walk = Walk::new();
    for codes in window.iter() {
        walk.read(codes, plan.shape());
        let ways: Vec<_> = walk.steps().filter_map(|at| Loops::at(&walk, at)).collect();
        let units = (UNIT * clip / ways.len().max(1) as u32).min(UNIT);
        ways.iter().for_each(|&way| profile.add(&plan.loops, way, units));
    }
    profile
}

#[cfg(test)]
pub(crate) mod tests;
