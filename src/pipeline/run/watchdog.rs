//! Watches the workers of a service: one that failed takes the process with it at once, one that hangs does after a
//! while, and one that shall stop gets a while to drain.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{Error, Event, Service, Stop};
use crate::metrics::Part;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(100);
/// What the other worker gets to end well once one has failed.
const AFTER_FAILURE: Duration = Duration::from_millis(700);
/// What all workers get to drain once somebody asked for it. A supervisor waits longer.
const TO_DRAIN: Duration = Duration::from_secs(13);

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
    while n_running > 0 {
        match ended.recv_timeout(LOOK) {
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
            (service.last_words)(error);
        }
        if asked_at.is_some_and(|at| at.elapsed() > TO_DRAIN) {
            (service.last_words)(&Error::NotDrained { doing: in_words(service) });
        }
        let limit = service.kafka.stall_timeout;
        let is_stuck = |part: &Part| {
            service.health.now(*part).is_some_and(|doing| doing.since.elapsed() > limit)
        };
        if [Part::Ingest, Part::Release].iter().any(is_stuck) {
            let doing = in_words(service);
            (service.last_words)(&Error::Stuck { doing, limit_secs: limit.as_secs() });
        }
        if stop.is_question(&mut n_answered) {
            service.observers.tell(&Event::Doing(in_words(service)));
        }
    }
    failure.map_or(Ok(()), |(error, _)| Err(error))
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
