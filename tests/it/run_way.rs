//! The service on a real broker: a million taps, and taps that come in transactions.

use std::fs;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};

use crate::broker::bootstrap;
use crate::history::{PATIENCE, finish_and_check, name_the_instance, sort_by_time};
use crate::live::make_taps;
use crate::service::{Feed, batches};

#[test]
fn a_million_taps_over_eight_partitions_reach_the_engine_as_they_stand_in_the_file() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 320_000);
    sort_by_time(&feed);
    let n_taps = fs::read_to_string(feed.taps()).unwrap().lines().count() - 1;
    assert!(n_taps > 1_000_000, "{n_taps} taps");
    make_taps(&feed, 8, 1, "CreateTime");
    feed.replay();
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    feed.sanitized();
    assert_eq!(batches(&feed.ledger()), feed.sanitized_batches(), "each tap counts once");
}

/// The marker of a transaction has an offset and is no record: a position that never passed it would never be at the
/// end.
#[test]
fn a_feed_that_ends_with_markers_of_transactions_is_read_to_its_end() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 300);
    sort_by_time(&feed);
    name_the_instance(&feed);
    feed.append("[kafka.properties]\n\"session.timeout.ms\" = \"6000\"\n");
    make_taps(&feed, 2, 1, "CreateTime");
    let producer: ThreadedProducer<DefaultProducerContext> = ClientConfig::new()
        .set("bootstrap.servers", &brokers)
        .set("transactional.id", format!("{}.fares", feed.name))
        .create()
        .unwrap();
    let topic = format!("{}.taps", feed.name);
    let call = Duration::from_secs(30);
    let send = |line: &str, partition: i32| {
        let record: BaseRecord<'_, (), str> =
            BaseRecord::to(&topic).payload(line).partition(partition);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    };
    producer.init_transactions(call).unwrap();
    producer.begin_transaction().unwrap();
    let text = fs::read_to_string(feed.taps()).unwrap();
    for (line, partition) in text.lines().skip(1).zip([0, 1].into_iter().cycle()) {
        send(line, partition);
    }
    producer.commit_transaction(call).unwrap();
    producer.begin_transaction().unwrap();
    for (line, partition) in text.lines().skip(1).take(20).zip([0, 1].into_iter().cycle()) {
        send(line, partition);
    }
    producer.flush(call).unwrap();
    producer.abort_transaction(call).unwrap();
    // Whoever starts again finds nothing but markers behind the committed positions.
    let mut first = feed.worker("all", Some("ingest.committed"));
    assert_eq!(first.wait(PATIENCE), None, "{}", first.said());
    finish_and_check(&feed);
}
