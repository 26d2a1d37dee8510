//! Algorithm 3 as printed, with the definition as its check of validity and no stale entry done. Lines P1 to P4 of
//! PROOF.md.
//!
//! The paper's table has an entry for every doublet of every minimal violating sequence. Entries of one doublet share
//! its Info, so one of them stands for it: a global one if any of its sequences needs that, because it gains all of
//! them; else the local one that gains most.

use std::collections::{BTreeSet, BinaryHeap};

use rustc_hash::FxHashMap;

use super::score::{Ranking, Standing};
use super::state::{State, Until, each_different};
use crate::engine::trips::number_of;

/// Suppresses until nothing violates.
pub(super) fn run(state: State<'_>, ranking: &Ranking) {
    let mut table = Table::new(state);
    let mut queue: BinaryHeap<Standing> = BinaryHeap::new();
    for item in 0..number_of(table.entries.len()) {
        queue.extend(table.standing(item, ranking));
    }
    while let Some(first) = queue.pop() {
        // P2: what was written down may be older than the last change of this doublet.
        let Some(now) = table.standing(first.item, ranking) else { continue };
        if now != first {
            continue;
        }
        let mut changed = table.step(first.item, ranking);
        changed.insert(first.item);
        queue.extend(changed.iter().filter_map(|&item| table.standing(item, ranking)));
    }
}

/// What the table says of one doublet.
#[derive(Default)]
struct Entries {
    /// Its violating sequences that are left, in order.
    all: BTreeSet<u32>,
    /// Those of them that it cannot be suppressed for alone.
    global: BTreeSet<u32>,
    /// How many share their trajectories with each other one, and the first of them; old entries stay behind.
    largest: BinaryHeap<(u32, std::cmp::Reverse<u32>)>,
}

struct Table<'a> {
    state: State<'a>,
    entries: Vec<Entries>,
    /// Which trajectories contain a violating sequence now, in one number.
    marks: Vec<u64>,
    /// Sequences of a doublet with the same trajectories.
    groups: FxHashMap<(u32, u64), BTreeSet<u32>>,
}

impl<'a> Table<'a> {
    /// P1: who violates with whom, and which suppressions are valid before anything is done.
    fn new(mut state: State<'a>) -> Self {
        let mut entries: Vec<Entries> = Vec::new();
        entries.resize_with(state.trips.n_doublets(), Entries::default);
        let mut groups: FxHashMap<(u32, u64), BTreeSet<u32>> = FxHashMap::default();
        let mut marks = Vec::new();
        for number in 0..number_of(state.violating.sequences.len()) {
            let mark =
                state.violating.holders.get(number).iter().fold(0, |mark, &t| mark ^ mixed(t));
            marks.push(mark);
            each_different(state.violating.sequences.get(number), |item| {
                entries[item as usize].all.insert(number);
                groups.entry((item, mark)).or_default().insert(number);
            });
            let chosen = state.violating.holders.get(number).to_vec();
            for item in state.violating.sequences.get(number).to_vec() {
                if state.work.is_over() || !state.is_valid(item, &chosen) {
                    entries[item as usize].global.insert(number);
                }
                state.losses.clear();
            }
        }
        let mut table = Self { state, entries, marks, groups };
        let groups: Vec<(u32, u64)> = table.groups.keys().copied().collect();
        groups.into_iter().for_each(|group| table.note(group));
        table
    }

    /// The best entry of a doublet; `None` if none of its sequences is left.
    fn standing(&mut self, item: u32, ranking: &Ranking) -> Option<Standing> {
        let all = number_of(self.entries[item as usize].all.len());
        if all == 0 {
            return None;
        }
        let is_global = !self.entries[item as usize].global.is_empty();
        let gain = if is_global { all } else { self.largest(item).0 };
        Some(ranking.standing(item, gain))
    }

    /// How many sequences the best local suppression of a doublet ends, and the first of them.
    fn largest(&mut self, item: u32) -> (u32, u32) {
        loop {
            let entries = &mut self.entries[item as usize];
            let &(gain, std::cmp::Reverse(number)) =
                entries.largest.peek().expect("every group of sequences that are left is noted");
            let group = self.groups.get(&(item, self.marks[number as usize]));
            if group
                .is_some_and(|group| group.first() == Some(&number) && group.len() == gain as usize)
            {
                return (gain, number);
            }
            entries.largest.pop();
        }
    }

    fn note(&mut self, (item, mark): (u32, u64)) {
        if let Some(group) = self.groups.get(&(item, mark))
            && let Some(&first) = group.first()
        {
            let gain = number_of(group.len());
            self.entries[item as usize].largest.push((gain, std::cmp::Reverse(first)));
        }
    }

    /// Does the best suppression of a doublet, if it is still what it says. Names the doublets whose sequences changed.
    fn step(&mut self, item: u32, ranking: &Ranking) -> BTreeSet<u32> {
        let entries = &self.entries[item as usize];
        let first = match (entries.global.is_empty(), ranking.counts_gain()) {
            (true, true) => self.largest(item).1,
            // Scores without a gain do not tell the sequences of a doublet apart: the first of them.
            (_, false) => *entries.all.first().expect("a doublet with a standing has sequences"),
            (false, true) => *entries.global.first().expect("not empty"),
        };
        let is_global = self.entries[item as usize].global.contains(&first);
        let chosen = if is_global { self.state.everybody(item) } else { self.state.present(first) };
        if is_global {
            // P4: always valid. What is not counted is never asked for again: nobody is left who contains it.
            if !self.state.work.is_over() {
                for &trip in &chosen {
                    self.state.count_losses(item, trip, Until::TheEnd);
                }
            }
        } else if self.state.work.is_over() || !self.state.is_valid(item, &chosen) {
            // P3: it was valid when it was written down, or no steps are left to know.
            self.state.losses.clear();
            self.entries[item as usize].global.insert(first);
            return BTreeSet::new();
        }
        let mut gone = Vec::new();
        self.state.suppress(item, &chosen, |number, trip| gone.push((number, trip)));
        self.forget(&gone)
    }

    /// Violating sequences that trajectories contain no longer.
    fn forget(&mut self, gone: &[(u32, u32)]) -> BTreeSet<u32> {
        let mut changed = BTreeSet::new();
        for &(number, trip) in gone {
            let before = self.marks[number as usize];
            let after = before ^ mixed(trip);
            self.marks[number as usize] = after;
            let is_gone = self.state.left[number as usize] == 0;
            for &item in self.state.violating.sequences.get(number) {
                changed.insert(item);
                if let Some(group) = self.groups.get_mut(&(item, before)) {
                    group.remove(&number);
                }
                if is_gone {
                    self.entries[item as usize].all.remove(&number);
                    self.entries[item as usize].global.remove(&number);
                } else {
                    self.groups.entry((item, after)).or_default().insert(number);
                }
            }
            let items = self.state.violating.sequences.get(number).to_vec();
            for item in items {
                self.note((item, before));
                self.note((item, after));
            }
        }
        changed
    }
}

/// A number of a trajectory that differs from others in about every bit; sets are compared by the sum of theirs.
fn mixed(trip: u32) -> u64 {
    let mut bits = (u64::from(trip) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
