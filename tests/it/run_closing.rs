//! Closing by arrival, on a real broker: each tap is judged alone, whoever sleeps, lags or lies.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::SignedDuration;
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::arrivals::{Live, PATIENCE, now};
use crate::broker::{bootstrap, unique};
use crate::service::{Feed, Worker, batches};

const ALL: [i32; 4] = [0, 1, 2, 3];

#[track_caller]
fn stop(mut worker: Worker) {
    worker.signal("INT");
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
}

#[test]
fn taps_after_the_deadline_are_late_and_nothing_bad_stops_the_feed() {
    let Some(brokers) = bootstrap() else { return };
    let live = Live::new(&brokers);
    let (mut worker, first) = live.open();
    live.crowd("early", &first, &ALL);
    let sent = now();
    let inside = first.start() + SignedDuration::from_secs(1);
    live.send(0, live.tap("ahead", 1, sent + SignedDuration::from_secs(900)).as_bytes());
    for garbage in [&b""[..], b"\xff\x00\xfe\x01", b"no tap at all", b"c,L1-01,", &[b'x'; 900_000]]
    {
        live.send(1, garbage);
    }
    let latin1: Vec<u8> = format!("J\u{fc}rg,L1-01,{inside}")
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    live.send(2, &latin1);
    live.send(2, format!("c,Nowhere,{inside}").as_bytes());
    for time in ["1970-01-01T00:00:00Z", "2100-01-01T00:00:00Z"] {
        live.send(3, format!("c,L1-01,{time}").as_bytes());
    }
    live.flush();
    live.sleep_past_deadline(&first);
    live.crowd("late", &first, &ALL);
    live.released(&mut worker, &first);
    stop(worker);
    live.assert_windows(&first, &first);
    let reasons: Vec<String> = live.rejects().alone.into_values().collect();
    for (reason, n) in [
        ("late", 36),
        ("too_far_ahead", 2),
        ("outside_range", 1),
        ("unknown_station", 1),
        ("empty", 1),
        ("too_long", 1),
        ("not_utf8", 2),
        ("missing_field", 2),
    ] {
        let found = reasons.iter().filter(|found| *found == reason).count();
        assert_eq!(found, n, "{reason}: {reasons:?}");
    }
}

#[test]
fn workers_that_slept_over_the_deadline_seal_the_same_window_and_a_silent_partition_holds_nothing()
{
    let Some(brokers) = bootstrap() else { return };
    let live = Live::new(&brokers);
    let (worker, first) = live.open();
    // Partition 3 stays empty.
    live.crowd("before", &first, &[0, 1]);
    stop(worker);
    live.crowd("while-away", &first, &[1, 2]);
    live.sleep_past_deadline(&first);
    live.crowd("late", &first, &[0, 1, 2]);
    live.sleep_until_settled(&first);
    let mut worker = live.feed.worker("all", None);
    live.released(&mut worker, &first);
    stop(worker);
    live.assert_windows(&first, &first);
}

/// The same taps into two feeds with one secret, one of them without a card: what the engine gets of all other cards
/// is the same, down to the tap, also around the deadline.
#[test]
fn a_card_that_is_taken_away_takes_its_own_trajectory_away_and_nothing_else() {
    let Some(brokers) = bootstrap() else { return };
    let whole = Live::new(&brokers);
    let without = whole.twin();
    let ((mut one, first), (mut other, same)) = (whole.open(), without.open());
    assert_eq!(first.id(), same.id());
    for live in [&whole, &without] {
        live.crowd("crowd", &first, &ALL);
    }
    // The card taps first, last, between the others and where nobody else does.
    for (second, station) in [(0, 0), (20, 3), (59, 8)] {
        let at = first.start() + SignedDuration::from_secs(second);
        whole.send(station % 4, whole.tap("gone", station as usize, at).as_bytes());
    }
    whole.flush();
    whole.sleep_past_deadline(&first);
    for live in [&whole, &without] {
        live.crowd("late", &first, &ALL);
    }
    whole.released(&mut one, &first);
    without.released(&mut other, &first);
    stop(one);
    stop(other);
    whole.assert_windows(&first, &first);
    let judged = whole.judged(first.id());
    let others: Vec<&str> = judged
        .values()
        .flatten()
        .map(String::as_str)
        .filter(|tap| !tap.starts_with("gone,"))
        .collect();
    assert_eq!(judged.values().flatten().count(), others.len() + 3, "the card's taps counted");
    let csv = format!("card,station,time\n{}\n", others.join("\n"));
    let expected = without.sanitized(&csv, &first, &first);
    let found = batches(&without.feed.ledger());
    assert_eq!(found[..1], expected, "all other trajectories, unchanged");
}

#[test]
fn a_partition_that_is_behind_holds_its_window() {
    let Some(brokers) = bootstrap() else { return };
    let live = Live::new(&brokers);
    // Longer than it is stopped: it stays a member, and its partitions its own.
    live.feed.append("[kafka.properties]\n\"session.timeout.ms\" = \"30000\"\n");
    let (mut worker, first) = live.open();
    // Two workers share the partitions; the one that is stopped has not read its part.
    let mut slow = live.feed.worker("ingest", None);
    live.sleep_until(&first, -3);
    slow.signal("STOP");
    live.crowd("behind", &first, &ALL);
    live.sleep_until(&first, 4);
    assert!(!worker.said().contains(&format!("released {first}:")), "{}", worker.said());
    slow.signal("CONT");
    live.released(&mut worker, &first);
    slow.signal("INT");
    slow.wait(PATIENCE);
    stop(worker);
    live.assert_windows(&first, &first);
}

/// By the worker's clock the deadline of its first window is long past, and its partitions are quiet.
#[test]
fn a_clock_ahead_of_the_brokers_ends_the_worker_and_finishes_no_window() {
    let Some(brokers) = bootstrap() else { return };
    let live = Live::new(&brokers);
    let (worker, first) = live.open();
    stop(worker);
    let wrong = Some(("TAPVEIL_CLOCK_AHEAD", "600"));
    let mut ahead = live.feed.worker_with("ingest", &live.feed.config(), wrong);
    assert_eq!(ahead.wait(PATIENCE), Some(3), "{}", ahead.said());
    let said = ahead.said();
    assert!(said.contains("s ahead of the brokers'") && said.contains("clock_margin"), "{said}");
    // Had it finished the window, these would come too late and be rejects.
    live.crowd("behind", &first, &ALL);
    let mut worker = live.feed.worker("all", None);
    live.released(&mut worker, &first);
    stop(worker);
    live.assert_windows(&first, &first);
}

#[test]
fn an_open_transaction_on_the_feed_holds_its_window_until_it_is_decided() {
    let Some(brokers) = bootstrap() else { return };
    let live = Live::new(&brokers);
    let (mut worker, first) = live.open();
    let topic = format!("{}.taps", live.feed.name);
    let begun = |partition: i32, card: &str| {
        let producer: BaseProducer = ClientConfig::new()
            .set("bootstrap.servers", &brokers)
            .set("transactional.id", unique("somebody"))
            .create()
            .unwrap();
        producer.init_transactions(PATIENCE).unwrap();
        producer.begin_transaction().unwrap();
        let tap = live.tap(card, 3, first.start());
        let record = BaseRecord::<(), str>::to(&topic).partition(partition).payload(&tap);
        producer.send(record).map_err(|(error, _)| error).unwrap();
        producer.flush(Duration::from_secs(20)).unwrap();
        producer
    };
    let (kept, dropped) = (begun(0, "kept"), begun(1, "dropped"));
    live.crowd("plain", &first, &ALL);
    live.sleep_until_settled(&first);
    let released = format!("released {first}:");
    assert!(!worker.said().contains(&released), "{}", worker.said());
    dropped.abort_transaction(PATIENCE).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert!(!worker.said().contains(&released), "{}", worker.said());
    kept.commit_transaction(PATIENCE).unwrap();
    live.released(&mut worker, &first);
    stop(worker);
    live.assert_windows(&first, &first);
    assert!(live.judged(first.id()).values().flatten().any(|line| line.starts_with("kept,")));
}

#[test]
fn a_partition_added_in_time_is_waited_for_and_one_added_later_is_not() {
    let Some(brokers) = bootstrap() else { return };
    let live = Live::new(&brokers);
    // Otherwise the group hears of new partitions every five minutes.
    live.feed.append("[kafka.properties]\n\"topic.metadata.refresh.interval.ms\" = \"1000\"\n");
    let (mut worker, first) = live.open();
    live.crowd("old", &first, &ALL);
    live.grow(5);
    live.crowd("new", &first, &[4]);
    live.released(&mut worker, &first);
    let second = live.window(first.id(), 1);
    live.crowd("later", &second, &[2, 4]);
    live.grow(6);
    live.released(&mut worker, &second);
    stop(worker);
    live.assert_windows(&first, &second);
}

#[test]
fn a_partition_added_between_deadline_and_sealing_holds_nothing_for_long() {
    let Some(brokers) = bootstrap() else { return };
    let live = Live::new(&brokers);
    live.feed.append("[kafka.properties]\n\"topic.metadata.refresh.interval.ms\" = \"1000\"\n");
    let (mut worker, first) = live.open();
    live.crowd("old", &first, &ALL);
    live.sleep_past_deadline(&first);
    // The others seal with five partitions in mind before the group hands the fifth to anybody.
    std::thread::sleep(Duration::from_millis(400));
    live.grow(5);
    live.crowd("late", &first, &[4]);
    live.released(&mut worker, &first);
    stop(worker);
    live.assert_windows(&first, &first);
}

#[test]
fn the_live_configuration_of_the_readme_is_good() {
    let feed = Feed::history("127.0.0.1:1", 20);
    let ready = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/live.toml");
    fs::copy(ready, feed.config()).unwrap();
    let checked = feed.command(["check"]).code(0);
    assert!(checked.out.contains("the configuration is good"), "{}", checked.out);
}
