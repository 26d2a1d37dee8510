//! The trust boundary: nouns that point at a person. What is in here cannot be printed or serialized.
//!
//! In → out: the fields of a record ([`Picked`]) → [`Tap`] → [`Trajectories`], one per card and window.
//! Promises: F-1 `Debug` shows nothing; F-2 no `Serialize`; F-3 a raw card id is never stored.
//! Refuses: nothing; it only holds.
//! Why: the compiler, not a reviewer, keeps passengers out of logs, manifests and pages.
//!
//! ```compile_fail
//! fn publish<T: serde::Serialize>(_: T) {}
//! fn leak(tap: tapveil_core::passenger::Tap) { publish(tap) }
//! ```
//! ```compile_fail
//! fn leak(card: tapveil_core::passenger::CardKey) -> String { card.to_string() }
//! ```

use std::borrow::Cow;
use std::fmt;

use crate::model::{Doublet, StationIx, TapKind, WindowId};
use crate::secret::CardHasher;

/// The fields of one record as they were written, borrowed from it. The decoder hashes the card and drops the rest.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Picked<'a> {
    /// The card's id; empty if it is missing.
    pub card: Cow<'a, str>,
    /// The station's id; empty if it is missing.
    pub station: Cow<'a, str>,
    /// When; empty if it is missing.
    pub time: Cow<'a, str>,
    /// The text that tells entry from exit, where the feed has one.
    pub kind: Option<Cow<'a, str>>,
    /// The record's own id, where the feed has one.
    pub transaction: Option<Cow<'a, str>>,
    /// What each filter of the feed looks at, in the order of the filters.
    pub filter_values: Vec<Option<Cow<'a, str>>>,
}

impl fmt::Debug for Picked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Picked(***)")
    }
}

/// A card inside one window: a keyed hash of its id. Another window knows it under another key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CardKey([u64; 2]);

impl CardKey {
    /// Hashes a raw id; the id itself goes no further.
    pub fn new(hasher: &CardHasher, card_id: &[u8]) -> Self {
        Self(hasher.hash(card_id))
    }

    /// Reads a key back from an opened segment.
    pub(crate) fn from_halves(halves: [u64; 2]) -> Self {
        Self(halves)
    }

    pub(crate) fn halves(self) -> [u64; 2] {
        self.0
    }
}

impl fmt::Debug for CardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CardKey(***)")
    }
}

/// One accepted tap. 24 bytes with its card, so that an open window costs no more than that per tap.
/// The order is the canonical one: card, then time, then station id, then kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    pub(crate) card: CardKey,
    /// Milliseconds after the window's start.
    pub(crate) offset_millis: u32,
    /// The station, and in the lowest two bits the kind.
    station_and_kind: u32,
}

impl Stamp {
    const KIND_BITS: u32 = 2;

    /// A tap of a card.
    ///
    /// # Panics
    /// If the station is not below 2³⁰: no station list is that long.
    pub(crate) fn new(
        card: CardKey,
        offset_millis: u32,
        station: StationIx,
        kind: Option<TapKind>,
    ) -> Self {
        let kind = match kind {
            None => 0,
            Some(TapKind::Entry) => 1,
            Some(TapKind::Exit) => 2,
        };
        assert!(station.0 >> (32 - Self::KIND_BITS) == 0, "F-5: a station's number is below 2^30");
        Self { card, offset_millis, station_and_kind: station.0 << Self::KIND_BITS | kind }
    }

    /// Reads station and kind back from what [`Self::station_and_kind`] said; `None` if there is no such kind.
    pub(crate) fn from_parts(
        card: CardKey,
        offset_millis: u32,
        station_and_kind: u32,
    ) -> Option<Self> {
        (station_and_kind & 3 != 3).then_some(Self { card, offset_millis, station_and_kind })
    }

    /// Station and kind in one number.
    pub(crate) fn station_and_kind(&self) -> u32 {
        self.station_and_kind
    }

    /// Whether it begins or ends a trip, where the feed says so.
    pub fn kind(&self) -> Option<TapKind> {
        match self.station_and_kind & 3 {
            1 => Some(TapKind::Entry),
            2 => Some(TapKind::Exit),
            _ => None,
        }
    }

    /// Whose: comparable, and nothing else.
    pub fn card(&self) -> CardKey {
        self.card
    }

    /// The station it was made at.
    pub fn station(&self) -> StationIx {
        StationIx(self.station_and_kind >> Self::KIND_BITS)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stamp(***)")
    }
}

/// A tap on its way into a window.
#[derive(Clone, Copy)]
pub struct Tap {
    /// The window its event time lies in.
    pub(crate) window: WindowId,
    /// Card, time and place.
    pub(crate) stamp: Stamp,
}

impl Tap {
    /// A tap of a card at a station, so long after its window's start.
    pub fn new(window: WindowId, card: CardKey, offset_millis: u32, station: StationIx) -> Self {
        Self { window, stamp: Stamp::new(card, offset_millis, station, None) }
    }

    /// The same of this kind.
    #[must_use]
    pub fn of_kind(self, kind: Option<TapKind>) -> Self {
        let Stamp { card, offset_millis, .. } = self.stamp;
        Self { stamp: Stamp::new(card, offset_millis, self.stamp.station(), kind), ..self }
    }

    /// The window its event time lies in.
    pub fn window(&self) -> WindowId {
        self.window
    }

    /// Card, time and station inside its window.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap(***)")
    }
}

/// All trajectories of a window, one per card, side by side in one list.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Trajectories {
    cards: Vec<CardKey>,
    doublets: Vec<Doublet>,
    /// `ends[i]` is where trajectory `i` ends in `doublets`; it begins where the one before ends.
    ends: Vec<u32>,
    /// The kinds of the taps, beside `doublets`; empty as long as no tap has one.
    kinds: Vec<Option<TapKind>>,
}

impl Trajectories {
    /// Appends a card's trajectory.
    ///
    /// # Panics
    /// Beyond 2³² doublets in one window, and when it is empty: both are broken promises of the caller.
    pub(crate) fn push(
        &mut self,
        card: CardKey,
        taps: impl IntoIterator<Item = (Doublet, Option<TapKind>)>,
    ) {
        let before = self.doublets.len();
        for (doublet, kind) in taps {
            if kind.is_some() || !self.kinds.is_empty() {
                self.kinds.resize(self.doublets.len(), None);
                self.kinds.push(kind);
            }
            self.doublets.push(doublet);
        }
        assert!(before < self.doublets.len(), "F-4: a trajectory has at least one doublet");
        self.cards.push(card);
        self.ends.push(
            u32::try_from(self.doublets.len()).expect("fewer than 2^32 doublets in a window"),
        );
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Where trajectory `ix` begins and ends in [`Self::doublets`].
    pub(crate) fn bounds(&self, ix: usize) -> (usize, usize) {
        let start = if ix == 0 { 0 } else { self.ends[ix - 1] as usize };
        (start, self.ends[ix] as usize)
    }

    /// One trajectory.
    pub(crate) fn get(&self, ix: usize) -> &[Doublet] {
        let (start, end) = self.bounds(ix);
        &self.doublets[start..end]
    }

    /// The kinds of a trajectory's taps; empty if no tap of the window has one.
    pub(crate) fn kinds(&self, ix: usize) -> &[Option<TapKind>] {
        let (start, end) = self.bounds(ix);
        if self.kinds.is_empty() { &[] } else { &self.kinds[start..end] }
    }

    /// Whether any tap of the window has a kind.
    pub(crate) fn has_kinds(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// All doublets, trajectory after trajectory.
    pub(crate) fn doublets(&self) -> &[Doublet] {
        &self.doublets
    }

    /// Each card with its trajectory.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (CardKey, &[Doublet])> {
        self.cards.iter().enumerate().map(|(ix, &card)| (card, self.get(ix)))
    }
}

impl fmt::Debug for Trajectories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trajectories(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    /// Holds F-1.
    #[test]
    fn debug_shows_nothing_of_a_passenger() {
        let hasher = Secret::from_bytes(&[1; 32]).unwrap().card_key(WindowId::new(3));
        let tap = Tap::new(WindowId::new(3), CardKey::new(&hasher, b"4711"), 77, StationIx(5));
        let mut trajectories = Trajectories::default();
        let doublet = Doublet { station: StationIx(5), slot: 2 };
        trajectories.push(tap.stamp.card, [(doublet, None)]);
        let shown = format!("{tap:?} {:?} {:?} {trajectories:?}", tap.stamp, tap.stamp.card);
        assert_eq!(shown, "Tap(***) Stamp(***) CardKey(***) Trajectories(***)");
        let picked = Picked { card: "4711".into(), ..Picked::default() };
        assert_eq!(format!("{picked:?}"), "Picked(***)");
    }

    #[test]
    fn kinds_stand_beside_their_taps_once_one_tap_has_one() {
        let mut trajectories = Trajectories::default();
        let card = |n| CardKey::from_halves([n, 0]);
        let at = |slot| Doublet { station: StationIx(1), slot };
        trajectories.push(card(1), [(at(0), None), (at(1), None)]);
        assert!(!trajectories.has_kinds() && trajectories.kinds(0).is_empty());
        trajectories.push(
            card(2),
            [(at(1), None), (at(2), Some(TapKind::Entry)), (at(3), Some(TapKind::Exit))],
        );
        trajectories.push(card(3), [(at(4), None)]);
        assert_eq!(trajectories.kinds(0), [None, None]);
        assert_eq!(trajectories.kinds(1), [None, Some(TapKind::Entry), Some(TapKind::Exit)]);
        assert_eq!(trajectories.kinds(2), [None]);
    }

    /// Holds F-5.
    #[test]
    fn a_tap_keeps_its_station_and_its_kind() {
        let window = WindowId::new(0);
        for kind in [None, Some(TapKind::Entry), Some(TapKind::Exit)] {
            let tap = Tap::new(window, CardKey([1, 2]), 5, StationIx((1 << 30) - 1)).of_kind(kind);
            assert_eq!((tap.stamp.station(), tap.stamp.kind()), (StationIx((1 << 30) - 1), kind));
        }
        assert!(Stamp::from_parts(CardKey([1, 2]), 5, 3).is_none());
    }

    #[test]
    fn a_stamp_takes_24_bytes() {
        assert_eq!(size_of::<Stamp>(), 24);
    }
}
