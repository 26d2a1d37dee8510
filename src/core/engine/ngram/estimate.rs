//! From noisy answers to consistent counts: what a shorter n-gram leads one to expect, corrected by what was told, the
//! more the clearer it stands out of the noise. Whole numbers only; reads answers, never trajectories.

use super::model::{self, Gram, Model};

const ONE: u128 = model::ONE as u128;

/// An answer is clear of noise if it is off by more than the square root of so many variances.
const CLEAR: u128 = 5;

/// One answer: the symbol, and its noisy count, in units.
pub(super) type Answer = (u32, i64);

/// What was told about the continuations of one n-gram.
pub(super) struct Told {
    /// The n-gram in the list of the model.
    pub(super) gram: usize,
    /// Its symbols.
    pub(super) way: Vec<u32>,
    /// By symbol.
    pub(super) answers: Vec<Answer>,
    /// Whether all that can follow are told; otherwise those from a threshold on.
    pub(super) is_whole: bool,
    /// The scale of the noise, in units.
    pub(super) scale: u64,
}

/// What a shorter n-gram leads one to expect.
struct Expected<'a> {
    known: &'a [Gram],
    /// The end of a trip where nothing is known but how often symbols occur: as many trips end as begin.
    end: Option<(u32, u64)>,
    total: u128,
    count: u64,
    /// Where more return to than that, and how many of those who go on.
    back: Option<u32>,
    returns: u128,
    last: u32,
}

impl<'a> Expected<'a> {
    fn new(model: &'a Model, told: &Told) -> Self {
        let count = model.grams[told.gram].count;
        let known = |from: usize| Some((from, model.known(&told.way[from..])?));
        let shorter = (1..told.way.len()).find_map(known);
        // A run of two or more that is known says itself how many return.
        let is_single = shorter.is_none_or(|(from, _)| from + 1 == told.way.len());
        let back = model.back(&told.way).filter(|_| is_single);
        let (known, end) = match (shorter, told.way.last()) {
            (Some((_, gram)), _) => (model.after(gram), None),
            (None, Some(&last)) => {
                let (codes, begun) = model.popular_after(last);
                (codes, begun.map(|begun| (model.universe.end(), begun.count)))
            }
            (None, None) => (&[][..], None),
        };
        let sum: u128 = known.iter().map(|gram| u128::from(gram.count)).sum();
        let total = sum + u128::from(end.map_or(0, |end| end.1));
        let (returns, last) = (model.returns.into(), model.universe.end());
        Self { known, end, total, count, back, returns, last }
    }

    /// What is expected of a symbol.
    fn of(&self, symbol: u32) -> u64 {
        let by_pairs = self.by_pairs(symbol);
        let Some(back) = self.back.filter(|_| symbol != self.last) else { return by_pairs };
        let stays = u128::from(by_pairs) * (ONE - self.returns);
        let returns = if symbol == back { u128::from(self.going_on()) * self.returns } else { 0 };
        u64::try_from((stays + returns) / ONE).unwrap_or(u64::MAX)
    }

    /// How many do not end here.
    fn going_on(&self) -> u64 {
        self.count.saturating_sub(self.by_pairs(self.last))
    }

    fn by_pairs(&self, symbol: u32) -> u64 {
        let at = self.known.binary_search_by_key(&Some(symbol), |gram| gram.symbol);
        let weight = match (at, self.end) {
            (Ok(at), _) => self.known[at].count,
            (Err(_), Some((end, weight))) if end == symbol => weight,
            _ => 0,
        };
        let share = u128::from(weight) * u128::from(self.count) / self.total.max(1);
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// How many return to where they came from, beyond what pairs lead one to expect, over all runs of two taps.
pub(super) fn returns(model: &Model, level: &[Told]) -> u64 {
    const MOST: u64 = model::ONE / 10 * 9;
    let (mut more, mut of) = (0_i128, 0_i128);
    for told in level.iter().filter(|told| told.is_whole) {
        let expected = Expected::new(model, told);
        let Some(back) = expected.back else { continue };
        let Ok(at) = told.answers.binary_search_by_key(&back, |answer| answer.0) else { continue };
        let by_pairs = i128::from(expected.by_pairs(back));
        more += i128::from(told.answers[at].1) - by_pairs;
        of += i128::from(expected.going_on()) - by_pairs;
    }
    let part = more.max(0) * i128::from(model::ONE) / of.max(1);
    u64::try_from(part).unwrap_or(MOST).min(MOST)
}

/// How far true counts lie from what is expected, relative to it and squared, in parts of [`ONE`]: what the answers of
/// a level vary by, less what noise does.
pub(super) fn spread(model: &Model, level: &[Told]) -> u128 {
    let (mut varies, mut expects) = (0_i128, 1_u128);
    for told in level.iter().filter(|told| told.is_whole) {
        let expected = Expected::new(model, told);
        let noise = 2 * square(told.scale);
        for &(symbol, noisy) in &told.answers {
            let expected = expected.of(symbol);
            varies += square(noisy.abs_diff(expected.cast_signed())).cast_signed();
            varies -= noise.cast_signed();
            expects += square(expected);
        }
    }
    // A ratio of sums of squares of less than 2^40 units each.
    (u128::try_from(varies).unwrap_or(0) / (expects >> 16).max(1)).min(64 * ONE)
}

fn square(number: u64) -> u128 {
    let number = u128::from(number.min(1 << 40));
    number * number
}

/// The estimated counts of what was told, by symbol, adding up to no more than the n-gram that they continue.
pub(super) fn estimates(model: &Model, told: &Told, spread: u128) -> Vec<(u32, u64)> {
    let expected = Expected::new(model, told);
    if told.way.is_empty() {
        let count = |noisy: i64| noisy.clamp(0, 1 << 40).unsigned_abs();
        return told.answers.iter().map(|&(symbol, noisy)| (symbol, count(noisy))).collect();
    }
    let estimate = |&(symbol, noisy): &Answer| {
        let expected = expected.of(symbol).min(1 << 40);
        let noise = 2 * square(told.scale);
        let own = spread * square(expected) / ONE;
        let off = i128::from(noisy) - i128::from(expected);
        let clear = square(u64::try_from(off.unsigned_abs()).unwrap_or(u64::MAX));
        let covered = noise * CLEAR;
        let by_spread = own * ONE / (own + noise).max(1);
        let by_size = clear.saturating_sub(covered) * ONE / clear.max(1);
        let trust = by_spread.max(by_size).cast_signed();
        let count = i128::from(expected) + off * trust / ONE.cast_signed();
        (symbol, u64::try_from(count.max(0)).unwrap_or(u64::MAX))
    };
    let mut counts: Vec<(u32, u64)> = told.answers.iter().map(estimate).collect();
    fit(&mut counts, expected.count, told.is_whole);
    counts
}

/// Makes counts add up to the total: too many are lowered evenly, none below zero; too few are scaled up, unless some
/// were not told.
fn fit(counts: &mut [(u32, u64)], total: u64, is_whole: bool) {
    let sum: u128 = counts.iter().map(|&(_, count)| u128::from(count)).sum();
    if sum <= u128::from(total) {
        if is_whole && sum > 0 {
            for (_, count) in counts {
                let fitted = u128::from(*count) * u128::from(total) / sum;
                *count = u64::try_from(fitted).unwrap_or(u64::MAX);
            }
        }
        return;
    }
    let less = evenly_less(counts, total);
    for (_, count) in counts {
        *count = count.saturating_sub(less);
    }
}

/// What to take from every count, none going below zero, so that they add up to no more than the total.
fn evenly_less(counts: &[(u32, u64)], total: u64) -> u64 {
    let mut sizes: Vec<u64> = counts.iter().map(|&(_, count)| count).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let (mut kept, mut less) = (0_u128, 0_u128);
    for (n, &size) in (1_u128..).zip(&sizes) {
        kept += u128::from(size);
        let even = kept.saturating_sub(total.into()).div_ceil(n);
        if u128::from(size) <= even && n > 1 {
            break;
        }
        less = even;
    }
    u64::try_from(less).unwrap_or(u64::MAX)
}
