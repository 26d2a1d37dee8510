//! A service that somebody or something works against: positions that are not its own, workers that fail or hang, and
//! a topic full of what does not count.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::Value;

use crate::arrivals::PATIENCE;
use crate::broker::bootstrap;
use crate::service::{Feed, batches};

/// Commits for a group what somebody with rights on the broker, and without the secret, might.
fn commit(brokers: &str, group: &str, topic: &str, metadata: &str) {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("group.id", group)
        .create()
        .unwrap();
    let mut asked = TopicPartitionList::new();
    asked.add_partition(topic, 0);
    let committed = consumer.committed_offsets(asked, PATIENCE).unwrap();
    let offset = committed.find_partition(topic, 0).unwrap().offset();
    let mut positions = TopicPartitionList::new();
    let mut one = positions.add_partition(topic, 0);
    let offset = if offset == Offset::Invalid { Offset::Offset(0) } else { offset };
    one.set_offset(offset).unwrap();
    one.set_metadata(metadata);
    consumer.commit(&positions, CommitMode::Sync).unwrap();
}

/// Some of the week is released; the rest waits.
fn half_released(brokers: &str) -> Feed {
    let feed = Feed::history(brokers, 100);
    feed.replay();
    let mut worker = feed.worker("all", None);
    worker.wait_for("released", PATIENCE);
    worker.signal("TERM");
    worker.wait(PATIENCE);
    feed
}

#[test]
fn positions_that_the_feed_did_not_sign_stop_the_service_in_words() {
    let Some(brokers) = bootstrap() else { return };
    let feed = half_released(&brokers);
    let before = feed.ledger();
    let refused = |role: &str, code: i32, words: &str| {
        let mut worker = feed.worker(role, None);
        let ended = worker.wait(PATIENCE);
        let said = worker.said();
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains(words), "{words:?} is not in:\n{said}");
    };
    let (group, segments) = (format!("{}.release", feed.name), format!("{}.segments", feed.name));
    let mac = "0".repeat(64);
    let forged = format!("tapveil2 3 {mac} 29999999 {mac}");
    commit(&brokers, &group, &segments, &forged);
    refused("all", 1, "was not signed by this feed");
    commit(&brokers, &group, &segments, &format!("tapveil1 3 {mac} 29999999"));
    refused("all", 2, "accept-unsigned");
    // Alone: the other role's metadata is still refused, and either may be the first to say so.
    let taps = format!("{}.taps", feed.name);
    commit(&brokers, &feed.name, &taps, "tapveil1 9223372036854775807 -");
    refused("ingest", 2, "partition 0 was written by an earlier version");
    assert_eq!(feed.ledger(), before, "nothing was booked");
}

/// Holds R-7.
#[test]
fn a_worker_that_panics_ends_the_process_with_its_reason() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 100);
    feed.replay();
    let mut worker =
        feed.worker_with("all", &feed.config(), Some(("TAPVEIL_PANIC_AT", "ingest.committed")));
    let ended = worker.wait(PATIENCE);
    let said = worker.said();
    assert_eq!(ended, Some(1), "{said}");
    assert!(said.contains("the ingest worker stopped on a broken invariant"), "{said}");
    let mut next = feed.worker("all", None);
    assert_eq!(next.wait(PATIENCE), Some(0), "what was committed is there: {}", next.said());
}

#[test]
fn a_worker_that_hangs_ends_the_process_and_says_where() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 100);
    feed.replay();
    feed.edit("flush = \"1s\"", "flush = \"1s\"\nstall_timeout = \"3s\"");
    let mut worker =
        feed.worker_with("all", &feed.config(), Some(("TAPVEIL_HANG_AT", "ingest.committed")));
    let ended = worker.wait(PATIENCE);
    let said = worker.said();
    assert_eq!(ended, Some(3), "{said}");
    assert!(
        said.contains("kafka.stall_timeout") && said.contains("ingest: committing a flush"),
        "{said}"
    );
}

#[test]
fn term_ends_a_worker_that_hangs_and_usr1_says_what_it_does() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 100);
    feed.replay();
    let mut worker =
        feed.worker_with("all", &feed.config(), Some(("TAPVEIL_HANG_AT", "ingest.committed")));
    worker.wait_for("active", PATIENCE);
    std::thread::sleep(Duration::from_secs(3));
    worker.signal("USR1");
    worker.wait_for("committing a flush for", PATIENCE);
    worker.signal("TERM");
    let began = Instant::now();
    let ended = worker.wait(PATIENCE);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(ended, Some(3), "{}", worker.said());
    assert!(worker.said().contains("stopped without draining"), "{}", worker.said());
}

/// Six days of the week lie before the first window: they are counted, and written as sums.
#[test]
fn taps_before_the_first_window_are_summed_up() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 3_000);
    feed.edit("from = \"2015-11-09\"", "from = \"2015-11-15\"");
    feed.replay();
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    let taps = std::fs::read_to_string(feed.taps()).unwrap();
    let is_before = |tap: &&str| {
        let time = tap.rsplit(',').next().unwrap();
        time < "2015-11-15T04"
    };
    let n_before = taps.lines().skip(1).filter(is_before).count() as u64;
    let records: Vec<Value> = records(&brokers, &format!("{}.rejects", feed.name));
    let outside = records.iter().filter(|record| record["reason"] == "outside_range");
    let (mut n, mut n_sums) = (0, 0);
    for record in outside {
        n += record["count"].as_u64().unwrap_or(1);
        if let Some(last) = record["last_offset"].as_i64() {
            assert!(record["offset"].as_i64().unwrap() <= last, "{record}");
            n_sums += 1;
        }
    }
    assert_eq!(n, n_before, "every one is counted");
    assert!(n_sums > 0 && (records.len() as u64) < n_before / 2, "{} records", records.len());
}

fn records(brokers: &str, topic: &str) -> Vec<Value> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("group.id", "nobody")
        .set("isolation.level", "read_committed")
        .set("enable.partition.eof", "true")
        .create()
        .unwrap();
    let metadata = consumer.fetch_metadata(Some(topic), PATIENCE).unwrap();
    let n = metadata.topics()[0].partitions().len();
    let mut all = TopicPartitionList::new();
    for partition in 0..n {
        let partition = i32::try_from(partition).unwrap();
        all.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
    }
    consumer.assign(&all).unwrap();
    let (mut open, mut found) = (n, Vec::new());
    while open > 0 {
        match consumer.poll(PATIENCE).expect("the broker answers") {
            Ok(message) => {
                let payload = rdkafka::message::Message::payload(&message).unwrap_or_default();
                found.push(serde_json::from_slice(payload).unwrap());
            }
            Err(rdkafka::error::KafkaError::PartitionEOF(_)) => open -= 1,
            Err(error) => panic!("{error}"),
        }
    }
    found
}

/// Somebody writes into `segments` while windows are open: the service stops with the record's offset, and goes on
/// without it, and without losing a tap that stands before it.
#[test]
fn a_record_of_segments_that_is_not_ours_is_passed_over_and_no_tap_is_lost() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 300);
    feed.replay();
    // Taps are in segments, and the first window is not released yet.
    let mut killed = feed.worker("all", Some("release.frozen"));
    killed.wait(PATIENCE);
    let topic = format!("{}.segments", feed.name);
    let offset = write_garbage(&brokers, &topic);

    let mut stopped = feed.worker("all", None);
    assert_eq!(stopped.wait(PATIENCE), Some(2), "{}", stopped.said());
    let remedy = format!("kafka.pass_segments = [{offset}]");
    assert!(stopped.said().contains(&remedy), "{}", stopped.said());

    feed.edit("flush = \"1s\"", &format!("flush = \"1s\"\npass_segments = [{offset}]"));
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    let passed = format!("record {offset} of segments is passed over");
    assert!(worker.said().contains(&passed), "{}", worker.said());
    feed.sanitized();
    assert_eq!(batches(&feed.ledger()), feed.sanitized_batches(), "every tap is there");
}

fn write_garbage(brokers: &str, topic: &str) -> i64 {
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", brokers).create().unwrap();
    let record: BaseRecord<'_, (), str> = BaseRecord::to(topic).payload("=HYPERLINK(0)");
    producer.send(record).map_err(|(error, _)| error).unwrap();
    producer.flush(PATIENCE).unwrap();
    let (_, end) = producer.client().fetch_watermarks(topic, 0, PATIENCE).unwrap();
    end - 1
}
