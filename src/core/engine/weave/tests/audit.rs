//! The proof's claim, answer by answer: a window is asked and answered, its neighbour of one card more is given the same
//! answers. Questions and releases must be the same, and what the counts differ by, each over its scale, must add up to at
//! most the table's share, and to at most ε. Engines broken on purpose show that this would be seen.

use std::collections::BTreeMap;

use num_bigint::BigUint;

use super::*;

type Cost = Ratio<BigUint>;

/// One question: about which table, with which scale, over how many cells, and what the true counts were.
#[derive(Clone, Debug)]
struct Question {
    table: Name,
    scale: (u64, u64),
    n: u64,
    counts: BTreeMap<u64, i64>,
    answer: Vec<(u64, i64)>,
}

/// Writes down every question, and gives the answers of an earlier transcript if there is one.
#[derive(Default)]
struct Auditor {
    earlier: Vec<Question>,
    asked: Mutex<Vec<Question>>,
}

impl Auditor {
    fn answer(
        &self,
        mut question: Question,
        fresh: impl FnOnce() -> Vec<(u64, i64)>,
    ) -> Vec<(u64, i64)> {
        let mut asked = self.asked.lock().unwrap();
        let known = self.earlier.get(asked.len()).map(|earlier| earlier.answer.clone());
        question.answer = known.unwrap_or_else(fresh);
        asked.push(question.clone());
        question.answer
    }
}

impl Answering for Auditor {
    fn dense(&self, table: Name, scale: Scale, counts: &mut [i64], _: NonZeroUsize) {
        let exact: BTreeMap<u64, i64> =
            (0..).zip(counts.iter().copied()).filter(|cell| cell.1 != 0).collect();
        let n = counts.len() as u64;
        let question = Question {
            table,
            scale: (scale.num(), scale.den()),
            n,
            counts: exact,
            answer: Vec::new(),
        };
        // As if there were 6,000 cards, so that every table is asked.
        let each = 6_000 * i64::from(UNIT) / counts.len() as i64;
        let answer =
            self.answer(question, || (0..n).map(|cell| (cell, each + cell as i64 % 7)).collect());
        for (count, (_, noisy)) in counts.iter_mut().zip(answer) {
            *count = noisy;
        }
    }

    fn sparse(
        &self,
        table: Name,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
    ) -> Vec<(u64, u64)> {
        let counts = occupied.iter().map(|cell| (cell.place, cell.count as i64)).collect();
        let scale = (class.scale().num(), class.scale().den());
        let question = Question { table, scale, n, counts, answer: Vec::new() };
        let answer = self.answer(question, || vec![(n / 2, class.threshold() as i64)]);
        answer.into_iter().map(|(cell, noisy)| (cell, noisy.unsigned_abs())).collect()
    }
}

/// What is wrong with an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wrong {
    ClipOffByOne,
    AskedTwice,
    SharesAboveEpsilon,
    ResolutionFromData,
    RoundedUp,
    RowsFromData,
}

/// A source that hands on what a broken engine would have asked in place of the true question about occupancy.
struct Bent<'a> {
    auditor: &'a Auditor,
    counts: Box<dyn Fn(Scale) -> Vec<i64> + Sync + 'a>,
    twice: bool,
}

impl Answering for Bent<'_> {
    fn dense(&self, table: Name, scale: Scale, counts: &mut [i64], threads: NonZeroUsize) {
        if table == Name::Occupancy {
            counts.copy_from_slice(&(self.counts)(scale));
            if self.twice {
                self.auditor.dense(table, scale, &mut counts.to_vec(), threads);
            }
        }
        self.auditor.dense(table, scale, counts, threads);
    }

    fn sparse(
        &self,
        table: Name,
        class: &NodeClass,
        n: u64,
        occupied: &[Occupied],
    ) -> Vec<(u64, u64)> {
        self.auditor.sparse(table, class, n, occupied)
    }
}

/// Occupancy with a clip of so many cards and weights rounded up, or down as it should be.
fn occupancy(paths: &[Vec<(u32, u32)>], shape: Shape, clip: u64, up: bool) -> Vec<i64> {
    let mut counts = vec![0; usize::try_from(shape.n_doublets()).unwrap()];
    for path in paths {
        let cells: std::collections::BTreeSet<u32> =
            path.iter().map(|d| d.0 * shape.slots + d.1).collect();
        let (most, n) = (clip * u64::from(UNIT), cells.len() as u64);
        let cut = if up { most.div_ceil(n) } else { most / n };
        let units = i64::try_from(cut.min(u64::from(UNIT))).unwrap();
        cells.into_iter().for_each(|cell| counts[cell as usize] += units);
    }
    counts
}

/// The clip that a scale stands for, given a table's share.
fn clip_of(scale: Scale, terms: Terms, share: u32) -> u64 {
    let one = super::super::plan::scale(terms.epsilon, share, NonZeroU32::MIN);
    let clip = Ratio::new(u128::from(scale.num()), u128::from(scale.den()))
        / Ratio::new(u128::from(one.num()), u128::from(one.den()));
    u64::try_from(clip.to_integer()).unwrap()
}

/// The engine, or one that is broken: its answers, and what comes out in words.
fn engine(
    paths: &[Vec<(u32, u32)>],
    terms: Terms,
    auditor: &Auditor,
    wrong: Option<Wrong>,
) -> (Answers, String) {
    let all = cards(paths);
    let share = Split::new(&terms, 6_000).of(Name::Occupancy);
    let bent = |more: u64, up: bool, twice: bool| Bent {
        auditor,
        counts: Box::new(move |scale| {
            occupancy(paths, terms.shape, clip_of(scale, terms, share) + more, up)
        }),
        twice,
    };
    let answers = match wrong {
        Some(Wrong::ClipOffByOne) => measure(&all, terms, &bent(1, false, false), ONE),
        Some(Wrong::RoundedUp) => measure(&all, terms, &bent(0, true, false), ONE),
        Some(Wrong::AskedTwice) => measure(&all, terms, &bent(0, false, true), ONE),
        Some(Wrong::SharesAboveEpsilon) => {
            let more = Terms { epsilon: MicroEpsilon::new(terms.epsilon.micro() * 3 / 2), ..terms };
            measure(&all, more, auditor, ONE)
        }
        Some(Wrong::ResolutionFromData) => {
            // The universe as large as what occurs.
            let last = paths.iter().flatten().map(|doublet| doublet.0).max().unwrap_or(0);
            let shape = Shape { stations: last + 1, ..terms.shape };
            measure(&all, Terms { shape, ..terms }, auditor, ONE)
        }
        Some(Wrong::RowsFromData) | None => measure(&all, terms, auditor, ONE),
    };
    let (window, _) = woven(&answers, &NoiseKey::for_test(1), ONE);
    let mut rows = window.rows(answers.plan.shape());
    if wrong == Some(Wrong::RowsFromData) {
        rows[0].count += paths.len() as u64;
    }
    (answers, format!("{rows:?}"))
}

/// The first thing that is broken between a window and the same with one card more.
fn breach(
    paths: &[Vec<(u32, u32)>],
    more: Vec<(u32, u32)>,
    terms: Terms,
    wrong: Option<Wrong>,
) -> Option<String> {
    let first = Auditor::default();
    let (answers, released) = engine(paths, terms, &first, wrong);
    let earlier = first.asked.into_inner().unwrap();
    let second = Auditor { earlier: earlier.clone(), asked: Mutex::default() };
    let mut with = paths.to_vec();
    with.push(more);
    let (_, released_then) = engine(&with, terms, &second, wrong);
    let then = second.asked.into_inner().unwrap();
    let key = |question: &Question| (question.table, question.scale, question.n);
    if earlier.iter().map(key).ne(then.iter().map(key)) {
        return Some("asked otherwise".to_owned());
    }
    let share = |millionths: u32| {
        let epsilon = Cost::new(BigUint::from(terms.epsilon.micro()), BigUint::from(WHOLE));
        epsilon * Cost::new(BigUint::from(millionths), BigUint::from(WHOLE))
    };
    let mut spent: BTreeMap<Name, Cost> = BTreeMap::new();
    for (a, b) in earlier.iter().zip(&then) {
        *spent.entry(a.table).or_default() += cost(a, b);
    }
    let over = spent.iter().find(|(table, cost)| **cost > share(answers.plan.split.of(**table)));
    if let Some((table, _)) = over {
        return Some(format!("{table:?} costs more than its share"));
    }
    assert!(spent.values().sum::<Cost>() <= share(WHOLE));
    (released != released_then).then(|| "released otherwise".to_owned())
}

/// What the counts of two neighbours differ by, over the scale.
fn cost(a: &Question, b: &Question) -> Cost {
    let cells: std::collections::BTreeSet<&u64> = a.counts.keys().chain(b.counts.keys()).collect();
    let at = |counts: &BTreeMap<u64, i64>, cell: &u64| counts.get(cell).copied().unwrap_or(0);
    let apart = |cell: &u64| at(&a.counts, cell).abs_diff(at(&b.counts, cell));
    let apart: u64 = cells.into_iter().map(apart).sum();
    Cost::new(BigUint::from(apart) * a.scale.1, BigUint::from(a.scale.0))
}

/// A card that fills the clip of occupancy with eleven doublets, by which no clip is divided without a rest.
fn busy() -> Vec<(u32, u32)> {
    let places = [0, 1, 1, 0, 2, 3, 3, 2, 0, 3, 4];
    (0..).zip(places).map(|(slot, station)| (station, slot * 2)).collect()
}

/// Six cards at four of five stations.
fn world() -> (Vec<Vec<(u32, u32)>>, Terms) {
    (city(6, 4, 24, 4), terms(5, 24, 24, 1_000_000))
}

#[test]
fn no_answer_of_a_true_engine_costs_more_than_it_says() {
    let (paths, terms) = world();
    for more in [busy(), vec![(3, 23)], vec![(1, 5), (1, 5)]] {
        assert_eq!(breach(&paths, more, terms, None), None);
    }
    assert_eq!(breach(&[busy()], busy(), terms, None), None);
}

/// The bent source without a fault asks what the engine asks: the mutants differ from it in nothing but their fault.
#[test]
fn the_auditors_own_occupancy_is_the_engines() {
    let (mut paths, terms) = world();
    paths.push(busy());
    let table = super::super::tables::Occupancy(terms.shape);
    for clip in [1, 3, 6, 8] {
        let asked: [(&dyn Table, NonZeroU32); 1] = [(&table, NonZeroU32::new(clip).unwrap())];
        let exact = count(&cards(&paths), terms, &asked, ONE).swap_remove(0);
        assert_eq!(exact, occupancy(&paths, terms.shape, clip.into(), false));
    }
}

#[test]
fn every_broken_engine_is_caught_by_the_recorded_audit() {
    let (paths, terms) = world();
    for (wrong, sign) in [
        (Wrong::ClipOffByOne, "Occupancy costs more than its share"),
        (Wrong::AskedTwice, "Occupancy costs more than its share"),
        (Wrong::SharesAboveEpsilon, "Cards costs more than its share"),
        (Wrong::RoundedUp, "Occupancy costs more than its share"),
        (Wrong::ResolutionFromData, "asked otherwise"),
        (Wrong::RowsFromData, "released otherwise"),
    ] {
        assert_eq!(breach(&paths, busy(), terms, Some(wrong)).as_deref(), Some(sign), "{wrong:?}");
    }
}
