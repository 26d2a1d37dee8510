//! From noisy counts to a release: children never exceed their parent, and every count is a whole number.
//!
//! Post-processing only: it reads noisy numbers and nothing else. Between the two phases counts are fractions,
//! held in units of 2⁻²⁰ and rounded down, so that the same answers give the same bytes on every machine.

use std::ops::Range;

use super::{Node, Tree, with_groups};
use crate::engine::Row;
use crate::model::Doublet;

/// How noisy counts are made consistent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consistency {
    /// Children are lowered until they fit under their parent (safepath-2018).
    TopDown,
    /// Before that, counts are fitted along every path from root to leaf and averaged (stm-hybrid-2012).
    TwoPhase,
    /// The same over the tree with its groups (stm-hybrid-2012, footnote 3).
    TwoPhaseWithGroups,
}

impl Consistency {
    /// What is done, for the manifest.
    pub(super) fn in_words(self) -> Vec<String> {
        let fitted = "counts fitted to non-increasing ones along every path (least squares), averaged over the \
                      paths through a node";
        let with_groups = "counts of stations and of the groups above them fitted to non-increasing ones along every \
                           path (least squares), averaged over the paths through each";
        let first = match self {
            Self::TopDown => None,
            Self::TwoPhase => Some(fitted),
            Self::TwoPhaseWithGroups => Some(with_groups),
        };
        let rest = [
            "children lowered evenly until they do not exceed their parent",
            "whole numbers by largest remainder, ties by path",
            "a path's count is its node's count less its children's",
        ];
        first.into_iter().chain(rest).map(str::to_owned).collect()
    }
}

/// Bits below the point of a count between the phases. A count of 64 bits, summed over 2³² leaves, still fits.
pub(super) const POINT: u32 = 20;

impl Tree {
    /// Makes the counts consistent and gives the rows: a node's count less its children's.
    pub(crate) fn rows(&self, consistency: Consistency) -> Vec<Row> {
        match consistency {
            Consistency::TopDown | Consistency::TwoPhase => rows(&self.levels, consistency),
            Consistency::TwoPhaseWithGroups => with_groups::rows(self),
        }
    }
}

/// Makes the levels of a tree without groups consistent and gives the rows: a node's count less its children's.
pub fn rows(levels: &[Vec<Node>], consistency: Consistency) -> Vec<Row> {
    let averaged = match consistency {
        Consistency::TopDown => None,
        _ => Some(averaged_over_paths(levels)),
    };
    // A node's count before the second phase, in units of 2⁻²⁰.
    let estimate = |depth: usize, index: usize| match &averaged {
        None => u128::from(levels[depth][index].noisy) << POINT,
        Some(averaged) => averaged[depth][index],
    };
    let mut rows = Vec::new();
    let Some(first) = levels.first() else { return rows };
    let all: Vec<u128> = (0..first.len()).map(|index| estimate(0, index)).collect();
    let mut counts = fit_under(None, &all);
    for depth in 0..levels.len() {
        let below = levels.get(depth + 1).map_or(&[][..], Vec::as_slice);
        let mut next = vec![0; below.len()];
        let mut children = child_runs(below);
        for (index, &count) in counts.iter().enumerate() {
            let run = children.of(index);
            let mut rest = count;
            if !run.is_empty() {
                let estimates: Vec<u128> = run.clone().map(|at| estimate(depth + 1, at)).collect();
                let fitted = fit_under(Some(count), &estimates);
                rest -= fitted.iter().sum::<u64>();
                next[run].copy_from_slice(&fitted);
            }
            if rest > 0 {
                rows.push(Row { path: path(levels, depth, index), count: rest });
            }
        }
        counts = next;
    }
    rows
}

/// Whole numbers from counts in units of 2⁻²⁰, their sum at most `parent`, if there is one.
///
/// Counts that fit stay. Otherwise every one is lowered by the same amount τ, never below zero, τ such that the
/// sum is exactly `parent`: the printed formula, repeated until it holds. Then each is rounded down, and what
/// the sum lost goes back by largest remainder, ties by path.
pub(super) fn fit_under(parent: Option<u64>, counts: &[u128]) -> Vec<u64> {
    let sum = counts.iter().sum::<u128>();
    let cap = parent.map(|parent| u128::from(parent) << POINT);
    // What is left of a count c is (c·k − excess)/k, where k counts stay above zero.
    let (k, excess) = match cap {
        Some(cap) if cap < sum => lowering(cap, counts),
        _ => (1, 0),
    };
    let unit = k << POINT;
    let left = |count: u128| (count * k).saturating_sub(excess);
    let whole = |part: u128| u64::try_from(part / unit).unwrap_or(u64::MAX);
    let mut fitted: Vec<u64> = counts.iter().map(|&count| whole(left(count))).collect();
    let target = cap.map_or(sum, |cap| cap.min(sum)) >> POINT;
    let spare = target - fitted.iter().map(|&count| u128::from(count)).sum::<u128>().min(target);
    if spare > 0 {
        let mut order: Vec<usize> = (0..counts.len()).filter(|&at| left(counts[at]) > 0).collect();
        order.sort_by_key(|&at| (std::cmp::Reverse(left(counts[at]) % unit), at));
        for &at in order.iter().take(usize::try_from(spare).expect("fewer than there are counts")) {
            fitted[at] += 1;
        }
    }
    fitted
}

/// The k largest counts stay above zero: the greatest k with k·c_k > (c_1 + … + c_k) − cap. Gives k and that
/// excess; (1, the largest count) if nothing stays.
fn lowering(cap: u128, counts: &[u128]) -> (u128, u128) {
    let mut descending = counts.to_vec();
    descending.sort_unstable_by(|a, b| b.cmp(a));
    let (mut k, mut excess, mut running) = (1, descending[0], 0_u128);
    for (index, &count) in (1_u128..).zip(&descending) {
        running += count;
        if index * count + cap <= running {
            break;
        }
        (k, excess) = (index, running.saturating_sub(cap));
    }
    (k, excess)
}

/// The first phase: along every path from the first level to a leaf the non-increasing counts nearest to the
/// noisy ones (least squares); a node's estimate is their mean over the paths through it. In units of 2⁻²⁰.
pub(super) fn averaged_over_paths(levels: &[Vec<Node>]) -> Vec<Vec<u128>> {
    let mut sums: Vec<Vec<u128>> = levels.iter().map(|level| vec![0; level.len()]).collect();
    let mut n_paths: Vec<Vec<u32>> = levels.iter().map(|level| vec![0; level.len()]).collect();
    let (mut places, mut blocks) = (Vec::new(), Vec::new());
    for depth in 0..levels.len() {
        let below = levels.get(depth + 1).map_or(&[][..], Vec::as_slice);
        let mut children = child_runs(below);
        for leaf in 0..levels[depth].len() {
            if !children.of(leaf).is_empty() {
                continue;
            }
            places.clear();
            places.extend(path_places(levels, depth, leaf));
            blocks.clear();
            for (at, &index) in places.iter().rev().enumerate() {
                push_block(&mut blocks, levels[at][index].noisy);
            }
            let mut upwards = places.iter().rev().enumerate();
            for &Block { sum, n } in &blocks {
                let mean = (sum << POINT) / n;
                for (at, &index) in upwards.by_ref().take(usize::try_from(n).expect("a depth")) {
                    sums[at][index] += mean;
                    n_paths[at][index] += 1;
                }
            }
        }
    }
    for (sums, n_paths) in sums.iter_mut().zip(&n_paths) {
        sums.iter_mut().zip(n_paths).for_each(|(sum, &n)| *sum /= u128::from(n));
    }
    sums
}

/// Neighbours on a path that share one estimate, their mean.
pub(super) struct Block {
    pub(super) sum: u128,
    pub(super) n: u128,
}

/// Pool adjacent violators: a block that is larger than the one before it joins it.
pub(super) fn push_block(blocks: &mut Vec<Block>, noisy: u64) {
    let mut block = Block { sum: noisy.into(), n: 1 };
    while let Some(last) = blocks.pop() {
        if block.sum * last.n <= last.sum * block.n {
            blocks.push(last);
            break;
        }
        block = Block { sum: last.sum + block.sum, n: last.n + block.n };
    }
    blocks.push(block);
}

/// Children of one parent stand side by side; this hands their runs out, parent by parent.
struct ChildRuns<'a> {
    level: &'a [Node],
    at: usize,
}

fn child_runs(level: &[Node]) -> ChildRuns<'_> {
    ChildRuns { level, at: 0 }
}

impl ChildRuns<'_> {
    fn of(&mut self, parent: usize) -> Range<usize> {
        let start = self.at;
        while self.at < self.level.len() && self.level[self.at].parent as usize == parent {
            self.at += 1;
        }
        start..self.at
    }
}

/// The places of a node and its ancestors, the node's own first.
fn path_places(
    levels: &[Vec<Node>],
    depth: usize,
    index: usize,
) -> impl Iterator<Item = usize> + use<'_> {
    let above = levels[..=depth].iter().rev();
    above.scan(index, |at, level| {
        let here = *at;
        *at = level[here].parent as usize;
        Some(here)
    })
}

pub(super) fn path(levels: &[Vec<Node>], depth: usize, index: usize) -> Vec<Doublet> {
    let mut path: Vec<Doublet> = path_places(levels, depth, index)
        .zip(levels[..=depth].iter().rev())
        .map(|(at, level)| level[at].doublet)
        .collect();
    path.reverse();
    path
}
