//! One feed: its windows, its taps, and how a record is judged. All of it follows from the seed.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tapveil_core::engine::Release;
use tapveil_core::engine::fixture::Echo;
use tapveil_core::ledger::{self, Edition};
use tapveil_core::model::{
    Calendar, Digest, MicroEpsilon, Reject, Schedule, StationIx, Window, WindowId,
};
use tapveil_core::passenger::{CardKey, Tap};
use tapveil_core::protocol::{ReleasePlan, Render, Signer};
use tapveil_core::seal::{Closing, Judged, Rules, SegmentCodec};
use tapveil_core::secret::Secret;
use tapveil_core::window::{Arrival, Gate};

use crate::random::Random;

/// Windows last a minute; the first begins here, in milliseconds.
pub const BEGIN: i64 = 1_447_070_400_000;
/// The length of a window, in milliseconds.
pub const LENGTH: i64 = 60_000;
/// A tap counts until so long after its window's end.
pub const GRACE: i64 = 30_000;
/// How far clocks may differ. Every clock of the simulation is within a third of it.
pub const MARGIN: i64 = 9_000;
/// What a release costs.
pub const PRICE: u64 = 1_000_000;
const STATIONS: u32 = 4;

/// Milliseconds as an instant.
pub fn instant(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).expect("within the simulated hours")
}

/// A tap as its producer sends it: card, station, event time; or bytes that are none.
pub fn tap_bytes(card: u8, station: u8, event: i64) -> Vec<u8> {
    let mut bytes = vec![card, station];
    bytes.extend_from_slice(&event.to_le_bytes());
    bytes
}

/// What is the same for all workers.
#[derive(Clone)]
pub struct World {
    /// The secret of the feed.
    pub secret: Secret,
    /// The windows.
    pub calendar: Calendar,
    /// The first window, and the one after the last.
    pub windows: std::ops::Range<i64>,
    /// How they close.
    pub closing: Closing,
}

/// A release as bytes: what leaves, in the simulation.
#[derive(Debug)]
pub struct Rows;

impl Render for Rows {
    type Rendered = Vec<u8>;

    fn render(&self, release: &Release) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        for row in release.rows() {
            bytes.extend_from_slice(&row.count.to_le_bytes());
            for doublet in &row.path[..] {
                bytes.extend_from_slice(&doublet.station.0.to_le_bytes());
                bytes.extend_from_slice(&doublet.slot.to_le_bytes());
            }
            bytes.push(b'\n');
        }
        Ok(bytes)
    }

    fn digest(&self, rendered: &Vec<u8>) -> Digest {
        Digest::of(rendered)
    }
}

impl World {
    /// A feed with one to three windows.
    pub fn new(random: &mut Random) -> Self {
        let calendar =
            Calendar::new(TimeZone::UTC, LENGTH / 1_000, 0, 20).expect("minutes divide a day");
        let first = calendar.window_at(instant(BEGIN)).expect("it exists").id().number();
        let n_windows = 1 + random.below(3) as i64;
        let closing = match random.one_in(6) {
            true => Closing::Watermark { disorder: SignedDuration::from_millis(LENGTH * 10) },
            false => Closing::Arrival {
                grace: SignedDuration::from_millis(GRACE),
                clock_margin: SignedDuration::from_millis(MARGIN),
            },
        };
        let secret = Secret::from_bytes(&[7; 32]).expect("32 bytes");
        Self { secret, calendar, windows: first..first + n_windows, closing }
    }

    /// Whether windows close by arrival.
    pub fn is_live(&self) -> bool {
        matches!(self.closing, Closing::Arrival { .. })
    }

    /// When the last window can be complete, in milliseconds.
    pub fn over(&self) -> i64 {
        BEGIN + LENGTH * (self.windows.end - self.windows.start) + GRACE + MARGIN
    }

    /// What taps and windows are judged by.
    pub fn rules(&self) -> Rules {
        let range = WindowId::new(self.windows.start)..WindowId::new(self.windows.end);
        let gate = Gate {
            range: Some(range.clone()),
            grace: self.is_live().then_some(SignedDuration::from_millis(GRACE)),
            max_ahead: SignedDuration::from_secs(300),
        };
        Rules {
            gate,
            closing: self.closing,
            calendar: self.calendar.clone(),
            first: range.start,
            past: Some(range.end),
        }
    }

    /// Makes and opens segments.
    pub fn codec(&self) -> SegmentCodec {
        SegmentCodec::new(self.secret.clone(), "feed".to_owned(), Digest::of(b"layout"))
    }

    /// Signs positions.
    pub fn signer(&self) -> Signer {
        Signer::new(&self.secret, false)
    }

    /// What a release worker is set up with.
    pub fn release_plan(&self) -> ReleasePlan<Rows> {
        ReleasePlan {
            engine: Arc::new(Echo { price: MicroEpsilon::new(PRICE) }),
            secret: self.secret.clone(),
            configuration: Digest::of(b"configuration"),
            statement: Digest::of(b"statement"),
            edition: Edition::First,
            max_length: None,
            calendar: self.calendar.clone(),
            budget: ledger::Settings {
                feed: "feed".to_owned(),
                calendar: self.calendar.clone(),
                lifetime: None,
                horizon: None,
            },
            n_stations: STATIONS,
            codec: self.codec(),
            pass_segments: BTreeSet::new(),
            signer: self.signer(),
            last: Some(WindowId::new(self.windows.end - 1)),
            first: Some(WindowId::new(self.windows.start)),
            schedule: Schedule::default(),
            render: Rows,
        }
    }

    /// Decodes a record and judges it by itself, as every ingest worker does.
    pub fn judge(&self, rules: &Rules, payload: &[u8], stamp: i64) -> Judged {
        let arrival = Arrival::Stamped(instant(stamp));
        let decoded = || -> Result<(Tap, Window, Timestamp), Reject> {
            let [card, station, event @ ..] = payload else { return Err(Reject::Malformed) };
            let event: [u8; 8] = event.try_into().map_err(|_| Reject::Malformed)?;
            if u32::from(*station) >= STATIONS {
                return Err(Reject::UnknownStation);
            }
            let event = instant(i64::from_le_bytes(event));
            let window = self.calendar.window_at(event).ok_or(Reject::BadTime)?;
            let offset = window.offset_millis(event).ok_or(Reject::BadTime)?;
            let key = CardKey::new(&self.secret.card_key(window.id()), &[*card]);
            Ok((Tap::new(window.id(), key, offset, StationIx(u32::from(*station))), window, event))
        };
        match decoded() {
            Ok((tap, window, event)) => Judged::new(&rules.gate, tap, &window, event, arrival),
            Err(reason) => Judged::reject(reason, arrival),
        }
    }
}
