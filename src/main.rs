//! The program: reads its arguments and does what they say. Everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    tapveil::cli::run(std::env::args_os())
}
