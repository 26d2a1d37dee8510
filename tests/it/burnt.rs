//! Nothing is burnt by mistake: what an operator, an officer or an attacker can do around the ledger and the signature.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::Value;

use crate::support::{City, Run, program, releases, run, tree};

const WEEK: &str = "20151109T0400_20151116T0400";

fn with_config(city: &City, arguments: &[&str]) -> Run {
    let config = city.config();
    run(arguments.iter().map(OsStr::new).chain([OsStr::new("-c"), config.as_os_str()]))
}

fn revise(city: &City, taps: &str, more: &[&str]) -> Run {
    let mut command = program();
    command.args(["revise", "--window", WEEK, "--taps"]).arg(city.path(taps));
    command.arg("-c").arg(city.config()).arg("--out").arg(city.path("out")).args(more);
    Run::of(command.output().unwrap())
}

fn manifest(city: &City, name: &str) -> Value {
    let text = fs::read(city.path("out").join(name).join("datapackage.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// A second release under other noise used to overwrite the first and to be free exactly when nothing had changed.
#[test]
fn a_revision_is_numbered_paid_and_has_noise_of_its_own_even_for_the_same_taps() {
    let city = City::new();
    assert_eq!(
        revise(&city, "taps.csv", &["--why", "late taps"])
            .code(1)
            .out
            .matches("no release")
            .count(),
        1
    );
    city.sanitize("out", &[]).code(0);
    let first = fs::read(city.path("out").join(WEEK).join("paths.csv")).unwrap();
    revise(&city, "taps.csv", &["--why", " "]).code(2);
    let done = revise(&city, "taps.csv", &["--why", "late taps", "--json"]).code(0).json();
    assert_eq!(done["windows"][0]["outcome"], "released");
    let revised = format!("{WEEK}_r1");
    assert_eq!(done["windows"][0]["window"], *revised, "it says where it is");
    let path = done["windows"][0]["path"].as_str().unwrap();
    let readme = fs::read_to_string(Path::new(path).join("README.md")).unwrap();
    assert!(readme.contains("revision 1") && readme.contains("cost epsilon 40.0"), "{readme}");
    assert_eq!(releases(&city.path("out")), [WEEK, &revised]);
    let second = fs::read(city.path("out").join(&revised).join("paths.csv")).unwrap();
    assert!(first != second, "the same taps, other noise");
    assert_eq!(fs::read(city.path("out").join(WEEK).join("paths.csv")).unwrap(), first);
    assert_eq!(city.spent_micro(), 40_000_000);
    let privacy = manifest(&city, &revised)["privacy"].clone();
    assert_eq!(privacy["revision"], 1);
    assert_eq!(privacy["budget"]["spent_micro"], 20_000_000);
    assert_eq!(privacy["budget"]["window_total_micro"], 40_000_000);
    let catalog = fs::read(city.path("out/catalog.json")).unwrap();
    let catalog: Value = serde_json::from_slice(&catalog).unwrap();
    assert_eq!(catalog["releases"][0]["superseded_by"], privacy["release_id"]);
    assert!(catalog["releases"][1]["superseded_by"].is_null());
    city.verify("out").code(0);
    let again = city.sanitize("out", &[]).code(0);
    assert!(again.out.contains("at no cost"), "the first release again: {}", again.out);
    revise(&city, "taps.csv", &["--why", "once more"]).code(0);
    assert_eq!(city.spent_micro(), 60_000_000, "every revision is charged");
    let shown = with_config(&city, &["ledger", "show"]).code(0).out;
    assert!(shown.contains("revision 2: once more"), "{shown}");
}

/// `budget.repeat = "pay"` has no finite ε; the key is gone, in words.
#[test]
fn the_key_that_allowed_a_second_release_is_gone_and_says_what_to_do() {
    let city = City::new();
    city.edit("[budget]\n", "[budget]\nrepeat = \"pay\"\n");
    let refused = city.sanitize("out", &[]).code(2);
    assert!(
        refused.err.contains("budget.repeat: is gone") && refused.err.contains("tapveil revise")
    );
}

/// Deleting a line of the configuration used to undo the officer's signature.
#[test]
fn once_a_statement_is_approved_nothing_else_is_released_whatever_the_configuration_says() {
    let city = City::new();
    let statement = with_config(&city, &["check", "--statement"]).code(0).out;
    let digest = statement.lines().last().unwrap().rsplit(' ').next().unwrap().to_owned();
    let approve = ["ledger", "approve", "--by", "A. Officer", "--statement"];
    let signed = |digest: &str| with_config(&city, &[&approve[..], &[digest]].concat());
    signed("0123").code(2);
    signed(&digest).code(0);
    city.edit("epsilon = \"20.0\"", "epsilon = \"9.0\"");
    let refused = city.sanitize("out", &["--json"]).code(1).json();
    assert_eq!(refused["windows"][0]["reason"], "approval");
    assert!(!city.path("out").exists() && city.spent_micro() == 0);
    city.edit("epsilon = \"9.0\"", "epsilon = \"20.0\"");
    city.sanitize("out", &[]).code(0);
    let shown = with_config(&city, &["ledger", "show", "--json"]).code(0).json();
    assert_eq!(shown["approval"]["by"], "A. Officer");
}

#[test]
fn nothing_leaves_while_a_feed_is_stopped() {
    let city = City::new();
    let say = |what: &str| {
        with_config(&city, &["ledger", what, "--by", "A. Officer", "--why", "a complaint"]).code(0);
    };
    say("stop");
    let refused = city.sanitize("out", &["--json"]).code(1).json();
    assert_eq!(refused["windows"][0]["reason"], "stopped");
    assert!(!city.path("out").exists() && city.spent_micro() == 0);
    assert!(with_config(&city, &["ledger", "show"]).code(0).out.contains("a complaint"));
    say("resume");
    city.sanitize("out", &[]).code(0);
}

/// "Rotate the secret" used to be advised and impossible.
#[test]
fn a_rotated_secret_goes_on_with_its_ledger_and_forgets_its_old_releases() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    let secret = fs::read(city.path("tapveil.secret")).unwrap();
    let key = manifest(&city, WEEK)["privacy"]["signed_by"].clone();
    with_config(&city, &["secret", "rotate"]).code(0);
    let rotated = fs::read(city.path("tapveil.secret")).unwrap();
    assert!(!rotated.windows(32).any(|bytes| bytes == secret), "the old bytes are gone");
    assert_eq!(city.spent_micro(), 20_000_000, "the ledger goes on");
    with_config(&city, &["ledger", "verify"]).code(0);
    let refused = city.sanitize("out", &["--json"]).code(1).json();
    let words = refused["windows"][0]["message"].as_str().unwrap();
    assert!(words.contains("keys that were destroyed since"), "{words}");
    let next = ["--from", "2015-11-16", "--to", "2015-11-23"];
    city.sanitize("out", &next).code(0);
    city.verify("out").code(0);
    assert_eq!(manifest(&city, "20151116T0400_20151123T0400")["privacy"]["signed_by"], key);
}

/// A truncated or older copy of the ledger used to verify, and spending went on.
#[test]
fn an_older_ledger_is_noticed_by_what_is_kept_beside_the_secret() {
    let city = City::new();
    let before = city.ledger();
    city.sanitize("out", &[]).code(0);
    let whole = city.ledger();
    fs::write(city.path("tapveil.ledger"), &before).unwrap();
    for arguments in [&["ledger", "verify"][..], &["ledger", "show"], &["check"]] {
        let refused = with_config(&city, arguments).code(1);
        assert!(refused.err.contains("it is an older copy"), "{}", refused.err);
    }
    let refused = city.sanitize("elsewhere", &[]).code(1);
    assert!(refused.err.contains("it is an older copy"), "{}", refused.err);
    assert!(!city.path("elsewhere").exists() && city.ledger() == before);
    // Without that witness the release itself is one.
    fs::remove_file(city.path("tapveil.secret.head")).unwrap();
    let refused = city.sanitize("out", &[]).code(1);
    assert!(refused.err.contains("is in place, but the ledger"), "{}", refused.err);
    fs::write(city.path("tapveil.ledger"), &whole).unwrap();
    assert!(city.sanitize("out", &[]).code(0).out.contains("at no cost"));
    fs::write(city.path("tapveil.secret.head"), "garbage").unwrap();
    assert!(city.sanitize("out", &[]).code(1).err.contains("was changed"));
}

/// A CSV read as JSON, and a station list with other spellings, used to burn the window with exit 0.
#[test]
fn a_file_that_cannot_be_read_is_refused_before_anything_is_booked() {
    let city = City::new();
    city.edit("format = \"csv\"", "format = \"json\"");
    let refused = city.sanitize("out", &[]).code(1);
    assert!(refused.err.contains("feed.max_rejects = 10%"), "{}", refused.err);
    assert!(refused.err.contains("Nothing was booked"), "{}", refused.err);
    assert!(!city.path("out").exists() && city.spent_micro() == 0);
    city.edit("format = \"json\"", "format = \"csv\"");
    let stations = fs::read_to_string(city.path("stations.csv")).unwrap();
    let mut lines: Vec<String> = stations.lines().map(str::to_owned).collect();
    let n = lines.len();
    for line in &mut lines[n / 2..] {
        line.insert(0, 'X');
    }
    fs::write(city.path("stations.csv"), lines.join("\n")).unwrap();
    let refused = city.sanitize("out", &[]).code(1);
    assert!(refused.err.contains("the station is not in the station list"), "{}", refused.err);
    assert_eq!(city.spent_micro(), 0, "the right file can still be paid for");
    let dry = city.sanitize("out", &["--dry-run", "--json"]).code(1).json();
    assert!(dry["stop"].as_str().unwrap().contains("feed.max_rejects"));
    let unknown = dry["operator_only"]["unknown_stations"].as_array().unwrap();
    assert!(!unknown.is_empty() && unknown[0]["records"].as_u64() > Some(0));
    fs::write(city.path("stations.csv"), stations).unwrap();
    city.sanitize("out", &[]).code(0);
}

#[test]
fn a_dry_run_says_what_would_happen_and_leaves_no_trace() {
    let city = City::new();
    let before = tree(&city.path(""));
    let dry = city.sanitize("out", &["--dry-run", "--json"]).code(0).json();
    assert_eq!(dry["windows"][0]["outcome"], "released");
    assert_eq!(dry["windows"][0]["cards"], 3_000);
    assert!(tree(&city.path("")) == before, "nothing was written");
    city.sanitize("out", &[]).code(0);
    let dry = city.sanitize("out", &["--dry-run", "--json"]).code(0).json();
    assert_eq!(dry["windows"][0]["outcome"], "same");
    let taps = fs::read_to_string(city.path("taps.csv")).unwrap();
    let fewer: Vec<&str> = taps.lines().take(2_000).collect();
    fs::write(city.path("fewer.csv"), fewer.join("\n") + "\n4711,no such place,2015-11-10T08:00\n")
        .unwrap();
    let words = city.sanitize_file("fewer.csv", "out", &["--dry-run"]).code(1).out;
    assert!(words.contains("would be withheld") && words.contains("no such place"), "{words}");
    assert!(!words.contains("4711"), "no card is shown: {words}");
}

/// `check` used to say "good" for 1,904 cards and a threshold of 8,644.
#[test]
fn a_configuration_that_would_publish_nothing_is_refused_with_what_would_help() {
    let city = City::generated(200);
    let refused = with_config(&city, &["check", "--cards", "20"]).code(1);
    assert!(refused.out.contains("would publish nothing but noise"), "{}", refused.out);
    assert!(refused.out.contains("engine.name = \"weave\""), "{}", refused.out);
    with_config(&city, &["check", "--cards", "10000000"]).code(0);
    let json = with_config(&city, &["check", "--cards", "20", "--json"]).code(1).json();
    assert!(json["publishes_nothing"].is_string());
}

#[test]
fn a_registry_record_has_the_registrys_fields() {
    let city = City::new();
    let record = with_config(&city, &["check", "--registry"]).code(0).json();
    let deployment = &record["deployment"];
    for (section, field) in [
        ("product", "data_product_type"),
        ("dp_flavor", "name"),
        ("privacy_loss", "privacy_unit"),
        ("model", "model_name"),
        ("implementation", "mechanisms"),
    ] {
        assert!(deployment[section][field].is_string(), "{section}.{field}: {record}");
    }
    assert_eq!(deployment["privacy_loss"]["privacy_parameters"]["epsilon"], 20.0);
}

/// Two feeds with equal configurations used to have equal release ids.
#[test]
fn releases_of_two_feeds_have_different_ids() {
    let ids = [City::generated(50), City::generated(50)].map(|city| {
        city.sanitize("out", &[]).code(0);
        manifest(&city, WEEK)["privacy"]["release_id"].clone()
    });
    assert_ne!(ids[0], ids[1]);
}

/// A manifest with another ε and a recomputed digest used to verify.
#[test]
fn a_forged_epsilon_is_found_even_with_its_digests_recomputed() {
    let city = City::new();
    let made = city.sanitize("out", &[]).code(0);
    assert!(made.out.contains("released"));
    let path = city.path("out").join(WEEK).join("datapackage.json");
    let text = fs::read_to_string(&path).unwrap();
    let forged = text.replace("\"epsilon_micro\": 20000000", "\"epsilon_micro\": 1000000");
    assert_ne!(text, forged);
    let forged = with_own_digest(&forged);
    fs::write(&path, &forged).unwrap();
    fs::remove_file(city.path("out/catalog.json")).unwrap();
    let found = city.verify("out").code(1).out;
    assert!(found.contains("SIGNATURE: does not fit"), "{found}");
    assert!(found.contains("promises epsilon 1.0, but says that 20.0 was spent"), "{found}");
    // Signed anew with another key it fits itself, and nobody who has the agency's key.
    fs::write(&path, &text).unwrap();
    let key = manifest(&city, WEEK)["privacy"]["signed_by"].as_str().unwrap().to_owned();
    let out = city.path("out");
    let verify = |key: &str| run(["verify", "--key", key, out.to_str().unwrap()]);
    verify(&key).code(0);
    assert!(verify(&"0".repeat(64)).code(1).out.contains("is by another key than --key"));
}

#[test]
fn a_scale_that_is_too_small_for_its_share_is_found() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    let path = city.path("out").join(WEEK).join("datapackage.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let shares = manifest["privacy"]["shares"].as_array().unwrap().len();
    assert!(shares > 0);
    manifest["privacy"]["shares"][0]["scale"] = "1/1000".into();
    fs::write(&path, with_own_digest(&manifest.to_string())).unwrap();
    let found = city.verify("out").code(1).out;
    assert!(found.contains("too small for its share"), "{found}");
    assert_eq!(found.matches("too small for its share").count(), 1, "{found}");
}

fn with_own_digest(text: &str) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    value["privacy"]["manifest_sha256"] = "".into();
    let bare = serde_json::to_string_pretty(&value).unwrap() + "\n";
    value["privacy"]["manifest_sha256"] =
        tapveil::model::Digest::of(bare.as_bytes()).to_string().into();
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

/// Every single edit of a release is found: any byte of any file changed, one taken away, one added.
#[test]
#[expect(clippy::print_stdout, reason = "a failure must show its seed")]
fn ten_thousand_single_edits_of_a_release_are_all_found() {
    const SEED: u64 = 15;
    const EDITS: usize = 10_000;
    println!("seed {SEED}");
    let city = City::new();
    city.edit("epsilon = \"20.0\"", "epsilon = \"8.0\"");
    city.sanitize("out", &[]).code(0);
    let out = city.path("out");
    let files: Vec<_> =
        tree(&out).into_iter().filter_map(|(path, bytes)| Some((path, bytes?))).collect();
    assert!(files.len() > 8, "{:?}", files.iter().map(|file| &file.0).collect::<Vec<_>>());
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut below = |n: usize| ((u64::from(rng.next_u32()) * n as u64) >> 32) as usize;
    let is_sound = || tapveil::publish::verify::verify(&out).is_ok_and(|report| report.is_sound());
    assert!(is_sound());
    for number in 0..EDITS {
        let (name, bytes) = &files[below(files.len())];
        let mut edited = bytes.clone();
        let at = below(edited.len());
        match below(4) {
            0 => drop(edited.remove(at)),
            1 => edited.insert(at, below(256) as u8),
            _ => edited[at] ^= 1 << below(8),
        }
        if edited == *bytes {
            continue;
        }
        write(&out.join(name), &edited);
        assert!(!is_sound(), "edit {number}: byte {at} of {}", name.display());
        write(&out.join(name), bytes);
    }
    assert!(is_sound());
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}
