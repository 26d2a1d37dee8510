//! The service on a real broker with a million taps.

use std::fs;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use crate::broker::bootstrap;
use crate::history::{PATIENCE, sort_by_time};
use crate::service::{Feed, batches};

#[test]
fn a_million_taps_over_eight_partitions_reach_the_engine_as_they_stand_in_the_file() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 310_000);
    sort_by_time(&feed);
    let n_taps = fs::read_to_string(feed.taps()).unwrap().lines().count() - 1;
    assert!(n_taps > 1_000_000, "{n_taps} taps");
    let topic = format!("{}.taps", feed.name);
    let topic = NewTopic::new(&topic, 8, TopicReplication::Fixed(1));
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", &brokers).create().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let made = admin.create_topics([&topic], &AdminOptions::new());
    runtime.block_on(made).unwrap().remove(0).unwrap();
    feed.replay();
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    feed.sanitized();
    assert_eq!(batches(&feed.ledger()), feed.sanitized_batches(), "each tap counts once");
}
