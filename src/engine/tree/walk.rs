//! One sub-level: a walk down a taxonomy that keeps what passes and never visits empty nodes one by one.

use std::ops::Range;

use crate::engine::noise::{NodeClass, Noise};
use crate::model::{Child, NodeIx, Taxonomy};

/// The classes of a taxonomy's nodes: one for each depth of general nodes, one for each depth leaves hang at.
#[derive(Clone, Debug)]
pub struct Classes {
    /// `general[d − 1]`: general nodes of depth d.
    pub general: Vec<NodeClass>,
    /// `leaf[d]`: leaves whose parent has depth d.
    pub leaf: Vec<NodeClass>,
}

/// A leaf that passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Its rank.
    pub rank: u32,
    /// Its noisy count.
    pub noisy: u64,
    /// The items under it.
    pub items: Range<usize>,
}

/// Walks the taxonomy from the top. `keys` are the items' ranks, ascending; leaves before `min_rank` do not
/// exist. Leaves that pass are told in rank order inside each group.
pub fn walk<T>(
    taxonomy: &Taxonomy,
    classes: &Classes,
    items: &[T],
    key: impl Fn(&T) -> u32 + Copy,
    min_rank: u32,
    noise: &mut impl Noise,
    found: &mut impl FnMut(Found),
) {
    debug_assert!(items.is_sorted_by_key(key), "T-4: items come in rank order");
    debug_assert!(
        items.first().is_none_or(|item| min_rank <= key(item)),
        "T-5: slots never decrease"
    );
    let mut sublevel = SubLevel { taxonomy, classes, items, key, min_rank, noise };
    sublevel.descend(Taxonomy::ROOT, 0..items.len(), found);
}

struct SubLevel<'a, T, K, N> {
    taxonomy: &'a Taxonomy,
    classes: &'a Classes,
    items: &'a [T],
    key: K,
    min_rank: u32,
    noise: &'a mut N,
}

/// A child that passed, by its number under its parent.
struct Passed {
    number: u32,
    noisy: u64,
    items: Range<usize>,
}

impl<T, K: Fn(&T) -> u32 + Copy, N: Noise> SubLevel<'_, T, K, N> {
    fn descend(&mut self, node: NodeIx, items: Range<usize>, found: &mut impl FnMut(Found)) {
        let ranks = self.taxonomy.ranks(node);
        if ranks.end <= self.min_rank {
            return;
        }
        let first = self.taxonomy.child_over(node, self.min_rank.max(ranks.start));
        let depth = self.taxonomy.depth(node) as usize;
        let occupied = self.occupied(node, items);
        for candidates in self.candidates(node, first) {
            let class = match candidates.leaves {
                true => &self.classes.leaf[depth],
                false => &self.classes.general[depth],
            };
            for passed in self.ask(class, &candidates, &occupied) {
                match self.taxonomy.child(node, passed.number) {
                    Child::General(child) => self.descend(child, passed.items, found),
                    Child::Leaf(rank) => {
                        found(Found { rank, noisy: passed.noisy, items: passed.items });
                    }
                }
            }
        }
    }

    /// Children with at least one item, in order, each with its items.
    fn occupied(&self, node: NodeIx, items: Range<usize>) -> Vec<(u32, Range<usize>)> {
        let mut occupied = Vec::new();
        let mut at = items.start;
        while at < items.end {
            let number = self.taxonomy.child_over(node, (self.key)(&self.items[at]));
            let past = self.taxonomy.child_ranks(&self.taxonomy.child(node, number)).end;
            let end =
                at + self.items[at..items.end].partition_point(|item| (self.key)(item) < past);
            occupied.push((number, at..end));
            at = end;
        }
        occupied
    }

    /// The children that exist, general ones first, then leaves; most nodes have one kind only.
    fn candidates(&self, node: NodeIx, first: u32) -> Vec<Candidates> {
        let all = first..self.taxonomy.n_children(node);
        let is_leaf = |number| matches!(self.taxonomy.child(node, number), Child::Leaf(_));
        match self.taxonomy.is_mixed(node) {
            false => vec![Candidates { leaves: is_leaf(first), numbers: Numbers::Run(all) }],
            true => {
                let (leaves, general) = all.partition(|&number| is_leaf(number));
                vec![
                    Candidates { leaves: false, numbers: Numbers::List(general) },
                    Candidates { leaves: true, numbers: Numbers::List(leaves) },
                ]
            }
        }
    }

    /// Asks for the noisy counts of all candidates of one class, and keeps what passes, in order.
    fn ask(
        &mut self,
        class: &NodeClass,
        candidates: &Candidates,
        occupied: &[(u32, Range<usize>)],
    ) -> Vec<Passed> {
        let mut passed = Vec::new();
        let mut places = Vec::new();
        for (number, items) in occupied {
            let Some(place) = candidates.numbers.place(*number) else { continue };
            places.push(place);
            if let Some(noisy) = self.noise.occupied(class, items.len() as u64) {
                passed.push(Passed { number: *number, noisy, items: items.clone() });
            }
        }
        let n_empty = candidates.numbers.len() - places.len() as u64;
        let mut skipped = 0;
        self.noise.empties(class, n_empty, &mut |ordinal, noisy| {
            // The ordinal counts empty candidates only; step over the occupied ones before it.
            while skipped < places.len() && places[skipped] <= ordinal + skipped as u64 {
                skipped += 1;
            }
            let number = candidates.numbers.number(ordinal + skipped as u64);
            passed.push(Passed { number, noisy, items: 0..0 });
        });
        passed.sort_unstable_by_key(|child| child.number);
        passed
    }
}

/// Candidates of one class.
struct Candidates {
    leaves: bool,
    numbers: Numbers,
}

enum Numbers {
    Run(Range<u32>),
    List(Vec<u32>),
}

impl Numbers {
    fn len(&self) -> u64 {
        match self {
            Self::Run(run) => run.len() as u64,
            Self::List(list) => list.len() as u64,
        }
    }

    /// Where a child's number stands among the candidates.
    fn place(&self, number: u32) -> Option<u64> {
        match self {
            Self::Run(run) => run.contains(&number).then(|| u64::from(number - run.start)),
            Self::List(list) => list.binary_search(&number).ok().map(|place| place as u64),
        }
    }

    fn number(&self, place: u64) -> u32 {
        match self {
            Self::Run(run) => run.start + u32::try_from(place).expect("a place among children"),
            Self::List(list) => list[usize::try_from(place).expect("a place among children")],
        }
    }
}
