//! A source that answers without looking at the counts, and writes every question down.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::engine::noise::{AnyNoise, NodeClass, Noise, Occupied, Scale, TableClass};

/// One question as it was asked.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Question {
    pub(super) scale: Scale,
    pub(super) threshold: u64,
    pub(super) counts: Vec<u64>,
}

type Asked = BTreeMap<(u32, u64), Question>;

pub(super) struct Scripted {
    seed: u64,
    asked: Mutex<Asked>,
}

impl Scripted {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, asked: Mutex::default() }
    }

    /// By level and index.
    pub(super) fn asked(&self) -> Asked {
        self.asked.lock().unwrap().clone()
    }

    fn rng(&self, level: u32, index: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(self.seed ^ u64::from(level) << 40 ^ index)
    }

    fn write(&self, at: (u32, u64), question: Question) {
        let before = self.asked.lock().unwrap().insert(at, question);
        assert!(before.is_none(), "{at:?} is asked twice");
    }
}

struct Node<'a> {
    source: &'a Scripted,
    at: (u32, u64),
}

impl AnyNoise for Scripted {
    fn any_node(&self, level: u32, index: u64) -> Box<dyn Noise + '_> {
        Box::new(Node { source: self, at: (level, index) })
    }

    fn any_table(&self, number: u32, class: TableClass, counts: &mut [i64], _: NonZeroUsize) {
        let exact = counts.iter().map(|&count| count.unsigned_abs()).collect();
        self.write((number, 0), Question { scale: class.scale, threshold: 0, counts: exact });
        let mut rng = self.rng(number, 0);
        counts.iter_mut().for_each(|count| *count = i64::from(rng.next_u32() % 200) - 20);
    }
}

impl Noise for Node<'_> {
    /// Mostly little, now and then much, around what lifts every count.
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        let mut counts = vec![0; usize::try_from(n).unwrap()];
        occupied.iter().for_each(|one| counts[one.index as usize] = one.count);
        let (scale, threshold) = (class.scale(), class.threshold());
        self.source.write(self.at, Question { scale, threshold, counts });
        let mut rng = self.source.rng(self.at.0, self.at.1);
        let unit = scale.num() / scale.den();
        for index in 0..n {
            let size = u64::from(rng.next_u32() % 8);
            kept(index, unit * 38 + unit * size * size * size);
        }
    }
}
