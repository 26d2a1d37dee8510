//! The commands that need Kafka, in a build without it: they say so, and how to get a build that has it.

use std::ffi::OsString;
use std::process::ExitCode;

use super::Failure;

/// What somebody typed; taken, so that the answer is about Kafka and not about a flag.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

pub(super) fn run(_: &Arguments) -> Result<ExitCode, Failure> {
    Err(missing("this command"))
}

/// What to say where Kafka is asked for.
pub(super) fn missing(what: &str) -> Failure {
    Failure::usage(format!(
        "{what} needs Kafka, and this build was made without it; make one that has it: cargo build --release"
    ))
}
