//! A week that is read from its beginning, and what must hold of it however often the service died on the way.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Headers, Message};
use rdkafka::{Offset, TopicPartitionList};

use crate::service::{Feed, Worker, assert_same_paths, batches};

/// Long enough for a rebalance that waits for a dead member, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// A week in the order of its taps, on the topic already. A worker that died is missed after six seconds, the least
/// that a broker allows.
pub(crate) fn week(brokers: &str, cards: u32) -> Feed {
    let feed = Feed::history(brokers, cards);
    sort_by_time(&feed);
    feed.append("[kafka.properties]\n\"session.timeout.ms\" = \"6000\"\n");
    feed.replay();
    feed
}

/// A fixed instance: a worker that starts again ends what the one before left open.
pub(crate) fn name_the_instance(feed: &Feed) {
    feed.edit("flush = \"1s\"", "flush = \"1s\"\ninstance = \"one\"");
}

/// Generated files go card by card; a watermark wants them as they would have come.
pub(crate) fn sort_by_time(feed: &Feed) {
    let text = fs::read_to_string(feed.taps()).unwrap();
    let (header, body) = text.split_once('\n').unwrap();
    let mut lines: Vec<&str> = body.lines().collect();
    lines.sort_by_key(|line| line.rsplit(',').next());
    fs::write(feed.taps(), format!("{header}\n{}\n", lines.join("\n"))).unwrap();
}

/// Runs the service to the end of the week, and insists that nothing was lost, doubled or paid for twice.
#[track_caller]
pub(crate) fn finish_and_check(feed: &Feed) {
    let mut last = feed.worker("all", None);
    assert_eq!(last.wait(PATIENCE), Some(0), "{}", last.said());
    check_week(feed);
}

/// What must hold of a week that is through.
#[track_caller]
pub(crate) fn check_week(feed: &Feed) {
    check(feed, 7_000_000);
}

/// The same taps reached the engine as stand in the file, so much was paid, and recipients read one release of each
/// window.
#[track_caller]
pub(crate) fn check(feed: &Feed, spent_micro: u64) {
    let sanitized = feed.sanitized();
    let ledger = feed.ledger();
    assert_eq!(batches(&ledger), feed.sanitized_batches(), "the same batches reached the engine");
    assert_eq!(ledger["spent_micro"], spent_micro, "each window was paid for once");
    assert_same_paths(&feed.export(), &sanitized);
    assert_aborted_are_the_same(feed);
}

/// The parts of a release, in order: kind and payload.
type Parts = Vec<(Vec<u8>, Vec<u8>)>;

/// What a reader of aborted records sees is a part of what was committed, byte for byte: noise is drawn once. Gives how
/// many records were aborted.
#[track_caller]
pub(crate) fn assert_aborted_are_the_same(feed: &Feed) -> usize {
    let mut committed: BTreeMap<Vec<u8>, Parts> = BTreeMap::new();
    for (key, kind, payload) in release_records(feed, "read_committed") {
        committed.entry(key).or_default().push((kind, payload));
    }
    let mut next: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut n_seen = 0;
    for (key, kind, payload) in release_records(feed, "read_uncommitted") {
        let at = next.entry(key.clone()).or_default();
        if kind == b"manifest" {
            *at = 0;
        }
        let expected = committed.get(&key).and_then(|parts| parts.get(*at));
        assert!(expected == Some(&(kind, payload)), "an aborted release was another one");
        *at += 1;
        n_seen += 1;
    }
    n_seen - committed.values().map(Vec::len).sum::<usize>()
}

/// Recipients see so many windows, each once.
#[track_caller]
pub(crate) fn assert_released_once(feed: &Feed, n_windows: usize) {
    let records = release_records(feed, "read_committed");
    let manifests = records.iter().filter(|(_, kind, _)| kind == b"manifest");
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for (key, _, _) in manifests {
        *times.entry(String::from_utf8_lossy(key).into_owned()).or_default() += 1;
    }
    assert!(times.len() == n_windows && times.values().all(|&n| n == 1), "{times:#?}");
}

fn release_records(feed: &Feed, isolation: &str) -> Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", feed.brokers())
        .set("group.id", "nobody")
        .set("isolation.level", isolation)
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        .create()
        .unwrap();
    let mut all = TopicPartitionList::new();
    let topic = format!("{}.releases", feed.name);
    all.add_partition_offset(&topic, 0, Offset::Beginning).unwrap();
    consumer.assign(&all).unwrap();
    let mut found = Vec::new();
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < PATIENCE, "the releases do not end");
        match consumer.poll(Duration::from_millis(200)) {
            Some(Err(KafkaError::PartitionEOF(_))) => return found,
            Some(Err(error)) => panic!("{error}"),
            // What a worker writes to end what brokers forgot to end: it says nothing, and is never committed.
            Some(Ok(message)) if message.key() == Some(b"sweep") => {
                assert_ne!(isolation, "read_committed");
                assert_eq!(message.payload().unwrap_or_default(), b"");
            }
            Some(Ok(message)) => {
                let headers = message.headers().unwrap();
                let kind = headers.iter().find(|one| one.key == "tapveil-kind").unwrap();
                found.push((
                    message.key().unwrap().to_vec(),
                    kind.value.unwrap().to_vec(),
                    message.payload().unwrap().to_vec(),
                ));
            }
            None => {}
        }
    }
}

/// Waits until a group is settled on so many members, none of whom is one of these; gives their names.
#[track_caller]
pub(crate) fn wait_for_members(feed: &Feed, group: &str, n: usize, not: &[String]) -> Vec<String> {
    let client: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", feed.brokers()).create().unwrap();
    let began = Instant::now();
    loop {
        let list = client.fetch_group_list(Some(group), Duration::from_secs(10));
        if let Ok(list) = list
            && let Some(one) = list.groups().first()
        {
            let members: Vec<String> =
                one.members().iter().map(|member| member.id().to_owned()).collect();
            let is_new = members.iter().all(|member| !not.contains(member));
            if one.state() == "Stable" && members.len() == n && is_new {
                return members;
            }
        }
        assert!(began.elapsed() < PATIENCE, "{group} does not settle on {n} members");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until a process has been stopped by a signal.
#[track_caller]
pub(crate) fn wait_until_stopped(worker: &mut Worker) {
    let began = Instant::now();
    let status = format!("/proc/{}/status", worker.child.id());
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        if text.lines().any(|line| line.starts_with("State:") && line.contains('T')) {
            return;
        }
        let ended = worker.child.try_wait().unwrap();
        assert!(ended.is_none(), "it ended ({ended:?}); it said:\n{}", worker.said());
        assert!(began.elapsed() < PATIENCE, "it does not stop; it said:\n{}", worker.said());
        std::thread::sleep(Duration::from_millis(50));
    }
}
