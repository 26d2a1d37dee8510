//! One integration binary: one file per boundary.
#![allow(clippy::unwrap_used, reason = "a test that cannot set its stage up fails, and says where")]

mod broker;
mod kafka_clients;
mod tidy;
