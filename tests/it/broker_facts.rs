//! What the protocol rests on, seen on a real broker: the simulator assumes each (tests/sim/ASSUMPTIONS.md).

use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerGroupMetadata};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::broker::{bootstrap, unique};

const SOON: Duration = Duration::from_secs(30);

fn client(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers).set("auto.offset.reset", "earliest");
    config
}

fn topic(brokers: &str) -> String {
    let name = unique("facts");
    let admin: AdminClient<DefaultClientContext> = client(brokers).create().unwrap();
    let new = NewTopic::new(&name, 1, TopicReplication::Fixed(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let made = runtime.block_on(admin.create_topics([&new], &AdminOptions::new())).unwrap();
    assert!(made[0].is_ok(), "{made:?}");
    name
}

fn producer(brokers: &str, id: &str) -> BaseProducer {
    let producer: BaseProducer = client(brokers).set("transactional.id", id).create().unwrap();
    producer.init_transactions(SOON).unwrap();
    producer
}

fn send(producer: &BaseProducer, topic: &str, payload: &str) {
    producer.send(BaseRecord::<(), str>::to(topic).payload(payload)).unwrap();
    producer.flush(SOON).unwrap();
}

fn reader(brokers: &str, topic: &str, isolation: &str) -> BaseConsumer {
    let reader: BaseConsumer = client(brokers)
        .set("group.id", unique("reader"))
        .set("isolation.level", isolation)
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(topic, 0, Offset::Beginning).unwrap();
    reader.assign(&list).unwrap();
    reader
}

/// The payloads that a reader of committed records is shown, up to one that ends the list.
fn read_to(reader: &BaseConsumer, last: &str) -> Vec<String> {
    let began = Instant::now();
    let mut seen = Vec::new();
    while seen.last().is_none_or(|text| text != last) {
        assert!(began.elapsed() < SOON, "{last} never came: {seen:?}");
        if let Some(Ok(message)) = reader.poll(Duration::from_millis(200)) {
            seen.push(String::from_utf8_lossy(message.payload().unwrap()).into_owned());
        }
    }
    seen
}

fn end_of(reader: &BaseConsumer, topic: &str) -> i64 {
    reader.fetch_watermarks(topic, 0, SOON).unwrap().1
}

#[test]
fn open_transactions_hold_readers_and_the_true_end_is_seen_by_uncommitted_readers() {
    let Some(brokers) = bootstrap() else { return };
    let topic = topic(&brokers);
    let (open, other) = (producer(&brokers, &unique("open")), producer(&brokers, &unique("other")));
    open.begin_transaction().unwrap();
    send(&open, &topic, "behind the open one");
    other.begin_transaction().unwrap();
    send(&other, &topic, "behind it");
    other.commit_transaction(SOON).unwrap();
    let committed = reader(&brokers, &topic, "read_committed");
    let uncommitted = reader(&brokers, &topic, "read_uncommitted");
    assert_eq!(end_of(&committed, &topic), 0, "the last stable offset hides what is there");
    assert!(end_of(&uncommitted, &topic) >= 2, "two records, and a marker soon");
    open.abort_transaction(SOON).unwrap();
    assert_eq!(read_to(&committed, "behind it"), ["behind it"], "aborted records are never shown");
}

#[test]
fn offsets_and_metadata_appear_with_the_transaction_or_never() {
    let Some(brokers) = bootstrap() else { return };
    let (topic, group) = (topic(&brokers), unique("group"));
    let member = member(&brokers, &topic, &group);
    let commit = |metadata: &str, commits: bool| {
        let producer = producer(&brokers, &unique("offsets"));
        producer.begin_transaction().unwrap();
        let positions = positions(&topic, 7, metadata);
        let group = member.group_metadata().unwrap();
        producer.send_offsets_to_transaction(&positions, &group, SOON).unwrap();
        match commits {
            true => producer.commit_transaction(SOON).unwrap(),
            false => producer.abort_transaction(SOON).unwrap(),
        }
    };
    commit("aborted", false);
    assert_eq!(committed(&member, &topic), (Offset::Invalid, String::new()));
    commit("tapveil1 5", true);
    assert_eq!(committed(&member, &topic), (Offset::Offset(7), "tapveil1 5".to_owned()));
}

/// The broker looks at the generation alone: a fresh one is taken for a partition that is not the member's.
#[test]
fn a_stale_generation_is_refused_and_a_fresh_one_is_not_checked_for_ownership() {
    let Some(brokers) = bootstrap() else { return };
    let (topic, group) = (topic(&brokers), unique("group"));
    let first = member(&brokers, &topic, &group);
    let stale = first.group_metadata().unwrap();
    // A second member of one partition is idle, and still makes a new generation.
    let second: BaseConsumer = group_client(&brokers, &group);
    second.subscribe(&[&topic]).unwrap();
    let began = Instant::now();
    let send = |metadata: &ConsumerGroupMetadata| {
        let producer = producer(&brokers, &unique("offsets"));
        producer.begin_transaction().unwrap();
        let sent = producer.send_offsets_to_transaction(&positions(&topic, 3, "x"), metadata, SOON);
        producer.abort_transaction(SOON).unwrap();
        sent
    };
    let refused = loop {
        first.poll(Duration::from_millis(100));
        second.poll(Duration::from_millis(100));
        if let Err(error) = send(&stale) {
            break error;
        }
        assert!(began.elapsed() < SOON, "the old generation is still taken");
    };
    let code = refused.rdkafka_error_code();
    let moved = [RDKafkaErrorCode::IllegalGeneration, RDKafkaErrorCode::RebalanceInProgress];
    assert!(code.is_some_and(|code| moved.contains(&code)), "{refused}");
    // Whichever of the two has no partition now may commit for it all the same.
    let idle = loop {
        for consumer in [&first, &second] {
            consumer.poll(Duration::from_millis(100));
        }
        let count = |consumer: &BaseConsumer| consumer.assignment().unwrap().count();
        match (count(&first), count(&second)) {
            (1, 0) => break &second,
            (0, 1) => break &first,
            _ => assert!(began.elapsed() < SOON + SOON, "the group never settles"),
        }
    };
    let began = Instant::now();
    while let Err(error) = send(&idle.group_metadata().unwrap()) {
        assert!(began.elapsed() < SOON, "{error}");
        first.poll(Duration::from_millis(100));
        second.poll(Duration::from_millis(100));
    }
}

#[test]
fn records_that_were_deleted_are_an_error_for_whoever_wants_them() {
    let Some(brokers) = bootstrap() else { return };
    let topic = topic(&brokers);
    let producer: BaseProducer = client(&brokers).create().unwrap();
    for payload in ["one", "two", "three"] {
        send(&producer, &topic, payload);
    }
    let admin: AdminClient<DefaultClientContext> = client(&brokers).create().unwrap();
    let mut before = TopicPartitionList::new();
    before.add_partition_offset(&topic, 0, Offset::Offset(2)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(admin.delete_records(&before, &AdminOptions::new())).unwrap();
    let strict: BaseConsumer = client(&brokers)
        .set("group.id", unique("reader"))
        .set("auto.offset.reset", "error")
        .create()
        .unwrap();
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&topic, 0, Offset::Offset(0)).unwrap();
    strict.assign(&list).unwrap();
    let began = Instant::now();
    let error = loop {
        match strict.poll(Duration::from_millis(200)) {
            Some(Err(error)) => break error,
            Some(Ok(message)) => panic!("record {} is there", message.offset()),
            None => assert!(began.elapsed() < SOON, "no error came"),
        }
    };
    assert_eq!(error.rdkafka_error_code(), Some(RDKafkaErrorCode::AutoOffsetReset), "{error}");
}

fn group_client(brokers: &str, group: &str) -> BaseConsumer {
    client(brokers)
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .set("session.timeout.ms", "6000")
        .create()
        .unwrap()
}

/// A member of a group that has its partition.
fn member(brokers: &str, topic: &str, group: &str) -> BaseConsumer {
    let member = group_client(brokers, group);
    member.subscribe(&[topic]).unwrap();
    let began = Instant::now();
    while member.assignment().unwrap().count() == 0 {
        assert!(began.elapsed() < SOON, "no partition came");
        member.poll(Duration::from_millis(100));
    }
    member
}

fn positions(topic: &str, offset: i64, metadata: &str) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    let mut one = list.add_partition(topic, 0);
    one.set_offset(Offset::Offset(offset)).unwrap();
    one.set_metadata(metadata);
    list
}

fn committed(member: &BaseConsumer, topic: &str) -> (Offset, String) {
    let mut asked = TopicPartitionList::new();
    asked.add_partition(topic, 0);
    let found = member.committed_offsets(asked, SOON).unwrap();
    let one = found.find_partition(topic, 0).unwrap();
    (one.offset(), one.metadata().to_owned())
}
