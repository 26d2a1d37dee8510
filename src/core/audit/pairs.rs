//! Two releases side by side: a window and its revision, a window and the next one. What one release hides, two can
//! show, if their noise is not their own. The keys are made as the program makes them, or wrong on purpose.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::ALPHA;
use super::bounds::{lower, upper};
use super::mechanism::{Audited, Form, Instance, Mechanism};
use super::stage::{Card, Stage};
use crate::model::{Mac, MicroEpsilon, WindowId};
use crate::seal::SealedWindow;
use crate::secret::{NoiseKey, Secret};

/// Which two releases are laid side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pair {
    /// A window, and its revision: one card came late, or none did.
    Revision,
    /// A window, and the next one with the same cards: one card more travels in the second, or none does.
    NextWindow,
}

impl Pair {
    const ALL: [Self; 2] = [Self::Revision, Self::NextWindow];

    pub fn in_words(self) -> &'static str {
        match self {
            Self::Revision => "a window and its revision",
            Self::NextWindow => "a window and the next one",
        }
    }
}

/// How noise is keyed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// As the program does it: window, batch, configuration, revision.
    Program,
    /// By content alone: a revision of the same taps has the same noise, and who sees that knows that none changed.
    WithoutRevision,
    /// One key for every window and batch.
    OneForAll,
}

impl Keys {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Program => "keys of the program",
            Self::WithoutRevision => "a revision keyed by content alone",
            Self::OneForAll => "one key for every window",
        }
    }

    fn key(self, secret: &Secret, window: &SealedWindow, revision: u32) -> NoiseKey {
        let configuration = Stage::configuration();
        let (id, mac) = (window.window().id(), window.mac());
        match self {
            Self::Program => secret.noise_key(id, mac, &configuration, revision),
            Self::WithoutRevision => secret.noise_key(id, mac, &configuration, 0),
            Self::OneForAll => {
                secret.noise_key(WindowId::new(0), &Mac::from_bytes([0; 32]), &configuration, 0)
            }
        }
    }
}

/// What was found about one pair under one way of keying.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PairFinding {
    pub pair: Pair,
    pub keys: Keys,
    /// What both releases together may spend on that one card.
    pub epsilon: MicroEpsilon,
    /// What they surely spend, from whether their rows are equal.
    pub lower_bound: f64,
    pub samples: u64,
}

impl PairFinding {
    /// Whether the program's keys hold, or wrong ones are caught.
    pub fn is_as_it_should_be(&self) -> bool {
        let holds = self.lower_bound <= super::epsilon(self.epsilon);
        holds == (self.keys == Keys::Program)
    }
}

/// Every pair under the program's keys, and those under wrong ones that must show. One engine of trees: keys are not an
/// engine's business.
pub(super) fn audit(form: Form<'_>, samples: u64) -> Vec<PairFinding> {
    let of = |pair: Pair| {
        let wrong = match pair {
            Pair::Revision => Keys::WithoutRevision,
            Pair::NextWindow => Keys::OneForAll,
        };
        [Keys::Program, wrong].map(|keys| finding(form, pair, keys, samples))
    };
    Pair::ALL.into_iter().flat_map(of).collect()
}

/// Little ε, so that noise is rarely equal by chance.
const INSTANCE: Instance = Instance::new(1, 100_000);

fn finding(form: Form<'_>, pair: Pair, keys: Keys, samples: u64) -> PairFinding {
    let stage = form.tiny_stage(INSTANCE.height);
    let engine = |stage: Stage| {
        let instance = INSTANCE.audit_instance(&stage);
        form.build(stage, INSTANCE.epsilon, &instance)
    };
    let second = match pair {
        Pair::Revision => stage.clone(),
        Pair::NextWindow => stage.next(),
    };
    let (first, second) = (engine(stage), engine(second));
    let cards: Vec<Card> = vec![vec![(0, 0)]; 3];
    let more: Vec<Card> = vec![vec![(0, 0)]; 4];
    let equal = |cards_then: &[Card], world: u64| {
        equal_rows((&first, &cards), (&second, cards_then), pair, keys, samples, world)
    };
    let (same, changed) = (equal(&cards, 0), equal(&more, 1));
    // Four bounds a finding, four findings.
    let alpha = ALPHA / 16.0;
    let ratio = |p: u64, q: u64| (lower(p, samples, alpha) / upper(q, samples, alpha)).ln();
    // A revision spends on a late card what it costs; the first release does not hold that card.
    PairFinding {
        pair,
        keys,
        epsilon: INSTANCE.epsilon,
        lower_bound: ratio(same, changed).max(ratio(changed, same)).max(0.0),
        samples,
    }
}

/// How often both releases have the same rows, over so many secrets.
fn equal_rows(
    (first, cards): (&Audited, &[Card]),
    (second, cards_then): (&Audited, &[Card]),
    pair: Pair,
    keys: Keys,
    samples: u64,
    world: u64,
) -> u64 {
    let (one, other) = (first.ready(cards), second.ready(cards_then));
    let revision = u32::from(pair == Pair::Revision);
    let is_equal = |sample: u64| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&(sample << 1 | world).to_le_bytes());
        let secret = Secret::from_bytes(&bytes).expect("32 bytes");
        let shown = first.released(&one, &|_| keys.key(&secret, &one, 0));
        let then = second.released(&other, &|_| keys.key(&secret, &other, revision));
        shown[0].rows() == then[0].rows()
    };
    (0..samples).into_par_iter().filter(|&sample| is_equal(sample)).count() as u64
}
