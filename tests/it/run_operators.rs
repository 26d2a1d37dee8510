//! What operators see of a service on a real broker: rejects above the limit, and the ledger on a worker that stands
//! by.

use std::fs;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::broker::bootstrap;
use crate::history::{PATIENCE, wait_for_members};
use crate::service::{Feed, Worker};
use crate::web::{ask, get};

/// Where a worker's console is.
pub(crate) fn console(worker: &mut Worker) -> String {
    worker.wait_for("console at http://", PATIENCE);
    let said = worker.said();
    let (_, rest) = said.split_once("console at http://").unwrap();
    rest.split_once('/').unwrap().0.to_owned()
}

#[test]
fn too_many_unusable_records_are_in_the_log_and_on_the_overview() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 500);
    let token = "sixteen-letters-or-more";
    fs::write(feed.path("city/token"), token).unwrap();
    feed.edit("listen = \"127.0.0.1:0\"", "listen = \"127.0.0.1:0\"\ntoken_file = \"token\"");
    feed.replay();
    let mut worker = feed.worker("ingest", None);
    let address = console(&mut worker);
    let shown_to_operators = |page: &str| {
        let request = format!(
            "GET {page} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        ask(&address, &request).text()
    };
    let before = shown_to_operators("/");
    assert!(!before.contains("cannot be used"), "{before}");
    send_garbage(&feed, 5_000);
    // Ingest begins when the ledger is open.
    let _release = feed.worker("release", None);
    let warning =
        "more than 10% of the records (feed.max_rejects) cannot be used, most of them because";
    worker.wait_for(warning, PATIENCE);
    for page in ["/", "/windows"] {
        let text = shown_to_operators(page);
        assert!(text.contains(warning), "{page}: {text}");
    }
    let public = get(&address, "/");
    assert!(public.status == 200 && !public.text().contains("cannot be used"), "not for everybody");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(worker.said().matches(warning).count(), 1, "once in ten minutes");
}

fn send_garbage(feed: &Feed, n: u32) {
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", feed.brokers()).create().unwrap();
    let topic = format!("{}.taps", feed.name);
    for _ in 0..n {
        let record = BaseRecord::<(), str>::to(&topic).payload("this is no tap of card 4711");
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(Duration::from_secs(10)).unwrap();
}

#[test]
fn a_worker_that_stands_by_shows_what_the_active_one_spends() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 500);
    let mut workers = [feed.worker("release", None), feed.worker("release", None)];
    wait_for_members(&feed, &format!("{}.release", feed.name), 2, &[]);
    let addresses: Vec<String> = workers.iter_mut().map(console).collect();
    let last = replay_half(&feed);
    let ingest = feed.worker("ingest", None);
    let began = Instant::now();
    loop {
        let shown: Vec<u64> = addresses.iter().map(|address| spent(address)).collect();
        // Half a week is a few windows. The range is not over, and both workers stay, while records come.
        send_again(&feed, &last);
        if shown[0] >= 2_000_000 && shown[0] == shown[1] {
            break;
        }
        let said =
            || workers.iter().chain([&ingest]).map(Worker::said).collect::<Vec<_>>().join("\n");
        assert!(began.elapsed() < PATIENCE, "the consoles say {shown:?}\n{}", said());
        std::thread::sleep(Duration::from_millis(500));
    }
    let is_standing = |worker: &Worker| !worker.said().contains("released ");
    assert_eq!(workers.iter().filter(|worker| is_standing(worker)).count(), 1, "one stood by");
}

fn spent(address: &str) -> u64 {
    get(address, "/api/v1/budget").json()["spent_micro"].as_u64().unwrap()
}

/// Sends a tap to every partition: none of them rests, and none is behind.
fn send_again(feed: &Feed, tap: &str) {
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", feed.brokers()).create().unwrap();
    let topic = format!("{}.taps", feed.name);
    let metadata = producer.client().fetch_metadata(Some(&topic), Duration::from_secs(10)).unwrap();
    for partition in metadata.topics()[0].partitions() {
        let record = BaseRecord::<(), str>::to(&topic).partition(partition.id()).payload(tap);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(Duration::from_secs(10)).unwrap();
}

/// Plays the first half of the city's taps, by time; gives the last of them.
fn replay_half(feed: &Feed) -> String {
    let text = fs::read_to_string(feed.taps()).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let at = head.split(',').position(|name| name == "time").unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_by_key(|row| row.split(',').nth(at).unwrap());
    rows.truncate(rows.len() / 2);
    let half = feed.path("half.csv");
    fs::write(&half, format!("{head}\n{}\n", rows.join("\n"))).unwrap();
    feed.command(["replay", "--by-time", "--taps", half.to_str().unwrap()]).code(0);
    rows.last().unwrap().to_string()
}
