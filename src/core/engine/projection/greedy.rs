//! The greedy suppression over the tree: gains are remembered, and a step looks again only at those it can have
//! changed. Lines S1 to S4 of PROOF.md.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

use rustc_hash::FxHashMap;

use super::gain::{Gain, Loss, Losses};
use super::tree::{Changes, Node, Tree};
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
        let mut again: BTreeSet<u32> = BTreeSet::new();
        let mut pairs: BTreeSet<(u32, u32)> = BTreeSet::new();
        self.forget(from);
        for &view in self.around.get(from) {
            let best = self.memory[view as usize].as_ref().and_then(|memory| memory.best.as_ref());
            if best.is_some_and(|best| best.to == Some(from)) {
                again.insert(view);
            }
        }
        for &trip in &changes.trips {
            let adversaries = 0..self.tree.territory.n_adversaries;
            again.extend(adversaries.filter_map(|one| self.tree.view_of(trip, one)));
        }
        if let Some(grown) = &changes.grown {
            let node = &self.tree.nodes[grown.view as usize];
            pairs.extend(self.around.get(grown.view).iter().map(|&view| (view, grown.view)));
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
            let concerned =
                |view: &&u32| was_inferred || self.tree.nodes[**view as usize].is_inferred(place);
            pairs.extend(
                self.around.get(number).iter().filter(concerned).map(|&view| (view, number)),
            );
        }
        for &view in &again {
            self.evaluate(view);
        }
        for (view, to) in pairs {
            if !again.contains(&view) {
                self.compare_again(view, to);
            }
        }
    }

    /// Views of the owner of a place that solve something else now by losing it, where another view had so many
    /// visitors of the place and cards before.
    fn who_can_lose(&self, node: u32, place: u32, before: (u64, u64), found: &mut BTreeSet<u32>) {
        let tree = &self.tree;
        let Some(owner) = tree.territory.owner(place) else { return };
        let seen = &tree.nodes[node as usize];
        let now = (seen.count(place), seen.support);
        for (&view, &cards) in &seen.met {
            let one = &tree.nodes[view as usize];
            if one.adversary == owner
                && self.solved(now, cards) != self.solved(before, cards)
                && tree.territory.has_place(&one.view, place)
            {
                found.insert(view);
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
        let memory = Memory {
            elsewhere: self.elsewhere(node),
            losses: (1..=most).map(|removed| self.losses.sum(lengths, removed)).collect(),
            best: None,
        };
        self.memory[node as usize] = Some(memory);
        self.choose(node);
    }

    /// For every place of a view: the problems of other adversaries that go if all its trajectories lose the place.
    fn elsewhere(&self, node: u32) -> Vec<(u32, i64)> {
        let tree = &self.tree;
        let Node { view, met, .. } = &tree.nodes[node as usize];
        let places = tree.territory.places(view);
        let mut elsewhere: Vec<(u32, i64)> = places.into_iter().map(|place| (place, 0)).collect();
        for (&other, &cards) in met {
            let other = &tree.nodes[other as usize];
            if other.problems == 0 {
                continue;
            }
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
            let Some(choice) = self.choice(node, Some(to)) else { continue };
            if best.as_ref().is_none_or(|best| choice.rank(best) == Ordering::Greater) {
                best = Some(choice);
            }
        }
        self.work_left = self.work_left.saturating_sub(1 + self.inside.get(node).len() as u64);
        self.put_up(node, best);
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

    /// What one suppression gains, if it is one to consider: one of the two views has problems.
    fn choice(&self, from: u32, to: Option<u32>) -> Option<Choice> {
        let nodes = &self.tree.nodes;
        let source = &nodes[from as usize];
        let memory = self.memory[from as usize].as_ref()?;
        let (mut solved, removed) = match to.map(|to| &nodes[to as usize]) {
            None if source.problems == 0 => return None,
            None => (source.problems.cast_signed(), source.view.len()),
            Some(target) if target.trips.is_empty() => return None,
            Some(target) if source.problems == 0 && target.problems == 0 => return None,
            Some(target) => {
                let before = source.problems + target.problems;
                let after = self.merged_problems(source, target);
                (before.cast_signed() - after.cast_signed(), source.view.len() - target.view.len())
            }
        };
        let kept = to.map(|to| self.tree.territory.places(&nodes[to as usize].view));
        for &(place, elsewhere) in memory.elsewhere.iter().filter(|(_, solved)| *solved > 0) {
            if kept.as_ref().is_none_or(|kept| kept.binary_search(&place).is_err()) {
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

/// Every (longer, shorter) pair of views of one adversary of which one contains the other, in order, as far as the
/// work allows: every beginning of a shorter view that a longer one contains is a step. A view whose turn does not come
/// has no shorter one here, and can become nothing only.
fn inner_views(tree: &Tree, work_left: &mut u64) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    let mut start = 0;
    for of_one in tree.nodes.chunk_by(|a, b| a.adversary == b.adversary) {
        let trie = Trie::of((start..).zip(of_one.iter().map(|node| &*node.view)));
        let mut found = Vec::new();
        for (outer, node) in (start..).zip(of_one) {
            found.clear();
            if !trie.parts(&node.view, 0, 0, &mut found, work_left) {
                return pairs;
            }
            found.sort_unstable();
            pairs
                .extend(found.iter().filter(|inner| **inner != outer).map(|&inner| (outer, inner)));
        }
        start += number_of(of_one.len());
    }
    pairs
}

/// Views by their beginnings.
#[derive(Default)]
struct Trie {
    next: FxHashMap<(u32, u32), u32>,
    /// By node: the view that ends there.
    ends: Vec<Option<u32>>,
}

impl Trie {
    fn of<'a>(views: impl Iterator<Item = (u32, &'a [u32])>) -> Self {
        let mut trie = Self { ends: vec![None], ..Self::default() };
        for (number, view) in views {
            let mut at = 0;
            for &item in view {
                let fresh = number_of(trie.ends.len());
                at = *trie.next.entry((at, item)).or_insert(fresh);
                if at == fresh {
                    trie.ends.push(None);
                }
            }
            trie.ends[at as usize] = Some(number);
        }
        trie
    }

    /// Every view that is contained in this one, from a place of it on and a node on, each once. False without work
    /// left.
    fn parts(
        &self,
        view: &[u32],
        from: usize,
        node: u32,
        found: &mut Vec<u32>,
        work_left: &mut u64,
    ) -> bool {
        for at in from..view.len() {
            // The first of equal ones stands for all: behind it lies everything that lies behind the others.
            if view[from..at].contains(&view[at]) {
                continue;
            }
            let Some(&below) = self.next.get(&(node, view[at])) else { continue };
            let Some(left) = work_left.checked_sub(1) else { return false };
            *work_left = left;
            found.extend(self.ends[below as usize]);
            if !self.parts(view, at + 1, below, found, work_left) {
                return false;
            }
        }
        true
    }
}
