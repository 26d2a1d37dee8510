//! What PROOF.md claims, tried.

mod degenerate;
mod published;
mod threads;

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Mutex;

use num_rational::Ratio;
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::measure::{Answers, count, measure};
use super::plan::{KnownLengths, Plan, Split, Terms, WHOLE};
use super::tables::{Name, Table};
use super::{Favour, Legs, Shape, UNIT, woven};
use crate::engine::noise::{
    NodeClass, Noise, NoiseSource, Occupied, Scale, TableClass, TableNoise,
};
use crate::model::{Doublet, MicroEpsilon, StationIx, TapKind, WindowId};
use crate::passenger::{CardKey, Trajectories};
use crate::secret::{NoiseKey, Secret};

const ONE: NonZeroUsize = NonZeroUsize::MIN;

/// Cards with these doublets, as (station, slot).
pub(crate) fn cards(paths: &[Vec<(u32, u32)>]) -> Trajectories {
    cards_with(paths, |_| None)
}

/// The same with the kind of each tap, by its number.
pub(super) fn cards_with(
    paths: &[Vec<(u32, u32)>],
    kind: impl Fn(usize) -> Option<TapKind>,
) -> Trajectories {
    let hasher = Secret::from_bytes(&[7; 32]).unwrap().card_key(WindowId::new(1));
    let mut all = Trajectories::default();
    for (card, path) in (0_u64..).zip(paths) {
        let doublet = |&(station, slot)| Doublet { station: StationIx(station), slot };
        let taps = path.iter().enumerate().map(|(at, tap)| (doublet(tap), kind(at)));
        all.push(CardKey::new(&hasher, &card.to_le_bytes()), taps);
    }
    all
}

/// A small city: people who go somewhere at a busy hour and mostly come back.
pub(crate) fn city(n_cards: u32, stations: u32, slots: u32, seed: u64) -> Vec<Vec<(u32, u32)>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |n: u32| ((u64::from(rng.next_u32()) * u64::from(n)) >> 32) as u32;
    (0..n_cards)
        .map(|_| {
            let home = below(stations) * below(stations) / stations.max(1);
            let work = below(stations);
            let leave = (below(slots / 2 + 1) + below(slots / 2 + 1)) / 2;
            let back = (leave + slots / 3 + below(slots / 6 + 1)).min(slots - 1);
            match below(10) {
                0 => vec![(home, leave)],
                1..=2 => vec![(home, leave), (work, leave)],
                _ => vec![(home, leave), (work, leave), (work, back), (home, back)],
            }
        })
        .collect()
}

pub(super) fn terms(stations: u32, slots: u32, day: u32, micro: u64) -> Terms {
    let shape = Shape::new(stations, slots, day, 12);
    Terms {
        shape,
        epsilon: MicroEpsilon::new(micro),
        favour: Favour::Balanced,
        legs: Legs::Next,
        longest: None,
    }
}

fn plan(terms: Terms, n_cards: u64, lengths: &[i64]) -> Plan {
    let scale = Scale::new(u64::from(UNIT), 1).unwrap();
    let known = KnownLengths { cards: n_cards, noisy: lengths, scale };
    Plan::new(terms, Split::new(&terms, n_cards), &known)
}

/// Random paths of at most 14 doublets in a universe of 5 stations and 12 slots, times in order.
fn any_path() -> impl Strategy<Value = Vec<(u32, u32)>> {
    proptest::collection::vec((0_u32..5, 0_u32..12), 1..14).prop_map(|mut path| {
        let mut slots: Vec<u32> = path.iter().map(|doublet| doublet.1).collect();
        slots.sort_unstable();
        path.iter_mut().zip(slots).for_each(|(doublet, slot)| doublet.1 = slot);
        path
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Holds V-1.
    /// Line 3, by brute force: every table, with and without each card.
    #[test]
    fn every_table_changes_by_at_most_its_clip_when_a_card_leaves(
        paths in proptest::collection::vec(any_path(), 1..6),
        leaves in 0_usize..6,
        legs in prop_oneof![Just(Legs::Next), Just(Legs::Pairs), Just(Legs::Kinds)],
        even in any::<bool>(),
        pattern in any::<u64>(),
        day in prop_oneof![Just(12_u32), Just(4)],
        longest in prop_oneof![Just(None), (0_u32..10).prop_map(Some)],
    ) {
        let terms = Terms { legs, longest, ..terms(5, 12, day, 1_000_000) };
        // Kinds are measured in one way where taps come in pairs, in another where they do not.
        let some = |n: i64| if even && n % 2 == 0 { 1 } else { 100_000 };
        let lengths: Vec<i64> = (0..12).map(|n| some(n) * i64::from(UNIT)).collect();
        let kind = |at: usize| [None, Some(TapKind::Entry), Some(TapKind::Exit)][(pattern >> (2 * at)) as usize % 3];
        let plan = plan(terms, 1_200_000, &lengths);
        let mut fewer = paths.clone();
        fewer.remove(leaves % paths.len());
        for name in Name::ALL {
            let (table, clip) = (plan.table(name), plan.clip(name));
            let asked: [(&dyn Table, NonZeroU32); 1] = [(&*table, clip)];
            let with = count(&cards_with(&paths, kind), terms, &asked, ONE).swap_remove(0);
            let without = count(&cards_with(&fewer, kind), terms, &asked, ONE).swap_remove(0);
            let change: u64 = with.iter().zip(&without).map(|(a, b)| a.abs_diff(*b)).sum();
            prop_assert!(change <= u64::from(clip.get()) * u64::from(UNIT), "{name:?}: {change} units");
        }
    }

    /// Holds V-2.
    /// Line 2, exactly: what each table costs is its clip over its scale, and the sum is at most ε.
    #[test]
    fn what_all_tables_cost_adds_up_to_at_most_epsilon(
        stations in 1_u32..2_000,
        slots in prop_oneof![Just(1_u32), Just(24), Just(48), Just(168), Just(1_440)],
        day in prop_oneof![Just(24_u32), Just(96), Just(1_440)],
        micro in 1_000_u64..20_000_000,
        n_cards in 1_u64..5_000_000,
        length in 0_usize..12,
        favour in prop_oneof![Just(Favour::Balanced), Just(Favour::Stations), Just(Favour::Od), Just(Favour::Trips)],
    ) {
        let terms = Terms { favour, ..terms(stations, slots, day, micro) };
        let mut lengths = vec![0; 12];
        lengths[length] = i64::try_from(n_cards).unwrap() * i64::from(UNIT);
        let plan = plan(terms, n_cards, &lengths);
        let asked = Name::ALL.into_iter().filter(|&name| plan.asks(name));
        let shares: u32 = asked.clone().map(|name| plan.split.of(name)).sum();
        prop_assert!(shares <= WHOLE);
        let cost = |name: Name| {
            let scale = plan.scale(name);
            Ratio::new(u128::from(scale.den()), u128::from(scale.num()))
                * (u128::from(plan.clip(name).get()) * u128::from(UNIT))
        };
        let epsilon = Ratio::new(u128::from(micro), u128::from(WHOLE));
        // One by one: the sum of fifteen fractions would not fit into 128 bits.
        for name in asked {
            let share = Ratio::new(u128::from(plan.split.of(name)), u128::from(WHOLE));
            prop_assert_eq!(cost(name), epsilon * share, "{:?}", name);
        }
    }
}

/// Gives answers that were fixed before, whatever the counts are, and writes down the questions.
struct Fixed {
    n_cards: i64,
    asked: Mutex<Vec<(Name, u64, u64, u64)>>,
}

impl TableNoise for &Fixed {
    fn table(&self, number: u32, class: TableClass, counts: &mut [i64], _: NonZeroUsize) {
        let (table, scale) = (Name::ALL[number as usize], class.scale);
        self.asked.lock().unwrap().push((table, scale.num(), scale.den(), counts.len() as u64));
        let mut rng = ChaCha8Rng::seed_from_u64(u64::from(number));
        let each = self.n_cards * i64::from(UNIT) / counts.len() as i64;
        counts
            .iter_mut()
            .for_each(|count| *count = each + i64::from(rng.next_u32() % 50_000) - 25_000);
    }
}

/// The sparse table's answers, fixed too.
struct FixedNode<'a>(&'a Fixed, Name);

impl<'a> NoiseSource for &'a Fixed {
    type Node = FixedNode<'a>;

    fn node(&self, level: u32, _: u64) -> FixedNode<'a> {
        FixedNode(self, Name::ALL[level as usize])
    }
}

impl Noise for FixedNode<'_> {
    fn ask(&mut self, class: &NodeClass, n: u64, _: &[Occupied], kept: &mut dyn FnMut(u64, u64)) {
        let scale = class.scale();
        self.0.asked.lock().unwrap().push((self.1, scale.num(), scale.den(), n));
        (0..20).for_each(|cell| kept(cell * (n / 20), class.threshold() + cell));
    }
}

fn answered(paths: &[Vec<(u32, u32)>], terms: Terms) -> (Answers, Vec<(Name, u64, u64, u64)>) {
    let source = Fixed { n_cards: 40_000, asked: Mutex::default() };
    let answers = measure(&cards(paths), terms, &&source, ONE);
    (answers, source.asked.into_inner().unwrap())
}

/// Holds V-3. Lines 1 and 4: neighbours that get the same answers are asked the same questions, and what is made of
/// the answers is the same to the last bit: nothing after the measurement reads a trajectory.
#[test]
fn neighbours_with_the_same_answers_are_asked_the_same_and_release_the_same() {
    let paths = city(300, 6, 24, 1);
    let terms = terms(6, 24, 24, 1_000_000);
    let (answers, asked) = answered(&paths, terms);
    for without in [0, 7, 299] {
        let mut fewer = paths.clone();
        fewer.remove(without);
        let (other, asked_then) = answered(&fewer, terms);
        assert_eq!(asked, asked_then);
        let key = NoiseKey::for_test(3);
        assert!(woven(&answers, &key, ONE) == woven(&other, &key, ONE));
    }
    assert!(asked.iter().any(|question| question.0 == Name::Loops), "{asked:?}");
}

/// Each table is asked once.
#[test]
fn no_table_is_asked_twice_in_one_release() {
    let (_, asked) = answered(&city(50, 4, 24, 2), terms(4, 24, 24, 2_000_000));
    let mut names: Vec<Name> = asked.iter().map(|question| question.0).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), asked.len());
}
