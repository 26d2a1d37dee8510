//! A feed of taps that happen now, in windows of a minute that are closed by arrival.

use std::fmt::Write;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};

use tapveil::clock::{Clock, SystemClock};

use crate::service::Feed;

const PARTITIONS: i32 = 8;

/// A feed of two windows: the minute that has begun, and the next.
pub(crate) struct Live {
    pub(crate) feed: Feed,
    ends: Timestamp,
}

impl Live {
    pub(crate) fn new(brokers: &str) -> Self {
        let feed = Feed::history(brokers, 10);
        let now = SystemClock.now();
        let from = now - SignedDuration::from_secs(now.as_second() % 60);
        let ends = from + SignedDuration::from_secs(120);
        let minute = |at: Timestamp| at.strftime("%Y-%m-%dT%H:%M").to_string();
        feed.edit(
            "length = \"1d\"\nclose = \"watermark\"",
            "length = \"1m\"\ngrace = \"5s\"\nclock_margin = \"1s\"",
        );
        feed.edit("day_start = \"04:00\"", "day_start = \"00:00\"");
        feed.edit("slot = \"1h\"", "slot = \"10s\"");
        feed.edit("time_zone = \"America/Toronto\"", "time_zone = \"UTC\"");
        feed.edit("from = \"2015-11-09\"", &format!("from = \"{}\"", minute(from)));
        feed.edit("to = \"2015-11-16\"", &format!("to = \"{}\"", minute(ends)));
        feed.edit("epsilon = \"1.0\"", "epsilon = \"20.0\"");
        feed.edit("times = { fanout = 2, height = 3 }", "times = { fanout = 2, height = 1 }");
        make_taps(&feed, PARTITIONS, 1, "LogAppendTime");
        Self { feed, ends }
    }

    /// Waits until so many seconds after the end of the last window, or before it.
    pub(crate) fn wait_for_end_and(&self, secs: i64) {
        while SystemClock.now() < self.ends + SignedDuration::from_secs(secs) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends taps that happen now, to any partition, until the last window is over; then writes down what was sent.
    pub(crate) fn produce(&self, done: &AtomicBool) {
        let producer: ThreadedProducer<DefaultProducerContext> = ClientConfig::new()
            .set("bootstrap.servers", self.feed.brokers())
            .set("enable.idempotence", "true")
            .set("linger.ms", "5")
            .create()
            .unwrap();
        let topic = format!("{}.taps", self.feed.name);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut file = String::from("card,station,time\n");
        let began = Instant::now();
        let mut n: u32 = 0;
        while SystemClock.now() < self.ends {
            // A thousand a second, however long the sleeps really are.
            while Duration::from_millis(u64::from(n)) < began.elapsed() {
                let (card, station) = (random.next_u32() % 5_000, random.next_u32() % 9 + 1);
                let time = SystemClock.now().strftime("%Y-%m-%dT%H:%M:%S").to_string();
                let line = format!("c{card},L1-0{station},{time}");
                let partition = i32::try_from(random.next_u32() % 8).unwrap();
                let record: BaseRecord<'_, (), str> =
                    BaseRecord::to(&topic).payload(line.as_str()).partition(partition);
                producer.send(record).map_err(|(error, _)| error).unwrap();
                writeln!(file, "{line}").unwrap();
                n += 1;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        producer.flush(Duration::from_secs(5)).unwrap();
        fs::write(self.feed.taps(), file).unwrap();
        done.store(true, Ordering::SeqCst);
    }
}

/// Makes the topic of the taps, before anybody who would make it with other settings.
pub(crate) fn make_taps(feed: &Feed, partitions: i32, copies: i32, stamps: &str) {
    let topic = format!("{}.taps", feed.name);
    let topic = NewTopic::new(&topic, partitions, TopicReplication::Fixed(copies))
        .set("message.timestamp.type", stamps);
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", feed.brokers()).create().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let made = admin.create_topics([&topic], &AdminOptions::new());
    match runtime.block_on(made).unwrap().remove(0) {
        // The answer to the first request may be lost.
        Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
        Err((name, error)) => panic!("{name}: {error}"),
    }
}
