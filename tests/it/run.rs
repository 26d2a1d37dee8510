//! The service on a real broker: the whole way.

use std::time::Duration;

use crate::broker::bootstrap;
use crate::service::{Feed, assert_same_paths, batches};

const LONG: Duration = Duration::from_secs(90);

#[test]
fn a_week_through_kafka_gives_the_releases_that_a_file_gives() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 3_000);
    feed.replay();
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(LONG), Some(0), "{}", worker.said());
    let sanitized = feed.sanitized();
    let ledger = feed.ledger();
    assert_eq!(batches(&ledger), feed.sanitized_batches(), "the same batches reached the engine");
    assert_eq!(ledger["spent_micro"], 7_000_000);
    assert_same_paths(&feed.export(), &sanitized);
}
