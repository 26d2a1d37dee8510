//! `tapveil ledger show|verify`: what was spent, and whether the ledger is whole.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::failure::say;
use super::{ConfigArgument, Failure, JSON_FORMAT};
use crate::config;
use crate::engine::Registry;
use crate::ledger::{Book, Entry, Journal, Tail};

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show every release that was booked
    Show(ReadArguments),
    /// Check every record against the secret
    Verify(ReadArguments),
}

#[derive(clap::Args)]
struct ReadArguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// The ledger of the service: the topic kafka.topics.ledger instead of the file
    #[arg(long)]
    topic: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let (Command::Show(read) | Command::Verify(read)) = &arguments.command;
    let (book, tail) = match read.topic {
        true => (topic_book(&read.config, registry)?, Tail::Whole),
        false => {
            let (path, secret) = config::ledger_and_secret(&read.config.config)?;
            Journal::inspect(&path, &secret.ledger_key())?
        }
    };
    let show = matches!(arguments.command, Command::Show(_));
    match (show, read.json) {
        (true, true) => say(&as_json(&book, tail).to_string()),
        (true, false) => say_book(&book),
        (false, true) => {
            say(&json!({ "format": JSON_FORMAT, "whole": true, "records": book.n_records(), "torn_bytes": torn(tail) })
                .to_string())
        }
        (false, false) => {
            say(&format!("{} records, every one follows from the one before", book.n_records()));
            if let Tail::Torn(bytes) = tail {
                say(&format!(
                    "note: a torn record of {bytes} bytes at the end; the next run drops it"
                ));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "kafka")]
/// The ledger topic, read from its beginning to its end and checked record by record.
fn topic_book(config: &ConfigArgument, registry: &Registry) -> Result<Book, Failure> {
    let settings = config::load_with(&config.config, registry)?;
    let kafka = settings.required_kafka(&config.config)?;
    Ok(crate::pipeline::run::topic_book(&settings, kafka)?)
}

#[cfg(not(feature = "kafka"))]
fn topic_book(_: &ConfigArgument, _: &Registry) -> Result<Book, Failure> {
    Err(super::no_kafka::missing("--topic"))
}

fn torn(tail: Tail) -> u64 {
    match tail {
        Tail::Whole | Tail::Unended => 0,
        Tail::Torn(bytes) => bytes,
    }
}

fn say_book(book: &Book) {
    for Entry { reservation, start, end, settled, .. } in book.entries() {
        let state = if settled.is_some() { "settled" } else { "reserved" };
        let price = match reservation.cost.is_differential() {
            true => format!("epsilon {}", reservation.cost.epsilon()),
            false => "suppression".to_owned(),
        };
        say(&format!("{:>5}  {start} to {end}  {price:<16}  {state}", reservation.sequence));
    }
    say(&format!("spent: epsilon {} in {} releases", book.spent(), book.entries().len()));
}

fn as_json(book: &Book, tail: Tail) -> Value {
    let entries: Vec<Value> = book
        .entries()
        .iter()
        .map(|entry| {
            json!({
                "sequence": entry.reservation.sequence,
                "feed": entry.feed,
                "window": entry.reservation.window.number(),
                "start": entry.start.to_string(),
                "end": entry.end.to_string(),
                "batch_mac": entry.reservation.batch.to_string(),
                "config_sha256": entry.reservation.configuration,
                "epsilon_micro": entry.reservation.cost.epsilon(),
                "differential": entry.reservation.cost.is_differential(),
                "settled": entry.settled.is_some(),
                "release_sha256": entry.settled,
            })
        })
        .collect();
    json!({
        "format": JSON_FORMAT, "made": book.made(), "feed": book.feed(), "entries": entries,
        "spent_micro": book.spent(), "torn_bytes": torn(tail),
    })
}
