//! `tapveil ledger …`: what was spent, whether the ledger is whole, and declarations that bind every later release.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::failure::say;
use super::{ConfigArgument, Failure, JSON_FORMAT};
use crate::clock::SystemClock;
use crate::config::{self, Statement};
use crate::engine::Registry;
use crate::ledger::{Approval, Book, Declaration, Entry, Stop, Tail};
use crate::pipeline::books;

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
    /// Sign the statement of a configuration: from then on nothing is released under another one
    Approve(ApproveArguments),
    /// Stop the feed: nothing leaves until it is resumed
    Stop(SayArguments),
    /// Let a stopped feed go on
    Resume(SayArguments),
}

#[derive(clap::Args)]
struct ApproveArguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// Who signs
    #[arg(long, value_name = "NAME")]
    by: String,
    /// The digest at the end of the statement that was read (`tapveil check --statement`)
    #[arg(long, value_name = "DIGEST")]
    statement: String,
}

#[derive(clap::Args)]
struct SayArguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// Who says so
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: String,
}

#[derive(clap::Args)]
struct ReadArguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// Insist on the topic: a configuration without [kafka] is refused
    #[arg(long)]
    topic: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    match &arguments.command {
        Command::Show(read) => show(read, registry)?,
        Command::Verify(read) => verify(read, registry)?,
        Command::Approve(approve) => sign(approve, registry)?,
        Command::Stop(stop) => {
            let SayArguments { config, by, why } = stop;
            declare(config, registry, Declaration::Stop { why: said(why)?, by: said(by)? })?;
            say("stopped: nothing leaves until `tapveil ledger resume`");
        }
        Command::Resume(resume) => {
            let SayArguments { config, by, why } = resume;
            declare(config, registry, Declaration::Resume { why: said(why)?, by: said(by)? })?;
            say("resumed: releases go on");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A name or a reason: some words on one line.
fn said(text: &str) -> Result<String, Failure> {
    let text = text.trim();
    match text.is_empty() || text.chars().any(char::is_control) || text.len() > 500 {
        true => Err(Failure::usage("--by and --why need a few words on one line".to_owned())),
        false => Ok(text.to_owned()),
    }
}

/// Signs what was read: the digest must be the one of this configuration, as somebody has seen it.
fn sign(arguments: &ApproveArguments, registry: &Registry) -> Result<(), Failure> {
    let settings = config::load_with(&arguments.config.config, registry)?;
    let statement = Statement::of(&settings).digest;
    if arguments.statement.trim() != statement.to_string() {
        return Err(Failure::usage(format!(
            "--statement is not the digest of this configuration's statement, which is {statement}; read it again with \
             `tapveil check --statement`"
        )));
    }
    let declaration = Declaration::Approve { statement, by: said(&arguments.by)? };
    books::declare(&settings, &declaration, &SystemClock)?;
    say(&format!(
        "approved: from now on nothing is released under another statement than {statement}"
    ));
    Ok(())
}

fn declare(
    config: &ConfigArgument,
    registry: &Registry,
    declaration: Declaration,
) -> Result<(), Failure> {
    let settings = config::load_with(&config.config, registry)?;
    Ok(books::declare(&settings, &declaration, &SystemClock)?)
}

/// The feed's ledger: the topic where the configuration has one, else the file.
fn book(read: &ReadArguments, registry: &Registry) -> Result<(Book, Tail), Failure> {
    let config = &read.config;
    if read.topic || config::names_kafka(&config.config)? {
        let settings = config::load_with(&config.config, registry)?;
        settings.required_kafka(&config.config)?;
        return Ok(books::book(&settings)?);
    }
    Ok(books::of_file(&config::ledger_and_secret(&config.config)?)?)
}

fn show(read: &ReadArguments, registry: &Registry) -> Result<(), Failure> {
    let (book, tail) = book(read, registry)?;
    match read.json {
        true => say(&as_json(&book, tail).to_string()),
        false => say_book(&book),
    }
    Ok(())
}

fn verify(read: &ReadArguments, registry: &Registry) -> Result<(), Failure> {
    let (book, tail) = book(read, registry)?;
    if read.json {
        let records = book.n_records();
        let whole = json!({ "format": JSON_FORMAT, "whole": true, "records": records, "torn_bytes": torn(tail) });
        say(&whole.to_string());
        return Ok(());
    }
    say(&format!("{} records, every one follows from the one before", book.n_records()));
    if let Tail::Torn(bytes) = tail {
        say(&format!("note: a torn record of {bytes} bytes at the end; the next run drops it"));
    }
    Ok(())
}

fn torn(tail: Tail) -> u64 {
    match tail {
        Tail::Whole | Tail::Unended => 0,
        Tail::Torn(bytes) => bytes,
    }
}

fn say_book(book: &Book) {
    for Entry { reservation, start, end, settled, why, .. } in book.entries() {
        let state = if settled.is_some() { "settled" } else { "reserved" };
        let price = match reservation.cost.is_differential() {
            true => format!("epsilon {}", reservation.cost.epsilon()),
            false => "suppression".to_owned(),
        };
        let revision = match reservation.revision {
            0 => String::new(),
            number => format!(", revision {number}: {}", why.as_deref().unwrap_or_default()),
        };
        say(&format!(
            "{:>5}  {start} to {end}  {price:<16}  {state}{revision}",
            reservation.sequence
        ));
    }
    if let Some(Approval { statement, by, at }) = book.approval() {
        say(&format!("approved by {by} on {at}: statement {statement}"));
    }
    if let Some(Stop { why, by, at }) = book.stop() {
        say(&format!("stopped by {by} on {at}: {why}; nothing leaves"));
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
                "revision": entry.reservation.revision,
                "why": entry.why,
                "settled": entry.settled.is_some(),
                "release_sha256": entry.settled,
            })
        })
        .collect();
    json!({
        "format": JSON_FORMAT, "made": book.made(), "feed": book.feed(), "entries": entries,
        "spent_micro": book.spent(), "torn_bytes": torn(tail),
        "approval": book.approval().map(|approval| json!({
            "statement": approval.statement, "by": approval.by, "at": approval.at,
        })),
        "stop": book.stop().map(|stop| json!({ "why": stop.why, "by": stop.by, "at": stop.at })),
    })
}
