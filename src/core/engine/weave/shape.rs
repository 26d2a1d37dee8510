//! The public sizes of a window, and how its slots make days and periods.

/// How large the universe is: from configuration and calendar, never from data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Stations of the public list.
    pub stations: u32,
    /// Slots of the window; 1 for sequences.
    pub slots: u32,
    /// Slots of one day, at most all of them.
    pub day: u32,
    /// How many doublets of a card count.
    pub longest: u32,
}

impl Shape {
    /// Longer trajectories are looked at up to here.
    pub const LONGEST: usize = 64;
    /// More doublets than this do not fit into memory several times.
    pub const MOST_DOUBLETS: u64 = 1 << 24;

    /// A window of so many slots, so many of them a day.
    pub fn new(stations: u32, slots: u32, day: u32, longest: u32) -> Self {
        let slots = slots.max(1);
        let longest = longest.clamp(1, Self::LONGEST as u32);
        Self { stations: stations.max(1), slots, day: day.clamp(1, slots), longest }
    }

    /// All doublets there are.
    pub fn n_doublets(self) -> u64 {
        u64::from(self.stations) * u64::from(self.slots)
    }

    /// Days, the last perhaps cut short.
    pub(super) fn n_days(self) -> u32 {
        self.slots.div_ceil(self.day)
    }

    /// A day cut into `parts`.
    pub(super) fn clock(self, parts: u32) -> Clock {
        Clock { day: self.day, parts: parts.clamp(1, self.day) }
    }

    /// The same, but such that parts make quarters of a day or are made of them.
    pub(super) fn quarters(self, most: u64) -> u32 {
        let fits = |parts: &u32| {
            let even = *parts <= 2 || parts.is_multiple_of(4);
            even && self.day.is_multiple_of(*parts) && u64::from(*parts) <= most
        };
        (1..=self.day).rev().find(fits).unwrap_or(1)
    }

    /// The largest number of equal parts of a day that is at most `most`.
    pub(super) fn divisor(self, most: u64) -> u32 {
        let fits = |parts: &u32| self.day.is_multiple_of(*parts) && u64::from(*parts) <= most;
        (1..=self.day).rev().find(fits).unwrap_or(1)
    }
}

/// A day in equal parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Clock {
    day: u32,
    pub(super) parts: u32,
}

impl Clock {
    /// The part of its day that a slot lies in.
    #[inline]
    pub(super) fn part(self, slot: u32) -> u32 {
        let hour = slot % self.day;
        if self.parts == self.day { hour } else { hour * self.parts / self.day }
    }

    /// The day a slot lies in.
    #[inline]
    pub(super) fn day(self, slot: u32) -> u32 {
        slot / self.day
    }
}
