//! The house rules that a compiler does not know, as tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder with one of these endings.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()
}

/// A file's text without its tests and comments: what the program is made of.
fn program_text(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let program = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    program
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_test(path: &Path) -> bool {
    let file = path.file_name().unwrap().to_string_lossy().into_owned();
    file.ends_with("tests.rs")
        || path
            .parent()
            .is_some_and(|parent| parent.ends_with("tests") || parent.ends_with("fixture"))
}

/// The room a source file belongs to; `lib`, `main` and `build` are the doors.
fn room(path: &Path) -> String {
    let below = path.strip_prefix(root().join("src")).unwrap();
    let below = below.strip_prefix("core").unwrap_or(below);
    let first = below.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// Rooms named after `crate::`, alone or in braces.
fn imports(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let list = match rest.strip_prefix('{') {
            Some(inside) => inside.split('}').next().unwrap_or_default(),
            None => {
                rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
            }
        };
        for item in list.split(',') {
            let item = item.trim().split("::").next().unwrap_or_default();
            // `crate::keys!` names a macro, not a room.
            let is_macro = rest.strip_prefix(item).is_some_and(|rest| rest.starts_with('!'));
            if item.starts_with(|c: char| c.is_ascii_lowercase()) && !is_macro {
                found.insert(item.to_owned());
            }
        }
    }
    found
}

/// The rooms of one crate and what each may import.
fn import_list(block: &str) -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("src/ARCHITECTURE.md")).unwrap();
    let block = text.split(&format!("```{block}\n")).nth(1).unwrap().split("```").next().unwrap();
    block
        .lines()
        .map(|line| {
            let (room, allowed) = line.split_once(':').unwrap();
            (room.to_owned(), allowed.split_whitespace().map(str::to_owned).collect())
        })
        .collect()
}

fn is_core(path: &Path) -> bool {
    path.starts_with(root().join("src/core"))
}

/// Holds Q-1.
#[test]
fn rooms_import_only_what_the_architecture_lists() {
    let (core, beside) = (import_list("imports core"), import_list("imports"));
    let mut breaches = Vec::new();
    for path in files("src", ".rs").iter().filter(|path| !is_test(path)) {
        let room = room(path);
        if matches!(room.as_str(), "lib" | "main" | "build") {
            continue;
        }
        let list = if is_core(path) { &core } else { &beside };
        let allowed = list.get(&room).unwrap_or_else(|| panic!("{room} is not in the import list"));
        for import in imports(&program_text(path)) {
            if import != room && import != "planted" && !allowed.contains(&import) {
                breaches.push(format!("{} imports {import}", name(path)));
            }
        }
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[test]
fn the_import_list_has_no_circles_and_no_strangers() {
    let (core, beside) = (import_list("imports core"), import_list("imports"));
    assert_no_circles(&core, BTreeSet::new());
    let outside = core.keys().filter(|room| !beside.contains_key(*room)).cloned();
    assert_no_circles(&beside, outside.collect());
}

/// Every room can be built after those it imports.
fn assert_no_circles(list: &BTreeMap<String, BTreeSet<String>>, mut built: BTreeSet<String>) {
    let is_left = |built: &BTreeSet<String>| list.keys().any(|room| !built.contains(room));
    while is_left(&built) {
        let next: Vec<String> = list
            .iter()
            .filter(|(room, allowed)| !built.contains(*room) && allowed.is_subset(&built))
            .map(|(room, _)| room.clone())
            .collect();
        let left: Vec<&String> = list.keys().filter(|room| !built.contains(*room)).collect();
        assert!(!next.is_empty(), "a circle or a stranger among {left:?}");
        built.extend(next);
    }
}

/// The checker itself is checked: it must see a breach in every way one can be written.
#[test]
fn the_import_reader_sees_every_form() {
    let text = "use crate::model::ErrorKind;\nuse crate::{engine, ledger::Permit};\nlet x = crate::seal::y();\ncrate::keys! {}";
    let expected = ["engine", "ledger", "model", "seal"].map(str::to_owned);
    assert_eq!(imports(text), BTreeSet::from(expected));
}

#[test]
fn packages_stay_in_their_homes() {
    let homes: &[(&str, &[&str])] = &[
        ("bincode", &["src/core/seal/segment.rs"]),
        ("parquet", &["src/publish/", "src/ingest/columns.rs"]),
        ("zip", &["src/gtfs/archive.rs"]),
        ("flate2", &["src/ingest/input.rs", "src/ingest/container.rs"]),
        ("object_store", &["src/publish/store.rs"]),
        ("ureq", &["src/ingest/format/avro/registry.rs"]),
        ("ruzstd", &["src/ingest/input.rs"]),
        ("prometheus", &["src/metrics.rs"]),
        ("dashmap", &["src/metrics/board.rs"]),
        ("clap", &["src/cli/"]),
        ("indicatif", &["src/cli/"]),
        ("anyhow", &["src/cli/"]),
        ("toml", &["src/config/"]),
        ("axum", &["src/console/"]),
        ("maud", &["src/console/", "src/evaluate/page", "src/publish/report"]),
        ("tracing", &["src/cli/"]),
        ("rand_distr", &["src/city/"]),
        ("base64", &["src/console/", "src/ingest/format/avro/registry.rs"]),
        ("subtle", &["src/console/"]),
        ("hex", &["src/core/model/", "src/core/secret.rs"]),
        ("ed25519_dalek", &["src/core/secret.rs"]),
        ("rdkafka", &["src/kafka/", "src/pipeline/run"]),
    ];
    let mut strangers = Vec::new();
    for path in files("src", ".rs").into_iter().filter(|path| !is_test(path)) {
        let text = program_text(&path);
        for (package, allowed) in homes {
            let used = text.contains(&format!("{package}::"))
                && text.match_indices(&format!("{package}::")).any(|(at, _)| {
                    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
                });
            if used && !allowed.iter().any(|home| name(&path).starts_with(home)) {
                strangers.push(format!("{package} in {}", name(&path)));
            }
        }
    }
    assert!(strangers.is_empty(), "{strangers:#?}");
}

/// The core's own crate: what it may depend on is all it can do. Files, sockets and clocks of the standard library are
/// refused by clippy (`src/core/.clippy.toml`).
#[test]
fn the_core_depends_on_nothing_that_does_io() {
    let manifest = fs::read_to_string(root().join("src/core/Cargo.toml")).unwrap();
    let manifest = manifest.split("[dev-dependencies]").next().unwrap();
    for banned in ["rdkafka", "tokio", "axum", "prometheus", "clap", "tracing", "tapveil ="] {
        assert!(!manifest.contains(banned), "the core depends on {banned}");
    }
    let refused = fs::read_to_string(root().join("src/core/.clippy.toml")).unwrap();
    for method in ["std::fs::", "std::net::", "std::time::Instant::now", "jiff::Timestamp::now"] {
        assert!(refused.contains(method), "clippy does not refuse {method} in the core");
    }
}

/// The table of the papers, too.
#[test]
fn every_engine_has_a_proof_and_every_proof_names_tests_that_exist() {
    let folders =
        fs::read_dir(root().join("src/core/engine")).unwrap().map(|entry| entry.unwrap().path());
    let engines = folders.filter(|path| path.is_dir() && !path.ends_with("fixture"));
    let without: Vec<PathBuf> = engines.filter(|path| !path.join("PROOF.md").exists()).collect();
    assert!(without.is_empty(), "no proof in {without:?}");
    let sources: String = ["src", "tests"]
        .iter()
        .flat_map(|folder| files(folder, ".rs"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let mut n_named = 0;
    let pages = ["src/PAPERS.md", "tests/ATTACKS.md"].map(|page| root().join(page));
    for proof in files("src", "PROOF.md").into_iter().chain(pages) {
        let text = fs::read_to_string(&proof).unwrap();
        for word in text.split('`').skip(1).step_by(2) {
            let is_claim = word.matches('_').count() >= 4
                && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if is_claim {
                n_named += 1;
                assert!(
                    sources.contains(&format!("fn {word}(")),
                    "{} names {word}, which is no test",
                    name(&proof)
                );
            }
        }
    }
    assert!(n_named >= 3, "proofs name the tests that hold them; found {n_named}");
}

/// Numbers like W-2 in a text; dates, encodings and time zones are none.
fn numbers(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    for word in text.split(|c: char| !is_part(c)) {
        if let Some((room, number)) = word.split_once('-')
            && room.len() == 1
            && room.chars().all(|c| c.is_ascii_uppercase())
            && (1..=2).contains(&number.len())
            && !number.starts_with('0')
            && number.chars().all(|c| c.is_ascii_digit())
        {
            found.insert(word.to_owned());
        }
    }
    found
}

/// The comments and attributes above a function.
fn above(sources: &str, function: &str) -> Option<String> {
    let at = sources.find(&format!("fn {function}("))?;
    let lines: Vec<&str> = sources[..at].lines().collect();
    let is_above = |line: &&&str| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with("//") || line.starts_with("#[") || line == "async"
    };
    Some(lines.iter().rev().take_while(is_above).map(|line| format!("{line}\n")).collect())
}

/// `src/INVARIANTS.md`, the code and the tests say the same numbers.
#[test]
fn every_invariant_has_its_code_and_a_test_that_cites_it() {
    let page = fs::read_to_string(root().join("src/INVARIANTS.md")).unwrap();
    let tests: String = ["src", "tests"]
        .iter()
        .flat_map(|folder| files(folder, ".rs"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let mut listed = BTreeSet::new();
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| number");
    for row in page.lines().filter(is_row) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [number, _, code, test] = cells[..] else { panic!("{row} has not four cells") };
        let (code, test) = (code.trim_matches('`'), test.trim_matches('`'));
        assert!(listed.insert(number.to_owned()), "{number} stands there twice");
        let text = fs::read_to_string(root().join("src").join(code)).unwrap();
        assert!(numbers(&text).contains(number), "{code} does not cite {number}");
        let head = above(&tests, test).unwrap_or_else(|| panic!("{number}: {test} is no test"));
        assert!(head.contains("#[test]"), "{test} is no test: {head}");
        assert!(numbers(&head).contains(number), "{test} does not cite {number}: {head}");
    }
    assert!(listed.len() > 60, "{}", listed.len());
    let mut strangers = Vec::new();
    for path in files("src", ".rs") {
        let text = fs::read_to_string(&path).unwrap();
        let unknown = numbers(&text).into_iter().filter(|number| !listed.contains(number));
        strangers.extend(unknown.map(|number| format!("{number} in {}", name(&path))));
    }
    assert!(strangers.is_empty(), "not in src/INVARIANTS.md: {strangers:#?}");
}

/// Every broker behaviour that the simulator assumes was seen on a real one.
#[test]
fn what_the_simulator_assumes_is_tested_on_a_real_broker() {
    let text = fs::read_to_string(root().join("tests/sim/ASSUMPTIONS.md")).unwrap();
    let tests: String =
        files("tests/it", ".rs").iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut n_rows = 0;
    for row in text.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        let seen = row.rsplit('|').nth(1).unwrap();
        let named: Vec<&str> = seen.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test saw: {row}");
        for name in named {
            assert!(tests.contains(&format!("fn {name}(")), "{name} is no test");
        }
        n_rows += 1;
    }
    assert!(n_rows >= 9, "{n_rows} assumptions");
}

/// Prose that fits a screen. Tables, listings and strings of the program may be longer.
#[test]
fn comments_and_pages_have_at_most_120_columns() {
    let mut long = Vec::new();
    let mut look = |path: &Path, is_prose: &dyn Fn(&str) -> bool| {
        let text = fs::read_to_string(path).unwrap();
        let mut is_listing = false;
        for (number, line) in (1..).zip(text.lines()) {
            is_listing ^= line.trim_start().starts_with("```");
            if !is_listing && line.chars().count() > 120 && is_prose(line) {
                long.push(format!("{}:{number}", name(path)));
            }
        }
    };
    for path in ["src", "tests", "benches"].iter().flat_map(|folder| files(folder, ".rs")) {
        look(&path, &|line| line.trim_start().starts_with("//"));
    }
    let pages =
        ["src", "deploy", ".github", "tests/sim"].iter().flat_map(|folder| files(folder, ".md"));
    for path in pages.chain([root().join("README.md")]) {
        // The runbook quotes the program word by word, a line a quote.
        look(&path, &|line| !line.starts_with(['|', '>']));
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn files_are_short_and_nothing_is_left_behind() {
    let words = [
        ["to", "do!("].concat(),
        ["unimpl", "emented!("].concat(),
        ["FIX", "ME"].concat(),
        ["XX", "X"].concat(),
        ["#[ig", "nore"].concat(),
    ];
    let mut found = Vec::new();
    for path in ["src", "tests", "benches"].iter().flat_map(|folder| files(folder, ".rs")) {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().count();
        if lines > 420 {
            found.push(format!("{} has {lines} lines", name(&path)));
        }
        found.extend(
            words
                .iter()
                .filter(|word| text.contains(*word))
                .map(|w| format!("{w} in {}", name(&path))),
        );
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// No feature that ships brings the crash points, and nothing outside their feature knows their variables.
#[test]
fn crash_points_are_in_builds_for_tests_only() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let bringing: Vec<&str> =
        manifest.lines().filter(|line| line.contains("\"crash-points\"")).collect();
    assert!(bringing.is_empty(), "{bringing:?}");
    for path in files("src", ".rs") {
        let text = program_text(&path);
        let is_theirs = name(&path) == "src/kafka/crash.rs";
        let open = text.split("#[cfg(feature = \"crash-points\")]\nmod wanted {").next().unwrap();
        let shipped = if is_theirs { open } else { &text };
        assert!(!shipped.contains("TAPVEIL_CRASH_AT"), "{}", name(&path));
    }
}

#[test]
fn main_is_thin() {
    let lines = fs::read_to_string(root().join("src/main.rs")).unwrap().lines().count();
    assert!(lines < 30, "{lines} lines");
}
