//! What files look like through a configuration, record by record: for an operator who wants to know before anything
//! is booked. It shows names of stations and texts of times, never a card.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use super::input::{Bytes, Held, Input, Origin};
use super::{Decoded, Decoder, Error, RECORD_BYTES_MAX, Settings, Taps, columns, container};
use crate::model::{Reject, TapKind};
use crate::passenger::Picked;

/// So many examples of each reason are kept.
const EXAMPLES: usize = 5;
/// So many different unknown stations are counted one by one.
const STATIONS_MOST: usize = 10_000;
/// So many letters of a text are shown.
const SHOWN: usize = 60;

/// One record that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// Its file.
    pub file: String,
    /// Its line or row, from 1 on.
    pub line: u64,
    /// The station or time that is wrong, if that is what is wrong.
    pub shown: Option<String>,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Survey {
    /// The first records of each reason.
    pub examples: BTreeMap<Reject, Vec<Example>>,
    /// Stations that the list does not have, with how many records name them, the most frequent first.
    pub unknown_stations: Vec<(String, u64)>,
}

/// What became of one record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sampled {
    pub file: String,
    /// Its line or row, from 1 on.
    pub line: u64,
    /// The station as it was written, cut short; empty where there is none.
    pub station: String,
    /// The time as it was written, cut short.
    pub time: String,
    pub outcome: Result<SampledTap, Reject>,
}

/// A tap as a sample shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SampledTap {
    /// The id of its station.
    pub station: String,
    /// When, in the feed's zone.
    pub time: String,
    pub kind: Option<TapKind>,
    /// The name of its window.
    pub window: String,
}

/// Reads whole files, record by record.
pub fn survey(taps: &Taps, settings: &Settings) -> Result<Survey, Error> {
    let (mut survey, mut unknown) = (Survey::default(), BTreeMap::new());
    each(taps, settings, &mut |at, decoder, picked| {
        let Err((reason, written)) = tried(decoder, picked) else { return true };
        let shown = match reason {
            Reject::UnknownStation => Some(written.station),
            Reject::BadTime | Reject::NoZone | Reject::TimeSkipped | Reject::TimeRepeated => {
                Some(written.time)
            }
            _ => None,
        };
        if let (Reject::UnknownStation, Some(station)) = (reason, &shown)
            && (unknown.len() < STATIONS_MOST || unknown.contains_key(station))
        {
            *unknown.entry(station.clone()).or_insert(0) += 1;
        }
        let examples = survey.examples.entry(reason).or_default();
        if examples.len() < EXAMPLES {
            examples.push(Example { file: at.file.to_owned(), line: at.line, shown });
        }
        true
    })?;
    survey.unknown_stations = unknown.into_iter().collect();
    survey.unknown_stations.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(survey)
}

/// What becomes of the first records, one by one, at most so many.
pub fn sample(taps: &Taps, settings: &Settings, most: usize) -> Result<Vec<Sampled>, Error> {
    // Whatever the engine keeps, an operator wants to see whether entry and exit are told apart.
    let settings = Settings { keeps_kinds: true, ..settings.clone() };
    let (zone, stations) = (settings.calendar.zone().clone(), settings.stations.clone());
    let mut sampled = Vec::new();
    each(taps, &settings, &mut |at, decoder, picked| {
        let written = picked.as_ref().map(|picked| Written::of(picked)).unwrap_or_default();
        let outcome = picked.and_then(|mut picked| {
            let Decoded { tap, event, window } = decoder.take(&mut picked)?;
            let stamp = tap.stamp();
            Ok(SampledTap {
                station: stations.get(stamp.station()).id.clone(),
                time: event.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
                kind: stamp.kind(),
                window: window.name(),
            })
        });
        let Written { station, time } = written;
        sampled.push(Sampled { file: at.file.to_owned(), line: at.line, station, time, outcome });
        sampled.len() < most
    })?;
    Ok(sampled)
}

/// The texts of a record that may be shown.
#[derive(Default)]
struct Written {
    station: String,
    time: String,
}

impl Written {
    /// Cut short and without control characters. Never the card.
    fn of(picked: &Picked<'_>) -> Self {
        let short = |text: &str| text.chars().filter(|one| !one.is_control()).take(SHOWN).collect();
        Self { station: short(&picked.station), time: short(&picked.time) }
    }
}

fn tried(
    decoder: &mut Decoder,
    picked: Result<Picked<'_>, Reject>,
) -> Result<(), (Reject, Written)> {
    let mut picked = picked.map_err(|reason| (reason, Written::default()))?;
    let written = Written::of(&picked);
    decoder.take(&mut picked).map(|_| ()).map_err(|reason| (reason, written))
}

/// Where a record stands.
struct At<'a> {
    file: &'a str,
    line: u64,
}

/// Looks at a record; false ends the reading.
type Look<'l> = dyn FnMut(At<'_>, &mut Decoder, Result<Picked<'_>, Reject>) -> bool + 'l;

/// Every record of all files in order.
fn each(taps: &Taps, settings: &Settings, look: &mut Look<'_>) -> Result<(), Error> {
    for path in taps.paths() {
        let Input { held, origin } = Input::open(path)?;
        match held {
            Held::Lines(bytes) => each_line(bytes, &origin, settings, look)?,
            held => {
                let (mut decoder, mut line) = (Decoder::new(settings.clone()), 0);
                let row = &mut |picked: &mut Picked<'_>| {
                    line += 1;
                    look(At { file: &origin.name, line }, &mut decoder, Ok(picked.clone()))
                };
                match held {
                    Held::Parquet(path) => columns::look(&path, &origin, settings, row)?,
                    Held::Container(bytes) | Held::Lines(bytes) => {
                        container::look(bytes, &origin, settings, row)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn each_line(
    bytes: Bytes,
    origin: &Origin,
    settings: &Settings,
    look: &mut Look<'_>,
) -> Result<(), Error> {
    let file = &origin.name;
    let mut lines = BufReader::with_capacity(1 << 16, bytes);
    let (mut number, mut line) = (0_u64, Vec::new());
    let mut decoder = None;
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(|error| origin.failed(error))? == 0 {
            return Ok(());
        }
        number += 1;
        let record = line.trim_ascii_end();
        let decoder = match &mut decoder {
            Some(decoder) => decoder,
            None if settings.format.has_header(record) => {
                let header = String::from_utf8_lossy(record);
                let made = Decoder::with_header(settings.clone(), &header);
                decoder =
                    Some(made.map_err(|columns| Error::Header { path: file.clone(), columns })?);
                continue;
            }
            none => none.insert(Decoder::new(settings.clone())),
        };
        if record.is_empty() {
            continue;
        }
        let format = decoder.format().clone();
        let picked = match record.len() > RECORD_BYTES_MAX {
            true => Err(Reject::TooLong),
            false => format.pick(record),
        };
        if !look(At { file, line: number }, decoder, picked) {
            return Ok(());
        }
    }
}
