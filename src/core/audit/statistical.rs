//! The statistical audit: two neighbouring windows, many releases of each, and how often something happens.
//!
//! If an event has probability p in one window and q in its neighbour, ε ≥ ln(p/q). Bounds on both, wrong together
//! with less than the family's share of α, give a lower bound on what a mechanism really spends.

use std::ops::Range;

use super::ALPHA;
use super::bounds::{lower, upper};
use super::mechanism::Mechanism;
use super::stage::Card;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::engine::AuditOutput;
use crate::model::Doublet;
use crate::secret::NoiseKey;

/// How sure each bound must be.
pub(super) struct Sampling {
    alpha: f64,
}

/// What may happen in all releases of one run: something about how many passengers a path shows.
const EVENTS: [fn(u64) -> bool; 6] =
    [|n| n >= 1, |n| n == 0, |n| n == 1, |n| n == 2, |n| n >= 2, |n| n >= 3];

type Hits = [u64; EVENTS.len()];

impl Sampling {
    /// `n_mechanisms` are looked at in all; they share the family's α.
    pub(super) fn new(n_mechanisms: usize) -> Self {
        // Every event is compared both ways, each with a lower and an upper bound.
        let n_bounds = n_mechanisms * EVENTS.len() * 4;
        Self { alpha: ALPHA / n_bounds as f64 }
    }

    /// What the mechanism surely spends: one card on one whole path, against nobody, so many releases of each.
    pub(super) fn lower_bound<M: Mechanism>(&self, mechanism: &M, n: u64) -> f64 {
        let length = mechanism.stage().max_length.get() as usize;
        let card: Card = vec![(0, 0); length];
        let with = hits(mechanism, &[card], 0, n);
        let without = hits(mechanism, &[], 1, n);
        let ratio = |p: u64, q: u64| (lower(p, n, self.alpha) / upper(q, n, self.alpha)).ln();
        let both_ways = with.iter().zip(&without);
        both_ways.map(|(&p, &q)| ratio(p, q).max(ratio(q, p))).fold(0.0, f64::max)
    }
}

/// How often each event happens; other seeds for every window.
fn hits<M: Mechanism>(mechanism: &M, cards: &[Card], window: u64, samples: u64) -> Hits {
    let ready = mechanism.ready(cards);
    let path = vec![0; mechanism.stage().max_length.get() as usize];
    let count = |seeds: Range<u64>| {
        let mut hits = [0; EVENTS.len()];
        for seed in seeds {
            let key = |n: u64| NoiseKey::for_test(seed << 2 | n << 1 | window);
            let shown = mechanism.released(&ready, &key);
            for (hits, event) in hits.iter_mut().zip(EVENTS) {
                *hits += u64::from(shown.iter().all(|output| event(passengers(output, &path))));
            }
        }
        hits
    };
    // Whole lots, so that the sum is the same on any number of cores.
    const LOT: u64 = 500;
    let lots = (0..samples.div_ceil(LOT)).into_par_iter();
    let seeds = |lot: u64| lot * LOT..((lot + 1) * LOT).min(samples);
    let all: Vec<Hits> = lots.map(|lot| count(seeds(lot))).collect();
    all.into_iter().fold([0; EVENTS.len()], |mut sum, part| {
        sum.iter_mut().zip(part).for_each(|(sum, hits)| *sum += hits);
        sum
    })
}

/// How many passengers a release shows on the path of these stations.
fn passengers(output: &AuditOutput, stations: &[u32]) -> u64 {
    let is_path = |path: &[Doublet]| path.iter().map(|d| d.station.0).eq(stations.iter().copied());
    output.rows().iter().find(|row| is_path(&row.path)).map_or(0, |row| row.count)
}
