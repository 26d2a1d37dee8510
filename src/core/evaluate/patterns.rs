//! Frequent sequences of stations, gaps allowed: PrefixSpan, level by level. The k most frequent of length two or more;
//! among equally frequent ones the shorter, then the one that comes first.

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::Score;
use super::index::Index;
use super::journeys::{Code, Journeys};

/// Numbers of patterns that are compared.
const KS: [usize; 3] = [100, 200, 300];
pub(super) const LARGEST_K: usize = KS[KS.len() - 1];
/// Patterns whose support is compared.
const SUPPORTS: usize = 20;
/// Longer ones are looked for in no paper.
const LONGEST: usize = 5;

/// A sequence of stations and the cards that make it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) stations: Vec<Code>,
    pub(super) support: u64,
}

/// The k most frequent patterns of trips without times.
pub(super) fn top(places: &Journeys, k: usize) -> Vec<Pattern> {
    let index = Index::ordered(places.clone());
    let mut singles: Vec<Code> = places.iter().flat_map(|(path, _)| path.iter().copied()).collect();
    singles.sort_unstable();
    singles.dedup();
    let mut level: Vec<Vec<Code>> = singles.iter().map(|&station| vec![station]).collect();
    let mut best: Vec<Pattern> = Vec::new();
    for length in 2..=LONGEST {
        let grown: Vec<Vec<Pattern>> =
            level.par_iter().map(|prefix| extensions(&index, prefix)).collect();
        best.extend(grown.into_iter().flatten());
        best.sort_by(|a, b| {
            let size = a.stations.len().cmp(&b.stations.len());
            b.support.cmp(&a.support).then(size).then(a.stations.cmp(&b.stations))
        });
        best.truncate(k);
        // A longer pattern is no more frequent than its beginning, and loses to an equally frequent shorter one.
        let floor = if best.len() == k { best.last().map_or(0, |last| last.support) } else { 0 };
        let can_grow =
            |pattern: &&Pattern| pattern.support > floor && pattern.stations.len() == length;
        level = best.iter().filter(can_grow).map(|pattern| pattern.stations.clone()).collect();
    }
    best
}

/// Every pattern that is one station longer, with its support.
fn extensions(index: &Index, prefix: &[Code]) -> Vec<Pattern> {
    let mut followers: Vec<(Code, u64)> = Vec::new();
    let mut own: Vec<Code> = Vec::new();
    for trip in index.matching(prefix) {
        let path = index.journeys().get(trip);
        let mut wanted = prefix.iter().peekable();
        let end = path.iter().position(|station| {
            if wanted.peek() == Some(&station) {
                wanted.next();
            }
            wanted.peek().is_none()
        });
        own.clear();
        own.extend_from_slice(&path[end.map_or(path.len(), |end| end + 1)..]);
        own.sort_unstable();
        own.dedup();
        let count = index.journeys().count(trip);
        followers.extend(own.iter().map(|&station| (station, count)));
    }
    followers.sort_unstable_by_key(|follower| follower.0);
    let extended = |same: &[(Code, u64)]| Pattern {
        stations: prefix.iter().copied().chain([same[0].0]).collect(),
        support: same.iter().map(|follower| follower.1).sum(),
    };
    followers.chunk_by(|a, b| a.0 == b.0).map(extended).collect()
}

/// True positives, false positives and false drops, and how far off the support of the strongest is.
pub(super) fn score(truth: &[Pattern], places: &Journeys, score: &mut Score) {
    if truth.is_empty() {
        return;
    }
    let said = top(places, LARGEST_K);
    for k in KS {
        let (wanted, found) = (&truth[..k.min(truth.len())], &said[..k.min(said.len())]);
        let is_found = |one: &&Pattern| found.iter().any(|other| other.stations == one.stations);
        let right = wanted.iter().filter(is_found).count();
        score.set(&format!("patterns.{k}.true_positives"), Some(right as f64));
        score.set(&format!("patterns.{k}.false_positives"), Some((found.len() - right) as f64));
        score.set(&format!("patterns.{k}.false_drops"), Some((wanted.len() - right) as f64));
    }
    let index = Index::ordered(places.clone());
    let strongest = &truth[..SUPPORTS.min(truth.len())];
    let off = |at: usize| {
        let Pattern { stations, support } = &strongest[at];
        (index.count(stations) as f64 - *support as f64).abs() / *support as f64
    };
    let sum: Vec<f64> = (0..strongest.len()).into_par_iter().map(off).collect();
    score.set("patterns.support", Some(sum.iter().sum::<f64>() / strongest.len() as f64));
}
