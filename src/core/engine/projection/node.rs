//! One view of one adversary, and everything that is counted about it.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::model::Portion;

/// One view of one adversary: a node of the tree's second level, with its children.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) adversary: u32,
    pub(super) view: Box<[u32]>,
    /// Its places, in order.
    pub(super) own: Box<[u32]>,
    /// Trajectories that look so; empty once it is suppressed.
    pub(super) trips: Vec<u32>,
    /// How many cards they are.
    pub(super) support: u64,
    /// How many of them visit each foreign place.
    pub(super) places: FxHashMap<u32, u64>,
    /// Views of others of the same trajectories, in order, and how many cards have both.
    pub(super) met: Vec<(u32, u64)>,
    /// Cards by the length of their trajectories, in order.
    pub(super) lengths: Vec<(u64, u64)>,
    /// Places that more than the allowed share visit, in order.
    pub(super) inferred: Vec<u32>,
    /// How many cards that are, place by place.
    pub(super) problems: u64,
}

/// What most questions about a view are about, side by side for all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// No trajectory looks so any more.
    Gone,
    /// No place is inferred.
    Quiet,
    /// Some place is.
    Inferring,
}

impl Node {
    pub(super) fn count(&self, place: u32) -> u64 {
        self.places.get(&place).copied().unwrap_or_default()
    }

    pub(super) fn is_inferred(&self, place: u32) -> bool {
        self.inferred.binary_search(&place).is_ok()
    }

    /// Whether losing a place changes it.
    pub(super) fn has_own(&self, place: u32) -> bool {
        self.own.binary_search(&place).is_ok()
    }

    pub(super) fn standing(&self) -> Standing {
        match self.problems {
            _ if self.trips.is_empty() => Standing::Gone,
            0 => Standing::Quiet,
            _ => Standing::Inferring,
        }
    }

    /// Looks at every place again.
    pub(super) fn assess(&mut self, breach: Portion) {
        let exceeded = |count: u64| breach.is_exceeded_by(count, self.support);
        self.inferred =
            self.places.iter().filter(|(_, count)| exceeded(**count)).map(|(&at, _)| at).collect();
        self.inferred.sort_unstable();
        self.problems = self.inferred.iter().map(|&place| self.count(place)).sum();
    }

    /// So many cards more have trajectories of a length.
    pub(super) fn lengthen(&mut self, length: u64, cards: u64) {
        match self.lengths.binary_search_by_key(&length, |known| known.0) {
            Ok(at) => self.lengths[at].1 += cards,
            Err(at) => self.lengths.insert(at, (length, cards)),
        }
    }

    /// So many cards have trajectories of another length.
    pub(super) fn shorten(&mut self, before: u64, after: u64, cards: u64) {
        let at = self.lengths.binary_search_by_key(&before, |known| known.0);
        let at = at.expect("a trajectory is counted where it is");
        self.lengths[at].1 -= cards;
        if self.lengths[at].1 == 0 {
            self.lengths.remove(at);
        }
        self.lengthen(after, cards);
    }

    pub(super) fn meet(&mut self, other: u32, cards: u64) {
        match self.met.binary_search_by_key(&other, |met| met.0) {
            Ok(at) => self.met[at].1 += cards,
            Err(at) => self.met.insert(at, (other, cards)),
        }
    }

    pub(super) fn part(&mut self, other: u32, cards: u64) {
        let at = self.met.binary_search_by_key(&other, |met| met.0);
        let at = at.expect("who parts has met");
        self.met[at].1 -= cards;
        if self.met[at].1 == 0 {
            self.met.remove(at);
        }
    }

    /// Those of the views met that have numbers of a range.
    pub(super) fn met_among(&self, views: &Range<u32>) -> &[(u32, u64)] {
        let at = |view: u32| self.met.partition_point(|met| met.0 < view);
        &self.met[at(views.start)..at(views.end)]
    }

    /// Fewer visit a place; the support is the same. Whether it is no longer inferred for that.
    pub(super) fn lower(&mut self, place: u32, by: u64, breach: Portion) -> bool {
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
                return true;
            }
        }
        false
    }
}
