//! Minimal violating sequences, level by level.
//!
//! A sequence violates if fewer than K trajectories contain it, and some do. Every extension of a violating one
//! violates too, so only sequences whose every part is frequent are candidates: they are grown from frequent ones,
//! one doublet at a time, inside the trajectories themselves. That also settles ties: two doublets of one slot
//! come in the order, or orders, in which somebody passed them, and a doublet may follow itself.

use rustc_hash::FxHashMap;

use super::work::{TooMuch, Work};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::engine::trips::{Lists, Trips, number_of};

/// One shard of a level holds about so many candidates at a time: 128 MiB.
const SHARD: u64 = 1 << 23;

/// Frequent sequences of one length above 1, each known by its frequent prefix and its last doublet.
#[derive(Clone, Default)]
pub(super) struct Level {
    numbers: FxHashMap<u64, u32>,
    /// Prefix and last doublet.
    keys: Vec<u64>,
    /// How many trajectories contain it now.
    pub(super) support: Vec<u32>,
}

impl Level {
    pub(super) fn find(&self, prefix: u32, last: u32) -> Option<u32> {
        self.numbers.get(&key(prefix, last)).copied()
    }
}

fn key(prefix: u32, last: u32) -> u64 {
    u64::from(prefix) << 32 | u64::from(last)
}

fn parts(key: u64) -> (u32, u32) {
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).expect("32 bits");
    (half(key >> 32), half(key))
}

/// Everything frequent, up to length L.
#[derive(Clone)]
pub(super) struct Frequent {
    /// Support of single doublets.
    pub(super) singles: Vec<u32>,
    /// Longer ones, pairs first.
    pub(super) levels: Vec<Level>,
}

impl Frequent {
    /// The doublets of a frequent sequence: its length less one, and its number in that level.
    pub(super) fn sequence(&self, depth: usize, number: u32) -> Vec<u32> {
        let mut doublets = Vec::with_capacity(depth + 1);
        let mut number = number;
        for level in (0..depth).rev() {
            let (prefix, last) = parts(self.levels[level].keys[number as usize]);
            doublets.push(last);
            number = prefix;
        }
        doublets.push(number);
        doublets.reverse();
        doublets
    }

    /// How many trajectories contain a frequent sequence now.
    pub(super) fn support(&self, depth: usize, number: u32) -> u32 {
        match depth {
            0 => self.singles[number as usize],
            _ => self.levels[depth - 1].support[number as usize],
        }
    }

    pub(super) fn support_mut(&mut self, depth: usize, number: u32) -> &mut u32 {
        match depth {
            0 => &mut self.singles[number as usize],
            _ => &mut self.levels[depth - 1].support[number as usize],
        }
    }

    fn is_frequent(&self, sequence: impl Iterator<Item = u32>) -> bool {
        let mut prefix = None;
        for (depth, item) in sequence.enumerate() {
            prefix = match prefix {
                None => Some(item),
                Some(prefix) => match self.levels[depth - 1].find(prefix, item) {
                    Some(number) => Some(number),
                    None => return false,
                },
            };
        }
        true
    }
}

/// Minimal violating sequences of at least two doublets, in order of length and content, with who contains them.
#[derive(Clone, Default)]
pub(super) struct Violating {
    pub(super) sequences: Lists,
    pub(super) holders: Lists,
}

impl Violating {
    /// Takes what a level found, in the order of its content.
    fn take(&mut self, length: usize, frequent: &Frequent, shards: &[Self]) {
        let mut fresh: Vec<(&[u32], &[u32])> = shards
            .iter()
            .flat_map(|shard| shard.sequences.iter().zip(shard.holders.iter()))
            .filter(|(sequence, _)| {
                // Pairs were looked at on the way; longer parts of a longer sequence were not.
                let without = |gap: usize| {
                    sequence.iter().enumerate().filter(move |(at, _)| *at != gap).map(|(_, d)| *d)
                };
                length < 4 || (0..length).all(|gap| frequent.is_frequent(without(gap)))
            })
            .collect();
        fresh.sort_unstable();
        for (sequence, holders) in fresh {
            self.sequences.push(sequence);
            self.holders.push(holders);
        }
    }
}

/// What mining finds.
#[derive(Clone)]
pub(super) struct Mined {
    pub(super) frequent: Frequent,
    pub(super) violating: Violating,
}

impl Mined {
    /// Whether nothing of at most `l` doublets violates.
    pub(super) fn is_clean(&self, l: u32) -> bool {
        self.violating.sequences.iter().all(|sequence| sequence.len() > l as usize)
    }

    /// What mining for a shorter L finds: levels do not look at longer ones.
    pub(super) fn up_to(&self, l: u32) -> Self {
        let mut shorter = self.clone();
        shorter.frequent.levels.truncate(l as usize - 1);
        // They come in order of length.
        let sequences = self.violating.sequences.iter();
        let n = sequences.take_while(|sequence| sequence.len() <= l as usize).count();
        shorter.violating.sequences.truncate(n);
        shorter.violating.holders.truncate(n);
        shorter
    }
}

/// Single doublets that violate, in order.
pub(super) fn rare_doublets(trips: &Trips, k: u32) -> (Vec<u32>, Vec<bool>) {
    let support = single_support(trips);
    let is_rare: Vec<bool> = support.iter().map(|&n| n > 0 && n < k).collect();
    let rare = (0..).zip(&is_rare).filter(|(_, rare)| **rare).map(|(item, _)| item).collect();
    (rare, is_rare)
}

fn single_support(trips: &Trips) -> Vec<u32> {
    let mut support = vec![0; trips.n_doublets()];
    let mut counted = vec![u32::MAX; trips.n_doublets()];
    for trip in trips.numbers() {
        for &item in trips.get(trip) {
            if counted[item as usize] != trip {
                counted[item as usize] = trip;
                support[item as usize] += trips.weight(trip);
            }
        }
    }
    support
}

/// Mines trajectories without rare doublets. Counts every candidate in a trajectory as one step of work.
pub(super) fn mine(trips: &Trips, l: u32, k: u32, work: &mut Work) -> Result<Mined, TooMuch> {
    let mut frequent = Frequent { singles: single_support(trips), levels: Vec::new() };
    let mut violating = Violating::default();
    for length in 2..=l as usize {
        let bound = work.charge_level(trips, &frequent, length)?;
        let n_shards = bound.div_ceil(SHARD).max(2);
        let found = grow_level(trips, &frequent, length, k, n_shards);
        let mut level = Level::default();
        let mut shards = Vec::new();
        for shard in found {
            for (key, support) in shard.frequent {
                level.numbers.insert(key, number_of(level.keys.len()));
                level.keys.push(key);
                level.support.push(support);
            }
            shards.push(shard.violating);
        }
        violating.take(length, &frequent, &shards);
        let is_over = level.keys.is_empty();
        frequent.levels.push(level);
        if is_over {
            break;
        }
    }
    Ok(Mined { frequent, violating })
}

/// What one shard of a level holds.
#[derive(Default)]
struct Shard {
    frequent: Vec<(u64, u32)>,
    violating: Violating,
}

/// A shard takes the sequences whose first doublet it is given; so shards share nothing, and their number decides
/// only how much is held at a time.
fn grow_level(
    trips: &Trips,
    frequent: &Frequent,
    length: usize,
    k: u32,
    shards: u64,
) -> Vec<Shard> {
    let grow = |shard: u64| {
        let mut candidates: Vec<(u64, u32)> = Vec::new();
        let takes = |item: u32| u64::from(item) % shards == shard;
        let mut walk = Walk::new(frequent, length);
        for trip in trips.numbers() {
            walk.each_candidate(trips.get(trip), takes, &mut |key| {
                candidates.push((key, trip));
                true
            });
        }
        candidates.sort_unstable();
        settle(trips, frequent, length, k, &candidates)
    };
    (0..shards).into_par_iter().map(grow).collect()
}

fn settle(
    trips: &Trips,
    frequent: &Frequent,
    length: usize,
    k: u32,
    candidates: &[(u64, u32)],
) -> Shard {
    let mut shard = Shard::default();
    let mut holders = Vec::new();
    for same in candidates.chunk_by(|a, b| a.0 == b.0) {
        let support = same.iter().map(|&(_, trip)| trips.weight(trip)).sum();
        if support >= k {
            shard.frequent.push((same[0].0, support));
        } else {
            let (prefix, last) = parts(same[0].0);
            let mut sequence = frequent.sequence(length - 2, prefix);
            sequence.push(last);
            holders.clear();
            holders.extend(same.iter().map(|&(_, trip)| trip));
            shard.violating.sequences.push(&sequence);
            shard.violating.holders.push(&holders);
        }
    }
    shard
}

/// Walks through one trajectory after another, from frequent prefix to candidate. Reused for its memory.
pub(super) struct Walk<'a> {
    frequent: &'a Frequent,
    length: usize,
    /// Place of the same doublet before, plus one; 0 without one.
    before: Vec<usize>,
    /// Places of the present prefix.
    way: Vec<usize>,
    /// Whether the doublets at two places make a frequent pair; only for length 3 and up.
    pairs: Vec<bool>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(frequent: &'a Frequent, length: usize) -> Self {
        Self { frequent, length, before: Vec::new(), way: Vec::new(), pairs: Vec::new() }
    }

    /// Names every candidate of this length in a trajectory once, by its key, until `each` says no.
    pub(super) fn each_candidate(
        &mut self,
        path: &[u32],
        takes: impl Fn(u32) -> bool,
        each: &mut impl FnMut(u64) -> bool,
    ) {
        if path.len() < self.length || !path.iter().any(|&item| takes(item)) {
            return;
        }
        places_before(path, &mut self.before);
        if self.length > 2 {
            let level = &self.frequent.levels[0];
            self.pairs.clear();
            self.pairs.resize(path.len() * path.len(), false);
            for at in 0..path.len() {
                for then in at + 1..path.len() {
                    self.pairs[at * path.len() + then] = level.find(path[at], path[then]).is_some();
                }
            }
        }
        self.way.clear();
        for at in 0..path.len() {
            if self.before[at] == 0 && takes(path[at]) {
                self.way.push(at);
                let goes_on = self.descend(path, path[at], each);
                self.way.pop();
                if !goes_on {
                    return;
                }
            }
        }
    }

    fn descend(&mut self, path: &[u32], prefix: u32, each: &mut impl FnMut(u64) -> bool) -> bool {
        let from = self.way.last().expect("a way has begun") + 1;
        let is_last = self.way.len() + 1 == self.length;
        for at in from..path.len() {
            // The first of equal doublets stands for all: behind it lies everything that lies behind the others.
            if self.before[at] > from || !self.is_hopeful(path, at) {
                continue;
            }
            if is_last {
                if !each(key(prefix, path[at])) {
                    return false;
                }
            } else if let Some(number) =
                self.frequent.levels[self.way.len() - 1].find(prefix, path[at])
            {
                self.way.push(at);
                let goes_on = self.descend(path, number, each);
                self.way.pop();
                if !goes_on {
                    return false;
                }
            }
        }
        true
    }

    /// Whether the doublet at a place makes a frequent pair with every doublet of the way.
    fn is_hopeful(&self, path: &[u32], at: usize) -> bool {
        self.length == 2 || self.way.iter().all(|&place| self.pairs[place * path.len() + at])
    }
}

/// For every place, the place of the same doublet before it, plus one; 0 without one.
pub(super) fn places_before(path: &[u32], before: &mut Vec<usize>) {
    before.clear();
    if path.len() <= 32 {
        before.extend((0..path.len()).map(|at| {
            path[..at].iter().rposition(|item| *item == path[at]).map_or(0, |place| place + 1)
        }));
        return;
    }
    let mut last: FxHashMap<u32, usize> = FxHashMap::default();
    before
        .extend(path.iter().enumerate().map(|(at, &item)| last.insert(item, at + 1).unwrap_or(0)));
}
