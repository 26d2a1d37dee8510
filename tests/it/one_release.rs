//! One way to release a window, for files and for Kafka: what is asked, paid and told in which order.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;
use tapveil::clock::Clock;
use tapveil::config;
use tapveil::metrics::{Board, Metrics};
use tapveil::model::Window;
use tapveil::pipeline::{Job, Watch, sanitize};

use crate::broker::bootstrap;
use crate::history::{PATIENCE, week};
use crate::support::run;

const FIRST_DAY: &str = "20151109T0400_20151110T0400";

/// Somebody's folder where the first release is to go.
fn occupy(out: &Path, window: &str) {
    fs::create_dir_all(out.join(window)).unwrap();
    fs::write(out.join(window).join("notes.txt"), "mine").unwrap();
}

fn n_booked(ledger: &Value) -> usize {
    ledger["entries"].as_array().unwrap().len()
}

#[test]
fn a_directory_that_is_taken_costs_a_file_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let city = dir.path().join("city");
    run(["generate", "--preset", "metro", "--cards", "300", "--out", city.to_str().unwrap()])
        .code(0);
    let (taps, config, out) =
        (city.join("taps.csv"), city.join("tapveil.toml"), dir.path().join("out"));
    occupy(&out, "20151109T0400_20151116T0400");
    let [taps, config, out] = [&taps, &config, &out].map(|path| path.to_str().unwrap());
    run(["sanitize", "--taps", taps, "--config", config, "--out", out]).code(2);
    let ledger = run(["ledger", "show", "--json", "--config", config]).code(0).json();
    assert_eq!(n_booked(&ledger), 0, "{ledger}");
}

/// The same on Kafka: until there was one way, the service paid before it looked.
#[test]
fn a_directory_that_is_taken_costs_the_service_nothing() {
    let Some(brokers) = bootstrap() else { return };
    let feed = week(&brokers, 300);
    let out = feed.path("releases");
    occupy(&out, FIRST_DAY);
    feed.append(&format!("[release]\ndir = \"{}\"\n", out.display()));
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(2), "{}", worker.said());
    assert!(worker.said().contains(FIRST_DAY), "{}", worker.said());
    assert_eq!(n_booked(&feed.ledger()), 0, "{}", feed.ledger());
}

/// A clock that stands.
struct Standing(Timestamp);

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        self.0
    }
}

struct Nobody;

impl Watch for Nobody {
    fn window(&self, _: usize, _: usize, _: &Window) {}
}

#[test]
fn the_time_of_a_release_is_the_one_that_was_handed_in() {
    let dir = tempfile::tempdir().unwrap();
    let city = dir.path().join("city");
    run(["generate", "--preset", "metro", "--cards", "300", "--out", city.to_str().unwrap()])
        .code(0);
    let settings = config::load(&city.join("tapveil.toml")).unwrap();
    let job = Job {
        settings: &settings,
        taps: &city.join("taps.csv").as_path().into(),
        out: &dir.path().join("out"),
        span: settings.span(),
        edition: tapveil::ledger::Edition::First,
        version: "0",
        commit: "none",
    };
    let clock = Standing("2031-05-06T07:08:09Z".parse().unwrap());
    let metrics = Metrics::new("0", "none");
    let summary = sanitize(&job, &clock, &metrics, &Board::default(), &Nobody).unwrap();
    assert_eq!(summary.windows.len(), 1);
    let line = format!("tapveil_publish_last_release_timestamp_seconds {}", clock.0.as_second());
    assert!(metrics.text().contains(&line), "{}", metrics.text());
}
