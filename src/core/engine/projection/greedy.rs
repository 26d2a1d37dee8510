//! The greedy suppression over the tree: gains are remembered, and a step looks again only at those it can have
//! changed. Lines S1 to S4 of PROOF.md.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::gain::{Gain, Loss, Losses};
use super::inside::inner_views;
use super::node::{Node, Standing};
use super::tree::{Changes, Tree};
use crate::engine::trips::{Lists, number_of};

/// A view, what to suppress it to, and what that gains.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Choice {
    pub(super) from: u32,
    pub(super) to: Option<u32>,
    pub(super) gain: Gain,
}

impl Choice {
    /// Ties go to the view with the smaller number (adversary by name, then content), then to nothing, then to the
    /// shorter view with the smaller number.
    fn rank(&self, other: &Self) -> Ordering {
        let by_gain = self.gain.compare(&other.gain);
        by_gain.then_with(|| (other.from, other.to).cmp(&(self.from, self.to)))
    }
}

/// What is remembered about a view.
struct Memory {
    /// By place that may be lost: problems of others that go with it.
    elsewhere: Vec<(u32, i64)>,
    /// All of them that are worth something.
    elsewhere_most: i64,
    /// By number of doublets removed, from one on.
    losses: Vec<Loss>,
    best: Option<Choice>,
}

/// A view's best choice at some time; it counts while the version is the same.
struct Entry {
    choice: Choice,
    version: u32,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.choice.rank(&other.choice).then(self.version.cmp(&other.version))
    }
}

/// The loop's state.
pub(super) struct Greedy {
    pub(super) tree: Tree,
    losses: Losses,
    /// For every view the shorter ones inside it, and the longer ones around it.
    inside: Lists,
    around: Lists,
    memory: Vec<Option<Memory>>,
    version: Vec<u32>,
    heap: BinaryHeap<Entry>,
    work_left: u64,
}

impl Greedy {
    pub(super) fn new(tree: Tree, max_work: u64) -> Self {
        let n_nodes = tree.nodes.len();
        let losses = super::losses(&tree);
        let mut work_left = max_work;
        let pairs = inner_views(&tree, &mut work_left);
        let inside =
            Lists::of(n_nodes, |each| pairs.iter().for_each(|&(out, r#in)| each(out, r#in)));
        let around =
            Lists::of(n_nodes, |each| pairs.iter().for_each(|&(out, r#in)| each(r#in, out)));
        Self {
            tree,
            losses,
            inside,
            around,
            memory: (0..n_nodes).map(|_| None).collect(),
            version: vec![0; n_nodes],
            heap: BinaryHeap::new(),
            work_left,
        }
    }

    /// Suppresses until no place is inferred.
    pub(super) fn run(&mut self) {
        self.begin();
        while self.tree.problems() > 0 && self.step().is_some() {}
        self.finish_plainly();
    }

    /// S1: every view with its best choice.
    pub(super) fn begin(&mut self) {
        for node in 0..number_of(self.tree.nodes.len()) {
            self.evaluate(node);
        }
    }

    /// S2: the best choice of all, done. `None` if there is none, or no work left to look for one.
    pub(super) fn step(&mut self) -> Option<Choice> {
        if self.work_left == 0 {
            return None;
        }
        loop {
            let Entry { choice, version } = self.heap.pop()?;
            if self.version[choice.from as usize] == version {
                let changes = self.tree.suppress(choice.from, choice.to);
                self.follow(choice.from, &changes);
                return Some(choice);
            }
        }
    }

    /// S4: without weighing, in order, to nothing. Always ends, and what is gone infers nothing.
    fn finish_plainly(&mut self) {
        while self.tree.problems() > 0 {
            for node in 0..number_of(self.tree.nodes.len()) {
                if self.tree.nodes[node as usize].problems > 0 {
                    self.tree.suppress(node, None);
                }
            }
        }
    }

    /// S3: looks again at every choice whose gain can have changed, and at no other.
    fn follow(&mut self, from: u32, changes: &Changes) {
        let mut again: Vec<u32> = Vec::new();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        self.forget(from);
        for &view in self.around.get(from) {
            let best = self.memory[view as usize].as_ref().and_then(|memory| memory.best.as_ref());
            if best.is_some_and(|best| best.to == Some(from)) {
                again.push(view);
            }
        }
        for &trip in &changes.trips {
            let adversaries = 0..self.tree.territory.n_adversaries;
            again.extend(adversaries.filter_map(|one| self.tree.view_of(trip, one)));
        }
        let is_there = |view: &&u32| self.tree.standing(**view) != Standing::Gone;
        if let Some(grown) = &changes.grown {
            let node = &self.tree.nodes[grown.view as usize];
            let around = self.around.get(grown.view).iter().filter(is_there);
            pairs.extend(around.map(|&view| (view, grown.view)));
            for &place in grown.inferred.iter().chain(&node.inferred) {
                let before = (grown.places.get(&place).copied().unwrap_or(0), grown.support);
                self.who_can_lose(grown.view, place, before, &mut again);
            }
        }
        for (&(number, place), &before) in &changes.lowered {
            let node = &self.tree.nodes[number as usize];
            let was_inferred = self.tree.breach.is_exceeded_by(before, node.support);
            if was_inferred {
                self.who_can_lose(number, place, (before, node.support), &mut again);
            }
            let around = self.around.get(number);
            match was_inferred {
                true => pairs.extend(around.iter().filter(is_there).map(|&view| (view, number))),
                false => pairs.extend(
                    self.tree
                        .inferring(place, node.adversary)
                        .filter(|view| around.binary_search(view).is_ok())
                        .map(|view| (view, number)),
                ),
            }
        }
        again.sort_unstable();
        again.dedup();
        for &view in &again {
            self.evaluate(view);
        }
        pairs.sort_unstable();
        pairs.dedup();
        for (view, to) in pairs {
            if again.binary_search(&view).is_err() {
                self.compare_again(view, to);
            }
        }
    }

    /// Views of the owner of a place that solve something else now by losing it, where another view had so many
    /// visitors of the place and cards before.
    fn who_can_lose(&self, node: u32, place: u32, before: (u64, u64), found: &mut Vec<u32>) {
        let tree = &self.tree;
        let Some(owner) = tree.territory.owner(place) else { return };
        let seen = &tree.nodes[node as usize];
        let now = (seen.count(place), seen.support);
        for &(view, cards) in seen.met_among(&tree.views_of(owner)) {
            if self.solved(now, cards) != self.solved(before, cards)
                && tree.nodes[view as usize].has_own(place)
            {
                found.push(view);
            }
        }
    }

    /// Problems of a view that go when so many of its cards lose a place; with its visitors and cards.
    fn solved(&self, (count, support): (u64, u64), lost: u64) -> u64 {
        let breach = &self.tree.breach;
        match breach.is_exceeded_by(count, support) {
            false => 0,
            true if breach.is_exceeded_by(count.saturating_sub(lost), support) => lost,
            true => count,
        }
    }

    fn forget(&mut self, node: u32) {
        self.memory[node as usize] = None;
        self.version[node as usize] += 1;
    }

    /// Everything about a view anew.
    fn evaluate(&mut self, node: u32) {
        self.forget(node);
        if self.tree.nodes[node as usize].trips.is_empty() {
            return;
        }
        let lengths = &self.tree.nodes[node as usize].lengths;
        let most = self.tree.nodes[node as usize].view.len() as u64;
        let elsewhere = self.elsewhere(node);
        let memory = Memory {
            elsewhere_most: elsewhere.iter().map(|(_, solved)| *solved.max(&0)).sum(),
            elsewhere,
            losses: (1..=most).map(|removed| self.losses.sum(lengths, removed)).collect(),
            best: None,
        };
        self.memory[node as usize] = Some(memory);
        self.choose(node);
    }

    /// For every place of a view: the problems of other adversaries that go if all its trajectories lose the place.
    fn elsewhere(&self, node: u32) -> Vec<(u32, i64)> {
        let tree = &self.tree;
        let Node { own, met, .. } = &tree.nodes[node as usize];
        let mut elsewhere: Vec<(u32, i64)> = own.iter().map(|&place| (place, 0)).collect();
        for &(other, cards) in met {
            if tree.standing(other) != Standing::Inferring {
                continue;
            }
            let other = &tree.nodes[other as usize];
            for (place, solved) in &mut elsewhere {
                if other.is_inferred(*place) {
                    *solved +=
                        self.solved((other.count(*place), other.support), cards).cast_signed();
                }
            }
        }
        elsewhere
    }

    /// The best among all that a view can be suppressed to; puts it up for the next step.
    fn choose(&mut self, node: u32) {
        let mut best = self.choice(node, None);
        for &to in self.inside.get(node) {
            if !self.is_considered(node, Some(to)) {
                continue;
            }
            if best.as_ref().is_some_and(|best| self.is_surely_worse(node, to, &best.gain)) {
                continue;
            }
            let Some(choice) = self.choice(node, Some(to)) else { continue };
            if best.as_ref().is_none_or(|best| choice.rank(best) == Ordering::Greater) {
                best = Some(choice);
            }
        }
        self.work_left = self.work_left.saturating_sub(1 + self.inside.get(node).len() as u64);
        self.put_up(node, best);
    }

    /// Whether a suppression stays below a gain even if it solves every problem that it touches. Most do, and what the
    /// two views infer together need not be counted for them.
    fn is_surely_worse(&self, from: u32, to: u32, gain: &Gain) -> bool {
        let Some(memory) = &self.memory[from as usize] else { return true };
        let (source, target) = (&self.tree.nodes[from as usize], &self.tree.nodes[to as usize]);
        let solved = (source.problems + target.problems).cast_signed() + memory.elsewhere_most;
        let loss = memory.losses[source.view.len() - target.view.len() - 1].clone();
        Gain { solved, loss }.compare(gain) == Ordering::Less
    }

    fn put_up(&mut self, node: u32, best: Option<Choice>) {
        self.version[node as usize] += 1;
        let version = self.version[node as usize];
        self.heap.extend(best.clone().map(|choice| Entry { choice, version }));
        let memory =
            self.memory[node as usize].as_mut().expect("only views with trajectories choose");
        memory.best = best;
    }

    /// One pair changed; all else about the view is as it was.
    fn compare_again(&mut self, node: u32, to: u32) {
        let Some(memory) = &self.memory[node as usize] else { return };
        self.work_left = self.work_left.saturating_sub(1);
        let is_considered = self.is_considered(node, Some(to));
        let other = memory.best.as_ref().filter(|best| best.to != Some(to));
        if other.is_some_and(|best| !is_considered || self.is_surely_worse(node, to, &best.gain)) {
            return;
        }
        let now = self.choice(node, Some(to));
        match (&memory.best, now) {
            (Some(best), now) if best.to == Some(to) => match now {
                Some(now) if now.gain == best.gain => {}
                Some(now) if now.gain.compare(&best.gain) != Ordering::Less => {
                    self.put_up(node, Some(now));
                }
                _ => self.choose(node),
            },
            (Some(best), Some(now)) if now.rank(best) == Ordering::Greater => {
                self.put_up(node, Some(now));
            }
            (None, Some(now)) => self.put_up(node, Some(now)),
            _ => {}
        }
    }

    /// Whether a suppression is one to consider: one of the two views has problems.
    fn is_considered(&self, from: u32, to: Option<u32>) -> bool {
        let standing = |view| self.tree.standing(view);
        let (from, to) = (standing(from), to.map(standing));
        let is_gone = from == Standing::Gone || to == Some(Standing::Gone);
        let has_problems = from == Standing::Inferring || to == Some(Standing::Inferring);
        has_problems && !is_gone
    }

    /// What one suppression gains, if it is one to consider.
    fn choice(&self, from: u32, to: Option<u32>) -> Option<Choice> {
        if !self.is_considered(from, to) {
            return None;
        }
        let tree = &self.tree;
        let source = &tree.nodes[from as usize];
        let target = to.map(|to| &tree.nodes[to as usize]);
        let memory = self.memory[from as usize].as_ref()?;
        let (mut solved, removed) = match target {
            None => (source.problems.cast_signed(), source.view.len()),
            Some(target) => {
                let before = source.problems + target.problems;
                let after = self.merged_problems(source, target);
                (before.cast_signed() - after.cast_signed(), source.view.len() - target.view.len())
            }
        };
        for &(place, elsewhere) in memory.elsewhere.iter().filter(|(_, solved)| *solved > 0) {
            if target.is_none_or(|target| !target.has_own(place)) {
                solved += elsewhere;
            }
        }
        let loss = memory.losses[removed - 1].clone();
        Some(Choice { from, to, gain: Gain { solved, loss } })
    }

    /// Problems of a view that took another's trajectories up. Only what one of them infers alone can both infer
    /// together: a share of the sum lies between the shares.
    fn merged_problems(&self, source: &Node, target: &Node) -> u64 {
        let support = source.support + target.support;
        let new = target.inferred.iter().filter(|&&place| !source.is_inferred(place));
        source
            .inferred
            .iter()
            .chain(new)
            .map(|&place| source.count(place) + target.count(place))
            .filter(|&count| self.tree.breach.is_exceeded_by(count, support))
            .sum()
    }
}
