//! Many seeds on every core: how many runs, what happened in them, and the first that failed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tapveil_core::protocol::planted::{Planted, plant};

use crate::bad::{Bad, Wrong};
use crate::schedule::{Numbers, run, run_with};

/// Seeds are handed out in lots of this size.
const LOT: u64 = 64;

/// What a survey found.
#[derive(Debug, Default)]
pub struct Survey {
    /// Runs.
    pub schedules: u64,
    /// What happened in them.
    pub numbers: Numbers,
    /// The smallest seed that failed, with the reason.
    pub failure: Option<(u64, String)>,
}

impl Survey {
    /// The summary, in one line.
    pub fn line(&self) -> String {
        let Numbers { steps, crashes, zombies, unknown } = self.numbers;
        format!(
            "{} schedules, {steps} steps, {crashes} crashes, {zombies} zombies, {unknown} unknown outcomes",
            self.schedules
        )
    }
}

/// Runs the seeds `first..first + n`, with a bug planted or without, until one fails.
pub fn survey(first: u64, n: u64, bug: Option<Planted>) -> Survey {
    let next = AtomicU64::new(first);
    let is_over = AtomicBool::new(false);
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let parts: Vec<Survey> = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..n_threads).map(|_| scope.spawn(|| part(&next, first + n, bug, &is_over))).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a run that panics is a failure"))
            .collect()
    });
    let mut whole = Survey::default();
    for part in parts {
        whole.schedules += part.schedules;
        whole.numbers.add(part.numbers);
        whole.failure = match (whole.failure, part.failure) {
            (Some(a), Some(b)) => Some(if a.0 <= b.0 { a } else { b }),
            (a, b) => a.or(b),
        };
    }
    whole
}

fn part(next: &AtomicU64, end: u64, bug: Option<Planted>, is_over: &AtomicBool) -> Survey {
    plant(bug);
    let mut part = Survey::default();
    while !is_over.load(Ordering::Relaxed) {
        let from = next.fetch_add(LOT, Ordering::Relaxed);
        if from >= end {
            break;
        }
        for seed in from..(from + LOT).min(end) {
            let outcome = run(seed, false);
            part.schedules += 1;
            part.numbers.add(outcome.numbers);
            if let Err(reason) = outcome.verdict {
                part.failure = Some((seed, reason));
                is_over.store(true, Ordering::Relaxed);
                return part;
            }
        }
    }
    part
}

/// How to see a run again.
pub fn replay_command(seed: u64, bug: Option<Planted>) -> String {
    let bug = bug.map_or(String::new(), |bug| format!(" --bug {bug:?}"));
    format!("cargo run --release -p tapveil-sim -- --replay {seed}{bug}")
}

/// Runs bad records of every kind; gives how many, or the first that was not stopped as it should be.
pub fn bad_records(first: u64, n: u64) -> Result<u64, String> {
    for seed in first..first + n {
        for wrong in Wrong::ALL {
            let outcome = run_with(seed, Bad::new(wrong), false);
            if let Err(reason) = outcome.verdict {
                let replay = format!("{} --bad {wrong:?}", replay_command(seed, None));
                return Err(format!("seed {seed}, {wrong:?}: {reason}\nreplay: {replay}"));
            }
        }
    }
    Ok(n * Wrong::ALL.len() as u64)
}
