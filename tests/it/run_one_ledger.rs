//! A feed has one ledger: what the service booked in its topic, every other command knows.

use std::fs;
use std::time::Duration;

use crate::broker::bootstrap;
use crate::service::Feed;
use crate::support::run;

const PATIENCE: Duration = Duration::from_secs(90);

/// `run` used to book in the topic and `sanitize` in the file; neither knew the other.
#[test]
fn what_the_service_released_no_other_command_releases_again() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 300);
    feed.replay();
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    let ledger = feed.ledger();
    assert_eq!(ledger["spent_micro"], 7_000_000);
    let config = feed.config();
    let config = config.to_str().unwrap();
    let shown = run(["ledger", "show", "--json", "-c", config]).code(0).json();
    assert_eq!(shown, ledger, "without --topic it is the same ledger");
    let check =
        |more: &[&str]| run(["check", "--json", "-c", config].iter().chain(more)).code(0).json();
    assert_eq!(check(&["--live"])["spent_micro"], 7_000_000);
    assert!(check(&[])["spent_micro"].is_null(), "the file's zero is nobody's answer");
    let taps = fs::read_to_string(feed.taps()).unwrap();
    let fewer = feed.path("fewer.csv");
    let kept: Vec<&str> = taps.lines().take(taps.lines().count() * 9 / 10).collect();
    fs::write(&fewer, kept.join("\n")).unwrap();
    let out = feed.path("again");
    let (fewer, out) = (fewer.to_str().unwrap(), out.to_str().unwrap());
    let refused =
        run(["sanitize", "--taps", fewer, "-c", config, "--out", out, "--json"]).code(1).json();
    assert!(refused["windows"].as_array().unwrap().iter().any(|one| one["reason"] == "repeat"));
    assert_eq!(feed.ledger()["spent_micro"], 7_000_000, "nothing was booked");
    let whole = feed.taps();
    let whole = whole.to_str().unwrap();
    let out = feed.path("same");
    let same =
        run(["sanitize", "--taps", whole, "-c", config, "--out", out.to_str().unwrap(), "--json"]);
    let same = same.code(0).json();
    assert!(same["windows"].as_array().unwrap().iter().all(|one| one["outcome"] == "same"));
}

/// Another name for the ledger's topic, and another group, used to release everything again.
#[test]
fn a_renamed_ledger_is_another_one_and_stops_the_service() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 200);
    feed.replay();
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    let name = &feed.name;
    feed.edit(&format!("ledger = \"{name}.ledger\""), &format!("ledger = \"{name}.other\""));
    feed.edit(&format!("group = \"{name}\""), &format!("group = \"{name}-other\""));
    let mut worker = feed.worker("release", None);
    assert_eq!(worker.wait(PATIENCE), Some(1), "{}", worker.said());
    assert!(worker.said().contains("it is an older copy, or another one"), "{}", worker.said());
    // Without the witness beside the secret the releases in the topic are one.
    fs::remove_file(feed.path("city/tapveil.secret.head")).unwrap();
    let mut worker = feed.worker("release", None);
    assert_eq!(worker.wait(PATIENCE), Some(1), "{}", worker.said());
    assert!(worker.said().contains("is in place, but the ledger"), "{}", worker.said());
}

/// Stopping is a record of the topic: a service that runs obeys before the next release, and goes on when it is
/// resumed.
#[test]
fn a_running_service_obeys_when_somebody_stops_and_resumes_the_feed() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 200);
    let mut worker = feed.worker("all", None);
    worker.wait_for("active: releasing windows", PATIENCE);
    let say = |what: &str| {
        feed.command(["ledger", what, "--by", "A. Officer", "--why", "a complaint"]).code(0);
    };
    say("stop");
    feed.replay();
    worker.wait_for("held: windows wait", PATIENCE);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(feed.ledger()["spent_micro"], 0, "{}", worker.said());
    say("resume");
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    assert_eq!(feed.ledger()["spent_micro"], 7_000_000, "{}", worker.said());
}

/// A file ledger with payments beside a topic would be a second ledger.
#[test]
fn a_file_ledger_with_payments_beside_a_topic_is_refused() {
    let feed = Feed::history("127.0.0.1:1", 200);
    let plain = feed.sanitized();
    assert!(plain.exists());
    fs::copy(feed.path("plain/tapveil.ledger"), feed.path("city/tapveil.ledger")).unwrap();
    let refused = feed.command(["check"]).code(2);
    assert!(refused.err.contains("this feed would have two ledgers"), "{}", refused.err);
}
