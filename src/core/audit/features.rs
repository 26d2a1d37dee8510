//! What an attacker reads off a whole release: numbers that one card may move.

use super::stage::Card;
use crate::engine::{AuditOutput, Row, Tables};

/// What a number says, in the attacker's words.
pub(super) const NAMES: [&str; 15] = [
    "rows",
    "passengers",
    "taps of all passengers",
    "the largest count",
    "passengers on the card's path",
    "zero bits at the end of that count",
    "that count beside the path with another first station",
    "passengers who begin where the card does",
    "passengers who end where the card does",
    "taps in the table of stations",
    "taps of the table at the card's stations",
    "trips in the table of origins and destinations",
    "trips of the table on the card's legs",
    "cards in the table of lengths",
    "cards of the table with as many taps",
];

/// One release as numbers.
pub(super) type Features = [f64; NAMES.len()];

/// The numbers of a release, for an attacker who knows the card's whole trip.
pub(super) fn of(output: &AuditOutput, card: &Card) -> Features {
    let rows = output.rows();
    let stations = |row: &Row| row.path.iter().map(|d| d.station.0).collect::<Vec<u32>>();
    let own: Vec<u32> = card.iter().map(|tap| tap.0).collect();
    let sum = |is: &dyn Fn(&[u32]) -> bool| {
        rows.iter().filter(|row| is(&stations(row))).map(|row| row.count as f64).sum::<f64>()
    };
    let on_path = rows.iter().find(|row| stations(row) == own).map_or(0, |row| row.count);
    let beside = sum(&|path| path.len() == own.len() && path[1..] == own[1..] && path[0] != own[0]);
    let taps = rows.iter().map(|row| row.count as f64 * row.path.len() as f64).sum();
    let [in_stations, at_stations, in_od, on_legs, in_lengths, as_long] =
        output.tables().map_or([0.0; 6], |tables| of_tables(tables, card));
    [
        rows.len() as f64,
        sum(&|_| true),
        taps,
        rows.iter().map(|row| row.count as f64).fold(0.0, f64::max),
        on_path as f64,
        f64::from(on_path.trailing_zeros().min(64)),
        on_path as f64 - beside,
        sum(&|path| path.first() == own.first()),
        sum(&|path| path.last() == own.last()),
        in_stations,
        at_stations,
        in_od,
        on_legs,
        in_lengths,
        as_long,
    ]
}

fn of_tables(tables: &Tables, card: &Card) -> [f64; 6] {
    let is_leg = |from: u32, to: u32| card.windows(2).any(|leg| leg[0].0 == from && leg[1].0 == to);
    let mut all = [0.0; 6];
    for cell in &tables.stations {
        all[0] += cell.taps.value as f64;
        if card.contains(&(cell.station.0, cell.slot)) {
            all[1] += cell.taps.value as f64;
        }
    }
    for cell in &tables.od {
        all[2] += cell.trips.value as f64;
        if is_leg(cell.origin.0, cell.dest.0) {
            all[3] += cell.trips.value as f64;
        }
    }
    for cell in &tables.lengths {
        all[4] += cell.cards.value as f64;
        if cell.taps as usize == card.len() {
            all[5] += cell.cards.value as f64;
        }
    }
    all
}
