//! Footnote 3 of stm-hybrid-2012: the two phases over the tree with its generalized nodes, the groups, in it.
//!
//! A group stands between a node and its children, so its count is one more number on every path through it, and
//! children are lowered under their group, groups under their node. Rows ignore groups, as the paper's do: a node's
//! count less those of the nearest nodes below it.

use super::consistent::{Block, POINT, fit_under, path, push_block};
use super::{GroupIx, Tree};
use crate::engine::Row;

/// A node or a group; those above stand before those below.
struct Spot {
    /// `None`: it hangs from the root.
    above: Option<usize>,
    noisy: u64,
}

/// The whole tree in one list: of every level its groups, then its nodes.
struct Spots {
    list: Vec<Spot>,
    /// Where the nodes of every level begin.
    nodes: Vec<usize>,
}

impl Spots {
    fn of(tree: &Tree) -> Self {
        let (mut list, mut nodes) = (Vec::new(), Vec::new());
        for (depth, level) in tree.levels.iter().enumerate() {
            let parents: Option<usize> = nodes.last().copied();
            let groups = list.len();
            let above = |parent: u32, group: Option<GroupIx>| match group {
                Some(group) => Some(groups + group.get()),
                None => parents.map(|parents| parents + parent as usize),
            };
            let kept = tree.groups.get(depth).map_or(&[][..], Vec::as_slice);
            list.extend(
                kept.iter().map(|g| Spot { above: above(g.parent, g.above), noisy: g.noisy }),
            );
            nodes.push(list.len());
            list.extend(
                level.iter().map(|n| Spot { above: above(n.parent, n.group), noisy: n.noisy }),
            );
        }
        Self { list, nodes }
    }

    /// The spots below each, in their order; the last list is of those below the root.
    fn below(&self) -> Vec<Vec<usize>> {
        let mut below = vec![Vec::new(); self.list.len() + 1];
        for (at, spot) in self.list.iter().enumerate() {
            below[spot.above.unwrap_or(self.list.len())].push(at);
        }
        below
    }

    /// The first phase: a spot's mean over the paths through it, each fitted. In units of 2⁻²⁰.
    fn averaged(&self, below: &[Vec<usize>]) -> Vec<u128> {
        let mut sums = vec![0_u128; self.list.len()];
        let mut n_paths = vec![0_u128; self.list.len()];
        let (mut way, mut blocks) = (Vec::new(), Vec::new());
        for leaf in (0..self.list.len()).filter(|&at| below[at].is_empty()) {
            way.clear();
            way.extend(std::iter::successors(Some(leaf), |&at| self.list[at].above));
            blocks.clear();
            way.iter().rev().for_each(|&at| push_block(&mut blocks, self.list[at].noisy));
            let mut downwards = way.iter().rev();
            for &Block { sum, n } in &blocks {
                let mean = (sum << POINT) / n;
                for &at in downwards.by_ref().take(usize::try_from(n).expect("a depth")) {
                    sums[at] += mean;
                    n_paths[at] += 1;
                }
            }
        }
        sums.iter().zip(&n_paths).map(|(sum, n)| sum / n).collect()
    }

    /// The second phase, from the top down: whole numbers.
    fn fitted(&self) -> Vec<u64> {
        let below = self.below();
        let averaged = self.averaged(&below);
        let mut counts = vec![0; self.list.len()];
        let fit = |parent: Option<u64>, spots: &[usize]| -> Vec<(usize, u64)> {
            let estimates: Vec<u128> = spots.iter().map(|&at| averaged[at]).collect();
            spots.iter().copied().zip(fit_under(parent, &estimates)).collect()
        };
        for (at, count) in fit(None, &below[self.list.len()]) {
            counts[at] = count;
        }
        for above in 0..self.list.len() {
            for (at, count) in fit(Some(counts[above]), &below[above]) {
                counts[at] = count;
            }
        }
        counts
    }
}

/// Makes the counts consistent and gives the rows.
pub(super) fn rows(tree: &Tree) -> Vec<Row> {
    let spots = Spots::of(tree);
    let counts = spots.fitted();
    let mut rows = Vec::new();
    for (depth, level) in tree.levels.iter().enumerate() {
        let mut rest: Vec<u64> = counts[spots.nodes[depth]..][..level.len()].to_vec();
        let below = tree.levels.get(depth + 1).map_or(&[][..], Vec::as_slice);
        for (at, node) in below.iter().enumerate() {
            rest[node.parent as usize] -= counts[spots.nodes[depth + 1] + at];
        }
        let shown = rest.into_iter().enumerate().filter(|(_, count)| *count > 0);
        rows.extend(shown.map(|(at, count)| Row { path: path(&tree.levels, depth, at), count }));
    }
    rows
}
