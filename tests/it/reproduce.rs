//! `tapveil reproduce` as a user calls it: every paper with very few cards, and what cannot be repeated.

use std::fs;

use serde_json::Value;

use crate::contract::fits;
use crate::support::run;

/// The figures and tables that every paper must show, with or without rows.
const ITEMS: [(&str, &[&str]); 5] = [
    (
        "safepath",
        &["Tables 2 and 3, Figure 8", "Figure 3", "Figure 4", "Figure 5", "Figure 6", "Figure 7"],
    ),
    (
        "stm",
        &[
            "Table 2",
            "Figure 3",
            "Figure 4",
            "Table 3",
            "Table 4",
            "Table 5",
            "Figure 5a",
            "Figure 5b",
        ],
    ),
    (
        "lk",
        &[
            "Table 3",
            "Figure 4 (scenario I)",
            "Figures 5 and 6 (scenarios II and III)",
            "Figure 7a",
        ],
    ),
    ("dptd", &["Figure 3", "Figure 4", "Figure 5", "Figure 6"]),
    ("projection", &["Figures 2a and 2b", "Figures 2c and 3", "Figure 2d"]),
];

fn repeated(paper: &str) -> Value {
    let made = run(["reproduce", paper, "--cards", "60", "--queries", "2", "--json"]).code(0);
    made.json()
}

#[test]
fn every_paper_is_repeated_whole_and_its_figures_are_in_range() {
    for (paper, items) in ITEMS {
        let made = repeated(paper);
        fits("cli-reproduce-1.json", &made);
        assert_eq!(made["papers"][0]["name"], paper);
        let exhibits = made["papers"][0]["exhibits"].as_array().unwrap();
        for item in items {
            assert!(exhibits.iter().any(|one| one["item"] == *item), "{paper}: {item}");
        }
        for exhibit in exhibits {
            let columns = exhibit["columns"].as_array().unwrap();
            let rows = exhibit["rows"].as_array().unwrap();
            let is_missing = exhibit["note"].as_str().unwrap().starts_with("Not repeated");
            assert_eq!(rows.is_empty(), is_missing, "{paper}: {}", exhibit["item"]);
            for row in rows {
                let cells = row.as_array().unwrap();
                assert_eq!(cells.len(), columns.len(), "{paper}: {}: {row}", exhibit["item"]);
                for number in cells.iter().filter_map(Value::as_f64) {
                    assert!(number.is_finite() && number >= 0.0, "{paper}: {row}");
                }
            }
        }
    }
}

#[test]
fn the_tree_and_the_scan_suppress_the_same() {
    let made = repeated("projection");
    let exhibits = made["papers"][0]["exhibits"].as_array().unwrap();
    let same = exhibits.iter().find(|one| one["item"] == "Figure 2d").unwrap();
    let rows = same["rows"].as_array().unwrap();
    assert!(rows.len() == 3 && rows.iter().all(|row| row[5] == "yes"), "{same}");
}

#[test]
fn tables_go_into_a_file_that_says_how_they_were_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.md");
    let out = path.to_str().unwrap();
    run(["reproduce", "projection", "--cards", "50", "--queries", "2", "--out", out]).code(0);
    let text = fs::read_to_string(&path).unwrap();
    for words in [
        "tapveil reproduce projection --cards 50",
        "| machine |",
        "| version, commit |",
        "at most 50 cards",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.contains("## projection-support-tree-2020") && text.contains("### Figure 2d"));
}

#[test]
fn what_cannot_be_repeated_is_said_at_once() {
    for (arguments, words) in [
        (&["reproduce", "weaving"][..], "safepath, stm, lk, dptd, projection, or all"),
        (&["reproduce", "lk", "--out", "/nowhere/at/all.md"][..], "a folder that is there"),
        (&["reproduce", "lk", "--cards", "0"][..], "--cards"),
    ] {
        let said = run(arguments).code(2);
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
}
