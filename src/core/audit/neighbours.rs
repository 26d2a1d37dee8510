//! Neighbouring windows for an audit: some cards, and the same with one more.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::stage::{Card, Stage};

/// Where the one card more travels.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    EmptyPath,
    CrowdedPath,
    Longest,
    OnlyCard,
}

impl Kind {
    pub(super) fn of(number: u64) -> Self {
        [Self::EmptyPath, Self::CrowdedPath, Self::Longest, Self::OnlyCard][(number % 4) as usize]
    }
}

/// Two neighbouring windows: these cards, and the same with one more.
pub(super) struct Pair {
    pub(super) cards: Vec<Card>,
    pub(super) more: Card,
}

impl Pair {
    pub(super) fn new(chance: &mut Chance, stage: &Stage, kind: Kind) -> Self {
        let longest = stage.max_length.get() + 2;
        let mut cards: Vec<Card> =
            (0..chance.below(12)).map(|_| chance.card(stage, None)).collect();
        let more = match kind {
            Kind::EmptyPath => {
                // A first place nobody is at, if there is one; otherwise whatever comes.
                let tries: Vec<Card> = (0..20).map(|_| chance.card(stage, None)).collect();
                let is_new = |card: &&Card| cards.iter().all(|other| other[0] != card[0]);
                tries.iter().find(is_new).unwrap_or(&tries[0]).clone()
            }
            Kind::CrowdedPath => {
                let crowd = chance.card(stage, None);
                cards.extend(vec![crowd.clone(); 9]);
                crowd
            }
            Kind::Longest => chance.card(stage, Some(longest)),
            Kind::OnlyCard => {
                cards.clear();
                chance.card(stage, None)
            }
        };
        Self { cards, more }
    }
}

/// Randomness with a fixed seed, for windows.
pub(super) struct Chance(ChaCha20Rng);

impl Chance {
    pub(super) fn new(seed: u8) -> Self {
        Self(ChaCha20Rng::from_seed([seed; 32]))
    }

    pub(super) fn below(&mut self, n: u32) -> u32 {
        self.0.next_u32() % n
    }

    /// A card with a trip of this length, or of any, longer ones than count included.
    fn card(&mut self, stage: &Stage, length: Option<u32>) -> Card {
        let n_taps = length.unwrap_or_else(|| 1 + self.below(stage.max_length.get() + 2));
        let (n_stations, n_slots) = (stage.stations.len(), stage.window.n_slots());
        let mut card: Card =
            (0..n_taps).map(|_| (self.below(n_stations), self.below(n_slots))).collect();
        card.sort_by_key(|tap| tap.1);
        card
    }
}
