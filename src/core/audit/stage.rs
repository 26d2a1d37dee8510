//! The tiny world of an audit: stations, one window, and cards whose taps go the way every tap goes.

use std::num::NonZeroU32;
use std::sync::Arc;

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::engine::AuditInstance;
use crate::model::{Calendar, Digest, Station, StationIx, Stations, Window, WindowId};
use crate::passenger::{CardKey, Tap};
use crate::seal::SealedWindow;
use crate::secret::Secret;
use crate::window::{Arrival, Gate, OpenWindows};

/// One card's taps: station and slot, in order.
pub(super) type Card = Vec<(u32, u32)>;

/// A public world: what configuration and calendar would give.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) stations: Arc<Stations>,
    pub(super) window: Window,
    calendar: Calendar,
    pub(super) max_length: NonZeroU32,
    secret: Secret,
}

impl Stage {
    /// So many stations, three to a line, and so many slots of one hour.
    pub(super) fn new(n_stations: u32, n_slots: u32, max_length: NonZeroU32) -> Self {
        let station = |i: u32| Station {
            id: AuditInstance::station(i),
            // A kilometre apart, for engines that ask where stations are.
            lat: format!("45.{:03}", i * 9),
            lon: "-73.5".to_owned(),
            line: format!("line {}", i / 3),
            ..Station::default()
        };
        let stations = Stations::new((0..n_stations).map(station).collect());
        let calendar = Calendar::new(TimeZone::UTC, i64::from(n_slots) * 3_600, 0, 3_600);
        let calendar = calendar.expect("slots of an hour that divide a day");
        let moment = "2015-11-09T00:00:00Z".parse().expect("a moment");
        Self {
            stations: Arc::new(stations.expect("ids differ")),
            window: calendar.window_at(moment).expect("a day of this century has a window"),
            calendar,
            max_length,
            secret: Secret::from_bytes(&[1; 32]).expect("32 bytes"),
        }
    }

    /// The same world one window later.
    pub(super) fn next(&self) -> Self {
        let number = self.window.id().number() + 1;
        let window = self.calendar.window(WindowId::new(number)).expect("time goes on");
        Self { window, ..self.clone() }
    }

    /// From taps through the gate and the open window to a sealed one: one trajectory a card.
    pub(super) fn seal(&self, cards: &[Card]) -> SealedWindow {
        self.seal_as(cards, &[0])
    }

    /// The same with every card under so many names: one for every number.
    pub(super) fn seal_as(&self, cards: &[Card], names: &[u8]) -> SealedWindow {
        let gate = Gate { range: None, grace: None, max_ahead: SignedDuration::ZERO };
        let hasher = self.secret.card_key(self.window.id());
        let mut open = OpenWindows::default();
        for (number, card) in cards.iter().enumerate() {
            for (index, &(station, slot)) in (0_i64..).zip(card) {
                // Inside its slot, a second after the tap before it.
                let after = SignedDuration::from_secs(i64::from(slot) * 3_600 + index);
                let event = self.window.start() + after;
                if gate.judge(&self.window, event, Arrival::InFile).is_err() {
                    continue;
                }
                let offset = self.window.offset_millis(event).expect("a moment of the window");
                for name in names {
                    let card = CardKey::new(&hasher, format!("{number} {name}").as_bytes());
                    open.add(Tap::new(self.window.id(), card, offset, StationIx(station)));
                }
            }
        }
        let stamps = open.take(self.window.id());
        SealedWindow::freeze(self.window.clone(), stamps, Some(self.max_length), &self.secret)
    }

    /// What a ledger would book with a release, besides window and price.
    pub(super) fn configuration() -> Digest {
        Digest::of(b"an audit")
    }
}
