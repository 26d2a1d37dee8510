//! The recorded audit: every question about a window, its scale and its noisy answer are written down; its
//! neighbour, one card more, is given the same answers. Then the questions must be the same, and what the counts
//! differ by, each over its scale, must add up to at most ε: the claim of the proofs, in exact fractions.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Mutex;

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::Zero;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::mechanism::{Form, Instance, Mechanism};
use super::stage::{Card, Stage};
use crate::engine::AuditInstance;
use crate::engine::noise::{NodeClass, Noise, NoiseSource, Occupied, Scale};
use crate::model::MicroEpsilon;

/// Compares pairs under engines of many heights, budgets, thresholds and universes; what breaks first, if anything does.
pub(super) fn audit_form(form: Form<'_>, n_pairs: u64) -> Option<String> {
    let mut chance = Chance::new(1);
    (0..n_pairs).find_map(|number| {
        let n_slots = [1, 2, 3, 4, 6][chance.below(5) as usize];
        let max_length = NonZeroU32::new(1 + chance.below(4)).expect("at least 1");
        let stage = Stage::new(2 + chance.below(7), n_slots, max_length);
        let height = 1 + chance.below(max_length.get());
        let micro = [1, 100_000, 1_000_000, 2_000_000, 7_000_003][chance.below(5) as usize];
        let own = chance.below(3) == 0;
        let instance = Instance::new(height, micro);
        let instance = AuditInstance {
            threshold: if own { None } else { Some(1) },
            max_nodes: 1 + u64::from(chance.below(200)),
            ..instance.audit_instance(&stage)
        };
        let pair = Pair::new(&mut chance, &stage, Kind::of(number));
        compare(&form.build(stage, MicroEpsilon::new(micro), &instance), &pair, number)
    })
}

/// Compares pairs under one mechanism in its own world; what breaks first, if anything does.
pub(super) fn audit(mechanism: &impl Mechanism, n_pairs: u64) -> Option<String> {
    let mut chance = Chance::new(2);
    (0..n_pairs).find_map(|number| {
        let pair = Pair::new(&mut chance, mechanism.stage(), Kind::of(number));
        compare(mechanism, &pair, number)
    })
}

/// Where the one card more travels.
#[derive(Clone, Copy, Debug)]
enum Kind {
    EmptyPath,
    CrowdedPath,
    Longest,
    OnlyCard,
}

impl Kind {
    fn of(number: u64) -> Self {
        [Self::EmptyPath, Self::CrowdedPath, Self::Longest, Self::OnlyCard][(number % 4) as usize]
    }
}

/// Two neighbouring windows: these cards, and the same with one more.
struct Pair {
    cards: Vec<Card>,
    more: Card,
}

impl Pair {
    fn new(chance: &mut Chance, stage: &Stage, kind: Kind) -> Self {
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
struct Chance(ChaCha20Rng);

impl Chance {
    fn new(seed: u8) -> Self {
        Self(ChaCha20Rng::from_seed([seed; 32]))
    }

    fn below(&mut self, n: u32) -> u32 {
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

/// What breaks the claim for this pair, if anything does.
fn compare<M: Mechanism>(mechanism: &M, pair: &Pair, seed: u64) -> Option<String> {
    let recorder = Recorder { seed, asked: Mutex::default() };
    // An engine that asks in another way is audited by its own tests.
    let before = mechanism
        .recorded(&mechanism.ready(&pair.cards), &|n| Box::new(Take { recorder: &recorder, n }))?;
    let transcript = recorder.asked.into_inner().expect("nobody panicked while asking");
    let replayer = Replayer { transcript: &transcript, so_far: Mutex::default() };
    let with: Vec<Card> = pair.cards.iter().chain([&pair.more]).cloned().collect();
    let after = mechanism
        .recorded(&mechanism.ready(&with), &|n| Box::new(Again { replayer: &replayer, n }))?;
    let so_far = replayer.so_far.into_inner().expect("nobody panicked while asking");
    if let Some(breach) = so_far.breach {
        return Some(breach);
    }
    if so_far.n_asked != transcript.len() {
        return Some("a question is asked only without the card".to_owned());
    }
    if before.iter().zip(&after).any(|(before, after)| before.rows() != after.rows()) {
        return Some("the same answers give other rows".to_owned());
    }
    let claimed = fraction(mechanism.epsilon());
    (claimed < so_far.cost).then(|| format!("one card costs {}, not {claimed}", so_far.cost))
}

fn fraction(epsilon: MicroEpsilon) -> Ratio<BigUint> {
    Ratio::new(epsilon.micro().into(), 1_000_000_u32.into())
}

/// Which question: the release, the node, and the how-manieth about that node.
type Place = (u64, u32, u64, u32);

/// One question, about all candidates of a class below a node, with its answers.
struct Question {
    scale: Scale,
    threshold: u64,
    counts: Vec<u64>,
    answers: Vec<i128>,
}

/// Every candidate's count, the empty ones' too.
fn dense(n: u64, occupied: &[Occupied]) -> Vec<u64> {
    let at = |place: u64| usize::try_from(place).expect("few candidates");
    let mut counts = vec![0; at(n)];
    occupied.iter().for_each(|candidate| counts[at(candidate.place)] = candidate.count);
    counts
}

fn tell(answers: &[i128], threshold: u64, kept: &mut dyn FnMut(u64, u64)) {
    for (place, &answer) in (0..).zip(answers) {
        if let Ok(noisy) = u64::try_from(answer)
            && noisy >= threshold
        {
            kept(place, noisy);
        }
    }
}

/// Draws noise for every candidate by itself and writes everything down.
struct Recorder {
    seed: u64,
    asked: Mutex<BTreeMap<Place, Question>>,
}

/// The recorder's noise for one release.
struct Take<'a> {
    recorder: &'a Recorder,
    n: u64,
}

/// The recorder's noise for one node.
struct TakeNode<'a> {
    recorder: &'a Recorder,
    place: Place,
    rng: ChaCha20Rng,
}

impl<'a> NoiseSource for Take<'a> {
    type Node = TakeNode<'a>;

    fn node(&self, level: u32, place: u64) -> TakeNode<'a> {
        let mut rng = ChaCha20Rng::seed_from_u64(self.recorder.seed);
        rng.set_stream(self.n << 60 | u64::from(level) << 40 | place);
        TakeNode { recorder: self.recorder, place: (self.n, level, place, 0), rng }
    }
}

impl Noise for TakeNode<'_> {
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        let counts = dense(n, occupied);
        let noise = class.noise();
        let answers: Vec<i128> = counts
            .iter()
            .map(|&count| i128::from(count) + i128::from(noise.draw(&mut self.rng)))
            .collect();
        tell(&answers, class.threshold(), kept);
        let question =
            Question { scale: class.scale(), threshold: class.threshold(), counts, answers };
        let mut asked = self.recorder.asked.lock().expect("nobody panics while asking");
        asked.insert(self.place, question);
        self.place.3 += 1;
    }
}

/// Gives the recorded answers, and adds up what the counts differ by.
struct Replayer<'a> {
    transcript: &'a BTreeMap<Place, Question>,
    so_far: Mutex<SoFar>,
}

struct SoFar {
    n_asked: usize,
    cost: Ratio<BigUint>,
    breach: Option<String>,
}

impl Default for SoFar {
    fn default() -> Self {
        Self { n_asked: 0, cost: Ratio::zero(), breach: None }
    }
}

struct Again<'a> {
    replayer: &'a Replayer<'a>,
    n: u64,
}

struct AgainNode<'a> {
    replayer: &'a Replayer<'a>,
    place: Place,
}

impl<'a> NoiseSource for Again<'a> {
    type Node = AgainNode<'a>;

    fn node(&self, level: u32, place: u64) -> AgainNode<'a> {
        AgainNode { replayer: self.replayer, place: (self.n, level, place, 0) }
    }
}

impl Noise for AgainNode<'_> {
    fn ask(
        &mut self,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
        kept: &mut dyn FnMut(u64, u64),
    ) {
        let mut so_far = self.replayer.so_far.lock().expect("nobody panics while asking");
        let counts = dense(n, occupied);
        let same = self.replayer.transcript.get(&self.place).filter(|recorded| {
            let Question { scale, threshold, counts: before, .. } = recorded;
            (*scale, *threshold, before.len()) == (class.scale(), class.threshold(), counts.len())
        });
        self.place.3 += 1;
        let Some(recorded) = same else {
            so_far.breach.get_or_insert("another question is asked with the card".to_owned());
            return;
        };
        so_far.n_asked += 1;
        let changed: u64 =
            recorded.counts.iter().zip(&counts).map(|(before, now)| before.abs_diff(*now)).sum();
        let scale = recorded.scale;
        so_far.cost += Ratio::new(BigUint::from(changed) * scale.den(), scale.num().into());
        tell(&recorded.answers, recorded.threshold, kept);
    }
}
