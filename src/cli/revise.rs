//! `tapveil revise`: a further release of one window, numbered and paid in full.

use std::path::PathBuf;
use std::process::ExitCode;

use super::failure::say;
use super::sanitize::{self, as_json, say_summary};
use super::{COMMIT, ConfigArgument, Failure, TapsArgument, VERSION};
use crate::config;
use crate::engine::Registry;
use crate::ledger::Edition;
use crate::metrics::Metrics;
use crate::pipeline::{self, Done};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The window's name, as its release's directory has it
    #[arg(long, value_name = "NAME")]
    window: String,
    #[command(flatten)]
    taps: TapsArgument,
    #[command(flatten)]
    config: ConfigArgument,
    /// Where the releases are
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Why there is a revision; the ledger keeps it
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let why = arguments.why.trim();
    if why.is_empty() {
        return Err(Failure::usage("--why must say why there is a revision".to_owned()));
    }
    let settings = config::load_with(&arguments.config.config, registry)?;
    settings.require_approval()?;
    let span = pipeline::window_named(&settings, &arguments.window)?;
    let metrics = Metrics::new(VERSION, COMMIT);
    let edition = Edition::Revision { why: why.to_owned() };
    let wanted = sanitize::Wanted { span: Some(span), edition, quiet: arguments.json };
    let summary =
        sanitize::sanitize(&settings, &arguments.taps.get()?, &arguments.out, wanted, &metrics)?;
    match arguments.json {
        true => say(&as_json(&summary, &arguments.out).to_string()),
        false => say_summary(&summary, &arguments.out),
    }
    let withheld = summary.windows.iter().any(|window| matches!(window.done, Done::Withheld(_)));
    Ok(ExitCode::from(u8::from(withheld)))
}
