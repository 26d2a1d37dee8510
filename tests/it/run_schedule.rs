//! When a live feed releases: not before it is due, with the next one in view; what was missed too long ago never.

use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde_json::Value;

use crate::arrivals::{Live, PATIENCE};
use crate::broker::bootstrap;
use crate::run_operators::console;
use crate::service::Worker;
use crate::web::get;

/// What the console says of windows, once it says this of the first.
fn when_first_is(worker: &Worker, address: &str, name: &str, state: &str) -> Value {
    let began = Instant::now();
    loop {
        let shown = get(address, "/api/v1/windows").json();
        let lines = shown["windows"].as_array().unwrap();
        if lines.iter().any(|line| line["window"] == name && line["state"] == state) {
            return shown;
        }
        assert!(began.elapsed() < PATIENCE, "{shown}\n{}", worker.said());
        std::thread::sleep(Duration::from_millis(300));
    }
}

fn end(mut worker: Worker) -> String {
    worker.signal("TERM");
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    worker.said()
}

/// A window waits a day, sealed and unpaid, and everybody sees for what. Then the operator decides that what was missed
/// stays away: it goes its way without a release and without a price, once and for all.
#[test]
fn a_release_waits_until_it_is_due_and_one_that_was_missed_costs_nothing() {
    let Some(brokers) = bootstrap() else { return };
    let live = Live::new(&brokers);
    live.feed.append("\n[release]\nafter = \"1d\"\n");
    let (mut worker, first) = live.open();
    live.crowd("patient", &first, &[0, 1, 2, 3]);
    let address = console(&mut worker);
    let shown = when_first_is(&worker, &address, &first.name(), "sealed");
    let due = first.end() + SignedDuration::from_hours(24);
    assert_eq!(shown["next"]["window"], first.name().as_str(), "{shown}");
    assert_eq!(shown["next"]["due"], due.strftime("%Y-%m-%dT%H:%M+00:00").to_string(), "{shown}");
    assert_eq!(shown["next"]["overdue_seconds"], 0, "{shown}");
    let metric = format!("tapveil_publish_next_due_timestamp_seconds {}", due.as_second());
    let metrics = get(&address, "/metrics").text();
    assert!(metrics.contains(&metric), "{metric} is not in\n{metrics}");
    let page = get(&address, "/windows").text();
    assert!(page.contains(&format!("Next release: {first}, due ")), "{page}");
    assert!(!end(worker).contains("released "), "it is not due");

    live.feed.edit("after = \"1d\"", "missed = \"0s\"");
    let mut worker = live.feed.worker("all", None);
    worker.wait_for(&format!("withheld {first}: its release was due"), PATIENCE);
    let address = console(&mut worker);
    let shown = when_first_is(&worker, &address, &first.name(), "withheld");
    assert_ne!(shown["next"]["window"], first.name().as_str(), "{shown}");
    end(worker);
    assert_eq!(live.feed.ledger()["spent_micro"], 0);

    // What has gone its way stays there: the committed position remembers it.
    live.feed.edit("missed = \"0s\"", "missed = \"all\"");
    let (mut worker, _) = live.open();
    let address = console(&mut worker);
    let began = Instant::now();
    let next = || get(&address, "/api/v1/windows").json()["next"]["window"].clone();
    while next() == first.name().as_str() || next().is_null() {
        assert!(began.elapsed() < PATIENCE, "{}", worker.said());
        std::thread::sleep(Duration::from_millis(300));
    }
    let said = end(worker);
    assert!(!said.contains(&format!("released {first}:")), "{said}");
}
