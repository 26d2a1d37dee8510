//! The engine broken on purpose, for the auditor: each fault is one that a change could bring.
//!
//! A mutant asks what the engine asks, through a source of noise that changes one thing on the way.

use std::num::{NonZeroU32, NonZeroUsize};

use super::engine::recorded;
use super::grow::grow;
use super::plan::Terms;
use super::{NGram, Settings};
use crate::engine::noise::{AnyNoise, NodeClass, Noise, Occupied, Scale, TableClass};
use crate::engine::{BrokenForm, Recorded, World};
use crate::model::{MicroEpsilon, PathKind};
use crate::seal::SealedWindow;

pub(super) const ALL: &[BrokenForm] = &[
    BrokenForm::new("ngram: siblings taken for different cards", |one, two, three| {
        Fault::OneStartACard.recorded(one, two, three)
    }),
    BrokenForm::new("ngram: a level asked twice", |one, two, three| {
        Fault::AskedTwice.recorded(one, two, three)
    }),
    BrokenForm::new("ngram: shares above epsilon", |one, two, three| {
        Fault::SharesAboveEpsilon.recorded(one, two, three)
    }),
    BrokenForm::new("ngram: a clip from exact lengths", |one, two, three| {
        Fault::ExactLengths.recorded(one, two, three)
    }),
    BrokenForm::new("ngram: counts without noise", |one, two, three| {
        Fault::ExactCounts.recorded(one, two, three)
    }),
    BrokenForm::new("ngram: only n-grams that occur", |one, two, three| {
        Fault::OccupiedOnly.recorded(one, two, three)
    }),
    BrokenForm::new("ngram: synthetic rows that read raw data", |one, two, three| {
        Fault::RowsFromData.recorded(one, two, three)
    }),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    OneStartACard,
    AskedTwice,
    SharesAboveEpsilon,
    ExactLengths,
    ExactCounts,
    OccupiedOnly,
    RowsFromData,
}

impl Fault {
    fn recorded(self, world: &World, window: &SealedWindow, noise: &dyn AnyNoise) -> Recorded {
        let terms = self.terms(world, window.window().n_slots());
        let source = Bent { fault: self, noise };
        let mut recorded = recorded(&grow(window.trajectories(), terms, &source));
        if let (Self::RowsFromData, Some(row)) = (self, recorded.rows.first_mut()) {
            row.count += window.trajectories().len() as u64;
        }
        recorded
    }

    /// What is fixed before any answer.
    fn terms(self, world: &World, n_slots: u32) -> Terms {
        let settings = Settings {
            epsilon: world.epsilon,
            longest: NonZeroU32::new(4).expect("not 0"),
            max_nodes: 10_000,
            input: PathKind::Untimed,
            max_length: world.max_length,
            stations: world.stations.clone(),
        };
        let engine = NGram::new(settings, n_slots).expect("an auditor's world fits");
        let mut terms = engine.terms(n_slots);
        if self == Self::SharesAboveEpsilon {
            terms.epsilon = MicroEpsilon::new(terms.epsilon.micro() * 3);
        }
        terms
    }
}

/// A source that hands on what a broken engine would have asked, or tells what one would have been told.
struct Bent<'a> {
    fault: Fault,
    noise: &'a dyn AnyNoise,
}

struct BentNode<'a> {
    fault: Fault,
    noise: Box<dyn Noise + 'a>,
}

impl AnyNoise for Bent<'_> {
    fn any_node(&self, level: u32, index: u64) -> Box<dyn Noise + '_> {
        Box::new(BentNode { fault: self.fault, noise: self.noise.any_node(level, index) })
    }

    fn any_table(&self, number: u32, class: TableClass, counts: &mut [i64], threads: NonZeroUsize) {
        let exact = counts.to_vec();
        self.noise.any_table(number, class, counts, threads);
        if self.fault == Fault::ExactLengths {
            counts.copy_from_slice(&exact);
        }
    }
}

impl Noise for BentNode<'_> {
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        // Every count may be lifted by the same number.
        let lift = if occupied.len() as u64 == n {
            occupied.iter().map(|one| one.count).min()
        } else {
            None
        };
        let occurs = |one: &&Occupied| one.count > lift.unwrap_or(0);
        let is_occupied = |index: u64| occupied.iter().filter(occurs).any(|one| one.index == index);
        match self.fault {
            Fault::OneStartACard => {
                let scale = class.scale();
                let finer = Scale::new(scale.num(), scale.den() * 4).expect("a scale");
                self.noise.ask(&NodeClass::new(finer, class.threshold()), n, occupied, kept);
            }
            Fault::AskedTwice => {
                self.noise.ask(class, n, occupied, &mut |_, _| {});
                self.noise.ask(class, n, occupied, kept);
            }
            Fault::ExactCounts => {
                self.noise.ask(class, n, occupied, &mut |_, _| {});
                occupied.iter().for_each(|one| kept(one.index, one.count));
            }
            Fault::OccupiedOnly => self.noise.ask(class, n, occupied, &mut |index, noisy| {
                if is_occupied(index) {
                    kept(index, noisy);
                }
            }),
            _ => self.noise.ask(class, n, occupied, kept),
        }
    }
}
