//! The decoder: the same for a message and for a line of a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::format::{Format, Mapping, MissingColumns, Outage};
use super::layout::TimeLayout;
use super::payment::is_payment_number;
use super::time::TimeReader;
use crate::model::{Calendar, Reject, Stations, Window};
use crate::passenger::{CardKey, Picked, Tap};
use crate::secret::{CardHasher, Secret};

/// What a decoder needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How records are written, what their fields mean, and which of them count.
    pub format: Arc<dyn Format>,
    /// The zone of local times; without it they are rejects.
    pub local_zone: Option<TimeZone>,
    /// How times are written, before the usual forms.
    pub time_layouts: Vec<TimeLayout>,
    /// Whether card ids are tokens, whatever they look like.
    pub card_is_token: bool,
    /// Which windows exist.
    pub calendar: Calendar,
    /// Which stations exist.
    pub stations: Arc<Stations>,
    /// What card ids are hidden with.
    pub secret: Secret,
    /// Whether taps keep their kind: where legs are made of it, and nowhere else.
    pub keeps_kinds: bool,
}

/// A tap, the instant it happened, and its window.
pub struct Decoded<'a> {
    /// The tap; its card id is hashed already.
    pub tap: Tap,
    pub event: Timestamp,
    /// In which window.
    pub window: &'a Window,
}

/// Decodes records, one at a time. Every worker has its own.
pub struct Decoder {
    format: Arc<dyn Format>,
    mapping: Mapping,
    stations: Arc<Stations>,
    times: TimeReader,
    windows: WindowCache,
    keeps_kinds: bool,
    card_is_token: bool,
}

impl Decoder {
    /// A decoder for messages, or for the lines of a file without a header.
    pub fn new(settings: Settings) -> Self {
        let Settings { format, local_zone, time_layouts, card_is_token, .. } = settings;
        let Settings { calendar, stations, secret, keeps_kinds, .. } = settings;
        Self {
            mapping: format.mapping().clone(),
            format,
            stations,
            times: TimeReader::new(local_zone).with_layouts(time_layouts),
            windows: WindowCache::new(calendar, secret),
            keeps_kinds,
            card_is_token,
        }
    }

    /// A decoder for the lines of a file below this header.
    pub fn with_header(settings: Settings, header: &str) -> Result<Self, MissingColumns> {
        let format = settings.format.below(header)?.format;
        Ok(Self::new(Settings { format, ..settings }))
    }

    /// Learns what is needed to decode this record. Asked before [`Decoder::decode`] where records come from a stream.
    pub fn prepare(&self, record: &[u8]) -> Result<(), Outage> {
        self.format.prepare(record)
    }

    /// Decodes one record.
    pub fn decode(&mut self, record: &[u8]) -> Result<Decoded<'_>, Reject> {
        let mut picked = self.format.pick(record)?;
        self.take(&mut picked)
    }

    /// How records are written.
    pub(super) fn format(&self) -> &Arc<dyn Format> {
        &self.format
    }

    /// Decodes the fields of a record.
    pub(super) fn take(&mut self, picked: &mut Picked<'_>) -> Result<Decoded<'_>, Reject> {
        self.mapping.translate(picked);
        self.mapping.judge(picked)?;
        if !self.card_is_token && is_payment_number(&picked.card) {
            return Err(Reject::PaymentNumber);
        }
        let event = self.times.read(&picked.time)?;
        let station = self.stations.find(&picked.station).ok_or(Reject::UnknownStation)?;
        let (window, hasher) = self.windows.at(event).ok_or(Reject::BadTime)?;
        let offset = window.offset_millis(event).ok_or(Reject::BadTime)?;
        let card = CardKey::new(hasher, picked.card.as_bytes());
        let kind = if self.keeps_kinds { self.mapping.kind(picked) } else { None };
        let tap = Tap::new(window.id(), card, offset, station).of_kind(kind);
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
