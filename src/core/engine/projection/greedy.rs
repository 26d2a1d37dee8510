//! The greedy suppression over the tree: gains are remembered, and a step looks again only at those it can have
//! changed. Lines S1 to S4 of PROOF.md.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

use super::gain::{Gain, Loss, Losses};
use super::tree::{Changes, Node, Tree};
use crate::engine::trips::{Lists, contains, number_of};

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
        let pairs = inner_views(&tree);
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
            work_left: max_work,
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
        if let Some(grown) = changes.grown {
            pairs.extend(self.around.get(grown).iter().map(|&view| (view, grown)));
            let mut inferred = changes.inferred_before.clone();
            inferred.extend_from_slice(&self.tree.nodes[grown as usize].inferred);
            for place in inferred {
                self.who_can_lose(grown, place, &mut again);
            }
        }
        let lowered: BTreeSet<(u32, u32, bool)> = changes.lowered.iter().copied().collect();
        for (node, place, was_inferred) in lowered {
            if was_inferred {
                self.who_can_lose(node, place, &mut again);
            }
            let concerned =
                |view: &&u32| was_inferred || self.tree.nodes[**view as usize].is_inferred(place);
            pairs.extend(self.around.get(node).iter().filter(concerned).map(|&view| (view, node)));
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

    /// Views of the owner of a place, over the trajectories of a view that visit it.
    fn who_can_lose(&self, node: u32, place: u32, found: &mut BTreeSet<u32>) {
        let Some(owner) = self.tree.territory.owner(place) else { return };
        for &trip in &self.tree.nodes[node as usize].trips {
            found.extend(self.tree.view_of(trip, owner));
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
        let lengths = self.lengths(node);
        let most = self.tree.nodes[node as usize].view.len() as u64;
        let memory = Memory {
            elsewhere: self.elsewhere(node),
            losses: (1..=most).map(|removed| self.losses.sum(&lengths, removed)).collect(),
            best: None,
        };
        self.memory[node as usize] = Some(memory);
        self.choose(node);
    }

    /// Cards by the length of their trajectories.
    fn lengths(&self, node: u32) -> Vec<(u64, u64)> {
        let trips = &self.tree.trips;
        let mut lengths: Vec<(u64, u64)> = self.tree.nodes[node as usize]
            .trips
            .iter()
            .map(|&trip| (trips.get(trip).len() as u64, u64::from(trips.weight(trip))))
            .collect();
        lengths.sort_unstable();
        lengths.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        lengths
    }

    /// For every place of a view: the problems of other adversaries that go if all its trajectories lose the place.
    fn elsewhere(&self, node: u32) -> Vec<(u32, i64)> {
        let tree = &self.tree;
        let Node { adversary, view, trips, .. } = &tree.nodes[node as usize];
        let places = tree.territory.places(view);
        let mut losing: Vec<(u32, u32, u64)> = Vec::new();
        for &trip in trips {
            for other in (0..tree.territory.n_adversaries).filter(|other| other != adversary) {
                let Some(seen) = tree.view_of(trip, other) else { continue };
                let inferred = &tree.nodes[seen as usize];
                let weight = u64::from(tree.trips.weight(trip));
                let concerned = places.iter().filter(|&&place| inferred.is_inferred(place));
                losing.extend(concerned.map(|&place| (place, seen, weight)));
            }
        }
        losing.sort_unstable();
        let mut elsewhere: Vec<(u32, i64)> = places.into_iter().map(|place| (place, 0)).collect();
        for same in losing.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (place, seen, _) = same[0];
            let lost: u64 = same.iter().map(|(_, _, weight)| weight).sum();
            let node = &tree.nodes[seen as usize];
            let count = node.count(place);
            let solved = match tree.breach.is_exceeded_by(count - lost, node.support) {
                true => lost,
                false => count,
            };
            let at = elsewhere.binary_search_by_key(&place, |(known, _)| *known);
            elsewhere[at.expect("it is a place of the view")].1 += solved.cast_signed();
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

/// Every (longer, shorter) pair of views of one adversary of which one contains the other, in order.
fn inner_views(tree: &Tree) -> Vec<(u32, u32)> {
    let mask = |view: &[u32]| view.iter().fold(0_u64, |mask, item| mask | 1 << (item % 64));
    let masks: Vec<u64> = tree.nodes.iter().map(|node| mask(&node.view)).collect();
    let mut pairs = Vec::new();
    let mut start = 0;
    for of_one in tree.nodes.chunk_by(|a, b| a.adversary == b.adversary) {
        let numbers = start..start + of_one.len();
        for outer in numbers.clone() {
            for inner in numbers.clone() {
                let (long, short) = (&tree.nodes[outer].view, &tree.nodes[inner].view);
                if masks[inner] & !masks[outer] == 0
                    && short.len() < long.len()
                    && contains(long, short)
                {
                    pairs.push((number_of(outer), number_of(inner)));
                }
            }
        }
        start += of_one.len();
    }
    pairs
}
