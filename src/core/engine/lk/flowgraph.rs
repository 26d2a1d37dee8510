//! The passenger flowgraph: the prefix tree of all trajectories with counts, and what each doublet means to it.

use std::fmt;

use crate::engine::trips::{Trips, number_of};
use crate::model::{Doublet, PathKind, Portion};
use crate::seal::SealedWindow;

/// A tree whose nodes are prefixes. Exact numbers of passengers: they stay inside.
pub struct Flowgraph {
    nodes: Vec<Node>,
    measures: Vec<Measures>,
    doublets: Vec<Doublet>,
    n_trajectories: u64,
}

/// One prefix.
#[derive(Clone, Copy)]
struct Node {
    /// The node one doublet before; `None` at the first doublet.
    parent: Option<u32>,
    doublet: u32,
    /// Trajectories that begin so.
    count: u64,
    /// Trajectories that are so and no longer.
    ends: u64,
}

/// What a doublet means to the flowgraph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measures {
    /// α: nodes that carry it.
    pub nodes: u64,
    /// β: children of these nodes.
    pub children: u64,
    /// γ: ways from the root to a leaf that pass it, each once.
    pub ways: u64,
    /// δ: trajectories that contain it.
    pub trajectories: u64,
}

/// How much each measure counts; they sum to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weights {
    /// Of α.
    pub alpha: Portion,
    /// Of β.
    pub beta: Portion,
    /// Of γ.
    pub gamma: Portion,
    /// Of δ.
    pub delta: Portion,
}

impl Weights {
    /// The sum in millionths: a million for weights that are good.
    pub fn sum_micro(&self) -> u32 {
        [self.alpha, self.beta, self.gamma, self.delta].iter().map(|weight| weight.micro()).sum()
    }
}

impl Measures {
    /// Info = αw_α + βw_β + γw_γ + δw_δ, exactly, in millionths.
    pub fn info_micro(&self, weights: &Weights) -> u64 {
        let part = |weight: Portion, measure: u64| u64::from(weight.micro()) * measure;
        part(weights.alpha, self.nodes)
            + part(weights.beta, self.children)
            + part(weights.gamma, self.ways)
            + part(weights.delta, self.trajectories)
    }
}

impl fmt::Debug for Flowgraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Flowgraph(***)")
    }
}

impl Flowgraph {
    /// The flowgraph of a window.
    pub fn of(window: &SealedWindow) -> Self {
        Self::of_trips(&Trips::of(window, PathKind::Timed))
    }

    /// Different trajectories come in lexicographic order, so that a node's subtree is one stretch of them.
    pub(super) fn of_trips(trips: &Trips) -> Self {
        let mut graph = Self {
            nodes: Vec::new(),
            measures: vec![Measures::default(); trips.n_doublets()],
            doublets: (0..number_of(trips.n_doublets())).map(|item| trips.doublet(item)).collect(),
            n_trajectories: 0,
        };
        let mut way: Vec<u32> = Vec::new();
        let mut before: &[u32] = &[];
        // Which trajectory, or leaf, counted a doublet last: each counts it once.
        let mut counted = vec![u32::MAX; trips.n_doublets()];
        for trip in trips.numbers() {
            let path = trips.get(trip);
            let shared = path.iter().zip(before).take_while(|(a, b)| a == b).count();
            way.truncate(shared);
            for &item in &path[shared..] {
                graph.sprout(&mut way, item);
            }
            let weight = u64::from(trips.weight(trip));
            for &node in &way {
                graph.nodes[node as usize].count += weight;
            }
            if let Some(&last) = way.last() {
                graph.nodes[last as usize].ends += weight;
            }
            graph.n_trajectories += weight;
            let is_leaf =
                trip + 1 >= number_of(trips.len()) || !trips.get(trip + 1).starts_with(path);
            for &item in path {
                if counted[item as usize] != trip {
                    counted[item as usize] = trip;
                    graph.measures[item as usize].trajectories += weight;
                    graph.measures[item as usize].ways += u64::from(is_leaf);
                }
            }
            before = path;
        }
        graph
    }

    fn sprout(&mut self, way: &mut Vec<u32>, item: u32) {
        let parent = way.last().copied();
        if let Some(parent) = parent {
            let above = self.nodes[parent as usize].doublet;
            self.measures[above as usize].children += 1;
        }
        self.measures[item as usize].nodes += 1;
        way.push(number_of(self.nodes.len()));
        self.nodes.push(Node { parent, doublet: item, count: 0, ends: 0 });
    }

    /// How many nodes there are.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// What a doublet means; nothing if no trajectory contains it.
    pub fn measures(&self, doublet: Doublet) -> Measures {
        let at = self.doublets.iter().position(|known| *known == doublet);
        at.map(|at| self.measures[at]).unwrap_or_default()
    }

    /// What every doublet means, by number.
    pub(super) fn all_measures(&self) -> &[Measures] {
        &self.measures
    }

    /// The probability of taking this way from the root, one doublet further than all but the last: how many of
    /// those who came that far go on to the last. `None` if nobody came that far.
    pub fn transition(&self, way: &[Doublet]) -> Option<(u64, u64)> {
        let (_, before) = way.split_last()?;
        let came = match self.find(before) {
            Some(node) => self.nodes[node as usize].count,
            None if before.is_empty() => self.n_trajectories,
            None => return None,
        };
        let took = self.find(way).map_or(0, |node| self.nodes[node as usize].count);
        Some((took, came))
    }

    /// The probability that a trajectory ends where this way ends, as a part of those who came that far.
    pub fn termination(&self, way: &[Doublet]) -> Option<(u64, u64)> {
        let node = &self.nodes[self.find(way)? as usize];
        Some((node.ends, node.count))
    }

    fn find(&self, way: &[Doublet]) -> Option<u32> {
        let mut at = None;
        for doublet in way {
            let below = (0_u32..).zip(&self.nodes).find(|(_, node)| {
                node.parent == at && self.doublets[node.doublet as usize] == *doublet
            });
            at = Some(below?.0);
        }
        at
    }
}
