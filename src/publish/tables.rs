//! stations.csv, od.csv, lengths.csv: tables with intervals, from engines that measure them. And two of them again in
//! the words of others: flows.csv for map tools, station_activities.csv for TIDES.

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

/// od.csv with coordinates: columns that Kepler.gl and flowmap tools know without being told.
pub(super) const FLOWS_CSV: &str = "flows.csv";
/// stations.csv in the form of TIDES.
pub(super) const ACTIVITIES_CSV: &str = "station_activities.csv";

pub(super) const FLOWS_HEADER: [&str; 10] = [
    "origin",
    "dest",
    "time",
    "count",
    "origin_name",
    "dest_name",
    "origin_lat",
    "origin_lng",
    "dest_lat",
    "dest_lng",
];
pub(super) const ACTIVITIES_HEADER: [&str; 8] = [
    "service_date",
    "stop_id",
    "time_period_start",
    "time_period_end",
    "time_period_category",
    "total_entries",
    "total_exits",
    "number_of_transactions",
];

pub(super) const STATIONS_HEADER: [&str; 5] = ["station", "slot", "taps", "low", "high"];
pub(super) const OD_HEADER: [&str; 6] = ["origin", "dest", "period", "trips", "low", "high"];
pub(super) const LENGTHS_HEADER: [&str; 4] = ["taps", "cards", "low", "high"];

/// Tables of a release with the labels of its slots.
pub(super) struct Labelled<'a> {
    pub(super) tables: &'a Tables,
    stations: &'a Stations,
    labels: Vec<String>,
    /// Of each slot: its service day, and where it ends. Empty without times.
    days: Vec<(String, String)>,
}

impl<'a> Labelled<'a> {
    /// `None` for a release without tables.
    pub(super) fn of(release: &'a Release, stations: &'a Stations) -> Option<Self> {
        let tables = release.tables()?;
        let label = |slot: u32| match release.input() {
            PathKind::Timed => release.window().slot_label(slot),
            PathKind::Untimed => String::new(),
        };
        let window = release.window();
        let labels = (0..window.n_slots()).map(label).collect();
        let day = |slot: u32| (window.service_date(slot), window.slot_label(slot + 1));
        let days = match release.input() {
            PathKind::Timed => (0..window.n_slots()).map(day).collect(),
            PathKind::Untimed => Vec::new(),
        };
        Some(Self { tables, stations, labels, days })
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

    /// Whether there is anything to say in the words of others.
    pub(super) fn has_times(&self) -> bool {
        !self.days.is_empty()
    }

    /// Pairs of stations that both have a place.
    pub(super) fn write_flows(&self, out: &mut impl Write) -> io::Result<()> {
        let mut csv = csv_into(out);
        csv.write_record(FLOWS_HEADER)?;
        for cell in &self.tables.od {
            let [from, to] = [cell.origin, cell.dest].map(|station| self.stations.get(station));
            if [&from.lat, &from.lon, &to.lat, &to.lon].iter().any(|degrees| degrees.is_empty()) {
                continue;
            }
            let count = cell.trips.value.to_string();
            csv.write_record([
                &from.id,
                &to.id,
                self.label(cell.period),
                &count,
                &from.name,
                &to.name,
                &from.lat,
                &from.lon,
                &to.lat,
                &to.lon,
            ])?;
        }
        csv.flush()
    }

    /// Entries and exits are not measured apart: TIDES leaves what is not known empty.
    pub(super) fn write_activities(&self, out: &mut impl Write) -> io::Result<()> {
        let mut csv = csv_into(out);
        csv.write_record(ACTIVITIES_HEADER)?;
        for cell in &self.tables.stations {
            let (day, end) = &self.days[cell.slot as usize];
            let (stop, count) = (&self.stations.get(cell.station).id, cell.taps.value.to_string());
            csv.write_record([day, stop, self.label(cell.slot), end, "", "", "", &count])?;
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
