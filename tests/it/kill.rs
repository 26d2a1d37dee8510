//! A machine that stops at any moment.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::support::{City, Run, program, releases, run, tree};

const WINDOWS: u64 = 7;
const KILLS_A_ROUND: u32 = 5;

pub(crate) fn number_from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Seven days, one window each.
fn week_of_days() -> City {
    let city = City::generated(400);
    city.edit("length = \"7d\"", "length = \"1d\"");
    city.edit("slot = \"1h\"", "slot = \"6h\"");
    city.edit("height = 4", "height = 2");
    city.edit("cap = \"7.0\"", "cap = \"70.0\"");
    city.edit("epsilon = \"1.0\"", "epsilon = \"10.0\"");
    city
}

/// The directory name of a ledger entry's window.
fn name_of(entry: &serde_json::Value) -> String {
    let moment = |member: &str| {
        let instant: Timestamp = entry[member].as_str().unwrap().parse().unwrap();
        let local = instant.in_tz("America/Toronto").unwrap();
        local.strftime("%Y%m%dT%H%M").to_string()
    };
    format!("{}_{}", moment("start"), moment("end"))
}

/// What must hold at any moment at all; gives how many windows are settled.
fn check(city: &City) -> usize {
    let verify = ["ledger", "verify", "--config"].map(OsStr::new);
    run(verify.into_iter().chain([city.config().as_os_str()])).code(0);
    let booked: BTreeMap<String, bool> = city.booked()["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (name_of(entry), entry["settled"].as_bool().unwrap()))
        .collect();
    let there: BTreeSet<String> = releases(&city.path("out")).into_iter().collect();
    for release in &there {
        assert!(booked.contains_key(release), "{release} is there and was never paid for");
    }
    for (window, _) in booked.iter().filter(|(_, settled)| **settled) {
        assert!(there.contains(window), "{window} is settled and not there");
    }
    if !there.is_empty() {
        city.verify("out").code(0);
    }
    booked.values().filter(|settled| **settled).count()
}

fn kill_after(city: &City, delay: Duration) -> bool {
    let mut command = program();
    command.arg("sanitize").arg("--taps").arg(city.path("taps.csv"));
    command.arg("--config").arg(city.config()).arg("--out").arg(city.path("out"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(delay);
    // SIGKILL: nothing of the program runs after it.
    child.kill().unwrap();
    child.wait().unwrap().code().is_none()
}

#[test]
#[expect(clippy::print_stdout, reason = "a failure must show its seed")]
fn a_kill_at_any_moment_spends_nothing_twice_and_loses_nothing() {
    let n_kills = if number_from_env("TAPVEIL_LONG") == Some(1) { 100 } else { 25 };
    let seed = number_from_env("TAPVEIL_SEED").unwrap_or(20_151_109);
    println!("seed {seed} (TAPVEIL_SEED), {n_kills} kills (TAPVEIL_LONG=1 for 100)");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let city = week_of_days();
    let fresh = city.ledger();
    city.sanitize("reference", &[]).code(0);
    let reference = tree(&city.path("reference"));
    assert_eq!(releases(&city.path("reference")).len() as u64, WINDOWS);
    let (mut struck, mut halfway) = (0, 0);
    for _ in 0..n_kills / KILLS_A_ROUND {
        // A new beginning, for whoever remembers the old one too.
        fs::write(city.path("tapveil.ledger"), &fresh).unwrap();
        fs::remove_file(city.path("tapveil.secret.head")).unwrap();
        fs::remove_dir_all(city.path("out")).ok();
        for _ in 0..KILLS_A_ROUND {
            let delay = Duration::from_micros(u64::from(random.next_u32() % 120_000));
            struck += u32::from(kill_after(&city, delay));
            let settled = check(&city);
            halfway += u32::from(0 < settled && settled < 7);
        }
        let done: Run = city.sanitize("out", &[]).code(0);
        assert!(!done.out.contains("withheld"), "{}", done.out);
        assert!(tree(&city.path("out")) == reference, "the bytes of a run that nobody killed");
        assert_eq!(city.spent_micro(), WINDOWS * 10_000_000);
        assert_eq!(check(&city) as u64, WINDOWS);
    }
    println!("{struck} kills struck a running program, {halfway} left some windows settled");
    assert!(struck > 0, "at least one kill came in time");
}
