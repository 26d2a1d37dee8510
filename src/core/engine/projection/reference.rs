//! Plain global suppression (`method = "scan"`): everything is scanned at every step, as before there was a tree. What
//! the tree is measured against and must agree with.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::gain::{Gain, Losses};
use super::tree::{Territory, Tree};
use crate::engine::trips::{Trips, contains};
use crate::model::Portion;

/// A view of an adversary.
pub(super) type View = (u32, Vec<u32>);

/// Trajectories and nothing else.
#[derive(Clone)]
pub(super) struct Scan {
    pub(super) trips: Trips,
    pub(super) territory: Territory,
    pub(super) breach: Portion,
    /// Trajectories that may still be looked at.
    work_left: Cell<u64>,
}

impl Scan {
    /// The trajectories of a tree.
    pub(super) fn of(tree: &Tree, max_work: u64) -> Self {
        let Tree { trips, territory, breach, .. } = tree;
        let work_left = Cell::new(max_work);
        Self { trips: trips.clone(), territory: territory.clone(), breach: *breach, work_left }
    }

    /// Suppresses until no place is inferred; without steps left as line S4 says.
    pub(super) fn run(&mut self, losses: &Losses) {
        while self.work_left.get() > 0 && self.step(losses).is_some() {}
        loop {
            let views = self.views();
            let Some(view) = views.iter().find(|view| self.problems_of(view) > 0) else { break };
            self.suppress(view, &[]);
        }
    }

    /// All views that are not empty.
    fn views(&self) -> BTreeSet<View> {
        let adversaries = 0..self.territory.n_adversaries;
        let all = self.trips.numbers().flat_map(|trip| {
            adversaries
                .clone()
                .map(move |one| (one, self.territory.view(self.trips.get(trip), one)))
        });
        all.filter(|(_, view)| !view.is_empty()).collect()
    }

    fn support(&self, (adversary, view): &View) -> Vec<u32> {
        self.work_left.set(self.work_left.get().saturating_sub(self.trips.len() as u64));
        let looks_so = |trip: &u32| self.territory.view(self.trips.get(*trip), *adversary) == *view;
        self.trips.numbers().filter(looks_so).collect()
    }

    /// Problems of one view: a scan for its support, then every foreign place in it.
    fn problems_of(&self, view: &View) -> u64 {
        let support = self.support(view);
        let cards = |trip: &u32| u64::from(self.trips.weight(*trip));
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for trip in &support {
            for place in self.territory.places(self.trips.get(*trip)) {
                if self.territory.owner(place) != Some(view.0) {
                    *counts.entry(place).or_default() += cards(trip);
                }
            }
        }
        let whole = support.iter().map(cards).sum();
        counts.into_values().filter(|&count| self.breach.is_exceeded_by(count, whole)).sum()
    }

    /// Threats by scanning all trajectories for every view.
    pub(super) fn threats(&self) -> u64 {
        self.views().iter().map(|view| self.problems_of(view)).sum()
    }

    /// Suppresses a view to a shorter one or to nothing.
    fn suppress(&mut self, view: &View, to: &[u32]) {
        for trip in self.support(view) {
            let territory = &self.territory;
            let mut wanted = to.iter().peekable();
            self.trips.retain(trip, |_, item| {
                territory.owner(item) != Some(view.0)
                    || wanted.next_if(|next| **next == item).is_some()
            });
        }
    }

    /// The best step: the view, what it becomes, and the gain. `None` without problems.
    pub(super) fn step(&mut self, losses: &Losses) -> Option<(View, Vec<u32>)> {
        let views = self.views();
        let problems: BTreeMap<&View, u64> =
            views.iter().map(|view| (view, self.problems_of(view))).collect();
        let before: u64 = problems.values().sum();
        let mut best: Option<(Gain, &View, Vec<u32>)> = None;
        for view in &views {
            // Nothing first, then shorter views in order: a tie stays with the first.
            let nothing = std::iter::once((Vec::new(), 0));
            let shorter = views
                .iter()
                .filter(|other| other.0 == view.0 && other.1.len() < view.1.len())
                .filter(|other| contains(&view.1, &other.1))
                .map(|other| (other.1.clone(), problems[other]));
            for (to, its_problems) in nothing.chain(shorter) {
                if problems[view] == 0 && its_problems == 0 {
                    continue;
                }
                if self.work_left.get() == 0 {
                    return None;
                }
                let gain = self.gain(view, &to, before, losses);
                let is_better = best
                    .as_ref()
                    .is_none_or(|(known, ..)| gain.compare(known) == Ordering::Greater);
                if is_better {
                    best = Some((gain, view, to));
                }
            }
        }
        let (_, view, to) = best?;
        let (view, to) = (view.clone(), to);
        self.suppress(&view, &to);
        Some((view, to))
    }

    fn gain(&self, view: &View, to: &[u32], before: u64, losses: &Losses) -> Gain {
        let lengths: Vec<(u64, u64)> = self
            .support(view)
            .iter()
            .map(|&trip| (self.trips.get(trip).len() as u64, u64::from(self.trips.weight(trip))))
            .collect();
        let loss = losses.sum(&lengths, (view.1.len() - to.len()) as u64);
        let mut after = self.clone();
        after.suppress(view, to);
        Gain { solved: before.cast_signed() - after.threats().cast_signed(), loss }
    }
}
