//! The commands, one file each. Words for people on the terminal, `--json` for machines.
//!
//! In → out: arguments → exit code 0 done, 1 a check failed or a release was refused, 2 bad usage or
//!   configuration, 3 an outside system failed.
//! Promises: M-1 errors are printed once, with the remedy; M-2 long work shows progress.
//! Refuses: unknown flags.
//! Why: the only room that prints.

mod audit;
mod check;
mod compare;
mod config;
#[cfg(feature = "kafka")]
mod demo;
mod evaluate;
#[cfg(feature = "kafka")]
mod export;
mod dry_run;
mod failure;
mod generate;
mod init;
mod ledger;
#[cfg(not(feature = "kafka"))]
mod no_kafka;
#[cfg(feature = "kafka")]
mod live;
#[cfg(feature = "kafka")]
mod log;
mod progress;
mod quickstart;
mod reproduce;
mod revise;
mod sample;
#[cfg(feature = "kafka")]
mod run;
#[cfg(feature = "kafka")]
mod replay;
mod sanitize;
mod secret;
mod stations;
#[cfg(feature = "kafka")]
mod sending;
#[cfg(feature = "kafka")]
mod serving;
#[cfg(feature = "kafka")]
mod taps_file;
mod twin;
mod verify;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

use crate::engine::Registry;
use crate::ingest::Taps;

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The form of every `--json` output; `src/CONTRACT.md` has the rules.
const JSON_FORMAT: u32 = 1;
/// The commit it was built from.
pub(crate) const COMMIT: &str = env!("TAPVEIL_COMMIT");

/// Smart-card taps in, private trips out.
#[derive(Parser)]
#[command(name = "tapveil", version, about, long_about = None, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Try it: a synthetic city, its taps made private, the release checked
    Quickstart(quickstart::Arguments),
    /// See it alive: a Kafka in this process, a synthetic city, three windows, the console
    #[cfg(feature = "kafka")]
    Demo(demo::Arguments),
    /// See it alive: a Kafka in this process, a synthetic city, three windows, the console
    #[cfg(not(feature = "kafka"))]
    Demo(no_kafka::Arguments),
    /// Make a starter configuration with a fresh secret and an empty ledger; never overwrites
    Init(init::Arguments),
    /// Turn a file of taps into private releases, one per window
    Sanitize(sanitize::Arguments),
    /// Release a window again: a numbered revision, paid in full, for late taps or a mistake
    Revise(revise::Arguments),
    /// Check releases: hashes, manifest, rows
    Verify(verify::Arguments),
    /// Say what releases are worth and what they give away, beside their raw taps. Private output
    Evaluate(evaluate::Arguments),
    /// Compare engines and budgets on the same taps; nothing is released or paid. Private output
    Compare(compare::Arguments),
    /// Repeat the figures and tables of the papers on synthetic data, ours beside theirs
    Reproduce(reproduce::Arguments),
    /// Check a configuration and show what it means; all complaints at once
    Check(check::Arguments),
    /// Print every configuration key with its default and reason, or a JSON Schema for editors
    Config(config::Arguments),
    /// Try to break the guarantee of the engines; exit 1 if it breaks
    Audit(audit::Arguments),
    /// Show or check what was spent; approve a statement; stop and resume releases
    Ledger(ledger::Arguments),
    /// Replace the keys of the secret; the ledger goes on
    Secret(secret::Arguments),
    /// List the stations of a GTFS feed as a file that can be read and edited
    Stations(stations::Arguments),
    /// Run the service on Kafka: taps from a topic, releases to a topic
    #[cfg(feature = "kafka")]
    Run(run::Arguments),
    /// Run the service on Kafka: taps from a topic, releases to a topic
    #[cfg(not(feature = "kafka"))]
    Run(no_kafka::Arguments),
    /// Make a synthetic city: taps, stations, configuration, secret and ledger; or a live feed into Kafka
    Generate(generate::Arguments),
    /// Play a file of taps into Kafka
    #[cfg(feature = "kafka")]
    Replay(replay::Arguments),
    /// Play a file of taps into Kafka
    #[cfg(not(feature = "kafka"))]
    Replay(no_kafka::Arguments),
    /// Rebuild releases from their Kafka topic alone
    #[cfg(feature = "kafka")]
    Export(export::Arguments),
    /// Rebuild releases from their Kafka topic alone
    #[cfg(not(feature = "kafka"))]
    Export(no_kafka::Arguments),
}

/// The configuration to use.
#[derive(clap::Args)]
pub(crate) struct ConfigArgument {
    /// The configuration file
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
}

/// The taps to read.
#[derive(clap::Args)]
pub(crate) struct TapsArgument {
    /// Files of taps in the configured format, as they are or packed with gzip or zstd; or Parquet files with the same
    /// fields as columns; - is standard input
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    taps: Vec<PathBuf>,
}

impl TapsArgument {
    fn get(&self) -> Result<Taps, Failure> {
        Taps::new(self.taps.clone()).ok_or_else(|| {
            Failure::usage("--taps: standard input (-) can be read once only".to_owned())
        })
    }
}

/// Does what the arguments say, with these engines.
pub fn run(arguments: impl IntoIterator<Item = OsString>, registry: &Registry) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // clap knows which of help, version and complaint it is, and the exit code (0 or 2).
            let code = error.exit_code();
            if let Err(unwritten) = error.print()
                && code == 0
            {
                failure::cannot_write(&unwritten);
            }
            return ExitCode::from(u8::try_from(code).unwrap_or(2));
        }
    };
    let done = match arguments.command {
        Command::Quickstart(arguments) => quickstart::run(&arguments, registry),
        #[cfg(feature = "kafka")]
        Command::Demo(arguments) => demo::run(&arguments, registry),
        Command::Init(arguments) => init::run(&arguments, registry),
        Command::Sanitize(arguments) => sanitize::run(&arguments, registry),
        Command::Revise(arguments) => revise::run(&arguments, registry),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments, registry),
        Command::Compare(arguments) => compare::run(&arguments, registry),
        Command::Reproduce(arguments) => reproduce::run(&arguments, registry),
        Command::Check(arguments) => check::run(&arguments, registry),
        Command::Config(arguments) => config::run(&arguments, registry),
        Command::Audit(arguments) => audit::run(&arguments, registry),
        Command::Ledger(arguments) => ledger::run(&arguments, registry),
        Command::Stations(arguments) => stations::run(&arguments),
        Command::Secret(arguments) => secret::run(&arguments, registry),
        #[cfg(feature = "kafka")]
        Command::Run(arguments) => run::run(&arguments, registry),
        Command::Generate(arguments) => generate::run(&arguments, registry),
        #[cfg(feature = "kafka")]
        Command::Replay(arguments) => replay::run(&arguments, registry),
        #[cfg(feature = "kafka")]
        Command::Export(arguments) => export::run(&arguments, registry),
        #[cfg(not(feature = "kafka"))]
        Command::Demo(arguments)
        | Command::Run(arguments)
        | Command::Replay(arguments)
        | Command::Export(arguments) => no_kafka::run(&arguments),
    };
    match done {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
