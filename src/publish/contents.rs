//! The files of a release beside its manifest, known by name. Every file of every format stands in [`NAMES`].

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::engine::Release;

use super::disk::{Hashed, Written};
use super::flowgraph::{self, FLOWGRAPH_CSV, FLOWGRAPH_JSON, Flowgraph};
use super::manifest::{Field, ForeignKey, Reference, Schema};
use super::paths::{self, Paths};
use super::report::{self, Frame};
use super::tables::{ACTIVITIES_CSV, FLOWS_CSV, LENGTHS_CSV, Labelled, OD_CSV, STATIONS_CSV};
use super::view::View;
use super::{Error, Settings, parquet, recipient, words};

pub(super) const PATHS_CSV: &str = "paths.csv";
pub(super) const PATHS_PARQUET: &str = "paths.parquet";
pub(super) const LOCATIONS_CSV: &str = "locations.csv";
pub(super) const LOCATIONS_GEOJSON: &str = "locations.geojson";
pub(super) const FLOWS_GEOJSON: &str = "flows.geojson";
pub(super) const REPORT: &str = "report.html";
pub(super) const README: &str = "README.md";

/// Every name that a file of a release can have.
pub(super) const NAMES: [&str; 14] = [
    PATHS_CSV,
    PATHS_PARQUET,
    STATIONS_CSV,
    OD_CSV,
    LENGTHS_CSV,
    FLOWS_CSV,
    ACTIVITIES_CSV,
    FLOWGRAPH_CSV,
    FLOWGRAPH_JSON,
    LOCATIONS_CSV,
    LOCATIONS_GEOJSON,
    FLOWS_GEOJSON,
    REPORT,
    README,
];

/// The files that every release of a format has.
pub(super) fn required(format: u32) -> &'static [&'static str] {
    match format {
        1 => &[PATHS_CSV, PATHS_PARQUET, OD_CSV, LOCATIONS_CSV, README],
        _ => &[PATHS_CSV, PATHS_PARQUET, LOCATIONS_CSV, LOCATIONS_GEOJSON, REPORT, README],
    }
}

/// One file with what the data package says about it.
pub(super) struct Content {
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) written: Written,
    /// `None` for a file that is no table.
    pub(super) table: Option<TableFacts>,
}

/// What the data package says about a table.
pub(super) struct TableFacts {
    pub(super) about: &'static str,
    pub(super) schema: Schema,
}

impl Content {
    fn new(
        name: &'static str,
        table: Option<TableFacts>,
        fill: impl FnOnce(&mut Hashed<Vec<u8>>) -> io::Result<()>,
    ) -> Self {
        let mut hashed = Hashed::new(Vec::new());
        fill(&mut hashed).expect("memory is always writable");
        let (written, bytes) = hashed.finish();
        Self { name, bytes, written, table }
    }

    fn text(name: &'static str, text: &str) -> Self {
        Self::new(name, None, |out| out.write_all(text.as_bytes()))
    }

    fn json(name: &'static str, value: &Value) -> Self {
        Self::text(name, &format!("{value}\n"))
    }
}

/// All files of a release, in the order in which the manifest lists them. Refuses rows that no release may have.
pub(super) fn contents(release: &Release, settings: &Settings) -> Result<Vec<Content>, Error> {
    paths::check(release, &settings.stations)?;
    let paths = Paths::new(release, &settings.stations);
    // The rows as text and the rows as columns take about the same time.
    let (rows, columns) = rayon::join(
        || Content::new(PATHS_CSV, Some(paths_facts(release)), |out| paths.write_csv(out)),
        || Content::new(PATHS_PARQUET, None, |out| parquet::write(&paths, out)),
    );
    let mut files = vec![rows, columns];
    if let Some(tables) = Labelled::of(release, &settings.stations) {
        files.extend(measured(&tables));
    }
    if release.engine().name == flowgraph::ENGINE.0 {
        let graph =
            Flowgraph::of(&files[0].bytes).expect("P-1: these rows were written a moment ago");
        let facts = Some(flowgraph_facts());
        files.push(Content::new(FLOWGRAPH_CSV, facts, |out| graph.write_csv(out)));
        files.push(Content::json(FLOWGRAPH_JSON, &graph.to_json()));
    }
    files.push(Content::new(LOCATIONS_CSV, Some(locations_facts()), |out| {
        let fields = settings.stations.iter().map(|at| [&at.id, &at.name, &at.lat, &at.lon]);
        paths::write_locations(out, fields)
    }));
    let view =
        View::read(|name| files.iter().find(|file| file.name == name).map(|file| &*file.bytes))
            .expect("P-1: these files were written a moment ago");
    files.push(Content::json(LOCATIONS_GEOJSON, &stations_on_map(&view)));
    if !view.flows.is_empty() {
        files.push(Content::json(FLOWS_GEOJSON, &flows_on_map(&view)));
    }
    files.push(Content::text(REPORT, &report(release, settings, &view)));
    let names: Vec<&str> = files.iter().map(|file| file.name).collect();
    files.push(Content::text(README, &recipient::readme(release, settings, &names)));
    Ok(files)
}

/// The tables of an engine that measures them. One that it could not say anything in is left out.
fn measured(labelled: &Labelled<'_>) -> Vec<Content> {
    let mut files = vec![Content::new(STATIONS_CSV, Some(stations_facts()), |out| {
        labelled.write_stations(out)
    })];
    if !labelled.tables.od.is_empty() {
        files.push(Content::new(OD_CSV, Some(od_facts()), |out| labelled.write_od(out)));
    }
    files.push(Content::new(LENGTHS_CSV, Some(lengths_facts()), |out| labelled.write_lengths(out)));
    if !labelled.tables.od.is_empty() {
        files.push(Content::new(FLOWS_CSV, Some(flows_facts()), |out| labelled.write_flows(out)));
    }
    if labelled.has_times() {
        let facts = Some(activities_facts());
        files.push(Content::new(ACTIVITIES_CSV, facts, |out| labelled.write_activities(out)));
    }
    files
}

fn report(release: &Release, settings: &Settings, view: &View) -> String {
    let (window, reading) = (release.window(), release.reading());
    let frame = Frame {
        title: &words::title(settings),
        start: &window.start_label(),
        end: &window.end_label(),
        zone: window.zone_name(),
        guarantee: &release.guarantee().in_words(),
        error: &reading.error,
        cautions: &reading.cautions,
        made: release.post_processing(),
    };
    report::page(&frame, view)
}

/// GeoJSON points, with the number of taps where it is known.
fn stations_on_map(view: &View) -> Value {
    let feature = |(index, stop): (usize, &super::view::Stop)| {
        let taps = view.heat.get(&index).map(|row| row.iter().map(|cell| cell.value).sum::<u64>());
        let geometry =
            stop.at.map(|(lat, lon)| json!({ "type": "Point", "coordinates": [lon, lat] }));
        json!({
            "type": "Feature", "id": stop.id, "geometry": geometry,
            "properties": { "id": stop.id, "name": stop.name, "taps": taps.unwrap_or(0) },
        })
    };
    let features: Vec<Value> = view.stops.iter().enumerate().map(feature).collect();
    json!({ "type": "FeatureCollection", "features": features })
}

/// GeoJSON lines from origin to destination, over the whole window.
fn flows_on_map(view: &View) -> Value {
    let feature = |flow: &super::view::Flow| {
        let (from, to) = (&view.stops[flow.from], &view.stops[flow.to]);
        let line = from
            .at
            .zip(to.at)
            .map(|(a, b)| json!({ "type": "LineString", "coordinates": [[a.1, a.0], [b.1, b.0]] }));
        let range = flow.trips.range;
        json!({
            "type": "Feature", "geometry": line,
            "properties": {
                "origin": from.id, "dest": to.id, "origin_name": from.name, "dest_name": to.name,
                "trips": flow.trips.value, "low": range.map(|range| range.0), "high": range.map(|range| range.1),
            },
        })
    };
    let features: Vec<Value> = view.flows.iter().map(feature).collect();
    json!({ "type": "FeatureCollection", "features": features })
}

const LOW: [&str; 3] = ["low", "integer", "The true number is not lower, about 97 times of 100"];
const HIGH: [&str; 3] = ["high", "integer", "The true number is not higher, about 97 times of 100"];

fn paths_facts(release: &Release) -> TableFacts {
    let path = "station@slot>station@slot, in order; a slot is its beginning with the offset from UTC; \
                without @slot where times were left out";
    let count = ["count", "integer", release.reading().count];
    let schema = schema(&[count, ["path", "string", path]], &["path"], &[]);
    TableFacts { about: "Paths with counts, ordered by path", schema }
}

fn stations_facts() -> TableFacts {
    let fields = [
        ["station", "string", "Station id"],
        [
            "slot",
            "string",
            "The slot's beginning with the offset from UTC; empty where times were left out",
        ],
        ["taps", "integer", "Different cards at the station in the slot"],
        LOW,
        HIGH,
    ];
    let schema = schema(&fields, &["station", "slot"], &["station"]);
    TableFacts { about: "Cards by station and slot, measured, with a 95 % interval", schema }
}

fn od_facts() -> TableFacts {
    let fields = [
        ["origin", "string", "Station where a trip begins"],
        ["dest", "string", "Station where it ends"],
        [
            "period",
            "string",
            "Beginning of the period of the day on the window's first day; trips of all days",
        ],
        ["trips", "integer", "Trips that begin in the period"],
        LOW,
        HIGH,
    ];
    let schema = schema(&fields, &["origin", "dest", "period"], &["origin", "dest"]);
    TableFacts {
        about: "Trips by origin, destination and period, measured, with a 95 % interval",
        schema,
    }
}

fn lengths_facts() -> TableFacts {
    let fields = [
        ["taps", "integer", "Number of taps in the window"],
        ["cards", "integer", "Cards with so many taps"],
        LOW,
        HIGH,
    ];
    TableFacts {
        about: "Cards by number of taps, measured, with a 95 % interval",
        schema: schema(&fields, &["taps"], &[]),
    }
}

fn flows_facts() -> TableFacts {
    let fields = [
        ["origin", "string", "Station where trips begin"],
        ["dest", "string", "Station where they end"],
        [
            "time",
            "string",
            "Beginning of the period of the day on the window's first day; trips of all days",
        ],
        ["count", "integer", "Trips, as in od.csv, which has the interval"],
        ["origin_name", "string", "Its name"],
        ["dest_name", "string", "Its name"],
        ["origin_lat", "number", "Latitude in degrees"],
        ["origin_lng", "number", "Longitude in degrees"],
        ["dest_lat", "number", "Latitude in degrees"],
        ["dest_lng", "number", "Longitude in degrees"],
    ];
    let schema = schema(&fields, &["origin", "dest", "time"], &["origin", "dest"]);
    TableFacts { about: "od.csv with coordinates, for map tools (Kepler.gl, flowmap)", schema }
}

fn activities_facts() -> TableFacts {
    let fields = [
        ["service_date", "date", "Service day"],
        ["stop_id", "string", "Station id"],
        ["time_period_start", "string", "Beginning of the slot"],
        ["time_period_end", "string", "End of the slot"],
        ["time_period_category", "string", "Empty"],
        ["total_entries", "integer", "Empty: not measured apart"],
        ["total_exits", "integer", "Empty: not measured apart"],
        ["number_of_transactions", "integer", "Taps, as in stations.csv, which has the interval"],
    ];
    let schema = schema(&fields, &["stop_id", "time_period_start"], &["stop_id"]);
    TableFacts { about: "stations.csv in the form of TIDES 1.0 station_activities", schema }
}

fn flowgraph_facts() -> TableFacts {
    let fields = [
        ["node", "integer", "Number of a prefix of paths, from 1 on"],
        ["parent", "integer", "The prefix without its last doublet; 0 where paths begin"],
        ["station", "string", "Station id of the last doublet"],
        ["slot", "string", "Beginning of its slot with the offset from UTC"],
        ["cards", "integer", "Cards whose path begins so"],
        ["transition", "number", "Their share of the cards of the parent"],
        ["termination", "number", "Share of them whose path ends here"],
    ];
    TableFacts {
        about: "The passenger flowgraph: the prefix tree of paths.csv with probabilities",
        schema: schema(&fields, &["node"], &["station"]),
    }
}

fn locations_facts() -> TableFacts {
    let fields = [
        ["id", "string", "Station id"],
        ["name", "string", "Name, if the agency gives one"],
        ["lat", "number", "Latitude in degrees"],
        ["lon", "number", "Longitude in degrees"],
    ];
    let about = "Every station of the feed, whether a path visits it or not";
    TableFacts { about, schema: schema(&fields, &["id"], &[]) }
}

/// Columns, the primary key, and the columns that hold ids of locations.csv.
fn schema(fields: &[[&str; 3]], key: &[&str], stations: &[&str]) -> Schema {
    let field = |[name, r#type, about]: &[&str; 3]| Field {
        name: (*name).to_owned(),
        r#type: (*r#type).to_owned(),
        description: (*about).to_owned(),
    };
    let reference = || Reference { resource: "locations".to_owned(), fields: "id".to_owned() };
    Schema {
        fields: fields.iter().map(field).collect(),
        primary_key: key.iter().map(|&name| name.to_owned()).collect(),
        foreign_keys: stations
            .iter()
            .map(|&field| ForeignKey { fields: field.to_owned(), reference: reference() })
            .collect(),
    }
}
