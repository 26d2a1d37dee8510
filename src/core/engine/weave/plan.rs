//! Which tables are asked, at what resolution, with which clip and share: a public function of configuration and of
//! the first two paid answers (how many cards, how many taps they have). Whole numbers only; no data comes here.

use std::num::NonZeroU32;

use num_rational::Ratio;

use super::kinds::StepKinds;
use super::shape::Shape;
use super::tables::{
    Cards, Days, Ends, First, Hours, Lengths, Loops, Moves, Name, Occupancy, Pairs, Places,
    Relations, Starts, Stays, Table, Times,
};
use super::weights::UNIT;
use super::{Favour, Legs};
use crate::engine::noise::Scale;
use crate::model::MicroEpsilon;

const N: usize = Name::ALL.len();

/// Millionths of the release's ε that count the cards, before anything else is known.
pub(super) const FIRST_SHARE: u32 = 20_000;
/// Millionths in a whole.
pub(super) const WHOLE: u32 = 1_000_000;
/// No table that is asked cell by cell has more cells.
const MOST_CELLS: u64 = 1 << 22;
/// About so many empty cells of the sparse table may pass by noise alone.
const MOST_FALSE: u64 = 1_000_000;

/// What is fixed before any answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Terms {
    pub(crate) shape: Shape,
    pub(crate) epsilon: MicroEpsilon,
    pub(crate) favour: Favour,
    pub(crate) legs: Legs,
    /// Slots that a leg takes at most, as far as that shuts any out.
    pub(crate) longest: Option<u32>,
}

/// The split of ε, in millionths, by table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Split([u32; N]);

impl Split {
    /// The split for about so many cards. Coarse tables need little where there are many cards and most where there
    /// are few; fine ones are left out where they would be noise.
    pub(crate) fn new(terms: &Terms, cards: u64) -> Self {
        let weight = u128::from(cards) * u128::from(terms.epsilon.micro()) / u128::from(WHOLE);
        let evidence = u64::try_from(weight).unwrap_or(u64::MAX).max(1);
        let lift = lift(evidence);
        let dense = density(terms.shape, evidence);
        let weights = Name::ALL.map(|name| {
            let base = u64::from(base_weight(name, terms.favour));
            let weight = match name {
                // Without slots, stations are a short list, and so are first stations.
                Name::Occupancy if terms.shape.slots == 1 => base / 3,
                Name::First if terms.shape.slots == 1 => base * lift / 2_000,
                Name::Occupancy => base * dense / 1_000,
                Name::Places | Name::Hours => base * lift / 1_000 + 3 * (1_000 - dense),
                _ if is_coarse(name) => base * lift / 1_000,
                _ => base,
            };
            if is_worth_asking(name, terms, evidence) { weight } else { 0 }
        });
        let total: u64 = weights.iter().sum();
        let rest = u64::from(WHOLE - FIRST_SHARE);
        let share = |weight: u64| u32::try_from(weight * rest / total).expect("below a million");
        let mut shares = weights.map(share);
        shares[Name::Cards as usize] = FIRST_SHARE;
        Self(shares)
    }

    /// The share of a table, in millionths; 0: it is not asked.
    pub(crate) fn of(&self, name: Name) -> u32 {
        self.0[name as usize]
    }
}

/// How much more coarse tables get in a small window, in thousandths: the cube root of 400,000 over cards × ε, from 1
/// to 6.
fn lift(evidence: u64) -> u64 {
    let fits =
        |lift: &u64| u128::from(*lift).pow(3) * u128::from(evidence) <= 400_000 * 1_000_000_000;
    (10..=60).rev().map(|tenth| tenth * 100).find(fits).unwrap_or(1_000)
}

/// How well cards fill the cells of stations by slots, in thousandths of two cards × ε a cell. Where they do not,
/// totals by station and by slot are all that can be said, and get the share.
fn density(shape: Shape, evidence: u64) -> u64 {
    let has_margins = shape.slots > 1 && shape.stations > 1;
    let filled = evidence.saturating_mul(1_000) / (2 * shape.n_doublets());
    match has_margins {
        false => 1_000,
        true if filled < 250 => 0,
        true => filled.min(1_000),
    }
}

fn is_coarse(name: Name) -> bool {
    !matches!(name, Name::Occupancy | Name::Stays | Name::Pairs | Name::Moves | Name::Loops)
}

/// Relative weights of the tables; src/decisions/0010-weave-tables.md has the measurements behind them.
fn base_weight(name: Name, favour: Favour) -> u32 {
    let (stations, od, trips) = match favour {
        Favour::Balanced => (10, 10, 10),
        Favour::Stations => (20, 5, 5),
        Favour::Od => (5, 20, 5),
        Favour::Trips => (7, 7, 20),
    };
    match name {
        Name::Cards => 0,
        Name::Lengths => 150,
        Name::First => 400,
        Name::Starts => 150,
        Name::Ends => 100,
        Name::Times => 250,
        Name::Days => 150,
        Name::Relations => 250,
        Name::Places | Name::Hours => 100,
        Name::Occupancy => 350 * stations,
        Name::Stays => 60 * trips,
        Name::Pairs => 240 * od,
        Name::Moves => 90 * od,
        Name::Loops => 60 * trips,
    }
}

/// Whether a table can say anything in a window of this shape with so much evidence (cards × ε).
fn is_worth_asking(name: Name, terms: &Terms, evidence: u64) -> bool {
    let shape = terms.shape;
    let (timed, steps) = (shape.slots > 1, shape.longest > 1);
    let pairs = u64::from(shape.stations) * u64::from(shape.stations) * 2;
    let moving = steps && shape.stations > 1 && pairs <= 2 * MOST_CELLS;
    match name {
        Name::Cards => false,
        Name::Lengths => steps,
        Name::Occupancy => density(shape, evidence) > 0,
        Name::First => evidence >= 1_000,
        Name::Starts => timed && steps,
        Name::Ends => timed && steps && evidence >= 1_000,
        Name::Times => timed && steps,
        Name::Days => steps && shape.n_days() > 1,
        Name::Relations => steps && shape.stations > 1,
        Name::Places | Name::Hours => {
            let is_thin = evidence <= 100_000 || density(shape, evidence) < 1_000;
            timed && shape.stations > 1 && is_thin
        }
        Name::Pairs => moving && evidence >= 1_000,
        Name::Moves => timed && moving && evidence >= 1_000,
        Name::Stays => timed && steps && evidence >= 5_000,
        Name::Loops => moving && shape.longest > 2 && evidence >= 5_000,
    }
}

/// Everything that is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) terms: Terms,
    pub(crate) split: Split,
    clips: [NonZeroU32; N],
    /// 2 where taps come in pairs, so that a trip is told from what lies between two; else 1.
    pub(super) parities: u32,
    pub(super) times: Times,
    pub(super) days: Days,
    pub(super) relations: Relations,
    pub(super) stays: Stays,
    pub(super) pairs: Pairs,
    pub(super) moves: Moves,
    pub(super) loops: Loops,
    /// How many measured cells make one cell of the tables of flows.
    n_added: usize,
}

/// What the plan takes from the second answer: cards by number of taps, in units, noise and all.
#[derive(Clone, Debug)]
pub(crate) struct KnownLengths<'a> {
    pub(crate) cards: u64,
    pub(crate) noisy: &'a [i64],
    pub(crate) scale: Scale,
}

impl Plan {
    /// The plan, given how many cards there are and how many taps they have.
    pub(crate) fn new(terms: Terms, split: Split, known: &KnownLengths<'_>) -> Self {
        let shape = terms.shape;
        let lengths = cleared(known);
        let total = lengths.iter().sum::<u64>().max(1);
        let taps: u64 = (1..).zip(&lengths).map(|(n, cards)| n * cards).sum();
        // The mean number of taps of a card, in thousandths.
        let mean = (taps * 1_000 / total).max(1_000);
        let in_pairs = terms.legs == Legs::Pairs || comes_in_pairs(&lengths);
        let parities = if in_pairs { 2 } else { 1 };
        let kinds = StepKinds::new(terms.legs, parities, terms.longest);
        let steps = known.cards.saturating_mul(mean) / 1_000;
        let pairs = u64::from(shape.stations) * u64::from(shape.stations);
        let room = (MOST_CELLS / (2 * pairs)).max(1);
        let evidence = u128::from(steps) * u128::from(terms.epsilon.micro()) / u128::from(WHOLE);
        let evidence = u64::try_from(evidence).unwrap_or(u64::MAX >> 8);
        let periods = shape.quarters((evidence / (10 * pairs)).clamp(1, room));
        let loop_parts = shape.divisor((20 * evidence / (3 * pairs)).isqrt());
        let stay_room = (MOST_CELLS / (2 * u64::from(shape.stations))).isqrt();
        Self {
            terms,
            split,
            clips: clips(&terms, split, &lengths, mean, known.cards),
            parities,
            times: Times::new(shape, parities),
            days: Days::new(shape, parities),
            relations: Relations::new(shape, parities),
            stays: Stays::new(shape, parities, shape.divisor(stay_room.min(24))),
            pairs: Pairs::new(shape, kinds),
            moves: Moves::new(shape, kinds, periods),
            loops: Loops::new(shape, loop_parts),
            n_added: 1,
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        self.terms.shape
    }

    /// The same with one kind for all steps.
    pub(super) fn with_kinds_together(&self) -> Self {
        let (pairs, moves) = (self.pairs.together(), self.moves.together());
        Self { pairs, moves, n_added: 2, ..*self }
    }

    /// How many measured cells make one cell of a table.
    pub(super) fn n_added(&self, name: Name) -> usize {
        if matches!(name, Name::Pairs | Name::Moves) { self.n_added } else { 1 }
    }

    /// Whether a table is asked.
    pub(crate) fn asks(&self, name: Name) -> bool {
        self.split.of(name) > 0
    }

    /// A table by its name.
    pub(super) fn table(&self, name: Name) -> Box<dyn Table> {
        let shape = self.terms.shape;
        match name {
            Name::Cards => Box::new(Cards),
            Name::Lengths => Box::new(Lengths(shape)),
            Name::First => Box::new(First(shape)),
            Name::Starts => Box::new(Starts(shape)),
            Name::Ends => Box::new(Ends(shape)),
            Name::Times => Box::new(self.times),
            Name::Days => Box::new(self.days),
            Name::Relations => Box::new(self.relations),
            Name::Places => Box::new(Places(shape)),
            Name::Hours => Box::new(Hours(shape)),
            Name::Occupancy => Box::new(Occupancy(shape)),
            Name::Stays => Box::new(self.stays),
            Name::Pairs => Box::new(self.pairs),
            Name::Moves => Box::new(self.moves),
            Name::Loops => Box::new(self.loops),
        }
    }

    /// The most that one card adds to a table, in cards.
    pub(crate) fn clip(&self, name: Name) -> NonZeroU32 {
        self.clips[name as usize]
    }

    /// The scale of a table's noise, in units: its clip over its share of ε.
    pub(crate) fn scale(&self, name: Name) -> Scale {
        scale(self.terms.epsilon, self.split.of(name), self.clip(name))
    }

    /// From which noisy value on a cell of the sparse table is told, in units: at least twice its noise.
    pub(crate) fn threshold(&self) -> u64 {
        let scale = self.scale(Name::Loops);
        let cells = self.loops.n_cells();
        // An empty cell passes with about e^(−θ/b)/2; each further b thins by more than two.
        let halvings = u64::from((cells / 15 / MOST_FALSE).max(1).ilog2());
        let times = u128::from(2 + halvings) * u128::from(scale.num()) / u128::from(scale.den());
        u64::try_from(times).unwrap_or(u64::MAX >> 1).max(1)
    }
}

/// Noise of clip/(share·ε) for counts in units, exactly.
pub(crate) fn scale(epsilon: MicroEpsilon, share: u32, clip: NonZeroU32) -> Scale {
    let paid =
        Ratio::new(u128::from(epsilon.micro()) * u128::from(share), u128::from(WHOLE).pow(2));
    let per_unit = paid / (u128::from(clip.get()) * u128::from(UNIT));
    Scale::for_epsilon(per_unit)
        .expect("clip, share and epsilon are bounded so that the scale is below 2^62")
}

/// Cards by number of taps, without what may be noise alone.
fn cleared(known: &KnownLengths<'_>) -> Vec<u64> {
    let noise = i64::try_from(known.scale.num() / known.scale.den()).unwrap_or(i64::MAX / 4);
    let clear = |&noisy: &i64| {
        if noisy > noise / 2 * 3 { noisy.unsigned_abs() / u64::from(UNIT) } else { 0 }
    };
    let mut lengths: Vec<u64> = known.noisy.iter().map(clear).collect();
    if lengths.iter().all(|&cards| cards == 0) {
        lengths = vec![known.cards.max(1)];
    }
    lengths
}

/// Whether most cards have an even number of taps: in and out.
fn comes_in_pairs(lengths: &[u64]) -> bool {
    let few = &lengths[1.min(lengths.len())..lengths.len().min(8)];
    let even: u64 = few.iter().step_by(2).sum();
    even * 10 > few.iter().sum::<u64>() * 7
}

fn clips(terms: &Terms, split: Split, lengths: &[u64], mean: u64, cards: u64) -> [NonZeroU32; N] {
    let occupancy = occupancy_clip(terms, split, lengths, mean, cards);
    // A part of the mean number of taps, rounded, between 1 and `most`.
    let of_mean = |part: u64, whole: u64, most: u64| {
        let rounded = (mean * part + 500 * whole) / (1_000 * whole);
        NonZeroU32::new(rounded.clamp(1, most) as u32).unwrap_or(NonZeroU32::MIN)
    };
    Name::ALL.map(|name| match name {
        Name::Cards | Name::Lengths | Name::First | Name::Starts | Name::Ends => NonZeroU32::MIN,
        Name::Times | Name::Days | Name::Relations => of_mean(3, 4, 4),
        Name::Places | Name::Hours | Name::Occupancy => occupancy,
        Name::Stays | Name::Loops => of_mean(1, 4, 2),
        Name::Pairs | Name::Moves => of_mean(1, 2, 3),
    })
}

/// Noise against what clipping takes away: the clip with the smallest sum of squares, from 1 to 16.
fn occupancy_clip(
    terms: &Terms,
    split: Split,
    lengths: &[u64],
    mean: u64,
    cards: u64,
) -> NonZeroU32 {
    let share = split.of(Name::Occupancy).max(split.of(Name::Places));
    let paid = u128::from(terms.epsilon.micro()) * u128::from(share) / u128::from(WHOLE);
    let cell = u128::from(cards / 1_000).max(
        2 * u128::from(cards) * u128::from(mean) / 1_000 / u128::from(terms.shape.n_doublets()),
    );
    let (paid, cell) = (paid.max(1), cell.max(1));
    let taps: u64 = (1..).zip(lengths).map(|(n, cards)| n * cards).sum::<u64>().max(1);
    let cost = |clip: &u32| {
        let noise = u128::from(*clip) * u128::from(WHOLE).pow(2) / (paid * cell);
        let kept: u64 = (1..).zip(lengths).map(|(n, cards)| cards * u64::from(*clip).min(n)).sum();
        let lost = u128::from(taps.saturating_sub(kept)) * u128::from(WHOLE) / u128::from(taps);
        noise * noise + (lost / 8) * (lost / 8)
    };
    (1..=16).min_by_key(cost).and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}
