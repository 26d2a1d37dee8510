//! Variable-length n-grams (Chen, Ács, Castelluccia 2012): noisy counts of the runs of stations that are frequent
//! enough to be told from noise, and synthetic trips that follow them.
//!
//! In → out: a sealed window → a tree of noisy n-grams → synthetic sequences, or trips with times.
//! Promises: B-1 the starts of one card weigh no more than the clip together; B-2 what a start follows costs at most
//!   what the tree may cost; B-3 what is asked depends on configuration and answers; B-4 the same bytes everywhere.
//! Refuses: a universe whose symbols have no numbers, and trips longer than it looks at, before anything is paid.
//! Why: `PROOF.md` beside this file.
#![doc = include_str!("PROOF.md")]

mod engine;
mod estimate;
mod grams;
mod grow;
mod keys;
mod model;
mod mutants;
mod plan;
mod reading;
mod synthesis;

pub use engine::{NGram, REVISION, Settings};
pub use keys::REGISTRATION;

#[cfg(test)]
mod tests;
