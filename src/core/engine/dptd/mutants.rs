//! The engine broken on purpose, for the auditor; and the paper's own version, which is one of them.

use std::num::{NonZeroU32, NonZeroUsize};

use super::{Dptd, Settings, Variant};
use crate::engine::noise::{AnyNoise, NodeClass, Noise, Occupied, TableClass};
use crate::engine::{BrokenForm, Engine, Recorded, World};
use crate::model::Portion;
use crate::seal::SealedWindow;

pub(super) const ALL: &[BrokenForm] = &[
    BrokenForm::new("dptd: as published", |one, two, three| {
        Fault::Published.recorded(one, two, three)
    }),
    BrokenForm::new("dptd: clusters of exact counts", |one, two, three| {
        Fault::ExactHistogram.recorded(one, two, three)
    }),
    BrokenForm::new("dptd: only nodes and moves that occur", |one, two, three| {
        Fault::OccupiedOnly.recorded(one, two, three)
    }),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Published,
    ExactHistogram,
    OccupiedOnly,
}

impl Fault {
    fn recorded(self, world: &World, window: &SealedWindow, noise: &dyn AnyNoise) -> Recorded {
        let variant = if self == Self::Published { Variant::Published } else { Variant::Sound };
        let share = || Portion::parse("0.2").expect("a fifth");
        let settings = Settings {
            epsilon: world.epsilon,
            variant,
            height: world.max_length,
            radius: NonZeroU32::MIN,
            least: 1,
            clusters: share(),
            moves: share(),
            threshold: Some(1),
            max_nodes: 10_000,
            max_length: world.max_length,
            stations: world.stations.clone(),
        };
        let engine = Dptd::new(settings).expect("the auditor's stations have coordinates");
        let bent = Bent { fault: self, noise };
        let recorded = engine.recorded(window, &bent).expect("it tells what it asks");
        recorded.expect("a small window")
    }
}

/// Noise with one fault.
struct Bent<'a> {
    fault: Fault,
    noise: &'a dyn AnyNoise,
}

impl AnyNoise for Bent<'_> {
    fn any_node(&self, level: u32, index: u64) -> Box<dyn Noise + '_> {
        Box::new(BentNode { fault: self.fault, noise: self.noise.any_node(level, index) })
    }

    fn any_table(&self, number: u32, class: TableClass, counts: &mut [i64], threads: NonZeroUsize) {
        if self.fault != Fault::ExactHistogram {
            self.noise.any_table(number, class, counts, threads);
        }
    }
}

struct BentNode<'a> {
    fault: Fault,
    noise: Box<dyn Noise + 'a>,
}

impl Noise for BentNode<'_> {
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        if self.fault != Fault::OccupiedOnly {
            return self.noise.ask(class, n, occupied, kept);
        }
        let near: Vec<Occupied> =
            (0..).zip(occupied).map(|(index, one)| Occupied { index, count: one.count }).collect();
        self.noise.ask(class, near.len() as u64, &near, &mut |index, noisy| {
            let at = usize::try_from(index).expect("few");
            kept(occupied[at].index, noisy);
        });
    }
}
