//! The greedy removal of violating sequences. Lines G1 to G4 of PROOF.md.

use super::mining::{Frequent, Violating, places_before};
use super::score::Ranking;
use super::work::Work;
use crate::engine::trips::{Lists, Shrinking, Trips, contains, number_of};

/// Everything the loop looks at and changes.
pub(super) struct Greedy<'a> {
    trips: &'a mut Trips,
    frequent: Frequent,
    violating: Violating,
    l: usize,
    k: u32,
    work: Work,
    /// Who contained a doublet at the beginning; only fewer do later.
    holders: Lists,
    /// Violating sequences of a trajectory, and of a doublet.
    by_trip: Shrinking,
    by_doublet: Lists,
    /// How many different trajectories still contain a violating sequence; at zero it is gone.
    left: Vec<u32>,
    /// Violating sequences of a doublet that are left; and those of them that it was not yet tried for.
    gain: Vec<u32>,
    untried: Vec<u32>,
    losses: Losses,
    /// Trajectories that the present suppression takes the doublet from.
    is_chosen: Vec<bool>,
    /// Memory for the walks.
    before: Vec<usize>,
}

/// What frequent sequences would lose, by level and number.
#[derive(Default)]
struct Losses {
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

    fn clear(&mut self) {
        for (depth, number) in self.touched.drain(..) {
            self.lost[depth][number as usize] = 0;
        }
    }
}

impl<'a> Greedy<'a> {
    pub(super) fn new(
        trips: &'a mut Trips,
        frequent: Frequent,
        violating: Violating,
        l: u32,
        k: u32,
        work: Work,
    ) -> Self {
        let holders = trips.holders();
        let n_trips = trips.len();
        let by_trip = Shrinking::new(Lists::of(trips.len(), |each| {
            for (number, holders) in (0..).zip(violating.holders.iter()) {
                holders.iter().for_each(|&trip| each(trip, number));
            }
        }));
        let by_doublet = Lists::of(trips.n_doublets(), |each| {
            for (number, sequence) in (0..).zip(violating.sequences.iter()) {
                each_different(sequence, |item| each(item, number));
            }
        });
        let gain: Vec<u32> = (0..number_of(trips.n_doublets()))
            .map(|item| number_of(by_doublet.get(item).len()))
            .collect();
        let left = violating.holders.iter().map(|holders| number_of(holders.len())).collect();
        Self {
            losses: Losses::new(&frequent),
            untried: gain.clone(),
            trips,
            frequent,
            violating,
            l: l as usize,
            k,
            work,
            holders,
            by_trip,
            by_doublet,
            left,
            gain,
            is_chosen: vec![false; n_trips],
            before: Vec::new(),
        }
    }

    /// Suppresses until nothing violates.
    pub(super) fn run(mut self, ranking: &Ranking) {
        let mut candidates: Vec<u32> = (0..number_of(self.gain.len())).collect();
        candidates.retain(|&item| self.gain[item as usize] > 0);
        // G1: where a local suppression is valid as it stands.
        while let Some(item) = ranking.best(&candidates, &self.untried) {
            for number in self.by_doublet.get(item).to_vec() {
                self.try_local(item, number);
            }
            self.untried[item as usize] = 0;
            candidates.retain(|&item| self.untried[item as usize] > 0);
        }
        // G2: what no doublet could be taken from alone takes more with it.
        let mut candidates: Vec<u32> = (0..number_of(self.gain.len())).collect();
        candidates.retain(|&item| self.gain[item as usize] > 0);
        while let Some(item) = ranking.best(&candidates, &self.gain) {
            let everybody: Vec<u32> = (self.holders.get(item).iter().copied())
                .filter(|&trip| self.trips.get(trip).contains(&item))
                .collect();
            for number in self.by_doublet.get(item).to_vec() {
                self.widen(item, number, &everybody);
            }
            candidates.retain(|&item| self.gain[item as usize] > 0);
        }
    }

    /// The different trajectories that contain a violating sequence now.
    fn present(&self, number: u32) -> Vec<u32> {
        let sequence = self.violating.sequences.get(number);
        let holders = self.violating.holders.get(number).iter().copied();
        holders.filter(|&trip| contains(self.trips.get(trip), sequence)).collect()
    }

    /// Takes the doublet from everybody who contains the sequence, if that is valid as it stands.
    fn try_local(&mut self, item: u32, number: u32) -> bool {
        if self.left[number as usize] == 0 || self.work.is_over() {
            return false;
        }
        let chosen = self.present(number);
        let is_valid = self.is_valid(item, &chosen);
        if is_valid {
            self.suppress(item, &chosen);
        }
        self.losses.clear();
        is_valid
    }

    /// The definition: no frequent sequence with the doublet is left with some trajectories, but fewer than K. Fewer
    /// than K lose it here, so a frequent one never comes to nothing, and the first that falls below K settles it.
    fn is_valid(&mut self, item: u32, chosen: &[u32]) -> bool {
        chosen.iter().all(|&trip| self.count_losses(item, trip, Until::Broken(self.k)))
    }

    /// G2: adds whoever contains what would become rare, until nothing would. Ends at the latest with everybody who
    /// contains the doublet, which is a global suppression.
    fn widen(&mut self, item: u32, number: u32, everybody: &[u32]) {
        if self.left[number as usize] == 0 {
            return;
        }
        // Others may have gone since, so that it is valid as it stands now.
        if self.try_local(item, number) {
            return;
        }
        let mut chosen = self.present(number);
        chosen.iter().for_each(|&trip| self.is_chosen[trip as usize] = true);
        let mut counted = 0;
        loop {
            // More than half of everybody at the beginning, or no steps left to look closer: all of them, which is
            // always valid.
            if chosen.len() * 2 > everybody.len() || self.work.is_over() {
                self.losses.clear();
                if !self.work.is_over() {
                    for &trip in everybody {
                        self.count_losses(item, trip, Until::TheEnd);
                    }
                }
                self.suppress(item, everybody);
                break;
            }
            for &trip in &chosen[counted..] {
                self.count_losses(item, trip, Until::TheEnd);
            }
            counted = chosen.len();
            let broken = self.broken();
            if broken.is_empty() {
                self.suppress(item, &chosen);
                break;
            }
            for &trip in everybody.iter().filter(|&&trip| !self.is_chosen[trip as usize]) {
                let path = self.trips.get(trip);
                if broken.iter().any(|sequence| contains(path, sequence)) {
                    chosen.push(trip);
                }
            }
            chosen[counted..].iter().for_each(|&trip| self.is_chosen[trip as usize] = true);
        }
        chosen.iter().for_each(|&trip| self.is_chosen[trip as usize] = false);
        self.losses.clear();
    }

    /// Frequent sequences that would be left with some trajectories, but fewer than K. The definition of validity.
    fn broken(&self) -> Vec<Vec<u32>> {
        let is_broken = |&&(depth, number): &&(usize, u32)| {
            let support = self.frequent.support(depth, number);
            let after = support - self.losses.lost[depth][number as usize];
            0 < after && after < self.k
        };
        let broken = self.losses.touched.iter().filter(is_broken);
        broken.map(|&(depth, number)| self.frequent.sequence(depth, number)).collect()
    }

    /// Counts what every frequent sequence with this doublet loses if this trajectory loses it. False if it stopped.
    fn count_losses(&mut self, item: u32, trip: u32, until: Until) -> bool {
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

    /// Takes a doublet from trajectories; `losses` says what frequent sequences lose by it.
    fn suppress(&mut self, item: u32, chosen: &[u32]) {
        for &(depth, number) in &self.losses.touched {
            let lost = self.losses.lost[depth][number as usize];
            match depth {
                0 => self.frequent.singles[number as usize] -= lost,
                _ => self.frequent.levels[depth - 1].support[number as usize] -= lost,
            }
        }
        for &trip in chosen {
            let path = self.trips.get(trip);
            let Self { violating, left, gain, untried, .. } = self;
            // What is gone, here or everywhere, is not looked at again.
            self.by_trip.retain(trip, |number| {
                let count = &mut left[number as usize];
                let sequence = violating.sequences.get(number);
                if *count == 0 || !sequence.contains(&item) {
                    return *count > 0;
                }
                if contains(path, sequence) {
                    *count -= 1;
                    if *count == 0 {
                        each_different(sequence, |item| {
                            gain[item as usize] -= 1;
                            untried[item as usize] = untried[item as usize].saturating_sub(1);
                        });
                    }
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
enum Until {
    TheEnd,
    /// Until a frequent sequence falls below so many.
    Broken(u32),
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
                        None => continue,
                    }
                }
            };
            let has_item = has_item || there == self.item;
            if has_item {
                let lost = self.losses.add(depth, number, self.weight);
                if let Until::Broken(k) = self.until
                    && self.frequent.support(depth, number) < k + lost
                {
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

fn each_different(sequence: &[u32], mut each: impl FnMut(u32)) {
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
        let (frequent, violating) = mine(&trips, l, k, &mut Work::new(u64::MAX)).unwrap();
        let number = violating.sequences.iter().position(|known| *known == *sequence).unwrap();
        let work = Work::new(u64::MAX);
        let mut greedy = Greedy::new(&mut trips, frequent, violating, l, k, work);
        let chosen = greedy.present(number_of(number));
        let is_valid = greedy.is_valid(item, &chosen);
        greedy.losses.clear();
        for &trip in &chosen {
            greedy.count_losses(item, trip, Until::TheEnd);
        }
        assert_eq!(is_valid, greedy.broken().is_empty(), "both ways to ask agree");
        is_valid
    }
}
