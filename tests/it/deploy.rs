//! The files of `deploy/`: what they name exists, what they say parses, and what they run works.

mod cluster;
mod machine;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tapveil::metrics::Metrics;

use crate::support::{program, run, skipped};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("deploy/{name}: {error}"))
}

/// Every document of a YAML file.
fn documents(name: &str) -> Vec<Value> {
    let parsed = serde_saphyr::from_multiple(&read(name));
    parsed.unwrap_or_else(|error| panic!("deploy/{name}: {error}"))
}

fn yaml(name: &str) -> Value {
    let mut documents = documents(name);
    assert_eq!(documents.len(), 1, "deploy/{name} is one document");
    documents.remove(0)
}

/// The elements of a list; what is left out has none.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The names in a table; what is left out has none.
fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is a text"))
}

/// The path with the program under test in front.
fn search_path() -> String {
    let bin = Path::new(program().get_program()).parent().unwrap().display().to_string();
    format!("{bin}:{}", std::env::var("PATH").unwrap())
}

/// Runs a shell script of a container here.
fn bash(script: &str, variables: &[(&str, &str)]) -> crate::support::Run {
    let mut command = Command::new("bash");
    command.args(["-euc", script]).env("PATH", search_path());
    command.envs(variables.iter().copied());
    crate::support::Run::of(command.output().unwrap())
}

/// What `/metrics` shows once everything has happened at least once.
fn metrics() -> String {
    let metrics = Metrics::new("v", "c");
    metrics.partition(0, 1, Some(1));
    metrics.engine_ran("safepath", 1.0);
    metrics.released("safepath", 1.0, 1);
    metrics.text()
}

/// The name and the kind of every metric.
fn kinds(metrics: &str) -> Vec<(&str, &str)> {
    let told = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let told: Vec<_> = told.collect();
    assert!(told.len() > 20, "{told:?}");
    told
}

/// Every series a query can name.
fn series(metrics: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (name, kind) in kinds(metrics) {
        names.insert(name.to_owned());
        if kind == "histogram" {
            names.extend(["_bucket", "_sum", "_count"].map(|end| format!("{name}{end}")));
        }
    }
    names
}

/// Words of a text that begin like one of our metrics.
fn named(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("tapveil_"))
        .map(str::to_owned)
        .collect()
}

const WATCHED: [&str; 4] =
    ["prometheus/rules.yml", "prometheus/rules_test.yml", "grafana/tapveil.json", "RUNBOOK.md"];

#[test]
fn every_metric_that_is_named_exists() {
    let metrics = metrics();
    let series = series(&metrics);
    for file in WATCHED {
        let names = named(&read(file));
        assert!(!names.is_empty(), "{file} names metrics");
        let strangers: Vec<_> = names.difference(&series).collect();
        assert!(strangers.is_empty(), "{file} names {strangers:?}");
    }
}

#[test]
fn every_label_value_that_is_named_exists() {
    let metrics = metrics();
    let mut n_seen = 0;
    for file in WATCHED {
        let text = read(file).replace("\\\"", "\"");
        for label in ["reason=\"", "client=\"", "engine=\""] {
            for (at, _) in text.match_indices(label) {
                let value = text[at + label.len()..].split('"').next().unwrap();
                assert!(metrics.contains(&format!("{label}{value}\"")), "{file}: {label}{value}");
                n_seen += 1;
            }
        }
    }
    assert!(n_seen > 5, "{n_seen}");
}

#[test]
fn the_dashboard_shows_every_metric() {
    let (metrics, board) = (metrics(), read("grafana/tapveil.json"));
    let missing: Vec<_> =
        kinds(&metrics).into_iter().filter(|(name, _)| !board.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn alerts() -> Vec<Value> {
    let rules = yaml("prometheus/rules.yml");
    let alerts: Vec<Value> =
        items(&rules["groups"]).flat_map(|group| items(&group["rules"])).cloned().collect();
    assert!(alerts.len() >= 10, "{}", alerts.len());
    alerts
}

#[test]
fn every_alert_says_how_bad_it_is_and_where_to_read_on() {
    for alert in alerts() {
        let name = text(&alert["alert"]);
        assert!(
            matches!(text(&alert["labels"]["severity"]), "warning" | "critical"),
            "{name} has a severity"
        );
        for annotation in ["summary", "description"] {
            assert!(!text(&alert["annotations"][annotation]).is_empty(), "{name}: {annotation}");
        }
        let expected = format!("deploy/RUNBOOK.md#{}", name.to_lowercase());
        assert_eq!(text(&alert["annotations"]["runbook_url"]), expected);
    }
}

#[test]
fn every_alert_is_in_the_runbook_and_the_other_way_round() {
    let alerts: BTreeSet<String> =
        alerts().iter().map(|alert| text(&alert["alert"]).to_owned()).collect();
    let runbook = read("RUNBOOK.md");
    let entries: Vec<&str> = runbook.split("\n### ").skip(1).collect();
    let mut described = BTreeSet::new();
    for entry in entries {
        let name = entry.lines().next().unwrap();
        if name.starts_with("Tapveil") {
            described.insert(name.to_owned());
            for part in ["**Meaning.**", "**Check.**", "**Remedy.**"] {
                assert!(entry.contains(part), "{name} has no {part}");
            }
        }
    }
    assert_eq!(alerts, described);
}

#[test]
fn every_alert_is_tested_both_ways() {
    let tests = yaml("prometheus/rules_test.yml");
    let (mut rings, mut keeps_quiet) = (BTreeSet::new(), BTreeSet::new());
    for case in items(&tests["tests"]).flat_map(|test| items(&test["alert_rule_test"])) {
        let expected = items(&case["exp_alerts"]).count();
        let set = if expected > 0 { &mut rings } else { &mut keeps_quiet };
        set.insert(text(&case["alertname"]).to_owned());
    }
    let alerts: BTreeSet<String> =
        alerts().iter().map(|alert| text(&alert["alert"]).to_owned()).collect();
    assert_eq!((&rings, &keeps_quiet), (&alerts, &alerts));
}

/// Runs promtool in a folder with everything it looks for; `false` if there is none.
fn promtool(arguments: &[&str], more: &[(&str, &str)]) -> bool {
    if Command::new("promtool").arg("--version").output().is_err() {
        skipped("promtool is missing (Debian package prometheus): rules are not checked");
        return false;
    }
    let dir = tempfile::tempdir().unwrap();
    for file in ["prometheus.yml", "rules.yml", "rules_test.yml"] {
        fs::copy(path("prometheus").join(file), dir.path().join(file)).unwrap();
    }
    fs::create_dir(dir.path().join("token")).unwrap();
    for (name, text) in more.iter().chain(&[("token/tapveil.token", "a-word-of-16-letters")]) {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let output = Command::new("promtool").args(arguments).current_dir(dir.path()).output().unwrap();
    crate::support::Run::of(output).code(0);
    true
}

#[test]
fn prometheus_takes_the_configuration_and_the_rules() {
    let config = yaml("prometheus/prometheus.yml");
    assert_eq!(config["scrape_configs"][0]["job_name"], "tapveil");
    assert_eq!(config["scrape_configs"][0]["authorization"]["type"], "Bearer");
    if promtool(&["check", "config", "prometheus.yml"], &[]) {
        assert!(promtool(&["check", "rules", "rules.yml"], &[]));
    }
}

#[test]
fn the_alerts_ring_and_keep_quiet_as_their_tests_say() {
    assert_eq!(yaml("prometheus/rules_test.yml")["rule_files"][0], "rules.yml");
    promtool(&["test", "rules", "rules_test.yml"], &[]);
}

fn panels() -> Vec<Value> {
    let board: Value = serde_json::from_str(&read("grafana/tapveil.json")).unwrap();
    let panels: Vec<Value> = items(&board["panels"]).cloned().collect();
    assert!(panels.len() > 20, "{}", panels.len());
    panels
}

/// Whether two panels cover the same place.
fn overlap(one: &Value, other: &Value) -> bool {
    let side = |panel: &Value, from: &str, long: &str| {
        let at = panel["gridPos"][from].as_u64().unwrap();
        at..at + panel["gridPos"][long].as_u64().unwrap()
    };
    let meet = |from: &str, long: &str| {
        let (one, other) = (side(one, from, long), side(other, from, long));
        one.start < other.end && other.start < one.end
    };
    meet("x", "w") && meet("y", "h")
}

#[test]
fn every_panel_has_a_place_words_and_queries() {
    let panels = panels();
    for (i, panel) in panels.iter().enumerate() {
        let title = text(&panel["title"]);
        for other in &panels[..i] {
            assert!(panel["id"] != other["id"], "{title} and {} share an id", other["title"]);
            assert!(!overlap(panel, other), "{title} lies over {}", other["title"]);
        }
        if panel["type"] == "row" {
            continue;
        }
        assert!(!text(&panel["description"]).is_empty(), "{title} is described");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        assert!(items(&panel["targets"]).count() > 0, "{title} asks something");
    }
}

/// As rules, the queries of the dashboard go through promtool, too.
#[test]
fn prometheus_takes_every_query_of_the_dashboard() {
    let mut rules = "groups:\n- name: dashboard\n  rules:\n".to_owned();
    let panels = panels();
    let queries = panels.iter().flat_map(|panel| items(&panel["targets"]));
    for (i, query) in queries.enumerate() {
        let expr = text(&query["expr"]).replace("$__rate_interval", "1m").replace("$job", "j");
        assert!(!expr.contains('$'), "{expr}");
        let expr = serde_json::to_string(&expr).unwrap();
        rules.push_str(&format!("  - {{ record: \"panel:{i}\", expr: {expr} }}\n"));
    }
    promtool(&["check", "rules", "board.yml"], &[("board.yml", &rules)]);
}

#[test]
fn grafana_is_told_where_prometheus_and_the_dashboard_are() {
    let source = yaml("grafana/provisioning/datasources/prometheus.yaml");
    let url = text(&source["datasources"][0]["url"]);
    let boards = yaml("grafana/provisioning/dashboards/tapveil.yaml");
    let folder = text(&boards["providers"][0]["options"]["path"]);
    let compose = yaml("compose.yaml");
    let services = &compose["services"];
    assert!(keys(services).contains(url.trim_start_matches("http://").trim_end_matches(":9090")));
    let mounts: Vec<&str> = items(&services["grafana"]["volumes"]).map(text).collect();
    let wanted = format!("./grafana/tapveil.json:{folder}/tapveil.json:ro");
    assert!(mounts.contains(&wanted.as_str()), "{mounts:?}");
}

/// Commands in code, in a line or in a block.
fn commands(text: &str) -> BTreeSet<&str> {
    let starts = text.match_indices("tapveil ").filter(|(at, _)| {
        text[..*at].ends_with(['`', '\n', '(', '"'])
            || text[..*at].ends_with("  ")
            || text[..*at].ends_with("sudo -u tapveil ")
    });
    let words = starts.filter_map(|(at, found)| {
        text[at + found.len()..].split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next()
    });
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).collect()
}

#[test]
fn every_command_that_operators_are_told_to_run_exists() {
    for (file, at_least) in [("RUNBOOK.md", 4), ("README.md", 3)] {
        let text = read(file);
        let blocks: String = text.split("```").skip(1).step_by(2).collect();
        let inline: String = text
            .split('`')
            .skip(1)
            .step_by(2)
            .map(|code| code.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|code| code.starts_with("tapveil "))
            .map(|code| format!("\n{code}"))
            .collect();
        let code = format!("{blocks}{inline}");
        let commands = commands(&code);
        assert!(commands.len() >= at_least, "{file}: {commands:?}");
        for command in commands {
            run([command, "--help"]).code(0);
        }
    }
}

/// What the runbook quotes (lines with `>`) is what the program says.
#[test]
fn the_runbook_quotes_the_program_word_by_word() {
    let mut sources = String::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => sources.push_str(&fs::read_to_string(path).unwrap()),
            }
        }
    }
    let said = sources.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let runbook = read("RUNBOOK.md");
    let quotes: Vec<&str> = runbook.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    assert!(quotes.len() >= 6, "{quotes:?}");
    for quote in quotes {
        for part in quote.split('…').map(str::trim).filter(|part| !part.is_empty()) {
            assert!(said.contains(part), "nobody says {part:?}");
        }
    }
}
