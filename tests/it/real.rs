//! Real taps, where they are at hand: they are nobody's to copy, so they stay outside the repository.

use std::path::{Path, PathBuf};

use crate::support::{Run, assert_same_tree, program, releases, run, skipped};

fn mibici() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    [beside, PathBuf::from("/work/shared/data")]
        .into_iter()
        .map(|data| data.join("mibici"))
        .find(|dir| dir.join("taps.csv").is_file() && dir.join("stations.csv").is_file())
}

#[test]
fn a_day_of_a_real_city_becomes_the_same_release_twice() {
    let Some(data) = mibici() else {
        skipped("the taps of MiBici are not here (../shared/data/mibici)");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let feed = dir.path().join("feed");
    run(["init", feed.to_str().unwrap()]).code(0);
    let config = feed.join("tapveil.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let stations = data.join("stations.csv");
    let text = text
        .replace("time_zone = \"UTC\"", "time_zone = \"America/Mexico_City\"")
        .replace("file = \"stations.csv\"", &format!("file = {:?}", stations.to_str().unwrap()));
    std::fs::write(&config, text).unwrap();
    let sanitize = |out: &str| {
        let mut command = program();
        command.arg("sanitize").arg("--json").arg("--taps").arg(data.join("taps.csv"));
        command.arg("--config").arg(&config).arg("--out").arg(dir.path().join(out));
        Run::of(command.output().unwrap()).code(0).json()
    };
    let first = sanitize("one");
    let n_windows = first["windows"].as_array().unwrap().len() as u64;
    assert!(n_windows > 0);
    assert_eq!(first["spent_micro"], n_windows * 1_000_000);
    let again = sanitize("two");
    assert_eq!(again["spent_micro"], first["spent_micro"]);
    assert_eq!(again["operator_only"], first["operator_only"]);
    assert_same_tree(&dir.path().join("one"), &dir.path().join("two"));
    assert_eq!(releases(&dir.path().join("one")).len() as u64, n_windows);
    run(["verify", dir.path().join("one").to_str().unwrap()]).code(0);
}
