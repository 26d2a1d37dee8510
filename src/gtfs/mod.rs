//! A GTFS feed becomes a list of stations: platforms climb to their stations, stations stand on lines, lines in
//! networks.
//!
//! In → out: a zip file or a directory → [`Network`].
//! Promises: O-1 a stop is one station or part of one, and the same feed always gives the same list.
//! Refuses: a feed without stops, loops in `parent_station`, text that is not UTF-8, route types that nothing tells.
//! Why: decision 0018 (GTFS read by hand). The list of stations is public and must not be read off the taps.

mod archive;
mod curve;
mod lines;
mod stops;
mod table;

pub use archive::Archive;

use std::collections::BTreeMap;
use std::path::Path;

use crate::model::{ErrorKind, Station, Stations};

use self::lines::Lines;
use self::stops::Stops;

/// What of a feed is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// Only stations that routes of these types serve; empty: all.
    pub route_types: Vec<u32>,
    /// Only stations that have platforms or entrances below them.
    pub only_stations: bool,
}

/// The stations of a feed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// In order: along the lines, or along a curve through the city where no line is known.
    pub stations: Vec<Station>,
    /// Ids of platforms, entrances and boarding areas, each with its station's.
    pub parts: Vec<(String, String)>,
    /// The network or agency of each line.
    pub networks: BTreeMap<String, String>,
    /// What is missing, and what that means. For people.
    pub notes: Vec<String>,
}

impl Network {
    /// Reads a feed: a zip file or a directory.
    pub fn read(path: &Path, choice: &Choice) -> Result<Self, Error> {
        Self::of(Archive::open(path)?, choice)
    }

    /// The stations of a feed that was opened.
    pub fn of(mut archive: Archive, choice: &Choice) -> Result<Self, Error> {
        let mut notes = Vec::new();
        let stops = Stops::read(&mut archive)?;
        let lines = Lines::read(&mut archive, &stops, choice, &mut notes)?;
        let wanted = |at: usize| {
            (!choice.only_stations || stops.has_parts(at))
                && (choice.route_types.is_empty() || lines.line_of(at).is_some())
        };
        let mut chosen: Vec<usize> = stops.tops().filter(|&at| wanted(at)).collect();
        if chosen.is_empty() {
            return Err(Error::NothingLeft { feed: archive.name().to_owned() });
        }
        let homeless: Vec<&str> = chosen
            .iter()
            .filter(|&&at| stops.at(at).place.is_none())
            .map(|&at| stops.at(at).id.as_str())
            .collect();
        if !homeless.is_empty() {
            notes.push(format!(
                "{} stations have no coordinates (stop_lat, stop_lon): {}; maps leave them out, and groups by place are \
                 refused",
                homeless.len(),
                shown(&homeless)
            ));
        }
        match lines.are_known() {
            true => chosen.sort_by_key(|&at| lines.rank(at)),
            false => chosen
                .sort_by_key(|&at| (curve::place(stops.at(at).place), stops.at(at).id.clone())),
        }
        let station = |&at: &usize| {
            let stop = stops.at(at);
            let line = lines.line_of(at).map(|line| line.name.clone()).unwrap_or_default();
            let (lat, lon) = (stop.lat.clone(), stop.lon.clone());
            Station { id: stop.id.clone(), name: stop.name.clone(), lat, lon, line }
        };
        let networks = chosen.iter().filter_map(|&at| lines.line_of(at));
        Ok(Self {
            stations: chosen.iter().map(station).collect(),
            parts: stops.parts_of(&chosen),
            networks: networks.map(|line| (line.name.clone(), line.network.clone())).collect(),
            notes,
        })
    }

    /// The list that a feed of taps works with. Taps may name platforms; they mean the station.
    pub fn into_stations(self) -> Result<Stations, Vec<String>> {
        Stations::new(self.stations)?.with_aliases(&self.parts)
    }
}

/// A few names out of many.
fn shown(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let more = names.len().saturating_sub(SHOWN);
    let list = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{list} and {more} more") } else { list }
}

/// Why a feed gives no stations.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not there, or neither a directory nor a zip file.
    #[error("cannot open {feed}: {what}")]
    Open { feed: String, what: String },
    /// A file that nothing works without.
    #[error(
        "{feed} has no {file}: it is not a whole GTFS feed; get it again, or write a stations.csv by hand (stations.file)"
    )]
    MissingFile { feed: String, file: &'static str },
    /// A file cannot be read.
    #[error("{feed}, {file}: {what}")]
    Table { feed: String, file: String, what: String },
    /// Stations that are parts of themselves.
    #[error("{feed}, stops.txt: parent_station goes in a circle: {}; correct one of them", circle.join(" → "))]
    Circle { feed: String, circle: Vec<String> },
    /// The feed does not say what was asked.
    #[error(
        "{feed} does not say which routes serve a station: it has no {missing}; leave stations.route_types out"
    )]
    NoRouteTypes { feed: String, missing: String },
    /// Nothing of it is wanted.
    #[error(
        "no station of {feed} is left: stations.route_types or stations.only_stations leave every one out"
    )]
    NothingLeft { feed: String },
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Config
    }
}

#[cfg(test)]
mod tests;
