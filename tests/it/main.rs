//! One integration binary: one file per boundary. Most start the program as a user would and look at what
//! it leaves behind.
#![allow(clippy::unwrap_used, reason = "a test that cannot set its stage up fails, and says where")]

mod stations;
mod stores;
mod support;
mod service;
mod suppression;
mod taxonomies;
mod dptd;
mod lk_promises;
mod broker;
mod broker_facts;
mod kafka_clients;
mod tidy;
mod cli;
mod recipients;
mod refusals;
mod disk;
mod kill;
mod kinds;
mod burnt;
mod real;
mod real_suppression;
mod run;
mod forgotten;
mod history;
mod run_crash;
mod live;
mod run_groups;
mod one_release;
mod run_way;
mod arrivals;
mod run_closing;
mod run_oddities;
mod run_attacked;
#[cfg(feature = "tls")]
mod run_schedule;
mod run_secure;
mod run_avro;
mod run_brokers;
mod run_elections;
mod soak;
mod proxy;
mod run_writer;
mod run_one_ledger;
mod run_operators;
mod run_foreign;
mod unread;
mod vendors;
mod web;
mod console;
mod browser;
mod deploy;
mod contract;
mod toy_engine;
mod examples;
mod outside_numbers;
mod messages;
mod evaluate;
#[cfg(feature = "tls")]
mod registry_tls;
mod reproduce;
