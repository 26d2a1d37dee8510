//! `tapveil config`: every key with its default and reason; a JSON Schema for editors.

use std::process::ExitCode;

use super::Failure;
use super::failure::say;
use crate::config;
use crate::engine::Registry;

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Arguments {
    /// Print a configuration with every key, its default and its reason
    #[arg(long)]
    default: bool,
    /// Print the JSON Schema of a configuration
    #[arg(long)]
    schema: bool,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    match arguments.schema {
        true => say(&format!("{:#}", config::schema(registry))),
        false => say(config::default_text(registry).trim_end()),
    }
    Ok(ExitCode::SUCCESS)
}
