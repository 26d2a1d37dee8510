//! Asks the tables: exact sums of clipped weights, exact noise, nothing else reads trajectories.

use std::borrow::Cow;
use std::num::{NonZeroU32, NonZeroUsize};

use super::plan::{FIRST_SHARE, KnownLengths, Plan, Split, Terms, scale};
use super::tables::{Cards, Lengths, Name, Table};
use super::walk::Walk;
use super::weights::{Contribution, UNIT};
use super::{Legs, threads};
use crate::engine::noise::{AnyNoise, NodeClass, Occupied, Scale, TableClass};
use crate::passenger::Trajectories;

/// All answers of a release. From here on nothing reads the trajectories.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    pub(crate) plan: Plan,
    /// Noisy cells in units, by table; empty where a table was not asked.
    dense: Vec<Vec<i64>>,
    /// The sparse table: cells that reached the threshold, ascending.
    pub(crate) loops: Vec<(u64, u64)>,
}

impl Answers {
    /// A table's noisy cells, in units; empty if it was not asked.
    pub(crate) fn of(&self, name: Name) -> &[i64] {
        &self.dense[name as usize]
    }

    /// How many cards there are, at least one.
    pub(crate) fn n_cards(&self) -> u64 {
        cards(self.of(Name::Cards)[0])
    }
}

impl Answers {
    /// What a synthetic window is compared with. Where only cards tell legs from other steps, the two kinds are added
    /// up: a sum of two noisy cells is a cell of the table that has one kind.
    pub(super) fn for_synthetic(&self) -> Cow<'_, Self> {
        if !self.plan.moves.kinds.are_known_of_cards_alone() {
            return Cow::Borrowed(self);
        }
        let mut together = Self { plan: self.plan.with_kinds_together(), ..self.clone() };
        for name in [Name::Pairs, Name::Moves] {
            let cells = &self.dense[name as usize];
            let (legs, others) = cells.split_at(cells.len() / 2);
            together.dense[name as usize] = legs.iter().zip(others).map(|(a, b)| a + b).collect();
        }
        Cow::Owned(together)
    }
}

/// A noisy number of cards as a count of at least one.
fn cards(noisy: i64) -> u64 {
    let unit = i64::from(UNIT);
    // A bound that no window reaches: a draw of noise must not fill the memory.
    (noisy.saturating_add(unit / 2) / unit).clamp(1, 1 << 26).unsigned_abs()
}

/// What a clip is in units.
fn units(clip: NonZeroU32) -> u64 {
    u64::from(clip.get()) * u64::from(UNIT)
}

/// A question about a table: noise of this scale, and a card changes it by at most its clip.
fn class(scale: Scale, clip: NonZeroU32) -> TableClass {
    TableClass { scale, most: units(clip) }
}

/// Asks everything: how many cards; how many taps they have; and, by the plan that follows, the rest.
pub(crate) fn measure(
    trajectories: &Trajectories,
    terms: Terms,
    source: &dyn AnyNoise,
    threads: NonZeroUsize,
) -> Answers {
    let one = NonZeroU32::MIN;
    let ask = |name: Name, table: &dyn Table, share: u32| {
        let mut counts = count(trajectories, terms, &[(table, one)], threads).swap_remove(0);
        let class = class(scale(terms.epsilon, share, one), one);
        source.any_table(name as u32, class, &mut counts, threads);
        counts
    };
    let n_cards = ask(Name::Cards, &Cards, FIRST_SHARE);
    let split = Split::new(&terms, cards(n_cards[0]));
    let share = split.of(Name::Lengths);
    let lengths =
        if share > 0 { ask(Name::Lengths, &Lengths(terms.shape), share) } else { Vec::new() };
    let known = KnownLengths {
        cards: cards(n_cards[0]),
        noisy: &lengths,
        scale: scale(terms.epsilon, share.max(1), one),
    };
    let plan = Plan::new(terms, split, &known);
    let mut dense: Vec<Vec<i64>> = Name::ALL.map(|_| Vec::new()).into();
    let rest: Vec<Name> = Name::ALL
        .into_iter()
        .filter(|&name| {
            plan.asks(name) && !matches!(name, Name::Cards | Name::Lengths | Name::Loops)
        })
        .collect();
    let tables: Vec<Box<dyn Table>> = rest.iter().map(|&name| plan.table(name)).collect();
    let asked: Vec<(&dyn Table, NonZeroU32)> =
        rest.iter().zip(&tables).map(|(&name, table)| (&**table, plan.clip(name))).collect();
    for (&name, mut counts) in rest.iter().zip(count(trajectories, terms, &asked, threads)) {
        let class = class(plan.scale(name), plan.clip(name));
        source.any_table(name as u32, class, &mut counts, threads);
        dense[name as usize] = counts;
    }
    dense[Name::Cards as usize] = n_cards;
    dense[Name::Lengths as usize] = lengths;
    let loops = if plan.asks(Name::Loops) {
        loops(trajectories, &plan, source, threads)
    } else {
        Vec::new()
    };
    Answers { plan, dense, loops }
}

/// The exact sums of what all cards add to some tables.
pub(super) fn count(
    trajectories: &Trajectories,
    terms: Terms,
    tables: &[(&dyn Table, NonZeroU32)],
    threads: NonZeroUsize,
) -> Vec<Vec<i64>> {
    let stretches = threads::stretches(trajectories.len(), threads.get().min(4));
    let partial = threads::map(threads, stretches, |stretch| {
        let size =
            |table: &dyn Table| usize::try_from(table.n_cells()).expect("the plan bounds tables");
        let mut sums: Vec<Vec<i64>> =
            tables.iter().map(|(table, _)| vec![0; size(*table)]).collect();
        let (mut walk, mut cells) = (Walk::new(), Contribution::default());
        for ix in stretch {
            walk.read_taps(trajectories.get(ix), trajectories.kinds(ix), terms.shape, terms.legs);
            for ((table, clip), sums) in tables.iter().zip(&mut sums) {
                cells.clear();
                table.cells(&walk, &mut cells);
                cells.clip(*clip);
                for &(cell, units) in cells.cells() {
                    sums[cell as usize] += i64::from(units);
                }
            }
        }
        sums
    });
    // Whole numbers: however the cards were shared out, the sums are the same.
    let add = |mut all: Vec<Vec<i64>>, more: Vec<Vec<i64>>| {
        for (sum, more) in all.iter_mut().flatten().zip(more.iter().flatten()) {
            *sum += more;
        }
        all
    };
    partial.into_iter().reduce(add).expect("there is at least one stretch")
}

/// The sparse table: occupied cells counted, empty ones walked over.
fn loops(
    trajectories: &Trajectories,
    plan: &Plan,
    source: &dyn AnyNoise,
    threads: NonZeroUsize,
) -> Vec<(u64, u64)> {
    let (table, clip) = (plan.loops, plan.clip(Name::Loops));
    let stretches = threads::stretches(trajectories.len(), threads.get());
    let found = threads::map(threads, stretches, |stretch| {
        let (mut walk, mut cells) = (Walk::new(), Contribution::default());
        let mut found: Vec<(u64, u32)> = Vec::new();
        for ix in stretch {
            walk.read_taps(trajectories.get(ix), &[], plan.shape(), Legs::Next);
            cells.clear();
            table.cells(&walk, &mut cells);
            cells.clip(clip);
            found.extend_from_slice(cells.cells());
        }
        found.sort_unstable();
        found
    });
    let mut all: Vec<(u64, u32)> = found.concat();
    all.sort();
    let sum = |same: &[(u64, u32)]| Occupied {
        index: same[0].0,
        count: same.iter().map(|&(_, units)| u64::from(units)).sum(),
    };
    let occupied: Vec<Occupied> = all.chunk_by(|a, b| a.0 == b.0).map(sum).collect();
    let class =
        NodeClass::new(plan.scale(Name::Loops), plan.threshold()).changed_by_at_most(units(clip));
    let mut kept = Vec::new();
    source.any_node(Name::Loops as u32, 0).ask(
        &class,
        table.n_cells(),
        &occupied,
        &mut |cell, noisy| kept.push((cell, noisy)),
    );
    kept.sort_unstable();
    kept
}
