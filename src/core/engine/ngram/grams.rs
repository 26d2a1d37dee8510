//! The trips of a window as symbols, side by side, and what each start of a card weighs. Points at persons: it is
//! never printed, and only `grow.rs` reads it.

use super::plan::{Clip, Universe};
use crate::model::Doublet;
use crate::passenger::Trajectories;

/// A window's trips: the beginning, its taps, the end, and so on for every card.
pub(super) struct Grams {
    symbols: Vec<u32>,
    /// What an n-gram that begins or goes on here weighs, in units: the same for all symbols of a card.
    units: Vec<u16>,
    end: u32,
}

impl Grams {
    /// The first `max_length` taps of every card; a card with k of them has k + 1 starts.
    pub(super) fn new(
        cards: &Trajectories,
        universe: Universe,
        max_length: u32,
        clip: Clip,
    ) -> Self {
        let n_symbols = cards.doublets().len() + 2 * cards.len();
        let mut symbols = Vec::with_capacity(n_symbols);
        let mut units = Vec::with_capacity(n_symbols);
        for ix in 0..cards.len() {
            let taps = cut(cards.get(ix), max_length);
            let code = |tap: &Doublet| universe.code(tap.station.0, tap.slot % universe.slots);
            symbols.push(universe.start());
            symbols.extend(taps.iter().map(code));
            symbols.push(universe.end());
            let weight = u16::try_from(clip.units(taps.len() as u64 + 1)).expect("at most 5040");
            units.resize(symbols.len(), weight);
        }
        Self { symbols, units, end: universe.end() }
    }

    /// Where n-grams begin: everywhere but at an end.
    pub(super) fn starts(&self) -> Vec<u32> {
        let n = u32::try_from(self.symbols.len()).expect("fewer than 2^32 symbols in a window");
        (0..n).filter(|&at| self.symbols[at as usize] != self.end).collect()
    }

    pub(super) fn symbol(&self, at: u32) -> u32 {
        self.symbols[at as usize]
    }

    pub(super) fn units(&self, at: u32) -> u64 {
        self.units[at as usize].into()
    }
}

/// Cards by number of taps, from one on.
pub(super) fn lengths(cards: &Trajectories, max_length: u32) -> Vec<i64> {
    let mut lengths = vec![0; max_length as usize];
    for ix in 0..cards.len() {
        lengths[cut(cards.get(ix), max_length).len() - 1] += 1;
    }
    lengths
}

fn cut(taps: &[Doublet], max_length: u32) -> &[Doublet] {
    &taps[..taps.len().min(max_length as usize)]
}
