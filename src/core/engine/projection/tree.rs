//! The Projection Support Tree: for every adversary what it saw of every trajectory, and for each of these views the
//! foreign places behind it. Kept up to date step by step; lines T1 to T3 of PROOF.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::node::{Node, Standing};
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
    standing: Vec<Standing>,
    /// By adversary: where its views begin; and where the last one's end.
    begins: Vec<u32>,
    /// By place: the views that infer it.
    inferring: FxHashMap<u32, BTreeSet<u32>>,
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
                own: territory.places(&view).into_boxed_slice(),
                view,
                trips: same.iter().map(|(_, _, trip)| *trip).collect(),
                support: 0,
                places: FxHashMap::default(),
                met: Vec::new(),
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
        let mut meetings: Vec<(u32, u32, u64)> = Vec::new();
        for trip in trips.numbers() {
            let row = &view_of[(trip * n) as usize..((trip + 1) * n) as usize];
            let weight = u64::from(trips.weight(trip));
            for &one in row.iter().flatten() {
                let others = row.iter().flatten().filter(|&&other| other != one);
                meetings.extend(others.map(|&other| (one, other, weight)));
            }
        }
        meetings.sort_unstable();
        for of_two in meetings.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let cards = of_two.iter().map(|(_, _, cards)| cards).sum();
            nodes[of_two[0].0 as usize].met.push((of_two[0].1, cards));
        }
        let problems = nodes.iter().map(|node| node.problems).sum();
        let standing = nodes.iter().map(Node::standing).collect();
        let begin = |adversary| nodes.partition_point(|node| node.adversary < adversary);
        let begins = (0..=n).map(|adversary| number_of(begin(adversary))).collect();
        let mut inferring: FxHashMap<u32, BTreeSet<u32>> = FxHashMap::default();
        for (view, node) in (0..).zip(&nodes) {
            for &place in &node.inferred {
                inferring.entry(place).or_default().insert(view);
            }
        }
        Self { trips, territory, breach, nodes, standing, begins, inferring, view_of, problems }
    }

    pub(super) fn standing(&self, view: u32) -> Standing {
        self.standing[view as usize]
    }

    /// The views of an adversary that infer a place.
    pub(super) fn inferring(&self, place: u32, adversary: u32) -> impl Iterator<Item = u32> {
        let views = self.inferring.get(&place);
        views.into_iter().flat_map(move |views| views.range(self.views_of(adversary)).copied())
    }

    /// The numbers of an adversary's views.
    pub(super) fn views_of(&self, adversary: u32) -> Range<u32> {
        self.begins[adversary as usize]..self.begins[adversary as usize + 1]
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
        let mut lost = self.nodes[from as usize].own.to_vec();
        if let Some(to) = to {
            lost.retain(|place| !self.nodes[to as usize].has_own(*place));
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
        self.no_longer_inferring(from);
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
            self.no_longer_inferring(to);
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
            for &place in &node.inferred {
                self.inferring.entry(place).or_default().insert(to);
            }
        }
        let lowered = changes.lowered.keys().map(|(view, _)| *view);
        for view in lowered.chain([from]).chain(to) {
            self.standing[view as usize] = self.nodes[view as usize].standing();
        }
        changes.trips = moved;
        changes
    }

    fn no_longer_inferring(&mut self, view: u32) {
        for place in &self.nodes[view as usize].inferred {
            self.inferring.get_mut(place).expect("who infers is listed").remove(&view);
        }
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
                if node.lower(place, weight, self.breach) {
                    self.inferring.get_mut(&place).expect("who infers is listed").remove(&number);
                }
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
