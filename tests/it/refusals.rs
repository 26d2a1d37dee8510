//! What the program refuses: the right exit code, the right words, and nothing written.

use std::fs::{self, File};
use std::process::{Child, Stdio};

use crate::support::{City, Run, program, releases, run, tree};

#[test]
fn init_and_generate_never_overwrite() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let place = dir.join("feed");
    let place = place.to_str().unwrap();
    run(["init", place]).code(0);
    let first = tree(dir);
    let again = run(["init", place]).code(2);
    assert!(
        again.complaints().len() == 1 && again.err.contains("never overwrites"),
        "{}",
        again.err
    );
    let generated = run(["generate", "--preset", "metro", "--cards", "9", "--out", place]).code(2);
    assert!(generated.err.contains("never overwrites"), "{}", generated.err);
    assert!(tree(dir) == first);
    for name in ["tapveil.toml", "tapveil.ledger", "tapveil.secret"] {
        let lone = dir.join(format!("with-{name}"));
        fs::create_dir(&lone).unwrap();
        fs::write(lone.join(name), "mine").unwrap();
        run(["init", lone.to_str().unwrap()]).code(2);
        assert_eq!(tree(&lone).len(), 1, "one file that is there keeps all others away");
    }
}

/// A complaint says where a secret stands and under which key, never what it is.
#[test]
fn no_complaint_shows_a_secret() {
    let city = City::new();
    let good = fs::read_to_string(city.config()).unwrap();
    let properties = |line: &str| {
        format!("{good}\n[kafka]\nbrokers = \"127.0.0.1:9\"\n[kafka.properties]\n{line}\n")
    };
    for (line, said) in [
        // A quote is missing: it is not TOML.
        ("\"sasl.password\" = \"hunter2hunter2", "it is not TOML"),
        ("\"sasl.password\" = hunter2hunter2", "it is not TOML"),
        ("\"sasl.pasword\" = \"hunter2hunter2\"", "kafka.properties.sasl.pasword"),
        ("\"sasl.password\" = [\"hunter2hunter2\"]", "kafka.properties.sasl.password"),
    ] {
        fs::write(city.config(), properties(line)).unwrap();
        let complaint = run(["check", "-c", city.config().to_str().unwrap()]).code(2);
        let shows = complaint.err.contains("hunter2");
        assert!(complaint.err.contains(said) && !shows, "{}", complaint.err);
    }
}

/// Twelve at once used to leave folders without a secret although one said "made".
#[test]
fn of_many_that_make_the_same_feed_one_makes_it_whole() {
    for _ in 0..8 {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("feed");
        let all: Vec<_> = (0..12)
            .map(|_| {
                program()
                    .arg("init")
                    .arg(&place)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
            })
            .collect();
        let is_made = |child: std::io::Result<Child>| child.unwrap().wait().unwrap().success();
        let made = all.into_iter().map(is_made).filter(|made| *made).count();
        assert_eq!(made, 1);
        assert_eq!(
            tree(&place).len(),
            3,
            "configuration, secret and ledger: {:?}",
            tree(&place).keys()
        );
        run(["ledger", "verify", "-c", place.join("tapveil.toml").to_str().unwrap()]).code(0);
    }
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", dir.path().join("tapveil.secret")).unwrap();
    run(["init", dir.path().to_str().unwrap()]).code(2);
    assert!(
        fs::symlink_metadata(dir.path().join("tapveil.secret")).is_ok(),
        "somebody's link stays"
    );
}

#[test]
fn another_configuration_or_other_taps_for_a_paid_window_leave_no_trace() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    let (released, ledger) = (tree(&city.path("out")), city.ledger());
    let unchanged = |run: &Run, words: &str| {
        assert!(run.out.contains("withheld") && run.out.contains(words), "{}", run.out);
        assert!(tree(&city.path("out")) == released, "the release stays");
        assert_eq!(city.ledger(), ledger, "nothing is booked");
    };
    city.edit("height = 4\n", "height = 3\n");
    unchanged(&city.sanitize("out", &[]).code(1), "another configuration");
    unchanged(&city.sanitize("new", &[]).code(1), "another configuration");
    assert!(!city.path("new").exists(), "not even a directory");
    city.edit("height = 3\n", "height = 4\n");
    let taps = fs::read_to_string(city.path("taps.csv")).unwrap();
    let shorter = taps.lines().take(2_000).collect::<Vec<_>>().join("\n");
    fs::write(city.path("taps.csv"), shorter).unwrap();
    unchanged(&city.sanitize("new", &[]).code(1), "other taps");
    city.edit("length = \"7d\"", "length = \"1d\"");
    city.edit("slot = \"1d\"", "slot = \"6h\"");
    let overlapping = city.sanitize("new", &[]).code(1);
    unchanged(&overlapping, "overlaps");
    assert_eq!(overlapping.out.matches("withheld").count(), 7, "every day of the week");
}

/// Holds R-2.
#[test]
fn a_cap_withholds_what_it_does_not_cover_and_releases_the_rest() {
    let city = City::new();
    city.edit("cap = \"1000.0\"", "cap = \"40.0\"");
    let range = ["--from", "2015-11-09", "--to", "2015-11-30"];
    let done = city.sanitize("out", &range).code(1);
    assert!(done.out.contains("budget.horizon would be exceeded"), "{}", done.out);
    assert_eq!(releases(&city.path("out")).len(), 2, "two weeks at 20 fill a cap of 40");
    assert_eq!(city.spent_micro(), 40_000_000);
    city.verify("out").code(0);
}

#[test]
fn a_changed_byte_in_any_file_is_blamed_on_that_file() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    let out = city.path("out");
    let files: Vec<_> = tree(&out).into_iter().filter_map(|(p, b)| b.map(|b| (p, b))).collect();
    assert_eq!(files.len(), 10, "eight files, the catalog, and its page for portals");
    for (path, bytes) in files {
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            fs::write(out.join(&path), &changed).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let blamed = city.verify("out").code(1);
            assert!(blamed.out.contains(name), "byte {at} of {name}: {}", blamed.out);
        }
        fs::write(out.join(&path), &bytes).unwrap();
    }
    city.verify("out").code(0);
}

/// Holds M-1.
#[test]
fn bad_usage_ends_with_two() {
    let city = City::new();
    let config = city.config();
    let config = config.to_str().unwrap();
    run::<&str>([]).code(2);
    run(["publish"]).code(2);
    run(["sanitize", "--taps", "x"]).code(2);
    run(["check", "-c", config, "--loud"]).code(2);
    run(["generate", "--preset", "atlantis", "--out", "/nowhere"]).code(2);
    run(["verify", "/nowhere"]).code(2);
    assert!(run(["--help"]).code(0).out.contains("sanitize"));
    for range in [
        &["--from", "2015-11-09"][..],
        &["--from", "2015-11-16", "--to", "2015-11-09"],
        &["--from", "monday", "--to", "2015-11-09"],
        &["--from", "2015-11-10", "--to", "2015-11-12"],
    ] {
        let failed = city.sanitize("out", range).code(2);
        assert_eq!(failed.complaints().len(), 1, "{range:?}: {}", failed.err);
    }
    let missing = city.sanitize_file("nothing.csv", "out", &[]).code(2);
    assert!(missing.complaints()[0].contains("nothing.csv"), "{}", missing.err);
    assert!(!city.path("out").exists());
    assert_eq!(city.spent_micro(), 0);
}

#[test]
fn a_bad_configuration_is_told_all_at_once() {
    let city = City::new();
    city.edit("epsilon = \"20.0\"", "epsilon = \"0\"");
    city.edit("slot = \"1d\"", "slot = \"5d\"");
    city.edit("height = 4", "heigth = 4");
    let failed = city.sanitize("out", &[]).code(2);
    for words in ["3 complaints", "engine.epsilon", "window.slot", "engine.safepath.heigth"] {
        assert!(failed.err.contains(words), "{words}: {}", failed.err);
    }
    let config = city.config();
    let checked = run(["check", "-c", config.to_str().unwrap()]).code(2);
    assert!(checked.err.contains("3 complaints"), "{}", checked.err);
    run(["check", "-c", "/nowhere.toml"]).code(2);
}

#[test]
fn a_place_that_cannot_be_written_ends_with_three_and_costs_nothing() {
    let city = City::new();
    fs::write(city.path("file"), "not a directory").unwrap();
    let failed = city.sanitize("file/out", &[]).code(3);
    assert_eq!(failed.complaints().len(), 1, "{}", failed.err);
    assert_eq!(city.spent_micro(), 0);
    let occupied = city.path("out/20151109T0400_20151116T0400");
    fs::create_dir_all(&occupied).unwrap();
    fs::write(occupied.join("notes.txt"), "mine").unwrap();
    city.sanitize("out", &[]).code(2);
    assert_eq!(city.spent_micro(), 0, "a place that is taken costs nothing");
    assert_eq!(fs::read(occupied.join("notes.txt")).unwrap(), b"mine");
}

#[test]
fn a_ledger_in_use_ends_with_three() {
    let city = City::new();
    let held = File::open(city.path("tapveil.ledger")).unwrap();
    held.lock().unwrap();
    let failed = city.sanitize("out", &[]).code(3);
    assert!(failed.complaints()[0].contains("in use"), "{}", failed.err);
    assert!(!city.path("out").exists());
    drop(held);
    city.sanitize("out", &[]).code(0);
}

/// Holds L-5.
#[test]
fn a_broken_or_missing_ledger_stops_everything() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    let good = city.ledger();
    let mut changed = good.clone();
    let place = changed.len() / 2;
    changed[place] ^= 1;
    fs::write(city.path("tapveil.ledger"), &changed).unwrap();
    let failed = city.sanitize("new", &[]).code(1);
    assert!(failed.complaints()[0].contains("broken at record"), "{}", failed.err);
    let config = city.config();
    run(["ledger", "verify", "-c", config.to_str().unwrap()]).code(1);
    assert_eq!(city.ledger(), changed, "it is left for the operator to look at");
    fs::remove_file(city.path("tapveil.ledger")).unwrap();
    let failed = city.sanitize("new", &[]).code(2);
    assert!(failed.err.contains("forget what was spent"), "{}", failed.err);
    assert!(!city.path("tapveil.ledger").exists() && !city.path("new").exists());
    fs::write(city.path("tapveil.ledger"), good).unwrap();
    fs::write(city.path("tapveil.secret"), [9; 32]).unwrap();
    let failed = city.sanitize("new", &[]).code(2);
    assert!(failed.err.contains("not made with this secret"), "{}", failed.err);
}
