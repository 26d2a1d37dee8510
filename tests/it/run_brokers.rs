//! Three brokers, three copies: the service goes on while brokers die, come back and stall.

use std::time::Duration;

use crate::arrivals::PATIENCE;
use crate::broker::{Own, is_long};
use crate::service::{Feed, Worker, batches};

/// A week in the topic, and a worker that has just begun with it.
fn begun(own: &Own) -> (Feed, Worker) {
    let feed = Feed::history(&own.bootstrap, 3_000);
    feed.replay();
    let mut worker = feed.worker("all", None);
    worker.wait_for("active: releasing windows", PATIENCE);
    (feed, worker)
}

/// Insists that the week ends well, with the taps of the file and nothing paid twice.
#[track_caller]
fn assert_whole(feed: &Feed, mut worker: Worker) {
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    feed.sanitized();
    let ledger = feed.ledger();
    assert_eq!(batches(&ledger), feed.sanitized_batches(), "{}", worker.said());
    assert_eq!(ledger["spent_micro"], 7_000_000);
}

#[test]
fn brokers_that_die_or_stall_one_after_the_other_cost_no_tap_and_no_budget() {
    if !is_long("brokers that die one after the other") {
        return;
    }
    let Some(own) = Own::start(&["--brokers", "3"]) else { return };
    let (feed, worker) = begun(&own);
    own.local(&["broker", "kill", "1"], &[]);
    assert_whole(&feed, worker);
    own.local(&["broker", "restart", "1"], &[]);

    let (feed, worker) = begun(&own);
    own.local(&["broker", "pause", "2"], &[]);
    std::thread::sleep(Duration::from_secs(10));
    own.local(&["broker", "resume", "2"], &[]);
    assert_whole(&feed, worker);

    let (feed, worker) = begun(&own);
    own.local(&["broker", "kill", "3"], &[]);
    assert_whole(&feed, worker);
}
