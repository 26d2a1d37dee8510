//! A window's trajectories as the engines that suppress hold them: doublets numbered, equal trajectories once.
//!
//! Whatever an engine suppresses depends on what a trajectory looks like, so equal ones stay equal to the end, and
//! one of them with a weight stands for all.

use std::fmt;

use rustc_hash::FxHashMap;

use super::Row;
use rayon::slice::ParallelSliceMut;

use crate::model::{Doublet, PathKind, StationIx};
use crate::seal::SealedWindow;

/// Different trajectories in lexicographic order of their numbers, each with how many cards have it.
#[derive(Clone)]
pub(crate) struct Trips {
    /// By number: ordered by slot, then station, which is what decides ties.
    doublets: Vec<Doublet>,
    items: Vec<u32>,
    starts: Vec<u32>,
    lengths: Vec<u32>,
    weights: Vec<u32>,
}

impl fmt::Debug for Trips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trips(***)")
    }
}

impl Trips {
    /// Numbers the doublets of a window and puts equal trajectories together. Sequences lose their slots.
    pub(crate) fn of(window: &SealedWindow, input: PathKind) -> Self {
        let trajectories = window.trajectories();
        let plain = |doublet: &Doublet| match input {
            PathKind::Timed => *doublet,
            PathKind::Untimed => Doublet { slot: 0, ..*doublet },
        };
        let (doublets, items) = numbered(trajectories.doublets().iter().map(plain));
        let bounds: Vec<(u32, u32)> = (0..trajectories.len())
            .map(|ix| {
                let (start, end) = trajectories.bounds(ix);
                let place = |at: usize| u32::try_from(at).expect("fewer than 2^32 doublets");
                (place(start), place(end - start))
            })
            .collect();
        Self::grouped(doublets, &items, bounds)
    }

    /// From paths; for tests and benches.
    #[cfg(test)]
    pub(crate) fn from_paths(paths: &[Vec<Doublet>]) -> Self {
        let (doublets, items) = numbered(paths.iter().flatten().copied());
        let mut bounds = Vec::new();
        let mut start = 0;
        for path in paths.iter().map(|path| u32::try_from(path.len()).unwrap()) {
            bounds.push((start, path));
            start += path;
        }
        Self::grouped(doublets, &items, bounds)
    }

    fn grouped(doublets: Vec<Doublet>, items: &[u32], bounds: Vec<(u32, u32)>) -> Self {
        Self::weighted(doublets, items, bounds, |_| 1)
    }

    fn weighted(
        doublets: Vec<Doublet>,
        items: &[u32],
        bounds: Vec<(u32, u32)>,
        weight: impl Fn(usize) -> u32,
    ) -> Self {
        let slice = |(start, length): (u32, u32)| &items[start as usize..(start + length) as usize];
        // The first doublets decide nearly every comparison: packed into one word they need no look at the list.
        let width = if doublets.len() < usize::from(u16::MAX) { 16 } else { 32 };
        let packed = |bound: (u32, u32)| {
            let mut key = 0_u64;
            let mut room = 64;
            for &item in slice(bound) {
                if room < width {
                    break;
                }
                room -= width;
                key |= (u64::from(item) + 1) << room;
            }
            key
        };
        let mut order: Vec<Packed> = (0..)
            .zip(bounds)
            .filter(|(_, (_, length))| *length > 0)
            .map(|(ix, bound)| Packed { key: packed(bound), bound, weight: weight(ix) })
            .collect();
        sort_by_content(&mut order, &slice);
        let mut trips = Self {
            doublets,
            items: Vec::with_capacity(items.len()),
            starts: Vec::new(),
            lengths: Vec::new(),
            weights: Vec::new(),
        };
        let is_same = |a: &Packed, b: &Packed| a.key == b.key && slice(a.bound) == slice(b.bound);
        for same in order.chunk_by(is_same) {
            trips.starts.push(number_of(trips.items.len()));
            trips.items.extend_from_slice(slice(same[0].bound));
            trips.lengths.push(same[0].bound.1);
            trips.weights.push(same.iter().map(|trip| trip.weight).sum());
        }
        trips
    }

    /// How many different trajectories there are; emptied ones count.
    pub(crate) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// How many different doublets there are.
    pub(crate) fn n_doublets(&self) -> usize {
        self.doublets.len()
    }

    /// The doublet of a number.
    pub(crate) fn doublet(&self, item: u32) -> Doublet {
        self.doublets[item as usize]
    }

    /// One trajectory as it is now.
    pub(crate) fn get(&self, trip: u32) -> &[u32] {
        let start = self.starts[trip as usize] as usize;
        &self.items[start..start + self.lengths[trip as usize] as usize]
    }

    /// How many cards have it.
    pub(crate) fn weight(&self, trip: u32) -> u32 {
        self.weights[trip as usize]
    }

    /// All of them by number.
    pub(crate) fn numbers(&self) -> std::ops::Range<u32> {
        0..number_of(self.len())
    }

    /// The longest as they are now.
    pub(crate) fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0) as usize
    }

    /// Keeps what `keeps` says of a trajectory, by its place and number; the order stays.
    pub(crate) fn retain(&mut self, trip: u32, mut keeps: impl FnMut(usize, u32) -> bool) {
        let start = self.starts[trip as usize] as usize;
        let length = self.lengths[trip as usize] as usize;
        let mut kept = 0;
        for at in 0..length {
            let item = self.items[start + at];
            if keeps(at, item) {
                self.items[start + kept] = item;
                kept += 1;
            }
        }
        self.lengths[trip as usize] = number_of(kept);
    }

    /// Writes a trajectory anew, no longer than it was when it was grouped.
    pub(crate) fn rewrite(&mut self, trip: u32, path: &[u32]) {
        let start = self.starts[trip as usize] as usize;
        self.items[start..start + path.len()].copy_from_slice(path);
        self.lengths[trip as usize] = number_of(path.len());
    }

    /// How many doublets are left, over all cards.
    pub(crate) fn n_left(&self) -> u64 {
        let left = self.lengths.iter().zip(&self.weights);
        left.map(|(length, weight)| u64::from(*length) * u64::from(*weight)).sum()
    }

    /// The same with emptied trajectories gone and equal ones put together.
    pub(crate) fn regrouped(self) -> Self {
        let bounds = self.starts.iter().copied().zip(self.lengths.iter().copied()).collect();
        Self::weighted(self.doublets, &self.items, bounds, |ix| self.weights[ix])
    }

    /// For every doublet, the trajectories that contain it now, in order.
    pub(crate) fn holders(&self) -> Lists {
        Lists::of(self.n_doublets(), |each| {
            for trip in self.numbers() {
                let path = self.get(trip);
                for (at, &item) in path.iter().enumerate() {
                    if !path[..at].contains(&item) {
                        each(item, trip);
                    }
                }
            }
        })
    }

    /// What leaves: every path that is left, with how many cards have it.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut order: Vec<u32> =
            self.numbers().filter(|&trip| !self.get(trip).is_empty()).collect();
        order.sort_unstable_by(|&a, &b| self.get(a).cmp(self.get(b)));
        order
            .chunk_by(|&a, &b| self.get(a) == self.get(b))
            .map(|same| Row {
                path: self.get(same[0]).iter().map(|&item| self.doublet(item)).collect(),
                count: same.iter().map(|&trip| u64::from(self.weight(trip))).sum(),
            })
            .collect()
    }
}

/// Whether a path contains a sequence, in its order, with or without gaps.
pub(crate) fn contains(path: &[u32], sequence: &[u32]) -> bool {
    let mut wanted = sequence.iter();
    let mut next = wanted.next();
    for item in path {
        match next {
            Some(searched) if searched == item => next = wanted.next(),
            Some(_) => {}
            None => return true,
        }
    }
    next.is_none()
}

/// Numbers for lists of numbers, side by side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    values: Vec<u32>,
    ends: Vec<usize>,
}

impl Lists {
    /// `fill` names every (list, value) in the order values shall have, twice the same.
    pub(crate) fn of(n_lists: usize, fill: impl Fn(&mut dyn FnMut(u32, u32))) -> Self {
        let mut ends = vec![0_usize; n_lists + 1];
        fill(&mut |list, _| ends[list as usize + 1] += 1);
        for list in 0..n_lists {
            ends[list + 1] += ends[list];
        }
        let mut values = vec![0; ends[n_lists]];
        fill(&mut |list, value| {
            values[ends[list as usize]] = value;
            ends[list as usize] += 1;
        });
        ends.truncate(n_lists);
        Self { values, ends }
    }

    /// Appends a list.
    pub(crate) fn push(&mut self, list: &[u32]) {
        self.values.extend_from_slice(list);
        self.ends.push(self.values.len());
    }

    /// Keeps the first lists.
    pub(crate) fn truncate(&mut self, n_lists: usize) {
        self.ends.truncate(n_lists);
        self.values.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// One list.
    pub(crate) fn get(&self, list: u32) -> &[u32] {
        let start = if list == 0 { 0 } else { self.ends[list as usize - 1] };
        &self.values[start..self.ends[list as usize]]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..number_of(self.len())).map(|list| self.get(list))
    }
}

/// Lists that lose values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shrinking {
    lists: Lists,
    lengths: Vec<u32>,
}

impl Shrinking {
    pub(crate) fn new(lists: Lists) -> Self {
        let lengths = lists.iter().map(|list| number_of(list.len())).collect();
        Self { lists, lengths }
    }

    /// What is left of one list.
    pub(crate) fn get(&self, list: u32) -> &[u32] {
        &self.lists.get(list)[..self.lengths[list as usize] as usize]
    }

    /// Keeps what `keeps` says of one list; the order stays.
    pub(crate) fn retain(&mut self, list: u32, mut keeps: impl FnMut(u32) -> bool) {
        let end = self.lists.ends[list as usize];
        let start = end - self.lists.get(list).len();
        let length = self.lengths[list as usize] as usize;
        let values = &mut self.lists.values[start..start + length];
        let mut kept = 0;
        for at in 0..length {
            if keeps(values[at]) {
                values[kept] = values[at];
                kept += 1;
            }
        }
        self.lengths[list as usize] = number_of(kept);
    }
}

/// A count that fits: a window holds fewer than 2³² doublets.
pub(crate) fn number_of(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 doublets in a window")
}

/// All doublets that occur, ordered by slot and station, and the list in their numbers.
fn numbered(all: impl Iterator<Item = Doublet> + Clone) -> (Vec<Doublet>, Vec<u32>) {
    const LARGEST_TABLE: u64 = 1 << 24;
    let by_time = |doublet: &Doublet| (doublet.slot, doublet.station);
    let n_stations = all.clone().map(|doublet| doublet.station.0).max().map_or(0, |most| most + 1);
    let n_slots = all.clone().map(|doublet| doublet.slot).max().map_or(0, |most| most + 1);
    let cells = u64::from(n_stations) * u64::from(n_slots);
    if cells > LARGEST_TABLE {
        let mut doublets: Vec<Doublet> = all.clone().collect();
        doublets.sort_unstable_by_key(by_time);
        doublets.dedup();
        let numbers: FxHashMap<Doublet, u32> = doublets.iter().copied().zip(0..).collect();
        let items = all.map(|doublet| numbers[&doublet]).collect();
        return (doublets, items);
    }
    let cell = |doublet: Doublet| (doublet.slot * n_stations + doublet.station.0) as usize;
    let mut table = vec![u32::MAX; usize::try_from(cells).expect("at most 2^24")];
    for doublet in all.clone() {
        table[cell(doublet)] = 0;
    }
    let mut doublets = Vec::new();
    for (at, number) in table.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
        *number = number_of(doublets.len());
        let at = number_of(at);
        doublets.push(Doublet { station: StationIx(at % n_stations), slot: at / n_stations });
    }
    let items = all.map(|doublet| table[cell(doublet)]).collect();
    (doublets, items)
}

/// A trajectory to be sorted: its first doublets in one word, where it lies, how many cards have it.
#[derive(Clone, Copy)]
struct Packed {
    key: u64,
    bound: (u32, u32),
    weight: u32,
}

/// Sorts by content on every core. Trajectories that compare equal are equal, so their order does not show.
fn sort_by_content<'a>(order: &mut [Packed], slice: &(impl Fn((u32, u32)) -> &'a [u32] + Sync)) {
    const WORTH_A_THREAD: usize = 50_000;
    let compare =
        |a: &Packed, b: &Packed| a.key.cmp(&b.key).then_with(|| slice(a.bound).cmp(slice(b.bound)));
    if order.len() < WORTH_A_THREAD {
        order.sort_unstable_by(compare);
        return;
    }
    order.par_sort_unstable_by(compare);
}
