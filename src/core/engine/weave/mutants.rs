//! The engine broken on purpose, for the auditor: each fault is one that a change could bring.
//!
//! A mutant asks what the engine asks, through a source of noise that changes one thing on the way.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use super::measure::{Answers, measure};
use super::plan::Terms;
use super::tables::Name;
use super::weights::UNIT;
use super::{Favour, Settings, Shape, Weave, recorded};
use crate::engine::noise::{AnyNoise, Noise, TableClass};
use crate::engine::{BrokenForm, Recorded, World};
use crate::model::{MicroEpsilon, PathKind};
use crate::passenger::Trajectories;
use crate::seal::SealedWindow;

pub(super) const ALL: &[BrokenForm] = &[
    BrokenForm::new("weave: clip off by one", |one, two, three| {
        Fault::ClipOffByOne.recorded(one, two, three)
    }),
    BrokenForm::new("weave: a table asked twice", |one, two, three| {
        Fault::AskedTwice.recorded(one, two, three)
    }),
    BrokenForm::new("weave: shares above epsilon", |one, two, three| {
        Fault::SharesAboveEpsilon.recorded(one, two, three)
    }),
    BrokenForm::new("weave: a resolution chosen from data", |one, two, three| {
        Fault::ResolutionFromData.recorded(one, two, three)
    }),
    BrokenForm::new("weave: weights rounded up", |one, two, three| {
        Fault::RoundedUp.recorded(one, two, three)
    }),
    BrokenForm::new("weave: synthetic rows that read raw data", |one, two, three| {
        Fault::RowsFromData.recorded(one, two, three)
    }),
    BrokenForm::new("weave: a published table that reads raw data", |one, two, three| {
        Fault::TableFromData.recorded(one, two, three)
    }),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    ClipOffByOne,
    AskedTwice,
    SharesAboveEpsilon,
    ResolutionFromData,
    RoundedUp,
    RowsFromData,
    TableFromData,
}

impl Fault {
    fn recorded(self, world: &World, window: &SealedWindow, noise: &dyn AnyNoise) -> Recorded {
        let terms = self.terms(world, window);
        let trajectories = window.trajectories();
        let source = Bent { fault: self, noise, trajectories, shape: terms.shape };
        let answers: Answers = measure(trajectories, terms, &source, NonZeroUsize::MIN);
        let mut recorded = recorded(&answers);
        let n_cards = trajectories.len() as u64;
        match (self, recorded.rows.first_mut(), &mut recorded.tables) {
            (Self::RowsFromData, Some(row), _) => row.count += n_cards,
            (Self::TableFromData, _, Some(tables)) => tables.stations[0].taps.high += n_cards,
            _ => {}
        }
        recorded
    }

    /// What is fixed before any answer, or should be.
    fn terms(self, world: &World, window: &SealedWindow) -> Terms {
        let settings = Settings {
            epsilon: world.epsilon,
            favour: Favour::Balanced,
            legs: world.legs,
            longest_secs: world.longest_secs,
            input: PathKind::Timed,
            max_length: world.max_length,
            stations: world.stations.clone(),
            threads: world.threads,
        };
        let n_slots = window.window().n_slots();
        let weave = Weave::new(settings, n_slots).expect("an auditor's world fits");
        let mut terms = weave.terms(n_slots, window.window().slot_secs());
        match self {
            Self::SharesAboveEpsilon => {
                terms.epsilon = MicroEpsilon::new(terms.epsilon.micro() * 3 / 2);
            }
            // The universe as large as what occurs.
            Self::ResolutionFromData => {
                let doublets = window.trajectories().doublets();
                let last = doublets.iter().map(|doublet| doublet.station.0).max();
                terms.shape.stations = last.unwrap_or(0) + 1;
            }
            _ => {}
        }
        terms
    }
}

/// A source that hands on what a broken engine would have asked in place of the true question about occupancy.
struct Bent<'a> {
    fault: Fault,
    noise: &'a dyn AnyNoise,
    trajectories: &'a Trajectories,
    shape: Shape,
}

impl Bent<'_> {
    /// Occupancy with a clip of so many units, and weights rounded up, or down as they should be.
    fn occupancy(&self, most: u64, up: bool, counts: &mut [i64]) {
        counts.fill(0);
        for ix in 0..self.trajectories.len() {
            let path = self.trajectories.get(ix).iter().take(self.shape.longest as usize);
            let cells: BTreeSet<u32> =
                path.map(|doublet| doublet.station.0 * self.shape.slots + doublet.slot).collect();
            let n = cells.len().max(1) as u64;
            let cut = if up { most.div_ceil(n) } else { most / n };
            let units = cut.min(u64::from(UNIT)).cast_signed();
            cells.into_iter().for_each(|cell| counts[cell as usize] += units);
        }
    }
}

impl AnyNoise for Bent<'_> {
    fn any_node(&self, level: u32, index: u64) -> Box<dyn Noise + '_> {
        self.noise.any_node(level, index)
    }

    fn any_table(&self, number: u32, class: TableClass, counts: &mut [i64], threads: NonZeroUsize) {
        if number == Name::Occupancy as u32 {
            match self.fault {
                Fault::ClipOffByOne => {
                    self.occupancy(class.most + u64::from(UNIT), false, counts);
                }
                Fault::RoundedUp => self.occupancy(class.most, true, counts),
                Fault::AskedTwice => {
                    self.noise.any_table(number, class, &mut counts.to_vec(), threads);
                }
                _ => {}
            }
        }
        self.noise.any_table(number, class, counts, threads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::weave::tables::Occupancy;
    use crate::engine::weave::tests::{cards, city, terms};

    /// The bent source without a fault counts what the engine counts: mutants differ from it in their fault alone.
    #[test]
    fn the_mutants_own_occupancy_is_the_engines() {
        let mut paths = city(6, 4, 24, 4);
        let busy = [0, 1, 1, 0, 2, 3, 3, 2, 0, 3, 4];
        paths.push((0..).zip(busy).map(|(slot, station)| (station, slot * 2)).collect());
        let (terms, all) = (terms(5, 24, 24, 1_000_000), cards(&paths));
        let key = crate::secret::NoiseKey::for_test(1);
        let shape = terms.shape;
        let bent = Bent { fault: Fault::RowsFromData, noise: &key, trajectories: &all, shape };
        for clip in [1, 3, 6, 8] {
            let clip = std::num::NonZeroU32::new(clip).unwrap();
            let asked: [(&dyn super::super::tables::Table, _); 1] = [(&Occupancy(shape), clip)];
            let exact =
                super::super::measure::count(&all, terms, &asked, NonZeroUsize::MIN).swap_remove(0);
            let mut own = vec![0; exact.len()];
            bent.occupancy(u64::from(clip.get()) * u64::from(UNIT), false, &mut own);
            assert_eq!(exact, own, "clip {clip}");
        }
    }
}
