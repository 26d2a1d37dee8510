//! Three brokers, three copies: the service goes on while brokers die, come back and stall.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;

use crate::arrivals::PATIENCE;
use crate::broker::Own;
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
    let Some(own) = Own::start(&["--brokers", "3"]) else { return };
    let (feed, worker) = begun(&own);
    own.local(&["broker", "kill", "1"], &[]);
    assert_whole(&feed, worker);
    own.local(&["broker", "restart", "1"], &[]);

    let (feed, worker) = begun(&own);
    own.local(&["broker", "pause", "2"], &[]);
    std::thread::sleep(Duration::from_secs(30));
    own.local(&["broker", "resume", "2"], &[]);
    assert_whole(&feed, worker);

    let (feed, worker) = begun(&own);
    own.local(&["broker", "kill", "3"], &[]);
    assert_whole(&feed, worker);
    own.local(&["broker", "restart", "3"], &[]);

    let (feed, worker) = begun(&own);
    need_all_copies(&feed);
    own.local(&["broker", "kill", "2"], &[]);
    // Longer than a transaction may take: it is aborted, and tried again until the copies are back.
    std::thread::sleep(Duration::from_secs(25));
    let ended = worker.said();
    own.local(&["broker", "restart", "2"], &[]);
    assert!(!ended.contains("tapveil: "), "too few copies are no reason to give up:\n{ended}");
    assert_whole(&feed, worker);
}

/// From now on one broker that is away leaves too few copies to write.
fn need_all_copies(feed: &Feed) {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", feed.brokers()).create().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for topic in ["segments", "ledger", "releases"] {
        let topic = format!("{}.{topic}", feed.name);
        let change = AlterConfig::new(ResourceSpecifier::Topic(&topic))
            .set("min.insync.replicas", "3")
            .set("retention.ms", "-1")
            .set("retention.bytes", "-1");
        let done = runtime.block_on(admin.alter_configs([&change], &AdminOptions::new()));
        done.unwrap().remove(0).unwrap();
    }
}
