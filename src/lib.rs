#![doc = include_str!("ARCHITECTURE.md")]
#![cfg_attr(
    test,
    allow(clippy::print_stdout, clippy::unwrap_used, reason = "tests print their seeds")
)]

pub use tapveil_core::{
    audit, declare, engine, guarantee, model, passenger, protocol, seal, secret, window,
};

pub use tapveil_core::{keys, words};

pub mod gtfs;
pub mod ingest;
pub mod ledger;
pub mod publish;
pub mod kafka;
pub mod pipeline;
pub mod evaluate;
pub mod city;
#[cfg(feature = "kafka")]
pub mod console;
pub mod config;
pub mod cli;
pub mod clock;
pub mod metrics;
