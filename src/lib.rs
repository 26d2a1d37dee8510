#![doc = include_str!("ARCHITECTURE.md")]

pub mod model;
pub mod secret;
pub mod passenger;
pub mod ingest;
pub mod window;
pub mod seal;
pub mod ledger;
pub mod engine;
pub mod publish;
pub mod pipeline;
pub mod city;
pub mod config;
pub mod cli;
pub mod clock;
pub mod metrics;
