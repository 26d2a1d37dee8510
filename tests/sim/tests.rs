//! The protocol under a hundred thousand schedules, and the simulator under eleven bugs.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "tests print their seeds and figures")]

use tapveil_core::protocol::planted::Planted;
use tapveil_sim::schedule::run;
use tapveil_sim::survey::{bad_records, replay_command, survey};

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Holds.
#[test]
fn each_tap_is_released_once_and_each_price_booked_once_whoever_dies_when() {
    let is_long = std::env::var("TAPVEIL_LONG").is_ok();
    let schedules = number("TAPVEIL_SCHEDULES", if is_long { 10_000_000 } else { 100_000 });
    let seed = number("TAPVEIL_SEED", 20_151_109);
    let found = survey(seed, schedules, None);
    println!("simulator: seed {seed}: {}", found.line());
    if let Some((seed, reason)) = found.failure {
        panic!("seed {seed}: {reason}\nreplay: {}", replay_command(seed, None));
    }
    assert_eq!(found.schedules, schedules);
    let numbers = found.numbers;
    assert!(numbers.crashes > schedules / 2 && numbers.zombies > schedules / 8, "{numbers:?}");
    assert!(numbers.unknown > schedules / 8, "{numbers:?}");
}

#[test]
fn every_planted_bug_is_caught_within_twenty_thousand_schedules() {
    let mut missed = Vec::new();
    for bug in Planted::ALL {
        let found = survey(1, 20_000, Some(bug));
        match found.failure {
            Some((seed, reason)) => {
                println!("planted {bug:?}: seed {seed}, {} schedules: {reason}", found.schedules)
            }
            None => missed.push(bug),
        }
    }
    println!(
        "simulator: {} of {} planted bugs caught",
        Planted::ALL.len() - missed.len(),
        Planted::ALL.len()
    );
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

#[test]
fn one_seed_is_one_run() {
    for seed in 0..20 {
        let (one, again) = (run(seed, true), run(seed, true));
        assert_eq!(one.trace, again.trace, "seed {seed}");
        assert!(!one.trace.is_empty());
    }
}

#[test]
fn records_that_no_correct_worker_writes_stop_the_work_in_words() {
    let n = bad_records(1, 200).unwrap();
    println!("simulator: {n} schedules with a bad record");
}
