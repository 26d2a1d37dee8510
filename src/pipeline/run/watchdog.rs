//! Watches the workers of a service: one that failed takes the process with it at once, one that hangs does after a
//! while, and one that shall stop gets a while to drain.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{Error, Event, Service, Stop};
use crate::metrics::Part;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(100);
/// A look that comes later than this shows that the whole process was stopped, by a signal or with its machine.
const ASLEEP: Duration = Duration::from_secs(2);
/// What the other worker gets to end well once one has failed.
const AFTER_FAILURE: Duration = Duration::from_millis(700);
/// What all workers get to drain once somebody asked for it. A supervisor waits longer.
const TO_DRAIN: Duration = Duration::from_secs(13);
/// How long a worker that has committed everything waits until the brokers let it go.
const TO_LEAVE: Duration = Duration::from_secs(5);
/// What a worker does that has committed everything and says good-bye to its group.
pub(super) const LEAVING: &str = "leaving the group";

/// Waits until every worker has ended. What cannot be waited for ends with the process.
pub(super) fn wait_for_all(
    service: &Service<'_>,
    stop: &Stop,
    mut n_running: usize,
    ended: &Receiver<Result<(), Error>>,
) -> Result<(), Error> {
    let mut failure: Option<(Error, Instant)> = None;
    let mut asked_at: Option<Instant> = None;
    let mut n_answered = 0;
    let mut looked = Instant::now();
    while n_running > 0 {
        let received = ended.recv_timeout(LOOK);
        let gap = looked.elapsed();
        looked = Instant::now();
        if gap > ASLEEP {
            service.health.slept(gap);
        }
        match received {
            Ok(done) => {
                n_running -= 1;
                if let (Err(error), None) = (done, &failure) {
                    failure = Some((error, Instant::now()));
                }
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if stop.is_asked() && asked_at.is_none() {
            asked_at = Some(Instant::now());
        }
        if let Some((error, at)) = &failure
            && at.elapsed() > AFTER_FAILURE
        {
            (service.last_words)(Err(error));
        }
        if asked_at.is_some() && are_only_leaving(service) {
            service.observers.tell(&Event::LeftUnanswered);
            (service.last_words)(Ok(()));
        }
        if asked_at.is_some_and(|at| at.elapsed() > TO_DRAIN) {
            (service.last_words)(Err(&Error::NotDrained { doing: in_words(service) }));
        }
        let limit = service.kafka.stall_timeout;
        let is_stuck = |part: &Part| {
            service.health.now(*part).is_some_and(|doing| doing.since.elapsed() > limit)
        };
        if [Part::Ingest, Part::Release].iter().any(is_stuck) {
            let doing = in_words(service);
            (service.last_words)(Err(&Error::Stuck { doing, limit_secs: limit.as_secs() }));
        }
        if stop.is_question(&mut n_answered) {
            service.observers.tell(&Event::Doing(in_words(service)));
        }
    }
    failure.map_or(Ok(()), |(error, _)| Err(error))
}

/// Whether every worker that still runs has committed all it will, and waits for nothing but the group's farewell.
fn are_only_leaving(service: &Service<'_>) -> bool {
    let running =
        [Part::Ingest, Part::Release].into_iter().filter_map(|part| service.health.now(part));
    let mut running = running.peekable();
    running.peek().is_some()
        && running.all(|doing| doing.what == LEAVING && doing.since.elapsed() > TO_LEAVE)
}

/// What every worker does, and for how long.
fn in_words(service: &Service<'_>) -> String {
    let line = |part: Part| {
        let doing = service.health.now(part)?;
        let seconds = doing.since.elapsed().as_secs();
        Some(format!("{}: {} for {seconds} s", part.in_words(), doing.what))
    };
    let lines: Vec<String> = [Part::Ingest, Part::Release].into_iter().filter_map(line).collect();
    if lines.is_empty() { "no worker is at work".to_owned() } else { lines.join("; ") }
}
