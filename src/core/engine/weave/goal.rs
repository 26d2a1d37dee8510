//! What a synthetic window should look like: clipped tables as they were measured, each cell with the weight of
//! what is known about it. Whole numbers: a window's distance from the goal is the same however it is added up.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};

use rustc_hash::FxHashMap;

use super::estimate::{Belief, Estimates, blur};
use super::measure::Answers;
use super::synthetic::Synthetic;
use super::tables::{Name, Table};
use super::threads;
use super::walk::Walk;
use super::weights::{Contribution, UNIT};

/// One table among the goals.
struct Part {
    name: Name,
    table: Box<dyn Table>,
    clip: NonZeroU32,
    /// Where its cells begin.
    offset: u32,
    n_cells: u32,
}

/// How far a cell is from what it should be, in units, and how much that matters.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Gap {
    pub(super) over: i64,
    pub(super) weight: u32,
}

/// All cells that a window is compared in.
pub(super) struct Goal {
    parts: Vec<Part>,
    /// The cells of the sparse table that count, by cell.
    loops: FxHashMap<u64, u32>,
    answers: Answers,
}

/// What a trajectory adds to the cells, table after table.
#[derive(Clone, Debug, Default)]
pub(super) struct Share {
    /// Cell and units.
    pub(super) cells: Vec<(u32, u32)>,
    /// Where each table's cells end.
    pub(super) ends: Vec<u32>,
    scratch: Contribution,
}

/// How much a table counts beside its variances.
fn emphasis(name: Name) -> f64 {
    match name {
        Name::First => 2.0,
        Name::Ends | Name::Times | Name::Days | Name::Occupancy => 3.0,
        Name::Relations => 20.0,
        Name::Pairs => 2.0,
        _ => 1.0,
    }
}

const TABLES: [Name; 11] = [
    Name::First,
    Name::Ends,
    Name::Times,
    Name::Days,
    Name::Relations,
    Name::Places,
    Name::Hours,
    Name::Occupancy,
    Name::Stays,
    Name::Pairs,
    Name::Moves,
];

impl Goal {
    /// The tables that were asked, and the cells of the sparse one that are believed to count.
    pub(super) fn new(answers: &Answers, loops: &BTreeMap<u64, (f64, f64)>) -> Self {
        let plan = &answers.plan;
        let mut parts: Vec<Part> = Vec::new();
        let mut offset = 0;
        for name in TABLES.into_iter().filter(|&name| plan.asks(name)) {
            let table = plan.table(name);
            let n_cells = u32::try_from(table.n_cells()).expect("the plan bounds tables");
            parts.push(Part { name, table, clip: plan.clip(name), offset, n_cells });
            offset += n_cells;
        }
        let numbered = loops.keys().zip(offset..).map(|(&cell, number)| (cell, number)).collect();
        if plan.asks(Name::Loops) {
            let n_cells = u32::try_from(loops.len()).expect("fewer than 2^32 cells");
            let table = plan.table(Name::Loops);
            parts.push(Part {
                name: Name::Loops,
                table,
                clip: plan.clip(Name::Loops),
                offset,
                n_cells,
            });
        }
        Self { parts, loops: numbered, answers: answers.clone() }
    }

    fn n_cells(&self) -> usize {
        self.parts.last().map_or(0, |part| (part.offset + part.n_cells) as usize)
    }

    /// Where a table's cells begin, if it is among the goals.
    pub(super) fn offset(&self, name: Name) -> Option<usize> {
        self.parts.iter().find(|part| part.name == name).map(|part| part.offset as usize)
    }

    /// The number of a cell of the sparse table, if it counts.
    pub(super) fn loop_cell(&self, cell: u64) -> Option<u32> {
        self.loops.get(&cell).copied()
    }

    /// What a trajectory adds.
    #[inline]
    pub(super) fn share(&self, walk: &Walk, share: &mut Share) {
        share.cells.clear();
        share.ends.clear();
        for part in &self.parts {
            share.scratch.clear();
            part.table.cells(walk, &mut share.scratch);
            share.scratch.clip(part.clip);
            for &(cell, units) in share.scratch.cells() {
                if part.name != Name::Loops {
                    share.cells.push((part.offset + cell as u32, units));
                } else if let Some(&number) = self.loops.get(&cell) {
                    share.cells.push((number, units));
                }
            }
            share.ends.push(share.cells.len() as u32);
        }
    }

    /// What a whole window has, in units.
    pub(super) fn have(&self, window: &Synthetic, threads: NonZeroUsize) -> Vec<i64> {
        let stretches = threads::stretches(window.len(), threads.get().min(4));
        let sums = threads::map(threads, stretches, |stretch| {
            let mut sums = vec![0_i64; self.n_cells()];
            let (mut walk, mut share) = (Walk::new(), Share::default());
            for ix in stretch {
                walk.read(window.get(ix), self.answers.plan.shape());
                self.share(&walk, &mut share);
                share
                    .cells
                    .iter()
                    .for_each(|&(cell, units)| sums[cell as usize] += i64::from(units));
            }
            sums
        });
        let add = |mut all: Vec<i64>, more: Vec<i64>| {
            all.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            all
        };
        sums.into_iter().reduce(add).unwrap_or_default()
    }

    /// The gaps of a window that has `have`.
    pub(super) fn gaps(
        &self,
        known: &Estimates,
        loops: &BTreeMap<u64, (f64, f64)>,
        have: &[i64],
    ) -> Vec<Gap> {
        let mut gaps = Vec::with_capacity(have.len());
        for part in &self.parts {
            let range = part.offset as usize..(part.offset + part.n_cells) as usize;
            let have = &have[range];
            let noise = blur(&self.answers, part.name).variance();
            if part.name == Name::Loops {
                let wanted = loops.values().copied();
                gaps.extend(
                    have.iter().zip(wanted).map(|(&have, (mean, variance))| {
                        gap(part.name, have, mean, variance, noise)
                    }),
                );
                continue;
            }
            let Belief { mean, variance } = known.of(part.name);
            let cards = |have: &[i64]| have.iter().sum::<i64>() as f64 / f64::from(UNIT);
            // Steps of one kind are as many as the draft has them, unless the table knows its own total well.
            let plan = &self.answers.plan;
            let blocks = match part.name {
                Name::Stays => plan.parities as usize,
                Name::Moves | Name::Pairs => plan.moves.kinds.n() as usize,
                _ => 1,
            };
            let keeps_total =
                matches!(part.name, Name::Places | Name::Hours | Name::Occupancy | Name::Pairs);
            let size = have.len() / blocks;
            for block in 0..blocks {
                let range = block * size..(block + 1) * size;
                let total: f64 = mean[range.clone()].iter().sum();
                let fit = if keeps_total || total <= 0.0 {
                    1.0
                } else {
                    cards(&have[range.clone()]) / total
                };
                gaps.extend(range.map(|cell| {
                    gap(part.name, have[cell], mean[cell] * fit, variance[cell] * fit * fit, noise)
                }));
            }
        }
        gaps
    }
}

/// A cell's gap: the more is known about it, the more it weighs.
fn gap(name: Name, have: i64, mean: f64, variance: f64, noise: f64) -> Gap {
    const FINE: f64 = 65_536.0;
    let doubt = variance.min(noise) + 0.1 * mean + 0.02 * noise + 1.0;
    let weight = (emphasis(name) / doubt * FINE) as u32;
    Gap { over: have - (mean * f64::from(UNIT)) as i64, weight }
}
