//! Tables that a release publishes beside its paths: counts with intervals, as they were measured.

use crate::model::StationIx;

crate::words! {
    /// How legs are made of one card's taps.
    pub enum Legs {
        /// Each tap to the card's next one.
        Next = "next",
        /// The first tap to the second, the third to the fourth, and so on.
        Pairs = "pairs",
        /// Each entry to the card's next tap, if that is an exit.
        Kinds = "kinds",
    }
}

/// A count and where it lies, right about 95 times of 100.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The best guess.
    pub value: u64,
    /// Not lower than this.
    pub low: u64,
    /// Not higher than this.
    pub high: u64,
}

/// Different cards at a station in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StationCount {
    pub station: StationIx,
    pub slot: u32,
    pub taps: Interval,
}

/// Legs from a station to another that begin in a period of the day, over all days of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LegCount {
    /// From where.
    pub origin: StationIx,
    /// To where.
    pub dest: StationIx,
    /// The first slot of the period on the first day.
    pub period: u32,
    pub trips: Interval,
}

/// Cards with so many taps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LengthCount {
    /// How many taps.
    pub taps: u32,
    /// How many cards.
    pub cards: Interval,
}

/// All of them. Cells that are believed to be empty are left out of `od`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tables {
    /// By station, then slot; every one there is.
    pub stations: Vec<StationCount>,
    /// By origin, destination, period.
    pub od: Vec<LegCount>,
    /// By number of taps, from 1 on.
    pub lengths: Vec<LengthCount>,
}
