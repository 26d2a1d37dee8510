//! What a file looks like through a configuration: for an operator who wants to know before anything is booked. It
//! shows names of stations and texts of times, never a card.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::{Decoder, Error, RECORD_BYTES_MAX, Settings};
use crate::model::Reject;

/// So many examples of each reason are kept.
const EXAMPLES: usize = 5;
/// So many different unknown stations are counted one by one.
const STATIONS_MOST: usize = 10_000;

/// One record that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// Its line, from 1 on.
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

/// Reads a whole file, record by record.
pub fn survey(path: &Path, settings: &Settings) -> Result<Survey, Error> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Error::Open { path: name.clone(), error })?;
    let mut lines = BufReader::with_capacity(1 << 16, file);
    let failed = |error| Error::Read { path: name.clone(), error };
    let (mut number, mut line, mut unknown) = (0_u64, Vec::new(), BTreeMap::new());
    let mut survey = Survey::default();
    let mut decoder = None;
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            break;
        }
        number += 1;
        let record = line.trim_ascii_end();
        let decoder = match &mut decoder {
            Some(decoder) => decoder,
            None if settings.format.has_header(record) => {
                let header = String::from_utf8_lossy(record);
                let made = Decoder::with_header(settings.clone(), &header);
                decoder =
                    Some(made.map_err(|columns| Error::Header { path: name.clone(), columns })?);
                continue;
            }
            none => none.insert(Decoder::new(settings.clone())),
        };
        if record.is_empty() {
            continue;
        }
        let reason = match record.len() > RECORD_BYTES_MAX {
            true => Reject::TooLong,
            false => match decoder.decode(record) {
                Ok(_) => continue,
                Err(reason) => reason,
            },
        };
        let shown = decoder.what_is_wrong(record, reason);
        if let (Reject::UnknownStation, Some(station)) = (reason, &shown)
            && (unknown.len() < STATIONS_MOST || unknown.contains_key(station))
        {
            *unknown.entry(station.clone()).or_insert(0) += 1;
        }
        let examples = survey.examples.entry(reason).or_default();
        if examples.len() < EXAMPLES {
            examples.push(Example { line: number, shown });
        }
    }
    survey.unknown_stations = unknown.into_iter().collect();
    survey.unknown_stations.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(survey)
}
