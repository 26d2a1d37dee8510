//! The program: reads its arguments and does what they say. Everything else is in the library.

use std::process::ExitCode;

use tapveil::engine::Registry;

fn main() -> ExitCode {
    tapveil::cli::run(std::env::args_os(), &Registry::standard())
}
