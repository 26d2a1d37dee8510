//! A release read back from its directory: verified, held against the configuration, then its rows and tables.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tapveil_core::evaluate::Said;

use super::Error;
use crate::config::Settings;
use crate::engine::{Interval, LegCount, LengthCount, Row, StationCount, Tables};
use crate::guarantee::Guarantee;
use crate::model::{Doublet, PathKind, StationIx, Stations, Window};
use crate::publish::verify::verify;

/// A release that can be judged under a configuration.
#[derive(Debug)]
pub struct Published {
    pub path: PathBuf,
    pub id: String,
    pub engine: String,
    pub window: Window,
    pub guarantee: Guarantee,
    /// Whether it was made with exactly the configuration that it is judged with.
    pub is_own_configuration: bool,
    pub said: Said,
}

/// Reads one release, or every release of a directory; all are good, or the first that is not is said.
pub fn read(dir: &Path, settings: &Settings) -> Result<Vec<Published>, Error> {
    let report = verify(dir)?;
    if let Some((name, problem)) = report.problems().next() {
        let path = name.filter(|name| !dir.ends_with(name)).map_or(dir.to_owned(), |n| dir.join(n));
        return Err(Error::Changed {
            path: path.display().to_string(),
            what: format!("{} {}", problem.file, problem.what),
        });
    }
    let mut found = Vec::new();
    for release in &report.releases {
        let own = match dir.join(MANIFEST).exists() {
            true => dir.to_owned(),
            false => dir.join(&release.name),
        };
        found.push(one(&own, settings)?);
    }
    match found.is_empty() {
        true => Err(Error::NoRelease { path: dir.display().to_string() }),
        false => Ok(found),
    }
}

const MANIFEST: &str = "datapackage.json";

fn one(dir: &Path, settings: &Settings) -> Result<Published, Error> {
    let manifest = file(dir, MANIFEST)?;
    let unreadable = |what: &str| Error::Changed {
        path: dir.display().to_string(),
        what: format!("{MANIFEST} has no {what}"),
    };
    let manifest: Value = serde_json::from_slice(&manifest).map_err(|_| unreadable("JSON"))?;
    let privacy = &manifest["privacy"];
    let text = |value: &Value, what: &str| match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(unreadable(what)),
    };
    let window = window(dir, privacy, settings)?;
    require_same_trips(dir, &privacy["engine"]["parameters"], settings)?;
    let kind: PathKind =
        serde_json::from_value(privacy["input"].clone()).map_err(|_| unreadable("input"))?;
    let mut promise = privacy["guarantee"].clone();
    // Format 1 said in the model's name what later ones say in a sentence.
    if promise["model"].as_str().is_some_and(|model| model.starts_with("differential-privacy")) {
        promise["model"] = "differential-privacy".into();
    }
    let guarantee: Guarantee =
        serde_json::from_value(promise).map_err(|_| unreadable("guarantee"))?;
    let reading = Reading::new(dir, &settings.stations, &window, kind);
    let rows = reading.rows()?;
    let tables = match privacy["format"].as_u64() {
        Some(2..) => reading.tables()?,
        _ => None,
    };
    let is_bare =
        rows.is_empty() && tables.as_ref().is_none_or(|tables| tables.stations.is_empty());
    if is_bare {
        return Err(Error::Foreign {
            path: dir.display().to_string(),
            what: "publishes no row and no table".to_owned(),
            remedy: "it is worth what the column `nothing` of any other release says",
        });
    }
    let is_suppressed = matches!(guarantee, Guarantee::Lk { .. } | Guarantee::Projection { .. });
    Ok(Published {
        path: dir.to_owned(),
        id: text(&privacy["release_id"], "release_id")?,
        engine: text(&privacy["engine"]["name"], "engine")?,
        is_own_configuration: privacy["config_sha256"].as_str()
            == Some(settings.digest.to_string().as_str()),
        window,
        said: Said { rows, kind, tables, is_suppressed },
        guarantee,
    })
}

/// The configuration's window that the release is about.
fn window(dir: &Path, privacy: &Value, settings: &Settings) -> Result<Window, Error> {
    const CONFIG: &str = "give the configuration (-c) that it was made with";
    let foreign =
        |what: String| Error::Foreign { path: dir.display().to_string(), what, remedy: CONFIG };
    let stated = &privacy["window"];
    let said = |name: &str| stated[name].as_str().unwrap_or_default();
    let stations = settings.stations.digest().to_string();
    if privacy["universe"]["stations_sha256"].as_str() != Some(&stations) {
        return Err(foreign("was made with another station list".to_owned()));
    }
    let slot = said("slot").parse::<SignedDuration>().ok().map(|slot| slot.as_secs());
    let slot_secs = settings.calendar.slot_secs();
    if slot != Some(slot_secs) {
        let ours = SignedDuration::from_secs(slot_secs);
        let what = format!("has slots of {}, the configuration has {ours}", said("slot"));
        return Err(foreign(what));
    }
    let start: Option<Timestamp> = said("start").parse().ok();
    let window = start.and_then(|start| settings.calendar.window_at(start));
    match window.filter(|one| one.start_label() == said("start") && one.end_label() == said("end"))
    {
        Some(window) => Ok(window),
        None => Err(foreign(format!(
            "is about {} to {}, which is no window of the configuration",
            said("start"),
            said("end")
        ))),
    }
}

/// Legs and lengths that were counted in another way cannot be compared.
fn require_same_trips(dir: &Path, parameters: &Value, settings: &Settings) -> Result<(), Error> {
    let longest = settings.trips.longest_secs;
    let ours = [
        ("trips.from", Some(settings.trips.from.to_string())),
        ("trips.longest", longest.map(|secs| format!("{secs}s"))),
        ("max_length", settings.max_length.map(|most| most.to_string())),
    ];
    for (key, ours) in ours {
        if let (Some(theirs), Some(ours)) = (parameters[key].as_str(), ours)
            && theirs != ours
        {
            return Err(Error::Foreign {
                path: dir.display().to_string(),
                what: format!("was made with {key} = {theirs}, the configuration has {ours}"),
                remedy: "give the configuration (-c) that it was made with",
            });
        }
    }
    Ok(())
}

fn file(dir: &Path, name: &str) -> Result<Vec<u8>, Error> {
    let path = dir.join(name);
    fs::read(&path).map_err(|error| Error::Io {
        what: "read",
        path: path.display().to_string(),
        error,
    })
}

/// The files of a release as numbers. Verified before: what does not fit is a file that changed since.
struct Reading<'a> {
    dir: &'a Path,
    stations: &'a Stations,
    slots: HashMap<String, u32>,
}

impl<'a> Reading<'a> {
    fn new(dir: &'a Path, stations: &'a Stations, window: &Window, kind: PathKind) -> Self {
        let slots = match kind {
            PathKind::Timed => (0..window.n_slots()).map(|n| (window.slot_label(n), n)).collect(),
            PathKind::Untimed => HashMap::from([(String::new(), 0)]),
        };
        Self { dir, stations, slots }
    }

    fn changed(&self, name: &str, row: usize) -> Error {
        Error::Changed {
            path: self.dir.display().to_string(),
            what: format!("{name} cannot be read at row {}", row + 2),
        }
    }

    fn doublet(&self, station: &str, slot: &str) -> Option<Doublet> {
        Some(Doublet { station: self.stations.find(station)?, slot: *self.slots.get(slot)? })
    }

    /// Every record of a file, taken apart by `take`.
    fn records<T>(
        &self,
        name: &str,
        take: impl Fn(&csv::StringRecord) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let bytes = file(self.dir, name)?;
        let records = csv::Reader::from_reader(bytes.as_slice()).into_records();
        let taken = records.enumerate().map(|(row, record)| {
            record.ok().and_then(|r| take(&r)).ok_or_else(|| self.changed(name, row))
        });
        taken.collect()
    }

    fn rows(&self) -> Result<Vec<Row>, Error> {
        self.records("paths.csv", |record| {
            let step = |step: &str| {
                let (station, slot) = step.split_once('@').unwrap_or((step, ""));
                self.doublet(station, slot)
            };
            let path: Option<Vec<Doublet>> = record.get(1)?.split('>').map(step).collect();
            Some(Row { path: path?, count: record.get(0)?.parse().ok()? })
        })
    }

    /// `None` for a release without tables.
    fn tables(&self) -> Result<Option<Tables>, Error> {
        if !self.dir.join("stations.csv").exists() {
            return Ok(None);
        }
        let interval = |record: &csv::StringRecord, first: usize| {
            let number = |at: usize| record.get(first + at)?.parse::<u64>().ok();
            Some(Interval { value: number(0)?, low: number(1)?, high: number(2)? })
        };
        let stations = self.records("stations.csv", |record| {
            let Doublet { station, slot } = self.doublet(record.get(0)?, record.get(1)?)?;
            Some(StationCount { station, slot, taps: interval(record, 2)? })
        })?;
        let leg = |record: &csv::StringRecord| {
            let origin: StationIx = self.stations.find(record.get(0)?)?;
            let Doublet { station: dest, slot: period } =
                self.doublet(record.get(1)?, record.get(2)?)?;
            Some(LegCount { origin, dest, period, trips: interval(record, 3)? })
        };
        // Not there where there were too few cards to measure flows.
        let od = match self.dir.join("od.csv").exists() {
            true => self.records("od.csv", leg)?,
            false => Vec::new(),
        };
        let lengths = self.records("lengths.csv", |record| {
            let taps = record.get(0)?.parse().ok()?;
            Some(LengthCount { taps, cards: interval(record, 1)? })
        })?;
        Ok(Some(Tables { stations, od, lengths }))
    }
}
