//! How promising a time is for a walker with so many taps to come, so that trajectories end when they should.

use super::draft::SHORT;
use super::estimate::Estimates;
use super::plan::Plan;
use super::synthetic::Synthetic;
use super::tables::{Name, ends_class, ends_time, ends_times};
use super::walk::GROUPS;

/// By length, taps to come and slot: a weight, and the largest from that slot on.
#[derive(Debug)]
pub(super) struct Lookahead {
    slots: usize,
    /// How slots lead to slots, by parity.
    leads: Vec<Vec<f64>>,
    /// By class of length and time: how much more often trajectories should end there.
    ends: Vec<f64>,
    weights: Vec<Vec<(f64, f64)>>,
}

/// A window of more slots is drawn without looking ahead.
const MOST_SLOTS: u32 = 400;

impl Lookahead {
    pub(super) fn new(plan: &Plan, known: &Estimates) -> Self {
        let shape = plan.shape();
        let ahead = shape.slots > 1
            && shape.slots <= MOST_SLOTS
            && plan.asks(Name::Times)
            && plan.asks(Name::Ends);
        let mut own = Self {
            slots: if ahead { shape.slots as usize } else { 0 },
            leads: Vec::new(),
            ends: vec![1.0; known.of(Name::Ends).mean.len()],
            weights: Vec::new(),
        };
        if ahead {
            own.leads = (0..plan.parities).map(|parity| leads(plan, known, parity)).collect();
            own.weigh(plan);
        }
        own
    }

    /// Goes back from the end, tap by tap, for every short length.
    fn weigh(&mut self, plan: &Plan) {
        let (shape, n) = (plan.shape(), self.slots);
        let n_times = ends_times(shape) as usize;
        self.weights.clear();
        for length in 1..=SHORT {
            let class = ends_class(length) as usize * n_times;
            let end = |slot: usize| self.ends[class + ends_time(shape, slot as u32) as usize];
            let mut weight: Vec<f64> = (0..n).map(end).collect();
            for to_come in 0..length {
                if to_come > 0 {
                    let leads = &self.leads[(length - 1 - to_come) % plan.parities as usize];
                    let before = |from: usize| -> f64 {
                        (from..n).map(|to| leads[from * n + to] * weight[to]).sum()
                    };
                    weight = (0..n).map(before).collect();
                    let most = weight.iter().copied().fold(1e-30, f64::max);
                    weight.iter_mut().for_each(|weight| *weight = (*weight / most).max(1e-6));
                }
                let mut most = 0.0_f64;
                let mut with_most: Vec<(f64, f64)> = Vec::with_capacity(n);
                for &weight in weight.iter().rev() {
                    most = most.max(weight);
                    with_most.push((weight, most));
                }
                with_most.reverse();
                self.weights.push(with_most);
            }
        }
    }

    /// How likely a walker takes this next slot.
    pub(super) fn chance(&self, length: usize, to_come: usize, from: u32, next: u32) -> f64 {
        if self.slots == 0 || length > SHORT {
            return 1.0;
        }
        let weights = &self.weights[length * (length - 1) / 2 + to_come];
        weights[next as usize].0 / weights[from as usize].1.max(1e-30)
    }

    /// Learns from where a draft's trajectories ended.
    pub(super) fn improve(&mut self, plan: &Plan, known: &Estimates, window: &Synthetic) {
        if self.slots == 0 {
            return;
        }
        let shape = plan.shape();
        let n_times = ends_times(shape) as usize;
        let mut have = vec![0.0; self.ends.len()];
        for codes in window.iter() {
            let slot = codes[codes.len() - 1] % shape.slots;
            have[ends_class(codes.len()) as usize * n_times + ends_time(shape, slot) as usize] +=
                1.0;
        }
        for (cell, end) in self.ends.iter_mut().enumerate() {
            let step =
                ((known.of(Name::Ends).mean[cell] + 3.0) / (have[cell] + 3.0)).clamp(0.2, 4.0);
            *end = (*end * step).clamp(1e-3, 50.0);
        }
        self.weigh(plan);
    }
}

/// How slots lead to slots for steps of one parity, all relations together; rows add up to one.
fn leads(plan: &Plan, known: &Estimates, parity: u32) -> Vec<f64> {
    let n = plan.shape().slots as usize;
    let times = &known.of(Name::Times).mean;
    let (day, n_days) = (plan.shape().day as usize, plan.shape().n_days() as usize);
    let days = later_days(known, n_days);
    let mut leads = vec![0.0; n * n];
    for from in 0..n {
        for to in from..n {
            let cell = |group| plan.times.cell(parity, group, from as u32, to as u32) as usize;
            let share = days[from / day * n_days + to / day];
            leads[from * n + to] =
                (0..GROUPS).map(|group| times[cell(group)]).sum::<f64>() * share + 1e-9;
        }
        let row = &mut leads[from * n..(from + 1) * n];
        let total: f64 = row.iter().sum();
        row.iter_mut().for_each(|cell| *cell /= total);
    }
    leads
}

/// By day and day: the share of a later day among all later ones; 1 for the same day.
fn later_days(known: &Estimates, n_days: usize) -> Vec<f64> {
    let mut shares = vec![1e-6; n_days * n_days];
    for (cell, cards) in known.of(Name::Days).mean.iter().enumerate() {
        shares[cell % (n_days * n_days)] += cards;
    }
    for (day, row) in shares.chunks_mut(n_days).enumerate() {
        let later: f64 = row[day + 1..].iter().sum();
        row[day + 1..].iter_mut().for_each(|share| *share /= later);
        row[day] = 1.0;
    }
    shares
}
