//! Nouns that are safe outside the trust boundary: stations, slots, taxonomies, windows, prices, digests.
//!
//! In → out: configuration and public files → values every room may hold.
//! Promises: nothing here points at a person; every number with privacy meaning is an integer.
//! Refuses: stations, durations and prices that cannot mean anything, with all complaints at once.
//! Why: decision 0001 (one package, rooms in tap order).

mod calendar;
mod digest;
mod portion;
mod price;
mod reject;
mod schedule;
mod station;
mod plane;
mod taxonomy;
mod own_taxonomy;
mod outline;

pub use calendar::{Calendar, CalendarError, Length, Span, Window, WindowId};
pub use digest::{Digest, Mac};
pub use outline::{Branch, Outline};
pub use own_taxonomy::OwnTaxonomy;
pub use portion::{Portion, PortionError};
pub use price::{Cost, MicroEpsilon, PriceError};
pub use reject::{Counts, Reject};
pub use schedule::{Missed, Schedule, Weekdays};
pub use station::{Station, StationIx, Stations};
pub use taxonomy::{Child, NodeIx, Taxonomy, TaxonomyError};

use serde::{Deserialize, Serialize};

/// A place and a time: one station in one slot of a window.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Doublet {
    /// Where, by position in the station list (ordered by id).
    pub station: StationIx,
    /// When, as a slot number counted from the window's start.
    pub slot: u32,
}

/// Whether paths carry times. The serialized names are the papers' words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PathKind {
    /// Station and slot.
    #[serde(rename = "doublets")]
    Timed,
    /// Station only.
    #[serde(rename = "sequences")]
    Untimed,
}

/// Whether a tap begins or ends a trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TapKind {
    /// It begins one.
    Entry,
    /// It ends one.
    Exit,
}

/// Whose fault an error is, and so what the program does about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// Bad input data: count it and go on.
    Input,
    /// Bad usage or configuration: exit 2 before anything starts.
    Config,
    /// An outside system failed (disk, broker): retry, then stop with exit 3.
    External,
    /// An invariant fell: stop, release nothing.
    Broken,
}
