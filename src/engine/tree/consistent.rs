//! From noisy counts to a release: children never exceed their parent, and every count is a whole number.
//!
//! Post-processing only: it reads noisy numbers and nothing else.

use std::ops::Range;

use super::Node;
use crate::engine::Row;

/// Makes the levels consistent from the top down and gives the rows: a node's count less its children's.
pub fn rows(levels: &[Vec<Node>]) -> Vec<Row> {
    let mut rows = Vec::new();
    let Some(first) = levels.first() else { return rows };
    let mut counts: Vec<u64> = first.iter().map(|node| node.noisy).collect();
    for (depth, level) in levels.iter().enumerate() {
        let below = levels.get(depth + 1).map_or(&[][..], Vec::as_slice);
        let mut next = vec![0; below.len()];
        let mut children = child_runs(below);
        for (place, &count) in counts.iter().enumerate() {
            let run = children.of(place);
            let noisy: Vec<u64> = below[run.clone()].iter().map(|node| node.noisy).collect();
            let fitted = fit_under(count, &noisy);
            let rest = count - fitted.iter().sum::<u64>();
            next[run].copy_from_slice(&fitted);
            if rest > 0 {
                rows.push(Row { path: path(levels, depth, place), count: rest });
            }
        }
        debug_assert_eq!(counts.len(), level.len(), "every node has a count");
        counts = next;
    }
    rows
}

/// Lowers whole numbers so that their sum is at most `parent`.
///
/// If they fit they stay. Otherwise every one is lowered by the same amount τ, never below zero, τ such that
/// the sum is exactly `parent`: the printed formula, repeated until it holds. All that are left above zero
/// then have the same fraction, so the largest remainder is a tie, and path order breaks it.
pub(super) fn fit_under(parent: u64, noisy: &[u64]) -> Vec<u64> {
    let sum = |counts: &[u64]| counts.iter().map(|&count| u128::from(count)).sum::<u128>();
    let parent = u128::from(parent);
    if sum(noisy) <= parent {
        return noisy.to_vec();
    }
    // The k largest stay above zero: the greatest k with k·c_k > (c_1 + … + c_k) − parent.
    let mut descending = noisy.to_vec();
    descending.sort_unstable_by(|a, b| b.cmp(a));
    let (mut k, mut excess, mut running) = (0_u128, 0_u128, 0_u128);
    for (place, &count) in (1_u128..).zip(&descending) {
        running += u128::from(count);
        if place * u128::from(count) + parent <= running {
            break;
        }
        (k, excess) = (place, running.saturating_sub(parent));
    }
    if k == 0 {
        return vec![0; noisy.len()];
    }
    // τ = excess/k; what is left is c − τ, rounded down, and the first `spare` in path order get one back.
    let (whole, part) = (excess / k, excess % k);
    let mut spare = if part == 0 { 0 } else { k - part };
    let lowered = whole + u128::from(part != 0);
    noisy
        .iter()
        .map(|&count| {
            let count = u128::from(count);
            if count * k <= excess {
                return 0;
            }
            let back = u128::from(spare > 0);
            spare -= back;
            u64::try_from(count + back - lowered).expect("at most the noisy count")
        })
        .collect()
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

fn path(levels: &[Vec<Node>], depth: usize, mut place: usize) -> Vec<crate::model::Doublet> {
    let mut path = Vec::with_capacity(depth + 1);
    for level in levels[..=depth].iter().rev() {
        path.push(level[place].doublet);
        place = level[place].parent as usize;
    }
    path.reverse();
    path
}
