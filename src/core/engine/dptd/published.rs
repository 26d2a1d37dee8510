//! DPTD as its paper prints it, for study: it is not private, and PROOF.md says where it gives itself away.

use std::collections::BTreeMap;

use num_rational::Ratio;

use super::Settings;
use super::cells::Cells;
use super::places::{Plane, quadtree_leaf};
use super::squares::{Sum, fitted};
use crate::engine::Row;
use crate::engine::noise::{AnyNoise, NodeClass, Occupied, Scale};
use crate::engine::tree::{Consistency, Node, rows};
use crate::model::StationIx;
use crate::passenger::Trajectories;

/// The rows of a window. `pick(slot, n)` chooses one of n locations.
pub(super) fn released(
    settings: &Settings,
    plane: &Plane,
    cards: &Trajectories,
    n_slots: u32,
    noise: &dyn AnyNoise,
    pick: &dyn Fn(u32, usize) -> usize,
) -> Vec<Row> {
    let height = settings.height.get() as usize;
    // VI-A: trajectories of equal length; longer ones are cut, shorter ones dropped.
    let whole: Vec<&[crate::model::Doublet]> = (0..cards.len())
        .filter_map(|ix| {
            let (start, end) = cards.bounds(ix);
            cards.doublets()[start..end].get(..height)
        })
        .collect();
    let mut weights = vec![vec![0_u64; plane.n_stations()]; n_slots as usize];
    for doublet in whole.iter().copied().flatten() {
        weights[doublet.slot as usize][doublet.station.0 as usize] += 1;
    }
    let clusters = weights.iter().map(|slot| plane.clusters(slot, settings.least)).collect();
    let cells = Cells::new(clusters);
    let paths: Vec<Vec<u32>> =
        whole.iter().map(|path| path.iter().map(|doublet| cells.of(*doublet)).collect()).collect();
    let cells = cells.shown_as(|slot, centre| {
        shown(plane, &weights[slot as usize], centre, settings, slot, pick)
    });
    let levels = tree(&paths, height, &ratios(&paths), settings, noise);
    rows(&merged(&fitted(&levels, Sum::Whole), &cells), Consistency::TopDown)
}

/// Procedure 1: any location of the quadtree's leaf that the centroid is in.
fn shown(
    plane: &Plane,
    weights: &[u64],
    centre: StationIx,
    settings: &Settings,
    slot: u32,
    pick: &dyn Fn(u32, usize) -> usize,
) -> StationIx {
    let points: Vec<(u32, (i64, i64))> = (0..)
        .zip(weights)
        .filter(|(_, weight)| **weight > 0)
        .map(|(station, _)| (station, plane.at(station)))
        .collect();
    let most = usize::try_from(settings.least).unwrap_or(usize::MAX).max(1);
    let leaf = quadtree_leaf(&points, plane.at(centre.0), most);
    leaf.get(pick(slot, leaf.len().max(1))).map_or(centre, |&station| StationIx(station))
}

/// Table II: exact first-order transition probabilities from odd layers to the next, by layer.
pub(super) fn ratios(paths: &[Vec<u32>]) -> BTreeMap<(usize, u32, u32), Ratio<u64>> {
    let mut pairs: BTreeMap<(usize, u32, u32), u64> = BTreeMap::new();
    let mut singles: BTreeMap<(usize, u32), u64> = BTreeMap::new();
    for path in paths {
        for (at, pair) in path.chunks(2).enumerate().filter(|(_, pair)| pair.len() == 2) {
            *pairs.entry((2 * at, pair[0], pair[1])).or_default() += 1;
            *singles.entry((2 * at, pair[0])).or_default() += 1;
        }
    }
    pairs.into_iter().map(|(key, n)| (key, Ratio::new(n, singles[&(key.0, key.1)]))).collect()
}

/// Procedure 2 over the nodes that occur: noise on odd layers, also if the last is one; even layers by ratio. Nodes
/// hold the number of their cell where a station will stand.
pub(super) fn tree(
    paths: &[Vec<u32>],
    height: usize,
    ratios: &BTreeMap<(usize, u32, u32), Ratio<u64>>,
    settings: &Settings,
    noise: &dyn AnyNoise,
) -> Vec<Vec<Node>> {
    let layers = u128::from(settings.height.get().div_ceil(2));
    let epsilon = Ratio::new(u128::from(settings.epsilon.micro()), 1_000_000);
    let scale = Scale::for_epsilon(epsilon / layers)
        .unwrap_or_else(|| Scale::new(Scale::MAX, 1).expect("the widest noise there is"));
    let class = NodeClass::new(scale, 1);
    let mut above: Vec<(u32, u64, Vec<u32>)> =
        vec![(0, 0, (0..u32::try_from(paths.len()).expect("fewer cards than 2^32")).collect())];
    let mut levels: Vec<Vec<Node>> = Vec::new();
    for depth in 0..height {
        let (mut nodes, mut next) = (Vec::new(), Vec::new());
        for (index, (cell, noisy, cards)) in (0_u32..).zip(&above) {
            let mut below: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for &card in cards {
                below.entry(paths[card as usize][depth]).or_default().push(card);
            }
            let mut told: BTreeMap<u64, u64> = BTreeMap::new();
            if depth % 2 == 0 {
                let occupied: Vec<Occupied> = (0..)
                    .zip(below.values())
                    .map(|(index, cards)| Occupied { index, count: cards.len() as u64 })
                    .collect();
                let level = u32::try_from(depth).expect("a tree is low");
                let mut node = noise.any_node(level, index.into());
                node.ask(&class, below.len() as u64, &occupied, &mut |index, noisy| {
                    told.insert(index, noisy);
                });
            } else {
                for (at, child) in (0..).zip(below.keys()) {
                    let ratio = ratios[&(depth - 1, *cell, *child)];
                    told.insert(at, (ratio * noisy).round().to_integer());
                }
            }
            for (at, (child, cards)) in (0..).zip(below) {
                let Some(&count) = told.get(&at).filter(|count| **count > 0) else { continue };
                let doublet = crate::model::Doublet { station: StationIx(child), slot: 0 };
                nodes.push(Node { parent: index, doublet, noisy: count, group: None });
                next.push((child, count, cards));
            }
        }
        if nodes.is_empty() {
            break;
        }
        levels.push(nodes);
        above = next;
    }
    levels
}

/// Cells as the doublets that are shown. Two clusters of a slot may have drawn the same location: siblings of one name
/// are one node.
fn merged(levels: &[Vec<Node>], cells: &Cells) -> Vec<Vec<Node>> {
    let mut made: Vec<Vec<Node>> = Vec::new();
    let mut places: Vec<u32> = Vec::new();
    for nodes in levels {
        let mut known: BTreeMap<(u32, crate::model::Doublet), (u64, Vec<usize>)> = BTreeMap::new();
        for (at, node) in nodes.iter().enumerate() {
            let parent = places.get(node.parent as usize).copied().unwrap_or(0);
            let of = known.entry((parent, cells.shown(node.doublet.station.0))).or_default();
            of.0 += node.noisy;
            of.1.push(at);
        }
        let mut next = vec![0; nodes.len()];
        let mut level = Vec::new();
        for (at, ((parent, doublet), (noisy, from))) in (0..).zip(known) {
            level.push(Node { parent, doublet, noisy, group: None });
            from.into_iter().for_each(|old| next[old] = at);
        }
        made.push(level);
        places = next;
    }
    made
}
