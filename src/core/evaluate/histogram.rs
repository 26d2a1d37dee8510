//! What somebody would do instead: plain noisy tables of the same ε, clipped as suits the truth best. It flatters the
//! tables: each has all of ε to itself, and nobody could see which clip is best.

use std::num::NonZeroU64;

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::cells::Cells;
use super::journeys::{Code, Journeys};
use super::legs::{QUARTERS, legs};
use super::queries::generator;
use super::source::{Source, has_quarters};
use super::{Shape, Terms};
use crate::engine::noise::{DiscreteLaplace, Scale};
use crate::model::MicroEpsilon;

/// A card's weight is counted in parts of this size, so that a share of a card is a whole number.
const UNIT: u64 = 27_720;
/// Clips that are tried for stations by slots.
const CLIPS: std::ops::RangeInclusive<u64> = 4..=12;
/// Clips that are tried for legs.
const LEG_CLIPS: std::ops::RangeInclusive<u64> = 1..=4;
/// Cells that a table may have; a larger one is left out.
const MOST_CELLS: u64 = 1 << 24;

/// Plain tables, one set for every seed; the clips are those that suit the first seed best.
pub(super) fn sources(
    shape: Shape,
    raw: &Journeys,
    raw_legs: &Journeys,
    truth: &Source,
    epsilon: MicroEpsilon,
    n_seeds: NonZeroU64,
    terms: &Terms,
) -> Vec<Source> {
    let pairs = shape.stations * shape.stations;
    let doublets =
        Plain::new(shape.stations * shape.slots, CLIPS, |path| Journeys::distinct(path).collect());
    let od = Plain::new(pairs, LEG_CLIPS, |path| {
        legs(shape, path).map(|leg| leg.from * shape.stations + leg.to).collect()
    });
    let quarters = Plain::new(pairs * QUARTERS, LEG_CLIPS, |path| {
        let quarter = |slot: u64| slot % shape.day * QUARTERS / shape.day;
        let cell = |from: u64, to: u64| (from * shape.stations + to) * QUARTERS;
        legs(shape, path).map(|leg| cell(leg.from, leg.to) + quarter(leg.slot)).collect()
    });
    let longest = raw.iter().map(|(path, _)| path.len() as u64).max().unwrap_or(1);
    let most = terms.max_length.map_or(longest, |most| most.get().into());
    let lengths = Plain::new(most + 1, 1..=1, |path| vec![path.len() as u64]);
    let (usage, n) = (2_000, n_seeds.get());
    let noisy = |number: u64, plain: &Plain<'_>, raw: &Journeys, truth: &Option<Cells>| {
        let truth = truth.as_ref()?;
        plain.best(
            raw,
            truth,
            epsilon,
            |seed, clip| generator(terms.seed, usage + number * 10_000 + seed * 100 + clip),
            n,
        )
    };
    let tables = [
        noisy(0, &doublets, raw, &truth.occupancy),
        noisy(1, &od, raw_legs, &truth.od),
        noisy(2, &quarters, raw_legs, &truth.od_quarter).filter(|_| has_quarters(shape)),
        noisy(3, &lengths, raw, &truth.lengths),
    ];
    let of = |table: usize, seed: usize| tables[table].as_ref().map(|all| all[seed].clone());
    (0..usize::try_from(n).unwrap_or(1))
        .map(|seed| Source {
            occupancy: of(0, seed),
            od: of(1, seed),
            od_quarter: of(2, seed),
            lengths: of(3, seed),
            ..Source::default()
        })
        .collect()
}

/// The cells that one trip counts in.
type CellsOf<'a> = dyn Fn(&[Code]) -> Vec<Code> + Sync + 'a;

/// A table that can be clipped and noised.
struct Plain<'a> {
    n_cells: u64,
    clips: std::ops::RangeInclusive<u64>,
    cells: Box<CellsOf<'a>>,
}

impl<'a> Plain<'a> {
    fn new(
        n_cells: u64,
        clips: std::ops::RangeInclusive<u64>,
        cells: impl Fn(&[Code]) -> Vec<Code> + Sync + 'a,
    ) -> Self {
        Self { n_cells, clips, cells: Box::new(cells) }
    }

    /// The noisy tables of all seeds with the clip that is nearest to the truth; `None` for a table that is too large.
    fn best(
        &self,
        raw: &Journeys,
        truth: &Cells,
        epsilon: MicroEpsilon,
        rng: impl Fn(u64, u64) -> rand_chacha::ChaCha8Rng + Sync,
        n_seeds: u64,
    ) -> Option<Vec<Cells>> {
        if self.n_cells > MOST_CELLS || epsilon.micro() == 0 {
            return None;
        }
        let tried: Vec<(f64, u64)> = self
            .clips
            .clone()
            .into_par_iter()
            .filter_map(|clip| {
                let noisy = self.noisy(&self.clipped(raw, clip), clip, epsilon, rng(0, clip))?;
                Some((truth.error(&noisy)?, clip))
            })
            .collect();
        let (_, clip) = tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
        let clipped = self.clipped(raw, clip);
        (0..n_seeds)
            .into_par_iter()
            .map(|seed| self.noisy(&clipped, clip, epsilon, rng(seed, clip)))
            .collect()
    }

    /// Every card shares its clip among its cells, at most 1 for each.
    fn clipped(&self, raw: &Journeys, clip: u64) -> Vec<u64> {
        let mut table = vec![0_u64; usize::try_from(self.n_cells).unwrap_or(0)];
        for (path, count) in raw.iter() {
            let own = (self.cells)(path);
            let share = UNIT.min(clip * UNIT / (own.len() as u64).max(1));
            own.iter().for_each(|&cell| table[cell as usize] += share * count);
        }
        table
    }

    /// Discrete Laplace noise on every cell there is; what falls below zero is nothing.
    fn noisy(
        &self,
        clipped: &[u64],
        clip: u64,
        epsilon: MicroEpsilon,
        mut rng: rand_chacha::ChaCha8Rng,
    ) -> Option<Cells> {
        let noise = DiscreteLaplace::new(Scale::new(clip * UNIT * 1_000_000, epsilon.micro())?);
        let mut cells = Vec::new();
        for (cell, &count) in (0_u64..).zip(clipped) {
            let noisy = i128::from(count) + i128::from(noise.draw(&mut rng));
            if noisy > 0 {
                cells.push((cell, noisy as f64 / UNIT as f64));
            }
        }
        Some(Cells::new(cells))
    }
}
