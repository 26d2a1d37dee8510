//! stations.csv, od.csv, lengths.csv: tables with intervals, from engines that measure them.

use std::io::{self, Write};

use crate::engine::{Interval, Release, Tables};
use crate::model::{PathKind, Stations};

use super::paths::csv_into;

/// Cards by station and slot.
pub(super) const STATIONS_CSV: &str = "stations.csv";
/// Trips by origin, destination and period.
pub(super) const OD_CSV: &str = "od.csv";
/// Cards by number of taps.
pub(super) const LENGTHS_CSV: &str = "lengths.csv";

pub(super) const STATIONS_HEADER: [&str; 5] = ["station", "slot", "taps", "low", "high"];
pub(super) const OD_HEADER: [&str; 6] = ["origin", "dest", "period", "trips", "low", "high"];
pub(super) const LENGTHS_HEADER: [&str; 4] = ["taps", "cards", "low", "high"];

/// Tables of a release with the labels of its slots.
pub(super) struct Labelled<'a> {
    pub(super) tables: &'a Tables,
    stations: &'a Stations,
    labels: Vec<String>,
}

impl<'a> Labelled<'a> {
    /// `None` for a release without tables.
    pub(super) fn of(release: &'a Release, stations: &'a Stations) -> Option<Self> {
        let tables = release.tables()?;
        let label = |slot: u32| match release.input() {
            PathKind::Timed => release.window().slot_label(slot),
            PathKind::Untimed => String::new(),
        };
        let labels = (0..release.window().n_slots()).map(label).collect();
        Some(Self { tables, stations, labels })
    }

    fn label(&self, slot: u32) -> &str {
        &self.labels[slot as usize]
    }

    pub(super) fn write_stations(&self, out: &mut impl Write) -> io::Result<()> {
        let mut csv = csv_into(out);
        csv.write_record(STATIONS_HEADER)?;
        for cell in &self.tables.stations {
            let [value, low, high] = spelled(&cell.taps);
            csv.write_record([
                &self.stations.get(cell.station).id,
                self.label(cell.slot),
                &value,
                &low,
                &high,
            ])?;
        }
        csv.flush()
    }

    pub(super) fn write_od(&self, out: &mut impl Write) -> io::Result<()> {
        let mut csv = csv_into(out);
        csv.write_record(OD_HEADER)?;
        for cell in &self.tables.od {
            let [value, low, high] = spelled(&cell.trips);
            let ends = [cell.origin, cell.dest].map(|station| &self.stations.get(station).id);
            csv.write_record([ends[0], ends[1], self.label(cell.period), &value, &low, &high])?;
        }
        csv.flush()
    }

    pub(super) fn write_lengths(&self, out: &mut impl Write) -> io::Result<()> {
        let mut csv = csv_into(out);
        csv.write_record(LENGTHS_HEADER)?;
        for cell in &self.tables.lengths {
            let [value, low, high] = spelled(&cell.cards);
            csv.write_record([&cell.taps.to_string(), &value, &low, &high])?;
        }
        csv.flush()
    }
}

fn spelled(interval: &Interval) -> [String; 3] {
    [interval.value, interval.low, interval.high].map(|number| number.to_string())
}
