//! One trajectory, read once for all tables: stations, slots, and how each step relates to the steps before.

use super::Legs;
use super::shape::Shape;
use crate::model::{Doublet, TapKind};

/// How the next station of a card relates to those it was at.
pub(super) const RELATIONS: u32 = 5;
/// What is known of a card before a step: its first station only, or how far its first station lies back.
pub(super) const FLAGS: u32 = 4;

const SAME: u8 = 0;
const BACK: u8 = 1;
const HOME: u8 = 2;
const SEEN: u8 = 3;
const NEW: u8 = 4;

/// The coarse relation: same place, back or home, elsewhere.
pub(super) const GROUPS: u32 = 3;

/// The group of a relation.
pub(super) fn group(relation: u8) -> u32 {
    match relation {
        SAME => 0,
        BACK | HOME => 1,
        _ => 2,
    }
}

/// The stations a card was at, latest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past {
    list: [u32; Self::MEMORY],
    n: usize,
    home: u32,
}

impl Past {
    const MEMORY: usize = 8;

    pub(super) fn new(station: u32) -> Self {
        let mut list = [0; Self::MEMORY];
        list[0] = station;
        Self { list, n: 1, home: station }
    }

    /// Where the card's first station stands among those it was at.
    pub(super) fn flag(&self) -> u8 {
        if self.n == 1 {
            return 0;
        }
        let back = self.list[..2].iter().position(|&seen| seen == self.home);
        back.map_or(3, |index| index as u8 + 1)
    }

    /// How a next station would relate to the past.
    pub(super) fn relation(&self, station: u32) -> u8 {
        let seen = self.list[..self.n].iter().position(|&seen| seen == station);
        match seen {
            Some(0) => SAME,
            Some(1) => BACK,
            _ if station == self.home => HOME,
            Some(_) => SEEN,
            None => NEW,
        }
    }

    /// The station that a relation names; `SEEN` has several, `pick` chooses; `None` for a new one.
    pub(super) fn named(&self, relation: u8, pick: impl FnOnce(u32) -> u32) -> Option<u32> {
        match relation {
            SAME => Some(self.list[0]),
            BACK if self.n > 1 => Some(self.list[1]),
            HOME => Some(self.home),
            SEEN if self.n > 2 => {
                let older = u32::try_from(self.n - 2).expect("at most eight are remembered");
                Some(self.list[2 + pick(older) as usize])
            }
            _ => None,
        }
    }

    pub(super) fn is_new(&self, station: u32) -> bool {
        self.relation(station) == NEW
    }

    /// Goes there.
    pub(super) fn go(&mut self, station: u32) {
        let known = self.list[..self.n].iter().position(|&seen| seen == station);
        let index = known.unwrap_or_else(|| {
            self.n = (self.n + 1).min(Self::MEMORY);
            self.n - 1
        });
        self.list.copy_within(0..index, 1);
        self.list[0] = station;
    }
}

/// One trajectory taken apart.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) n: usize,
    pub(super) code: [u32; Shape::LONGEST],
    pub(super) station: [u32; Shape::LONGEST],
    pub(super) slot: [u32; Shape::LONGEST],
    /// Of the step from a tap to the next.
    pub(super) flag: [u8; Shape::LONGEST],
    pub(super) relation: [u8; Shape::LONGEST],
    /// Which steps are legs, one bit each; `None` where taps do not say entry and exit.
    legs: Option<u64>,
}

impl Walk {
    pub(super) fn new() -> Self {
        let none = [0; Shape::LONGEST];
        let flags = [0; Shape::LONGEST];
        Self {
            n: 0,
            code: none,
            station: none,
            slot: none,
            flag: flags,
            relation: flags,
            legs: None,
        }
    }

    /// Reads a trajectory of codes; a doublet's code is station × slots + slot.
    #[inline]
    pub(super) fn read(&mut self, codes: &[u32], shape: Shape) {
        let doublet = |&code: &u32| {
            let station = code / shape.slots;
            (station, code - station * shape.slots)
        };
        self.take(codes.iter().map(doublet), shape);
        self.legs = None;
    }

    /// Reads a card's trajectory. Where the window is one slot, whatever slot a doublet has is that one. Where legs are
    /// made of kinds, a step from an entry to an exit is one; a card whose taps have no kinds has none.
    pub(super) fn read_taps(
        &mut self,
        doublets: &[Doublet],
        kinds: &[Option<TapKind>],
        shape: Shape,
        legs: Legs,
    ) {
        let pair = |doublet: &Doublet| (doublet.station.0, doublet.slot.min(shape.slots - 1));
        self.take(doublets.iter().map(pair), shape);
        self.legs = (legs == Legs::Kinds).then(|| {
            let trip = [Some(TapKind::Entry), Some(TapKind::Exit)];
            let steps = kinds.windows(2).take(Shape::LONGEST - 1).enumerate();
            steps.filter(|(_, step)| **step == trip).fold(0, |bits, (at, _)| bits | 1 << at)
        });
    }

    /// Whether a step is a leg, where the taps say so.
    #[inline]
    pub(super) fn is_leg(&self, at: usize) -> Option<bool> {
        self.legs.map(|bits| bits >> at & 1 == 1)
    }

    #[inline]
    fn take(&mut self, doublets: impl Iterator<Item = (u32, u32)>, shape: Shape) {
        self.n = 0;
        for (station, slot) in doublets.take(shape.longest as usize) {
            self.code[self.n] = station * shape.slots + slot;
            self.station[self.n] = station;
            self.slot[self.n] = slot;
            self.n += 1;
        }
        assert!(self.n > 0, "F-4: a trajectory has at least one doublet");
        let mut past = Past::new(self.station[0]);
        for at in 1..self.n {
            self.flag[at - 1] = past.flag();
            self.relation[at - 1] = past.relation(self.station[at]);
            past.go(self.station[at]);
        }
    }

    /// Every step: its number and whether it is the last.
    pub(super) fn steps(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.n.saturating_sub(1)
    }
}
