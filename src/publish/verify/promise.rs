//! What a release promises, checked on its rows: for promises that rows alone can break.

use serde_json::Value;

use super::super::members::Members;
use super::super::parquet::Table;
use crate::guarantee::{self as promised, Trip};
use crate::model::{Doublet, Portion, StationIx};

/// What the rows say against the guarantee, if anything. `Err` blames the manifest.
pub(super) fn check(
    guarantee: &Members,
    table: &Table,
    ids: &[String],
) -> Result<Option<String>, String> {
    let model = guarantee.get("model").and_then(Value::as_str).unwrap_or_default();
    let owned = Rows::of(table);
    let trips = owned.trips();
    let breach = match model {
        "lk" => promised::lk(&trips, number(guarantee, "L")?, number(guarantee, "K")?.into()),
        "projection" => {
            let breach = guarantee.get("P_br").and_then(Value::as_str);
            let breach = breach.and_then(|text| Portion::parse(text).ok());
            let breach = breach.ok_or("has no privacy.guarantee.P_br between 0 and 1")?;
            promised::projection(&trips, &owners(guarantee, ids)?, breach)
        }
        "none" => Ok(()),
        // Noise cannot be seen in the rows; everything about it is in the proofs.
        model if model.starts_with("differential-privacy") => Ok(()),
        other => return Err(format!("has a guarantee of the unknown model {other:?}")),
    };
    Ok(breach.err().map(|breach| format!("breaks the guarantee: {breach}")))
}

fn number(guarantee: &Members, name: &str) -> Result<u32, String> {
    let number = guarantee.get(name).and_then(Value::as_u64);
    let number = number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    number.ok_or_else(|| format!("has no privacy.guarantee.{name} that is a positive number"))
}

/// The adversary of every station, by its place among the ids.
fn owners(guarantee: &Members, ids: &[String]) -> Result<Vec<Option<u32>>, String> {
    let adversaries = guarantee.get("adversaries").and_then(Value::as_object);
    let adversaries = adversaries.ok_or("has no privacy.guarantee.adversaries")?;
    let mut owners = vec![None; ids.len()];
    for (number, (name, stations)) in (0..).zip(adversaries) {
        for station in stations.as_array().into_iter().flatten() {
            let id = station.as_str().unwrap_or_default();
            let at = ids.binary_search_by(|known| known.as_str().cmp(id));
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
