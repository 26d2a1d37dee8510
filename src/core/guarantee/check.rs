//! Checks a promise of suppression on the rows that leave. Shares no code with the engines: an engine that checks
//! itself with its own code repeats its own mistakes. Engines ask before a release leaves, `tapveil verify` asks the
//! files alone.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

mod lk;
mod projection;

pub use lk::lk;
pub use projection::projection;

use std::fmt;

use crate::model::{Doublet, Portion};

/// `count` trajectories that look like this.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Trip<'a> {
    /// Where and when, in order; for sequences every slot is the same.
    pub path: &'a [Doublet],
    pub count: u64,
}

impl fmt::Debug for Trip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trip(***)")
    }
}

/// A promise that does not hold. Says how, not who.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Breach {
    /// Too few trajectories share something an adversary may know.
    #[error(
        "a sequence of {length} doublets is shared by {support} trajectories, fewer than K = {k}"
    )]
    Rare {
        /// Its length.
        length: usize,
        /// How many trajectories contain it.
        support: u64,
        /// How many should.
        k: u64,
    },
    /// Nobody can say in any reasonable time.
    #[error(
        "the check was given up after {most} steps: no release that this program makes takes so many"
    )]
    TooMuchWork {
        /// Steps that were made.
        most: u64,
    },
    /// An adversary infers a place of others.
    #[error(
        "adversary {adversary} sees {support} trajectories as the same, and {holders} of them visit one foreign \
         place: more than P_br = {breach}"
    )]
    Inferred {
        /// The adversary's number.
        adversary: u32,
        /// How many look the same to it.
        support: u64,
        /// How many of them visit the place.
        holders: u64,
        /// The share allowed.
        breach: Portion,
    },
}

#[cfg(test)]
mod tests;
