//! Improves a synthetic window by local moves until its clipped tables agree with the measured ones.
//!
//! The window is cut into strands, always the same number whatever the number of threads. In a pass each strand
//! takes its part of every gap and closes it alone; then the strands are put together and the gaps taken anew.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use super::dice::{Thrower, Usage, thrower};
use super::estimate::Estimates;
use super::goal::{Gap, Goal, Share};
use super::measure::Answers;
use super::propose::{Kind, Proposals};
use super::synthetic::Synthetic;
use super::threads;
use super::walk::Walk;
use crate::secret::NoiseKey;

const STRANDS: usize = 4;
/// Passes over all trajectories; a large window is near its goal sooner.
fn passes(n_cards: f64) -> u64 {
    if n_cards < 500_000.0 { 4 } else { 2 }
}

/// Longer trajectories are left as they were drawn.
const LONGEST: usize = 40;

/// What is needed to improve a window.
pub(super) struct Solver<'a> {
    pub(super) answers: &'a Answers,
    pub(super) known: &'a Estimates,
    pub(super) loops: &'a BTreeMap<u64, (f64, f64)>,
    pub(super) key: &'a NoiseKey,
    pub(super) threads: NonZeroUsize,
}

impl Solver<'_> {
    /// The window after all passes.
    pub(super) fn solve(&self, window: Synthetic) -> Synthetic {
        let goal = Goal::new(self.answers, self.loops);
        let have = goal.have(&window, self.threads);
        let mut gaps = goal.gaps(self.known, self.loops, &have);
        let mut strands: Vec<Synthetic> =
            (0..STRANDS).map(|first| window.strand(first, STRANDS)).collect();
        drop(window);
        for pass in 0..passes(self.known.n_cards) {
            let proposals = Proposals::new(self.answers, self.known, &goal, self.loops, &gaps);
            let tasks: Vec<(u64, &mut Synthetic)> = (0..).zip(&mut strands).collect();
            let closed = threads::map(self.threads, tasks, |(strand, walks)| {
                let rng = thrower(self.key, Usage::Solve, pass * STRANDS as u64 + strand);
                let part: Vec<Gap> = gaps.iter().map(part_of).collect();
                let mut pass = Pass::new(self.answers, &goal, &proposals, part, rng);
                (0..walks.len()).for_each(|ix| pass.improve(walks.get_mut(ix)));
                pass.gaps
            });
            // What the strands changed, added up: whole numbers, in any order.
            let before: Vec<i64> = gaps.iter().map(|gap| part_of(gap).over).collect();
            for part in closed {
                for ((gap, after), before) in gaps.iter_mut().zip(part).zip(&before) {
                    gap.over += after.over - before;
                }
            }
        }
        Synthetic::braid(&strands)
    }
}

/// A strand's part of a gap.
fn part_of(gap: &Gap) -> Gap {
    Gap { over: gap.over / STRANDS as i64, weight: gap.weight }
}

/// One strand in one pass.
struct Pass<'a> {
    answers: &'a Answers,
    goal: &'a Goal,
    proposals: &'a Proposals<'a>,
    gaps: Vec<Gap>,
    rng: Thrower,
    walk: Walk,
    changed: Walk,
    old: Share,
    new: Share,
    codes: Vec<u32>,
}

impl<'a> Pass<'a> {
    fn new(
        answers: &'a Answers,
        goal: &'a Goal,
        proposals: &'a Proposals<'a>,
        gaps: Vec<Gap>,
        rng: Thrower,
    ) -> Self {
        let (walk, changed) = (Walk::new(), Walk::new());
        let (old, new) = (Share::default(), Share::default());
        Self { answers, goal, proposals, gaps, rng, walk, changed, old, new, codes: Vec::new() }
    }

    /// Tries every kind of move on one trajectory.
    fn improve(&mut self, codes: &mut [u32]) {
        if codes.len() > LONGEST {
            return;
        }
        let shape = self.answers.plan.shape();
        self.walk.read(codes, shape);
        self.goal.share(&self.walk, &mut self.old);
        for kind in Kind::ROUND {
            self.codes.clear();
            self.codes.extend_from_slice(codes);
            if !self.proposals.propose(kind, &self.walk, &mut self.codes, &mut self.rng) {
                continue;
            }
            self.changed.read(&self.codes, shape);
            self.goal.share(&self.changed, &mut self.new);
            if self.exchange() < 0 {
                codes.copy_from_slice(&self.codes);
                std::mem::swap(&mut self.walk, &mut self.changed);
                std::mem::swap(&mut self.old, &mut self.new);
            } else {
                self.give_back();
            }
        }
    }

    /// Takes the old trajectory's cells away and puts the new one's in; tells how the distance from the goal changes.
    fn exchange(&mut self) -> i128 {
        let mut change = 0;
        let gaps = &mut self.gaps;
        different(&self.old, &self.new, |(cell, units), sign| {
            let gap = &mut gaps[cell as usize];
            // Beyond this a gap is as good as endless: units, gap and weight have 13, 28 and 21 bits.
            let over = gap.over.clamp(-(1 << 26), 1 << 26);
            let step = sign * i64::from(units);
            change += i128::from(step * (step + 2 * over) * i64::from(gap.weight));
            gap.over += step;
        });
        change
    }

    fn give_back(&mut self) {
        let gaps = &mut self.gaps;
        different(&self.old, &self.new, |(cell, units), sign| {
            gaps[cell as usize].over -= sign * i64::from(units);
        });
    }
}

/// Visits the cells in which two trajectories differ: the old one's with −1, the new one's with +1.
#[inline]
fn different(old: &Share, new: &Share, mut visit: impl FnMut((u32, u32), i64)) {
    let (mut from_old, mut from_new) = (0, 0);
    for (&end_old, &end_new) in old.ends.iter().zip(&new.ends) {
        let before = &old.cells[from_old..end_old as usize];
        let after = &new.cells[from_new..end_new as usize];
        (from_old, from_new) = (end_old as usize, end_new as usize);
        if before.len() == after.len() {
            for (&before, &after) in
                before.iter().zip(after).filter(|(before, after)| before != after)
            {
                visit(before, -1);
                visit(after, 1);
            }
        } else {
            before.iter().for_each(|&cell| visit(cell, -1));
            after.iter().for_each(|&cell| visit(cell, 1));
        }
    }
}
