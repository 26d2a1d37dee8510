//! A simulator for the exactly-once protocol: one seed is one run, with no threads, no sleep and no broker.
//!
//! The protocol of `tapveil-core` runs unchanged; broker, groups, network and clocks are simulated. What a run is
//! held to stands in `check`, what the broker is assumed to do in `ASSUMPTIONS.md`.
#![allow(clippy::print_stdout, reason = "a simulator reports")]
#![allow(
    clippy::unwrap_used,
    clippy::let_underscore_must_use,
    missing_docs,
    reason = "a test program: an assumption that does not hold ends it"
)]

pub mod bad;
pub mod broker;
pub mod check;
mod effects;
pub mod group;
pub mod net;
pub mod random;
mod running;
pub mod schedule;
pub mod survey;
pub mod worker;
pub mod world;
