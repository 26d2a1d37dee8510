//! K-anonymity: L is no shorter than any trajectory, so every trajectory as a whole must be contained in K.
//!
//! Mining would list every part of every trajectory, of which there are 2 to the power of its length. It is not
//! needed: a trajectory that too few contain is shrunk until taking any doublet away would make it frequent. What is
//! left is one minimal violating sequence, and one doublet of it goes. Line W of PROOF.md.

use super::score::Ranking;
use super::work::Work;
use crate::engine::trips::{Lists, Trips, contains, number_of};

/// Suppresses until every trajectory that is left is contained in at least `k`. False if the steps ran out before.
pub(super) fn anonymize(trips: &mut Trips, k: u32, ranking: &Ranking, work: Work) -> bool {
    let holders = trips.holders();
    let mut state = Whole { holders, is_open: vec![true; trips.len()], k, work };
    let mut order: Vec<u32> = trips.numbers().collect();
    // The longest are contained in the fewest; ties in the order of their content.
    order.sort_by_key(|&trip| std::cmp::Reverse(trips.get(trip).len()));
    while state.is_open.contains(&true) {
        for &trip in &order {
            if std::mem::replace(&mut state.is_open[trip as usize], false) {
                state.settle(trips, trip, ranking);
            }
            if state.work.is_over() {
                return false;
            }
        }
    }
    true
}

struct Whole {
    holders: Lists,
    /// Trajectories to look at, or to look at again because somebody who contained them changed.
    is_open: Vec<bool>,
    k: u32,
    work: Work,
}

impl Whole {
    fn settle(&mut self, trips: &mut Trips, trip: u32, ranking: &Ranking) {
        while let Some(violating) = self.minimal_violation(trips, trip) {
            let best = violating.iter().map(|&item| ranking.standing(item, 1)).max();
            let item = best.expect("the sequence is not empty").item;
            for at in self.holders.get(item) {
                if contains(trips.get(*at), &violating) {
                    trips.retain(*at, |_, there| there != item);
                } else {
                    // It may have been contained in one that has just lost the doublet.
                    self.is_open[*at as usize] = true;
                }
            }
        }
    }

    /// A sequence of a trajectory that fewer than K contain, while K contain whatever is left without any one of its
    /// doublets.
    fn minimal_violation(&mut self, trips: &Trips, trip: u32) -> Option<Vec<u32>> {
        let mut sequence = trips.get(trip).to_vec();
        if sequence.is_empty() || self.is_frequent(trips, &sequence) {
            return None;
        }
        let mut at = 0;
        while at < sequence.len() && sequence.len() > 1 {
            let without = sequence.remove(at);
            if self.is_frequent(trips, &sequence) {
                sequence.insert(at, without);
                at += 1;
            }
        }
        Some(sequence)
    }

    fn is_frequent(&mut self, trips: &Trips, sequence: &[u32]) -> bool {
        let rarest = sequence.iter().min_by_key(|&&item| number_of(self.holders.get(item).len()));
        let mut support = 0;
        for &trip in self.holders.get(*rarest.expect("the sequence is not empty")) {
            self.work.add(1);
            if contains(trips.get(trip), sequence) {
                support += trips.weight(trip);
                if support >= self.k {
                    return true;
                }
            }
        }
        false
    }
}
