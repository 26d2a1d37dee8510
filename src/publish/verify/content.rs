//! What the files of a release say: rows in order, places and times that exist, the same in every form.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use crate::model::{PathKind, Stations};

use super::super::contents::{LOCATIONS_CSV, PATHS_CSV, PATHS_PARQUET};
use super::super::disk::{self, Written};
use super::super::flowgraph::{self, FLOWGRAPH_CSV, FLOWGRAPH_JSON, Flowgraph};
use super::super::manifest::{FileEntry, MANIFEST, Package, WindowFacts};
use super::super::parquet::{self, Table};
use super::super::paths::{AT, NEXT, csv_into, write_locations};
use super::super::tables::OD_CSV;
use super::records::Records;
use super::{Problem, format_1, promise, tables};

/// Checks what the intact files say; each gets at most one problem, the first.
pub(super) fn check(
    dir: &Path,
    package: &Package,
    intact: &BTreeSet<String>,
    problems: &mut Vec<Problem>,
) {
    let time = match Time::of(&package.privacy.window) {
        Ok(time) => time,
        Err(what) => return problems.push(Problem::new(MANIFEST, what)),
    };
    let input = package.privacy.input;
    let open = |name: &str| match intact.contains(name) {
        true => disk::open_plain(&dir.join(name)).ok(),
        false => None,
    };
    let digest = |name: &str| package.privacy.files.iter().find(|entry| entry.name == name);
    let Some(locations) = open(LOCATIONS_CSV) else { return };
    let known = match KnownStations::read(locations, digest(LOCATIONS_CSV)) {
        Ok(known) => known,
        Err(what) => return problems.push(Problem::new(LOCATIONS_CSV, what)),
    };
    let Some(rows) = open(PATHS_CSV) else { return };
    let time = (input == PathKind::Timed).then_some(time);
    let table = match read_paths(rows, &known, time.as_ref(), digest(PATHS_CSV)) {
        Ok(table) => table,
        Err(what) => return problems.push(Problem::new(PATHS_CSV, what)),
    };
    match promise::check(&package.privacy.guarantee.promise, &table, &known.ids) {
        Ok(None) => {}
        Ok(Some(what)) => problems.push(Problem::new(PATHS_CSV, what)),
        Err(what) => problems.push(Problem::new(MANIFEST, what)),
    }
    if let Some(file) = open(PATHS_PARQUET)
        && let Some(what) = parquet::difference(file, &table, &known.ids, input)
    {
        problems.push(Problem::new(PATHS_PARQUET, what));
    }
    if package.privacy.engine.name == flowgraph::ENGINE.0 {
        check_flowgraph(dir, package, intact, problems);
    }
    if package.privacy.format > 1 {
        return tables::check(open, &known, time.as_ref(), problems);
    }
    // In format 1 od.csv was added up from the paths.
    if intact.contains(OD_CSV) && !fits(&format_1::flows(&table, &known.ids), digest(OD_CSV)) {
        problems.push(Problem::new(OD_CSV, "is not what the paths add up to"));
    }
}

/// The flowgraph is what the paths add up to. Revision 1 of its engine wrote none.
fn check_flowgraph(
    dir: &Path,
    package: &Package,
    intact: &BTreeSet<String>,
    problems: &mut Vec<Problem>,
) {
    let engine = &package.privacy.engine;
    let entry = |name: &str| package.privacy.files.iter().find(|entry| entry.name == name);
    let is_missing = [FLOWGRAPH_CSV, FLOWGRAPH_JSON].iter().any(|name| entry(name).is_none());
    if is_missing && engine.version < flowgraph::ENGINE.1 {
        return;
    }
    let paths = disk::read(&dir.join(PATHS_CSV), 1 << 40).ok();
    let graph = paths.and_then(|paths| Flowgraph::of(&paths));
    let said = |name: &str| match (&graph, name) {
        (None, _) => Err(io::Error::other("no rows")),
        (Some(graph), FLOWGRAPH_CSV) => disk::digest_of(|out| graph.write_csv(out)),
        (Some(graph), _) => disk::digest_of(|out| writeln!(out, "{}", graph.to_json())),
    };
    for name in [FLOWGRAPH_CSV, FLOWGRAPH_JSON] {
        if entry(name).is_none() {
            problems.push(Problem::new(name, "is missing: every release of this engine has one"));
        } else if intact.contains(name) && !fits(&said(name), entry(name)) {
            problems.push(Problem::new(name, "is not what the paths add up to"));
        }
    }
}

/// Where slots may begin, in milliseconds since 1970.
pub(super) struct Time {
    start: i64,
    end: i64,
    slot: i64,
}

impl Time {
    fn of(window: &WindowFacts) -> Result<Self, String> {
        let instant = |name: &str, text: &str| match text.parse::<Timestamp>() {
            Ok(instant) => Ok(instant.as_millisecond()),
            Err(error) => Err(format!("has a privacy.window.{name} that is no time: {error}")),
        };
        let (start, end) = (instant("start", &window.start)?, instant("end", &window.end)?);
        let slot = window.slot.parse::<SignedDuration>().ok().map(|slot| slot.as_millis());
        match slot.and_then(|millis| i64::try_from(millis).ok()) {
            _ if end <= start => Err("has a window that ends before it begins".to_owned()),
            Some(slot) if slot > 0 => Ok(Self { start, end, slot }),
            _ => Err("has a privacy.window.slot that is no length of time".to_owned()),
        }
    }

    /// Reads a slot's beginning as `2015-11-09T07:00-06:00`.
    pub(super) fn slot(&self, label: &str) -> Result<i64, String> {
        let minutes = "0000-00-00T00:00+00:00";
        let seconds = "0000-00-00T00:00:00+00:00";
        let has_form = |form: &str| {
            form.len() == label.len()
                && label.bytes().zip(form.bytes()).all(|(byte, sign)| match sign {
                    b'0' => byte.is_ascii_digit(),
                    b'+' => byte == b'+' || byte == b'-',
                    _ => byte == sign,
                })
        };
        let instant = match has_form(minutes) || has_form(seconds) {
            true => label.parse::<Timestamp>().ok(),
            false => None,
        };
        let millis = instant.ok_or_else(|| format!("{label:?} is no slot"))?.as_millisecond();
        if !(self.start..self.end).contains(&millis) {
            return Err(format!("the slot {label} lies outside the window"));
        }
        match millis.saturating_sub(self.start).checked_rem(self.slot) {
            Some(0) => Ok(millis),
            _ => Err(format!("no slot begins at {label}")),
        }
    }
}

/// The stations of locations.csv, by id.
pub(super) struct KnownStations {
    ids: Vec<String>,
    pub(super) index: HashMap<String, u32>,
}

impl KnownStations {
    fn read(file: File, expected: Option<&FileEntry>) -> Result<Self, String> {
        let mut reader = Records::new(file, &["id", "name", "lat", "lon"])?;
        let mut listed: Vec<[String; 4]> = Vec::new();
        while reader.advance()? {
            let fields: [&str; 4] =
                reader.fields().try_into().map_err(|_| reader.complaint("has not four fields"))?;
            if listed.last().is_some_and(|before| before[0].as_str() >= fields[0]) {
                return Err(reader.complaint("is not above the one before"));
            }
            if listed.len() == Stations::MAX {
                return Err(reader.complaint("is one station too many"));
            }
            listed.push(fields.map(str::to_owned));
        }
        let again =
            disk::digest_of(|out| write_locations(out, listed.iter().map(|s| s.each_ref())));
        if !fits(&again, expected) {
            return Err("is not in the form it is written in".to_owned());
        }
        let ids: Vec<String> = listed.into_iter().map(|[id, ..]| id).collect();
        let index = ids.iter().cloned().zip(0..).collect();
        Ok(Self { ids, index })
    }
}

/// Reads paths.csv and holds every row to what rows are; `time` is `None` for sequences.
fn read_paths(
    file: File,
    known: &KnownStations,
    time: Option<&Time>,
    expected: Option<&FileEntry>,
) -> Result<Table, String> {
    let mut reader = Records::new(file, &["count", "path"])?;
    let mut table = Table::default();
    let mut slots: HashMap<String, i64> = HashMap::new();
    let mut before = String::new();
    let again = disk::digest_of(|out| {
        let mut csv = csv_into(out);
        csv.write_record(["count", "path"])?;
        while reader.advance().map_err(io::Error::other)? {
            let fields = reader.fields();
            let row = take_row(&fields, &before, known, time, &mut slots, &mut table);
            let path = row.map_err(|what| io::Error::other(reader.complaint(&what)))?;
            csv.write_record(&fields)?;
            before.clear();
            before.push_str(path);
        }
        csv.flush()
    });
    match again {
        Err(error) => Err(error.to_string()),
        Ok(_) if fits(&again, expected) => Ok(table),
        Ok(_) => Err("is not in the form it is written in".to_owned()),
    }
}

fn take_row<'a>(
    fields: &[&'a str],
    before: &str,
    known: &KnownStations,
    time: Option<&Time>,
    slots: &mut HashMap<String, i64>,
    table: &mut Table,
) -> Result<&'a str, String> {
    let &[count, path] = fields else { return Err("has not two fields".to_owned()) };
    match count.parse::<i64>() {
        Ok(n) if n > 0 && !count.starts_with(['0', '+']) => table.counts.push(n),
        _ => return Err(format!("{count:?} is no positive whole number")),
    }
    if path <= before {
        return Err("the path is not above the one before".to_owned());
    }
    let mut latest = i64::MIN;
    for doublet in path.split(NEXT) {
        let (station, slot) = match (time, doublet.split_once(AT)) {
            (Some(time), Some((station, label))) => (station, Some(read_once(time, label, slots)?)),
            (None, None) => (doublet, None),
            (Some(_), None) => return Err(format!("{doublet:?} has no slot")),
            (None, Some(_)) => {
                return Err(format!("{doublet:?} has a slot, but this is a sequence"));
            }
        };
        let index = known.index.get(station).ok_or_else(|| format!("no station {station:?}"))?;
        table.stations.push(*index);
        if let Some(slot) = slot {
            if slot < latest {
                return Err("the path goes back in time".to_owned());
            }
            latest = slot;
            table.millis.push(slot);
        }
    }
    table.ends.push(table.stations.len());
    Ok(path)
}

/// A window has few slots and a release many doublets: each label is read once.
fn read_once(time: &Time, label: &str, slots: &mut HashMap<String, i64>) -> Result<i64, String> {
    if let Some(&slot) = slots.get(label) {
        return Ok(slot);
    }
    let slot = time.slot(label)?;
    slots.insert(label.to_owned(), slot);
    Ok(slot)
}

fn fits(rendered: &io::Result<Written>, expected: Option<&FileEntry>) -> bool {
    match (rendered, expected) {
        (Ok(rendered), Some(entry)) => rendered.sha256.to_string() == entry.sha256,
        _ => false,
    }
}
