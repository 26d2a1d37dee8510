//! The way of a user who does everything right.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::support::{City, assert_same_tree, releases, run, tree};

const WEEK: &str = "20151109T0400_20151116T0400";

#[test]
fn a_city_becomes_a_release_that_verifies() {
    let city = City::new();
    let done = city.sanitize("out", &[]).code(0);
    assert!(done.out.contains("released") && done.out.contains("epsilon 20.0"), "{}", done.out);
    assert_eq!(releases(&city.path("out")), [WEEK]);
    let rows = fs::read_to_string(city.path("out").join(WEEK).join("paths.csv")).unwrap();
    assert!(rows.lines().count() > 20, "a release to compare has rows");
    let verified = city.verify("out").code(0);
    assert!(verified.out.contains(&format!("good  {WEEK}")), "{}", verified.out);
    city.verify(&format!("out/{WEEK}")).code(0);
}

/// Holds R-3.
#[test]
fn the_same_again_gives_the_same_bytes_at_no_cost() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    let (first, ledger) = (tree(&city.path("out")), city.ledger());
    let again = city.sanitize("out", &[]).code(0);
    assert!(again.out.contains("at no cost"), "{}", again.out);
    assert!(tree(&city.path("out")) == first);
    city.sanitize("elsewhere/deep/out", &[]).code(0);
    assert_same_tree(&city.path("out"), &city.path("elsewhere/deep/out"));
    assert_eq!(city.ledger(), ledger, "nothing was booked again");
    assert_eq!(city.spent_micro(), 20_000_000);
}

#[test]
fn a_lost_release_comes_back_as_it_was() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    let first = tree(&city.path("out"));
    fs::remove_dir_all(city.path("out")).unwrap();
    city.sanitize("out", &[]).code(0);
    assert!(tree(&city.path("out")) == first);
    fs::write(city.path("out").join(WEEK).join("report.html"), "spoiled").unwrap();
    city.verify("out").code(1);
    city.sanitize("out", &[]).code(0);
    assert!(tree(&city.path("out")) == first, "a spoiled one is replaced");
    assert_eq!(city.spent_micro(), 20_000_000);
}

#[test]
fn line_ends_and_the_order_of_lines_do_not_change_a_release() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    let text = fs::read_to_string(city.path("taps.csv")).unwrap();
    fs::write(city.path("crlf.csv"), text.replace('\n', "\r\n")).unwrap();
    city.sanitize_file("crlf.csv", "crlf", &[]).code(0);
    assert_same_tree(&city.path("out"), &city.path("crlf"));
    let (header, rows) = text.split_once('\n').unwrap();
    let mut backwards: Vec<&str> = rows.lines().rev().collect();
    backwards.extend(rows.lines().take(100));
    fs::write(city.path("mixed.csv"), format!("{header}\n{}", backwards.join("\n"))).unwrap();
    let mixed = city.sanitize_file("mixed.csv", "mixed", &["--json"]).code(0).json();
    assert_eq!(mixed["operator_only"]["duplicates"], 100, "duplicates count once");
    assert_same_tree(&city.path("out"), &city.path("mixed"));
    assert_eq!(city.spent_micro(), 20_000_000);
}

/// Four at once used to take each other's unfinished catalog away.
#[test]
fn feeds_that_release_into_one_directory_at_once_are_all_in_its_catalog() {
    let shared = tempfile::tempdir().unwrap();
    let out = shared.path().join("out");
    let names: Vec<String> = std::thread::scope(|scope| {
        let feed = |n: u32| {
            let out = out.clone();
            scope.spawn(move || {
                let city = City::generated(100);
                city.edit("length = \"7d\"", "length = \"1d\"");
                city.edit("from = \"2015-11-09\"", &format!("from = \"2015-11-{:02}\"", 9 + n));
                city.edit("to = \"2015-11-16\"", &format!("to = \"2015-11-{:02}\"", 10 + n));
                city.sanitize_into(&out).code(0);
                format!("201511{:02}T0400_201511{:02}T0400", 9 + n, 10 + n)
            })
        };
        let running: Vec<_> = (0..4).map(feed).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(releases(&out), names);
    let catalog: Value =
        serde_json::from_slice(&fs::read(out.join("catalog.json")).unwrap()).unwrap();
    let listed = catalog["releases"].as_array().unwrap().iter();
    assert_eq!(listed.map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let left = tree(&out);
    assert!(
        !left.keys().any(|path| path.to_string_lossy().contains("partial")),
        "{:?}",
        left.keys()
    );
    run(["verify", out.to_str().unwrap()]).code(0);
}

#[test]
fn windows_that_hold_no_tap_are_released_all_the_same() {
    let city = City::new();
    let range = ["--from", "2016-01-04", "--to", "2016-01-18", "--json"];
    let done = city.sanitize("out", &range).code(0).json();
    assert_eq!(done["windows"].as_array().unwrap().len(), 2);
    assert_eq!(done["operator_only"]["taps"], 0);
    let expected = ["20160104T0400_20160111T0400", "20160111T0400_20160118T0400"];
    assert_eq!(releases(&city.path("out")), expected);
    city.verify("out").code(0);
    assert_eq!(city.spent_micro(), 40_000_000, "an empty window costs as much as a full one");
}

#[test]
fn an_empty_file_is_an_answer_with_a_range_and_a_mistake_without() {
    let city = City::new();
    city.forget_range();
    let header = "card,station,time\n";
    let rejects = format!("{header}c,nowhere,2015-11-09T07:00:00\nc,L1-01,noon\n");
    for (name, text) in [("none.csv", ""), ("header.csv", header), ("bad.csv", &rejects)] {
        fs::write(city.path(name), text).unwrap();
        let (ledger, out) = (city.ledger(), format!("{name}-out"));
        let failed = city.sanitize_file(name, &out, &[]).code(2);
        assert_eq!(failed.complaints().len(), 1, "{}", failed.err);
        assert!(failed.err.contains("--from and --to"), "the remedy: {}", failed.err);
        assert_eq!(city.ledger(), ledger);
        assert!(!city.path(&out).exists());
    }
    let range = ["--from", "2015-11-09", "--to", "2015-11-16"];
    let garbage = city.sanitize_file("bad.csv", "out", &range).code(1);
    assert!(garbage.err.contains("Nothing was booked"), "{}", garbage.err);
    for name in ["none.csv", "header.csv"] {
        city.sanitize_file(name, "out", &range).code(0);
    }
    assert_eq!(city.spent_micro(), 20_000_000, "twice nothing is the same batch");
    city.verify("out").code(0);
}

/// More members may come; these are promised.
#[track_caller]
fn assert_members(value: &Value, promised: &[&str]) {
    for name in promised {
        assert!(value.get(name).is_some(), "{name} is not in {value}");
    }
}

#[test]
fn json_outputs_have_the_documented_members() {
    let city = City::new();
    let done = city.sanitize("out", &["--json"]).code(0);
    assert_eq!(done.out.lines().count(), 1, "one line for machines");
    let done = done.json();
    assert_members(&done, &["operator_only", "spent_micro", "windows"]);
    assert_members(&done["windows"][0], &["epsilon_micro", "outcome", "path", "window"]);
    assert_eq!(done["windows"][0]["outcome"], "released");
    assert_eq!(done["spent_micro"], 20_000_000);
    assert_members(&done["operator_only"], &["duplicates", "rejects", "taps"]);
    let config = city.config();
    let config = config.to_str().unwrap();
    let out = city.path("out");
    let verified = run(["verify", "--json", out.to_str().unwrap()]).code(0).json();
    assert_members(&verified, &["catalog", "notes", "releases", "sound"]);
    assert_eq!(verified["sound"], true);
    assert_members(&verified["releases"][0], &["name", "problems", "release_id"]);
    let booked = city.booked();
    assert_members(&booked, &["entries", "feed", "made", "spent_micro", "torn_bytes"]);
    assert_eq!(booked["entries"][0]["settled"], true);
    let whole = run(["ledger", "verify", "--json", "-c", config]).code(0).json();
    assert_eq!((&whole["whole"], &whole["records"]), (&true.into(), &3.into()));
    let checked = run(["check", "--json", "-c", config]).code(0).json();
    assert_eq!(checked["stations"], 68);
    assert_eq!(checked["config_sha256"], booked["entries"][0]["config_sha256"]);
    city.edit("height = 4\n", "height = 3\n");
    let refused = city.sanitize("out", &["--json"]).code(1).json();
    assert_members(&refused["windows"][0], &["message", "outcome", "reason", "window"]);
    assert_eq!(refused["windows"][0]["reason"], "repeat");
}

/// Holds F-2.
#[test]
fn no_card_is_in_a_release_or_in_what_the_program_says() {
    let city = City::new();
    let taps = fs::read_to_string(city.path("taps.csv")).unwrap();
    let cards: BTreeSet<&[u8]> =
        taps.lines().skip(1).map(|line| line.split(',').next().unwrap().as_bytes()).collect();
    assert_eq!(cards.len(), 3_000);
    let length = cards.first().unwrap().len();
    assert!(cards.iter().all(|card| card.len() == length), "all ids have one length");
    let mut said = city.sanitize("out", &[]).code(0);
    let metrics = city.path("metrics");
    let again = city.sanitize("out", &["--metrics", metrics.to_str().unwrap()]).code(0);
    said.out += &(again.out + &again.err + &city.verify("out").out + &city.booked().to_string());
    let mut places = tree(&city.path("out"));
    places.insert("what was said".into(), Some((said.out + &said.err).into_bytes()));
    places.insert("the metrics".into(), Some(fs::read(metrics).unwrap()));
    places.insert("the ledger".into(), Some(city.ledger()));
    let holds = |bytes: &[u8]| bytes.windows(length).any(|piece| cards.contains(piece));
    assert!(holds(taps.as_bytes()), "the search finds what is there");
    for (path, bytes) in places {
        assert!(!bytes.is_some_and(|bytes| holds(&bytes)), "{} names a card", path.display());
    }
}

/// Exact numbers: never for everybody on the machine, also where an earlier version left the file open.
#[test]
fn the_metrics_of_a_run_are_not_for_everybody() {
    use std::os::unix::fs::PermissionsExt;
    let city = City::generated(50);
    let [new, old] = ["new", "old"].map(|name| city.path(name));
    fs::write(&old, "").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o644)).unwrap();
    for path in [&new, &old] {
        city.sanitize("out", &["--metrics", path.to_str().unwrap()]).code(0);
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o607, 0o600, "{} has mode {mode:o}", path.display());
        assert!(fs::read_to_string(path).unwrap().contains("tapveil_"));
    }
}

/// Every engine over the tree, from taps to a release that verifies; sequences carry no times anywhere.
#[test]
fn every_engine_makes_a_release_that_verifies() {
    let over = |input: &str| format!("height = 3\ninput = \"{input}\"\n");
    let grouped = |input: &str| over(input) + "taxonomy.locations = \"lines\"\n";
    for (name, input, keys) in [
        ("hybrid", "sequences", grouped("sequences")),
        ("hybrid", "doublets", grouped("doublets")),
        ("simple", "sequences", over("sequences")),
        ("seqpt", "doublets", "height = 3\n".to_owned()),
        ("ngram", "sequences", "longest = 4\n".to_owned()),
        ("ngram", "doublets", "input = \"doublets\"\n".to_owned()),
    ] {
        let city = City::new();
        let chosen = format!("name = \"{name}\"\nepsilon = \"20.0\"\n[engine.{name}]\n{keys}");
        city.edit("name = \"safepath\"\nepsilon = \"20.0\"\n", &chosen);
        city.sanitize("out", &[]).code(0);
        city.verify("out").code(0);
        let release = city.path("out").join(WEEK);
        let rows = fs::read_to_string(release.join("paths.csv")).unwrap();
        assert!(rows.lines().count() > 20, "{name} over {input} shows rows");
        assert_eq!(rows.contains('@'), input == "doublets", "a slot only where there are times");
        let package: Value =
            serde_json::from_slice(&fs::read(release.join("datapackage.json")).unwrap()).unwrap();
        assert_eq!(package["privacy"]["engine"]["name"], name);
        assert!(package["privacy"]["shares"].as_array().is_some_and(|shares| !shares.is_empty()));
        assert!(!release.join("od.csv").exists(), "{name} measures no trips");
        let config = city.config();
        let checked = run(["check", "-c", config.to_str().unwrap()]).code(0).out;
        assert!(checked.contains("budget split") && checked.contains(name), "{checked}");
    }
}

#[test]
fn an_audit_tells_machines_what_it_found() {
    let audited = run(["audit", "--engine", "hybrid", "--json"]).code(0);
    assert_eq!(audited.out.lines().count(), 1, "one line for machines");
    let found = audited.json();
    assert_eq!(found["sound"], true);
    assert_members(&found, &["alpha", "engines", "mutants", "pairs", "power", "whole"]);
    for engine in found["engines"].as_array().unwrap() {
        assert_members(engine, &["epsilon_micro", "input", "lower_bound", "samples"]);
        assert_eq!((&engine["engine"], &engine["verdict"]), (&"hybrid".into(), &"holds".into()));
        let claimed = engine["epsilon_micro"].as_f64().unwrap() / 1e6;
        assert!(engine["lower_bound"].as_f64().unwrap() <= claimed, "{engine}");
    }
    let mutants = found["mutants"].as_array().unwrap();
    assert_eq!(mutants.len(), 25);
    for mutant in mutants {
        assert_eq!(mutant["verdict"], "caught", "{mutant}");
        // Forms broken in their own way are shown to the recorded audit alone.
        let n_audits = if mutant["samples"] == 0 { 1 } else { 2 };
        assert_eq!(mutant["caught_by"].as_array().unwrap().len(), n_audits, "{mutant}");
    }
    let whole = found["whole"].as_array().unwrap();
    let verdicts: Vec<&Value> = whole.iter().map(|one| &one["verdict"]).collect();
    assert_eq!(verdicts, ["holds", "caught", "caught", "caught"]);
    let power = found["power"]["smallest_found"].as_f64().unwrap();
    assert!((1.0..=1.1).contains(&power), "{}", found["power"]);
    let unknown = run(["audit", "--engine", "lk"]).code(2);
    assert!(
        unknown.complaints()[0].contains("safepath, hybrid, simple, seqpt, ngram"),
        "{}",
        unknown.err
    );
}

/// The same trips as TIDES transactions, with purchases between them that are no taps.
#[test]
fn a_file_of_tides_transactions_becomes_a_release() {
    let city = City::new();
    let config = fs::read_to_string(city.config()).unwrap();
    let is_kept = |line: &&str| !line.starts_with("fields = ");
    let config: Vec<&str> = config.lines().filter(is_kept).collect();
    fs::write(city.config(), config.join("\n").replace("\"csv\"", "\"tides\"")).unwrap();
    let taps = fs::read_to_string(city.path("taps.csv")).unwrap();
    let mut rows =
        vec!["transaction_id,event_timestamp,amount,fare_action,stop_id,token_id".to_owned()];
    let mut lines = vec![];
    for (n, row) in taps.lines().skip(1).enumerate() {
        let [card, station, time] = row.split(',').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let action = if n % 2 == 0 { "Enter" } else { "Exit" };
        rows.push(format!("t{n},{time},2.5,{action},{station},{card}"));
        rows.push(format!("p{n},{time},20,Purchase,NA,{card}"));
        lines.push(format!(
            "{{\"fare_action\":\"{action}\",\"token_id\":\"{card}\",\"stop_id\":\"{station}\",\
             \"event_timestamp\":\"{time}\",\"amount\":2.5}}"
        ));
    }
    fs::write(city.path("tides.csv"), rows.join("\n")).unwrap();
    fs::write(city.path("tides.jsonl"), lines.join("\n")).unwrap();
    let n_taps = lines.len();
    let done = city.sanitize_file("tides.csv", "out", &["--json"]).code(0).json();
    assert_eq!(done["operator_only"]["taps"], n_taps);
    assert_eq!(done["operator_only"]["rejects"]["filtered"], n_taps);
    city.verify("out").code(0);
    // As JSON they are the same taps: the same bytes, at no cost.
    let again = city.sanitize_file("tides.jsonl", "again", &["--json"]).code(0).json();
    assert_eq!(again["operator_only"]["rejects"]["filtered"], 0);
    assert_same_tree(&city.path("out"), &city.path("again"));
}

/// A file without a header begins with somebody's card: no message shows it.
#[test]
fn a_complaint_about_a_header_shows_no_card() {
    let city = City::new();
    fs::write(city.path("bare.csv"), "4711,L1-01,2015-11-09T07:00:00\n").unwrap();
    let refused = city.sanitize_file("bare.csv", "out", &[]).code(2);
    assert!(refused.err.contains("line 1: the header must have the columns card, station, time"));
    assert!(!refused.err.contains("4711") && !refused.err.contains("L1-01"), "{}", refused.err);
}
