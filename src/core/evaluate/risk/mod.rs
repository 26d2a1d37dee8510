//! What a release gives away about cards, in the order in which regulators ask: singling out, linkability, inference.
//! Every figure stands beside the same attack on the raw window.

mod membership;
mod promise;

pub use membership::{Attack, Membership, attack};
pub use promise::Promise;

use rand_chacha::ChaCha8Rng;

use super::index::Index;
use super::journeys::{Code, Journeys};
use super::queries::{below, generator, positions};
use super::score::rounded;
use super::{Judge, Said};
use crate::guarantee::Guarantee;
use crate::model::PathKind;

/// Cards that are attacked.
const SAMPLE: u64 = 2_000;
/// How many doublets an attacker knows at most.
const MOST_KNOWN: usize = 4;
/// K where a release promises none.
const USUAL_K: u64 = 5;
/// Pairs of doublets that are counted at most; a larger window has no figure.
const MOST_PAIRS: usize = 20_000_000;

/// The same share for the raw window and for the release.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct BeforeAfter {
    /// Doublets that the attacker knows.
    pub known: usize,
    /// On raw trips; `None` where no card has so many taps.
    pub before: Option<f64>,
    /// On what was published.
    pub after: Option<f64>,
}

/// Guessing another station of a card.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Guess {
    /// Doublets that the attacker knows.
    pub known: usize,
    /// Share of right guesses with the raw window at hand.
    pub before: Option<f64>,
    /// With the release.
    pub after: Option<f64>,
    /// With nothing but the busiest stations.
    pub without: Option<f64>,
}

/// Sequences of at most two doublets that few trajectories share.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Rare {
    /// Fewer trajectories than this.
    pub k: u64,
    /// The share of different sequences, raw; `None` where there are too many to count.
    pub before: Option<f64>,
    /// Published.
    pub after: Option<f64>,
}

/// All of them.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Risk {
    /// Singling out: trajectories that no other shares, given some of their doublets.
    pub unique: Vec<BeforeAfter>,
    /// The same for sequences of at most two doublets: residual LK violations with L = 2.
    pub rare: Rare,
    /// Linkability: how often an attacker who knows some doublets and takes a published trip that has them holds the
    /// card's whole trip.
    pub linked: Vec<BeforeAfter>,
    /// Inference of another station.
    pub guessed: Guess,
    /// Whether the promise of an engine that suppresses holds; `None` for others.
    pub promise: Option<Promise>,
}

impl Judge {
    /// What a release gives away.
    pub fn risk(&self, said: &Said, guarantee: &Guarantee) -> Risk {
        let rows = said.rows.iter().map(|row| (row.path.as_slice(), row.count));
        let made = Journeys::timed(self.shape, rows);
        // Who attacks trips without times uses what is known without times.
        let (raw, made) = match said.kind {
            PathKind::Timed => (self.journeys.clone(), made),
            PathKind::Untimed => (self.journeys.places(self.shape), made.places(self.shape)),
        };
        let slots = if said.kind == PathKind::Timed { self.shape.slots } else { 1 };
        let (raw, made) = (Index::ordered(raw), Index::ordered(made));
        let k = match guarantee {
            Guarantee::Lk { k, .. } => u64::from(*k),
            _ => USUAL_K,
        };
        let rng = |usage: u64| generator(self.terms.seed, 5_000 + usage);
        let known = 1..=MOST_KNOWN;
        let unique = known.clone().map(|known| BeforeAfter {
            known,
            before: unique(&raw, known, rng(known as u64)),
            after: unique(&made, known, rng(known as u64)),
        });
        let linked = known.map(|known| BeforeAfter {
            known,
            before: linked(&raw, &raw, known, rng(100 + known as u64)),
            after: linked(&raw, &made, known, rng(100 + known as u64)),
        });
        Risk {
            unique: unique.collect(),
            rare: Rare { k, before: rare(raw.journeys(), k), after: rare(made.journeys(), k) },
            linked: linked.collect(),
            guessed: guessed(&raw, &made, slots, &rng(200)),
            promise: Promise::of(
                guarantee,
                &self.terms.stations,
                slots,
                raw.journeys(),
                made.journeys(),
            ),
        }
    }
}

/// Random cards with at least so many doublets, and the positions of as many as are known.
fn victims(
    index: &Index,
    known: usize,
    least: usize,
    mut rng: ChaCha8Rng,
) -> Vec<(&[Code], Vec<usize>)> {
    let journeys = index.journeys();
    let upto = journeys.running_counts();
    let mut chosen = Vec::new();
    for _ in 0..SAMPLE * 20 {
        if journeys.total() == 0 || chosen.len() as u64 == SAMPLE {
            break;
        }
        let trip = journeys.of_card(&upto, below(&mut rng, journeys.total()));
        if trip.len() >= least {
            chosen.push((trip, positions(&mut rng, trip.len(), known)));
        }
    }
    chosen
}

fn taken(trip: &[Code], at: &[usize]) -> Vec<Code> {
    at.iter().map(|&at| trip[at]).collect()
}

fn share(right: f64, of: usize) -> Option<f64> {
    (of > 0).then(|| rounded(right / of as f64))
}

/// The share of trajectories that nobody shares, given some of their doublets.
fn unique(index: &Index, known: usize, rng: ChaCha8Rng) -> Option<f64> {
    let victims = victims(index, known, known, rng);
    let is_alone = |(trip, at): &&(&[Code], Vec<usize>)| index.count(&taken(trip, at)) == 1;
    let alone = victims.iter().filter(is_alone).count();
    share(alone as f64, victims.len())
}

/// How often a published trip that has what is known is the card's own, whole.
fn linked(raw: &Index, made: &Index, known: usize, rng: ChaCha8Rng) -> Option<f64> {
    let victims = victims(raw, known, known + 1, rng);
    if made.journeys().total() == 0 {
        return None;
    }
    let mut right = 0.0;
    for (trip, at) in &victims {
        let (mut same, mut all) = (0_u64, 0_u64);
        for candidate in made.matching(&taken(trip, at)) {
            let count = made.journeys().count(candidate);
            all = all.saturating_add(count);
            if made.journeys().get(candidate) == *trip {
                same = count;
            }
        }
        right += if all > 0 { same as f64 / all as f64 } else { 0.0 };
    }
    share(right, victims.len())
}

/// Whoever knows two doublets of a card names another station of it: the commonest among trips that have both.
fn guessed(raw: &Index, made: &Index, slots: u64, rng: &ChaCha8Rng) -> Guess {
    const KNOWN: usize = 2;
    // Who visits nothing but what is known has nothing left to be guessed.
    let mut victims = victims(raw, KNOWN, KNOWN + 1, rng.clone());
    victims.retain(|(trip, at)| {
        let is_known = |code: &Code| at.iter().any(|&at| trip[at] / slots == code / slots);
        !trip.iter().all(is_known)
    });
    let of_all = |index: &Index| ranked(index, 0..index.journeys().len(), slots);
    let (in_raw, in_made) = (of_all(raw), of_all(made));
    let right = |index: Option<&Index>, usual: &[Code]| {
        let mut n_right = 0;
        for (trip, at) in &victims {
            let known = taken(trip, at);
            let stations: Vec<Code> = known.iter().map(|code| code / slots).collect();
            let is_new = |station: &&Code| !stations.contains(station);
            let like = index.map(|index| ranked(index, index.matching(&known), slots));
            let like = like.unwrap_or_default();
            let named = like.iter().find(is_new).or_else(|| usual.iter().find(is_new));
            let is_right = |station: &Code| trip.iter().any(|code| code / slots == *station);
            n_right += usize::from(named.is_some_and(is_right));
        }
        share(n_right as f64, victims.len())
    };
    let has_trips = made.journeys().total() > 0;
    Guess {
        known: KNOWN,
        before: right(Some(raw), &in_raw),
        after: right(Some(made), &in_made).filter(|_| has_trips),
        without: right(None, &in_raw),
    }
}

/// Stations of some trips, the commonest first.
fn ranked(index: &Index, trips: impl Iterator<Item = usize>, slots: u64) -> Vec<Code> {
    let mut met: Vec<(Code, u64)> = Vec::new();
    for trip in trips {
        let stations: Vec<Code> =
            index.journeys().get(trip).iter().map(|code| code / slots).collect();
        let count = index.journeys().count(trip);
        met.extend(Journeys::distinct(&stations).map(|station| (station, count)));
    }
    met.sort_unstable_by_key(|one| one.0);
    let sum = |same: &[(Code, u64)]| (same.iter().map(|one| one.1).sum::<u64>(), same[0].0);
    let mut sums: Vec<(u64, Code)> = met.chunk_by(|a, b| a.0 == b.0).map(sum).collect();
    sums.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    sums.into_iter().map(|(_, station)| station).collect()
}

/// The share of different sequences of one or two doublets that fewer than K trajectories share.
fn rare(journeys: &Journeys, k: u64) -> Option<f64> {
    let n_pairs = |path: &[Code]| path.len() * (path.len() + 1) / 2;
    if journeys.iter().map(|(path, _)| n_pairs(path)).sum::<usize>() > MOST_PAIRS {
        return None;
    }
    // A single doublet is a pair whose second is none.
    let mut met: Vec<(Code, Code, u64)> = Vec::new();
    let mut own: Vec<(Code, Code)> = Vec::new();
    for (path, count) in journeys.iter() {
        own.clear();
        for (at, &first) in path.iter().enumerate() {
            own.push((first, Code::MAX));
            own.extend(path[at + 1..].iter().map(|&second| (first, second)));
        }
        own.sort_unstable();
        own.dedup();
        met.extend(own.iter().map(|&(first, second)| (first, second, count)));
    }
    met.sort_unstable();
    let (mut few, mut all) = (0_usize, 0_usize);
    for same in met.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        all += 1;
        few += usize::from(same.iter().map(|one| one.2).sum::<u64>() < k);
    }
    share(few as f64, all)
}

#[cfg(test)]
mod tests;
