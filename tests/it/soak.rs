//! A live feed for as long as one likes: workers that are killed, brokers that are killed and restarted, a console
//! under load, and a look at memory, descriptors and files every few seconds. `tests/soak` runs it; half a minute of
//! it belongs to the suite. Fails on a lost or doubled tap, on a window that is late, and on growth beyond the bounds
//! below.
#![allow(clippy::print_stdout, reason = "figures are what it is for")]

mod plot;

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::arrivals::{Live, PATIENCE, now};
use crate::broker::Own;
use crate::kill::number_from_env;
use crate::live::make_taps;
use crate::service::Worker;
use tapveil::model::Window;

const PARTITIONS: i32 = 3;
const MARGIN: i64 = 25;
/// Taps, and requests to the consoles, a second.
const TAPS: u64 = 200;
const REQUESTS: u64 = 300;
const PAGES: [&str; 6] =
    ["/livez", "/readyz", "/", "/api/v1/windows", "/api/v1/releases", "/api/v1/budget"];
/// A window is there so long after it could be, whatever happens.
const LATEST: SignedDuration = SignedDuration::from_secs(120);
const SAMPLED_EVERY: Duration = Duration::from_secs(5);
/// Growth from the first half to the second, of the largest sample of a worker that is up for a minute.
const MORE_MEMORY_KIB: u64 = 64 * 1024;
const MORE_DESCRIPTORS: u64 = 64;
/// Files of the releases, for every window; three copies of everything on the brokers, for every minute.
const RELEASE_BYTES: u64 = 4 << 20;
const BROKER_BYTES: u64 = 64 << 20;

/// What was seen at one moment.
#[derive(Clone, Debug)]
struct Sample {
    second: u64,
    /// Of each worker: seconds since its start, memory, open descriptors.
    workers: Vec<(u64, u64, u64)>,
    broker_bytes: u64,
    release_bytes: u64,
    n_taps: u64,
    n_answers: u64,
    n_failed: u64,
}

struct Soak {
    live: Live,
    configs: Vec<PathBuf>,
    workers: Mutex<Vec<(Worker, Instant)>>,
    is_over: AtomicBool,
    n_taps: AtomicU64,
    n_answers: AtomicU64,
    n_failed: AtomicU64,
}

impl Soak {
    fn start(own: &Own) -> (Self, Window) {
        let second = now().as_second();
        let before = Timestamp::from_second(second - second % 60 - 60).unwrap();
        let grace = SignedDuration::from_secs(second % 60 + 20);
        let live = Live::from(&own.bootstrap, before, grace, MARGIN);
        live.feed.edit("cap = \"100.0\"", "cap = \"10000.0\"");
        live.feed.edit("lifetime = \"100.0\"", "lifetime = \"10000.0\"");
        live.feed.append("[release]\ndir = \"releases\"\n");
        make_taps(&live.feed, PARTITIONS, 3, "LogAppendTime");
        let text = fs::read_to_string(live.feed.config()).unwrap();
        let configs: Vec<PathBuf> = (0..2)
            .map(|n| {
                let config = live.feed.path(&format!("city/worker-{n}.toml"));
                let instance = format!("flush = \"1s\"\ninstance = \"worker-{n}\"");
                fs::write(&config, text.replace("flush = \"1s\"", &instance)).unwrap();
                config
            })
            .collect();
        let start = |config: &PathBuf| (live.feed.worker_of(config, "all", None), Instant::now());
        let workers: Vec<(Worker, Instant)> = configs.iter().map(start).collect();
        let began = Instant::now();
        let first = loop {
            if let Some(first) = live.first_window() {
                break first;
            }
            assert!(began.elapsed() < PATIENCE, "nobody opened it: {}", workers[0].0.said());
            std::thread::sleep(Duration::from_millis(200));
        };
        let soak = Self {
            live,
            configs,
            workers: Mutex::new(workers),
            is_over: AtomicBool::new(false),
            n_taps: AtomicU64::new(0),
            n_answers: AtomicU64::new(0),
            n_failed: AtomicU64::new(0),
        };
        (soak, first)
    }

    fn workers(&self) -> std::sync::MutexGuard<'_, Vec<(Worker, Instant)>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Taps of the last minute, at a steady rate.
    fn send_taps(&self, seed: u64) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let began = Instant::now();
        while !self.is_over.load(Ordering::SeqCst) {
            while self.n_taps.load(Ordering::Relaxed)
                < began.elapsed().as_millis() as u64 * TAPS / 1_000
            {
                let card = format!("c{}", random.next_u32() % 2_000);
                let age = SignedDuration::from_millis(i64::from(random.next_u32() % 60_000));
                let tap = self.live.tap(&card, random.next_u32() as usize, now() - age);
                self.live.send(
                    i32::try_from(random.next_u32() >> 1).unwrap() % PARTITIONS,
                    tap.as_bytes(),
                );
                self.n_taps.fetch_add(1, Ordering::Relaxed);
            }
            self.live.serve();
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks both consoles for all pages, at a steady rate. A worker that was killed does not answer.
    fn ask_consoles(&self) {
        let began = Instant::now();
        let mut n = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            let addresses: Vec<String> =
                self.workers().iter().filter_map(|(worker, _)| address(&worker.said())).collect();
            let until = Instant::now() + Duration::from_secs(1);
            while Instant::now() < until && !addresses.is_empty() {
                if n >= began.elapsed().as_millis() as u64 * REQUESTS / 1_000 {
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                }
                let place = n as usize;
                let is_answered =
                    ask(&addresses[place % addresses.len()], PAGES[place % PAGES.len()]);
                let counter = if is_answered { &self.n_answers } else { &self.n_failed };
                counter.fetch_add(1, Ordering::Relaxed);
                n += 1;
            }
        }
    }

    /// Kills workers and brokers, spread over the time; a killed worker is started again at once, as a supervisor does.
    fn disturb(&self, own: &Own, time: Duration, n_kills: u64, n_restarts: u64, seed: u64) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut due: Vec<(Duration, bool)> = Vec::new();
        for (n, is_worker) in [(n_kills, true), (n_restarts, false)] {
            let part = time / u32::try_from(n.max(1)).unwrap();
            let moment = |at: u64| {
                part * u32::try_from(at).unwrap()
                    + part.mul_f64(f64::from(random.next_u32() % 80) / 100.0)
            };
            due.extend((0..n).map(moment).map(|at| (at, is_worker)));
        }
        due.sort();
        let began = Instant::now();
        for (at, is_worker) in due {
            std::thread::sleep(at.saturating_sub(began.elapsed()));
            if is_worker {
                let which = random.next_u32() as usize % self.configs.len();
                let mut workers = self.workers();
                workers[which].0.signal("KILL");
                workers[which].0.wait(PATIENCE);
                workers[which] =
                    (self.live.feed.worker_of(&self.configs[which], "all", None), Instant::now());
            } else {
                let broker = (random.next_u32() % 3 + 1).to_string();
                own.local(&["broker", "kill", &broker], &[]);
                std::thread::sleep(Duration::from_secs(3));
                own.local(&["broker", "restart", &broker], &[]);
            }
        }
        std::thread::sleep(time.saturating_sub(began.elapsed()));
    }

    /// A worker that ended by itself is started again where its exit code asks for it; anything else is a failure.
    fn supervise(&self) -> Result<(), String> {
        for (which, (worker, since)) in self.workers().iter_mut().enumerate() {
            let Some(status) = worker.child.try_wait().unwrap() else { continue };
            if status.code() != Some(3) {
                return Err(format!("worker {which} ended, {status}:\n{}", worker.said()));
            }
            println!(
                "worker {which} ended with exit 3 and is started again: {}",
                last_line(&worker.said())
            );
            *worker = self.live.feed.worker_of(&self.configs[which], "all", None);
            *since = Instant::now();
        }
        Ok(())
    }

    fn sample(&self, own: &Own, began: Instant) -> Sample {
        let workers = self.workers();
        let look = |(worker, since): &(Worker, Instant)| {
            let process = PathBuf::from(format!("/proc/{}", worker.child.id()));
            let status = fs::read_to_string(process.join("status")).unwrap_or_default();
            let line =
                status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
            let kib = line.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            let descriptors =
                fs::read_dir(process.join("fd")).map_or(0, |open| open.count() as u64);
            (since.elapsed().as_secs(), kib, descriptors)
        };
        Sample {
            second: began.elapsed().as_secs(),
            workers: workers.iter().map(look).collect(),
            broker_bytes: size(&own.dir),
            release_bytes: size(&self.live.feed.path("city/releases")),
            n_taps: self.n_taps.load(Ordering::Relaxed),
            n_answers: self.n_answers.load(Ordering::Relaxed),
            n_failed: self.n_failed.load(Ordering::Relaxed),
        }
    }

    /// The last window whose deadline has passed at a moment.
    fn last_due(&self, first: &Window, moment: Timestamp) -> Window {
        let mut last = first.clone();
        loop {
            let next = self.live.window(last.id(), 1);
            if self.live.deadline(&next) > moment {
                return last;
            }
            last = next;
        }
    }

    /// Waits until the last window that is due has its settlement; gives how late that was.
    fn wait_for(&self, last: &Window) -> Result<i64, String> {
        let could = self.live.deadline(last) + SignedDuration::from_secs(MARGIN);
        loop {
            self.supervise()?;
            let ledger = self.live.feed.ledger();
            let is_there =
                ledger["entries"].as_array().unwrap().iter().any(|entry| {
                    entry["window"] == last.id().number() && !entry["settled"].is_null()
                });
            let late = now().duration_since(could);
            if is_there {
                return Ok(late.as_secs().max(0));
            }
            if late > LATEST {
                let workers = self.workers();
                workers.iter().for_each(|(worker, _)| worker.signal("USR1"));
                std::thread::sleep(Duration::from_secs(3));
                let said: String = workers.iter().map(|(worker, _)| worker.said()).collect();
                return Err(format!(
                    "{last} is not there {} s after it could be:\n{said}",
                    late.as_secs()
                ));
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

fn last_line(text: &str) -> &str {
    text.lines().rfind(|line| !line.is_empty()).unwrap_or_default()
}

/// Where a worker's console is, by its own words.
fn address(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("console at http://")?;
    Some(rest.split('/').next()?.to_owned())
}

fn ask(address: &str, page: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request = format!("GET {page} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut answer = Vec::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_end(&mut answer).is_ok()
        && (answer.starts_with(b"HTTP/1.1 200") || answer.starts_with(b"HTTP/1.1 503"))
}

fn size(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

fn csv(samples: &[Sample]) -> String {
    let mut text = String::from(
        "second,worker,up_seconds,rss_kib,descriptors,broker_bytes,release_bytes,taps,answers,failed\n",
    );
    for sample in samples {
        let Sample { second, broker_bytes, release_bytes, n_taps, n_answers, n_failed, .. } =
            sample;
        for (n, (up, rss, descriptors)) in sample.workers.iter().enumerate() {
            writeln!(
                text,
                "{second},{n},{up},{rss},{descriptors},{broker_bytes},{release_bytes},{n_taps},{n_answers},{n_failed}"
            )
            .unwrap();
        }
    }
    text
}

/// Says the figures, and what lies beyond its bound.
fn growth(samples: &[Sample]) -> Vec<String> {
    let (early, late) = samples.split_at(samples.len() / 2);
    let most = |samples: &[Sample], pick: fn(&(u64, u64, u64)) -> u64| {
        let workers = samples.iter().flat_map(|sample| &sample.workers);
        workers.filter(|worker| worker.0 >= 60).map(pick).max()
    };
    let mut wrong = Vec::new();
    for (what, pick, more) in [
        ("memory of a worker, KiB", (|one| one.1) as fn(&(u64, u64, u64)) -> u64, MORE_MEMORY_KIB),
        ("open descriptors of a worker", |one| one.2, MORE_DESCRIPTORS),
    ] {
        // A run that is too short for two halves has no growth to speak of.
        if let (Some(early), Some(late)) = (most(early, pick), most(late, pick)) {
            println!("{what}: at most {early} in the first half, {late} in the second");
            if late > early + more {
                wrong.push(format!("{what} grew from {early} to {late}, by more than {more}"));
            }
        }
    }
    let (first, last) = (samples.first().unwrap(), samples.last().unwrap());
    let minutes = (last.second - first.second) / 60 + 1;
    let brokers = last.broker_bytes.saturating_sub(first.broker_bytes);
    println!(
        "files: brokers {} MiB more, releases {} KiB; {} taps; {} answers of the consoles, {} failed",
        brokers >> 20,
        last.release_bytes >> 10,
        last.n_taps,
        last.n_answers,
        last.n_failed
    );
    if brokers > minutes * BROKER_BYTES {
        wrong.push(format!("the brokers' files grew by {brokers} bytes in {minutes} minutes"));
    }
    if last.release_bytes > (minutes + 3) * RELEASE_BYTES {
        wrong.push(format!("releases hold {} bytes", last.release_bytes));
    }
    wrong
}

#[test]
fn a_feed_that_is_disturbed_for_long_neither_grows_nor_stalls_nor_loses_a_tap() {
    let Some(own) = Own::start(&["--brokers", "3"]) else { return };
    let seconds = number_from_env("TAPVEIL_SOAK_SECS").unwrap_or(30);
    let n_kills = number_from_env("TAPVEIL_SOAK_KILLS").unwrap_or(2);
    let n_restarts = number_from_env("TAPVEIL_SOAK_RESTARTS").unwrap_or(1);
    let seed = number_from_env("TAPVEIL_SEED").unwrap_or(20_261_118);
    println!(
        "seed {seed} (TAPVEIL_SEED), {seconds} s, {n_kills} kills, {n_restarts} restarts of brokers"
    );
    let (soak, first) = Soak::start(&own);
    let began = Instant::now();
    let mut samples = Vec::new();
    let watched = std::thread::scope(|scope| {
        scope.spawn(|| soak.send_taps(seed));
        scope.spawn(|| soak.ask_consoles());
        let chaos = scope.spawn(|| {
            soak.disturb(&own, Duration::from_secs(seconds), n_kills, n_restarts, seed + 1)
        });
        let mut watched = Ok(());
        while watched.is_ok() && !chaos.is_finished() {
            std::thread::sleep(SAMPLED_EVERY);
            samples.push(soak.sample(&own, began));
            watched = soak.supervise();
        }
        let disturbed = chaos.join();
        let last = soak.last_due(&first, now() + SignedDuration::from_secs(10));
        let late = watched.and_then(|()| soak.wait_for(&last));
        samples.push(soak.sample(&own, began));
        soak.is_over.store(true, Ordering::SeqCst);
        disturbed.unwrap();
        late.map(|late| (last, late))
    });
    if let Ok(folder) = std::env::var("TAPVEIL_SOAK_OUT") {
        fs::create_dir_all(&folder).unwrap();
        fs::write(Path::new(&folder).join("soak.csv"), csv(&samples)).unwrap();
        fs::write(Path::new(&folder).join("soak.svg"), plot::svg(&samples)).unwrap();
        println!("figures in {folder}/soak.csv, drawn in {folder}/soak.svg");
    }
    let (last, late) = watched.unwrap_or_else(|what| panic!("{what}"));
    println!("the last window was there {late} s after it could be");
    let wrong = growth(&samples);
    soak.live.flush();
    soak.live.assert_windows(&first, &last);
    let ledger = soak.live.feed.ledger();
    let n = ledger["entries"].as_array().unwrap().len() as u64;
    assert_eq!(ledger["spent_micro"], n * 1_000_000, "each window is paid once");
    println!("{n} windows, each with the taps that count and paid once");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
