#![doc = include_str!("ARCHITECTURE.md")]
#![cfg_attr(
    test,
    allow(clippy::print_stdout, clippy::unwrap_used, reason = "tests print their seeds")
)]

pub mod model;
pub mod secret;
pub mod passenger;
pub mod ingest;
pub mod window;
pub mod seal;
pub mod ledger;
pub mod recheck;
pub mod engine;
pub mod publish;
pub mod kafka;
pub mod pipeline;
pub mod audit;
pub mod city;
pub mod console;
pub mod config;
pub mod cli;
pub mod clock;
pub mod metrics;
