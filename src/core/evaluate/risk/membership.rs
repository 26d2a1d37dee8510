//! Membership inference: can somebody who knows every other card tell from a release whether this one was there?
//!
//! On a synthetic twin: the stations and slots are those of the configuration, the cards nobody's. The engine makes
//! many releases with and without one card; half of them teach a linear score which numbers to look at, the other half
//! are told apart by it. This is the attacker that differential privacy is about, so its bound stands beside the
//! figure.

use std::num::NonZeroU32;

use rand_chacha::ChaCha8Rng;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::super::queries::{below, generator};
use super::super::score::rounded;
use crate::engine::{Draft, Engine, Error};
use crate::guarantee::Guarantee;
use crate::model::{Digest, Doublet, StationIx, Window};
use crate::passenger::{CardKey, Tap};
use crate::seal::SealedWindow;
use crate::secret::{NoiseKey, Secret};
use crate::window::OpenWindows;

/// How an attack is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attack {
    /// Cards of the twin besides the target.
    pub n_cards: u32,
    /// Cards that are attacked, one after the other.
    pub n_targets: u32,
    /// Releases with and as many without each target.
    pub n_shadows: u32,
    pub n_stations: u32,
    /// How many doublets of a card count.
    pub max_length: Option<NonZeroU32>,
    pub seed: u64,
}

/// How well it went.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Membership {
    /// Releases that were told apart.
    pub n_tested: u64,
    /// The chance that a release with the card scores above one without: 0.5 is guessing.
    pub auc: f64,
    /// Where it lies 95 times of 100.
    pub low: f64,
    pub high: f64,
    /// What ε allows at most; `None` without differential privacy.
    pub auc_bound: Option<f64>,
    /// True positives less false positives at the threshold that was learned.
    pub advantage: f64,
    /// (e^ε − 1)/(e^ε + 1).
    pub advantage_bound: Option<f64>,
}

/// Attacks an engine; `done` is told after every target.
pub fn attack(
    engine: &dyn Engine,
    window: &Window,
    attack: &Attack,
    done: &dyn Fn(u32),
) -> Result<Membership, Error> {
    let twin = Twin { window, attack };
    let (mut auc, mut variance, mut advantage, mut n_tested) = (0.0, 0.0, 0.0, 0);
    let n_targets = f64::from(attack.n_targets.max(1));
    for target in 0..attack.n_targets {
        let (others, card) = (twin.others(target), twin.target(target));
        let present = twin.shadows(engine, &others, Some(&card), target)?;
        let absent = twin.shadows(engine, &others, None, target)?;
        let half = present.len() / 2;
        let lesson = Lesson::learn(&present[..half], &absent[..half]);
        let scores = |seen: &[Features]| -> Vec<f64> {
            seen[half..].iter().map(|features| lesson.score(features)).collect()
        };
        // Scores of different targets have different scales: each is told apart by itself.
        let (with, without) = (scores(&present), scores(&absent));
        let n = with.len().max(1) as f64;
        let told = |scores: &[f64]| scores.iter().filter(|score| **score > 0.0).count() as f64 / n;
        let own = area(&with, &without);
        auc += own / n_targets;
        variance += variance_of(own, n) / (n_targets * n_targets);
        advantage += (told(&with) - told(&without)) / n_targets;
        n_tested += (with.len() + without.len()) as u64;
        done(target + 1);
    }
    let deviation = variance.sqrt();
    let epsilon = match engine.guarantee() {
        Guarantee::Differential { epsilon_micro, .. } => Some(epsilon_micro.micro() as f64 / 1e6),
        _ => None,
    };
    Ok(Membership {
        n_tested,
        auc: rounded(auc),
        low: rounded((auc - 1.96 * deviation).max(0.0)),
        high: rounded((auc + 1.96 * deviation).min(1.0)),
        auc_bound: epsilon.map(|epsilon| rounded(1.0 / (1.0 + (-epsilon).exp()))),
        advantage: rounded(advantage),
        advantage_bound: epsilon.map(|epsilon| rounded((epsilon / 2.0).tanh())),
    })
}

/// The area under the curve: the chance that one with the card scores above one without, ties counted half.
fn area(with: &[f64], without: &[f64]) -> f64 {
    let mut wins = 0.0;
    for a in with {
        for b in without {
            wins += if a > b {
                1.0
            } else if a == b {
                0.5
            } else {
                0.0
            };
        }
    }
    let pairs = with.len() * without.len();
    if pairs == 0 { 0.5 } else { wins / pairs as f64 }
}

/// The variance of an area from n and n scores (Hanley and McNeil, 1982).
fn variance_of(area: f64, n: f64) -> f64 {
    let (once, twice) = (area / (2.0 - area), 2.0 * area * area / (1.0 + area));
    let spread = (n - 1.0) * (once - area * area) + (n - 1.0) * (twice - area * area);
    (area * (1.0 - area) + spread).max(0.0) / (n * n)
}

const FEATURES: usize = 7;
type Features = [f64; FEATURES];

/// Which numbers of a release tell, and how much: linear discriminant analysis with a diagonal covariance.
struct Lesson {
    weights: Features,
    middle: Features,
}

impl Lesson {
    fn learn(with: &[Features], without: &[Features]) -> Self {
        let mean = |seen: &[Features], at: usize| {
            seen.iter().map(|one| one[at]).sum::<f64>() / seen.len().max(1) as f64
        };
        let (mut weights, mut middle) = ([0.0; FEATURES], [0.0; FEATURES]);
        for at in 0..FEATURES {
            let (a, b) = (mean(with, at), mean(without, at));
            let around = |seen: &[Features], mean: f64| {
                seen.iter().map(|one| (one[at] - mean) * (one[at] - mean)).sum::<f64>()
            };
            let n = (with.len() + without.len()).max(1) as f64;
            let variance = (around(with, a) + around(without, b)) / n;
            weights[at] = (a - b) / (variance + 1e-9);
            middle[at] = (a + b) / 2.0;
        }
        Self { weights, middle }
    }

    /// Above zero: with the card.
    fn score(&self, features: &Features) -> f64 {
        (0..FEATURES).map(|at| self.weights[at] * (features[at] - self.middle[at])).sum()
    }
}

struct Twin<'a> {
    window: &'a Window,
    attack: &'a Attack,
}

impl Twin<'_> {
    fn rng(&self, usage: u64) -> ChaCha8Rng {
        generator(self.attack.seed, 8_000 + usage)
    }

    /// Commuters: out in the first half of the day, back in the second; stations near the first are commoner.
    fn others(&self, target: u32) -> Vec<Vec<Doublet>> {
        let mut rng = self.rng(u64::from(target) * 10);
        let (stations, slots) =
            (u64::from(self.attack.n_stations), u64::from(self.window.n_slots()));
        let common = |rng: &mut ChaCha8Rng| {
            let (a, b) = (below(rng, stations), below(rng, stations));
            a.min(b)
        };
        let commuter = |_| {
            let (home, work) = (common(&mut rng), common(&mut rng));
            let out = below(&mut rng, slots.div_ceil(2));
            let back = out + below(&mut rng, slots - out);
            trip(&[(home, out), (work, out), (work, back), (home, back)])
        };
        (0..self.attack.n_cards).map(commuter).collect()
    }

    /// A card like no other: four taps anywhere.
    fn target(&self, target: u32) -> Vec<Doublet> {
        let mut rng = self.rng(u64::from(target) * 10 + 1);
        let (stations, slots) =
            (u64::from(self.attack.n_stations), u64::from(self.window.n_slots()));
        let taps: Vec<(u64, u64)> =
            (0..4).map(|_| (below(&mut rng, stations), below(&mut rng, slots))).collect();
        trip(&taps)
    }

    /// Releases of the twin, each with its own noise, and what an attacker reads off them about the target.
    fn shadows(
        &self,
        engine: &dyn Engine,
        others: &[Vec<Doublet>],
        card: Option<&[Doublet]>,
        target: u32,
    ) -> Result<Vec<Features>, Error> {
        let sealed = self.sealed(others.iter().map(Vec::as_slice).chain(card));
        let looked_for = self.target(target);
        let world = u8::from(card.is_some());
        (0..self.attack.n_shadows)
            .into_par_iter()
            .map(|shadow| {
                let draft = engine.draft(&sealed, &self.key(target, world, shadow))?;
                Ok(features(&draft, &looked_for))
            })
            .collect()
    }

    /// A key that no release has: of a secret that the seed alone makes.
    fn key(&self, target: u32, world: u8, shadow: u32) -> NoiseKey {
        let text = format!("{} {target} {world} {shadow}", self.attack.seed);
        let digest = Digest::of(text.as_bytes());
        let mac = crate::model::Mac::from_bytes(*digest.bytes());
        secret().noise_key(self.window.id(), &mac, &digest, 0)
    }

    fn sealed<'a>(&self, trips: impl Iterator<Item = &'a [Doublet]>) -> SealedWindow {
        let (secret, id) = (secret(), self.window.id());
        let hasher = secret.card_key(id);
        let slot_millis = u64::try_from(self.window.slot_secs()).unwrap_or(1) * 1_000;
        let mut open = OpenWindows::default();
        for (number, path) in (0_u64..).zip(trips) {
            let card = CardKey::new(&hasher, &number.to_le_bytes());
            for (at, doublet) in (0_u64..).zip(path) {
                let offset = u64::from(doublet.slot) * slot_millis + at;
                let offset = u32::try_from(offset).unwrap_or(u32::MAX);
                open.add(Tap::new(id, card, offset, doublet.station));
            }
        }
        let stamps = open.take(id);
        SealedWindow::freeze(self.window.clone(), stamps, self.attack.max_length, &secret)
    }
}

/// The twin's secret protects nobody: its cards are made up.
fn secret() -> Secret {
    Secret::from_bytes(&[0x7a; 32]).expect("32 bytes")
}

/// Taps in the order of time.
fn trip(taps: &[(u64, u64)]) -> Vec<Doublet> {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let mut path: Vec<Doublet> = taps
        .iter()
        .map(|&(station, slot)| Doublet { station: StationIx(small(station)), slot: small(slot) })
        .collect();
    path.sort_by_key(|at| at.slot);
    path
}

/// What a release says about a card: its whole trip, its doublets, its steps, its cells of the tables.
fn features(draft: &Draft, card: &[Doublet]) -> Features {
    use crate::model::PathKind;
    let plain = |at: &Doublet| match draft.input {
        PathKind::Timed => *at,
        PathKind::Untimed => Doublet { slot: 0, ..*at },
    };
    let card: Vec<Doublet> = card.iter().map(plain).collect();
    let mut found = [0.0; FEATURES];
    for row in &draft.rows {
        let count = row.count as f64;
        let shared = card.iter().filter(|at| row.path.contains(at)).count() as f64;
        let has_step = |step: &&[Doublet]| row.path.windows(2).any(|own| own == *step);
        let steps = card.windows(2).filter(has_step).count() as f64;
        found[0] += if row.path == card { count } else { 0.0 };
        found[1] += shared * count;
        found[2] += steps * count;
        found[3] += count;
    }
    if let Some(tables) = &draft.tables {
        let is_own = |station: StationIx, slot: u32| card.contains(&Doublet { station, slot });
        let cells = tables.stations.iter().filter(|cell| is_own(cell.station, cell.slot));
        found[4] = cells.map(|cell| cell.taps.value as f64).sum();
        let is_step = |from: StationIx, to: StationIx| {
            card.windows(2).any(|step| step[0].station == from && step[1].station == to)
        };
        let legs = tables.od.iter().filter(|leg| is_step(leg.origin, leg.dest));
        found[5] = legs.map(|leg| leg.trips.value as f64).sum();
        let lengths = tables.lengths.iter().filter(|cell| cell.taps as usize == card.len());
        found[6] = lengths.map(|cell| cell.cards.value as f64).sum();
    }
    found
}
