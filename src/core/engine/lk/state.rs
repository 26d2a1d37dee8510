//! What both variants of the greedy look at and change: supports, violating sequences and who contains them.

use super::mining::{Frequent, Mined, Violating, places_before};
use super::work::Work;
use crate::engine::trips::{Lists, Shrinking, Trips, contains, number_of};

/// Everything a loop looks at and changes.
pub(super) struct State<'a> {
    pub(super) trips: &'a mut Trips,
    pub(super) frequent: Frequent,
    pub(super) violating: Violating,
    pub(super) l: usize,
    pub(super) k: u32,
    pub(super) work: Work,
    /// Who contained a doublet at the beginning; only fewer do later.
    pub(super) holders: Lists,
    /// Violating sequences of a trajectory.
    pub(super) by_trip: Shrinking,
    /// How many different trajectories still contain a violating sequence; at zero it is gone.
    pub(super) left: Vec<u32>,
    pub(super) losses: Losses,
    /// Memory for the walks.
    before: Vec<usize>,
}

/// What frequent sequences would lose, by level and number.
#[derive(Default)]
pub(super) struct Losses {
    lost: Vec<Vec<u32>>,
    touched: Vec<(usize, u32)>,
}

impl Losses {
    fn new(frequent: &Frequent) -> Self {
        let singles = std::iter::once(frequent.singles.len());
        let levels = frequent.levels.iter().map(|level| level.support.len());
        Self { lost: singles.chain(levels).map(|n| vec![0; n]).collect(), touched: Vec::new() }
    }

    fn add(&mut self, depth: usize, number: u32, weight: u32) -> u32 {
        let lost = &mut self.lost[depth][number as usize];
        if *lost == 0 {
            self.touched.push((depth, number));
        }
        *lost += weight;
        *lost
    }

    pub(super) fn clear(&mut self) {
        for (depth, number) in self.touched.drain(..) {
            self.lost[depth][number as usize] = 0;
        }
    }
}

impl<'a> State<'a> {
    pub(super) fn new(
        trips: &'a mut Trips,
        Mined { frequent, violating }: Mined,
        l: u32,
        k: u32,
        work: Work,
    ) -> Self {
        let by_trip = Shrinking::new(Lists::of(trips.len(), |each| {
            for (number, holders) in (0..).zip(violating.holders.iter()) {
                holders.iter().for_each(|&trip| each(trip, number));
            }
        }));
        Self {
            losses: Losses::new(&frequent),
            holders: trips.holders(),
            left: violating.holders.iter().map(|holders| number_of(holders.len())).collect(),
            trips,
            frequent,
            violating,
            l: l as usize,
            k,
            work,
            by_trip,
            before: Vec::new(),
        }
    }

    /// The different trajectories that contain a violating sequence now.
    pub(super) fn present(&self, number: u32) -> Vec<u32> {
        let sequence = self.violating.sequences.get(number);
        let holders = self.violating.holders.get(number).iter().copied();
        holders.filter(|&trip| contains(self.trips.get(trip), sequence)).collect()
    }

    /// The definition: no frequent sequence with the doublet is left with some trajectories, but fewer than K. Fewer
    /// than K lose it here, so a frequent one never comes to nothing, and the first that falls below K settles it.
    pub(super) fn is_valid(&mut self, item: u32, chosen: &[u32]) -> bool {
        chosen.iter().all(|&trip| self.count_losses(item, trip, Until::Broken(self.k)))
    }

    /// Frequent sequences that would be left with some trajectories, but fewer than K, by level and number, with how
    /// many. The definition of validity: none.
    pub(super) fn broken(&self) -> impl Iterator<Item = ((usize, u32), u32)> {
        self.losses.touched.iter().filter_map(|&(depth, number)| {
            let support = self.frequent.support(depth, number);
            let after = support - self.losses.lost[depth][number as usize];
            (support >= self.k && 0 < after && after < self.k).then_some(((depth, number), after))
        })
    }

    /// Everybody who contains a doublet now.
    pub(super) fn everybody(&self, item: u32) -> Vec<u32> {
        let holders = self.holders.get(item).iter().copied();
        holders.filter(|&trip| self.trips.get(trip).contains(&item)).collect()
    }

    /// Counts what every frequent sequence with this doublet loses if this trajectory loses it. False if it stopped.
    pub(super) fn count_losses(&mut self, item: u32, trip: u32, until: Until) -> bool {
        let path = self.trips.get(trip);
        let Some(last) = path.iter().rposition(|there| *there == item) else { return true };
        places_before(path, &mut self.before);
        let mut search = Search {
            path,
            before: &self.before,
            item,
            last,
            most: self.l,
            weight: self.trips.weight(trip),
            frequent: &self.frequent,
            losses: &mut self.losses,
            until,
            steps: 0,
        };
        let went_on = search.descend(None, 0, 0, false);
        self.work.add(search.steps);
        went_on
    }

    /// Everybody who contains a sequence now.
    pub(super) fn containing(&self, sequence: &[u32]) -> Vec<u32> {
        let rarest = sequence.iter().min_by_key(|&&item| self.holders.get(item).len());
        let holders = rarest.map_or(&[][..], |&item| self.holders.get(item)).iter().copied();
        holders.filter(|&trip| contains(self.trips.get(trip), sequence)).collect()
    }

    /// Writes a trajectory with a doublet that it had lost, if K contain every sequence that comes with it.
    pub(super) fn comes_back(&mut self, item: u32, trip: u32, path: &[u32]) -> bool {
        let last = path.iter().rposition(|there| *there == item).expect("the doublet is there");
        places_before(path, &mut self.before);
        let weight = self.trips.weight(trip);
        let mut search = Search {
            path,
            before: &self.before,
            item,
            last,
            most: self.l,
            weight,
            frequent: &self.frequent,
            losses: &mut self.losses,
            until: Until::Rare(self.k),
            steps: 0,
        };
        let is_shared = search.descend(None, 0, 0, false);
        self.work.add(search.steps);
        if is_shared {
            for &(depth, number) in &self.losses.touched {
                *self.frequent.support_mut(depth, number) += weight;
            }
            self.trips.rewrite(trip, path);
        }
        self.losses.clear();
        is_shared
    }

    /// Takes a doublet from trajectories; `losses` says what frequent sequences lose by it. Names every violating
    /// sequence that a trajectory contains no longer, with that trajectory.
    pub(super) fn suppress(
        &mut self,
        item: u32,
        chosen: &[u32],
        mut left_by: impl FnMut(u32, u32),
    ) {
        for &(depth, number) in &self.losses.touched {
            let lost = self.losses.lost[depth][number as usize];
            *self.frequent.support_mut(depth, number) -= lost;
        }
        self.losses.clear();
        for &trip in chosen {
            let path = self.trips.get(trip);
            let Self { violating, left, .. } = self;
            // What is gone, here or everywhere, is not looked at again.
            self.by_trip.retain(trip, |number| {
                let count = &mut left[number as usize];
                let sequence = violating.sequences.get(number);
                if *count == 0 || !sequence.contains(&item) {
                    return *count > 0;
                }
                if contains(path, sequence) {
                    *count -= 1;
                    left_by(number, trip);
                }
                false
            });
            self.trips.retain(trip, |_, there| there != item);
        }
    }
}

/// All frequent sequences of a trajectory that contain a doublet, each once.
struct Search<'a> {
    path: &'a [u32],
    /// The place of the same doublet before, plus one; 0 without one.
    before: &'a [usize],
    item: u32,
    /// The last place of the doublet.
    last: usize,
    most: usize,
    weight: u32,
    frequent: &'a Frequent,
    losses: &'a mut Losses,
    until: Until,
    steps: u64,
}

/// How far losses are counted.
#[derive(Clone, Copy)]
pub(super) enum Until {
    TheEnd,
    /// Until a frequent sequence falls below so many.
    Broken(u32),
    /// Until one is found that fewer contain, with this trajectory.
    Rare(u32),
}

impl Search<'_> {
    fn descend(&mut self, prefix: Option<u32>, depth: usize, from: usize, has_item: bool) -> bool {
        // Without the doublet so far: no further than its last place, and at the end nothing else fits.
        let end = if has_item { self.path.len() } else { self.last + 1 };
        let only_item = !has_item && depth + 1 == self.most;
        for at in from..end {
            let there = self.path[at];
            if (only_item && there != self.item) || self.before[at] > from {
                continue;
            }
            self.steps += 1;
            let number = match prefix {
                None => there,
                Some(prefix) => {
                    // The last level is missing if it holds nothing frequent.
                    let level = self.frequent.levels.get(depth - 1);
                    match level.and_then(|level| level.find(prefix, there)) {
                        Some(number) => number,
                        // Without the doublet everything is shared, so this has it.
                        None if matches!(self.until, Until::Rare(_)) => return false,
                        None => continue,
                    }
                }
            };
            let has_item = has_item || there == self.item;
            if has_item {
                let lost = self.losses.add(depth, number, self.weight);
                let support = self.frequent.support(depth, number);
                let goes_on = match self.until {
                    Until::TheEnd => true,
                    Until::Broken(k) => support >= k + lost,
                    Until::Rare(k) => support + self.weight >= k,
                };
                if !goes_on {
                    return false;
                }
            }
            if depth + 1 < self.most && !self.descend(Some(number), depth + 1, at + 1, has_item) {
                return false;
            }
        }
        true
    }
}

pub(super) fn each_different(sequence: &[u32], mut each: impl FnMut(u32)) {
    for (at, &item) in sequence.iter().enumerate() {
        if !sequence[..at].contains(&item) {
            each(item);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engine::lk::mining::mine;
    use crate::model::Doublet;

    /// What the loop says about taking a doublet from everybody who contains a minimal violating sequence.
    pub(in crate::engine::lk) fn is_valid(
        paths: &[Vec<Doublet>],
        l: u32,
        k: u32,
        sequence: &[Doublet],
        item: Doublet,
    ) -> bool {
        let mut trips = Trips::from_paths(paths);
        let number_of_doublet = |trips: &Trips, doublet: Doublet| {
            (0..number_of(trips.n_doublets())).find(|&item| trips.doublet(item) == doublet).unwrap()
        };
        let item = number_of_doublet(&trips, item);
        let sequence: Box<[u32]> =
            sequence.iter().map(|&doublet| number_of_doublet(&trips, doublet)).collect();
        let mined = mine(&trips, l, k, &mut Work::new(u64::MAX)).unwrap();
        let number =
            mined.violating.sequences.iter().position(|known| *known == *sequence).unwrap();
        let work = Work::new(u64::MAX);
        let mut state = State::new(&mut trips, mined, l, k, work);
        let chosen = state.present(number_of(number));
        let is_valid = state.is_valid(item, &chosen);
        state.losses.clear();
        for &trip in &chosen {
            state.count_losses(item, trip, Until::TheEnd);
        }
        assert_eq!(is_valid, state.broken().next().is_none(), "both ways to ask agree");
        is_valid
    }
}
