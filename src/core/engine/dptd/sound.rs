//! The variant that keeps ε: everything that decides what is asked or shown was paid for. Lines A1 to A5 of PROOF.md.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use super::Settings;
use super::cells::Cells;
use super::places::Plane;
use super::squares::{Sum, fitted};
use super::terms::Terms;
use crate::engine::Row;
use crate::engine::noise::{AnyNoise, Occupied};
use crate::engine::tree::{Consistency, Node, rows};
use crate::passenger::Trajectories;

/// Streams of noise beside those of the layers.
const MOVES: u32 = 1 << 16;
const HISTOGRAM: u32 = MOVES + 1;

/// The rows of a window under any source of noise.
pub(super) fn released(
    settings: &Settings,
    plane: &Plane,
    terms: &Terms,
    cards: &Trajectories,
    n_slots: u32,
    noise: &dyn AnyNoise,
) -> Vec<Row> {
    let height = settings.height.get() as usize;
    let cells = clustered(settings, plane, terms, cards, n_slots, noise);
    let paths: Vec<Vec<u32>> = (0..cards.len())
        .map(|ix| {
            let (start, end) = cards.bounds(ix);
            let first = cards.doublets()[start..end].iter().take(height);
            first.map(|doublet| cells.of(*doublet)).collect()
        })
        .collect();
    let moves = moves(terms, &cells, &paths, height, noise);
    let tree = Grown { cells: &cells, paths: &paths, moves: &moves, terms, noise };
    let levels = tree.levels(height, settings.max_nodes);
    rows(&fitted(&levels, Sum::AtMost), Consistency::TopDown)
}

/// A1, A2: a noisy histogram, and the clusters that it has.
fn clustered(
    settings: &Settings,
    plane: &Plane,
    terms: &Terms,
    cards: &Trajectories,
    n_slots: u32,
    noise: &dyn AnyNoise,
) -> Cells {
    let n_stations = plane.n_stations();
    let mut counts = vec![0_i64; n_stations * n_slots as usize];
    for ix in 0..cards.len() {
        let (start, end) = cards.bounds(ix);
        for doublet in cards.doublets()[start..end].iter().take(settings.height.get() as usize) {
            counts[doublet.slot as usize * n_stations + doublet.station.0 as usize] += 1;
        }
    }
    noise.any_table(HISTOGRAM, terms.histogram, &mut counts, NonZeroUsize::MIN);
    let clusters = counts.chunks(n_stations).map(|slot| {
        let weights: Vec<u64> = slot.iter().map(|&n| u64::try_from(n).unwrap_or(0)).collect();
        plane.clusters(&weights, settings.least)
    });
    Cells::new(clusters.collect())
}

/// A3: for every cell, noisy counts of where cards go on from it on their way from an odd layer to an even one; the
/// last candidate is that they end.
fn moves(
    terms: &Terms,
    cells: &Cells,
    paths: &[Vec<u32>],
    height: usize,
    noise: &dyn AnyNoise,
) -> Vec<Vec<(Option<u32>, u64)>> {
    let Some(asked) = &terms.moves else { return Vec::new() };
    let mut counted: Vec<BTreeMap<u64, u64>> = vec![BTreeMap::new(); cells.len() as usize];
    for path in paths {
        for at in (0..path.len()).step_by(2).filter(|at| at + 1 < height) {
            let from = path[at];
            let first = cells.first_of(cells.slot(from));
            let index = path.get(at + 1).map_or(cells.len() - first, |next| next - first);
            *counted[from as usize].entry(index.into()).or_default() += 1;
        }
    }
    (0..cells.len())
        .zip(counted)
        .map(|(from, counted)| {
            let slot = cells.slot(from);
            let n = u64::from(cells.n_since(slot)) + 1;
            let mut told = Vec::new();
            ask(noise, (MOVES, from.into()), asked.among(n), n, counted, |index, noisy| {
                let cell = u32::try_from(index).expect("as many as cells") + cells.first_of(slot);
                told.push(((cell < cells.len()).then_some(cell), noisy));
            });
            told.sort_unstable();
            told
        })
        .collect()
}

fn ask(
    noise: &dyn AnyNoise,
    (level, index): (u32, u64),
    class: &crate::engine::noise::NodeClass,
    n: u64,
    counted: BTreeMap<u64, u64>,
    mut kept: impl FnMut(u64, u64),
) {
    let occupied: Vec<Occupied> =
        counted.into_iter().map(|(index, count)| Occupied { index, count }).collect();
    noise.any_node(level, index).ask(class, n, &occupied, &mut kept);
}

/// The tree while it grows.
struct Grown<'a> {
    cells: &'a Cells,
    paths: &'a [Vec<u32>],
    moves: &'a [Vec<(Option<u32>, u64)>],
    terms: &'a Terms,
    noise: &'a dyn AnyNoise,
}

/// A node that is being split: its cell, its count, and the cards below it.
struct Open {
    cell: Option<u32>,
    noisy: u64,
    cards: Vec<u32>,
}

impl Grown<'_> {
    /// A4: odd layers are asked about, even ones follow from the moves. At most so many nodes, in a fixed order.
    fn levels(&self, height: usize, max_nodes: u64) -> Vec<Vec<Node>> {
        let everybody =
            (0..u32::try_from(self.paths.len()).expect("fewer cards than 2^32")).collect();
        let mut above = vec![Open { cell: None, noisy: 0, cards: everybody }];
        let mut levels = Vec::new();
        let mut room = usize::try_from(max_nodes).unwrap_or(usize::MAX);
        for depth in 0..height {
            let (mut nodes, mut open) = (Vec::new(), Vec::new());
            for (index, parent) in above.iter().enumerate() {
                let mut children = match depth % 2 {
                    0 => self.asked(depth, index, parent),
                    _ => self.followed(parent),
                };
                children.sort_unstable_by_key(|(cell, _)| self.cells.shown(*cell));
                children.truncate(room - nodes.len());
                let below = self.below(depth, parent, &children);
                for ((cell, noisy), cards) in children.into_iter().zip(below) {
                    let parent = u32::try_from(index).expect("at most max_nodes nodes");
                    nodes.push(Node {
                        parent,
                        doublet: self.cells.shown(cell),
                        noisy,
                        group: None,
                    });
                    open.push(Open { cell: Some(cell), noisy, cards });
                }
            }
            room -= nodes.len();
            if nodes.is_empty() {
                break;
            }
            levels.push(nodes);
            above = open;
        }
        levels
    }

    fn asked(&self, depth: usize, index: usize, parent: &Open) -> Vec<(u32, u64)> {
        let slot = parent.cell.map_or(0, |cell| self.cells.slot(cell));
        let first = self.cells.first_of(slot);
        let n = u64::from(self.cells.n_since(slot));
        let mut counted: BTreeMap<u64, u64> = BTreeMap::new();
        for &card in &parent.cards {
            if let Some(cell) = self.paths[card as usize].get(depth) {
                *counted.entry(u64::from(cell - first)).or_default() += 1;
            }
        }
        let mut children = Vec::new();
        let level = u32::try_from(depth).expect("a tree is low");
        let class = self.terms.layers.among(n);
        ask(self.noise, (level, index as u64), class, n, counted, |index, noisy| {
            children.push((first + u32::try_from(index).expect("as many as cells"), noisy));
        });
        children
    }

    /// The parent's count times the share of each move, rounded to the nearest; who ends is in nobody's.
    fn followed(&self, parent: &Open) -> Vec<(u32, u64)> {
        let moves = &self.moves[parent.cell.expect("only the root has no cell") as usize];
        let all: u128 = moves.iter().map(|(_, noisy)| u128::from(*noisy)).sum();
        let share = |noisy: u64| {
            let part = (u128::from(parent.noisy) * u128::from(noisy) * 2 + all) / (2 * all.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        let children = moves.iter().filter_map(|&(cell, noisy)| Some((cell?, share(noisy))));
        children.filter(|(_, count)| *count > 0).collect()
    }

    /// The cards below each child.
    fn below(&self, depth: usize, parent: &Open, children: &[(u32, u64)]) -> Vec<Vec<u32>> {
        let mut below = vec![Vec::new(); children.len()];
        let places: BTreeMap<u32, usize> = children.iter().map(|child| child.0).zip(0..).collect();
        for &card in &parent.cards {
            let cell = self.paths[card as usize].get(depth);
            if let Some(&at) = cell.and_then(|cell| places.get(cell)) {
                below[at].push(card);
            }
        }
        below
    }
}
