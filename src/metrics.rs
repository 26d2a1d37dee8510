//! Every metric in one file; beside it the live board that shows work in progress.
//!
//! Operator numbers: they are exact, and so they are never published with a release.

mod board;
mod status;

pub use board::{Board, Doing, Health, Part, Progress};
pub use status::{Booked, Gathered, Snapshot, Status};

use prometheus::{
    Encoder, Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};

use crate::model::{Counts, MicroEpsilon, Reject};

/// Why a release was withheld; the closed set of label values.
pub const WITHHELD: [&str; 5] = ["repeat", "overlap", "mixed", "cap", "missed"];

/// All metrics, registered and at zero.
pub struct Metrics {
    registry: Registry,
    taps: IntCounter,
    rejects: IntCounterVec,
    duplicates: IntCounter,
    replayed: IntCounter,
    lag: IntGaugeVec,
    position: IntGaugeVec,
    rate: Gauge,
    catch_up: Gauge,
    sealed: IntCounter,
    engine_seconds: HistogramVec,
    seal_to_commit_seconds: Histogram,
    releases: IntCounterVec,
    withheld: IntCounterVec,
    flush_seconds: Histogram,
    windows_open: IntGauge,
    windows_filling: IntGauge,
    taps_held: IntGauge,
    bytes_held: IntGauge,
    verify_failures: IntCounter,
    kafka: KafkaMetrics,
    last_release: IntGauge,
    next_due: IntGauge,
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
        let counter = |name: &str, help: &str| counter(&registry, name, help);
        let counters = |name: &str, help: &str, label: &str| counters(&registry, name, help, label);
        let gauge = |name: &str, help: &str| {
            let gauge = Gauge::new(name, help).expect("a good name");
            registry.register(Box::new(gauge.clone())).expect("a name of its own");
            gauge
        };
        let whole_gauge = |name: &str, help: &str| int_gauge(&registry, name, help);
        let metrics = Self {
            taps: counter("tapveil_ingest_taps_total", "Taps that count, duplicates among them."),
            rejects: counters(
                "tapveil_ingest_rejects_total",
                "Records that do not count.",
                "reason",
            ),
            duplicates: counter("tapveil_ingest_duplicates_total", "Taps that were there twice."),
            replayed: counter(
                "tapveil_ingest_replayed_total",
                "Records read and not committed before their partition moved on; whoever has it now reads them again.",
            ),
            lag: gauges(
                &registry,
                "tapveil_ingest_lag_records",
                "Records between the position and the end of the partition.",
                "partition",
            ),
            position: gauges(
                &registry,
                "tapveil_ingest_position_timestamp_seconds",
                "When the last record that was read had arrived at its broker.",
                "partition",
            ),
            rate: gauge("tapveil_ingest_rate_records", "Records read a second, of late."),
            catch_up: gauge(
                "tapveil_ingest_catch_up_seconds",
                "Until the end of the log at that rate; 0 at the end.",
            ),
            sealed: counter("tapveil_seal_windows_total", "Windows sealed."),
            engine_seconds: engine_seconds(&registry),
            seal_to_commit_seconds: seal_to_commit_seconds(&registry),
            releases: counters("tapveil_publish_releases_total", "Releases in place.", "engine"),
            withheld: counters("tapveil_publish_withheld_total", "Windows withheld.", "reason"),
            flush_seconds: flush_seconds(&registry),
            windows_open: whole_gauge("tapveil_window_open", "Windows on their way to a release."),
            windows_filling: whole_gauge(
                "tapveil_ingest_windows_filling",
                "Windows that this worker has committed taps of and has not finished.",
            ),
            taps_held: whole_gauge("tapveil_window_taps_held", "Taps held in memory for them."),
            bytes_held: whole_gauge("tapveil_window_bytes_held", "Bytes these taps take."),
            verify_failures: counter(
                "tapveil_verify_failures_total",
                "Releases that did not stand their own check and were not published.",
            ),
            kafka: KafkaMetrics::new(&registry),
            last_release: whole_gauge(
                "tapveil_publish_last_release_timestamp_seconds",
                "When the last release was put in place.",
            ),
            next_due: next_due(&registry),
            spent: gauge("tapveil_ledger_epsilon_spent", "Budget spent over the feed's life."),
            left: gauge("tapveil_ledger_epsilon_left", "Budget left over the feed's life."),
            registry: registry.clone(),
        };
        metrics.show_zeros();
        build_info(&registry, version, commit);
        metrics
    }

    /// What has not happened yet is shown as zero.
    fn show_zeros(&self) {
        for reason in Reject::ALL {
            self.rejects.with_label_values(&[reason.label()]);
        }
        for reason in WITHHELD {
            self.withheld.with_label_values(&[reason]);
        }
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

    /// When the next release can be expected.
    pub fn next_due(&self, at_secs: i64) {
        self.next_due.set(at_secs);
    }

    /// A flush took so long.
    pub fn flushed(&self, seconds: f64) {
        self.flush_seconds.observe(seconds);
    }

    /// Records of a partition will be read again, by whoever has it now.
    pub fn replayed(&self, records: u64) {
        self.replayed.inc_by(records);
    }

    /// How far a partition of the taps is.
    pub fn partition(&self, partition: i32, lag: i64, arrived_secs: Option<i64>) {
        let label = [partition.to_string()];
        self.lag.with_label_values(&label).set(lag);
        self.position.with_label_values(&label).set(arrived_secs.unwrap_or_default());
    }

    /// How fast ingest reads, and how long it has to go.
    pub fn progress(&self, rate: f64, catch_up_secs: f64) {
        self.rate.set(rate);
        self.catch_up.set(catch_up_secs);
    }

    /// A partition is somebody else's now.
    pub fn partition_gone(&self, partition: i32) {
        let label = [partition.to_string()];
        // What was never shown cannot be taken away, and need not be.
        self.lag.remove_label_values(&label).ok();
        self.position.remove_label_values(&label).ok();
    }

    /// What a Kafka client says of itself; counters since the last time it said so.
    pub fn kafka(&self, client: &str, told: &KafkaNumbers) {
        self.kafka.tell(client, told);
    }

    /// A release did not stand its own check.
    pub fn verify_failed(&self) {
        self.verify_failures.inc();
    }

    /// So many windows are on their way, with so many taps in so many bytes.
    pub fn windows_held(&self, windows: usize, taps: usize, bytes: usize) {
        self.bytes_held.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        self.windows_open.set(i64::try_from(windows).unwrap_or(i64::MAX));
        self.taps_held.set(i64::try_from(taps).unwrap_or(i64::MAX));
    }

    /// So many windows on the board are not finished.
    pub fn windows_filling(&self, windows: usize) {
        self.windows_filling.set(i64::try_from(windows).unwrap_or(i64::MAX));
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

/// What a Kafka client says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KafkaNumbers {
    /// Records received since it last said so.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Rebalances of its group since it last said so.
    pub rebalances: u64,
    /// Brokers it is connected to.
    pub brokers_up: i64,
    /// Records fetched and not yet read.
    pub queued: i64,
}

/// The clients that speak of themselves: the closed set of label values.
pub const CLIENTS: [&str; 2] = ["ingest", "release"];

struct KafkaMetrics {
    received: IntCounterVec,
    received_bytes: IntCounterVec,
    rebalances: IntCounterVec,
    brokers_up: IntGaugeVec,
    queued: IntGaugeVec,
}

impl KafkaMetrics {
    fn new(registry: &Registry) -> Self {
        let counters = |name: &str, help: &str| counters(registry, name, help, "client");
        let gauges = |name: &str, help: &str| gauges(registry, name, help, "client");
        let metrics = Self {
            received: counters(
                "tapveil_kafka_received_records_total",
                "Records the client received from its brokers.",
            ),
            received_bytes: counters(
                "tapveil_kafka_received_bytes_total",
                "Bytes of records the client received from its brokers.",
            ),
            rebalances: counters(
                "tapveil_kafka_rebalances_total",
                "Rebalances of the client's group.",
            ),
            brokers_up: gauges("tapveil_kafka_brokers_up", "Brokers the client is connected to."),
            queued: gauges(
                "tapveil_kafka_queued_records",
                "Records the client has fetched and nobody has read yet.",
            ),
        };
        CLIENTS.iter().for_each(|client| metrics.tell(client, &KafkaNumbers::default()));
        metrics
    }

    fn tell(&self, client: &str, told: &KafkaNumbers) {
        let label = [client];
        self.received.with_label_values(&label).inc_by(told.received);
        self.received_bytes.with_label_values(&label).inc_by(told.received_bytes);
        self.rebalances.with_label_values(&label).inc_by(told.rebalances);
        self.brokers_up.with_label_values(&label).set(told.brokers_up);
        self.queued.with_label_values(&label).set(told.queued);
    }
}

fn counter(registry: &Registry, name: &str, help: &str) -> IntCounter {
    let counter = IntCounter::new(name, help).expect("a good name");
    registry.register(Box::new(counter.clone())).expect("a name of its own");
    counter
}

fn counters(registry: &Registry, name: &str, help: &str, label: &str) -> IntCounterVec {
    let counters = IntCounterVec::new(Opts::new(name, help), &[label]).expect("a good name");
    registry.register(Box::new(counters.clone())).expect("a name of its own");
    counters
}

fn gauges(registry: &Registry, name: &str, help: &str, label: &str) -> IntGaugeVec {
    let gauges = IntGaugeVec::new(Opts::new(name, help), &[label]).expect("a good name");
    registry.register(Box::new(gauges.clone())).expect("a name of its own");
    gauges
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

fn next_due(registry: &Registry) -> IntGauge {
    let name = "tapveil_publish_next_due_timestamp_seconds";
    int_gauge(registry, name, "When the next release can be expected; 0: unknown, or none.")
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
            "tapveil_ingest_replayed_total 0",
            "tapveil_publish_withheld_total{reason=\"missed\"} 0",
            "tapveil_publish_next_due_timestamp_seconds 0",
            "tapveil_verify_failures_total 0",
            "tapveil_window_bytes_held 0",
            "tapveil_kafka_brokers_up{client=\"release\"} 0",
            "tapveil_build_info{commit=\"abc\",version=\"1.2.3\"} 1",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
