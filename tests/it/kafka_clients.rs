//! Clients against a real broker: topics, sending, reading back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use tapveil::config;
use tapveil::ingest::Decoder;
use tapveil::kafka::topics::Role;
use tapveil::kafka::{self, Protocol, Received, Topics, topics};

use crate::broker::{bootstrap, unique};

/// How late a tap may come, in these tests.
const GRACE: Duration = Duration::from_secs(60);

pub(crate) fn settings(brokers: &str) -> kafka::Settings {
    let group = unique("clients");
    let name = |what: &str| format!("{group}.{what}");
    kafka::Settings {
        brokers: brokers.to_owned(),
        instance: None,
        protocol: Protocol::Classic,
        topics: Topics {
            taps: name("taps"),
            segments: name("segments"),
            ledger: name("ledger"),
            releases: name("releases"),
            rejects: name("rejects"),
        },
        connect_timeout: Duration::from_secs(30),
        flush: Duration::from_secs(60),
        properties: Vec::new(),
        stall_timeout: Duration::from_secs(300),
        accepts_unsigned: false,
        pass_segments: BTreeSet::new(),
        is_in_process: false,
        group,
    }
}

pub(crate) struct Admin {
    client: AdminClient<DefaultClientContext>,
    runtime: tokio::runtime::Runtime,
}

impl Admin {
    pub(crate) fn new(brokers: &str) -> Self {
        let client = ClientConfig::new().set("bootstrap.servers", brokers).create().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { client, runtime }
    }

    pub(crate) fn create(&self, name: &str, partitions: i32, configuration: &[(&str, &str)]) {
        let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        self.make(topic, configuration);
    }

    /// One partition, in so many copies.
    pub(crate) fn create_copied(&self, name: &str, n: i32, configuration: &[(&str, &str)]) {
        self.make(NewTopic::new(name, 1, TopicReplication::Fixed(n)), configuration);
    }

    fn make<'a>(&self, topic: NewTopic<'a>, configuration: &[(&'a str, &'a str)]) {
        let topic = configuration.iter().fold(topic, |topic, (k, v)| topic.set(k, v));
        let made = self.client.create_topics([&topic], &AdminOptions::new());
        self.runtime.block_on(made).unwrap().remove(0).unwrap();
    }

    fn setting(&self, topic: &str, name: &str) -> String {
        let resources = [ResourceSpecifier::Topic(topic)];
        let described = self.client.describe_configs(&resources, &AdminOptions::new());
        let resource = self.runtime.block_on(described).unwrap().remove(0).unwrap();
        resource.get(name).unwrap().value.clone().unwrap()
    }

    fn partitions(&self, topic: &str) -> usize {
        let metadata =
            self.client.inner().fetch_metadata(Some(topic), Duration::from_secs(10)).unwrap();
        metadata.topics()[0].partitions().len()
    }
}

#[test]
fn missing_topics_are_made_with_the_settings_they_need() {
    let Some(brokers) = bootstrap() else { return };
    let settings = settings(&brokers);
    assert!(kafka::connect(&settings, &mut |_| {}, &|| false).unwrap());
    let warnings = topics::ensure(&settings, Some(GRACE), Role::All).unwrap();
    assert!(
        warnings.iter().any(|warning| warning.to_string().contains("only one copy")),
        "{warnings:?}"
    );
    let admin = Admin::new(&brokers);
    let names = &settings.topics;
    assert_eq!(admin.setting(&names.taps, "message.timestamp.type"), "LogAppendTime");
    assert_eq!(admin.partitions(&names.taps), 4);
    for name in [&names.segments, &names.ledger, &names.releases] {
        assert_eq!(admin.setting(name, "retention.ms"), "-1", "{name}");
        assert_eq!(admin.setting(name, "cleanup.policy"), "delete", "{name}");
        assert_eq!(admin.partitions(name), 1, "{name}");
    }
    assert_eq!(admin.setting(&names.ledger, "retention.bytes"), "-1");
    topics::ensure(&settings, Some(GRACE), Role::All).unwrap();
}

#[test]
fn wrong_topics_are_refused_with_the_command_that_mends_them() {
    let Some(brokers) = bootstrap() else { return };
    let settings = settings(&brokers);
    let admin = Admin::new(&brokers);
    let names = &settings.topics;
    admin.create(&names.taps, 2, &[("retention.ms", "1000"), ("cleanup.policy", "compact,delete")]);
    admin.create(&names.segments, 2, &[("retention.ms", "3600000")]);
    admin.create(&names.ledger, 1, &[("cleanup.policy", "compact"), ("retention.ms", "-1")]);
    let error = topics::ensure(&settings, Some(GRACE), Role::All).unwrap_err();
    assert_eq!(error.kind(), tapveil::model::ErrorKind::Config);
    let text = error.to_string();
    for expected in [
        "kafka-configs.sh --bootstrap-server",
        "--add-config message.timestamp.type=LogAppendTime",
        "compaction would erase a payment",
        "has 2 partitions but must have 1",
        "forgets old records (retention.ms=3600000",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    // Who closes windows by watermark needs no arrival, and is warned about the rest.
    let other = kafka::Settings {
        topics: Topics { segments: unique("s"), ledger: unique("l"), ..names.clone() },
        ..settings.clone()
    };
    let warnings = topics::ensure(&other, None, Role::All).unwrap();
    let text: String = warnings.iter().map(|warning| format!("{warning}\n")).collect();
    assert!(text.contains("is compacted"), "{text}");
    assert!(text.contains("keeps records for 1 s"), "{text}");
}

/// Taps that are kept for a flush alone are gone before a late one of the same window counts.
#[test]
fn a_topic_that_forgets_taps_before_grace_and_flush_have_passed_is_warned_about() {
    let Some(brokers) = bootstrap() else { return };
    let settings = kafka::Settings { flush: Duration::from_secs(30), ..settings(&brokers) };
    let admin = Admin::new(&brokers);
    let kept = [("message.timestamp.type", "LogAppendTime"), ("retention.ms", "80000")];
    admin.create(&settings.topics.taps, 1, &kept);
    let warnings = topics::ensure(&settings, Some(GRACE), Role::All).unwrap();
    let text: String = warnings.iter().map(|warning| format!("{warning}\n")).collect();
    assert!(text.contains("keeps records for 80 s, but 90 s may pass"), "{text}");
}

/// A feed with stations, secret and ledger, and Kafka in its configuration.
struct Feed {
    dir: tempfile::TempDir,
    config: PathBuf,
    topics: Topics,
}

fn feed(brokers: &str, format: &str) -> Feed {
    let dir = tempfile::tempdir().unwrap();
    let city = dir.path().join("city");
    let made =
        tapveil(&["generate", "--preset", "metro200k", "--cards", "1500", "--out", text(&city)]);
    assert!(made.status.success(), "{made:?}");
    let config = city.join("tapveil.toml");
    let topics = settings(brokers).topics;
    let mut toml = fs::read_to_string(&config)
        .unwrap()
        .replace("format = \"csv\"", &format!("format = \"{format}\""));
    toml.push_str(&format!(
        "\n[kafka]\nbrokers = \"{brokers}\"\nconnect_timeout = \"20s\"\n[kafka.topics]\ntaps = \"{}\"\nreleases = \"{}\"\n",
        topics.taps, topics.releases
    ));
    fs::write(&config, toml).unwrap();
    Feed { dir, config, topics }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn tapveil(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tapveil")).args(arguments).output().unwrap()
}

fn read_back(kafka: &kafka::Settings, topic: &str) -> Vec<Received> {
    let mut all = Vec::new();
    kafka::read_committed(kafka, topic, "none", Duration::from_secs(20), &mut |one| all.push(one))
        .unwrap();
    all
}

#[test]
fn a_replayed_file_arrives_to_the_last_tap() {
    let Some(brokers) = bootstrap() else { return };
    for format in ["json", "csv"] {
        let feed = feed(&brokers, format);
        let taps = feed.dir.path().join("city/taps.csv");
        let lines: Vec<String> =
            fs::read_to_string(&taps).unwrap().lines().skip(1).map(str::to_owned).collect();
        assert!(lines.len() > 5_000, "{}", lines.len());
        let played = tapveil(&[
            "replay",
            "--taps",
            text(&taps),
            "-c",
            text(&feed.config),
            "--producers",
            "2",
        ]);
        assert!(played.status.success(), "{played:?}");
        let settings = config::load(&feed.config).unwrap();
        let received = read_back(settings.kafka.as_ref().unwrap(), &feed.topics.taps);
        let mut found: Vec<String> = received
            .iter()
            .map(|one| String::from_utf8(one.payload.clone().unwrap()).unwrap())
            .collect();
        let mut expected = lines;
        if format == "json" {
            for line in &mut expected {
                let [card, station, time] = line.split(',').collect::<Vec<_>>()[..] else {
                    panic!()
                };
                *line = format!(
                    "{{\"card\":\"{card}\",\"station\":\"{station}\",\"time\":\"{time}\"}}"
                );
            }
        }
        found.sort();
        expected.sort();
        assert!(found == expected, "{} of {} taps came back", found.len(), expected.len());
        let mut decoder = Decoder::new(settings.ingest());
        assert!(found.iter().all(|record| decoder.decode(record.as_bytes()).is_ok()));
    }
}

/// Holds W-3.
#[test]
fn disorder_duplicates_and_keys_lose_nothing() {
    let Some(brokers) = bootstrap() else { return };
    let feed = feed(&brokers, "json");
    let taps = feed.dir.path().join("city/taps.csv");
    let played = tapveil(&[
        "replay",
        "--taps",
        text(&taps),
        "-c",
        text(&feed.config),
        "--disorder",
        "600",
        "--duplicates",
        "0.1",
        "--keyed",
        "--seed",
        "3",
    ]);
    assert!(played.status.success(), "{played:?}");
    let n_taps = fs::read_to_string(&taps).unwrap().lines().count() - 1;
    let settings = config::load(&feed.config).unwrap();
    let received = read_back(settings.kafka.as_ref().unwrap(), &feed.topics.taps);
    let payloads: std::collections::BTreeSet<_> =
        received.iter().map(|one| one.payload.clone().unwrap()).collect();
    assert_eq!(payloads.len(), n_taps);
    let doubles = received.len() - n_taps;
    assert!((n_taps / 20..n_taps / 5).contains(&doubles), "{doubles} of {n_taps}");
    assert!(received.iter().all(|one| one.key.starts_with(b"c")));
    let mut partition_of = std::collections::BTreeMap::new();
    for one in &received {
        assert_eq!(*partition_of.entry(&one.key).or_insert(one.partition), one.partition);
    }
}

#[test]
fn a_live_feed_has_taps_of_now_that_decode() {
    let Some(brokers) = bootstrap() else { return };
    let feed = feed(&brokers, "json");
    let made = tapveil(&[
        "generate",
        "--preset",
        "metro",
        "--cards",
        "50",
        "--topic",
        "-c",
        text(&feed.config),
        "--for",
        "2s",
        "--rate",
        "500",
        "--late",
        "0.1",
        "--late-by",
        "7200",
    ]);
    assert!(made.status.success(), "{made:?}");
    let settings = config::load(&feed.config).unwrap();
    let received = read_back(settings.kafka.as_ref().unwrap(), &feed.topics.taps);
    assert!((700..1_400).contains(&received.len()), "{}", received.len());
    let mut decoder = Decoder::new(settings.ingest());
    let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap();
    let mut n_late = 0;
    for one in &received {
        let decoded = decoder.decode(one.payload.as_deref().unwrap()).unwrap_or_else(|reason| {
            panic!("{reason:?}: {}", String::from_utf8_lossy(one.payload.as_deref().unwrap()))
        });
        let age = now - decoded.event.as_second();
        assert!((-2..7_300).contains(&age), "{age}");
        n_late += usize::from(age > 3_600);
    }
    assert!((received.len() / 20..received.len() / 5).contains(&n_late), "{n_late}");
}

#[test]
fn an_export_names_what_is_not_a_release() {
    let Some(brokers) = bootstrap() else { return };
    let feed = feed(&brokers, "json");
    Admin::new(&brokers).create(&feed.topics.releases, 1, &[]);
    let out = feed.dir.path().join("out");
    let export = || tapveil(&["export", "-c", text(&feed.config), "--out", text(&out)]);
    let empty = export();
    assert_eq!(empty.status.code(), Some(0), "{empty:?}");
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", &brokers).create().unwrap();
    let send = |key: &str, kind: &str, payload: &str| {
        let header = Header { key: "tapveil-kind", value: Some(kind) };
        let record = BaseRecord::to(&feed.topics.releases).key(key).payload(payload);
        let headers = OwnedHeaders::new().insert(header);
        producer.send(record.headers(headers)).map_err(|(error, _)| error).unwrap();
    };
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/release/v2/lk");
    let package = package.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let package = package.filter(|path| path.is_dir()).min().unwrap().join("datapackage.json");
    let manifest = fs::read_to_string(package).unwrap();
    let json: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let id = json["privacy"]["release_id"].as_str().unwrap();
    send("20260105T0400_20260106T0400-abc", "manifest", "{}");
    send("20260105T0400_20260106T0400-abc", "end", "{}");
    send("20260105T0400_20260106T0400-abd", "manifest", &manifest);
    send("20260105T0400_20260106T0400-abe", "paths", "");
    send("a\nb\u{1b}[2J/../c-1", "manifest", "{}");
    send(id, "from-the-future", "?");
    send(id, "manifest", &manifest);
    producer.flush(Duration::from_secs(10)).unwrap();
    let bad = export();
    assert_eq!(bad.status.code(), Some(1), "{bad:?}");
    let said = String::from_utf8_lossy(&bad.stdout).into_owned();
    let lines = [
        "BAD   20260105T0400_20260106T0400-abc: its manifest is no manifest: ",
        &format!("BAD   20260105T0400_20260106T0400-abd: its manifest is that of {id}"),
        "BAD   20260105T0400_20260106T0400-abe: it does not begin with its manifest",
        "BAD   the record at 0:4: its key \"a\\nb\\u{1b}[2J/../c-1\" is not the id of a release",
        &format!("BAD   {id}: it is incomplete: its end is missing"),
        "5 releases from the topic",
        "1 records are of a kind that this program does not know",
    ];
    assert_eq!(said.lines().count(), lines.len(), "{said}");
    for (line, wanted) in said.lines().zip(lines) {
        assert!(line.starts_with(wanted), "{wanted}\n{said}");
    }
    assert!(!out.exists(), "nothing was written");
}

#[test]
fn a_wrong_address_is_said_in_time() {
    let feed = feed("127.0.0.1:1", "json");
    let toml = fs::read_to_string(&feed.config).unwrap().replace("\"20s\"", "\"2s\"");
    fs::write(&feed.config, toml).unwrap();
    let taps = feed.dir.path().join("city/taps.csv");
    let began = Instant::now();
    let played = tapveil(&["replay", "--taps", text(&taps), "-c", text(&feed.config)]);
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!(played.status.code(), Some(3), "{played:?}");
    let said = String::from_utf8_lossy(&played.stderr).into_owned();
    assert!(said.contains("no broker at 127.0.0.1:1 answered within 2 s"), "{said}");
    assert!(said.contains("Connection refused"), "{said}");
}

#[test]
fn check_shows_kafka_without_its_secrets_and_commands_ask_for_brokers() {
    let feed = feed("127.0.0.1:1", "json");
    let mut toml = fs::read_to_string(&feed.config).unwrap();
    toml.push_str("[kafka.properties]\n\"sasl.password\" = \"hunter2\"\n");
    fs::write(&feed.config, &toml).unwrap();
    let plain = tapveil(&["check", "-c", text(&feed.config)]);
    let json = tapveil(&["check", "--json", "-c", text(&feed.config)]);
    for shown in [plain, json] {
        assert!(shown.status.success(), "{shown:?}");
        let said = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(said.contains("127.0.0.1:1") && said.contains("***"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    fs::write(&feed.config, toml.replace("brokers = ", "# brokers = ")).unwrap();
    let asked = tapveil(&["export", "-c", text(&feed.config), "--out", "nowhere"]);
    assert_eq!(asked.status.code(), Some(2));
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(said.contains("kafka.brokers: is required for this command"), "{said}");
}
