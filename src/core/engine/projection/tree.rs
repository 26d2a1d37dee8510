//! The Projection Support Tree: for every adversary what it saw of every trajectory, and for each of these views the
//! foreign places behind it. Kept up to date step by step; lines T1 to T3 of PROOF.md.

use std::collections::BTreeMap;
use std::fmt;

use rustc_hash::FxHashMap;

use crate::engine::trips::{Trips, number_of};
use crate::model::{PathKind, Portion};

/// Who owns what, and what counts as a place, by the numbers of a window's doublets.
#[derive(Clone)]
pub(super) struct Territory {
    pub(super) n_adversaries: u32,
    /// By place: the adversary it belongs to.
    owner: Vec<Option<u32>>,
    /// By doublet: the place that its station is, where times are looked at too.
    station: Option<Vec<u32>>,
}

impl Territory {
    pub(super) fn new(
        trips: &Trips,
        owners: &[Option<u32>],
        n_adversaries: u32,
        input: PathKind,
    ) -> Self {
        let numbers = 0..number_of(trips.n_doublets());
        let station = |item: u32| trips.doublet(item).station.0;
        let owner_of = |station: u32| owners.get(station as usize).copied().flatten();
        let mut owner: Vec<Option<u32>> =
            numbers.clone().map(|item| owner_of(station(item))).collect();
        let station = (input == PathKind::Timed).then(|| {
            // Places from here on are stations.
            let first = number_of(trips.n_doublets());
            owner.extend((0..number_of(owners.len())).map(owner_of));
            numbers.map(|item| first + station(item)).collect()
        });
        Self { n_adversaries, owner, station }
    }

    pub(super) fn owner(&self, place: u32) -> Option<u32> {
        self.owner[place as usize]
    }

    /// What one adversary saw of a path.
    pub(super) fn view(&self, path: &[u32], adversary: u32) -> Vec<u32> {
        path.iter().copied().filter(|&item| self.owner(item) == Some(adversary)).collect()
    }

    /// Whether a view has a place.
    pub(super) fn has_place(&self, view: &[u32], place: u32) -> bool {
        let is_station =
            |item: &u32| self.station.as_ref().is_some_and(|of| of[*item as usize] == place);
        view.iter().any(|item| *item == place || is_station(item))
    }

    /// The different places of a path, in order.
    pub(super) fn places(&self, path: &[u32]) -> Vec<u32> {
        let mut places = path.to_vec();
        if let Some(station) = &self.station {
            places.extend(path.iter().map(|&item| station[item as usize]));
        }
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// One view of one adversary: a node of the tree's second level, with its children.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) adversary: u32,
    pub(super) view: Box<[u32]>,
    /// Trajectories that look so; empty once it is suppressed.
    pub(super) trips: Vec<u32>,
    /// How many cards they are.
    pub(super) support: u64,
    /// How many of them visit each foreign place.
    pub(super) places: FxHashMap<u32, u64>,
    /// Views of others of the same trajectories, and how many cards have both.
    pub(super) met: FxHashMap<u32, u64>,
    /// Cards by the length of their trajectories, in order.
    pub(super) lengths: Vec<(u64, u64)>,
    /// Places that more than the allowed share visit, in order.
    pub(super) inferred: Vec<u32>,
    /// How many cards that are, place by place.
    pub(super) problems: u64,
}

impl Node {
    pub(super) fn count(&self, place: u32) -> u64 {
        self.places.get(&place).copied().unwrap_or_default()
    }

    pub(super) fn is_inferred(&self, place: u32) -> bool {
        self.inferred.binary_search(&place).is_ok()
    }

    /// Looks at every place again.
    fn assess(&mut self, breach: Portion) {
        let exceeded = |count: u64| breach.is_exceeded_by(count, self.support);
        self.inferred =
            self.places.iter().filter(|(_, count)| exceeded(**count)).map(|(&at, _)| at).collect();
        self.inferred.sort_unstable();
        self.problems = self.inferred.iter().map(|&place| self.count(place)).sum();
    }

    /// So many cards more have trajectories of a length.
    fn lengthen(&mut self, length: u64, cards: u64) {
        match self.lengths.binary_search_by_key(&length, |known| known.0) {
            Ok(at) => self.lengths[at].1 += cards,
            Err(at) => self.lengths.insert(at, (length, cards)),
        }
    }

    /// So many cards have trajectories of another length.
    fn shorten(&mut self, before: u64, after: u64, cards: u64) {
        let at = self.lengths.binary_search_by_key(&before, |known| known.0);
        let at = at.expect("a trajectory is counted where it is");
        self.lengths[at].1 -= cards;
        if self.lengths[at].1 == 0 {
            self.lengths.remove(at);
        }
        self.lengthen(after, cards);
    }

    fn meet(&mut self, other: u32, cards: u64) {
        *self.met.entry(other).or_default() += cards;
    }

    fn part(&mut self, other: u32, cards: u64) {
        let left = self.met.get_mut(&other).expect("who parts has met");
        *left -= cards;
        if *left == 0 {
            self.met.remove(&other);
        }
    }

    /// Fewer visit a place; the support is the same.
    fn lower(&mut self, place: u32, by: u64, breach: Portion) {
        let before = self.count(place);
        let after = before - by;
        match after {
            0 => drop(self.places.remove(&place)),
            _ => drop(self.places.insert(place, after)),
        }
        if let Ok(at) = self.inferred.binary_search(&place) {
            self.problems -= by;
            if !breach.is_exceeded_by(after, self.support) {
                self.problems -= after;
                self.inferred.remove(at);
            }
        }
    }
}

/// What a step changed, for whoever remembers gains.
#[derive(Default)]
pub(super) struct Changes {
    /// The view that took the trajectories up, if any, as it was before.
    pub(super) grown: Option<Grown>,
    /// Views of others, a place that was lost there, and how many visited it before.
    pub(super) lowered: BTreeMap<(u32, u32), u64>,
    /// Trajectories that lost something.
    pub(super) trips: Vec<u32>,
}

/// A view that took trajectories up, as it was before.
pub(super) struct Grown {
    pub(super) view: u32,
    pub(super) support: u64,
    pub(super) places: FxHashMap<u32, u64>,
    pub(super) inferred: Vec<u32>,
}

/// The tree over trajectories that it changes.
#[derive(Clone)]
pub(crate) struct Tree {
    pub(super) trips: Trips,
    pub(super) territory: Territory,
    pub(super) breach: Portion,
    /// By adversary and content: the order that decides ties.
    pub(super) nodes: Vec<Node>,
    /// By trajectory and adversary.
    view_of: Vec<Option<u32>>,
    problems: u64,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tree(***)")
    }
}

impl Tree {
    /// T1: one pass over the trajectories.
    pub(super) fn new(trips: Trips, territory: Territory, breach: Portion) -> Self {
        let n = territory.n_adversaries;
        let mut seen: Vec<(u32, Vec<u32>, u32)> = Vec::new();
        for trip in trips.numbers() {
            for adversary in 0..n {
                let view = territory.view(trips.get(trip), adversary);
                if !view.is_empty() {
                    seen.push((adversary, view, trip));
                }
            }
        }
        seen.sort_unstable();
        let mut view_of = vec![None; trips.len() * n as usize];
        let mut nodes: Vec<Node> = Vec::new();
        for same in seen.chunk_by(|a, b| a.0 == b.0 && a.1 == b.1) {
            let (adversary, view) = (same[0].0, same[0].1.clone().into_boxed_slice());
            let mut node = Node {
                adversary,
                view,
                trips: same.iter().map(|(_, _, trip)| *trip).collect(),
                support: 0,
                places: FxHashMap::default(),
                met: FxHashMap::default(),
                lengths: Vec::new(),
                inferred: Vec::new(),
                problems: 0,
            };
            for &(_, _, trip) in same {
                view_of[(trip * n + adversary) as usize] = Some(number_of(nodes.len()));
                let weight = u64::from(trips.weight(trip));
                node.support += weight;
                node.lengthen(trips.get(trip).len() as u64, weight);
                for place in foreign(&territory, trips.get(trip), adversary) {
                    *node.places.entry(place).or_default() += weight;
                }
            }
            node.assess(breach);
            nodes.push(node);
        }
        for trip in trips.numbers() {
            let row = &view_of[(trip * n) as usize..((trip + 1) * n) as usize];
            let weight = u64::from(trips.weight(trip));
            for &one in row.iter().flatten() {
                for &other in row.iter().flatten().filter(|&&other| other != one) {
                    nodes[one as usize].meet(other, weight);
                }
            }
        }
        let problems = nodes.iter().map(|node| node.problems).sum();
        Self { trips, territory, breach, nodes, view_of, problems }
    }

    /// Threats as the paper counts them: cards per inferred place, over all views.
    pub(super) fn problems(&self) -> u64 {
        self.problems
    }

    /// The same, by looking at every view.
    pub(super) fn threats(&self) -> u64 {
        let exceeded = |node: &Node, count: u64| self.breach.is_exceeded_by(count, node.support);
        let of_node = |node: &Node| -> u64 {
            node.places.values().filter(|count| exceeded(node, **count)).sum()
        };
        self.nodes.iter().map(of_node).sum()
    }

    /// What an adversary sees of a trajectory now.
    pub(super) fn view_of(&self, trip: u32, adversary: u32) -> Option<u32> {
        self.view_of[(trip * self.territory.n_adversaries + adversary) as usize]
    }

    /// Places that go when a view is suppressed to a shorter one or to nothing.
    pub(super) fn lost_places(&self, from: u32, to: Option<u32>) -> Vec<u32> {
        let mut lost = self.territory.places(&self.nodes[from as usize].view);
        if let Some(to) = to {
            let kept = self.territory.places(&self.nodes[to as usize].view);
            lost.retain(|place| kept.binary_search(place).is_err());
        }
        lost
    }

    /// T2: suppresses a view to a shorter one of the same adversary, or to nothing, in every trajectory that has it.
    pub(super) fn suppress(&mut self, from: u32, to: Option<u32>) -> Changes {
        let lost = self.lost_places(from, to);
        let adversary = self.nodes[from as usize].adversary;
        let keep: Box<[u32]> =
            to.map(|to| self.nodes[to as usize].view.clone()).unwrap_or_default();
        let moved = std::mem::take(&mut self.nodes[from as usize].trips);
        let mut changes = Changes::default();
        let gone = &mut self.nodes[from as usize];
        self.problems -= gone.problems;
        gone.places.clear();
        gone.met.clear();
        gone.lengths.clear();
        gone.inferred.clear();
        (gone.support, gone.problems) = (0, 0);
        for &trip in &moved {
            let before = self.trips.get(trip).len() as u64;
            self.shorten(trip, adversary, &keep);
            self.view_of[(trip * self.territory.n_adversaries + adversary) as usize] = to;
            self.follow_others(trip, (from, to), before);
            self.lower_others(trip, adversary, &lost, &mut changes);
        }
        if let Some(to) = to {
            let node = &self.nodes[to as usize];
            changes.grown = Some(Grown {
                view: to,
                support: node.support,
                places: node.places.clone(),
                inferred: node.inferred.clone(),
            });
            self.problems -= self.nodes[to as usize].problems;
            for &trip in &moved {
                let weight = u64::from(self.trips.weight(trip));
                let node = &mut self.nodes[to as usize];
                node.support += weight;
                node.lengthen(self.trips.get(trip).len() as u64, weight);
                for place in foreign(&self.territory, self.trips.get(trip), adversary) {
                    *node.places.entry(place).or_default() += weight;
                }
            }
            let node = &mut self.nodes[to as usize];
            node.trips.extend_from_slice(&moved);
            node.assess(self.breach);
            self.problems += node.problems;
        }
        changes.trips = moved;
        changes
    }

    /// Keeps of an adversary's doublets the first match of the shorter view.
    fn shorten(&mut self, trip: u32, adversary: u32, keep: &[u32]) {
        let territory = &self.territory;
        let mut wanted = keep.iter().peekable();
        self.trips.retain(trip, |_, item| {
            territory.owner(item) != Some(adversary)
                || wanted.next_if(|next| **next == item).is_some()
        });
    }

    /// Views of others of a trajectory that became shorter, and whose view of this adversary is another now.
    fn follow_others(&mut self, trip: u32, (from, to): (u32, Option<u32>), before: u64) {
        let (cards, after) =
            (u64::from(self.trips.weight(trip)), self.trips.get(trip).len() as u64);
        for other in 0..self.territory.n_adversaries {
            let Some(seen) = self.view_of(trip, other).filter(|seen| Some(*seen) != to) else {
                continue;
            };
            let node = &mut self.nodes[seen as usize];
            node.shorten(before, after, cards);
            node.part(from, cards);
            if let Some(to) = to {
                node.meet(to, cards);
                self.nodes[to as usize].meet(seen, cards);
            }
        }
    }

    /// T3: what others infer about this trajectory lost some places.
    fn lower_others(&mut self, trip: u32, adversary: u32, lost: &[u32], changes: &mut Changes) {
        let weight = u64::from(self.trips.weight(trip));
        for other in (0..self.territory.n_adversaries).filter(|other| *other != adversary) {
            let Some(number) = self.view_of(trip, other) else { continue };
            let node = &mut self.nodes[number as usize];
            self.problems -= node.problems;
            for &place in lost {
                changes.lowered.entry((number, place)).or_insert_with(|| node.count(place));
                node.lower(place, weight, self.breach);
            }
            self.problems += node.problems;
        }
    }
}

/// The different places of a path that do not belong to an adversary.
fn foreign(territory: &Territory, path: &[u32], adversary: u32) -> Vec<u32> {
    let mut places = territory.places(path);
    places.retain(|&place| territory.owner(place) != Some(adversary));
    places
}
