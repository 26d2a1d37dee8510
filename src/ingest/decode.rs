//! The decoder: the same for a message and for a line of a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::RECORD_BYTES_MAX;
use super::format::csv::Columns;
use super::format::json;
use super::time::TimeReader;
use crate::model::{Calendar, Reject, Stations, Window};
use crate::passenger::{CardKey, Tap};
use crate::secret::{CardHasher, Secret};

/// How a record is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Comma-separated, with a header in a file.
    Csv,
    /// One JSON object.
    Json,
}

/// What the three fields are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields {
    /// The card's id.
    pub card: String,
    /// The station's id.
    pub station: String,
    /// The time of the tap.
    pub time: String,
}

/// What a decoder needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How records are written.
    pub format: Format,
    /// What the fields are called.
    pub fields: Fields,
    /// The zone of local times; without it they are rejects.
    pub local_zone: Option<TimeZone>,
    /// Which windows exist.
    pub calendar: Calendar,
    /// Which stations exist.
    pub stations: Arc<Stations>,
    /// What card ids are hidden with.
    pub secret: Secret,
}

/// A tap, the instant it happened, and its window.
pub struct Decoded<'a> {
    /// The tap; its card id is hashed already.
    pub tap: Tap,
    /// When.
    pub event: Timestamp,
    /// In which window.
    pub window: &'a Window,
}

/// Decodes records, one at a time. Every worker has its own.
pub struct Decoder {
    settings: Settings,
    columns: Option<Columns>,
    times: TimeReader,
    windows: WindowCache,
}

impl Decoder {
    /// A decoder for JSON records, or for CSV records in the order card, station, time.
    pub fn new(settings: Settings) -> Self {
        let columns = match settings.format {
            Format::Csv => Some(Columns { card: 0, station: 1, time: 2 }),
            Format::Json => None,
        };
        let times = TimeReader::new(settings.local_zone.clone());
        let windows = WindowCache::new(settings.calendar.clone(), settings.secret.clone());
        Self { settings, columns, times, windows }
    }

    /// A decoder for CSV records below this header; gives the columns that are missing.
    pub fn with_header(settings: Settings, header: &str) -> Result<Self, Vec<String>> {
        let columns = Columns::find(header, &settings.fields)?;
        Ok(Self { columns: Some(columns), ..Self::new(settings) })
    }

    /// Decodes one record.
    pub fn decode(&mut self, record: &[u8]) -> Result<Decoded<'_>, Reject> {
        let record = record.strip_suffix(b"\r").unwrap_or(record);
        // Some programs begin a file with a byte order mark; it is no part of the first record.
        let record = record.strip_prefix("\u{feff}".as_bytes()).unwrap_or(record);
        if record.trim_ascii().is_empty() {
            return Err(Reject::Empty);
        }
        if record.len() > RECORD_BYTES_MAX {
            return Err(Reject::TooLong);
        }
        let text = std::str::from_utf8(record).map_err(|_| Reject::NotUtf8)?;
        let [card, station, time] = match &self.columns {
            Some(columns) => columns.pick(text)?,
            None => json::pick(text, &self.settings.fields)?,
        };
        if card.is_empty() || station.is_empty() || time.is_empty() {
            return Err(Reject::MissingField);
        }
        let event = self.times.read(&time)?;
        let station = self.settings.stations.find(&station).ok_or(Reject::UnknownStation)?;
        let (window, hasher) = self.windows.at(event).ok_or(Reject::BadTime)?;
        let offset = window.offset_millis(event).ok_or(Reject::BadTime)?;
        let tap = Tap::new(window.id(), CardKey::new(hasher, card.as_bytes()), offset, station);
        Ok(Decoded { tap, event, window })
    }
}

/// Windows met so far, each with its card hasher.
struct WindowCache {
    calendar: Calendar,
    secret: Secret,
    by_start: BTreeMap<Timestamp, (Window, CardHasher)>,
}

impl WindowCache {
    /// Garbage times can name any window of ten thousand years; forget them now and then.
    const MOST: usize = 100_000;

    fn new(calendar: Calendar, secret: Secret) -> Self {
        Self { calendar, secret, by_start: BTreeMap::new() }
    }

    fn at(&mut self, event: Timestamp) -> Option<(&Window, &CardHasher)> {
        let known = self.by_start.range(..=event).next_back();
        let start = match known {
            Some((start, (window, _))) if event < window.end() => *start,
            _ => {
                let window = self.calendar.window_at(event)?;
                if self.by_start.len() >= Self::MOST {
                    self.by_start.clear();
                }
                let start = window.start();
                let hasher = self.secret.card_key(window.id());
                self.by_start.insert(start, (window, hasher));
                start
            }
        };
        self.by_start.get(&start).map(|(window, hasher)| (window, hasher))
    }
}
