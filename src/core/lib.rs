//! tapveil without input and output: what happens to taps between a decoded record and a release.
//!
//! In → out: taps, a secret and settings as values → sealed windows, booked prices, releases, decisions.
//! Promises: no file, no socket, no clock, no thread of its own kind: `now` and randomness are handed in.
//! Refuses: what its types cannot hold.
//! Why: a reviewer checks the guarantee here, and compiles it without a Kafka client.
#![cfg_attr(
    test,
    allow(clippy::print_stdout, clippy::unwrap_used, reason = "tests print their seeds")
)]

pub mod model;
pub mod declare;
pub mod secret;
pub mod passenger;
pub mod window;
pub mod seal;
pub mod ledger;
pub mod guarantee;
pub mod engine;
pub mod audit;
pub mod evaluate;
pub mod protocol;
