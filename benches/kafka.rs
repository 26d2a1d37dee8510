//! Ingest against a raw consumer with the same settings on the same topic, as a ratio in one run.
//!
//! `deploy/kafka/local start`, then `TAPVEIL_TEST_BROKERS=… cargo bench --bench kafka [-- --seconds N]`: taps are
//! produced for so many seconds. `-- --backlog N` times a first start over so many old records instead.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops where it cannot go on"
)]

#[path = "kafka/backlog.rs"]
mod backlog;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use tapveil::clock::{Clock, SystemClock};

fn main() {
    let Ok(brokers) = std::env::var("TAPVEIL_TEST_BROKERS") else {
        println!(
            "needs a broker: deploy/kafka/local start, then TAPVEIL_TEST_BROKERS=<bootstrap> cargo bench --bench kafka"
        );
        return;
    };
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        Some(arguments[at + 1].parse::<u64>().expect("it takes a number"))
    };
    match number("--backlog") {
        Some(n_old) => backlog::measure(&brokers, n_old),
        None => beside_a_raw_consumer(&brokers, number("--seconds").unwrap_or(8)),
    }
}

fn beside_a_raw_consumer(brokers: &str, seconds: u64) {
    let dir = tempfile::tempdir().unwrap();
    let (config, listen) = feed(dir.path(), brokers, Length::Month);
    let (busy_config, busy_listen) = twin(dir.path());
    let n_taps = produce(&config, seconds);
    let settings = tapveil::config::load(Path::new(&config)).unwrap();
    let kafka = settings.kafka.as_ref().unwrap();
    let raw = raw_rate(kafka, n_taps);
    println!("{n_taps} taps of about 100 bytes in 4 partitions, broker on the same machine");
    println!("raw consumer, same settings     {raw:>10.0} records a second");
    let mut service = Service::start(&config);
    let ingest = ingest_rate(listen, n_taps);
    println!(
        "ingest, to committed segments    {ingest:>10.0} taps a second   {:.2} x the raw consumer",
        ingest / raw
    );
    let (busy, n_answers, secs) = beside_console_load(&busy_config, busy_listen, n_taps);
    println!(
        "the same beside console load     {busy:>10.0} taps a second   {:.2} x without; {:.0} answers a second",
        busy / ingest,
        n_answers as f64 / secs
    );
    // Killed, so that nothing of the open window is flushed on the way out; then how long until it is back at the head.
    service.0.kill().unwrap();
    service.0.wait().unwrap();
    let began = Instant::now();
    let again = Service::start(&config);
    wait_until(listen, "tapveil_window_taps_held", n_taps);
    println!(
        "restart to the head             {:>10.1} s with {n_taps} taps in the open window",
        began.elapsed().as_secs_f64()
    );
    std::thread::sleep(Duration::from_secs(5));
    let (idle_span, before) = (Duration::from_secs(20), again.cpu_seconds());
    std::thread::sleep(idle_span);
    let idle = (again.cpu_seconds() - before) / idle_span.as_secs_f64();
    println!("idle                            {:>10.2} % of a core", idle * 100.0);
    let held = again.resident_bytes();
    println!(
        "memory of both roles            {:>10.0} MB, {:.1} bytes a tap of the open window",
        held / 1e6,
        held / n_taps as f64
    );
}

/// How long the windows of a feed are.
#[derive(Clone, Copy)]
enum Length {
    Day,
    Month,
}

impl Length {
    fn days(self) -> i64 {
        match self {
            Self::Day => 1,
            Self::Month => 31,
        }
    }
}

/// A city whose taps are live.
fn feed(dir: &Path, brokers: &str, length: Length) -> (String, SocketAddr) {
    let city = dir.join("city");
    let out = city.to_str().unwrap();
    run(&["generate", "--preset", "metro", "--cards", "1000", "--out", out]);
    let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = city.join("tapveil.toml");
    let name = format!("bench-{}", std::process::id());
    let text = fs::read_to_string(&config).unwrap();
    // The window that is open now exists whole if windows begin to exist two such before.
    let days = length.days();
    let from = SystemClock.now() - jiff::SignedDuration::from_hours(2 * days * 24);
    let from = &from.to_string()[..10];
    let text: String = text
        .lines()
        .filter(|line| !line.starts_with("to = "))
        .map(|line| match line {
            "format = \"csv\"" => "format = \"json\"\n".to_owned(),
            "length = \"7d\"" => format!("length = \"{days}d\"\n"),
            line if line.starts_with("time_zone") => "time_zone = \"UTC\"\n".to_owned(),
            line if line.starts_with("from = ") => format!("from = \"{from}\"\n"),
            line => format!("{line}\n"),
        })
        .collect();
    let topics = ["taps", "segments", "ledger", "releases", "rejects"]
        .map(|topic| format!("{topic} = \"{name}.{topic}\""))
        .join(", ");
    let more = format!(
        "[kafka]\nbrokers = \"{brokers}\"\ngroup = \"{name}\"\ninstance = \"bench\"\nflush = \"1s\"\ntopics = {{ {topics} }}\n[http]\nlisten = \"{listen}\"\n"
    );
    fs::write(&config, text + &more).unwrap();
    (config.to_str().unwrap().to_owned(), listen)
}

/// The same feed once more: the same taps, everything else its own.
fn twin(dir: &Path) -> (String, SocketAddr) {
    let (city, other) = (dir.join("city"), dir.join("twin"));
    fs::create_dir(&other).unwrap();
    for name in ["tapveil.secret", "tapveil.ledger", "stations.csv"] {
        fs::copy(city.join(name), other.join(name)).unwrap();
    }
    let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let name = format!("bench-{}", std::process::id());
    let text = fs::read_to_string(city.join("tapveil.toml")).unwrap();
    let (text, http) = text.split_once("[http]").unwrap();
    assert!(http.contains("listen"), "the last section is [http]");
    let text = text.replace(&name, &format!("{name}-b"));
    let text = text.replace(&format!("\"{name}-b.taps\""), &format!("\"{name}.taps\""));
    let config = other.join("tapveil.toml");
    fs::write(&config, format!("{text}[http]\nlisten = \"{listen}\"\n")).unwrap();
    (config.to_str().unwrap().to_owned(), listen)
}

/// Ingest while somebody asks for pages as fast as one connection after the other allows, at most 300 a second: taps a
/// second, answers, and in how many seconds.
fn beside_console_load(config: &str, listen: SocketAddr, n_taps: u64) -> (f64, u64, f64) {
    let is_over = AtomicBool::new(false);
    let n_answers = AtomicU64::new(0);
    let _service = Service::start(config);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let began = Instant::now();
            let pages = ["/", "/livez", "/api/v1/windows", "/api/v1/releases", "/metrics"];
            for n in 0_u64.. {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                let due = Duration::from_micros(n * 1_000_000 / 300);
                std::thread::sleep(due.saturating_sub(began.elapsed()));
                let page = pages[n as usize % pages.len()];
                n_answers.fetch_add(u64::from(get(listen, page).is_some()), Ordering::SeqCst);
            }
        });
        let rate = ingest_rate(listen, n_taps);
        let (began, before) = (Instant::now(), n_answers.load(Ordering::SeqCst));
        std::thread::sleep(Duration::from_secs(2));
        let answered = n_answers.load(Ordering::SeqCst) - before;
        is_over.store(true, Ordering::SeqCst);
        (rate, answered, began.elapsed().as_secs_f64())
    })
}

fn run(arguments: &[&str]) {
    let status = Command::new(env!("CARGO_BIN_EXE_tapveil"))
        .args(arguments)
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success(), "{arguments:?}");
}

/// Fills the topic with live taps; gives how many.
fn produce(config: &str, seconds: u64) -> u64 {
    let span = format!("{seconds}s");
    run(&[
        "generate", "--preset", "metro", "--topic", "-c", config, "--cards", "300000", "--rate",
        "0", "--for", &span,
    ]);
    let settings = tapveil::config::load(Path::new(config)).unwrap();
    let kafka = settings.kafka.unwrap();
    let consumer: BaseConsumer = kafka.plain_consumer("read_committed").create().unwrap();
    let metadata =
        consumer.fetch_metadata(Some(&kafka.topics.taps), Duration::from_secs(10)).unwrap();
    let partitions = metadata.topics()[0].partitions().len();
    (0..i32::try_from(partitions).unwrap())
        .map(|partition| {
            let ends =
                consumer.fetch_watermarks(&kafka.topics.taps, partition, Duration::from_secs(10));
            u64::try_from(ends.unwrap().1).unwrap()
        })
        .sum()
}

fn raw_rate(kafka: &tapveil::kafka::Settings, n: u64) -> f64 {
    let consumer: BaseConsumer = kafka.group_consumer("raw-bench").create().unwrap();
    let metadata =
        consumer.fetch_metadata(Some(&kafka.topics.taps), Duration::from_secs(10)).unwrap();
    let mut all = TopicPartitionList::new();
    for partition in metadata.topics()[0].partitions() {
        all.add_partition_offset(&kafka.topics.taps, partition.id(), Offset::Beginning).unwrap();
    }
    consumer.assign(&all).unwrap();
    let mut read = 0;
    let mut began = Instant::now();
    while read < n {
        if let Some(Ok(_)) = consumer.poll(Duration::from_secs(1)) {
            if read == 0 {
                began = Instant::now();
            }
            read += 1;
        }
    }
    n as f64 / began.elapsed().as_secs_f64()
}

/// Taps a second between the first flush and the last.
fn ingest_rate(listen: SocketAddr, n: u64) -> f64 {
    let name = "tapveil_ingest_taps_total";
    let first = loop {
        match metric(listen, name) {
            Some(taps) if taps > 0 => break taps,
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let began = Instant::now();
    wait_until(listen, name, n);
    (n - first) as f64 / began.elapsed().as_secs_f64()
}

fn wait_until(listen: SocketAddr, name: &str, n: u64) {
    let began = Instant::now();
    while metric(listen, name).unwrap_or(0) < n {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "{name} is {:?}, not {n}",
            metric(listen, name)
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn metric(listen: SocketAddr, name: &str) -> Option<u64> {
    get(listen, "/metrics")?.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// What the console answers.
fn get(listen: SocketAddr, page: &str) -> Option<String> {
    let mut stream = TcpStream::connect(listen).ok()?;
    let request = format!("GET {page} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

struct Service(Child);

impl Service {
    fn start(config: &str) -> Self {
        Self::saying(config, Stdio::null())
    }

    /// Writes what it says to a file.
    fn logging(config: &str, log: &Path) -> Self {
        Self::saying(config, fs::File::create(log).unwrap().into())
    }

    fn saying(config: &str, stderr: Stdio) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_tapveil"))
            .args(["run", "-c", config])
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn();
        Self(child.unwrap())
    }

    /// Time on a processor, all threads.
    fn cpu_seconds(&self) -> f64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        let nanos = |task: std::io::Result<fs::DirEntry>| -> f64 {
            let text = fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
            text.split(' ').next().unwrap().parse().unwrap()
        };
        tasks.map(nanos).sum::<f64>() / 1e9
    }

    fn resident_bytes(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
