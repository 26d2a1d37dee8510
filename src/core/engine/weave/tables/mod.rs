//! The tables: what one trajectory adds to each, one small file a table.
//!
//! A table is a list of cells and a function from one trajectory to cells with weights. It knows sizes and nothing
//! of other cards, so adding or removing a card changes a table by that card's contribution alone.

mod cards;
mod days;
mod ends;
mod first;
mod lengths;
mod loops;
mod margins;
mod moves;
mod occupancy;
mod pairs;
mod relations;
mod stays;
mod times;

pub(super) use cards::Cards;
pub(super) use days::Days;
pub(super) use ends::{
    Ends, Starts, class as ends_class, n_times as ends_times, time as ends_time,
};
pub(super) use first::First;
pub(super) use lengths::Lengths;
pub(super) use loops::{Loop, Loops};
pub(super) use margins::{Hours, Places};
pub(super) use moves::Moves;
pub(super) use occupancy::Occupancy;
pub(super) use pairs::Pairs;
pub(super) use relations::Relations;
pub(super) use stays::Stays;
pub(super) use times::Times;

use super::walk::Walk;
use super::weights::Contribution;

/// Which table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Name {
    Cards,
    Lengths,
    First,
    Starts,
    Ends,
    Times,
    Days,
    Relations,
    Places,
    Hours,
    Occupancy,
    Stays,
    Pairs,
    Moves,
    Loops,
}

impl Name {
    /// Every table, in the order in which they are asked.
    pub(crate) const ALL: [Self; 15] = [
        Self::Cards,
        Self::Lengths,
        Self::First,
        Self::Starts,
        Self::Ends,
        Self::Times,
        Self::Days,
        Self::Relations,
        Self::Places,
        Self::Hours,
        Self::Occupancy,
        Self::Stays,
        Self::Pairs,
        Self::Moves,
        Self::Loops,
    ];

    /// In words, for `check` and manifests.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::Cards => "number of cards",
            Self::Lengths => "taps per card",
            Self::First => "first doublet",
            Self::Starts => "first slot by number of taps",
            Self::Ends => "last slot by number of taps",
            Self::Times => "slot to slot by parity and relation",
            Self::Days => "day to day by number of taps",
            Self::Relations => "relation of a step to the card's past",
            Self::Places => "cards per station",
            Self::Hours => "cards per slot",
            Self::Occupancy => "cards per station and slot",
            Self::Stays => "stays at a station, slot to slot",
            Self::Pairs => "origin to destination",
            Self::Moves => "origin and period to destination",
            Self::Loops => "there, stay, and back or on",
        }
    }
}

/// A list of cells, and what a trajectory adds to them.
pub(super) trait Table: Send + Sync {
    /// How many cells there are.
    fn n_cells(&self) -> u64;

    /// The cells of one trajectory, before the clip.
    fn cells(&self, walk: &Walk, out: &mut Contribution);
}
