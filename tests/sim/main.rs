//! `tapveil-sim`: runs seeds, or shows one.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports")]

use std::process::ExitCode;
use std::time::Instant;

use tapveil_core::protocol::planted::{Planted, plant};
use tapveil_sim::bad::{Bad, Wrong};
use tapveil_sim::schedule::{run, run_with};
use tapveil_sim::survey::{replay_command, survey};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        arguments.iter().position(|one| one == name).and_then(|at| arguments.get(at + 1))
    };
    let number = |name: &str, usual: u64| value(name).map_or(Some(usual), |text| text.parse().ok());
    let bug =
        value("--bug").map(|name| Planted::ALL.into_iter().find(|bug| format!("{bug:?}") == *name));
    let (Some(seed), Some(schedules)) = (number("--seed", 1), number("--schedules", 100_000))
    else {
        eprintln!(
            "usage: tapveil-sim [--seed N] [--schedules N] [--bug NAME] | --replay SEED [--bug NAME | --bad NAME]"
        );
        return ExitCode::from(2);
    };
    if bug == Some(None) {
        eprintln!("no such bug; there are {:?}", Planted::ALL);
        return ExitCode::from(2);
    }
    let bug = bug.flatten();
    if let Some(Ok(seed)) = value("--replay").map(|text| text.parse()) {
        plant(bug);
        let bad = value("--bad")
            .and_then(|name| Wrong::ALL.into_iter().find(|one| format!("{one:?}") == *name));
        let outcome = match bad {
            Some(wrong) => run_with(seed, Bad::new(wrong), true),
            None => run(seed, true),
        };
        outcome.trace.iter().for_each(|line| println!("{line}"));
        println!("{:?}\n{:?}", outcome.numbers, outcome.verdict);
        return ExitCode::from(u8::from(outcome.verdict.is_err()));
    }
    let began = Instant::now();
    let found = survey(seed, schedules, bug);
    println!("{} in {:.1} s", found.line(), began.elapsed().as_secs_f64());
    if let Some((seed, reason)) = found.failure {
        println!("seed {seed}: {reason}\nreplay: {}", replay_command(seed, bug));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
