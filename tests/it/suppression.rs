//! The engines that suppress, through the program: what is released, what is refused, what is recorded.

use std::fs;

use crate::support::{City, assert_same_tree, run, tree};

const WEEK: &str = "20151109T0400_20151116T0400";

const NOISY: &str = "name = \"safepath\"\nepsilon = \"20.0\"\n\n[engine.safepath]\nheight = 4\nthreshold = \"own-noise\"\n\
                     # Every taxonomy level gets the same share; \"paper\" starves the time taxonomy at 168 slots.\n\
                     allocation = \"even\"\n\n[engine.safepath.taxonomy]\nlocations = { fanout = 2, height = 3 }\n\
                     times = { fanout = 2, height = 3 }\n";

/// A week of a city, released by this engine.
fn city(engine: &str) -> City {
    let city = City::new();
    city.edit(NOISY, engine);
    city
}

fn manifest(city: &City, out: &str) -> serde_json::Value {
    let path = city.path(out).join(WEEK).join("datapackage.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Holds X-3.
#[test]
fn lk_releases_verify_and_come_again_as_they_were() {
    let city = city("name = \"lk\"\n[engine.lk]\nl = 3\nk = 10\n");
    let done = city.sanitize("out", &[]).code(0);
    assert!(done.out.contains("no epsilon"), "{}", done.out);
    let guarantee = &manifest(&city, "out")["privacy"]["guarantee"];
    assert_eq!((&guarantee["model"], &guarantee["dp"]), (&"lk".into(), &false.into()));
    assert_eq!((&guarantee["L"], &guarantee["K"]), (&3.into(), &10.into()));
    let unprotected = guarantee["not_protected"].to_string();
    assert!(unprotected.contains("several windows"), "{unprotected}");
    let rows = fs::read_to_string(city.path("out").join(WEEK).join("paths.csv")).unwrap();
    assert!(rows.lines().count() > 20, "a release to compare has rows");
    let readme = fs::read_to_string(city.path("out").join(WEEK).join("README.md")).unwrap();
    assert!(readme.contains("L = 3 and K = 10") && !readme.contains("noise"), "{readme}");
    city.verify("out").code(0);
    let ledger = city.ledger();
    city.sanitize("again", &[]).code(0);
    assert_same_tree(&city.path("out"), &city.path("again"));
    assert_eq!(city.ledger(), ledger, "recorded once");
    let booked = city.booked();
    assert_eq!(booked["entries"][0]["differential"], false);
    assert_eq!(city.spent_micro(), 0);
    let config = city.config();
    let shown = run(["ledger", "show", "-c", config.to_str().unwrap()]).code(0);
    assert!(shown.out.contains("suppression"), "{}", shown.out);
}

#[test]
fn suppression_and_noise_are_never_released_of_the_same_window() {
    let lk = "name = \"lk\"\n[engine.lk]\nl = 2\nk = 10\n";
    let city = City::new();
    city.sanitize("noisy", &[]).code(0);
    city.edit(NOISY, lk);
    let (before, ledger) = (tree(&city.path("noisy")), city.ledger());
    let refused = city.sanitize("suppressed", &["--json"]).code(1).json();
    assert_eq!(refused["windows"][0]["reason"], "mixed");
    assert!(!city.path("suppressed").exists());
    // Part of the time is enough.
    city.edit("length = \"7d\"", "length = \"1d\"");
    let refused = city.sanitize("suppressed", &["--json"]).code(1).json();
    assert_eq!(refused["windows"][3]["reason"], "mixed");
    assert_eq!(city.ledger(), ledger);
    assert!(tree(&city.path("noisy")) == before);
    let city = City::new();
    city.edit(NOISY, lk);
    city.sanitize("suppressed", &[]).code(0);
    city.edit("k = 10", "k = 11");
    let refused = city.sanitize("other", &["--json"]).code(1).json();
    assert_eq!(refused["windows"][0]["reason"], "repeat", "once per window");
    city.edit("name = \"lk\"\n[engine.lk]\nl = 2\nk = 11\n", NOISY);
    let refused = city.sanitize("noisy", &["--json"]).code(1).json();
    assert_eq!(refused["windows"][0]["reason"], "mixed");
}

#[test]
fn a_k_above_the_window_gives_an_empty_release_that_says_so() {
    let city = city("name = \"lk\"\n[engine.lk]\nl = 2\nk = 4000\n");
    let done = city.sanitize("out", &[]).code(0);
    assert!(done.out.contains("everything was suppressed"), "{}", done.out);
    let words = manifest(&city, "out")["privacy"]["post_processing"].to_string();
    assert!(words.contains("empty"), "{words}");
    city.verify("out").code(0);
}

#[test]
fn a_k_of_one_is_refused_and_released_without_a_guarantee_only_on_demand() {
    let city = city("name = \"lk\"\n[engine.lk]\nl = 2\nk = 1\n");
    let refused = city.sanitize("out", &[]).code(2);
    assert!(refused.err.contains("nobody is protected"), "{}", refused.err);
    city.edit("k = 1\n", "k = 1\nallow_unsound = true\n");
    city.sanitize("out", &[]).code(0);
    assert_eq!(manifest(&city, "out")["privacy"]["guarantee"]["model"], "none");
    city.verify("out").code(0);
}

/// A careful forger fits every digest to what he adds; the promise itself gives him away.
#[test]
fn rows_that_break_the_promise_are_found_from_the_directory_alone() {
    let city = city("name = \"lk\"\n[engine.lk]\nl = 3\nk = 10\n");
    city.sanitize("out", &[]).code(0);
    let text = fs::read_to_string(city.path("out").join(WEEK).join("datapackage.json")).unwrap();
    let raised = text.replace("\"K\": 10", "\"K\": 1000");
    assert_ne!(raised, text);
    fs::write(city.path("out").join(WEEK).join("datapackage.json"), raised).unwrap();
    let found = city.verify("out").code(1);
    assert!(found.out.contains("paths.csv: breaks the guarantee"), "{}", found.out);
}

#[test]
fn a_card_with_thousands_of_taps_is_refused_in_words_or_released() {
    let city = city("name = \"lk\"\n[engine.lk]\nl = 3\nk = 2\nmax_work = 5000000\n");
    city.edit("slot = \"1d\"", "slot = \"1h\"");
    city.edit("max_length = 12\n", "");
    let stations = fs::read_to_string(city.path("stations.csv")).unwrap();
    let ids: Vec<&str> =
        stations.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    let mut taps = "card,station,time\n".to_owned();
    for card in ["one", "other"] {
        for tap in 0..3_000_usize {
            let (day, hour) = (9 + tap / 600, 5 + tap / 40 % 15);
            let (minute, second) = (tap / 60 % 60, tap % 60);
            let id = ids[tap * 7 % ids.len()];
            taps += &format!("{card},{id},2015-11-{day:02}T{hour:02}:{minute:02}:{second:02}\n");
        }
    }
    fs::write(city.path("long.csv"), taps).unwrap();
    let ledger = city.ledger();
    let refused = city.sanitize_file("long.csv", "out", &[]).code(2);
    assert!(refused.err.contains("engine.lk.max_work = 5000000"), "{}", refused.err);
    assert!(refused.err.contains("window.max_length"), "the remedy: {}", refused.err);
    assert_eq!(city.ledger(), ledger, "nothing is booked");
    city.edit("day_start = \"04:00\"", "day_start = \"04:00\"\nmax_length = 60");
    city.sanitize_file("long.csv", "out", &[]).code(0);
    city.verify("out").code(0);
}

#[test]
fn projections_are_released_by_line_and_verify() {
    let by_line = "name = \"projection\"\n[engine.projection]\nbreach = \"0.5\"\ninput = \"sequences\"\nadversaries = \"line\"\n";
    let city = city(by_line);
    city.sanitize("out", &[]).code(0);
    city.sanitize("again", &[]).code(0);
    assert_same_tree(&city.path("out"), &city.path("again"));
    let guarantee = &manifest(&city, "out")["privacy"]["guarantee"];
    assert_eq!((&guarantee["model"], &guarantee["dp"]), (&"projection".into(), &false.into()));
    assert_eq!(guarantee["P_br"], "0.5");
    assert!(guarantee["adversaries"].as_object().unwrap().len() > 1);
    let rows = fs::read_to_string(city.path("out").join(WEEK).join("paths.csv")).unwrap();
    assert!(rows.lines().count() > 20 && !rows.contains('@'), "places without times");
    city.verify("out").code(0);
    let manifest = city.path("out").join(WEEK).join("datapackage.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"P_br\": \"0.5\"", "\"P_br\": \"0.01\"")).unwrap();
    let found = city.verify("out").code(1);
    assert!(found.out.contains("paths.csv: breaks the guarantee"), "{}", found.out);
}
