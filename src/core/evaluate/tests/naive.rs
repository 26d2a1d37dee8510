//! Figures computed the plain way: no index, no grouping, every card looked at for every question.

use std::collections::{BTreeMap, BTreeSet};

use super::super::queries::{Form, Questions};
use super::super::{Judge, Shape};
use crate::model::Doublet;

/// Figures that are always compared.
pub(super) const FIGURES: [&str; 5] = [
    "stations_by_slot.error",
    "stations_by_slot.jsd",
    "lengths.error",
    "queries.doublets.uniform.1",
    "queries.sets.drawn.1",
];

type Table<K> = BTreeMap<K, f64>;

pub(super) fn figure(
    id: &str,
    judge: &Judge,
    raw: &[Vec<Doublet>],
    made: &[Vec<Doublet>],
) -> Option<f64> {
    let shape = judge.shape;
    match id {
        "stations_by_slot.error" => Some(error(&occupancy(raw), &occupancy(made))),
        "stations_by_slot.jsd" => Some(distance(&occupancy(raw), &occupancy(made))),
        "od.error" => Some(error(&legs(shape, raw), &legs(shape, made))),
        "od_by_quarter.error" => Some(error(&quarters(shape, raw), &quarters(shape, made))),
        "planner.pairs" => {
            let strongest = |trips: &[Vec<Doublet>]| {
                let mut pairs: Vec<((u32, u32), f64)> = legs(shape, trips).into_iter().collect();
                pairs.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                pairs.truncate(20);
                pairs.into_iter().map(|pair| pair.0).collect::<BTreeSet<_>>()
            };
            Some(strongest(raw).intersection(&strongest(made)).count() as f64)
        }
        "planner.mean_taps" => {
            let mean = |trips: &[Vec<Doublet>]| {
                trips.iter().map(Vec::len).sum::<usize>() as f64 / trips.len() as f64
            };
            Some((mean(made) / mean(raw) - 1.0).abs())
        }
        "first.error" => Some(error(&first(raw), &first(made))),
        "stations.error" => Some(error(&stations(raw), &stations(made))),
        "trips.travel_times.jsd" => {
            Some(distance(&travel_times(shape, raw), &travel_times(shape, made)))
        }
        "flowgraph.phi" => Some(phi(raw, made)),
        "range" => Some(range(judge, raw, made)),
        "lengths.error" => Some(error(&lengths(raw), &lengths(made))),
        "trips.returning" => Some((returning(shape, raw) - returning(shape, made)).abs()),
        "patterns.100.true_positives" => {
            let found: BTreeSet<Vec<u64>> = patterns(made, 100).into_iter().map(|p| p.0).collect();
            let right = patterns(raw, 100).iter().filter(|p| found.contains(&p.0)).count();
            Some(right as f64)
        }
        "kept.doublets" => {
            let taps = |trips: &[Vec<Doublet>]| trips.iter().map(Vec::len).sum::<usize>() as f64;
            Some(taps(made) / taps(raw))
        }
        _ => query_error(id, &judge.questions, shape, raw, made),
    }
}

fn query_error(
    id: &str,
    questions: &Questions,
    shape: Shape,
    raw: &[Vec<Doublet>],
    made: &[Vec<Doublet>],
) -> Option<f64> {
    let family = questions.families.iter().find(|family| family.id() == id)?;
    let bound = raw.len() as f64 / 1_000.0;
    let count = |trips: &[Vec<Doublet>], query: &[u64]| {
        let holds = |trip: &&Vec<Doublet>| match family.form {
            Form::Stations => query
                .iter()
                .all(|&station| trip.iter().any(|at| u64::from(at.station.0) == station)),
            Form::Doublets => {
                let mut from = 0;
                query.iter().all(|&code| {
                    let is_it = |at: &Doublet| {
                        u64::from(at.station.0) * shape.slots + u64::from(at.slot) == code
                    };
                    let found = trip[from..].iter().position(is_it);
                    from += found.map_or(0, |at| at + 1);
                    found.is_some()
                })
            }
        };
        trips.iter().filter(holds).count() as f64
    };
    let errors = family.queries.iter().map(|query| {
        let (truth, said) = (count(raw, query), count(made, query));
        (truth - said).abs() / truth.max(bound)
    });
    Some(errors.sum::<f64>() / family.queries.len() as f64)
}

fn occupancy(trips: &[Vec<Doublet>]) -> Table<(u32, u32)> {
    let mut table = Table::new();
    for trip in trips {
        let own: BTreeSet<(u32, u32)> = trip.iter().map(|at| (at.station.0, at.slot)).collect();
        own.into_iter().for_each(|cell| *table.entry(cell).or_default() += 1.0);
    }
    table
}

fn stations(trips: &[Vec<Doublet>]) -> Table<u32> {
    let mut table = Table::new();
    for trip in trips {
        let own: BTreeSet<u32> = trip.iter().map(|at| at.station.0).collect();
        own.into_iter().for_each(|station| *table.entry(station).or_default() += 1.0);
    }
    table
}

fn first(trips: &[Vec<Doublet>]) -> Table<Doublet> {
    let mut table = Table::new();
    trips.iter().for_each(|trip| *table.entry(trip[0]).or_default() += 1.0);
    table
}

/// Steps that are legs, with their ends.
fn steps(shape: Shape, trips: &[Vec<Doublet>]) -> Vec<(Doublet, Doublet)> {
    let longest = shape.legs.longest.unwrap_or(u64::MAX);
    let is_leg = |step: &&[Doublet]| u64::from(step[1].slot - step[0].slot) <= longest;
    let of = |trip: &Vec<Doublet>| -> Vec<(Doublet, Doublet)> {
        trip.windows(2).filter(is_leg).map(|step| (step[0], step[1])).collect()
    };
    trips.iter().flat_map(of).collect()
}

fn quarters(shape: Shape, trips: &[Vec<Doublet>]) -> Table<(u32, u32, u32)> {
    let mut table = Table::new();
    for (from, to) in steps(shape, trips) {
        // The window is a day of minutes: a quarter has 360.
        let cell = (from.station.0, to.station.0, from.slot / 360);
        *table.entry(cell).or_default() += 1.0;
    }
    table
}

fn travel_times(shape: Shape, trips: &[Vec<Doublet>]) -> Table<u32> {
    let mut table = Table::new();
    for (from, to) in steps(shape, trips) {
        *table.entry(to.slot - from.slot).or_default() += 1.0;
    }
    table
}

/// Algorithm 4 over sets of prefixes.
fn phi(raw: &[Vec<Doublet>], made: &[Vec<Doublet>]) -> f64 {
    let measures = |trips: &[Vec<Doublet>], doublet: Doublet| {
        let prefixes: BTreeSet<&[Doublet]> =
            trips.iter().flat_map(|trip| (1..=trip.len()).map(|n| &trip[..n])).collect();
        let nodes: Vec<&&[Doublet]> =
            prefixes.iter().filter(|prefix| prefix.last() == Some(&doublet)).collect();
        let is_child =
            |of: &[Doublet], one: &[Doublet]| one.len() == of.len() + 1 && one.starts_with(of);
        let children = |of: &[Doublet]| prefixes.iter().filter(|one| is_child(of, one)).count();
        let is_way = |one: &&&[Doublet]| children(one) == 0 && one.contains(&doublet);
        let trajectories = trips.iter().filter(|trip| trip.contains(&doublet)).count();
        [
            nodes.len() as f64,
            nodes.iter().map(|node| children(node)).sum::<usize>() as f64,
            prefixes.iter().filter(is_way).count() as f64,
            trajectories as f64,
        ]
    };
    let of =
        |trips: &[Vec<Doublet>]| trips.iter().flatten().copied().collect::<BTreeSet<Doublet>>();
    let (ours, theirs) = (of(raw), of(made));
    let (mut sums, mut childless) = ([0.0; 4], 0.0);
    for &doublet in ours.intersection(&theirs) {
        let (before, after) = (measures(raw, doublet), measures(made, doublet));
        for at in 0..4 {
            match before[at] == 0.0 {
                true => childless += 1.0,
                false => sums[at] += after[at] / before[at],
            }
        }
    }
    let n = ours.len() as f64;
    let rest = 0.4 * sums[0] / n + 0.2 * sums[2] / n + 0.2 * sums[3] / n;
    match n > childless {
        true => rest + 0.2 * sums[1] / (n - childless),
        false => rest / 0.8,
    }
}

fn range(judge: &Judge, raw: &[Vec<Doublet>], made: &[Vec<Doublet>]) -> f64 {
    let rectangles = &judge.space.as_ref().unwrap().rectangles;
    let bound = raw.len() as f64 / 100.0;
    let through = |trips: &[Vec<Doublet>], inside: &[bool]| {
        let passes = |trip: &&Vec<Doublet>| trip.iter().any(|at| inside[at.station.0 as usize]);
        trips.iter().filter(passes).count() as f64
    };
    let error = |inside: &Vec<bool>| {
        let (truth, said) = (through(raw, inside), through(made, inside));
        (truth - said).abs() / truth.max(bound)
    };
    rectangles.iter().map(error).sum::<f64>() / rectangles.len() as f64
}

fn lengths(trips: &[Vec<Doublet>]) -> Table<usize> {
    let mut table = Table::new();
    trips.iter().for_each(|trip| *table.entry(trip.len()).or_default() += 1.0);
    table
}

fn legs_of(shape: Shape, trip: &[Doublet]) -> Vec<(u32, u32)> {
    let longest = shape.legs.longest.unwrap_or(u64::MAX);
    trip.windows(2)
        .filter(|step| u64::from(step[1].slot - step[0].slot) <= longest)
        .map(|step| (step[0].station.0, step[1].station.0))
        .collect()
}

fn legs(shape: Shape, trips: &[Vec<Doublet>]) -> Table<(u32, u32)> {
    let mut table = Table::new();
    for leg in trips.iter().flat_map(|trip| legs_of(shape, trip)) {
        *table.entry(leg).or_default() += 1.0;
    }
    table
}

fn returning(shape: Shape, trips: &[Vec<Doublet>]) -> f64 {
    let comes_back = |trip: &&Vec<Doublet>| {
        let own = legs_of(shape, trip);
        (0..own.len()).any(|out| {
            let ((a, b), rest) = (own[out], &own[out + 1..]);
            a != b && rest.contains(&(b, a))
        })
    };
    trips.iter().filter(comes_back).count() as f64 / trips.len() as f64
}

fn error<K: Ord>(truth: &Table<K>, said: &Table<K>) -> f64 {
    let keys: BTreeSet<&K> = truth.keys().chain(said.keys()).collect();
    let at = |table: &Table<K>, key: &K| table.get(key).copied().unwrap_or(0.0);
    let off: f64 = keys.iter().map(|key| (at(truth, key) - at(said, key)).abs()).sum();
    off / truth.values().sum::<f64>()
}

/// √(H(m) − (H(p) + H(q))/2): entropies, where the program adds divergences.
fn distance<K: Ord>(truth: &Table<K>, said: &Table<K>) -> f64 {
    let keys: BTreeSet<&K> = truth.keys().chain(said.keys()).collect();
    let (all, both) = (truth.values().sum::<f64>(), said.values().sum::<f64>());
    let p = |key: &K| truth.get(key).copied().unwrap_or(0.0) / all;
    let q = |key: &K| said.get(key).copied().unwrap_or(0.0) / both;
    let entropy = |share: &dyn Fn(&K) -> f64| {
        let shares = keys.iter().map(|key| share(key)).filter(|share| *share > 0.0);
        -shares.map(|share| share * share.log2()).sum::<f64>()
    };
    let middle = entropy(&|key| (p(key) + q(key)) / 2.0);
    (middle - (entropy(&p) + entropy(&q)) / 2.0).max(0.0).sqrt()
}

/// Every subsequence of two to five stations, by support; among equals the shorter, then the first.
pub(super) fn patterns(trips: &[Vec<Doublet>], k: usize) -> Vec<(Vec<u64>, u64)> {
    let mut support: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
    for trip in trips {
        let mut own: BTreeSet<Vec<u64>> = BTreeSet::new();
        for chosen in 0_u32..1 << trip.len() {
            let taken = (0..trip.len()).filter(|at| chosen >> at & 1 == 1);
            let run: Vec<u64> = taken.map(|at| trip[at].station.0.into()).collect();
            if (2..=5).contains(&run.len()) {
                own.insert(run);
            }
        }
        own.into_iter().for_each(|run| *support.entry(run).or_default() += 1);
    }
    let mut all: Vec<(Vec<u64>, u64)> = support.into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.len().cmp(&b.0.len())).then(a.0.cmp(&b.0)));
    all.truncate(k);
    all
}
