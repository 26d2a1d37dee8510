//! A live feed on a real broker: short windows closed by arrival, taps with times of now, and a second opinion on
//! which of them count.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tapveil::clock::{Clock, SystemClock};
use tapveil::config;
use tapveil::model::{Calendar, Window, WindowId};

use crate::service::{Feed, Worker, batches};
use crate::support::run;

pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
const MAX_AHEAD: SignedDuration = SignedDuration::from_secs(300);
/// The first window's deadline comes so long after a feed was made.
const LEAD: SignedDuration = SignedDuration::from_secs(25);
/// The clock margin and a little more: when this has passed after a deadline, the window can be complete.
const SETTLES: Duration = Duration::from_secs(4);

/// A feed of now, with what was sent into it.
pub(crate) struct Live {
    pub(crate) feed: Feed,
    pub(crate) brokers: String,
    calendar: Calendar,
    grace: SignedDuration,
    producer: BaseProducer,
    stations: Vec<String>,
}

/// A record as it stands in the topic.
pub(crate) struct Record {
    pub(crate) place: (i32, i64),
    pub(crate) arrived: Timestamp,
    pub(crate) payload: Vec<u8>,
}

/// What stands on the topic of rejects: places one by one, and, where there were many, sums.
#[derive(Default)]
pub(crate) struct Rejects {
    pub(crate) alone: BTreeMap<(i32, i64), String>,
    sums: Vec<Sum>,
}

#[derive(Debug)]
struct Sum {
    partition: i32,
    offsets: RangeInclusive<i64>,
    reason: String,
    /// How many records it counts that were not struck off yet.
    n: u64,
}

impl Rejects {
    /// Strikes off a record that does not count for this reason: it stands there alone, or in a sum.
    #[track_caller]
    fn strike(&mut self, place: (i32, i64), reason: &str) {
        let is_it = |found: &str| reason == "garbage" || found == reason;
        if let Some(found) = self.alone.get(&place) {
            assert!(is_it(found), "{place:?} is {reason}, not {found}");
            return;
        }
        let holds = |sum: &&mut Sum| {
            sum.n > 0
                && sum.partition == place.0
                && sum.offsets.contains(&place.1)
                && is_it(&sum.reason)
        };
        let sum = self.sums.iter_mut().find(holds);
        sum.unwrap_or_else(|| panic!("{place:?} is {reason}, and no reject")).n -= 1;
    }
}

impl Live {
    /// Windows of a minute, from the last whole one on. The grace is chosen so that this first one closes soon.
    pub(crate) fn new(brokers: &str) -> Self {
        let now = now().as_second();
        let end = Timestamp::from_second(now - now % 60).unwrap();
        let grace = SignedDuration::from_secs(now % 60) + LEAD;
        Self::from(brokers, end - SignedDuration::from_secs(60), grace, 1)
    }

    /// Windows of a minute from a moment on, which close by arrival.
    pub(crate) fn from(
        brokers: &str,
        from: Timestamp,
        grace: SignedDuration,
        clock_margin: i64,
    ) -> Self {
        let feed = Feed::history(brokers, 20);
        let from = from.strftime("%Y-%m-%dT%H:%M");
        for (from, to) in [
            ("length = \"1d\"\nclose = \"watermark\"", "length = \"1m\"\nclose = \"arrival\""),
            ("slot = \"1h\"", "slot = \"10s\""),
            ("time_zone = \"America/Toronto\"", "time_zone = \"UTC\""),
            ("to = \"2015-11-16\"\n", ""),
            ("times = { fanout = 2, height = 3 }", "times = { fanout = 2, height = 2 }"),
        ] {
            feed.edit(from, to);
        }
        feed.edit("from = \"2015-11-09\"", &format!("from = \"{from}\""));
        let times = format!(
            "day_start = \"00:00\"\ngrace = \"{}s\"\nclock_margin = \"{clock_margin}s\"",
            grace.as_secs()
        );
        feed.edit("day_start = \"04:00\"", &times);
        let stations = fs::read_to_string(feed.path("city/stations.csv")).unwrap();
        let stations =
            stations.lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned());
        let calendar = config::load(&feed.config()).unwrap().calendar.clone();
        let producer = ClientConfig::new()
            .set("bootstrap.servers", brokers)
            .set("message.max.bytes", "2000000")
            .set("enable.idempotence", "true")
            .create()
            .unwrap();
        let stations = stations.collect();
        Self { feed, brokers: brokers.to_owned(), calendar, grace, producer, stations }
    }

    /// When a window is due: its taps can come no more.
    pub(crate) fn deadline(&self, window: &Window) -> Timestamp {
        window.end() + self.grace
    }

    /// A feed with topics of its own and everything else the same: windows, stations, secret.
    pub(crate) fn twin(&self) -> Self {
        let feed = Feed::history(&self.brokers, 20);
        for name in ["stations.csv", "tapveil.secret", "tapveil.ledger"] {
            let name = format!("city/{name}");
            fs::copy(self.feed.path(&name), feed.path(&name)).unwrap();
        }
        let text = fs::read_to_string(self.feed.config()).unwrap();
        fs::write(feed.config(), text.replace(&self.feed.name, &feed.name)).unwrap();
        let producer =
            ClientConfig::new().set("bootstrap.servers", &self.brokers).create().unwrap();
        let (brokers, calendar) = (self.brokers.clone(), self.calendar.clone());
        Self {
            feed,
            brokers,
            calendar,
            grace: self.grace,
            producer,
            stations: self.stations.clone(),
        }
    }

    /// Starts a worker that plays both roles and waits until the ledger is open; gives the first window.
    pub(crate) fn open(&self) -> (Worker, Window) {
        let mut worker = self.feed.worker("all", None);
        worker.wait_for("active: releasing windows", PATIENCE);
        let first = self.first_window().expect("an active worker has opened it");
        (worker, first)
    }

    /// The first window, once the ledger says it.
    pub(crate) fn first_window(&self) -> Option<Window> {
        let settings = config::load(&self.feed.config()).unwrap();
        let book = tapveil::pipeline::run::topic_book(&settings, settings.kafka.as_ref().unwrap());
        let first = book.ok()?.first_window()?;
        Some(self.window(first, 0))
    }

    /// So many windows after one.
    pub(crate) fn window(&self, from: WindowId, later: i64) -> Window {
        self.calendar.window(WindowId::new(from.number() + later)).unwrap()
    }

    /// A tap as the feed writes it.
    pub(crate) fn tap(&self, card: &str, station: usize, at: Timestamp) -> String {
        format!("{card},{},{at:.3}", self.stations[station % self.stations.len()])
    }

    /// A few cards that travel in a window, in no order and some of them twice, over these partitions.
    pub(crate) fn crowd(&self, name: &str, window: &Window, partitions: &[i32]) {
        for i in 0..30_i64 {
            // Seven and thirty have no common factor: every card once, far from the one before.
            let card = i * 7 % 30;
            let at = window.start() + SignedDuration::from_millis(card * 1_900);
            let tap = self.tap(&format!("{name}-{}", card / 2), card as usize, at);
            let partition = partitions[i as usize % partitions.len()];
            self.send(partition, tap.as_bytes());
            if card % 5 == 0 {
                self.send(partitions[0], tap.as_bytes());
            }
        }
        self.flush();
    }

    pub(crate) fn send(&self, partition: i32, payload: &[u8]) {
        let topic = format!("{}.taps", self.feed.name);
        let record = BaseRecord::<(), [u8]>::to(&topic).partition(partition).payload(payload);
        self.producer.send(record).map_err(|(error, _)| error).unwrap();
    }

    /// Takes note of what the brokers answered.
    pub(crate) fn serve(&self) {
        self.producer.poll(Duration::ZERO);
    }

    pub(crate) fn flush(&self) {
        self.producer.flush(Duration::from_secs(60)).unwrap();
    }

    /// Every committed record of a topic of this feed.
    pub(crate) fn records(&self, topic: &str) -> Vec<Record> {
        let topic = format!("{}.{topic}", self.feed.name);
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", &self.brokers)
            .set("group.id", "tests")
            .set("enable.partition.eof", "true")
            .create()
            .unwrap();
        let metadata = consumer.fetch_metadata(Some(&topic), Duration::from_secs(20)).unwrap();
        let mut open = metadata.topics()[0].partitions().len();
        let mut all = TopicPartitionList::new();
        for partition in 0..open {
            let partition = i32::try_from(partition).unwrap();
            all.add_partition_offset(&topic, partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&all).unwrap();
        let mut found = Vec::new();
        while open > 0 {
            match consumer.poll(Duration::from_secs(20)).expect("the broker answers") {
                Ok(message) => found.push(Record {
                    place: (message.partition(), message.offset()),
                    arrived: Timestamp::from_millisecond(message.timestamp().to_millis().unwrap())
                        .unwrap(),
                    payload: message.payload().unwrap_or_default().to_vec(),
                }),
                Err(rdkafka::error::KafkaError::PartitionEOF(_)) => open -= 1,
                Err(error) => panic!("{error}"),
            }
        }
        found
    }

    /// What stands on the topic of rejects.
    pub(crate) fn rejects(&self) -> Rejects {
        let (mut rejects, mut at) = (Rejects::default(), BTreeMap::new());
        for record in self.records("rejects") {
            let value: serde_json::Value = serde_json::from_slice(&record.payload).unwrap();
            let mut members: Vec<&str> =
                value.as_object().unwrap().keys().map(String::as_str).collect();
            members.sort_unstable();
            let partition = i32::try_from(value["partition"].as_i64().unwrap()).unwrap();
            let first = value["offset"].as_i64().unwrap();
            let reason = value["reason"].as_str().unwrap().to_owned();
            if members == ["count", "last_offset", "offset", "partition", "reason", "topic"] {
                let last = value["last_offset"].as_i64().unwrap();
                let n = value["count"].as_u64().unwrap();
                rejects.sums.push(Sum { partition, offsets: first..=last, reason, n });
                continue;
            }
            assert_eq!(members, ["offset", "partition", "reason", "topic"], "no payload");
            let (place, noted) = ((partition, first), (record.place, record.arrived));
            let twice = at.insert(place, noted);
            assert_eq!(twice, None, "each reject is noted once, {place:?} again at {noted:?}");
            rejects.alone.insert(place, reason);
        }
        rejects
    }

    /// What the rule says about every record: the line of a tap that counts, or the reason why it does not. Judged
    /// here a second time, from the broker's stamps alone.
    pub(crate) fn judged(&self, first: WindowId) -> BTreeMap<(i32, i64), Result<String, String>> {
        let judge = |record: &Record| {
            let text = std::str::from_utf8(&record.payload).ok()?;
            let [_, station, time] = text.split(',').collect::<Vec<_>>()[..] else { return None };
            let event: Timestamp = time.parse().ok()?;
            let window = self.calendar.window_at(event)?;
            let reason = if !self.stations.iter().any(|known| known == station) {
                "unknown_station"
            } else if window.id() < first {
                "outside_range"
            } else if event.duration_since(record.arrived) > MAX_AHEAD {
                "too_far_ahead"
            } else if record.arrived.duration_since(window.end()) > self.grace {
                "late"
            } else {
                return Some(Ok(text.to_owned()));
            };
            Some(Err(reason.to_owned()))
        };
        let all = self.records("taps").into_iter();
        all.map(|record| (record.place, judge(&record).unwrap_or(Err("garbage".to_owned()))))
            .collect()
    }

    /// Waits until the worker has released a window.
    #[track_caller]
    pub(crate) fn released(&self, worker: &mut Worker, window: &Window) {
        worker.wait_for(&format!("released {window}:"), PATIENCE);
    }

    /// Insists that the windows from the first to the last hold the taps that count and no others, and that all
    /// other records are rejects with the right reason.
    #[track_caller]
    pub(crate) fn assert_windows(&self, first: &Window, last: &Window) {
        let judged = self.judged(first.id());
        let mut rejects = self.rejects();
        let mut csv = String::from("card,station,time\n");
        for (place, verdict) in &judged {
            match verdict {
                Ok(line) => {
                    assert_eq!(rejects.alone.get(place), None, "{line} counts");
                    csv.push_str(line);
                    csv.push('\n');
                }
                Err(reason) => rejects.strike(*place, reason),
            }
        }
        let left: Vec<&Sum> = rejects.sums.iter().filter(|sum| sum.n > 0).collect();
        assert!(left.is_empty(), "sums count what is no reject: {left:?}");
        let expected = self.sanitized(&csv, first, last);
        let mut found = batches(&self.feed.ledger());
        found.retain(|(window, _)| *window <= last.id().number());
        assert_eq!(found, expected, "the same taps reached the engine");
    }

    /// The batches that `sanitize` books for these taps, with a new ledger and the same secret.
    pub(crate) fn sanitized(&self, csv: &str, first: &Window, last: &Window) -> Vec<(i64, String)> {
        let taps = self.feed.path("in-time.csv");
        fs::write(&taps, csv).unwrap();
        let other = self.feed.apart(&crate::broker::unique("apart"));
        let local = |at: Timestamp| at.strftime("%Y-%m-%dT%H:%M:%S").to_string();
        let (from, to) = (local(first.start()), local(last.end()));
        let out = self.feed.path(&crate::broker::unique("expected"));
        let (taps, config) = (taps.to_str().unwrap(), other.to_str().unwrap());
        let out = out.to_str().unwrap();
        run(["sanitize", "--taps", taps, "-c", config, "--out", out, "--from", &from, "--to", &to])
            .code(0);
        batches(&run(["ledger", "show", "--json", "-c", config]).code(0).json())
    }

    /// Makes the topic of the taps larger.
    pub(crate) fn grow(&self, partitions: usize) {
        let admin: AdminClient<DefaultClientContext> =
            ClientConfig::new().set("bootstrap.servers", &self.brokers).create().unwrap();
        let topic = format!("{}.taps", self.feed.name);
        let new = NewPartitions::new(&topic, partitions);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let done = runtime.block_on(admin.create_partitions([&new], &AdminOptions::new()));
        done.unwrap().remove(0).unwrap();
        let began = Instant::now();
        let is_known = || {
            let metadata = self.producer.client().fetch_metadata(Some(&topic), PATIENCE).unwrap();
            let found = metadata.topics()[0].partitions();
            found.len() == partitions && found.iter().all(|one| one.leader() >= 0)
        };
        while !is_known() {
            assert!(began.elapsed() < PATIENCE, "the new partition never appeared");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Sleeps until so long before or after this window's deadline.
    pub(crate) fn sleep_until(&self, window: &Window, secs: i64) {
        let moment = window.end() + self.grace + SignedDuration::from_secs(secs);
        let wait = moment.duration_since(now());
        if let Ok(wait) = Duration::try_from(wait) {
            std::thread::sleep(wait);
        }
    }

    /// Sleeps until a tap of this window is late.
    pub(crate) fn sleep_past_deadline(&self, window: &Window) {
        self.sleep_until(window, 0);
        std::thread::sleep(Duration::from_millis(50));
    }

    /// Sleeps until nothing but a record that is held back can hold this window back.
    pub(crate) fn sleep_until_settled(&self, window: &Window) {
        self.sleep_until(window, 0);
        std::thread::sleep(SETTLES);
    }
}

/// What time it is.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}
