//! Which views of an adversary are contained in which.

use rustc_hash::FxHashMap;

use super::tree::Tree;
use crate::engine::trips::number_of;

/// So many places looked at are a step of work.
const PLACES_A_STEP: u64 = 256;

/// Every (longer, shorter) pair of views of one adversary of which one contains the other, in order, as far as the
/// work allows: every beginning of a shorter view that a longer one contains is a step, and so are every 256 places
/// that are looked at for them. A view whose turn does not come has no shorter one here, and can become nothing only.
pub(super) fn inner_views(tree: &Tree, work_left: &mut u64) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    let mut work = Work { left: work_left, places: 0 };
    let mut start = 0;
    for of_one in tree.nodes.chunk_by(|a, b| a.adversary == b.adversary) {
        let trie = Trie::of((start..).zip(of_one.iter().map(|node| &*node.view)));
        let mut found = Vec::new();
        for (outer, node) in (start..).zip(of_one) {
            found.clear();
            if !trie.parts(&node.view, &mut found, &mut work) {
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

/// What may still be done.
struct Work<'a> {
    left: &'a mut u64,
    /// Places looked at that are no whole step yet.
    places: u64,
}

impl Work<'_> {
    /// False if nothing may be done any more.
    fn step(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        *self.left = left.unwrap_or_default();
        left.is_some()
    }

    fn look(&mut self, n_places: usize) -> bool {
        self.places += n_places as u64;
        while self.places >= PLACES_A_STEP {
            self.places -= PLACES_A_STEP;
            if !self.step() {
                return false;
            }
        }
        true
    }
}

/// Views by their beginnings.
#[derive(Default)]
struct Trie {
    /// By beginning and the item behind it; the only one behind a beginning stands in `behind`.
    next: FxHashMap<(u32, u32), u32>,
    /// By beginning: what goes on from it.
    behind: Vec<Behind>,
    /// By beginning: the view that ends there.
    ends: Vec<Option<u32>>,
}

/// What goes on from a beginning. Most have one longer beginning at most.
#[derive(Clone, Copy)]
enum Behind {
    Nothing,
    /// One item, and the beginning with it.
    One(u32, u32),
    Many,
}

impl Trie {
    fn of<'a>(views: impl Iterator<Item = (u32, &'a [u32])>) -> Self {
        let mut trie = Self::default();
        trie.begin();
        for (number, view) in views {
            let end = view.iter().fold(0, |at, &item| trie.go_on(at, item));
            trie.ends[end as usize] = Some(number);
        }
        trie
    }

    fn begin(&mut self) -> u32 {
        self.behind.push(Behind::Nothing);
        self.ends.push(None);
        number_of(self.ends.len() - 1)
    }

    /// The beginning with one item more, made if nobody had it.
    fn go_on(&mut self, at: u32, item: u32) -> u32 {
        match self.behind[at as usize] {
            Behind::One(only, below) if only == item => return below,
            Behind::Nothing => {
                let below = self.begin();
                self.behind[at as usize] = Behind::One(item, below);
                return below;
            }
            Behind::One(only, below) => {
                self.next.insert((at, only), below);
                self.behind[at as usize] = Behind::Many;
            }
            Behind::Many => {}
        }
        if let Some(&below) = self.next.get(&(at, item)) {
            return below;
        }
        let below = self.begin();
        self.next.insert((at, item), below);
        below
    }

    /// Every view that is contained in this one, each once. False without work left. A card may have any number of
    /// taps, so what is still to do is kept in a list and not on the program's stack.
    fn parts(&self, view: &[u32], found: &mut Vec<u32>, work: &mut Work<'_>) -> bool {
        let before = places_before(view);
        let mut to_do = vec![(0, 0_u32)];
        let mut longer = Vec::new();
        while let Some((from, beginning)) = to_do.pop() {
            let rest = &view[from..];
            let n_looked = match self.behind[beginning as usize] {
                Behind::Nothing => 0,
                Behind::One(item, below) => {
                    let at = rest.iter().position(|one| *one == item);
                    longer.extend(at.map(|at| (from + at + 1, below)));
                    at.unwrap_or(rest.len())
                }
                Behind::Many => {
                    // The first of equal ones stands for all: behind it lies everything that lies behind the others.
                    let is_first = |at: &usize| before[*at].is_none_or(|before| before < from);
                    let below = |at| Some((at + 1, *self.next.get(&(beginning, view[at]))?));
                    longer.extend((from..view.len()).filter(is_first).filter_map(below));
                    rest.len()
                }
            };
            if !work.look(n_looked) {
                return false;
            }
            for &(_, beginning) in &longer {
                if !work.step() {
                    return false;
                }
                found.extend(self.ends[beginning as usize]);
            }
            to_do.append(&mut longer);
        }
        true
    }
}

/// For every item of a view: where the same stands before it, for the last time.
fn places_before(view: &[u32]) -> Vec<Option<usize>> {
    let mut last = FxHashMap::default();
    view.iter().enumerate().map(|(at, item)| last.insert(item, at)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(trie: &Trie, view: &[u32], mut left: u64) -> (Option<Vec<u32>>, u64) {
        let mut found = Vec::new();
        let is_whole = trie.parts(view, &mut found, &mut Work { left: &mut left, places: 0 });
        found.sort_unstable();
        (is_whole.then_some(found), left)
    }

    fn contains(longer: &[u32], shorter: &[u32]) -> bool {
        let mut rest = longer.iter();
        shorter.iter().all(|item| rest.any(|one| one == item))
    }

    proptest! {
        #[test]
        fn what_is_found_in_a_view_is_what_it_contains(
            views in prop::collection::btree_set(prop::collection::vec(0..4_u32, 1..7), 1..40),
        ) {
            let views: Vec<Vec<u32>> = views.into_iter().collect();
            let trie = Trie::of((0..).zip(views.iter().map(Vec::as_slice)));
            for view in &views {
                let expected = (0..).zip(&views).filter(|(_, part)| contains(view, part));
                let expected: Vec<u32> = expected.map(|(number, _)| number).collect();
                prop_assert_eq!(found(&trie, view, 10_000).0, Some(expected));
                let n_beginnings = 10_000 - found(&trie, view, 10_000).1;
                prop_assert_eq!(found(&trie, view, n_beginnings), (found(&trie, view, 10_000).0, 0));
                prop_assert_eq!(found(&trie, view, n_beginnings - 1), (None, 0), "one step too few");
            }
        }
    }

    /// It used to be looked for on the program's stack, which ended the process.
    #[test]
    fn a_card_with_two_hundred_thousand_taps_is_looked_through() {
        let long: Vec<u32> = (0..200_000).map(|at| at % 997).collect();
        let views = [vec![0, 1, 2], vec![5; 150], vec![996, 0], long.clone()];
        let mut sorted = views.to_vec();
        sorted.sort_unstable();
        let trie = Trie::of((0..).zip(sorted.iter().map(Vec::as_slice)));
        assert_eq!(found(&trie, &long, 1_000_000).0, Some(vec![0, 1, 2, 3]));
        assert_eq!(found(&trie, &long, 1_000), (None, 0), "and costs what it takes");
    }
}
