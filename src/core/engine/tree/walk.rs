//! One sub-level: a walk down a taxonomy that keeps what passes and never visits empty nodes one by one.

use std::num::NonZeroU32;
use std::ops::Range;

use crate::engine::noise::{NodeClass, Noise, Occupied};
use crate::model::{Child, NodeIx, Taxonomy};

/// The classes of a taxonomy's nodes: one for each depth of general nodes, one for each depth leaves hang at.
#[derive(Clone, Debug)]
pub struct Classes {
    /// `general[d − 1]`: general nodes of depth d.
    pub general: Vec<NodeClass>,
    /// `leaf[d]`: leaves whose parent has depth d.
    pub leaf: Vec<NodeClass>,
}

/// What is walked over: all of it from configuration and from the path above.
#[derive(Clone, Copy, Debug)]
pub struct Universe<'a> {
    /// The groups.
    pub taxonomy: &'a Taxonomy,
    /// The class of every node.
    pub classes: &'a Classes,
    /// Leaves of a lower rank do not exist.
    pub min_rank: u32,
    /// Every leaf of the taxonomy stands for so many cells; at least 1. Groups are over all of them.
    pub width: u32,
}

/// What passes or does not: one of the cells that a leaf of the taxonomy stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cell {
    /// The leaf's rank.
    pub rank: u32,
    /// Which of its cells, below the universe's width.
    pub within: u32,
}

/// A cell that passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    pub cell: Cell,
    /// The group right above it, by its number among those that passed.
    pub group: Option<GroupIx>,
    /// Its noisy count.
    pub noisy: u64,
    /// The items under it.
    pub items: Range<usize>,
}

/// The number of a group among those that passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupIx(NonZeroU32);

impl GroupIx {
    /// The group at this place of a list.
    pub fn new(at: usize) -> Self {
        let number = u32::try_from(at + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("fewer groups than 2^32 pass"))
    }

    /// Its place in the list.
    pub fn get(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A group that passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassedGroup {
    /// The group right above it; it came before.
    pub above: Option<GroupIx>,
    /// Its noisy count.
    pub noisy: u64,
}

/// Walks the universe from the top, and forgets the groups that it passed through.
pub fn walk<T>(
    universe: Universe<'_>,
    items: &[T],
    cell: impl Fn(&T) -> Cell + Copy,
    noise: &mut impl Noise,
    found: &mut impl FnMut(Found),
) {
    walk_through(universe, items, cell, noise, &mut Vec::new(), found);
}

/// Walks the universe from the top. The items come in the order of their cells. Cells that pass are told in
/// order inside each group. Groups that pass are put into the list, those above first.
pub fn walk_through<T>(
    universe: Universe<'_>,
    items: &[T],
    cell: impl Fn(&T) -> Cell + Copy,
    noise: &mut impl Noise,
    groups: &mut Vec<PassedGroup>,
    found: &mut impl FnMut(Found),
) {
    debug_assert!(items.is_sorted_by_key(cell), "T-4: items come in the order of their cells");
    debug_assert!(
        items.first().is_none_or(|item| universe.min_rank <= cell(item).rank),
        "T-5: slots never decrease"
    );
    let mut sublevel = SubLevel { universe, items, cell, noise, groups };
    sublevel.descend(Taxonomy::ROOT, None, 0..items.len(), found);
}

struct SubLevel<'a, T, C, N> {
    universe: Universe<'a>,
    items: &'a [T],
    cell: C,
    noise: &'a mut N,
    groups: &'a mut Vec<PassedGroup>,
}

/// A child or cell with its items: all those below one child, or in one cell of a leaf.
struct Run {
    child: u32,
    within: u32,
    items: Range<usize>,
}

/// A candidate that passed, by its index among the candidates.
struct Passed {
    index: u64,
    noisy: u64,
    items: Range<usize>,
}

impl<T, C: Fn(&T) -> Cell + Copy, N: Noise> SubLevel<'_, T, C, N> {
    fn descend(
        &mut self,
        node: NodeIx,
        group: Option<GroupIx>,
        items: Range<usize>,
        found: &mut impl FnMut(Found),
    ) {
        let Universe { taxonomy, classes, min_rank, .. } = self.universe;
        let ranks = taxonomy.ranks(node);
        if ranks.end <= min_rank {
            return;
        }
        let first = taxonomy.child_over(node, min_rank.max(ranks.start));
        let depth = taxonomy.depth(node) as usize;
        let runs = self.runs(node, items);
        for candidates in self.candidates(node, first) {
            let class = match candidates.width {
                None => &classes.general[depth],
                Some(_) => &classes.leaf[depth],
            };
            for Passed { index, noisy, items } in self.ask(class, &candidates, &runs) {
                let (number, within) = candidates.at(index);
                match taxonomy.child(node, number) {
                    Child::General(child) => {
                        let passed = GroupIx::new(self.groups.len());
                        self.groups.push(PassedGroup { above: group, noisy });
                        self.descend(child, Some(passed), items, found);
                    }
                    Child::Leaf(rank) => {
                        found(Found { cell: Cell { rank, within }, group, noisy, items });
                    }
                }
            }
        }
    }

    /// Children and cells with at least one item, in order.
    fn runs(&self, node: NodeIx, items: Range<usize>) -> Vec<Run> {
        let taxonomy = self.universe.taxonomy;
        let mut runs = Vec::new();
        let mut at = items.start;
        while at < items.end {
            let cell = (self.cell)(&self.items[at]);
            let child = taxonomy.child_over(node, cell.rank);
            let rest = &self.items[at..items.end];
            let (within, n) = match taxonomy.child(node, child) {
                Child::Leaf(_) => (cell.within, run_length(rest, |item| (self.cell)(item) == cell)),
                Child::General(group) => {
                    let past = taxonomy.ranks(group).end;
                    (0, run_length(rest, |item| (self.cell)(item).rank < past))
                }
            };
            runs.push(Run { child, within, items: at..at + n });
            at += n;
        }
        runs
    }

    /// What is asked about below a node, groups first, then cells; most nodes have one kind only.
    fn candidates(
        &self,
        node: NodeIx,
        first: u32,
    ) -> impl Iterator<Item = Candidates> + use<T, C, N> {
        let taxonomy = self.universe.taxonomy;
        let width = Some(u64::from(self.universe.width));
        let all = first..taxonomy.n_children(node);
        let is_leaf = |number| matches!(taxonomy.child(node, number), Child::Leaf(_));
        let (one, other) = match taxonomy.is_mixed(node) {
            false => {
                let width = width.filter(|_| is_leaf(first));
                (Candidates { width, children: Children::Run(all) }, None)
            }
            true => {
                let (leaves, groups) = all.partition(|&number| is_leaf(number));
                (
                    Candidates { width: None, children: Children::List(groups) },
                    Some(Candidates { width, children: Children::List(leaves) }),
                )
            }
        };
        std::iter::once(one).chain(other)
    }

    /// Asks for the noisy counts of all candidates of one class, and keeps what passes, in order.
    fn ask(&mut self, class: &NodeClass, candidates: &Candidates, runs: &[Run]) -> Vec<Passed> {
        let mut occupied = Vec::with_capacity(runs.len());
        let mut members = Vec::with_capacity(runs.len());
        for run in runs {
            let Some(index) = candidates.rank(run) else { continue };
            occupied.push(Occupied { index, count: run.items.len() as u64 });
            members.push(run.items.clone());
        }
        let mut passed: Vec<Passed> = Vec::new();
        self.noise.ask(class, candidates.len(), &occupied, &mut |index, noisy| {
            let run = occupied.binary_search_by_key(&index, |candidate| candidate.index);
            let items = run.map_or(0..0, |run| members[run].clone());
            passed.push(Passed { index, noisy, items });
        });
        passed.sort_unstable_by_key(|candidate| candidate.index);
        passed
    }
}

/// How many items at the start belong together: doubling steps, because most runs are short.
fn run_length<T>(items: &[T], belongs: impl Fn(&T) -> bool) -> usize {
    let mut known = 1;
    let mut step = 1;
    while known + step < items.len() && belongs(&items[known + step]) {
        known += step;
        step *= 2;
    }
    let end = items.len().min(known + step);
    known + items[known..end].partition_point(belongs)
}

/// Candidates of one class.
struct Candidates {
    /// Cells of every leaf; `None` for groups.
    width: Option<u64>,
    children: Children,
}

enum Children {
    Run(Range<u32>),
    List(Vec<u32>),
}

impl Candidates {
    fn len(&self) -> u64 {
        let children = match &self.children {
            Children::Run(run) => run.len(),
            Children::List(list) => list.len(),
        };
        children as u64 * self.width.unwrap_or(1)
    }

    /// Where a run stands among the candidates, if it is one of them.
    fn rank(&self, run: &Run) -> Option<u64> {
        let child = match &self.children {
            Children::Run(all) => {
                all.contains(&run.child).then(|| u64::from(run.child - all.start))
            }
            Children::List(list) => list.binary_search(&run.child).ok().map(|index| index as u64),
        };
        child.map(|child| child * self.width.unwrap_or(1) + u64::from(run.within))
    }

    /// The child at a place, and which of its cells.
    fn at(&self, index: u64) -> (u32, u32) {
        let width = self.width.unwrap_or(1);
        let (child, within) = (index / width, index % width);
        let within = u32::try_from(within).expect("below the width");
        let child = usize::try_from(child).expect("an index among children");
        match &self.children {
            Children::Run(run) => {
                (run.start + u32::try_from(child).expect("an index among children"), within)
            }
            Children::List(list) => (list[child], within),
        }
    }
}
