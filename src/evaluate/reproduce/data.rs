//! The data of a paper as a synthetic city, sealed as the pipeline seals it, in memory.

use std::num::NonZeroU32;
use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::city::{self, City, Preset};
use crate::engine::Legs;
use crate::evaluate::{Judge, Terms};
use crate::model::{Calendar, StationIx, Stations};
use crate::passenger::{CardKey, Tap};
use crate::seal::SealedWindow;
use crate::secret::Secret;
use crate::window::OpenWindows;

/// Cities and queries are drawn with it.
pub(super) const SEED: u64 = 1;
/// The height that query lengths are fractions of: the papers' own.
const ASKED_HEIGHT: NonZeroU32 = NonZeroU32::new(12).expect("twelve is not zero");

/// Which data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) preset: Preset,
    /// So many cards at most.
    pub(super) cards: Option<u64>,
    /// First taps of a card that count.
    pub(super) max_length: Option<u32>,
    /// Only cards with so many taps, and only these.
    pub(super) exactly: Option<u32>,
    /// Only the first so many slots, which are then the universe of times.
    pub(super) slots: Option<u32>,
}

impl Wish {
    pub(super) fn of(preset: Preset) -> Self {
        Self { preset, cards: None, max_length: None, exactly: None, slots: None }
    }

    pub(super) fn cut(self, max_length: u32) -> Self {
        Self { max_length: Some(max_length), ..self }
    }

    pub(super) fn exactly(self, length: u32) -> Self {
        Self { exactly: Some(length), ..self.cut(length) }
    }
}

/// A sealed city and its judge.
pub(super) struct Data {
    pub(super) stations: Arc<Stations>,
    pub(super) sealed: SealedWindow,
    pub(super) judge: Judge,
    pub(super) max_length: Option<NonZeroU32>,
    /// Before anything is cut.
    pub(super) n_taps: u64,
    /// Before anything is cut.
    pub(super) longest: u32,
}

impl Data {
    pub(super) fn new(wish: Wish, most: Option<u64>, n_queries: u32) -> Result<Self, city::Error> {
        let full = City::new(wish.preset, None, SEED)?.n_cards();
        let cards = wish.cards.unwrap_or(full).min(most.unwrap_or(full)).min(full);
        let city = City::new(wish.preset, Some(cards), SEED)?;
        let mut text = Vec::new();
        city.write_stations(&mut text).expect("memory takes everything");
        let stations = Stations::from_csv(&text).expect("a city's stations are well formed");
        let stations = Arc::new(stations);
        let (sealed, n_taps, longest) = sealed(&city, &stations, wish);
        let max_length = wish.max_length.and_then(NonZeroU32::new);
        let terms = Terms {
            stations: stations.clone(),
            legs: Legs::Next,
            longest_secs: None,
            max_length: Some(ASKED_HEIGHT),
            seed: SEED,
            n_queries,
        };
        let judge = Judge::new(&sealed, terms);
        Ok(Self { stations, sealed, judge, max_length, n_taps, longest })
    }

    pub(super) fn n_stations(&self) -> u32 {
        self.stations.len()
    }

    pub(super) fn n_slots(&self) -> u32 {
        self.sealed.window().n_slots()
    }

    /// Taps of a card, before anything is cut.
    pub(super) fn mean_length(&self) -> f64 {
        self.n_taps as f64 / self.sealed.n_cards().max(1) as f64
    }
}

/// Seals a city. Times count from the start of its window; where only some slots are wanted, they are stretched over
/// the whole window, so that the window has as many slots as the paper's sub-dataset.
fn sealed(city: &City, stations: &Stations, wish: Wish) -> (SealedWindow, u64, u32) {
    let windows = city.windows();
    let (all, wanted) = (windows.slots(), wish.slots.unwrap_or(windows.slots()));
    let length_secs = i64::from(windows.days) * 86_400;
    let calendar = Calendar::new(TimeZone::UTC, length_secs, 0, length_secs / i64::from(wanted))
        .expect("slots divide the window");
    let start = TimeZone::UTC.to_timestamp(windows.begins()).expect("a preset's date is a time");
    let window = calendar.window_at(start).expect("a preset's date lies in a window");
    let secret = Secret::from_bytes(&[1; 32]).expect("32 bytes make a secret");
    let hasher = secret.card_key(window.id());
    let mut open = OpenWindows::default();
    let (mut n_taps, mut longest) = (0, 0);
    let mut own: Vec<(u32, StationIx)> = Vec::new();
    let mut keep = |card: u64, own: &mut Vec<(u32, StationIx)>| {
        let n_own = u32::try_from(own.len()).unwrap_or(u32::MAX);
        if wish.exactly.is_none_or(|length| n_own >= length) && n_own > 0 {
            n_taps += u64::from(n_own);
            longest = longest.max(n_own);
            let key = CardKey::new(&hasher, &card.to_le_bytes());
            for &(offset, station) in own.iter() {
                open.add(Tap::new(window.id(), key, offset, station));
            }
        }
        own.clear();
    };
    let mut before = None;
    for tap in city.taps() {
        if let Some(card) = before.filter(|&card| card != tap.card) {
            keep(card, &mut own);
        }
        before = Some(tap.card);
        let since = tap.time.duration_since(windows.begins()).as_millis();
        let offset = since * i128::from(all) / i128::from(wanted);
        let Some(offset) = u32::try_from(offset).ok().filter(|&at| at < window.length_millis())
        else {
            continue;
        };
        let station = stations.find(tap.station).expect("a city taps at its own stations");
        own.push((offset, station));
    }
    if let Some(card) = before {
        keep(card, &mut own);
    }
    let stamps = open.take(window.id());
    let max_length = wish.max_length.and_then(NonZeroU32::new);
    (SealedWindow::freeze(window, stamps, max_length, &secret), n_taps, longest)
}
