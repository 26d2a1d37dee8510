//! No adversary infers a foreign place: every trajectory is shown to every adversary, those that look the same are
//! put together, and the places in each group are counted.

use std::collections::{BTreeSet, HashMap};

use super::{Breach, Trip};
use crate::model::{Doublet, Portion};

/// `owner[station]` is the adversary a station belongs to. Places are stations and stations at a time: both are
/// looked at, and where times are left out the second says nothing new.
pub fn projection(
    trips: &[Trip<'_>],
    owner: &[Option<u32>],
    breach: Portion,
) -> Result<(), Breach> {
    let owner_of = |doublet: &Doublet| owner.get(doublet.station.0 as usize).copied().flatten();
    let adversaries: BTreeSet<u32> = owner.iter().flatten().copied().collect();
    for adversary in adversaries {
        let mut groups: HashMap<Vec<Doublet>, Vec<&Trip<'_>>> = HashMap::new();
        for trip in trips {
            let is_own = |doublet: &&Doublet| owner_of(doublet) == Some(adversary);
            let seen: Vec<Doublet> = trip.path.iter().filter(is_own).copied().collect();
            if !seen.is_empty() {
                groups.entry(seen).or_default().push(trip);
            }
        }
        for same in groups.values() {
            let support = same.iter().map(|trip| trip.count).sum();
            let foreign = |doublet: &&Doublet| owner_of(doublet) != Some(adversary);
            for holders in place_counts(same, foreign) {
                if breach.is_exceeded_by(holders, support) {
                    return Err(Breach::Inferred { adversary, support, holders, breach });
                }
            }
        }
    }
    Ok(())
}

/// How many trajectories of a group visit each foreign place, with and without the time.
fn place_counts(same: &[&Trip<'_>], foreign: impl Fn(&&Doublet) -> bool) -> Vec<u64> {
    let mut stations: HashMap<u32, u64> = HashMap::new();
    let mut doublets: HashMap<Doublet, u64> = HashMap::new();
    for trip in same {
        let visited: BTreeSet<Doublet> = trip.path.iter().filter(&foreign).copied().collect();
        let places: BTreeSet<u32> = visited.iter().map(|doublet| doublet.station.0).collect();
        for place in places {
            let count = stations.entry(place).or_default();
            *count = count.saturating_add(trip.count);
        }
        for doublet in visited {
            let count = doublets.entry(doublet).or_default();
            *count = count.saturating_add(trip.count);
        }
    }
    stations.into_values().chain(doublets.into_values()).collect()
}
