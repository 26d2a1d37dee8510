//! The service on a real broker as several processes: workers that come and go, stand by, or sleep and wake up when
//! somebody else has their work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::arrivals;
use crate::broker::bootstrap;
use crate::history::{
    PATIENCE, check, check_week, finish_and_check, wait_for_members, wait_until_stopped, week,
};
use crate::kill::number_from_env;
use crate::live::Live;
use crate::service::{Feed, Worker};

#[expect(clippy::print_stdout, reason = "a failure must show its seed")]
#[test]
fn workers_that_come_and_go_lose_no_tap_and_double_none() {
    let Some(brokers) = bootstrap() else { return };
    let seed = number_from_env("TAPVEIL_SEED").unwrap_or(20_151_109);
    println!("seed {seed} (TAPVEIL_SEED)");
    std::thread::scope(|scope| {
        for (protocol, seed) in [("classic", seed), ("consumer", seed + 1)] {
            let brokers = &brokers;
            scope.spawn(move || come_and_go(brokers, protocol, seed));
        }
    });
}

fn come_and_go(brokers: &str, protocol: &str, seed: u64) {
    let live = Live::new(brokers);
    let feed = &live.feed;
    feed.edit("flush = \"1s\"", &format!("flush = \"1s\"\nprotocol = \"{protocol}\""));
    if protocol == "classic" {
        feed.append("[kafka.properties]\n\"session.timeout.ms\" = \"6000\"\n");
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut release = feed.worker("release", None);
    let mut workers: Vec<Worker> = (0..3).map(|_| feed.worker("ingest", None)).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| live.produce(&is_over));
        let mut n_moves = 0;
        while !is_over.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(2_000 + u64::from(random.next_u32() % 2_000)));
            let which = random.next_u32() as usize % workers.len();
            let mut leaver = workers.swap_remove(which);
            // With the consumer protocol a dead member is missed after 45 s, and a window waits so long: kill few.
            let is_kill = if protocol == "classic" { n_moves % 3 == 2 } else { n_moves == 4 };
            leaver.signal(if is_kill { "KILL" } else { "TERM" });
            if !is_kill {
                assert_eq!(leaver.wait(PATIENCE), Some(0), "{}", leaver.said());
            }
            workers.push(feed.worker("ingest", None));
            n_moves += 1;
        }
        assert!(n_moves > 5, "workers came and went: {n_moves}");
    });
    assert_eq!(release.wait(PATIENCE), Some(0), "{protocol}: {}", release.said());
    check(feed, 40_000_000);
}

#[test]
fn workers_that_die_before_their_first_flush_or_sleep_over_a_deadline_lose_no_tap() {
    let Some(brokers) = bootstrap() else { return };
    std::thread::scope(|scope| {
        scope.spawn(|| die_before_the_first_flush(&brokers));
        scope.spawn(|| sleep_over_the_deadline(&brokers));
    });
}

/// What it read last is not the end of its partitions any more when it wakes up; the taps that came meanwhile are in
/// time.
fn sleep_over_the_deadline(brokers: &str) {
    let live = Live::new(brokers);
    let feed = &live.feed;
    feed.append("[kafka.properties]\n\"session.timeout.ms\" = \"45000\"\n");
    let mut release = feed.worker("release", None);
    let mut ingest = feed.worker("ingest", None);
    std::thread::scope(|scope| {
        scope.spawn(|| live.produce(&AtomicBool::new(false)));
        live.wait_for_end_and(-2);
        ingest.signal("STOP");
        wait_until_stopped(&mut ingest);
    });
    live.wait_for_end_and(8);
    ingest.signal("CONT");
    assert_eq!(release.wait(PATIENCE), Some(0), "{}", release.said());
    check(feed, 40_000_000);
}

/// Nobody has committed its partitions when the others have sealed theirs; somebody takes them over only then, mostly
/// after the first deadline.
fn die_before_the_first_flush(brokers: &str) {
    let live = Live::new(brokers);
    let feed = &live.feed;
    feed.append("[kafka.properties]\n\"session.timeout.ms\" = \"45000\"\n");
    let mut release = feed.worker("release", None);
    let _ingest = feed.worker("ingest", None);
    let mut dies = feed.worker("ingest", Some("ingest.segments"));
    wait_for_members(feed, &feed.name, 2, &[]);
    live.produce(&AtomicBool::new(false));
    assert_eq!(dies.wait(PATIENCE), None, "{}", dies.said());
    assert_eq!(release.wait(PATIENCE), Some(0), "{}", release.said());
    check(feed, 40_000_000);
}

#[test]
fn a_standby_takes_over_when_the_active_release_worker_dies() {
    let Some(brokers) = bootstrap() else { return };
    let feed = week(&brokers, 500);
    let mut active = feed.worker("release", None);
    active.wait_for("active:", PATIENCE);
    // The second standby joins while the first holds nothing.
    let mut standbys = Vec::new();
    for n in 2..4 {
        standbys.push(feed.worker("release", None));
        wait_for_members(&feed, &format!("{}.release", feed.name), n, &[]);
    }
    let mut everybody = vec![active];
    everybody.append(&mut standbys);
    // The group may have moved the work while they joined: whoever said so last has it.
    kill_the_active(&mut everybody);
    let began = Instant::now();
    while !everybody.iter().any(is_active) {
        assert!(began.elapsed() < Duration::from_secs(30), "nobody took over");
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut ingest = feed.worker("ingest", None);
    wait_for_week(&feed, &mut everybody);
    ingest.signal("TERM");
    assert_eq!(ingest.wait(PATIENCE), Some(0), "{}", ingest.said());
    check_week(&feed);
}

/// Whether a release worker said last that it is active.
fn is_active(worker: &Worker) -> bool {
    let said = worker.said();
    said.rfind("active: releasing") > said.rfind("standing by:")
}

fn kill_the_active(workers: &mut Vec<Worker>) {
    let began = Instant::now();
    loop {
        if let Some(which) = workers.iter().position(is_active) {
            let mut active = workers.remove(which);
            active.signal("KILL");
            active.wait(PATIENCE);
            return;
        }
        assert!(began.elapsed() < PATIENCE, "nobody is active");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until one of the release workers has ended because the week is through.
fn wait_for_week(feed: &Feed, workers: &mut [Worker]) {
    let began = Instant::now();
    loop {
        for worker in workers.iter_mut() {
            if let Some(status) = worker.child.try_wait().unwrap() {
                assert_eq!(status.code(), Some(0), "{}", worker.said());
                return;
            }
        }
        let said: String = workers.iter().map(Worker::said).collect();
        assert!(began.elapsed() < PATIENCE, "{} is not through; they said:\n{said}", feed.name);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A worker that sleeps at a named point.
fn sleeper(feed: &Feed, role: &str, point: &str) -> Worker {
    feed.worker_with(role, &feed.config(), Some(("TAPVEIL_STOP_AT", point)))
}

/// Holds R-6.
#[test]
fn a_release_worker_that_wakes_up_after_its_successor_is_fenced() {
    let Some(brokers) = bootstrap() else { return };
    let points = ["release.frozen", "release.ledger:2", "release.reserved:3", "release.offsets:3"];
    std::thread::scope(|scope| {
        for point in points {
            let brokers = &brokers;
            scope.spawn(move || {
                let feed = week(brokers, 500);
                let _ingest = feed.worker("ingest", None);
                let mut zombie = sleeper(&feed, "release", point);
                wait_until_stopped(&mut zombie);
                let mut successor = feed.worker("release", None);
                successor.wait_for("active: releasing", PATIENCE);
                zombie.signal("CONT");
                let joins_again = zombie.comes_to("joining again:", PATIENCE);
                assert!(joins_again, "it ended instead: {}", zombie.said());
                // Having joined again, it may be given the partition: whoever has it finishes the week.
                wait_for_week(&feed, &mut [successor, zombie]);
                check_week(&feed);
            });
        }
    });
}

#[test]
fn an_ingest_worker_that_wakes_up_after_its_successor_adds_nothing() {
    let Some(brokers) = bootstrap() else { return };
    std::thread::scope(|scope| {
        for point in ["ingest.segments", "ingest.segments:3", "ingest.offsets"] {
            let brokers = &brokers;
            scope.spawn(move || {
                // No fixed instance: nobody fences the producer, only the group can.
                let feed = week(brokers, 500);
                let mut release = feed.worker("release", None);
                let mut zombie = sleeper(&feed, "ingest", point);
                wait_until_stopped(&mut zombie);
                let before = wait_for_members(&feed, &feed.name, 1, &[]);
                let _successor = feed.worker("ingest", None);
                wait_for_members(&feed, &feed.name, 1, &before);
                zombie.signal("CONT");
                assert_eq!(release.wait(PATIENCE), Some(0), "{}", release.said());
                check_week(&feed);
                let ended = zombie.child.try_wait().unwrap();
                assert!(ended.is_none(), "it goes on as a member, {ended:?}:\n{}", zombie.said());
            });
        }
    });
}

/// Its window is due while it sleeps, and nobody else is there. That it did nothing while it was stopped is no
/// standstill, also where that was longer than one may last.
#[test]
fn a_worker_that_slept_for_longer_than_its_session_releases_within_a_minute_of_waking() {
    let Some(brokers) = bootstrap() else { return };
    std::thread::scope(|scope| {
        // The broker gives members of the consumer protocol 45 s.
        for protocol in ["classic", "consumer"] {
            let brokers = &brokers;
            scope.spawn(move || {
                let live = arrivals::Live::new(brokers);
                let keys = "flush = \"1s\"\nstall_timeout = \"40s\"";
                let text = format!("{keys}\nprotocol = \"{protocol}\"");
                live.feed.edit("flush = \"1s\"", &text);
                let (mut worker, first) = live.open();
                live.crowd("early", &first, &[0]);
                let began = Instant::now();
                // The first says nothing: it is there before any tap.
                while live.records("segments").len() < 2 {
                    assert!(began.elapsed() < PATIENCE, "nothing comes in: {}", worker.said());
                }
                live.crowd("late", &first, &[0]);
                worker.signal("STOP");
                wait_until_stopped(&mut worker);
                std::thread::sleep(Duration::from_secs(50));
                worker.signal("CONT");
                worker.wait_for(&format!("released {first}:"), Duration::from_secs(60));
                live.assert_windows(&first, &first);
            });
        }
    });
}

/// Somebody else has taken its work over, which it must not touch.
#[test]
fn a_worker_that_slept_while_another_took_over_ends_well_within_a_minute_of_waking() {
    let Some(brokers) = bootstrap() else { return };
    let feed = week(&brokers, 100);
    let mut sleeper = feed.worker("all", None);
    sleeper.wait_for("released", PATIENCE);
    sleeper.signal("STOP");
    wait_until_stopped(&mut sleeper);
    let mut other = feed.worker("all", None);
    other.wait_for("active: releasing", PATIENCE);
    sleeper.signal("CONT");
    let began = Instant::now();
    // The week may be through before it is back: then both have ended well.
    while sleeper.child.try_wait().unwrap().is_none() || other.child.try_wait().unwrap().is_none() {
        let said = || format!("{}\n--\n{}", sleeper.said(), other.said());
        assert!(began.elapsed() < Duration::from_secs(60), "the week is not through:\n{}", said());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(sleeper.wait(PATIENCE), Some(0), "{}", sleeper.said());
    assert_eq!(other.wait(PATIENCE), Some(0), "{}", other.said());
    check_week(&feed);
}

#[test]
fn two_groups_on_the_same_topics_pay_once_for_each_window() {
    let Some(brokers) = bootstrap() else { return };
    let feed = week(&brokers, 500);
    let other = feed.path("city/other.toml");
    let text = std::fs::read_to_string(feed.config()).unwrap();
    let group = format!("group = \"{}\"", feed.name);
    assert!(text.contains(&group));
    std::fs::write(&other, text.replace(&group, &format!("group = \"{}-b\"", feed.name))).unwrap();
    let mut rivals = [feed.worker("release", None), feed.worker_with("release", &other, None)];
    let _ingest = feed.worker("ingest", None);
    // The one that comes too late may find its segments deleted and say so; the other goes on.
    let began = Instant::now();
    while !rivals.iter_mut().any(|one| one.wait_a_moment() == Some(0)) {
        let said: String = rivals.iter().map(Worker::said).collect();
        assert!(began.elapsed() < PATIENCE, "neither is through; they said:\n{said}");
    }
    check_week(&feed);
}

#[test]
fn a_worker_that_is_asked_to_stop_commits_what_it_has_and_the_next_goes_on() {
    let Some(brokers) = bootstrap() else { return };
    let feed = week(&brokers, 2_000);
    for name in ["INT", "TERM"] {
        let mut worker = feed.worker("all", None);
        worker.wait_for("released", PATIENCE);
        worker.signal(name);
        assert_eq!(worker.wait(Duration::from_secs(20)), Some(0), "{}", worker.said());
    }
    finish_and_check(&feed);
}

#[test]
fn a_second_interrupt_ends_the_process_at_once() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 10);
    // Nobody answers there: the first interrupt has something to wait for.
    feed.edit(&format!("brokers = \"{brokers}\""), "brokers = \"127.0.0.1:1\"");
    let mut worker = feed.worker("all", None);
    worker.wait_for("waiting for a broker", PATIENCE);
    worker.signal("INT");
    worker.wait_for("stopping:", PATIENCE);
    worker.signal("INT");
    assert_eq!(worker.wait(Duration::from_secs(5)), Some(130), "{}", worker.said());
}
