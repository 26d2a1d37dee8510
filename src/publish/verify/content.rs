//! What the files of a release say: rows in order, places and times that exist, the same in every form.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use crate::model::{PathKind, Stations};

use super::super::disk::{self, Written};
use super::super::manifest::{FileEntry, MANIFEST, Package, WindowFacts};
use super::super::parquet::{self, Table};
use super::super::paths::{AT, Flows, NEXT, csv_into, write_locations};
use super::{Problem, promise};

/// The longest line that is read; months of taps of one card take a tenth of it.
const LINE_MOST_BYTES: usize = 16 << 20;

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
    let input = PathKind::from(package.privacy.input);
    let open = |name: &str| match intact.contains(name) {
        true => disk::open_plain(&dir.join(name)).ok(),
        false => None,
    };
    let digest = |name: &str| package.privacy.files.iter().find(|entry| entry.name == name);
    let Some(locations) = open("locations.csv") else { return };
    let places = match Places::read(locations, digest("locations.csv")) {
        Ok(places) => places,
        Err(what) => return problems.push(Problem::new("locations.csv", what)),
    };
    let Some(rows) = open("paths.csv") else { return };
    let time = (input == PathKind::Timed).then_some(time);
    let table = match read_paths(rows, &places, time, digest("paths.csv")) {
        Ok(table) => table,
        Err(what) => return problems.push(Problem::new("paths.csv", what)),
    };
    match promise::check(&package.privacy.guarantee, &table, &places.ids) {
        Ok(None) => {}
        Ok(Some(what)) => problems.push(Problem::new("paths.csv", what)),
        Err(what) => problems.push(Problem::new(MANIFEST, what)),
    }
    if let Some(file) = open("paths.parquet")
        && let Some(what) = parquet::difference(file, &table, &places.ids, input)
    {
        problems.push(Problem::new("paths.parquet", what));
    }
    if intact.contains("od.csv") && !fits(&flows(&table, &places), digest("od.csv")) {
        problems.push(Problem::new("od.csv", "is not what the paths add up to"));
    }
}

/// Where slots may begin, in milliseconds since 1970.
struct Time {
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
    fn slot(&self, label: &str) -> Result<i64, String> {
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
        match (millis - self.start) % self.slot {
            0 => Ok(millis),
            _ => Err(format!("no slot begins at {label}")),
        }
    }
}

/// The stations of locations.csv, by id.
struct Places {
    ids: Vec<String>,
    index: HashMap<String, u32>,
}

impl Places {
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
    places: &Places,
    time: Option<Time>,
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
            let row = take_row(&fields, &before, places, time.as_ref(), &mut slots, &mut table);
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
    places: &Places,
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
            (Some(time), Some((station, label))) => (station, Some(known(time, label, slots)?)),
            (None, None) => (doublet, None),
            (Some(_), None) => return Err(format!("{doublet:?} has no slot")),
            (None, Some(_)) => {
                return Err(format!("{doublet:?} has a slot, but this is a sequence"));
            }
        };
        let place = places.index.get(station).ok_or_else(|| format!("no station {station:?}"))?;
        table.stations.push(*place);
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
fn known(time: &Time, label: &str, slots: &mut HashMap<String, i64>) -> Result<i64, String> {
    if let Some(&slot) = slots.get(label) {
        return Ok(slot);
    }
    let slot = time.slot(label)?;
    slots.insert(label.to_owned(), slot);
    Ok(slot)
}

fn flows(table: &Table, places: &Places) -> io::Result<Written> {
    let mut flows = Flows::default();
    let mut start = 0;
    for (&end, &count) in table.ends.iter().zip(&table.counts) {
        if let [first, .., last] = table.stations[start..end] {
            flows.add(first, last, count.unsigned_abs());
        }
        start = end;
    }
    disk::digest_of(|out| flows.write_csv(out, |ix| &places.ids[ix as usize]))
}

fn fits(rendered: &io::Result<Written>, expected: Option<&FileEntry>) -> bool {
    match (rendered, expected) {
        (Ok(rendered), Some(entry)) => rendered.sha256.to_string() == entry.sha256,
        _ => false,
    }
}

/// Records of a CSV file with a known header; says where it stands when it complains.
struct Records {
    csv: csv::Reader<ShortLines>,
    record: csv::StringRecord,
    row: u64,
}

impl Records {
    fn new(file: File, header: &[&str]) -> Result<Self, String> {
        let csv = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(ShortLines { file, since_line_feed: 0 });
        let mut records = Self { csv, record: csv::StringRecord::new(), row: 0 };
        match records.advance()? && records.fields() == header {
            true => Ok(records),
            false => Err(format!("does not begin with {}", header.join(","))),
        }
    }

    fn advance(&mut self) -> Result<bool, String> {
        self.row += 1;
        let read = self.csv.read_record(&mut self.record);
        read.map_err(|error| format!("row {}: {error}", self.row))
    }

    fn fields(&self) -> Vec<&str> {
        self.record.iter().collect()
    }

    fn complaint(&self, what: &str) -> String {
        format!("row {}: {what}", self.row)
    }
}

/// No field of ours holds a line feed, so a reader never has to hold more than a line.
struct ShortLines {
    file: File,
    since_line_feed: usize,
}

impl Read for ShortLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.since_line_feed = match memchr::memrchr(b'\n', &buffer[..n]) {
            Some(at) => n - at - 1,
            None => self.since_line_feed + n,
        };
        match self.since_line_feed <= LINE_MOST_BYTES {
            true => Ok(n),
            false => {
                Err(io::Error::other(format!("a line is longer than {LINE_MOST_BYTES} bytes")))
            }
        }
    }
}
