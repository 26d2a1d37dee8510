//! What a release promises, checked on its rows: for promises that rows alone can break.

use std::collections::BTreeMap;

use super::super::parquet::Table;
use crate::guarantee::{self, Guarantee, Trip};
use crate::model::{Doublet, Portion, StationIx};

/// More than any city has; sums below it cannot overflow.
const PASSENGERS_MOST: u64 = 1 << 53;

/// What the rows say against the guarantee, if anything. `Err` blames the manifest.
pub(super) fn check(
    promise: &Guarantee,
    table: &Table,
    ids: &[String],
) -> Result<Option<String>, String> {
    let owned = Rows::of(table);
    let trips = owned.trips();
    // Sums of counts are what promises are about; more than there are people on many Earths are nobody's.
    let all = trips.iter().try_fold(0_u64, |sum, trip| sum.checked_add(trip.count));
    if all.is_none_or(|all| all > PASSENGERS_MOST) {
        return Ok(Some("stands for more passengers than there can be".to_owned()));
    }
    let breach = match promise {
        Guarantee::Lk { l: 0, .. } | Guarantee::Lk { k: 0, .. } => {
            return Err("has no privacy.guarantee.L and K that are positive numbers".to_owned());
        }
        Guarantee::Lk { l, k, .. } => guarantee::lk(&trips, *l, u64::from(*k)),
        Guarantee::Projection { breach, adversaries, .. } => {
            let breach = Portion::parse(breach)
                .map_err(|_| "has no privacy.guarantee.P_br between 0 and 1".to_owned())?;
            guarantee::projection(&trips, &owners(adversaries, ids)?, breach)
        }
        // Noise cannot be seen in the rows; everything about it is in the proofs.
        Guarantee::Differential { .. } | Guarantee::Nothing { .. } => Ok(()),
    };
    Ok(breach.err().map(|breach| format!("breaks the guarantee: {breach}")))
}

/// The adversary of every station, by its index among the ids.
fn owners(
    adversaries: &BTreeMap<String, Vec<String>>,
    ids: &[String],
) -> Result<Vec<Option<u32>>, String> {
    let mut owners = vec![None; ids.len()];
    for (number, (name, stations)) in (0..).zip(adversaries) {
        for id in stations {
            let at = ids.binary_search(id);
            let at =
                at.map_err(|_| format!("gives {name} the station {id:?}, which is not there"))?;
            if owners[at].replace(number).is_some() {
                return Err(format!("gives the station {id:?} to two adversaries"));
            }
        }
    }
    Ok(owners)
}

/// The rows as paths. A slot is its beginning's rank among those that occur: its order is what counts.
struct Rows {
    doublets: Vec<Doublet>,
    ends: Vec<usize>,
    counts: Vec<u64>,
}

impl Rows {
    fn of(table: &Table) -> Self {
        let mut moments = table.millis.clone();
        moments.sort_unstable();
        moments.dedup();
        let slot = |at: usize| {
            let moment = table.millis.get(at)?;
            moments.binary_search(moment).ok().and_then(|rank| u32::try_from(rank).ok())
        };
        let doublets = (0..)
            .zip(&table.stations)
            .map(|(at, &station)| Doublet {
                station: StationIx(station),
                slot: slot(at).unwrap_or_default(),
            })
            .collect();
        let counts = table.counts.iter().map(|count| count.unsigned_abs()).collect();
        Self { doublets, ends: table.ends.clone(), counts }
    }

    fn trips(&self) -> Vec<Trip<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .zip(&self.counts)
            .map(|((start, &end), &count)| Trip { path: &self.doublets[start..end], count })
            .collect()
    }
}
