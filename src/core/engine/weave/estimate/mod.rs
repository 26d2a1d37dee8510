//! What the tables probably were: post-processing of answers, coarse tables as priors of fine ones.
//!
//! Floats, but only sums, products, quotients and square roots in a fixed order: the same bits everywhere.

mod blur;
mod flows;
mod lattice;
mod lengths;
mod loops;
mod occupancy;
mod posterior;
pub(super) mod real;
mod steps;

pub(super) use blur::Blur;
pub(super) use loops::{LoopProfile, loops};
pub(super) use posterior::Belief;

use super::measure::Answers;
use super::tables::Name;
use super::weights::UNIT;

/// Everything believed of a window, in cards, as clipped as it was measured.
#[derive(Clone, Debug)]
pub(super) struct Estimates {
    pub(super) n_cards: f64,
    /// Cards by number of taps, from 1 on; adds up to all cards.
    pub(super) lengths: Belief,
    beliefs: Vec<Belief>,
}

impl Estimates {
    /// Believes what the answers say.
    pub(super) fn new(answers: &Answers) -> Self {
        let n_cards = lengths::n_cards(answers);
        let lengths = lengths::lengths(answers, n_cards);
        let beliefs = Name::ALL.map(|_| Belief::default()).into();
        let mut all = Self { n_cards, lengths, beliefs };
        all.put(Name::Starts, steps::ends(answers, Name::Starts, &all.lengths.mean));
        all.put(Name::Ends, steps::ends(answers, Name::Ends, &all.lengths.mean));
        let occupied = occupancy::occupancy(answers, &all.lengths.mean);
        all.put(Name::Places, occupied.places);
        all.put(Name::Hours, occupied.hours);
        all.put(Name::Occupancy, occupied.cells);
        let occupancy = &all.of(Name::Occupancy).mean;
        all.put(Name::First, occupancy::first(answers, occupancy, n_cards));
        all.put(Name::Relations, steps::relations(answers));
        all.put(Name::Times, steps::times(answers, &all.of(Name::Relations).mean));
        all.put(Name::Days, steps::days(answers));
        all.put(Name::Stays, flows::stays(answers, &all));
        all.put(Name::Pairs, flows::pairs(answers, &all));
        all.put(Name::Moves, flows::moves(answers, &all));
        all
    }

    fn put(&mut self, name: Name, belief: Belief) {
        self.beliefs[name as usize] = belief;
    }

    /// What is believed of a table.
    pub(super) fn of(&self, name: Name) -> &Belief {
        &self.beliefs[name as usize]
    }
}

/// A table's noisy cells in cards, with their noise; `None` where it was not asked.
fn noisy(answers: &Answers, name: Name) -> Option<(Vec<f64>, Blur)> {
    let cells = answers.of(name);
    if cells.is_empty() {
        return None;
    }
    let cards = |&units: &i64| units as f64 / f64::from(UNIT);
    Some((cells.iter().map(cards).collect(), blur(answers, name)))
}

/// The noise of a table's cells, in cards.
pub(super) fn blur(answers: &Answers, name: Name) -> Blur {
    let scale = answers.plan.scale(name).approximately() / f64::from(UNIT);
    // A cell made of two is treated as one with their variance.
    let n_added = answers.plan.n_added(name) as f64;
    Blur { scale: scale * n_added.sqrt(), cells: 1.0 }
}

/// How much of a deviation with this square is not noise with this variance: from 0 to 1.
fn kept(square: f64, variance: f64) -> f64 {
    (1.0 - variance / square.max(1e-12)).clamp(0.0, 1.0)
}
