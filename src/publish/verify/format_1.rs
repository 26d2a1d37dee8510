//! Format 1: od.csv had the flows from the first to the last station of every path.

use std::collections::BTreeMap;
use std::io;

use super::super::disk::{self, Written};
use super::super::parquet::Table;
use super::super::paths::csv_into;

/// What od.csv must hold.
pub(super) fn flows(table: &Table, ids: &[String]) -> io::Result<Written> {
    // 128 bits hold any sum of 64-bit counts.
    let mut flows: BTreeMap<(u32, u32), u128> = BTreeMap::new();
    let mut start = 0;
    for (&end, &count) in table.ends.iter().zip(&table.counts) {
        if let [first, .., last] = table.stations[start..end] {
            let sum = flows.entry((first, last)).or_default();
            *sum = sum.saturating_add(u128::from(count.unsigned_abs()));
        }
        start = end;
    }
    disk::digest_of(|out| {
        let mut csv = csv_into(out);
        csv.write_record(["origin", "dest", "count"])?;
        for ((origin, dest), count) in flows {
            csv.write_record([&ids[origin as usize], &ids[dest as usize], &count.to_string()])?;
        }
        csv.flush()
    })
}
