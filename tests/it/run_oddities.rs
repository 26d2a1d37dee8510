//! What is not as it should be: each ends with one sentence that says so, and the exit code of whose fault it is.

use std::fs;
use std::time::{Duration, Instant};

use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tapveil::ledger::Journal;
use tapveil::secret::Secret;

use crate::arrivals::{Live, PATIENCE, now};
use crate::broker::bootstrap;
use crate::service::Feed;

/// What an operator does behind the service's back.
struct Admin {
    client: AdminClient<DefaultClientContext>,
    runtime: tokio::runtime::Runtime,
}

impl Admin {
    fn new(brokers: &str) -> Self {
        let client = ClientConfig::new().set("bootstrap.servers", brokers).create().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { client, runtime }
    }

    fn create(&self, name: &str, partitions: i32) {
        let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        let made = self.client.create_topics([&topic], &AdminOptions::new());
        self.runtime.block_on(made).unwrap().remove(0).unwrap();
    }

    fn delete(&self, name: &str) {
        let done = self.client.delete_topics(&[name], &AdminOptions::new());
        self.runtime.block_on(done).unwrap().remove(0).unwrap();
        // The answer comes before every broker has forgotten it.
        let began = Instant::now();
        let is_there = || {
            let metadata = self.client.inner().fetch_metadata(None, PATIENCE).unwrap();
            metadata.topics().iter().any(|topic| topic.name() == name)
        };
        while is_there() {
            assert!(began.elapsed() < PATIENCE, "{name} does not go");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Forgets a group and its positions; it may take a moment until its last member is gone.
    fn delete_group(&self, group: &str) {
        let began = Instant::now();
        loop {
            let done = self.client.delete_groups(&[group], &AdminOptions::new());
            match self.runtime.block_on(done).unwrap().remove(0) {
                Ok(_) => return,
                Err(error) => assert!(began.elapsed() < PATIENCE, "{group}: {error:?}"),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// What is set replaces everything that was set before.
    fn keep_for_ever_but(&self, topic: &str, policy: &str) {
        let change = AlterConfig::new(ResourceSpecifier::Topic(topic))
            .set("cleanup.policy", policy)
            .set("retention.ms", "-1")
            .set("retention.bytes", "-1");
        let done = self.client.alter_configs([&change], &AdminOptions::new());
        self.runtime.block_on(done).unwrap().remove(0).unwrap();
    }

    fn delete_before(&self, topic: &str, offset: i64) {
        let mut before = TopicPartitionList::new();
        before.add_partition_offset(topic, 0, Offset::Offset(offset)).unwrap();
        let done = self.client.delete_records(&before, &AdminOptions::new());
        for one in self.runtime.block_on(done).unwrap().elements() {
            one.error().unwrap();
        }
    }
}

/// Insists that a worker ends with this code and one sentence that holds these words.
#[track_caller]
fn refuses(feed: &Feed, code: i32, words: &[&str]) {
    let mut worker = feed.worker("all", None);
    let ended = worker.wait(PATIENCE);
    let said = worker.said();
    assert_eq!(ended, Some(code), "{said}");
    assert_one_sentence(&said, words);
}

#[track_caller]
fn assert_one_sentence(said: &str, words: &[&str]) {
    let complaints: Vec<&str> = said.lines().filter(|line| line.starts_with("tapveil: ")).collect();
    assert_eq!(complaints.len(), 1, "{said}");
    assert!(said.ends_with(&format!("{}\n", complaints[0])), "it comes last:\n{said}");
    for word in words {
        assert!(complaints[0].contains(word), "{word:?} is not in:\n{said}");
    }
}

/// A week that is released, few cards in it.
fn released(brokers: &str) -> Feed {
    let feed = Feed::history(brokers, 100);
    feed.replay();
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    feed
}

/// Puts a new secret in the place of the old one, and a new file ledger with it.
fn replace_secret(feed: &Feed) {
    let (secret, ledger) = (feed.path("city/tapveil.secret"), feed.path("city/tapveil.ledger"));
    let mut bytes = fs::read(&secret).unwrap();
    bytes[0] ^= 1;
    fs::write(&secret, &bytes).unwrap();
    fs::remove_file(&ledger).unwrap();
    fs::remove_file(feed.path("city/tapveil.secret.head")).ok();
    let key = Secret::from_bytes(&bytes).unwrap().ledger_key();
    Journal::create(&ledger, &key, now()).unwrap();
}

#[test]
fn positions_that_are_gone_after_a_release_are_the_operators_to_decide() {
    let Some(brokers) = bootstrap() else { return };
    let feed = released(&brokers);
    let before = feed.ledger();
    feed.edit(&format!("group = \"{}\"", feed.name), &format!("group = \"{}-other\"", feed.name));
    refuses(
        &feed,
        2,
        &["no position is committed, but windows were released", "kafka.group changed", &feed.name],
    );
    assert_eq!(feed.ledger(), before, "nothing was booked");
}

/// What the message advises works: positions committed with Kafka's own tool are where the service goes on.
#[test]
fn positions_that_the_operator_committed_are_taken() {
    let Some(brokers) = bootstrap() else { return };
    let feed = released(&brokers);
    let before = feed.ledger();
    let admin = Admin::new(&brokers);
    for group in [feed.name.clone(), format!("{}.release", feed.name)] {
        admin.delete_group(&group);
        let topic = if group == feed.name { "taps" } else { "segments" };
        commit_the_end(&brokers, &group, &format!("{}.{topic}", feed.name));
    }
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    assert_eq!(feed.ledger(), before, "nothing was booked again");
}

/// As `kafka-consumer-groups.sh --reset-offsets --to-latest` does: a position and nothing else.
fn commit_the_end(brokers: &str, group: &str, topic: &str) {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("group.id", group)
        .create()
        .unwrap();
    let metadata = consumer.fetch_metadata(Some(topic), PATIENCE).unwrap();
    let mut positions = TopicPartitionList::new();
    for partition in metadata.topics()[0].partitions() {
        let (_, end) = consumer.fetch_watermarks(topic, partition.id(), PATIENCE).unwrap();
        positions.add_partition_offset(topic, partition.id(), Offset::Offset(end)).unwrap();
    }
    consumer.commit(&positions, CommitMode::Sync).unwrap();
}

#[test]
fn a_ledger_that_is_not_as_it_was_left_stops_the_service() {
    let Some(brokers) = bootstrap() else { return };
    let feed = released(&brokers);
    let admin = Admin::new(&brokers);
    let ledger = format!("{}.ledger", feed.name);

    let config = fs::read_to_string(feed.config()).unwrap();
    feed.edit("[feed]\n", "[feed]\nid = \"another\"\n");
    refuses(&feed, 2, &["belongs to feed", "\"another\" (feed.id)", &ledger]);
    fs::write(feed.config(), config).unwrap();

    admin.keep_for_ever_but(&ledger, "compact");
    refuses(&feed, 2, &["compaction would erase a payment", "--add-config cleanup.policy=delete"]);
    admin.keep_for_ever_but(&ledger, "delete");

    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", &brokers).create().unwrap();
    let foreign = BaseRecord::<(), str>::to(&ledger).payload("{\"sequence\":15}");
    producer.send(foreign).map_err(|(error, _)| error).unwrap();
    producer.flush(Duration::from_secs(20)).unwrap();
    refuses(&feed, 1, &["is broken at record 15", "it is not a ledger record", &ledger]);

    admin.delete_before(&ledger, 4);
    refuses(&feed, 1, &["is broken at record 0", "records before it are missing", &ledger]);

    admin.delete(&ledger);
    refuses(&feed, 1, &["holds 0 records, but", "says that it had 15", "payments are missing"]);
    // Without what lies beside the secret the releases themselves say it.
    fs::remove_file(feed.path("city/tapveil.secret.head")).unwrap();
    refuses(&feed, 1, &["is in place, but the ledger", &ledger]);
}

#[test]
fn another_secret_than_the_one_that_sealed_is_refused_in_words() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 100);
    feed.replay();
    let mut opener = feed.worker("release", None);
    opener.wait_for("active: releasing windows", PATIENCE);
    opener.signal("INT");
    assert_eq!(opener.wait(PATIENCE), Some(0), "{}", opener.said());
    let mut ingest = feed.worker("ingest", None);
    let segments = format!("{}.segments", feed.name);
    let client: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", &brokers).create().unwrap();
    let began = Instant::now();
    while client.client().fetch_watermarks(&segments, 0, PATIENCE).unwrap().1 < 28 {
        assert!(began.elapsed() < PATIENCE, "{}", ingest.said());
        std::thread::sleep(Duration::from_millis(100));
    }
    ingest.signal("INT");
    assert_eq!(ingest.wait(PATIENCE), Some(0), "{}", ingest.said());

    replace_secret(&feed);
    refuses(&feed, 2, &["was not made with this secret (secret.file)", &feed.name]);
    // A new ledger is refused as well: the group's commit was signed with the old secret.
    feed.edit(&format!("\"{}.ledger\"", feed.name), &format!("\"{}.ledger2\"", feed.name));
    refuses(&feed, 1, &["was not signed by this feed", "the secret is another one"]);
    // With a new group too, the segments themselves say it.
    feed.edit(&format!("group = \"{}\"", feed.name), &format!("group = \"{}-b\"", feed.name));
    refuses(&feed, 2, &["was sealed with another secret than secret.file", &segments]);
}

#[test]
fn producers_times_cannot_close_by_arrival() {
    let Some(brokers) = bootstrap() else { return };
    let live = Live::new(&brokers);
    Admin::new(&brokers).create(&format!("{}.taps", live.feed.name), 2);
    let words =
        ["carries its producers' times", "--add-config message.timestamp.type=LogAppendTime"];
    refuses(&live.feed, 2, &words);
}

#[test]
fn a_feed_whose_topic_is_deleted_stops_and_names_it() {
    let Some(brokers) = bootstrap() else { return };
    let live = Live::new(&brokers);
    let (mut worker, first) = live.open();
    live.crowd("some", &first, &[0, 1, 2, 3]);
    std::thread::sleep(Duration::from_secs(3));
    let taps = format!("{}.taps", live.feed.name);
    Admin::new(&brokers).delete(&taps);
    assert_eq!(worker.wait(PATIENCE), Some(3), "{}", worker.said());
    assert_one_sentence(&worker.said(), &[&taps]);
}

#[test]
fn an_ingest_worker_waits_for_the_first_release_worker() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 100);
    feed.replay();
    let mut ingest = feed.worker("ingest", None);
    ingest.wait_for("waiting for a release worker to open the ledger", PATIENCE);
    let mut release = feed.worker("release", None);
    assert_eq!(release.wait(PATIENCE), Some(0), "{}", release.said());
    ingest.signal("INT");
    assert_eq!(ingest.wait(PATIENCE), Some(0), "{}", ingest.said());
    assert_eq!(feed.ledger()["spent_micro"], 7_000_000);
}

#[test]
fn a_broker_that_is_away_at_the_start_is_said_in_time() {
    let feed = Feed::history("127.0.0.1:1", 50);
    feed.edit("flush = \"1s\"", "flush = \"1s\"\nconnect_timeout = \"2s\"");
    let began = Instant::now();
    refuses(&feed, 3, &["no broker at 127.0.0.1:1 answered within 2 s", "Connection refused"]);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn a_worker_that_waits_for_a_broker_heeds_the_first_interrupt() {
    let feed = Feed::history("127.0.0.1:1", 50);
    let mut worker = feed.worker("all", None);
    worker.wait_for("waiting for a broker at 127.0.0.1:1", PATIENCE);
    let began = Instant::now();
    worker.signal("INT");
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

/// A window that the budget cannot pay for is withheld for good: a restart neither waits for it nor pays for it.
#[test]
fn windows_that_were_withheld_stay_withheld_after_a_restart() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 100);
    feed.edit("lifetime = \"100.0\"", "lifetime = \"3.0\"");
    feed.replay();
    for start in ["first", "second"] {
        let mut worker = feed.worker("all", None);
        assert_eq!(worker.wait(PATIENCE), Some(0), "{start}: {}", worker.said());
        let n = worker.said().matches("withheld ").count();
        assert_eq!(n, if start == "first" { 4 } else { 0 }, "{start}: {}", worker.said());
        assert_eq!(feed.ledger()["spent_micro"], 3_000_000, "{start}");
    }
}

#[test]
fn positions_that_somebody_deleted_after_a_release_are_the_operators_to_decide() {
    let Some(brokers) = bootstrap() else { return };
    let feed = released(&brokers);
    let before = feed.ledger();
    Admin::new(&brokers).delete_group(&format!("{}.release", feed.name));
    refuses(&feed, 2, &["no position is committed, but windows were released", "offsets expired"]);
    assert_eq!(feed.ledger(), before, "nothing was booked");
}
