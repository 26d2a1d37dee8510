//! Every metric in one file, and the live board that shows work in progress.
//!
//! Operator numbers: they are exact, and so they are never published with a release.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dashmap::DashMap;
use prometheus::{
    Encoder, Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    Opts, Registry, TextEncoder,
};

use crate::model::{Counts, MicroEpsilon, Reject};

/// Why a release was withheld; the closed set of label values.
pub const WITHHELD: [&str; 4] = ["repeat", "overlap", "mixed", "cap"];

/// All metrics, registered and at zero.
pub struct Metrics {
    registry: Registry,
    taps: IntCounter,
    rejects: IntCounterVec,
    duplicates: IntCounter,
    sealed: IntCounter,
    engine_seconds: HistogramVec,
    seal_to_commit_seconds: Histogram,
    releases: IntCounterVec,
    withheld: IntCounterVec,
    flush_seconds: Histogram,
    windows_open: IntGauge,
    taps_held: IntGauge,
    last_release: IntGauge,
    spent: Gauge,
    left: Gauge,
}

impl Metrics {
    /// Registers everything.
    ///
    /// # Panics
    /// If two metrics share a name, which the first test would show.
    pub fn new(version: &str, commit: &str) -> Self {
        let registry = Registry::new();
        let counter = |name: &str, help: &str| {
            let counter = IntCounter::new(name, help).expect("a good name");
            registry.register(Box::new(counter.clone())).expect("a name of its own");
            counter
        };
        let counters = |name: &str, help: &str, label: &str| {
            let counters =
                IntCounterVec::new(Opts::new(name, help), &[label]).expect("a good name");
            registry.register(Box::new(counters.clone())).expect("a name of its own");
            counters
        };
        let gauge = |name: &str, help: &str| {
            let gauge = Gauge::new(name, help).expect("a good name");
            registry.register(Box::new(gauge.clone())).expect("a name of its own");
            gauge
        };
        let metrics = Self {
            taps: counter("tapveil_ingest_taps_total", "Taps that count, duplicates among them."),
            rejects: counters(
                "tapveil_ingest_rejects_total",
                "Records that do not count.",
                "reason",
            ),
            duplicates: counter("tapveil_ingest_duplicates_total", "Taps that were there twice."),
            sealed: counter("tapveil_seal_windows_total", "Windows sealed."),
            engine_seconds: engine_seconds(&registry),
            seal_to_commit_seconds: seal_to_commit_seconds(&registry),
            releases: counters("tapveil_publish_releases_total", "Releases in place.", "engine"),
            withheld: counters("tapveil_publish_withheld_total", "Windows withheld.", "reason"),
            flush_seconds: flush_seconds(&registry),
            windows_open: int_gauge(
                &registry,
                "tapveil_window_open",
                "Windows on their way to a release.",
            ),
            taps_held: int_gauge(
                &registry,
                "tapveil_window_taps_held",
                "Taps held in memory for them.",
            ),
            last_release: int_gauge(
                &registry,
                "tapveil_publish_last_release_timestamp_seconds",
                "When the last release was put in place.",
            ),
            spent: gauge("tapveil_ledger_epsilon_spent", "Budget spent over the feed's life."),
            left: gauge("tapveil_ledger_epsilon_left", "Budget left over the feed's life."),
            registry: registry.clone(),
        };
        for reason in Reject::ALL {
            metrics.rejects.with_label_values(&[reason.label()]);
        }
        for reason in WITHHELD {
            metrics.withheld.with_label_values(&[reason]);
        }
        build_info(&registry, version, commit);
        metrics
    }

    /// What a file or a flush gave.
    pub fn ingested(&self, counts: &Counts) {
        self.taps.inc_by(counts.taps);
        for (reason, n) in counts.rejects() {
            self.rejects.with_label_values(&[reason.label()]).inc_by(n);
        }
    }

    /// A window was sealed.
    pub fn sealed(&self, n_duplicates: u64) {
        self.sealed.inc();
        self.duplicates.inc_by(n_duplicates);
    }

    /// An engine ran for so long.
    pub fn engine_ran(&self, engine: &str, seconds: f64) {
        self.engine_seconds.with_label_values(&[engine]).observe(seconds);
    }

    /// A release is in place, so long after its window was sealed.
    pub fn released(&self, engine: &str, seconds_since_seal: f64, now_secs: i64) {
        self.releases.with_label_values(&[engine]).inc();
        self.seal_to_commit_seconds.observe(seconds_since_seal);
        self.last_release.set(now_secs);
    }

    /// A flush took so long.
    pub fn flushed(&self, seconds: f64) {
        self.flush_seconds.observe(seconds);
    }

    /// So many windows are on their way, with so many taps.
    pub fn windows_held(&self, windows: usize, taps: usize) {
        self.windows_open.set(i64::try_from(windows).unwrap_or(i64::MAX));
        self.taps_held.set(i64::try_from(taps).unwrap_or(i64::MAX));
    }

    /// A window was withheld.
    pub fn withheld(&self, reason: &str) {
        self.withheld.with_label_values(&[reason]).inc();
    }

    /// What the ledger holds. Gauges are floats by nature; no decision is made on them.
    pub fn budget(&self, spent: MicroEpsilon, lifetime: Option<MicroEpsilon>) {
        let epsilon = |micro: u64| micro as f64 / 1e6;
        self.spent.set(epsilon(spent.micro()));
        let left = lifetime
            .map_or(f64::INFINITY, |cap| epsilon(cap.micro().saturating_sub(spent.micro())));
        self.left.set(left);
    }

    /// Everything in the text form Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        TextEncoder::new()
            .encode(&self.registry.gather(), &mut text)
            .expect("registered metrics always have a text form");
        String::from_utf8(text).expect("the text form is UTF-8")
    }
}

fn engine_seconds(registry: &Registry) -> HistogramVec {
    let options = HistogramOpts::new("tapveil_engine_seconds", "Time an engine took for a window.")
        .buckets(vec![0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]);
    let seconds = HistogramVec::new(options, &["engine"]).expect("a good name");
    registry.register(Box::new(seconds.clone())).expect("a name of its own");
    seconds
}

fn seal_to_commit_seconds(registry: &Registry) -> Histogram {
    let name = "tapveil_publish_seal_to_commit_seconds";
    let options = HistogramOpts::new(name, "Time from a sealed window to its release in place.")
        .buckets(vec![0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0]);
    let seconds = Histogram::with_opts(options).expect("a good name");
    registry.register(Box::new(seconds.clone())).expect("a name of its own");
    seconds
}

fn flush_seconds(registry: &Registry) -> Histogram {
    let options =
        HistogramOpts::new("tapveil_ingest_flush_seconds", "Time a flush took to be committed.")
            .buckets(vec![0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0]);
    let seconds = Histogram::with_opts(options).expect("a good name");
    registry.register(Box::new(seconds.clone())).expect("a name of its own");
    seconds
}

fn int_gauge(registry: &Registry, name: &str, help: &str) -> IntGauge {
    let gauge = IntGauge::new(name, help).expect("a good name");
    registry.register(Box::new(gauge.clone())).expect("a name of its own");
    gauge
}

fn build_info(registry: &Registry, version: &str, commit: &str) {
    let options = Opts::new("tapveil_build_info", "Always 1; the labels tell the build.")
        .const_label("version", version)
        .const_label("commit", commit);
    let info = IntGauge::with_opts(options).expect("a good name");
    info.set(1);
    registry.register(Box::new(info)).expect("a name of its own");
}

/// Whether a service is ready, written by its workers and read by whoever asks.
#[derive(Debug, Default)]
pub struct Health {
    ingest: AtomicBool,
    release: AtomicBool,
    active: AtomicBool,
}

impl Health {
    /// The ingest worker has partitions.
    pub fn ingest_ready(&self, ready: bool) {
        self.ingest.store(ready, Ordering::Relaxed);
    }

    /// The release worker is in its group, and active or standing by.
    pub fn release_ready(&self, ready: bool, active: bool) {
        self.release.store(ready, Ordering::Relaxed);
        self.active.store(active, Ordering::Relaxed);
    }

    /// Whether every wanted worker does its work.
    pub fn is_ready(&self, ingests: bool, releases: bool) -> bool {
        (!ingests || self.ingest.load(Ordering::Relaxed))
            && (!releases || self.release.load(Ordering::Relaxed))
    }
}

/// How far each partition is, written by ingest threads and read by whoever shows progress, without either
/// waiting for the other.
#[derive(Debug, Default)]
pub struct Board {
    partitions: DashMap<u32, Progress>,
    bytes: AtomicU64,
}

/// One partition's progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Taps that count.
    pub taps: u64,
    /// Records that do not.
    pub rejects: u64,
}

impl Board {
    /// So many bytes were read.
    pub fn read(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many records of a partition were decoded.
    pub fn add(&self, partition: u32, taps: u64, rejects: u64) {
        let mut progress = self.partitions.entry(partition).or_default();
        progress.taps += taps;
        progress.rejects += rejects;
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// All partitions together.
    pub fn total(&self) -> Progress {
        self.partitions.iter().fold(Progress::default(), |sum, progress| Progress {
            taps: sum.taps + progress.taps,
            rejects: sum.rejects + progress.rejects,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_there_from_the_start() {
        let text = Metrics::new("1.2.3", "abc").text();
        for line in [
            "tapveil_ingest_taps_total 0",
            "tapveil_ingest_rejects_total{reason=\"late\"} 0",
            "tapveil_publish_withheld_total{reason=\"cap\"} 0",
            "tapveil_build_info{commit=\"abc\",version=\"1.2.3\"} 1",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn the_board_adds_up_over_threads() {
        let board = Board::default();
        std::thread::scope(|scope| {
            for partition in 0..4 {
                let board = &board;
                scope.spawn(move || (0..100).for_each(|_| board.add(partition % 2, 3, 1)));
            }
        });
        assert_eq!(board.total(), Progress { taps: 1_200, rejects: 400 });
    }
}
