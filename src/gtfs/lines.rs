//! Which line a station stands on: the route that most trips through it belong to, the lowest id among equals.

use std::collections::HashMap;

use super::archive::Archive;
use super::stops::Stops;
use super::table::Table;
use super::{Choice, Error};

/// A route, by the words that people have for it.
pub(super) struct Line {
    pub(super) name: String,
    /// Its network, or the agency that runs it; may be empty.
    pub(super) network: String,
    id: String,
}

/// The lines of all stations.
pub(super) struct Lines {
    lines: Vec<Line>,
    /// By station: its line, and how far along it.
    of: Vec<Option<(usize, u32)>>,
    known: bool,
}

/// A route as it is read.
struct Route {
    line: Line,
    is_wanted: bool,
}

impl Lines {
    pub(super) fn read(
        archive: &mut Archive,
        stops: &Stops,
        choice: &Choice,
        notes: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let mut missing = Vec::new();
        let mut table =
            |archive: &mut Archive, file: &'static str| -> Result<Option<Table>, Error> {
                let found = archive.optional(file)?;
                if found.is_none() {
                    missing.push(file);
                }
                Ok(found)
            };
        let (routes, trips) = (table(archive, "routes.txt")?, table(archive, "trips.txt")?);
        let times = table(archive, "stop_times.txt")?;
        let (Some(routes), Some(trips), Some(times)) = (routes, trips, times) else {
            let missing = missing.join(", ");
            if !choice.route_types.is_empty() {
                return Err(Error::NoRouteTypes { feed: archive.name().to_owned(), missing });
            }
            notes.push(format!(
                "{missing} is missing: no station has a line. Stations are listed along a curve through their \
                 coordinates, so that taxonomy.locations = {{ fanout = 8, height = 1 }} makes groups of neighbours"
            ));
            return Ok(Self { lines: Vec::new(), of: vec![None; stops.len()], known: false });
        };
        let routes = read_routes(archive, &routes, choice)?;
        let feed = archive.name().to_owned();
        let failed = |file: &str| {
            let (feed, file) = (feed.clone(), file.to_owned());
            move |what: String| Error::Table { feed, file, what }
        };
        let by_trip = routes_of_trips(&trips, &routes).map_err(failed("trips.txt"))?;
        let calls = Calls::read(&times, &by_trip, stops).map_err(failed("stop_times.txt"))?;
        let of = calls.main_lines(&routes, stops.len());
        let lines = routes.into_iter().map(|route| route.line).collect();
        Ok(Self { lines, of, known: true })
    }

    pub(super) fn are_known(&self) -> bool {
        self.known
    }

    pub(super) fn line_of(&self, at: usize) -> Option<&Line> {
        self.of[at].map(|(line, _)| &self.lines[line])
    }

    /// Stations of a line stand together, in the order of its longest trip; those without a line come last.
    pub(super) fn rank(&self, at: usize) -> (bool, &str, u32, usize) {
        match self.of[at] {
            Some((line, place)) => (false, &self.lines[line].id, place, at),
            None => (true, "", 0, at),
        }
    }
}

fn read_routes(archive: &mut Archive, table: &Table, choice: &Choice) -> Result<Vec<Route>, Error> {
    let feed = archive.name().to_owned();
    let failed =
        |file: &str, what: String| Error::Table { feed: feed.clone(), file: file.to_owned(), what };
    let networks = pairs(archive, "route_networks.txt", ["route_id", "network_id"])?;
    let agencies = pairs(archive, "agency.txt", ["agency_id", "agency_name"])?;
    // A feed of one agency need not repeat its id.
    let only = if agencies.len() == 1 { agencies.values().next().cloned() } else { None };
    let mut routes = Vec::new();
    let columns = [
        "route_id",
        "route_type",
        "route_short_name",
        "route_long_name",
        "agency_id",
        "network_id",
    ];
    let read = table.rows(columns, 1, |[id, kind, short, long, agency, network]| {
        let network = [network, networks.get(id).map_or("", String::as_str)]
            .into_iter()
            .find(|network| !network.is_empty())
            .map(str::to_owned)
            .or_else(|| agencies.get(agency).cloned())
            .or_else(|| only.clone())
            .unwrap_or_else(|| agency.to_owned());
        let name = [short, long, id].into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let is_wanted = choice.route_types.is_empty()
            || kind.parse().is_ok_and(|kind: u32| choice.route_types.contains(&kind));
        let line = Line { name: name.to_owned(), network, id: id.to_owned() };
        routes.push(Route { line, is_wanted });
    });
    read.map_err(|what| failed("routes.txt", what))?;
    tell_apart(&mut routes);
    Ok(routes)
}

/// Two agencies may both have a line 1: where a name means routes of two networks, it says which.
fn tell_apart(routes: &mut [Route]) {
    let mut seen: HashMap<String, (String, bool)> = HashMap::new();
    for Route { line, .. } in routes.iter() {
        let (network, is_shared) =
            seen.entry(line.name.clone()).or_insert_with(|| (line.network.clone(), false));
        *is_shared |= *network != line.network;
    }
    for Route { line, .. } in routes.iter_mut() {
        if seen.get(&line.name).is_some_and(|(_, is_shared)| *is_shared) {
            line.name = format!("{} {}", line.network, line.name);
        }
    }
}

fn pairs(
    archive: &mut Archive,
    file: &str,
    columns: [&str; 2],
) -> Result<HashMap<String, String>, Error> {
    let mut found = HashMap::new();
    if let Some(table) = archive.optional(file)? {
        let read = table.rows(columns, 0, |[key, value]| {
            found.insert(key.to_owned(), value.to_owned());
        });
        read.map_err(|what| Error::Table {
            feed: archive.name().to_owned(),
            file: file.to_owned(),
            what,
        })?;
    }
    Ok(found)
}

/// The route of every trip that is wanted, by the trip's id; trips are numbered.
fn routes_of_trips(
    table: &Table,
    routes: &[Route],
) -> Result<HashMap<String, (u32, usize)>, String> {
    let known: HashMap<&str, usize> =
        routes.iter().enumerate().map(|(at, route)| (route.line.id.as_str(), at)).collect();
    let mut trips = HashMap::new();
    table.rows(["trip_id", "route_id"], 2, |[trip, route]| {
        let number = u32::try_from(trips.len()).unwrap_or(u32::MAX);
        if let Some(&route) = known.get(route).filter(|&&route| routes[route].is_wanted) {
            trips.insert(trip.to_owned(), (number, route));
        }
    })?;
    Ok(trips)
}

/// Which trips call where.
struct Calls {
    /// Route, trip, station and place in the trip; sorted, each trip once a station.
    calls: Vec<(usize, u32, usize, u32)>,
}

impl Calls {
    fn read(
        table: &Table,
        trips: &HashMap<String, (u32, usize)>,
        stops: &Stops,
    ) -> Result<Self, String> {
        let mut calls = Vec::new();
        table.rows(["trip_id", "stop_id", "stop_sequence"], 2, |[trip, stop, place]| {
            if let (Some(&(number, route)), Some(top)) = (trips.get(trip), stops.top_of(stop)) {
                calls.push((route, number, top, place.parse().unwrap_or(0)));
            }
        })?;
        calls.sort_unstable();
        calls.dedup_by_key(|&mut (route, trip, top, _)| (route, trip, top));
        Ok(Self { calls })
    }

    /// The main line of every station, and the station's place on the line's longest trip.
    fn main_lines(&self, routes: &[Route], n_stops: usize) -> Vec<Option<(usize, u32)>> {
        let mut n_trips: HashMap<(usize, usize), u32> = HashMap::new();
        let mut longest: HashMap<usize, (u32, u32)> = HashMap::new();
        for trip in self.calls.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (route, number, ..) = trip[0];
            let length = u32::try_from(trip.len()).unwrap_or(u32::MAX);
            let best = longest.entry(route).or_insert((length, number));
            if length > best.0 {
                *best = (length, number);
            }
            for call in trip {
                *n_trips.entry((route, call.2)).or_default() += 1;
            }
        }
        let mut main: Vec<Option<(u32, usize)>> = vec![None; n_stops];
        for (&(route, top), &n) in &n_trips {
            let is_better = main[top].is_none_or(|(most, known)| {
                n > most || (n == most && routes[route].line.id < routes[known].line.id)
            });
            if is_better {
                main[top] = Some((n, route));
            }
        }
        let mut places: HashMap<(usize, usize), u32> = HashMap::new();
        for &(route, trip, top, place) in &self.calls {
            if longest.get(&route).is_some_and(|&(_, number)| number == trip) {
                places.insert((route, top), place);
            }
        }
        let placed = |(top, main): (usize, Option<(u32, usize)>)| {
            // A station that only shorter trips reach comes after those of the longest.
            main.map(|(_, route)| (route, places.get(&(route, top)).copied().unwrap_or(u32::MAX)))
        };
        main.into_iter().enumerate().map(placed).collect()
    }
}
