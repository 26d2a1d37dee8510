//! The service on a real broker, killed: at every named point, and at random moments.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::broker::{bootstrap, is_long};
use crate::history::{
    PATIENCE, assert_aborted_are_the_same, finish_and_check, name_the_instance, week,
};
use crate::kill::number_from_env;
use crate::service::Feed;

/// Every step of both roles. Each list is gone through on a feed of its own; what completes a window comes last.
const POINTS: [&[&str]; 4] = [
    &["ingest.segments", "release.frozen", "release.ledger", "release.reserved", "release.made"],
    &["ingest.segments:3", "release.published", "release.releases", "release.committed"],
    &["ingest.offsets", "release.ledger:2", "release.offsets", "release.deleted"],
    &["ingest.committed", "release.reserved:2", "release.offsets:2", "release.committed:2"],
];

/// Starts the service, which dies at each of these points in turn, and then once more without.
fn die_at(feed: &Feed, points: &[&str]) {
    for point in points {
        let mut worker = feed.worker("all", Some(point));
        assert_eq!(worker.wait(PATIENCE), None, "{point} was not reached:\n{}", worker.said());
    }
    finish_and_check(feed);
}

#[test]
fn whoever_dies_at_any_step_leaves_each_window_released_once() {
    let Some(brokers) = bootstrap() else { return };
    let n_aborted: usize = std::thread::scope(|scope| {
        let feeds = POINTS.map(|points| {
            let brokers = &brokers;
            scope.spawn(move || {
                let feed = week(brokers, 2_000);
                name_the_instance(&feed);
                die_at(&feed, points);
                assert_aborted_are_the_same(&feed)
            })
        });
        feeds.into_iter().map(|feed| feed.join().unwrap()).sum()
    });
    assert!(n_aborted > 0, "somebody died with a release under way");
}

/// Without a fixed instance nobody can end what the dead worker left open: the brokers do, when its time is over.
#[test]
fn an_open_transaction_of_a_dead_worker_only_costs_time() {
    let Some(brokers) = bootstrap() else { return };
    die_at(&week(&brokers, 500), &["ingest.offsets"]);
}

#[expect(clippy::print_stdout, reason = "a failure must show its seed")]
#[test]
fn whoever_is_killed_at_random_moments_leaves_each_window_released_once() {
    let Some(brokers) = bootstrap() else { return };
    let kills = number_from_env("TAPVEIL_KILLS").unwrap_or(if is_long() { 1_000 } else { 16 });
    let (n_lanes, kills_a_lane) = (8, u32::try_from(kills / 8).unwrap());
    let seed = number_from_env("TAPVEIL_SEED").unwrap_or(20_151_109);
    println!("seed {seed} (TAPVEIL_SEED)");
    std::thread::scope(|scope| {
        for lane in 0..n_lanes {
            let brokers = &brokers;
            scope.spawn(move || {
                let mut random = ChaCha8Rng::seed_from_u64(seed + lane);
                let mut left = kills_a_lane;
                while left > 0 {
                    left -= kill_one_feed(brokers, &mut random, left);
                }
            });
        }
    });
}

/// Kills the workers of one feed until the week is through, at most so often; gives how often.
fn kill_one_feed(brokers: &str, random: &mut ChaCha8Rng, at_most: u32) -> u32 {
    let feed = week(brokers, 1_000);
    name_the_instance(&feed);
    let mut below = |n: u32| u64::from(random.next_u32() % n);
    let mut n_kills = 0;
    while n_kills < at_most {
        let mut worker = feed.worker("all", None);
        // Most of a life is spent waiting for the group; most kills shall fall into what comes then.
        if below(4) > 0 && !worker.comes_to("active:", PATIENCE) {
            break;
        }
        std::thread::sleep(Duration::from_millis(below(1_500)));
        if worker.child.try_wait().unwrap().is_some() {
            break;
        }
        worker.signal("KILL");
        worker.wait(PATIENCE);
        n_kills += 1;
    }
    finish_and_check(&feed);
    n_kills
}
