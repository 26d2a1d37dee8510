//! Asks about n-grams, level by level: whatever noise does not cover is asked about further.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;

use super::estimate::{Answer, Told, estimates, returns, spread};
use super::grams::{Grams, lengths};
use super::model::{Gram, Model};
use super::plan::{Clip, Price, Terms, scale};
use crate::engine::noise::{AnyNoise, NodeClass, Occupied, Scale, TableClass};
use crate::passenger::Trajectories;

/// The number of the table of lengths; levels of the tree begin at 1.
pub(super) const LENGTHS: u32 = 0;

/// A level with more candidates tells those from a threshold on.
const WHOLE: u64 = 1 << 22;

/// An n-gram whose continuations are asked about.
struct Asked {
    gram: usize,
    way: Vec<u32>,
    price: Price,
    /// Where it goes on, in the list of this level.
    places: Range<usize>,
}

/// Asks everything. From here on nothing reads the trajectories.
pub(super) fn grow(cards: &Trajectories, terms: Terms, source: &dyn AnyNoise) -> Model {
    let mut by_length = lengths(cards, terms.max_length.get());
    let class = TableClass { scale: scale(1, terms.first_share()), most: 1 };
    source.any_table(LENGTHS, class, &mut by_length, NonZeroUsize::MIN);
    let clip = Clip::new(&by_length);
    let grams = Grams::new(cards, terms.universe, terms.max_length.get(), clip);
    let count = total(&by_length, clip);
    let root = Gram { symbol: None, count, rest: count, from: 0, to: 0 };
    let model = Model {
        universe: terms.universe,
        clip,
        n_cards: n_cards(&by_length),
        max_length: terms.max_length.get(),
        longest: terms.longest,
        grams: vec![root],
        returns: 0,
    };
    Growing { terms, grams: &grams, source, classes: BTreeMap::new(), model }.grown()
}

/// How many cards there are: at least one, and no more than any window has.
fn n_cards(by_length: &[i64]) -> u64 {
    let sum: i128 = by_length.iter().copied().map(i128::from).sum();
    u64::try_from(sum.clamp(1, 1 << 26)).expect("between 1 and 2^26")
}

/// What all starts of all cards weigh, in units, from noisy numbers of cards by number of taps.
fn total(by_length: &[i64], clip: Clip) -> u64 {
    let weigh = |(starts, &cards): (u64, &i64)| {
        u64::try_from(cards).unwrap_or(0).min(1 << 32) * clip.units(starts) * starts
    };
    (2..).zip(by_length).map(weigh).fold(0, u64::saturating_add)
}

struct Growing<'a> {
    terms: Terms,
    grams: &'a Grams,
    source: &'a dyn AnyNoise,
    classes: BTreeMap<(u64, u64, u64), NodeClass>,
    model: Model,
}

impl Growing<'_> {
    fn grown(mut self) -> Model {
        let mut places = self.grams.starts();
        let (count, left) = (self.model.grams[0].count, self.terms.gram_share());
        let n_after = self.model.universe.n_after(None);
        let first = Price::first(count, left, self.model.clip, n_after, self.terms.longest);
        let way = Vec::new();
        let mut asked = vec![Asked { gram: 0, way, price: first, places: 0..places.len() }];
        let mut ways = Vec::new();
        for level in 1..=self.terms.longest {
            let (next, next_places) = self.level(level, &asked, places);
            ways.extend(asked.into_iter().map(|asked| asked.way));
            (asked, places) = (next, next_places);
        }
        self.model.leave_rest(&ways);
        self.model
    }

    /// What the continuations of an n-gram of `level − 1` symbols are asked for, if they are.
    fn price(&self, gram: usize, count: u64, left: u64, level: u32) -> Option<Price> {
        let n_after = self.model.universe.n_after(self.model.grams[gram].symbol);
        Price::new(count, left, self.model.clip, n_after, self.terms.longest + 1 - level)
    }

    /// Asks about the continuations of all n-grams of a level; gives those of the next.
    fn level(
        &mut self,
        level: u32,
        asked: &[Asked],
        mut places: Vec<u32>,
    ) -> (Vec<Asked>, Vec<u32>) {
        let universe = self.model.universe;
        let after = |asked: &Asked| universe.n_after(self.model.grams[asked.gram].symbol);
        let n_candidates: u64 = asked.iter().map(after).fold(0, u64::saturating_add);
        let mut told = Vec::new();
        for (index, one) in (0..).zip(asked) {
            let here = &mut places[one.places.clone()];
            here.sort_unstable_by_key(|&at| (self.grams.symbol(at), at));
            told.push(self.told(level, index, one, n_candidates, here));
        }
        if level == 3 {
            self.model.returns = returns(&self.model, &told);
        }
        let spread = spread(&self.model, &told);
        let (mut next, mut next_places) = (Vec::new(), Vec::new());
        for (one, told) in asked.iter().zip(&told) {
            let room = self.terms.max_nodes.saturating_sub(self.model.grams.len() as u64);
            let mut counts = estimates(&self.model, told, spread);
            counts.retain(|&(_, count)| count > 0);
            counts.truncate(usize::try_from(room).unwrap_or(usize::MAX));
            let from = self.model.grams.len();
            for (symbol, count) in counts {
                let number = self.model.grams.len();
                self.model.grams.push(Gram {
                    symbol: Some(symbol),
                    count,
                    rest: count,
                    from: 0,
                    to: 0,
                });
                if symbol == universe.end() || level == self.terms.longest {
                    continue;
                }
                if let Some(price) = self.price(number, count, one.price.left, level + 1) {
                    let here = &places[one.places.clone()];
                    let begin = here.partition_point(|&at| self.grams.symbol(at) < symbol);
                    let same = |at: &&u32| self.grams.symbol(**at) == symbol;
                    let on = next_places.len();
                    next_places.extend(here[begin..].iter().take_while(same).map(|at| at + 1));
                    let way = one.way.iter().copied().chain([symbol]).collect();
                    let places = on..next_places.len();
                    next.push(Asked { gram: number, way, price, places });
                }
            }
            let whole = |at: usize| u32::try_from(at).expect("at most max_nodes n-grams");
            let (from, to) = (whole(from), whole(self.model.grams.len()));
            (self.model.grams[one.gram].from, self.model.grams[one.gram].to) = (from, to);
        }
        (next, next_places)
    }

    /// The noisy counts of all symbols that can follow an n-gram; in a large level those from a threshold on.
    fn told(
        &mut self,
        level: u32,
        index: u64,
        asked: &Asked,
        n_candidates: u64,
        here: &[u32],
    ) -> Told {
        let (universe, symbol) = (self.model.universe, asked.way.last().copied());
        let scale = self.model.clip.scale(asked.price.share);
        let (n, is_whole) = (universe.n_after(symbol), n_candidates <= WHOLE);
        // Every count is lifted by the same public number, so that those below zero are told too.
        let lift = if is_whole { lift(scale) } else { 0 };
        let mut occupied: Vec<Occupied> = match is_whole {
            true => (0..n).map(|index| Occupied { index, count: lift }).collect(),
            false => Vec::new(),
        };
        for same in here.chunk_by(|&a, &b| self.grams.symbol(a) == self.grams.symbol(b)) {
            let index = universe.index_after(symbol, self.grams.symbol(same[0]));
            let count: u64 = same.iter().map(|&at| self.grams.units(at)).sum();
            match usize::try_from(index).ok().and_then(|at| occupied.get_mut(at)) {
                Some(one) if is_whole => one.count += count,
                _ => occupied.push(Occupied { index, count }),
            }
        }
        let threshold = threshold(scale, n_candidates);
        let class = self
            .classes
            .entry((scale.num(), scale.den(), threshold))
            .or_insert_with(|| NodeClass::new(scale, threshold));
        let mut answers: Vec<Answer> = Vec::new();
        self.source.any_node(level, index).ask(class, n, &occupied, &mut |index, noisy| {
            let noisy = i64::try_from(noisy.min(1 << 60)).unwrap_or(i64::MAX);
            answers.push((universe.symbol_after(symbol, index), noisy - lift.cast_signed()));
        });
        answers.sort_unstable();
        let scale = (scale.num() / scale.den()).max(1);
        Told { gram: asked.gram, way: asked.way.clone(), answers, is_whole, scale }
    }
}

/// What no noise of this scale is below, as far as anybody will ever see.
fn lift(scale: Scale) -> u64 {
    let many = u128::from(scale.num()) * 40 / u128::from(scale.den());
    u64::try_from(many.min(1 << 60)).unwrap_or(u64::MAX)
}

/// The smallest noisy count that is told, in units: 1 as long as a level's noise fits into memory, and higher where a
/// level has more candidates than that. A function of the scale and of a number that follows from answers.
fn threshold(scale: Scale, n_candidates: u64) -> u64 {
    const MADE_UP: u64 = 1 << 20;
    if n_candidates <= WHOLE {
        return 1;
    }
    let doublings = u128::from(n_candidates.div_ceil(MADE_UP).next_power_of_two().ilog2());
    let halved = u128::from(scale.num()) * doublings * 7 / 10 / u128::from(scale.den());
    u64::try_from(halved).unwrap_or(u64::MAX - 1) + 1
}
