//! Taps gather in open windows; each tap is judged alone.
//!
//! In → out: a [`Tap`] with its arrival → a place in its open window, or a [`Reject`].
//! Promises: W-1 whether a tap counts depends on that tap and the configuration only; W-2 taking a card
//!   away takes away that card's taps and nothing else; W-3 the order of arrival does not matter.
//! Refuses: taps outside the range, late, too far ahead, or without an arrival time.
//! Why: `PROOF.md` beside this file.
#![doc = include_str!("PROOF.md")]

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::{SignedDuration, Timestamp};

use crate::model::{Reject, Window, WindowId};
use crate::passenger::{Stamp, Tap};

/// When a record arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// It lies in a file, which is complete by itself: nothing in it is late.
    InFile,
    /// The broker stamped it.
    Stamped(Timestamp),
    /// It has no stamp of the broker's (a producer's stamp may lie).
    Unstamped,
}

/// What a tap is judged by; all of it public configuration.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Windows that exist; `None`: all.
    pub range: Option<Range<WindowId>>,
    /// A tap counts until so long after its window's end; `None` where another rule closes windows.
    pub grace: Option<SignedDuration>,
    /// A tap may carry a time so far after its own arrival.
    pub max_ahead: SignedDuration,
}

impl Gate {
    /// Judges one tap by itself. Nothing about any other tap is looked at.
    pub fn judge(&self, window: &Window, event: Timestamp, arrival: Arrival) -> Result<(), Reject> {
        if self.range.as_ref().is_some_and(|range| !range.contains(&window.id())) {
            return Err(Reject::OutsideRange);
        }
        let arrived = match arrival {
            Arrival::InFile => return Ok(()),
            Arrival::Unstamped => return Err(Reject::NoArrivalTime),
            Arrival::Stamped(arrived) => arrived,
        };
        if self.is_too_far_ahead(event, arrived) {
            return Err(Reject::TooFarAhead);
        }
        match self.grace {
            Some(grace) if arrived.duration_since(window.end()) > grace => Err(Reject::Late),
            _ => Ok(()),
        }
    }

    /// Whether a tap's clock runs further ahead of its arrival than clocks may differ.
    pub fn is_too_far_ahead(&self, event: Timestamp, arrived: Timestamp) -> bool {
        event.duration_since(arrived) > self.max_ahead
    }
}

/// Taps of windows that are not sealed yet. A tap takes 24 bytes.
#[derive(Debug, Default)]
pub struct OpenWindows {
    stamps: BTreeMap<WindowId, Vec<Stamp>>,
    n_taps: u64,
}

impl OpenWindows {
    /// Adds a tap to its window.
    pub fn add(&mut self, tap: Tap) {
        self.stamps.entry(tap.window).or_default().push(tap.stamp);
        self.n_taps += 1;
    }

    /// Adds many taps of one window at once.
    pub fn add_all(&mut self, window: WindowId, stamps: Vec<Stamp>) {
        self.n_taps += stamps.len() as u64;
        let held = self.stamps.entry(window).or_default();
        if held.is_empty() { *held = stamps } else { held.extend(stamps) }
    }

    /// Hands a window's taps over; what is not there is an empty window.
    pub fn take(&mut self, window: WindowId) -> Vec<Stamp> {
        let stamps = self.stamps.remove(&window).unwrap_or_default();
        self.n_taps -= stamps.len() as u64;
        stamps
    }

    /// Windows with at least one tap.
    pub fn ids(&self) -> Vec<WindowId> {
        self.stamps.keys().copied().collect()
    }

    /// Taps held now.
    pub fn n_taps(&self) -> u64 {
        self.n_taps
    }
}

#[cfg(test)]
mod tests;
