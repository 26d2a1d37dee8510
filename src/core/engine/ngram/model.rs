//! What is known after all questions: a tree of n-grams with noisy, consistent counts. Nothing here points at anybody.

use std::ops::Range;

use super::plan::{Clip, Universe};

/// One n-gram: the path from the root to it.
#[derive(Clone, Debug)]
pub(super) struct Gram {
    /// Its last symbol; the root has none.
    pub(super) symbol: Option<u32>,
    /// How often it occurs, in units: noisy, and never more than the n-gram that it continues.
    pub(super) count: u64,
    /// What is left of that without the longer n-grams that end like it and whose continuations are known.
    pub(super) rest: u64,
    /// Its continuations in the list, by symbol; empty if they were not asked about, or none was told.
    pub(super) from: u32,
    pub(super) to: u32,
}

/// All n-grams that were told, level by level; the root is the first.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) universe: Universe,
    pub(super) clip: Clip,
    pub(super) n_cards: u64,
    pub(super) max_length: u32,
    /// Symbols of the longest n-gram.
    pub(super) longest: u32,
    pub(super) grams: Vec<Gram>,
    /// How many of those who go on return to where they came from, beyond what pairs of symbols lead one to expect: in
    /// parts of [`ONE`].
    pub(super) returns: u64,
}

/// Parts of one.
pub(super) const ONE: u64 = 1 << 16;

impl Model {
    /// The continuations of an n-gram, by symbol.
    pub(super) fn after(&self, gram: &Gram) -> &[Gram] {
        &self.grams[gram.from as usize..gram.to as usize]
    }

    /// The n-gram of these symbols, if it and its continuations are known.
    pub(super) fn known(&self, symbols: &[u32]) -> Option<&Gram> {
        let mut gram = &self.grams[0];
        for symbol in symbols {
            let after = self.after(gram);
            let at = after.binary_search_by_key(&Some(*symbol), |next| next.symbol).ok()?;
            gram = &after[at];
        }
        (gram.from < gram.to).then_some(gram)
    }

    /// Where nothing is known of a way but its last symbol: all symbols that can follow, by how often they occur at
    /// all, and the beginning of trips, which is as frequent as their end. No trip ends before its first tap.
    pub(super) fn popular_after(&self, last: u32) -> (&[Gram], Option<&Gram>) {
        let (all, range) = (self.after(&self.grams[0]), self.popular_range(last));
        (&all[range.clone()], all.get(range.end).filter(|_| last != self.universe.start()))
    }

    /// Where the taps that can follow stand among all single symbols.
    pub(super) fn popular_range(&self, last: u32) -> Range<usize> {
        let all = self.after(&self.grams[0]);
        let before = |symbol: u32| all.partition_point(|gram| gram.symbol < Some(symbol));
        before(self.universe.first_after(last))..before(self.universe.start())
    }

    /// Where somebody who came this way would return to, if that is a tap before the last and time allows it.
    pub(super) fn back(&self, way: &[u32]) -> Option<u32> {
        let [.., before, last] = way else { return None };
        let is_tap = *before < self.universe.n_codes() && *last < self.universe.n_codes();
        (is_tap && *before >= self.universe.first_after(*last)).then_some(*before)
    }

    /// How whoever came a way that is not known goes on after its known end.
    pub(super) fn rest(&self, gram: &Gram) -> Rest<impl Iterator<Item = (u32, u64)> + Clone> {
        let after = self.after(gram);
        let told: u64 = after.iter().map(|next| next.count).sum();
        let rest: u64 = after.iter().map(|next| next.rest).sum();
        let weight = move |next: &Gram| if rest > 0 { next.rest } else { next.count };
        let weights = after.iter().filter_map(move |next| Some((next.symbol?, weight(next))));
        let total = gram.count.saturating_sub(told) + if rest > 0 { rest } else { told };
        Rest { weights, total }
    }

    /// Takes from every n-gram what longer ones say better: `ways` are those whose continuations are known. Whoever
    /// came another way goes on as the rest did.
    pub(super) fn leave_rest(&mut self, ways: &[Vec<u32>]) {
        for way in ways.iter().filter(|way| !way.is_empty()) {
            let (Some(longer), Some(shorter)) = (self.known(way), self.known(&way[1..])) else {
                continue;
            };
            let (longer, shorter) = (longer.from..longer.to, shorter.from..shorter.to);
            let (mut at, universe) = (shorter.start, self.universe);
            for next in longer {
                let Gram { symbol, count, .. } = self.grams[next as usize];
                // At the root the end of a trip is as frequent as its beginning.
                let is_end = way.len() == 1 && symbol == Some(universe.end());
                let symbol = if is_end { Some(universe.start()) } else { symbol };
                while at < shorter.end && self.grams[at as usize].symbol < symbol {
                    at += 1;
                }
                if at < shorter.end && self.grams[at as usize].symbol == symbol {
                    let rest = &mut self.grams[at as usize].rest;
                    *rest = rest.saturating_sub(count);
                }
            }
        }
    }
}

/// Weights of continuations, and what they would add up to if all were known.
pub(super) struct Rest<W> {
    pub(super) weights: W,
    pub(super) total: u64,
}
