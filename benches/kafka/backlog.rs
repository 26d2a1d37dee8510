//! A first start over a long history: records of long ago in front of today's taps, daily windows.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Message, Offset, TopicPartitionList};

use super::{Length, Service, feed, get, metric, produce};

const OLD: &str = "tapveil_ingest_rejects_total{reason=\"outside_range\"}";
const TAPS: &str = "tapveil_ingest_taps_total";
/// A history that takes longer is not got through.
const LONGEST: Duration = Duration::from_secs(1_800);

/// Fills a topic with so many old records, and times a service that meets them at its first start.
pub(super) fn measure(brokers: &str, n_old: u64) {
    let dir = tempfile::tempdir().unwrap();
    let (config, listen) = feed(dir.path(), brokers, Length::Day);
    let n_live = produce(&config, 1);
    let settings = tapveil::config::load(Path::new(&config)).unwrap();
    let kafka = settings.kafka.unwrap();
    let began = Instant::now();
    send_old(&kafka, n_old);
    println!(
        "{n_old} records of long ago in 4 partitions, sent in {:.0} s; {n_live} taps of now; broker on the same machine",
        began.elapsed().as_secs_f64()
    );
    let log = dir.path().join("service.log");
    let began = Instant::now();
    let service = Service::logging(&config, &log);
    let mut peak = 0_f64;
    while metric(listen, OLD).unwrap_or(0) < n_old || metric(listen, TAPS).unwrap_or(0) < n_live {
        assert!(
            began.elapsed() < LONGEST,
            "not through:\n{}\n{:?}",
            fs::read_to_string(&log).unwrap(),
            get(listen, "/metrics")
        );
        peak = peak.max(service.resident_bytes());
        std::thread::sleep(Duration::from_millis(100));
    }
    let took = began.elapsed().as_secs_f64();
    let said = fs::read_to_string(&log).unwrap();
    println!(
        "first start to the head         {took:>10.1} s  {:.0} records a second",
        n_old as f64 / took
    );
    println!("largest memory of both roles    {:>10.0} MB", peak / 1e6);
    println!("joined again                    {:>10} times", said.matches("joining again").count());
}

/// The same records again and again: a tap of the feed, with a time of long ago.
fn send_old(kafka: &tapveil::kafka::Settings, n: u64) {
    let topic = &kafka.topics.taps;
    let mut record: serde_json::Value = serde_json::from_slice(&some_record(kafka)).unwrap();
    record["time"] = "2001-01-01T12:00:00Z".into();
    let payload = record.to_string();
    let producer: BaseProducer = rdkafka::ClientConfig::new()
        .set("bootstrap.servers", &kafka.brokers)
        .set("compression.type", "lz4")
        .set("queue.buffering.max.messages", "1000000")
        .set("linger.ms", "50")
        .create()
        .unwrap();
    for sent in 0..n {
        let partition = i32::try_from(sent % 4).unwrap();
        let mut one = BaseRecord::<(), str>::to(topic).payload(&payload).partition(partition);
        loop {
            match producer.send(one) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                    producer.poll(Duration::from_millis(5));
                    one = back;
                }
                Err((error, _)) => panic!("{error}"),
            }
        }
        if sent % 10_000 == 0 {
            producer.poll(Duration::ZERO);
        }
    }
    producer.flush(Duration::from_secs(120)).unwrap();
}

/// A record as the feed's producer writes it.
fn some_record(kafka: &tapveil::kafka::Settings) -> Vec<u8> {
    let consumer: BaseConsumer = kafka.group_consumer("backlog-bench").create().unwrap();
    let mut one = TopicPartitionList::new();
    one.add_partition_offset(&kafka.topics.taps, 0, Offset::Beginning).unwrap();
    consumer.assign(&one).unwrap();
    let message = consumer.poll(Duration::from_secs(10)).expect("a tap was sent").unwrap();
    message.payload().unwrap().to_vec()
}
