//! Grows the tree level by level. Within a level nodes are independent, so threads may share them.

use std::ops::Range;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{ChildNode, Children, GroupIx, Item, Node, PassedGroup, Splitter};
use crate::engine::noise::NoiseSource;
use crate::model::{Doublet, StationIx};
use crate::passenger::Trajectories;

/// How far a tree may grow; all of it public configuration.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Levels.
    pub height: u32,
    /// Noisy nodes in all; beyond it a level is truncated in path order.
    pub max_nodes: u64,
}

/// A group that passed, in its level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptGroup {
    /// The node that was split, in the level above; 0 at the first level.
    pub parent: u32,
    /// The group right above it in this level; it stands before.
    pub above: Option<GroupIx>,
    /// Its noisy count.
    pub noisy: u64,
}

/// A grown tree.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tree {
    /// The nodes of every level, each in path order.
    pub(crate) levels: Vec<Vec<Node>>,
    /// The groups of every level that they hang from; empty where groups are not kept.
    pub(crate) groups: Vec<Vec<KeptGroup>>,
}

/// The nodes of one level that are being split, with the trajectories below each.
struct Frontier {
    /// `ends[i]` is where node i's members end in `members`.
    ends: Vec<u32>,
    members: Vec<u32>,
}

impl Frontier {
    fn range(&self, index: usize) -> Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        start..self.ends[index] as usize
    }
}

/// Grows a tree.
pub(crate) fn grow<S: NoiseSource>(
    trajectories: &Trajectories,
    splitter: &impl Splitter,
    growth: Growth,
    source: &S,
) -> Tree {
    let n = u32::try_from(trajectories.len()).expect("fewer cards than 2^32 in a window");
    let mut frontier = Frontier { ends: vec![n], members: (0..n).collect() };
    let first = Doublet { station: StationIx(0), slot: 0 };
    let root = Node { parent: 0, doublet: first, noisy: 0, group: None };
    let mut above = vec![root];
    let mut tree = Tree::default();
    let mut room = usize::try_from(growth.max_nodes).unwrap_or(usize::MAX);
    for level in 0..growth.height {
        let split =
            Split { trajectories, splitter, source, above: &above, frontier: &frontier, level };
        let (nodes, groups, next) = split.all(room);
        room -= nodes.len();
        frontier = next;
        if level > 0 {
            tree.levels.push(std::mem::take(&mut above));
        }
        above = nodes;
        tree.groups.push(groups);
        if above.is_empty() {
            break;
        }
    }
    tree.levels.push(above);
    tree
}

/// One level being split.
struct Split<'a, P, S> {
    trajectories: &'a Trajectories,
    splitter: &'a P,
    source: &'a S,
    above: &'a [Node],
    frontier: &'a Frontier,
    level: u32,
}

/// What a run of neighbouring nodes became.
#[derive(Default)]
struct Batch {
    nodes: Vec<Node>,
    groups: Vec<KeptGroup>,
    ends: Vec<u32>,
    members: Vec<u32>,
}

impl<P: Splitter, S: NoiseSource> Split<'_, P, S> {
    /// Splits every node of the level, at most `room` children in all. Waves of batches run side by side and
    /// are joined in path order, so neither the threads nor their speed shows in the result.
    fn all(&self, room: usize) -> (Vec<Node>, Vec<KeptGroup>, Frontier) {
        const BATCHES_A_WAVE: usize = 8;
        let mut joined = Batch::default();
        let batches = self.batches();
        for wave in batches.chunks(BATCHES_A_WAVE * rayon::current_num_threads()) {
            if joined.nodes.len() >= room {
                break;
            }
            for batch in self.wave(wave, room - joined.nodes.len()) {
                join(&mut joined, batch, room);
            }
        }
        let Batch { nodes, groups, ends, members } = joined;
        (nodes, groups, Frontier { ends, members })
    }

    /// Runs of neighbouring nodes with about the same work each.
    fn batches(&self) -> Vec<Range<usize>> {
        const WORK: usize = 1 << 14;
        let mut batches = Vec::new();
        let (mut start, mut work) = (0, 0);
        for index in 0..self.above.len() {
            work += self.frontier.range(index).len() + 16;
            if work >= WORK {
                batches.push(start..index + 1);
                (start, work) = (index + 1, 0);
            }
        }
        if start < self.above.len() {
            batches.push(start..self.above.len());
        }
        batches
    }

    /// The batches of a wave, in their order, on every core.
    fn wave(&self, batches: &[Range<usize>], room: usize) -> Vec<Batch> {
        match batches {
            [one] => vec![self.batch(one.clone(), room)],
            several => several.par_iter().map(|places| self.batch(places.clone(), room)).collect(),
        }
    }

    fn batch(&self, places: Range<usize>, room: usize) -> Batch {
        let mut batch = Batch::default();
        let (mut items, mut children) = (Vec::new(), Children::default());
        for index in places {
            if batch.nodes.len() >= room {
                break;
            }
            self.items(index, &mut items);
            children.nodes.clear();
            children.groups.clear();
            let mut noise = self.source.node(self.level, index as u64);
            let min_slot = self.above[index].doublet.slot;
            self.splitter.split(&mut items, min_slot, &mut noise, &mut children);
            let parent = u32::try_from(index).expect("at most max_nodes nodes in a level");
            let before = batch.groups.len();
            let moved = |group: GroupIx| GroupIx::new(group.get() + before);
            batch.groups.extend(children.groups.iter().map(|&PassedGroup { above, noisy }| {
                KeptGroup { parent, above: above.map(moved), noisy }
            }));
            children.nodes.sort_unstable_by_key(|child| child.doublet);
            for &ChildNode { doublet, noisy, from, to, group } in &children.nodes {
                batch.nodes.push(Node { parent, doublet, noisy, group: group.map(moved) });
                batch.members.extend(items[from as usize..to as usize].iter().map(|item| item.ix));
                batch.ends.push(u32::try_from(batch.members.len()).expect("as many as cards"));
            }
        }
        batch
    }

    /// The trajectories below a node that go on, with their next doublet.
    fn items(&self, index: usize, items: &mut Vec<Item>) {
        let doublets = self.trajectories.doublets();
        let depth = self.level as usize;
        items.clear();
        items.extend(self.frontier.members[self.frontier.range(index)].iter().filter_map(|&ix| {
            let (start, end) = self.trajectories.bounds(ix as usize);
            let next = doublets[start..end].get(depth)?;
            let (rank, slot) = self.splitter.rank(*next);
            Some(Item { rank, slot, ix })
        }));
    }
}

fn join(joined: &mut Batch, batch: Batch, room: usize) {
    let keep = batch.nodes.len().min(room - joined.nodes.len());
    let members = if keep == 0 { 0 } else { batch.ends[keep - 1] as usize };
    let before = u32::try_from(joined.members.len()).expect("as many as cards");
    let groups = joined.groups.len();
    let moved = |group: GroupIx| GroupIx::new(group.get() + groups);
    let node = |node: &Node| Node { group: node.group.map(moved), ..*node };
    joined.nodes.extend(batch.nodes[..keep].iter().map(node));
    let group = |group: &KeptGroup| KeptGroup { above: group.above.map(moved), ..*group };
    joined.groups.extend(batch.groups.iter().map(group));
    joined.ends.extend(batch.ends[..keep].iter().map(|end| end + before));
    joined.members.extend_from_slice(&batch.members[..members]);
}
