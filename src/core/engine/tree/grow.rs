//! Grows the tree level by level. Within a level nodes are independent, so threads may share them.

use std::ops::Range;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{ChildNode, Item, Node, Splitter};
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

/// Grows a tree; gives its levels, each in path order.
pub(crate) fn grow<S: NoiseSource>(
    trajectories: &Trajectories,
    splitter: &impl Splitter,
    growth: Growth,
    source: &S,
) -> Vec<Vec<Node>> {
    let n = u32::try_from(trajectories.len()).expect("fewer cards than 2^32 in a window");
    let mut frontier = Frontier { ends: vec![n], members: (0..n).collect() };
    let root = Node { parent: 0, doublet: Doublet { station: StationIx(0), slot: 0 }, noisy: 0 };
    let mut above = vec![root];
    let mut levels: Vec<Vec<Node>> = Vec::new();
    let mut room = usize::try_from(growth.max_nodes).unwrap_or(usize::MAX);
    for level in 0..growth.height {
        let split =
            Split { trajectories, splitter, source, above: &above, frontier: &frontier, level };
        let (nodes, next) = split.all(room);
        room -= nodes.len();
        frontier = next;
        if level > 0 {
            levels.push(std::mem::take(&mut above));
        }
        above = nodes;
        if above.is_empty() {
            break;
        }
    }
    levels.push(above);
    levels
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
    ends: Vec<u32>,
    members: Vec<u32>,
}

impl<P: Splitter, S: NoiseSource> Split<'_, P, S> {
    /// Splits every node of the level, at most `room` children in all. Waves of batches run side by side and
    /// are joined in path order, so neither the threads nor their speed shows in the result.
    fn all(&self, room: usize) -> (Vec<Node>, Frontier) {
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
        (joined.nodes, Frontier { ends: joined.ends, members: joined.members })
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
        let (mut items, mut children) = (Vec::new(), Vec::new());
        for index in places {
            if batch.nodes.len() >= room {
                break;
            }
            self.items(index, &mut items);
            children.clear();
            let mut noise = self.source.node(self.level, index as u64);
            let min_slot = self.above[index].doublet.slot;
            self.splitter.split(&mut items, min_slot, &mut noise, &mut children);
            children.sort_unstable_by_key(|child| child.doublet);
            for &ChildNode { doublet, noisy, from, to } in &children {
                let parent = u32::try_from(index).expect("at most max_nodes nodes in a level");
                batch.nodes.push(Node { parent, doublet, noisy });
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
    joined.nodes.extend_from_slice(&batch.nodes[..keep]);
    joined.ends.extend(batch.ends[..keep].iter().map(|end| end + before));
    joined.members.extend_from_slice(&batch.members[..members]);
}
