//! Whether rows keep a promise of suppression: what was published, and the raw trips for comparison. The checks are
//! those of `guarantee`, which shares no code with the engines.

use crate::guarantee::{Guarantee, Trip, lk, projection};
use crate::model::{Doublet, Portion, StationIx, Stations};

use super::super::journeys::Journeys;

/// Whether LK or projection privacy holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Promise {
    /// Of the raw trips.
    pub before: bool,
    /// Of what was published.
    pub after: bool,
}

impl Promise {
    /// `None` for a guarantee that rows cannot break.
    pub(super) fn of(
        guarantee: &Guarantee,
        stations: &Stations,
        slots: u64,
        raw: &Journeys,
        made: &Journeys,
    ) -> Option<Self> {
        let holds = |journeys: &Journeys| {
            let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            let doublet = |&code: &u64| Doublet {
                station: StationIx(small(code / slots)),
                slot: small(code % slots),
            };
            let paths: Vec<(Vec<Doublet>, u64)> =
                journeys.iter().map(|(path, n)| (path.iter().map(doublet).collect(), n)).collect();
            let trips: Vec<Trip<'_>> =
                paths.iter().map(|(path, count)| Trip { path, count: *count }).collect();
            match guarantee {
                Guarantee::Lk { l, k, .. } => Some(lk(&trips, *l, u64::from(*k)).is_ok()),
                Guarantee::Projection { breach, adversaries, .. } => {
                    let mut owners = vec![None; stations.len() as usize];
                    for (number, ids) in (0..).zip(adversaries.values()) {
                        for station in ids.iter().filter_map(|id| stations.find(id)) {
                            owners[station.0 as usize] = Some(number);
                        }
                    }
                    Some(projection(&trips, &owners, Portion::parse(breach).ok()?).is_ok())
                }
                Guarantee::Differential { .. } | Guarantee::Nothing { .. } => None,
            }
        };
        Some(Self { before: holds(raw)?, after: holds(made)? })
    }
}
