//! The promises of suppression on real taps and real sequences, where they are at hand.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Run, assert_same_tree, program, run, skipped};

fn shared(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let found = [beside, PathBuf::from("/work/shared/data")]
        .into_iter()
        .map(|data| data.join(name))
        .find(|path| path.exists());
    if found.is_none() {
        skipped(&format!("{name} is not here (../shared/data)"));
    }
    found
}

/// A feed whose engine and window stand in the text; sanitizes, verifies, and gives what was said.
fn release(dir: &Path, stations: &Path, taps: &Path, rest: &str, out: &str) -> serde_json::Value {
    let feed = dir.join(format!("feed-{out}"));
    run(["init", feed.to_str().unwrap()]).code(0);
    let config = feed.join("tapveil.toml");
    let text = format!(
        "[secret]\nfile = \"tapveil.secret\"\n[ledger]\nfile = \"tapveil.ledger\"\n[feed]\nformat = \"csv\"\n\
         time_zone = \"America/Mexico_City\"\n[stations]\nfile = {stations:?}\n{rest}"
    );
    fs::write(&config, text).unwrap();
    let mut command = program();
    command.args(["sanitize", "--json", "--taps"]).arg(taps).arg("--config").arg(&config);
    command.arg("--out").arg(dir.join(out));
    let done = Run::of(command.output().unwrap()).code(0).json();
    run(["verify", dir.join(out).to_str().unwrap()]).code(0);
    done
}

#[test]
fn lk_keeps_its_promise_on_a_real_week_and_its_days() {
    let Some(data) = shared("mibici") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (stations, taps) = (data.join("stations.csv"), data.join("taps.csv"));
    for length in ["7d", "1d"] {
        for (l, k) in [(1, 2), (1, 50), (2, 2), (2, 10), (3, 2), (3, 50)] {
            let rest = format!(
                "[window]\nlength = {length:?}\n[engine]\nname = \"lk\"\n[engine.lk]\nl = {l}\nk = {k}\n"
            );
            let out = format!("{length}-{l}-{k}");
            let done = release(dir.path(), &stations, &taps, &rest, &out);
            let windows = done["windows"].as_array().unwrap();
            // A week of taps that begins at midnight touches the service week, and day, before.
            assert_eq!(windows.len(), if length == "7d" { 2 } else { 8 });
            let rows: u64 = windows.iter().map(|window| window["rows"].as_u64().unwrap()).sum();
            // Hardly a place has fifty riders in an hour.
            assert!(rows > 0 || k == 50, "{out}: something is left");
        }
    }
}

#[test]
fn whole_trajectories_of_a_real_week_are_shared() {
    let Some(data) = shared("mibici") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (stations, taps) = (data.join("stations.csv"), data.join("taps.csv"));
    let rest = "[window]\nlength = \"7d\"\n[engine]\nname = \"lk\"\n[engine.lk]\nl = 200\nk = 3\n";
    for out in ["one", "two"] {
        release(dir.path(), &stations, &taps, rest, out);
    }
    let rows = |out: &str| {
        let window = fs::read_dir(dir.path().join(out)).unwrap().map(|entry| entry.unwrap().path());
        let window = window.into_iter().find(|path| path.is_dir()).unwrap();
        fs::read(window.join("paths.csv")).unwrap()
    };
    assert_eq!(rows("one"), rows("two"), "another secret gives the same rows");
}

/// One line a card, one tap a minute, so that sequences become taps.
fn as_taps(file: &Path, most: usize) -> (String, String, Vec<String>) {
    let text = fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().take(most).collect();
    let mut ids: Vec<String> =
        lines.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect();
    ids.sort();
    ids.dedup();
    let mut taps = "card,station,time\n".to_owned();
    for (card, line) in lines.iter().enumerate() {
        for (at, id) in line.split_whitespace().take(1_000).enumerate() {
            let (hour, minute) = (5 + at / 60, at % 60);
            taps += &format!("c{card},{id},2015-11-10T{hour:02}:{minute:02}:00\n");
        }
    }
    (taps, format!("id\n{}\n", ids.join("\n")), ids)
}

#[test]
fn projections_keep_their_promise_on_real_sequences() {
    let Some(data) = shared("sequences") else { return };
    for (name, most) in [("bms_webview_1.txt", 10_000), ("msnbc_cut.txt", 1_500)] {
        let dir = tempfile::tempdir().unwrap();
        let (taps, stations, ids) = as_taps(&data.join(name), most);
        let [taps_at, stations_at] = ["taps.csv", "stations.csv"].map(|file| dir.path().join(file));
        fs::write(&taps_at, taps).unwrap();
        fs::write(&stations_at, stations).unwrap();
        let owned = |number: usize| {
            let own: Vec<&String> = ids.iter().skip(number).step_by(5).collect();
            format!("A{number} = {own:?}")
        };
        let adversaries: Vec<String> = (0..5).map(owned).collect();
        let rest = format!(
            "[engine]\nname = \"projection\"\n[engine.projection]\nbreach = \"0.5\"\ninput = \"sequences\"\n\
             adversaries = {{ {} }}\n",
            adversaries.join(", ")
        );
        let done = release(dir.path(), &stations_at, &taps_at, &rest, "one");
        assert!(done["windows"][0]["rows"].as_u64().unwrap() > 0, "{name}: something is left");
        let mut again = program();
        again.args(["sanitize", "--taps"]).arg(&taps_at).arg("--config");
        again
            .arg(dir.path().join("feed-one/tapveil.toml"))
            .arg("--out")
            .arg(dir.path().join("two"));
        Run::of(again.output().unwrap()).code(0);
        assert_same_tree(&dir.path().join("one"), &dir.path().join("two"));
    }
}
