//! Verifies releases as a recipient's program would.
//!
//! `cargo run --example verify -- DIR`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;
use std::process::ExitCode;

use tapveil::publish::verify::verify;

fn main() -> ExitCode {
    let Some(dir) = std::env::args().nth(1) else {
        println!("usage: verify DIR");
        return ExitCode::from(2);
    };
    match verify(Path::new(&dir)) {
        Err(error) => {
            println!("{error}");
            ExitCode::from(2)
        }
        Ok(report) => {
            for release in &report.releases {
                println!("{}: {} problems", release.name, release.problems.len());
            }
            for (_, problem) in report.problems() {
                println!("{} {}", problem.file, problem.what);
            }
            ExitCode::from(u8::from(!report.is_sound()))
        }
    }
}
