//! From taps to a release: one window, sealed as the program seals it.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use tapveil::engine::ngram::{self, NGram};
use tapveil::engine::weave::{Favour, Settings, Weave};
use tapveil::engine::{Engine, Legs, Release, fixture};
use tapveil::model::{Calendar, Digest, MicroEpsilon, PathKind, StationIx, Stations, Window};
use tapveil::passenger::{CardKey, Tap};
use tapveil::seal::SealedWindow;
use tapveil::secret::{NoiseKey, Secret};
use tapveil::window::OpenWindows;

use super::cities::Taps;
use super::judge::{Cards, LegRule};

const HOUR: u32 = 3_600;

/// One window of one city, and how it is released.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) stations: u32,
    pub(crate) timed: bool,
    pub(crate) legs: Legs,
    pub(crate) favour: Favour,
    /// Whether `ngram` makes the releases.
    pub(crate) by_ngrams: bool,
    pub(crate) longest: u32,
    /// Hours that a leg takes at most.
    pub(crate) longest_leg: Option<u32>,
    sealed: SealedWindow,
}

/// A release and the time that the engine took.
pub(crate) struct Ran {
    pub(crate) took: Duration,
    pub(crate) release: Release,
}

/// What a case is made of besides its taps.
pub(crate) struct Terms {
    pub(crate) name: String,
    pub(crate) stations: u32,
    pub(crate) days: u32,
    pub(crate) timed: bool,
    pub(crate) legs: Legs,
    pub(crate) favour: Favour,
    pub(crate) by_ngrams: bool,
    pub(crate) longest: u32,
    pub(crate) longest_leg: Option<u32>,
}

impl Case {
    pub(crate) fn new(terms: Terms, cards: &[Taps]) -> Self {
        let Terms { name, stations, days, timed, legs, favour, by_ngrams, longest, longest_leg } =
            terms;
        let sealed = seal(&window_of(days), cards, longest);
        Self { name, stations, timed, legs, favour, by_ngrams, longest, longest_leg, sealed }
    }

    fn slots(&self) -> u32 {
        if self.timed { self.sealed.window().n_slots() } else { 1 }
    }

    /// The raw cards, as a judge reads them.
    pub(crate) fn truth(&self, cards: &[Taps]) -> Cards {
        let slots = self.slots();
        let slot = |offset: u32| if self.timed { offset / (HOUR * 1_000) } else { 0 };
        let code = |&(offset, station): &(u32, u32)| station * slots + slot(offset);
        let trip = |taps: &Taps| taps.iter().take(self.longest as usize).map(code).collect();
        let step = if self.legs == Legs::Pairs { 2 } else { 1 };
        self.cards(LegRule { step, longest: self.longest_leg }, cards.iter().map(trip).collect())
    }

    fn cards(&self, legs: LegRule, trips: Vec<Vec<u32>>) -> Cards {
        let slots = self.slots() as usize;
        Cards { stations: self.stations as usize, slots, day: slots.min(24), legs, trips }
    }

    /// The synthetic trips of a release.
    pub(crate) fn made(&self, release: &Release, legs: LegRule) -> Cards {
        let slots = self.slots();
        let mut trips = Vec::new();
        for row in release.rows() {
            let trip: Vec<u32> =
                row.path.iter().map(|doublet| doublet.station.0 * slots + doublet.slot).collect();
            (0..row.count).for_each(|_| trips.push(trip.clone()));
        }
        self.cards(legs, trips)
    }

    fn engine(&self, epsilon: &str) -> Box<dyn Engine> {
        let ids: String = (0..self.stations).map(|n| format!("s{n:07}\n")).collect();
        let stations = Arc::new(Stations::from_csv(format!("id\n{ids}").as_bytes()).unwrap());
        let epsilon = MicroEpsilon::parse(epsilon).unwrap();
        let input = if self.timed { PathKind::Timed } else { PathKind::Untimed };
        let max_length = NonZeroU32::new(self.longest).unwrap();
        let n_slots = self.sealed.window().n_slots();
        if self.by_ngrams {
            let (longest, max_nodes) = (NonZeroU32::new(5).unwrap(), 4_000_000);
            let settings =
                ngram::Settings { epsilon, longest, max_nodes, input, max_length, stations };
            return Box::new(NGram::new(settings, n_slots).unwrap());
        }
        let settings = Settings {
            epsilon,
            favour: self.favour,
            legs: self.legs,
            longest_secs: self.longest_leg.and_then(|hours| NonZeroU32::new(hours * HOUR)),
            input,
            max_length,
            stations,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        };
        Box::new(Weave::new(settings, n_slots).unwrap())
    }

    /// One release under a permit that no ledger booked; the time is the engine's alone.
    pub(crate) fn release(&self, epsilon: &str, seed: u64) -> Ran {
        let engine = self.engine(epsilon);
        let permit = fixture::permit(&*engine, &self.sealed, Digest::of(b"bench"));
        let start = Instant::now();
        let release = engine.sanitize(&self.sealed, permit, &NoiseKey::for_test(seed)).unwrap();
        Ran { took: start.elapsed(), release }
    }
}

/// A window of whole days in a zone without surprises.
fn window_of(days: u32) -> Window {
    let length = i64::from(days) * 86_400;
    let calendar = Calendar::new(TimeZone::UTC, length, 0, i64::from(HOUR)).unwrap();
    calendar.window_at("2015-11-10T12:00:00Z".parse().unwrap()).unwrap()
}

fn seal(window: &Window, cards: &[Taps], longest: u32) -> SealedWindow {
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let hasher = secret.card_key(window.id());
    let mut open = OpenWindows::default();
    for (number, taps) in (0_u64..).zip(cards) {
        let card = CardKey::new(&hasher, &number.to_le_bytes());
        for &(offset, station) in taps {
            open.add(Tap::new(window.id(), card, offset, StationIx(station)));
        }
    }
    SealedWindow::freeze(window.clone(), open.take(window.id()), NonZeroU32::new(longest), &secret)
}
