//! What is fixed before any n-gram is asked about, and how ε is dealt out along a path: whole numbers only.

use std::num::NonZeroU32;

use crate::engine::noise::Scale;
use crate::model::MicroEpsilon;

/// One card at one start, in units: a card with more starts than the clip adds less for each.
pub(super) const UNIT: u64 = 5_040;

/// ε is counted in billionths here, so that what is left of it can be halved along a path.
const NANO_A_MICRO: u64 = 1_000;
const NANO: u64 = 1_000_000_000;

/// The numbers of taps are asked with one part of so many.
const FIRST_PART: u64 = 20;

/// What a release is made under: configuration and calendar, nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) universe: Universe,
    pub(super) epsilon: MicroEpsilon,
    /// Taps of a card that count.
    pub(super) max_length: NonZeroU32,
    /// Symbols of the longest n-gram.
    pub(super) longest: u32,
    /// Noisy n-grams in all.
    pub(super) max_nodes: u64,
}

impl Terms {
    /// What the numbers of taps may cost, in billionths.
    pub(super) fn first_share(&self) -> u64 {
        self.whole() / FIRST_PART
    }

    /// What all n-grams of a path may cost together, in billionths.
    pub(super) fn gram_share(&self) -> u64 {
        self.whole() - self.first_share()
    }

    fn whole(&self) -> u64 {
        self.epsilon.micro().saturating_mul(NANO_A_MICRO).min(Scale::MAX)
    }
}

/// The symbols: every station, or every doublet, in order of time; then the beginning and the end of a trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Universe {
    pub(super) stations: u32,
    pub(super) slots: u32,
}

impl Universe {
    /// Symbols are 32-bit numbers, and two are taken.
    pub(super) const MOST: u64 = 1 << 31;

    /// How many stations or doublets there are.
    pub(super) fn n_codes(self) -> u32 {
        self.stations * self.slots
    }

    /// The beginning of a trip.
    pub(super) fn start(self) -> u32 {
        self.n_codes()
    }

    /// The end of a trip.
    pub(super) fn end(self) -> u32 {
        self.n_codes() + 1
    }

    pub(super) fn code(self, station: u32, slot: u32) -> u32 {
        slot * self.stations + station
    }

    /// The first symbol that can follow: time never goes back.
    pub(super) fn first_after(self, symbol: u32) -> u32 {
        if symbol >= self.n_codes() { 0 } else { symbol / self.stations * self.stations }
    }

    /// How many symbols can follow this one; `None`: any symbol that an n-gram can begin with.
    pub(super) fn n_after(self, symbol: Option<u32>) -> u64 {
        match symbol {
            None => u64::from(self.n_codes()) + 1,
            Some(symbol) if symbol == self.start() => self.n_codes().into(),
            Some(symbol) => u64::from(self.n_codes() - self.first_after(symbol)) + 1,
        }
    }

    /// Where a symbol stands among those that can follow.
    pub(super) fn index_after(self, symbol: Option<u32>, next: u32) -> u64 {
        match symbol {
            Some(symbol) if next == self.end() => self.n_after(Some(symbol)) - 1,
            Some(symbol) => u64::from(next - self.first_after(symbol)),
            None => next.into(),
        }
    }

    /// The symbol that stands there.
    pub(super) fn symbol_after(self, symbol: Option<u32>, index: u64) -> u32 {
        let index = u32::try_from(index).expect("fewer than 2^32 symbols");
        let Some(symbol) = symbol else { return index };
        let code = index + self.first_after(symbol);
        if code == self.n_codes() { self.end() } else { code }
    }
}

/// How many starts a card may count for in full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Clip(pub(super) u32);

impl Clip {
    /// The smallest that leaves nearly all cards whole, from noisy numbers of cards by number of taps.
    pub(super) fn new(lengths: &[i64]) -> Self {
        const CUT_ONE_OF: i128 = 6;
        let all: i128 = lengths.iter().copied().map(i128::from).sum();
        let mut beyond = all;
        let mut clip = 1;
        for &cards in lengths {
            clip += 1;
            beyond -= i128::from(cards);
            if beyond * CUT_ONE_OF <= all {
                break;
            }
        }
        Self(clip)
    }

    /// What a card with so many starts adds at each of them, rounded down.
    pub(super) fn units(self, starts: u64) -> u64 {
        let whole = u64::from(self.0);
        if starts <= whole { UNIT } else { UNIT * whole / starts }
    }

    /// What all starts of a card add up to, at most.
    pub(super) fn most(self) -> u64 {
        u64::from(self.0) * UNIT
    }

    /// The scale at which a start of every card may follow a path for this share, in billionths.
    pub(super) fn scale(self, share: u64) -> Scale {
        scale(self.most(), share)
    }
}

/// The scale at which a change by `most` costs this share, in billionths.
pub(super) fn scale(most: u64, share: u64) -> Scale {
    let ratio = num_rational::Ratio::new(u128::from(most) * u128::from(NANO), share.max(1).into());
    let whole = |part: &u128| u64::try_from(*part).expect("at most 1000 starts of 5040 units");
    Scale::new(whole(ratio.numer()), whole(ratio.denom())).expect("a share above zero")
}

/// How one n-gram's continuations are asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Price {
    /// What the question costs a start, in billionths of ε; what is left after it is for longer n-grams.
    pub(super) share: u64,
    pub(super) left: u64,
}

impl Price {
    /// Single symbols get one part of so many: their counts are large, and pairs add up to them again.
    const SINGLES: u64 = 10;

    /// What all symbols are asked for, where n-grams begin.
    pub(super) fn first(count: u64, left: u64, clip: Clip, n_after: u64, levels: u32) -> Self {
        let share = match expected_height(count, left, clip, n_after).min(levels) {
            0 | 1 => left,
            _ => left / Self::SINGLES,
        };
        Self { share, left: left - share }
    }

    /// The next question's share of what is left on a path: as many parts as levels are likely to follow, judged by
    /// the noisy count (in units) and the number of symbols. `None`: what is left could not tell the continuations of
    /// so few from noise.
    pub(super) fn new(
        count: u64,
        left: u64,
        clip: Clip,
        n_after: u64,
        levels: u32,
    ) -> Option<Self> {
        let parts = expected_height(count, left, clip, n_after).min(levels);
        let share = left.checked_div(parts.into()).filter(|&share| share > 0)?;
        Some(Self { share, left: left - share })
    }
}

/// How many times a count can be shared out among all symbols before noise covers it: the paper's h, rounded up.
fn expected_height(count: u64, left: u64, clip: Clip, n_after: u64) -> u32 {
    let fan_out = u128::from(n_after.max(2));
    // The largest of n noises is about scale · ln n, and half as much again is clear of them: n's binary digits.
    let digits = u128::from(n_after.max(2).ilog2()) + 1;
    let covered = u128::from(clip.most()) * u128::from(NANO) * digits / u128::from(left.max(1));
    let mut count = u128::from(count);
    let mut height = 0;
    while count >= covered.max(1) {
        height += 1;
        count /= fan_out;
    }
    height
}
