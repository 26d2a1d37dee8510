//! Synthetic trips: cards walk from symbol to symbol, by the longest n-gram that is known of where they were.
//!
//! Cards that came the same way are dealt out together, as evenly as whole numbers can be: the trips then say what the
//! model says, without a second noise from drawing them one by one.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::model::{Model, ONE};
use crate::engine::Row;
use crate::engine::noise::stream;
use crate::model::{Doublet, StationIx};
use crate::secret::NoiseKey;

/// The stream of the dice, beyond the numbers of all levels.
const DICE: u32 = 1 << 20;

/// Fewer cards than one for so many symbols are dealt out one by one.
const FEW: u64 = 16;

/// Cards that go on together: how long their way is, the last symbol of it, how many they are.
struct Group {
    depth: usize,
    symbol: u32,
    n: u64,
}

/// As many trips as there are cards, equal ones together.
pub(super) fn rows(model: &Model, key: &NoiseKey) -> Vec<Row> {
    let mut seed = [0; 32];
    stream(key, DICE, 0).fill_bytes(&mut seed);
    let rng = ChaCha8Rng::from_seed(seed);
    let mut walk = Walk { model, rng, dealt: Vec::new(), upto: running(model) };
    let (universe, mut rows) = (model.universe, Vec::new());
    let mut way: Vec<u32> = Vec::new();
    let mut waiting = vec![Group { depth: 0, symbol: universe.start(), n: model.n_cards }];
    while let Some(Group { depth, symbol, n }) = waiting.pop() {
        way.truncate(depth);
        way.push(symbol);
        let ends = match depth < model.max_length as usize {
            true => walk.deal(&way, n),
            false => n,
        };
        if ends > 0 {
            let doublet = |&code: &u32| Doublet {
                station: StationIx(code % universe.stations),
                slot: code / universe.stations,
            };
            rows.push(Row { path: way[1..].iter().map(doublet).collect(), count: ends });
        }
        let next = |&(symbol, n): &(u32, u64)| Group { depth: depth + 1, symbol, n };
        waiting.extend(walk.dealt.drain(..).as_slice().iter().rev().map(next));
    }
    rows
}

struct Walk<'a> {
    model: &'a Model,
    rng: ChaCha8Rng,
    /// Where the cards that were dealt out go on, by symbol, each once.
    dealt: Vec<(u32, u64)>,
    /// What the rests of single symbols add up to before each of them, and after the last.
    upto: Vec<u64>,
}

fn running(model: &Model) -> Vec<u64> {
    let mut sum = 0;
    let rests = model.after(&model.grams[0]).iter().map(|gram| gram.rest);
    std::iter::once(0)
        .chain(rests.map(|rest| {
            sum += rest;
            sum
        }))
        .collect()
}

impl Walk<'_> {
    /// Deals out `n` cards that came this way; says how many of them end here.
    fn deal(&mut self, way: &[u32], mut n: u64) -> u64 {
        self.dealt.clear();
        let mut ends = 0;
        let longest = (self.model.longest as usize - 1).min(way.len());
        let model = self.model;
        for known in (1..=longest).rev() {
            if n == 0 {
                break;
            }
            if let Some(gram) = model.known(&way[way.len() - known..]) {
                let back = model.back(way).filter(|_| known == 1);
                let rest = model.rest(gram);
                n = self.share_out(rest.weights, rest.total, back, n, &mut ends);
            }
        }
        if n > 0 {
            self.deal_by_popularity(way, n, &mut ends);
        }
        self.dealt.sort_unstable();
        self.dealt.dedup_by(|later, first| {
            let same = later.0 == first.0;
            first.1 += if same { later.1 } else { 0 };
            same
        });
        ends
    }

    /// Where nothing is known of the way: by how often symbols occur at all, and if that is not known either, anywhere.
    fn deal_by_popularity(&mut self, way: &[u32], n: u64, ends: &mut u64) {
        let universe = self.model.universe;
        let last = way.last().copied().unwrap_or(universe.start());
        let model = self.model;
        let (codes, begun) = model.popular_after(last);
        let end = begun.map(|begun| (universe.end(), begun.rest));
        let weights = codes.iter().filter_map(|gram| Some((gram.symbol?, gram.rest))).chain(end);
        let range = model.popular_range(last);
        let taps = self.upto[range.end] - self.upto[range.start];
        let total = taps + end.map_or(0, |(_, weight)| weight);
        if total > 0 && n < codes.len() as u64 / FEW {
            for _ in 0..n {
                self.deal_one(way, last, total, ends);
            }
        } else if total > 0 {
            self.share_out(weights, total, model.back(way), n, ends);
        } else if last == universe.start() {
            for _ in 0..n {
                let code = below(&mut self.rng, universe.n_codes().into());
                self.dealt.push((u32::try_from(code).expect("a symbol"), 1));
            }
        } else {
            *ends += n;
        }
    }

    /// The same for one card, without a look at every symbol there is.
    fn deal_one(&mut self, way: &[u32], last: u32, total: u64, ends: &mut u64) {
        let range = self.model.popular_range(last);
        let (from, to) = (self.upto[range.start], self.upto[range.end]);
        let at = from + below(&mut self.rng, total);
        if at >= to {
            *ends += 1;
            return;
        }
        let back = self.model.back(way).filter(|_| below(&mut self.rng, ONE) < self.model.returns);
        let all = self.model.after(&self.model.grams[0]);
        let drawn = all[self.upto.partition_point(|sum| *sum <= at) - 1].symbol;
        self.dealt.extend(back.or(drawn).map(|symbol| (symbol, 1)));
    }

    /// Deals out `n` cards in proportion to weights, after those who go back; gives how many are left for what `total`
    /// has beyond the weights. One throw decides all, so that every number is one of the two next to its share.
    fn share_out(
        &mut self,
        weights: impl Iterator<Item = (u32, u64)> + Clone,
        total: u64,
        back: Option<u32>,
        n: u64,
        ends: &mut u64,
    ) -> u64 {
        let end = self.model.universe.end();
        let returns = back.map_or(0, |_| u128::from(self.model.returns));
        let one = u128::from(ONE);
        let ended: u64 = weights.clone().filter(|next| next.0 == end).map(|next| next.1).sum();
        let on = u128::from(total.saturating_sub(ended));
        let goes_back = back.map(|back| (back, on * returns));
        let part = |(symbol, weight): (u32, u64)| {
            let stays = if symbol == end { one } else { one - returns };
            (symbol, u128::from(weight) * stays)
        };
        let whole = u128::from(total.max(1)) * one;
        let offset = u128::from(below(&mut self.rng, total.max(1))) * one;
        let (mut sum, mut before) = (0_u128, 0_u128);
        for (symbol, weight) in goes_back.into_iter().chain(weights.map(part)) {
            sum += weight;
            let upto = (sum * u128::from(n) + offset) / whole;
            let cards = u64::try_from(upto - before).expect("no more than n cards");
            before = upto;
            match symbol == end {
                true => *ends += cards,
                false if cards > 0 => self.dealt.push((symbol, cards)),
                false => {}
            }
        }
        n - u64::try_from(before).expect("no more than n cards").min(n)
    }
}

/// A number below `bound`, as even as 64 bits of chance allow.
fn below(rng: &mut ChaCha8Rng, bound: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}
