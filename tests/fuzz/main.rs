//! Every reader of bytes from outside against mutated inputs: an answer or a complaint, never a panic, and never a
//! forgery that is accepted. One file for each reader; its corpus is `corpus/<reader>`, made by hand or by generators.
//!
//! A minute in all; `TAPVEIL_LONG=1` takes ten minutes for each reader, `TAPVEIL_FUZZ_SECS` another time. The seed is
//! printed, and `TAPVEIL_SEED` sets it. What a finding was read from is kept in `target/fuzz`: put it into the corpus,
//! where every input is tried unchanged first.
#![allow(clippy::unwrap_used, reason = "a test that cannot set its stage up fails, and says where")]

mod driver;

mod configuration;
mod file;
mod gtfs;
mod ledger;
mod manifest;
mod metadata;
mod record;
mod release;
mod schema;
mod segment;
mod stations;
mod taxonomy;
mod time;
