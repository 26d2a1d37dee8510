//! How much work a window may take. One step is one candidate sequence in one trajectory.

use super::mining::{Frequent, Walk};
use crate::engine::trips::Trips;

/// More steps than allowed; which level of mining needed them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TooMuch {
    pub(super) length: usize,
}

/// Steps done and allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    done: u64,
    most: u64,
}

impl Work {
    pub(super) fn new(most: u64) -> Self {
        Self { done: 0, most }
    }

    /// Whether the allowance is used up.
    pub(super) fn is_over(&self) -> bool {
        self.done >= self.most
    }

    /// Takes steps that were done already.
    pub(super) fn add(&mut self, steps: u64) {
        self.done = self.done.saturating_add(steps);
    }

    /// Takes the steps of one level of mining before any of it is held in memory: a bound if that suffices, else
    /// counted exactly.
    pub(super) fn charge_level(
        &mut self,
        trips: &Trips,
        frequent: &Frequent,
        length: usize,
    ) -> Result<u64, TooMuch> {
        let left = self.most.saturating_sub(self.done);
        let mut bound = 0_u64;
        for trip in trips.numbers() {
            bound = bound.saturating_add(choices(trips.get(trip).len() as u64, length as u64));
        }
        if bound > left {
            bound = 0;
            let mut walk = Walk::new(frequent, length);
            for trip in trips.numbers() {
                let path = trips.get(trip);
                walk.each_candidate(path, |_| true, &mut |_| {
                    bound += 1;
                    bound <= left
                });
                if bound > left {
                    return Err(TooMuch { length });
                }
            }
        }
        self.add(bound);
        Ok(bound)
    }
}

/// Whether mining stays within bounds whatever is frequent.
pub(super) fn is_surely_enough(trips: &Trips, l: u32, most: u64) -> bool {
    let levels = 2..=u64::from(l);
    let all = levels.flat_map(|length| {
        trips.numbers().map(move |trip| choices(trips.get(trip).len() as u64, length))
    });
    all.fold(0_u64, u64::saturating_add) <= most
}

/// How many sequences of `length` places a trajectory has, at most.
fn choices(places: u64, length: u64) -> u64 {
    let mut product = 1_u64;
    for taken in 0..length.min(places + 1) {
        product = match product.checked_mul(places - taken.min(places)) {
            Some(product) => product / (taken + 1),
            None => return u64::MAX,
        };
    }
    product
}
