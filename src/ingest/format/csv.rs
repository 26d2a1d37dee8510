//! One line of CSV: three fields out of it, quoted or not. A record never spans lines.

use std::borrow::Cow;

use crate::ingest::Fields;
use crate::model::Reject;

/// Where the three fields stand in a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ingest) struct Columns {
    pub(in crate::ingest) card: usize,
    pub(in crate::ingest) station: usize,
    pub(in crate::ingest) time: usize,
}

impl Columns {
    /// Finds the configured names in a header; gives the names that are not there.
    pub(in crate::ingest) fn find(header: &str, fields: &Fields) -> Result<Self, Vec<String>> {
        let header = header.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
        let names = split(header).unwrap_or_default();
        let place = |wanted: &str| names.iter().position(|name| name.trim() == wanted);
        let [card, station, time] =
            [&fields.card, &fields.station, &fields.time].map(|name| place(name).ok_or(name));
        match (card, station, time) {
            (Ok(card), Ok(station), Ok(time)) => Ok(Self { card, station, time }),
            all => {
                Err([all.0, all.1, all.2].into_iter().filter_map(Result::err).cloned().collect())
            }
        }
    }

    /// The three fields of a line, trimmed.
    pub(in crate::ingest) fn pick<'a>(&self, line: &'a str) -> Result<[Cow<'a, str>; 3], Reject> {
        let places = [self.card, self.station, self.time];
        if memchr::memchr(b'"', line.as_bytes()).is_some() {
            let fields = split(line).ok_or(Reject::Malformed)?;
            let field = |place: usize| fields.get(place).map(|field| field.trim().to_owned());
            let [card, station, time] = places.map(field);
            return match (card, station, time) {
                (Some(card), Some(station), Some(time)) => {
                    Ok([card, station, time].map(Cow::Owned))
                }
                _ => Err(Reject::MissingField),
            };
        }
        let mut found = [""; 3];
        let mut n_found = 0;
        for (place, field) in line.split(',').enumerate() {
            for (slot, wanted) in found.iter_mut().zip(places) {
                if wanted == place {
                    *slot = field.trim();
                    n_found += 1;
                }
            }
            if n_found == 3 {
                return Ok(found.map(Cow::Borrowed));
            }
        }
        Err(Reject::MissingField)
    }
}

/// All fields of a line with quotes; `None` if a quote is never closed.
fn split(line: &str) -> Option<Vec<String>> {
    if memchr::memchr_iter(b'"', line.as_bytes()).count() % 2 == 1 {
        return None;
    }
    let mut record = csv::StringRecord::new();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    match reader.read_record(&mut record) {
        Ok(true) => Some(record.iter().map(str::to_owned).collect()),
        _ => None,
    }
}
