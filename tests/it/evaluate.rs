//! `tapveil evaluate` as a user calls it: figures, their form, the page, and everything that cannot be judged.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use fantoccini::Locator;
use serde_json::Value;

use crate::browser::{Driver, complaints, keep_picture};
use crate::contract::fits;
use crate::support::{City, Run, program, releases, run, tree};

fn evaluate(city: &City, release: &Path, more: &[&str]) -> Run {
    evaluate_taps(city, &city.path("taps.csv"), release, more)
}

fn evaluate_taps(city: &City, taps: &Path, release: &Path, more: &[&str]) -> Run {
    let mut command = program();
    command.arg("evaluate").arg("--taps").arg(taps).arg("-c").arg(city.config());
    Run::of(command.arg("--release").arg(release).args(more).output().unwrap())
}

/// A city with a release of weave.
fn woven() -> City {
    let city = City::generated(3_000);
    let text = fs::read_to_string(city.config()).unwrap();
    let (before, rest) = text.split_once("[engine]\n").unwrap();
    let (_, after) = rest.split_once("[budget]\n").unwrap();
    let engine = "[engine]\nname = \"weave\"\nepsilon = \"1.0\"\n\n";
    fs::write(city.config(), format!("{before}{engine}[budget]\n{after}")).unwrap();
    city.sanitize("out", &[]).code(0);
    city
}

fn column<'a>(found: &'a Value, name: &str) -> &'a Value {
    let columns = found["windows"][0]["columns"].as_array().unwrap();
    columns.iter().find(|column| column["name"] == name).unwrap()
}

#[test]
fn a_release_is_judged_beside_nothing_and_plain_tables_and_nothing_is_touched() {
    let city = woven();
    let (ledger, before) = (city.ledger(), tree(&city.path("out")));
    let saved = city.path("queries.jsonl");
    let more = ["--json", "--queries", "20", "--save-queries", saved.to_str().unwrap()];
    let found = evaluate(&city, &city.path("out"), &more).code(0).json();
    fits("cli-evaluate-1.json", &found);
    assert_eq!(found["private"], true);
    assert!(city.ledger() == ledger && tree(&city.path("out")) == before);

    let figure = |name: &str, id: &str| column(&found, name)["figures"][id].as_f64();
    assert_eq!(figure("nothing", "stations_by_slot.error"), Some(1.0));
    assert_eq!(figure("nothing", "planner.mean_taps"), None);
    assert_eq!(figure("histogram", "queries.doublets.drawn.2"), None);
    assert!(figure("weave", "stations_by_slot.error").unwrap() < 1.0);
    for file in ["stations", "od", "lengths"] {
        let coverage = figure("weave", &format!("coverage.{file}")).unwrap();
        assert!((0.5..=1.0).contains(&coverage), "{file}: {coverage}");
    }
    let metrics = found["windows"][0]["metrics"].as_array().unwrap();
    let is_known = |id: &str| metrics.iter().any(|metric| metric["id"] == id);
    for name in ["nothing", "histogram", "weave"] {
        let figures = column(&found, name)["figures"].as_object().unwrap();
        assert!(figures.keys().all(|id| is_known(id)), "{name}");
    }
    let risk = &column(&found, "weave")["risk"];
    assert!(risk["unique"][3]["before"].as_f64() > Some(0.5), "{risk}");
    assert!(risk["linked"][1]["after"].as_f64() < risk["linked"][1]["before"].as_f64(), "{risk}");

    // 32 kinds of 20 queries, each said to be private; fewer where no trip is long enough.
    let lines = fs::read_to_string(&saved).unwrap();
    assert!(lines.lines().count() > 30 * 20 && lines.lines().count() <= 32 * 20);
    assert!(lines.lines().all(|line| line.contains("\"private\":true")), "{lines}");
    let again = evaluate(&city, &city.path("out"), &["--json", "--queries", "20"]).code(0).json();
    assert_eq!(again, found);
    let other = ["--json", "--queries", "20", "--seed", "2"];
    assert_ne!(
        evaluate(&city, &city.path("out"), &other).code(0).json()["windows"],
        found["windows"]
    );
}

/// Suppression is judged by what it kept, and by its own promise.
#[test]
fn a_suppressed_release_keeps_some_and_keeps_its_promise() {
    let city = City::new();
    let text = fs::read_to_string(city.config()).unwrap();
    let (before, rest) = text.split_once("[engine]\n").unwrap();
    let (_, after) = rest.split_once("[budget]\n").unwrap();
    let engine = "[engine]\nname = \"lk\"\n\n[engine.lk]\nl = 2\nk = 5\n\n";
    fs::write(city.config(), format!("{before}{engine}[budget]\n{after}")).unwrap();
    city.sanitize("kept", &[]).code(0);
    let found = evaluate(&city, &city.path("kept"), &["--json", "--queries", "5"]).code(0).json();
    fits("cli-evaluate-1.json", &found);
    let lk = column(&found, "lk");
    assert_eq!(lk["same_configuration"], true);
    assert_eq!(lk["risk"]["promise"], serde_json::json!({ "before": false, "after": true }));
    assert_eq!(lk["risk"]["rare"]["after"], 0.0);
    let kept = lk["figures"]["kept.doublets"].as_f64().unwrap();
    assert!(0.0 < kept && kept < 1.0, "{kept}");
    assert_eq!(lk["figures"]["stations_by_slot.spurious"], 0.0);
    assert_eq!(column(&found, "histogram")["epsilon_micro"], 1_000_000);
}

#[test]
fn engines_stand_side_by_side_and_words_say_that_they_are_private() {
    let city = City::new();
    city.sanitize("tree", &[]).code(0);
    let name = releases(&city.path("tree")).remove(0);
    let said = evaluate(&city, &city.path("tree").join(name), &["--queries", "5"]).code(0);
    assert!(said.out.starts_with("PRIVATE"), "{}", said.out);
    for word in ["nothing", "histogram 20.0", "safepath 20.0", "Questions a planner asks"] {
        assert!(said.out.contains(word), "{word}: {}", said.out);
    }
    assert!(!said.out.contains("stations.csv"), "it publishes no tables: {}", said.out);
}

/// Whatever is wrong is said in one sentence. There is no file of taps at all.
///
/// Holds U-2.
#[test]
fn what_cannot_be_judged_is_said_before_a_tap_is_read() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    let (out, no_taps) = (city.path("out"), city.path("no such file"));
    let name = releases(&out).remove(0);
    let release = out.join(&name);
    #[track_caller]
    fn refused(run: Run, code: i32, words: &[&str]) {
        let run = run.code(code);
        assert_eq!(run.complaints().len(), 1, "{}", run.err);
        for word in words {
            assert!(run.err.contains(word), "{word}: {}", run.err);
        }
    }
    let judged = |release: &Path, more: &[&str]| evaluate_taps(&city, &no_taps, release, more);

    refused(judged(&city.path("nowhere"), &[]), 2, &["nowhere"]);
    let inside = release.join("page.html");
    refused(judged(&out, &["--html", inside.to_str().unwrap()]), 2, &["somewhere private"]);
    let beside = out.join("page.html");
    refused(judged(&out, &["--html", beside.to_str().unwrap()]), 2, &["somewhere private"]);

    let changed = copied(&release, &city.path("changed").join(&name));
    let text = fs::read_to_string(changed.join("paths.csv")).unwrap();
    fs::write(changed.join("paths.csv"), text.replacen("\n1", "\n2", 1) + "9,x\n").unwrap();
    refused(judged(&changed, &[]), 1, &["not as it was published", "paths.csv"]);

    let config = fs::read_to_string(city.config()).unwrap();
    for (from, to, words) in [
        ("slot = \"1d\"", "slot = \"12h\"", ["slots of", "-c"]),
        (
            "day_start = \"04:00\"",
            "day_start = \"05:00\"",
            ["no window of the configuration", "-c"],
        ),
    ] {
        city.edit(from, to);
        refused(judged(&release, &[]), 2, &words);
        fs::write(city.config(), &config).unwrap();
    }
    let woven = woven();
    woven.edit("[budget]", "[trips]\nfrom = \"pairs\"\n\n[budget]");
    let said = evaluate_taps(&woven, &no_taps, &woven.path("out"), &[]);
    refused(said, 2, &["trips.from = next", "pairs"]);
    let stations = fs::read_to_string(city.path("stations.csv")).unwrap();
    fs::write(city.path("stations.csv"), format!("{stations}extra,Extra,0,0,x\n")).unwrap();
    refused(judged(&release, &[]), 2, &["another station list"]);
    fs::write(city.path("stations.csv"), &stations).unwrap();

    refused(judged(&release, &[]), 2, &["no such file"]);
    let taps = fs::read_to_string(city.path("taps.csv")).unwrap();
    let later = taps.replace("2015-11", "2016-11");
    fs::write(city.path("later.csv"), later).unwrap();
    let other = evaluate_taps(&city, &city.path("later.csv"), &release, &[]);
    refused(other, 2, &["no tap of", &name]);
}

#[test]
fn a_release_that_says_nothing_is_not_judged() {
    let city = City::generated(3_000);
    city.edit("epsilon = \"1.0\"", "epsilon = \"0.001\"");
    city.sanitize("bare", &[]).code(0);
    let said = evaluate(&city, &city.path("bare"), &[]).code(2);
    assert!(said.err.contains("publishes no row and no table"), "{}", said.err);
}

fn copied(from: &Path, to: &PathBuf) -> PathBuf {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    to.clone()
}

#[test]
fn the_page_is_private_whole_and_fits_a_phone() {
    let city = woven();
    let page = city.path("private.html");
    let more = ["--json", "--queries", "20", "--html", page.to_str().unwrap()];
    evaluate(&city, &city.path("out"), &more).code(0);
    let text = fs::read_to_string(&page).unwrap();
    assert!(
        text.contains("PRIVATE") && !text.contains("<script") && !text.contains("http"),
        "a page alone"
    );
    // Two maps, two heat maps, errors by size, uniqueness.
    is_whole_in_a_browser(&page, "evaluate", 6);
}

/// A private page in a real browser, wide and narrow, light and dark: it says what it is, draws all its pictures and
/// fits.
fn is_whole_in_a_browser(page: &Path, name: &str, n_drawn: usize) {
    let Some(driver) = Driver::start() else { return };
    let downloads = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for (width, is_dark, name) in
            [(1200, false, name.to_owned()), (500, true, format!("phone-{name}"))]
        {
            let browser = driver.browser(downloads.path(), width, is_dark).await;
            browser.goto(&format!("file://{}", page.display())).await.unwrap();
            let banner = browser.find(Locator::Css(".private")).await.unwrap();
            assert!(banner.text().await.unwrap().starts_with("PRIVATE"));
            let drawn = browser.find_all(Locator::Css("svg[role=img]")).await.unwrap();
            assert_eq!(drawn.len(), n_drawn);
            let wider = "return document.documentElement.scrollWidth > document.documentElement.clientWidth;";
            assert_eq!(browser.execute(wider, Vec::new()).await.unwrap(), false, "{name}");
            keep_picture(&browser, &name).await;
            assert_eq!(complaints(&driver, &browser).await, Vec::<Value>::new());
            browser.close().await.unwrap();
        }
    });
}

fn compare(city: &City, engines: &str, more: &[&str]) -> Run {
    let mut command = program();
    command.arg("compare").arg("--taps").arg(city.path("taps.csv")).arg("-c").arg(city.config());
    Run::of(command.args(["--engines", engines, "--queries", "5"]).args(more).output().unwrap())
}

#[test]
fn engines_are_compared_without_a_price_and_the_second_time_from_the_cache() {
    let city = City::new();
    city.edit("[budget]", "[engine.lk]\nl = 2\nk = 5\n\n[budget]");
    let (ledger, page) = (city.ledger(), city.path("choice.html"));
    let more = ["--epsilons", "0.5,2.0", "--json", "--html", page.to_str().unwrap()];
    let found = compare(&city, "weave,safepath,lk", &more).code(0).json();
    fits("cli-compare-1.json", &found);
    assert!(city.ledger() == ledger, "nothing is booked");
    let columns = found["windows"][0]["columns"].as_array().unwrap();
    let title = |column: &Value| {
        format!("{} {}", column["name"].as_str().unwrap(), column["epsilon_micro"])
    };
    let titles: Vec<String> = columns.iter().map(title).collect();
    assert_eq!(
        titles,
        [
            "nothing null",
            "histogram 500000",
            "histogram 2000000",
            "weave 500000",
            "weave 2000000",
            "safepath 500000",
            "safepath 2000000",
            "lk null"
        ]
    );
    let error = |at: usize| columns[at]["figures"]["stations_by_slot.error"].as_f64().unwrap();
    assert!(error(4) < error(3), "more budget, fewer errors: {} {}", error(3), error(4));
    assert!(columns[7]["figures"]["kept.doublets"].as_f64().is_some());
    let text = fs::read_to_string(&page).unwrap();
    assert!(
        text.contains("PRIVATE") && text.contains("tapveil generate") && !text.contains("<script")
    );

    is_whole_in_a_browser(&page, "compare", 2);

    // A cache that is there is believed; one of another question is not.
    let cache = city.path("choice.cache");
    let kept: Vec<PathBuf> = fs::read_dir(&cache).unwrap().map(|one| one.unwrap().path()).collect();
    assert_eq!(kept.len(), 5);
    assert!(fs::read_to_string(&kept[0]).unwrap().contains("\"private\":true"));
    assert_eq!(compare(&city, "weave,safepath,lk", &more).code(0).json(), found);
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 5);
    for path in &kept {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, text.replacen("\"figures\":{", "\"figures\":{\"marked\":7.0,", 1)).unwrap();
    }
    let marked = compare(&city, "weave,safepath,lk", &more).code(0).json();
    assert_eq!(marked["windows"][0]["columns"][3]["figures"]["marked"], 7.0);
    let other = [&more[..], &["--seed", "2"]].concat();
    let other = compare(&city, "weave", &other).code(0).json();
    assert_eq!(other["windows"][0]["columns"][3]["figures"]["marked"], Value::Null);
}

#[test]
fn what_cannot_be_compared_is_said_at_once() {
    let city = City::new();
    for (engines, more, words) in [
        ("weave,loom", &[][..], "\"loom\" is no engine"),
        ("weave", &["--epsilons", "0.5,much"][..], "\"much\""),
        ("weave", &["--epsilons", "0.0001"][..], "engine.epsilon"),
    ] {
        let said = compare(&city, engines, more).code(2);
        assert!(said.complaints().len() == 1 && said.err.contains(words), "{words}: {}", said.err);
    }
}

#[test]
fn an_attack_on_a_twin_stays_below_what_epsilon_allows() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    let found = evaluate(&city, &city.path("out"), &["--json", "--queries", "5", "--risk"]);
    let found = found.code(0).json();
    fits("cli-evaluate-1.json", &found);
    let attack = &found["membership"]["found"];
    assert_eq!(found["membership"]["engine"], "safepath");
    assert!(attack["low"].as_f64() <= attack["auc_bound"].as_f64(), "{attack}");
    let arguments = [OsStr::new("evaluate"), OsStr::new("--help")];
    assert!(run(arguments).code(0).out.contains("Private output"));
}

/// The clean way to choose: a twin of the feed at its own stations, with numbers that were published with noise; then
/// engines, keys of engines and window lengths side by side, each in one line.
#[test]
fn a_twin_of_the_feed_is_compared_by_engine_key_and_window_length() {
    let city = City::new();
    let twin = city.path("twin");
    let released = city.sanitize("released", &[]).code(0);
    assert!(released.out.contains("released"));
    let mut command = program();
    command.arg("generate").arg("--like").arg(city.config()).arg("--out").arg(&twin);
    let totals = command.arg("--totals").arg(city.path("released"));
    let said = Run::of(totals.output().unwrap()).code(0).out;
    assert!(said.contains("made-up cards at the feed's stations"), "{said}");
    let known: std::collections::HashSet<String> = fs::read_to_string(city.path("stations.csv"))
        .unwrap()
        .lines()
        .skip(1)
        .map(|line| line.split(',').next().unwrap().to_owned())
        .collect();
    let taps = fs::read_to_string(twin.join("taps.csv")).unwrap();
    assert!(taps.lines().count() > 100);
    for tap in taps.lines().skip(1) {
        let station = tap.split(',').nth(1).unwrap();
        assert!(known.contains(station), "{station}");
    }
    let mut command = program();
    command.arg("compare").arg("--taps").arg(twin.join("taps.csv")).arg("-c").arg(city.config());
    command.args(["--engines", "weave,safepath:threshold=level-noise:height=2"]);
    command.args(["--windows", "1d,7d", "--queries", "20", "--epsilons", "1.0", "--json"]);
    let found = Run::of(command.output().unwrap()).code(0).json();
    fits("cli-compare-1.json", &found);
    let lines = found["summary"].as_array().unwrap();
    let of = |name: &str, window: &str| {
        let is = |line: &&Value| line["name"] == name && line["window"] == window;
        lines.iter().find(is).unwrap_or_else(|| panic!("{name} {window}: {lines:?}"))
    };
    let (days, week) = (of("weave", "1d"), of("weave", "7d"));
    assert_eq!(week["windows"], 1);
    let n_days = days["windows"].as_u64().unwrap();
    assert!(n_days >= 7, "{days}");
    assert_eq!(days["spent_micro"], n_days * 1_000_000, "a week of days costs as many times");
    assert!(days["figures"]["od.error"].is_number() && week["figures"]["od.error"].is_number());
    assert_eq!(of("safepath:threshold=level-noise:height=2", "7d")["spent_micro"], 1_000_000);
    assert_eq!(of("nothing", "1d")["spent_micro"], Value::Null);
}
