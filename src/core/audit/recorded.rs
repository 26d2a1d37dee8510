//! The recorded audit: every question about a window, its scale and its noisy answer are written down; its
//! neighbour, one card more, is given the same answers. Then the questions must be the same, and what the counts
//! differ by, each over its scale, must add up to at most ε: the claim of the proofs, in exact fractions.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Mutex;

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::Zero;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::mechanism::{Broken, Form, Instance, Mechanism};
use super::neighbours::{Chance, Kind, Pair};
use super::stage::{Card, Stage};
use crate::engine::AuditInstance;
use crate::engine::noise::{
    DiscreteLaplace, NodeClass, Noise, NoiseSource, Occupied, Scale, TableClass, TableNoise,
};
use crate::model::MicroEpsilon;

/// Compares pairs under engines of many heights, budgets, thresholds and universes; what breaks first, if anything
/// does.
pub(super) fn audit_form(form: Form<'_>, n_pairs: u64) -> Option<String> {
    let mut chance = Chance::new(1);
    (0..n_pairs).find_map(|number| {
        let n_slots = [1, 2, 3, 4, 6][chance.below(5) as usize];
        let max_length = NonZeroU32::new(1 + chance.below(4)).expect("at least 1");
        let stage = Stage::new(2 + chance.below(7), n_slots, max_length);
        let height = 1 + chance.below(max_length.get());
        let micro = [1, 100_000, 1_000_000, 2_000_000, 7_000_003][chance.below(5) as usize];
        let micro = form.form.least_epsilon.micro().max(micro);
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

/// Compares pairs under the true engine in the world in which its broken forms are caught.
pub(super) fn audit_unbroken(form: Form<'_>, n_pairs: u64) -> Option<String> {
    if form.form.broken.is_empty() {
        return None;
    }
    let (stage, epsilon) = (Broken::stage(), form.form.least_epsilon);
    let instance = Instance { height: Broken::LENGTH.get(), epsilon }.audit_instance(&stage);
    audit(&form.build(stage, epsilon, &instance), n_pairs)
}

/// Compares pairs under one mechanism in its own world; what breaks first, if anything does.
pub(super) fn audit(mechanism: &impl Mechanism, n_pairs: u64) -> Option<String> {
    let mut chance = Chance::new(2);
    (0..n_pairs).find_map(|number| {
        let pair = Pair::new(&mut chance, mechanism.stage(), Kind::of(number));
        compare(mechanism, &pair, number)
    })
}

/// What breaks the claim for this pair, if anything does.
fn compare<M: Mechanism>(mechanism: &M, pair: &Pair, seed: u64) -> Option<String> {
    let recorder = Recorder { seed, asked: Mutex::default() };
    let Some(before) = mechanism
        .recorded(&mechanism.ready(&pair.cards), &|n| Box::new(Take { recorder: &recorder, n }))
    else {
        return Some("its questions cannot be written down".to_owned());
    };
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
    let both = || before.iter().zip(&after);
    if both().any(|(before, after)| before.rows() != after.rows()) {
        return Some("the same answers give other rows".to_owned());
    }
    if both().any(|(before, after)| before.tables() != after.tables()) {
        return Some("the same answers give other tables".to_owned());
    }
    let claimed = fraction(mechanism.epsilon());
    (claimed < so_far.cost).then(|| format!("one card costs {}, not {claimed}", so_far.cost))
}

/// Which tables and levels an engine asks about under recorded answers.
#[cfg(test)]
pub(super) fn tables_asked(form: Form<'_>, seed: u64) -> Vec<u32> {
    let (stage, epsilon) = (Broken::stage(), form.form.least_epsilon);
    let pair = Pair::new(&mut Chance::new(3), &stage, Kind::of(seed));
    let instance = Instance { height: Broken::LENGTH.get(), epsilon }.audit_instance(&stage);
    let engine = form.build(stage, epsilon, &instance);
    let recorder = Recorder { seed, asked: Mutex::default() };
    engine.recorded(&engine.ready(&pair.cards), &|n| Box::new(Take { recorder: &recorder, n }));
    let asked = recorder.asked.into_inner().expect("nobody panicked while asking");
    asked.into_keys().map(|index| index.1).collect()
}

fn fraction(epsilon: MicroEpsilon) -> Ratio<BigUint> {
    Ratio::new(epsilon.micro().into(), 1_000_000_u32.into())
}

/// Which question: the release, the node or table, and the how-manieth about it.
type Place = (u64, u32, u64, u32);

/// The place of a whole table; no node is there.
const TABLE: u64 = u64::MAX;

/// One question, about candidates that are told from a threshold on, or about a table that is told in full.
struct Question {
    scale: Scale,
    threshold: Option<u64>,
    /// What one card is said to change all counts by, at most and together.
    most: Option<u64>,
    counts: Vec<i128>,
    answers: Vec<i128>,
}

impl Question {
    /// A question about candidates, the empty ones' counts too.
    fn about(class: &NodeClass, n: u64, occupied: &[Occupied]) -> Self {
        let at = |index: u64| usize::try_from(index).expect("few candidates");
        let mut counts = vec![0; at(n)];
        occupied.iter().for_each(|candidate| counts[at(candidate.index)] = candidate.count.into());
        let (scale, threshold) = (class.scale(), Some(class.threshold()));
        Self { scale, threshold, most: class.most(), counts, answers: Vec::new() }
    }

    fn about_table(class: TableClass, counts: &[i64]) -> Self {
        let counts = counts.iter().map(|&count| count.into()).collect();
        let (scale, most) = (class.scale, Some(class.most));
        Self { scale, threshold: None, most, counts, answers: Vec::new() }
    }

    fn is_same(&self, other: &Self) -> bool {
        let asked = |one: &Self| (one.scale, one.threshold, one.most, one.counts.len());
        asked(self) == asked(other)
    }

    fn tell(&self, kept: &mut dyn FnMut(u64, u64)) {
        for (index, &answer) in (0..).zip(&self.answers) {
            if let Ok(noisy) = u64::try_from(answer)
                && self.threshold.is_none_or(|threshold| noisy >= threshold)
            {
                kept(index, noisy);
            }
        }
    }

    fn tell_all(&self, counts: &mut [i64]) {
        for (count, answer) in counts.iter_mut().zip(&self.answers) {
            *count = i64::try_from(*answer).expect("a recorded answer has 64 bits");
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

impl Take<'_> {
    fn rng(&self, level: u32, index: u64) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::seed_from_u64(self.recorder.seed);
        rng.set_stream(self.n << 60 | u64::from(level) << 40 | index);
        rng
    }
}

/// The recorder's noise for one node.
struct TakeNode<'a> {
    recorder: &'a Recorder,
    index: Place,
    rng: ChaCha20Rng,
}

impl<'a> NoiseSource for Take<'a> {
    type Node = TakeNode<'a>;

    fn node(&self, level: u32, index: u64) -> TakeNode<'a> {
        let rng = self.rng(level, index);
        TakeNode { recorder: self.recorder, index: (self.n, level, index, 0), rng }
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
        let mut question = Question::about(class, n, occupied);
        let noise = class.noise();
        let noisy = |&count: &i128| count + i128::from(noise.draw(&mut self.rng));
        question.answers = question.counts.iter().map(noisy).collect();
        question.tell(kept);
        let mut asked = self.recorder.asked.lock().expect("nobody panics while asking");
        asked.insert(self.index, question);
        self.index.3 += 1;
    }
}

/// How often a table was asked about before.
fn times_asked(asked: &BTreeMap<Place, Question>, n: u64, number: u32) -> u32 {
    let before = asked.range((n, number, TABLE, 0)..=(n, number, TABLE, u32::MAX)).count();
    u32::try_from(before).expect("a table is asked a few times")
}

impl TableNoise for Take<'_> {
    /// The claim holds for every answer, so answers need not be likely: most windows are answered as if they had
    /// many more cards, because an engine asks its finer questions only then.
    fn table(&self, number: u32, class: TableClass, counts: &mut [i64], _: NonZeroUsize) {
        const SCALES: [i128; 4] = [0, 24, 120, 120];
        let more = SCALES[(self.recorder.seed % 4) as usize] * i128::from(class.scale.num())
            / i128::from(class.scale.den())
            / counts.len().max(1) as i128;
        let noise = DiscreteLaplace::new(class.scale);
        let mut rng = self.rng(number, 0);
        let mut question = Question::about_table(class, counts);
        let noisy = |&count: &i128| count + more + i128::from(noise.draw(&mut rng));
        question.answers = question.counts.iter().map(noisy).collect();
        question.tell_all(counts);
        let mut asked = self.recorder.asked.lock().expect("nobody panics while asking");
        let before = times_asked(&asked, self.n, number);
        asked.insert((self.n, number, TABLE, before), question);
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
    /// How often each table was asked about, by release and number.
    tables: BTreeMap<(u64, u32), u32>,
}

impl Default for SoFar {
    fn default() -> Self {
        Self { n_asked: 0, cost: Ratio::zero(), breach: None, tables: BTreeMap::new() }
    }
}

impl<'a> Replayer<'a> {
    /// The recorded question at this index, if this is the same one; what it costs is added.
    fn compared(
        &self,
        so_far: &mut SoFar,
        index: Place,
        question: &Question,
    ) -> Option<&'a Question> {
        let same = self.transcript.get(&index).filter(|recorded| recorded.is_same(question));
        let Some(recorded) = same else {
            so_far.breach.get_or_insert("another question is asked with the card".to_owned());
            return None;
        };
        so_far.n_asked += 1;
        let both = recorded.counts.iter().zip(&question.counts);
        let changed: u128 = both.map(|(before, now)| before.abs_diff(*now)).sum();
        // Where an engine states what a card can change, it pays for that whether this card does or not.
        let paid = match recorded.most.map(u128::from) {
            Some(most) if changed > most => {
                so_far.breach.get_or_insert(format!(
                    "one card changes a table by {changed}, not by at most {most}"
                ));
                changed
            }
            stated => stated.unwrap_or(changed),
        };
        let scale = recorded.scale;
        so_far.cost += Ratio::new(BigUint::from(paid) * scale.den(), scale.num().into());
        Some(recorded)
    }
}

struct Again<'a> {
    replayer: &'a Replayer<'a>,
    n: u64,
}

struct AgainNode<'a> {
    replayer: &'a Replayer<'a>,
    index: Place,
}

impl<'a> NoiseSource for Again<'a> {
    type Node = AgainNode<'a>;

    fn node(&self, level: u32, index: u64) -> AgainNode<'a> {
        AgainNode { replayer: self.replayer, index: (self.n, level, index, 0) }
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
        let question = Question::about(class, n, occupied);
        let index = self.index;
        self.index.3 += 1;
        if let Some(recorded) = self.replayer.compared(&mut so_far, index, &question) {
            recorded.tell(kept);
        }
    }
}

impl TableNoise for Again<'_> {
    fn table(&self, number: u32, class: TableClass, counts: &mut [i64], _: NonZeroUsize) {
        let mut so_far = self.replayer.so_far.lock().expect("nobody panics while asking");
        let times = so_far.tables.entry((self.n, number)).or_default();
        let index = (self.n, number, TABLE, *times);
        *times += 1;
        let question = Question::about_table(class, counts);
        match self.replayer.compared(&mut so_far, index, &question) {
            Some(recorded) => recorded.tell_all(counts),
            // The breach is written down; what comes out no longer matters, but must not be raw.
            None => counts.fill(0),
        }
    }
}
