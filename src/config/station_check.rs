//! The list of stations: a file or a GTFS feed, and the other names that records have for them.

use std::fs;
use std::path::Path;

use super::file::File;
use super::keys::{FeedKeys, StationKeys};
use crate::gtfs::{Choice, Network};
use crate::model::Stations;

/// The list, and what should be known about it.
pub(super) struct Listed {
    pub(super) stations: Stations,
    pub(super) notes: Vec<String>,
}

pub(super) fn stations(file: &mut File<'_>, base: &Path) -> Option<Listed> {
    let keys = file.section::<StationKeys>("stations")?;
    let is_gtfs = keys.gtfs.is_some();
    for (key, is_misplaced, other) in [
        ("stations.columns", keys.columns.is_some() && is_gtfs, "file"),
        ("stations.route_types", keys.route_types.is_some() && !is_gtfs, "gtfs"),
        ("stations.only_stations", keys.only_stations && !is_gtfs, "gtfs"),
    ] {
        if is_misplaced {
            file.complain(key, format_args!("belongs to stations.{other}, which is not there"));
        }
    }
    match (&keys.file, &keys.gtfs) {
        (Some(_), Some(_)) => {
            file.complain("stations.gtfs", "stands beside stations.file: keep one of them");
            None
        }
        (None, None) => {
            let what =
                "is required: a CSV with id,name,lat,lon,line; or name a GTFS feed (stations.gtfs)";
            file.complain("stations.file", what);
            None
        }
        (Some(name), None) => from_file(file, &base.join(name), &keys),
        (None, Some(name)) => from_gtfs(file, &base.join(name), &keys),
    }
}

fn from_file(file: &mut File<'_>, path: &Path, keys: &StationKeys) -> Option<Listed> {
    const KEY: &str = "stations.file";
    let shown = path.display();
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) => {
            file.complain(KEY, format_args!("cannot read {shown}: {error}"));
            return None;
        }
    };
    let read = match &keys.columns {
        Some(columns) => Stations::from_columns(&text, &columns.0),
        None => Stations::from_csv(&text),
    };
    match read {
        Ok(stations) => Some(Listed { stations, notes: Vec::new() }),
        Err(complaints) => {
            for complaint in complaints {
                file.complain(KEY, format_args!("{shown}: {complaint}"));
            }
            None
        }
    }
}

fn from_gtfs(file: &mut File<'_>, path: &Path, keys: &StationKeys) -> Option<Listed> {
    const KEY: &str = "stations.gtfs";
    let route_types = keys.route_types.as_ref().map(|types| types.0.clone()).unwrap_or_default();
    let choice = Choice { route_types, only_stations: keys.only_stations };
    let network = match Network::read(path, &choice) {
        Ok(network) => network,
        Err(error) => {
            file.complain(KEY, error);
            return None;
        }
    };
    let notes = network.notes.clone();
    match network.into_stations() {
        Ok(stations) => Some(Listed { stations, notes }),
        Err(complaints) => {
            for complaint in complaints {
                file.complain(KEY, format_args!("{}: {complaint}", path.display()));
            }
            None
        }
    }
}

/// Other names of stations: those of `feed.aliases`, then those with other endings.
pub(super) fn aliased(
    file: &mut File<'_>,
    base: &Path,
    feed: Option<&FeedKeys>,
    stations: Stations,
) -> Option<Stations> {
    let feed = feed?;
    let mut stations = stations;
    if let Some(name) = &feed.aliases {
        const KEY: &str = "feed.aliases";
        let path = base.join(name);
        let shown = path.display();
        let named = read_aliases(&path).and_then(|aliases| stations.with_aliases(&aliases));
        stations = match named {
            Ok(stations) => stations,
            Err(complaints) => {
                for complaint in complaints {
                    file.complain(KEY, format_args!("{shown}: {complaint}"));
                }
                return None;
            }
        };
    }
    let Some(suffixes) = &feed.station_suffixes else { return Some(stations) };
    match stations.with_suffixes(&suffixes.0) {
        Ok(stations) => Some(stations),
        Err(complaints) => {
            for complaint in complaints {
                file.complain("feed.station_suffixes", complaint);
            }
            None
        }
    }
}

/// The rows of a file of aliases.
fn read_aliases(path: &Path) -> Result<Vec<(String, String)>, Vec<String>> {
    let text = std::fs::read(path).map_err(|error| vec![format!("cannot be read: {error}")])?;
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
    let mut reader = csv::Reader::from_reader(text);
    let refuse = |error: csv::Error| vec![error.to_string()];
    let header = reader.headers().map_err(refuse)?.clone();
    let column = |name: &str| header.iter().position(|one| one.trim() == name);
    let (Some(alias), Some(station)) = (column("alias"), column("station")) else {
        return Err(vec!["the header must have the columns alias and station".to_owned()]);
    };
    let mut aliases = Vec::new();
    for record in reader.records() {
        let record = record.map_err(refuse)?;
        let [alias, station] =
            [alias, station].map(|column| record.get(column).unwrap_or("").trim().to_owned());
        if alias.is_empty() || station.is_empty() {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(vec![format!("line {line}: alias or station is empty")]);
        }
        aliases.push((alias, station));
    }
    Ok(aliases)
}
