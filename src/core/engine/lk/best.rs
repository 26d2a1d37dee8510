//! Our greedy: every suppression is local, what it breaks is mended in turn, and what can come back comes back.
//! Lines B1 to B4 of PROOF.md.

use std::collections::VecDeque;

use super::score::Ranking;
use super::state::{State, Until, each_different};
use crate::engine::trips::{Trips, contains, number_of};

/// Suppresses until nothing violates.
pub(super) fn run(state: State<'_>, ranking: &Ranking) {
    let whole = state.trips.clone();
    let mut best = Best { waiting: Vec::new(), state };
    best.waiting.resize_with(best.state.l + 1, VecDeque::new);
    for number in 0..number_of(best.state.violating.sequences.len()) {
        let length = best.state.violating.sequences.get(number).len();
        best.waiting[length].push_back(Waiting::Mined(number));
    }
    // B1: the shortest first, because longer ones may go with them.
    while let Some(next) = best.waiting.iter_mut().find_map(VecDeque::pop_front) {
        best.mend(next, ranking);
    }
    best.give_back(&whole);
}

/// A violating sequence whose turn will come.
enum Waiting {
    /// By its number among those that were mined.
    Mined(u32),
    /// It was frequent, by level and number, until too few were left.
    Broken(usize, u32),
}

struct Best<'a> {
    state: State<'a>,
    /// By length.
    waiting: Vec<VecDeque<Waiting>>,
}

impl Best<'_> {
    /// Takes one doublet of a violating sequence from everybody who contains the sequence.
    fn mend(&mut self, next: Waiting, ranking: &Ranking) {
        let state = &mut self.state;
        let (sequence, chosen) = match next {
            Waiting::Mined(number) if state.left[number as usize] == 0 => return,
            Waiting::Mined(number) => {
                (state.violating.sequences.get(number).to_vec(), state.present(number))
            }
            Waiting::Broken(depth, number) => {
                let sequence = state.frequent.sequence(depth, number);
                let chosen = state.containing(&sequence);
                (sequence, chosen)
            }
        };
        if chosen.is_empty() {
            return;
        }
        let item = self.choice(&sequence, &chosen, ranking);
        let state = &mut self.state;
        if state.work.is_over() {
            // B4: without steps to see what breaks, the doublet goes everywhere, which breaks nothing.
            let everybody = state.everybody(item);
            state.suppress(item, &everybody, |_, _| ());
            return;
        }
        for &trip in &chosen {
            state.count_losses(item, trip, Until::TheEnd);
        }
        for ((depth, number), _) in state.broken() {
            self.waiting[depth + 1].push_back(Waiting::Broken(depth, number));
        }
        state.suppress(item, &chosen, |_, _| ());
    }

    /// B2: the doublet that ends most violations and begins fewest, counted in trajectories.
    fn choice(&mut self, sequence: &[u32], chosen: &[u32], ranking: &Ranking) -> u32 {
        let mut best = None;
        let mut items = Vec::new();
        each_different(sequence, |item| items.push(item));
        for item in items {
            let ended: u64 = chosen.iter().map(|&trip| self.ended(item, trip)).sum();
            let mut begun = 0;
            if !self.state.work.is_over() {
                for &trip in chosen {
                    self.state.count_losses(item, trip, Until::TheEnd);
                }
                begun = self.state.broken().map(|(_, after)| u64::from(after)).sum();
                self.state.losses.clear();
            }
            let worth = i128::from(ended) - i128::from(begun);
            let standing = (worth, ranking.standing(item, 1));
            if best.is_none_or(|before| standing > before) {
                best = Some(standing);
            }
        }
        best.expect("a sequence has a doublet").1.item
    }

    /// Violating sequences of a trajectory that go with a doublet, times its cards.
    fn ended(&self, item: u32, trip: u32) -> u64 {
        let State { violating, left, trips, by_trip, .. } = &self.state;
        let path = trips.get(trip);
        let goes = |number: &&u32| {
            let sequence = violating.sequences.get(**number);
            left[**number as usize] > 0 && sequence.contains(&item) && contains(path, sequence)
        };
        by_trip.get(trip).iter().filter(goes).count() as u64 * u64::from(trips.weight(trip))
    }

    /// B3: a doublet comes back to a trajectory where everything that comes with it is shared by K.
    fn give_back(&mut self, whole: &Trips) {
        let mut path = Vec::new();
        let mut came_back = true;
        while came_back && !self.state.work.is_over() {
            came_back = false;
            for trip in whole.numbers() {
                let before = whole.get(trip);
                if before.len() == self.state.trips.get(trip).len() {
                    continue;
                }
                for (at, &item) in before.iter().enumerate() {
                    if before[..at].contains(&item) || self.state.trips.get(trip).contains(&item) {
                        continue;
                    }
                    let present = self.state.trips.get(trip);
                    path.clear();
                    path.extend(
                        before.iter().filter(|&there| *there == item || present.contains(there)),
                    );
                    if self.state.comes_back(item, trip, &path) {
                        came_back = true;
                    }
                }
            }
        }
    }
}
