//! Whole releases: an attacker learns on half of them what tells a window with the card from one without it, and is
//! believed for the other half. From taps to rows and tables, with the program's own keys, and engines as they ship.

use std::num::NonZeroU32;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde_json::json;

use super::ALPHA;
use super::bounds::{lower, upper};
use super::features::{self, Features, NAMES};
use super::mechanism::{Audited, Mechanism};
use super::mutants::Mutant;
use super::stage::{Card, Stage};
use crate::engine::{Registration, Registry};
use crate::model::MicroEpsilon;
use crate::secret::Secret;

/// What was found about one mechanism.
#[derive(Clone, PartialEq, Debug)]
pub struct WholeFinding {
    /// The engine's name, or what is wrong with it.
    pub about: &'static str,
    /// Whether it was broken on purpose.
    pub is_mutant: bool,
    /// What it claims.
    pub epsilon: MicroEpsilon,
    /// What it surely spends.
    pub lower_bound: f64,
    /// Releases of each of two windows, half of them to learn from.
    pub samples: u64,
    /// What the attacker learned to look at.
    pub event: String,
}

impl WholeFinding {
    /// Whether a true engine holds, or a broken one is caught.
    pub fn is_as_it_should_be(&self) -> bool {
        (self.lower_bound > super::epsilon(self.epsilon)) == self.is_mutant
    }
}

/// Releases to learn from and be judged by, at least.
const LEAST: u64 = 8;

/// A window, and the same with one card more.
struct Scene {
    others: Vec<Card>,
    card: Card,
}

/// Engines as they ship, then mutants that show in nothing less.
pub(super) fn audit(
    registry: &Registry,
    engine: Option<&str>,
    samples: u64,
    progress: &dyn Fn(&str),
) -> Vec<WholeFinding> {
    let audited = |one: &&Registration| one.audit.is_some();
    let mutants = Mutant::seen_whole();
    let n_findings = registry.iter().filter(audited).count() + mutants.len();
    // Two bounds a finding: the event and its direction are chosen before.
    let alpha = ALPHA / (2 * n_findings) as f64;
    let wanted = |one: &&Registration| audited(one) && engine.is_none_or(|name| one.name == name);
    let mut findings = Vec::new();
    for registration in registry.iter().filter(wanted) {
        progress(&format!("whole releases of {} as it ships", registration.name));
        let is_slow = sampled_less(registration) > 1;
        let shipped = shipped(registration, is_slow);
        let samples = (samples / if is_slow { 20 } else { 2 }).max(LEAST);
        let scene = usual_scene(shipped.stage());
        findings.push(finding(&shipped, registration.name, &scene, samples, alpha));
    }
    for mutant in &mutants {
        progress(mutant.in_words());
        let scene = mutant_scene(mutant);
        let found = finding(mutant, mutant.in_words(), &scene, samples.max(LEAST), alpha);
        findings.push(WholeFinding { is_mutant: true, ..found });
    }
    findings
}

/// How many times [`audit`] tells its progress.
pub(super) fn n_steps(registry: &Registry, engine: Option<&str>) -> usize {
    let is_wanted = |one: &&Registration| engine.is_none_or(|name| one.name == name);
    let engines = registry.iter().filter(|one| one.audit.is_some()).filter(is_wanted).count();
    engines + Mutant::seen_whole().len()
}

fn sampled_less(registration: &Registration) -> u64 {
    registration.audit.unwrap_or_default().iter().map(|form| form.sampled_less).max().unwrap_or(1)
}

/// An engine as a new configuration has it. Stations, slots and taps of a card as in the preset `metro200k`; fewer for
/// an engine whose releases take long: a few releases would tell nothing.
fn shipped(registration: &Registration, is_slow: bool) -> Audited {
    let length = |taps: u32| NonZeroU32::new(taps).expect("not 0");
    let stage = if is_slow { Stage::new(6, 4, length(3)) } else { Stage::new(29, 24, length(12)) };
    Audited::new(registration, stage, MicroEpsilon::new(1_000_000), &json!({}))
}

/// Twenty cards that go to work and back, and one whose trip is as long as counts.
fn usual_scene(stage: &Stage) -> Scene {
    let n_slots = stage.window.n_slots();
    let commuter = |number: u32| {
        let home = number % 4;
        vec![(home, n_slots / 4), (4, n_slots / 3), (4, n_slots * 2 / 3), (home, n_slots * 3 / 4)]
    };
    let tap = |index: u32| (5 - index % 2, n_slots / 4 + index);
    let card = (0..stage.max_length.get()).map(tap).collect();
    Scene { others: (0..20).map(commuter).collect(), card }
}

/// Two stations that as many begin at, each with a trip on: what siblings share shows there. The card's tap is the
/// newest of all.
fn mutant_scene(mutant: &Mutant) -> Scene {
    let last_slot = mutant.stage().window.n_slots() - 1;
    let long = mutant.stage().max_length.get() > 1;
    let mut others: Vec<Card> = Vec::new();
    for station in [0, 1].into_iter().filter(|_| long || last_slot > 0) {
        others.extend(vec![vec![(station, 0)]; 40]);
        if long {
            others.extend(vec![vec![(station, 0), (1, 0)]; 40]);
        }
    }
    let card = if long { vec![(0, 0), (1, 0)] } else { vec![(0, last_slot)] };
    Scene { others, card }
}

fn finding<M: Mechanism>(
    mechanism: &M,
    about: &'static str,
    scene: &Scene,
    samples: u64,
    alpha: f64,
) -> WholeFinding {
    let with: Vec<Card> = scene.others.iter().chain([&scene.card]).cloned().collect();
    let worlds = [&scene.others, &with];
    let [without, with] =
        [0, 1].map(|world| releases(mechanism, worlds[world], &scene.card, world as u64, samples));
    let half = without.len() / 2;
    let event = Event::learn(&without[..half], &with[..half]);
    let hits =
        |releases: &[Features]| releases.iter().filter(|one| event.happens(one)).count() as u64;
    let n = (without.len() - half) as u64;
    let (p, q) = match event.more_often_with {
        true => (hits(&with[half..]), hits(&without[half..])),
        false => (hits(&without[half..]), hits(&with[half..])),
    };
    WholeFinding {
        about,
        is_mutant: false,
        epsilon: mechanism.epsilon(),
        lower_bound: (lower(p, n, alpha) / upper(q, n, alpha)).ln().max(0.0),
        samples,
        event: event.in_words(),
    }
}

/// Releases under as many secrets, as numbers.
fn releases<M: Mechanism>(
    mechanism: &M,
    cards: &[Card],
    card: &Card,
    world: u64,
    samples: u64,
) -> Vec<Features> {
    let ready = mechanism.ready(cards);
    let window = mechanism.window(&ready);
    let numbers = |sample: u64| {
        let mut bytes = [7; 32];
        bytes[..8].copy_from_slice(&(sample << 1 | world).to_le_bytes());
        let secret = Secret::from_bytes(&bytes).expect("32 bytes");
        let configuration = Stage::configuration();
        let key = |_| secret.noise_key(window.window().id(), window.mac(), &configuration, 0);
        features::of(&mechanism.released(&ready, &key)[0], card)
    };
    (0..samples).into_par_iter().map(numbers).collect()
}

/// A line through all numbers, or one of them, and where it is cut.
struct Event {
    weights: Features,
    named: Option<usize>,
    side: Side,
    more_often_with: bool,
}

/// Which side of a cut.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Side {
    Below(f64),
    AtLeast(f64),
    Equal(f64),
}

impl Side {
    fn holds(self, score: f64) -> bool {
        match self {
            Self::Below(cut) => score < cut,
            Self::AtLeast(cut) => score >= cut,
            Self::Equal(cut) => score == cut,
        }
    }
}

impl Event {
    /// The event that tells the two windows apart best, by the bounds it would give.
    fn learn(without: &[Features], with: &[Features]) -> Self {
        let line = discriminant(without, with);
        let single = |index: usize| {
            let mut weights = [0.0; NAMES.len()];
            weights[index] = 1.0;
            weights
        };
        let scores = (0..NAMES.len()).map(|index| (single(index), Some(index)));
        let mut best = (f64::MIN, None);
        for (weights, named) in scores.chain([(line, None)]) {
            for side in sides(&weights, without, with) {
                let mut event = Self { weights, named, side, more_often_with: true };
                let hits = |all: &[Features]| all.iter().filter(|one| event.happens(one)).count();
                let (w, o) = (hits(with) as u64, hits(without) as u64);
                let n = without.len() as u64;
                // Rough bounds are enough to choose by.
                let bound = |p: u64, q: u64| (lower(p, n, 1e-4) / upper(q, n, 1e-4)).ln();
                let (forth, back) = (bound(w, o), bound(o, w));
                event.more_often_with = forth >= back;
                if forth.max(back) > best.0 {
                    best = (forth.max(back), Some(event));
                }
            }
        }
        best.1.expect("every score has a cut")
    }

    fn score(weights: &Features, one: &Features) -> f64 {
        weights.iter().zip(one).map(|(weight, number)| weight * number).sum()
    }

    fn happens(&self, one: &Features) -> bool {
        self.side.holds(Self::score(&self.weights, one))
    }

    fn in_words(&self) -> String {
        let what = self.named.map_or("a line through all numbers", |index| NAMES[index]);
        match self.side {
            Side::Below(cut) => format!("{what} < {cut:.3}"),
            Side::AtLeast(cut) => format!("{what} >= {cut:.3}"),
            Side::Equal(cut) => format!("{what} = {cut:.3}"),
        }
    }
}

/// Where a score may be cut: at some of the values it has, and at its commonest values for equality.
fn sides(weights: &Features, without: &[Features], with: &[Features]) -> Vec<Side> {
    const CUTS: usize = 24;
    let mut values: Vec<f64> =
        without.iter().chain(with).map(|one| Event::score(weights, one)).collect();
    values.sort_by(f64::total_cmp);
    let mut cuts: Vec<f64> =
        (0..=CUTS).map(|part| values[part * (values.len() - 1) / CUTS]).collect();
    cuts.dedup();
    let mut common: Vec<(usize, f64)> =
        values.chunk_by(|a, b| a == b).map(|same| (same.len(), same[0])).collect();
    common.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.total_cmp(&b.1)));
    let ordered = cuts.iter().flat_map(|&cut| [Side::AtLeast(cut), Side::Below(cut)]);
    ordered.chain(common.iter().take(8).map(|&(_, value)| Side::Equal(value))).collect()
}

/// Fisher's line with every number by itself: the difference of the means over the variance.
fn discriminant(without: &[Features], with: &[Features]) -> Features {
    let mut line = [0.0; NAMES.len()];
    for (index, weight) in line.iter_mut().enumerate() {
        let moments = |all: &[Features]| {
            let n = all.len().max(1) as f64;
            let mean = all.iter().map(|one| one[index]).sum::<f64>() / n;
            (mean, all.iter().map(|one| (one[index] - mean).powi(2)).sum::<f64>() / n)
        };
        let ((mean_without, spread_without), (mean_with, spread_with)) =
            (moments(without), moments(with));
        let spread = spread_without + spread_with;
        *weight = if spread > 0.0 { (mean_with - mean_without) / spread } else { 0.0 };
    }
    line
}
