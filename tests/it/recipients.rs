//! deploy/RECIPIENTS.md: its code is run on a release, and its two languages give the same answers.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::stores::python;
use crate::support::{Run, program, releases, skipped, tree};

/// Runs every pair of blocks and prints the answers, a line a row.
const RUNNER: &str = r#"
import re, sys, duckdb
page = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(r"```(python|sql)\n(.*?)```", page, re.S)
scope = {}
for number, ((one, python), (other, sql)) in enumerate(zip(blocks[::2], blocks[1::2]), 1):
    assert (one, other) == ("python", "sql"), number
    exec(python, scope)
    pandas_rows = [tuple(str(value) for value in row) for row in scope["answer"].itertuples(index=False)]
    duckdb_rows = [tuple(str(value) for value in row) for row in duckdb.sql(sql).fetchall()]
    assert pandas_rows == duckdb_rows, (number, pandas_rows, duckdb_rows)
    for row in pandas_rows:
        print(number, *row, sep="\t")
"#;

fn city(dir: &Path) -> std::path::PathBuf {
    let at = dir.join("city");
    let made = program()
        .args(["generate", "--preset", "metro", "--cards", "20000", "--seed", "7", "--out"])
        .arg(&at)
        .output();
    Run::of(made.unwrap()).code(0);
    let mut command = program();
    command
        .arg("sanitize")
        .arg("--taps")
        .arg(at.join("taps.csv"))
        .arg("--config")
        .arg(at.join("tapveil.toml"));
    Run::of(command.arg("--out").arg(at.join("out")).output().unwrap()).code(0);
    at.join("out")
}

#[test]
fn five_questions_have_the_same_answers_in_pandas_and_duckdb() {
    let packages = ["pandas==3.1.1", "duckdb==2.0.0"];
    let Some(python) = python("python-recipients-1", &packages) else {
        return skipped("python3 with venv and pip, and pandas and DuckDB from PyPI, are not here");
    };
    let dir = tempfile::tempdir().unwrap();
    let out = city(dir.path());
    let release = out.join(&releases(&out)[0]);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/RECIPIENTS.md");
    let ran =
        Command::new(python).args(["-c", RUNNER]).arg(page).current_dir(&release).output().unwrap();
    let ran = Run::of(ran).code(0);
    let answers = |number: &str| ran.out.lines().filter(|line| line.starts_with(number)).count();
    assert_eq!(answers("1\t"), 5, "{}", ran.out);
    assert!((2..=5).all(|number| answers(&format!("{number}\t")) > 0), "{}", ran.out);
    // The first answer again, by hand.
    let mut sums = std::collections::BTreeMap::<String, u64>::new();
    for row in csv::Reader::from_path(release.join("stations.csv")).unwrap().records() {
        let row = row.unwrap();
        *sums.entry(row[0].to_owned()).or_default() += row[2].parse::<u64>().unwrap();
    }
    let busiest =
        sums.iter().max_by_key(|(id, taps)| (**taps, std::cmp::Reverse((*id).clone()))).unwrap();
    let first = format!("1\t{}\t{}", busiest.0, busiest.1);
    assert!(ran.out.starts_with(&first), "{first} against {}", ran.out);
}

/// Tables in the words of others say what the measured ones say, and the portal's catalog lists every file that is
/// there.
#[test]
fn tables_for_other_tools_and_portals_say_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let out = city(dir.path());
    let release = out.join(&releases(&out)[0]);
    let rows = |name: &str| -> Vec<csv::StringRecord> {
        csv::Reader::from_path(release.join(name)).unwrap().records().map(Result::unwrap).collect()
    };
    let (od, flows) = (rows("od.csv"), rows("flows.csv"));
    assert_eq!(od.len(), flows.len(), "every station of the city has a place");
    assert!(od.iter().zip(&flows).all(|(od, flow)| (0..4).all(|at| od[at] == flow[at])));
    let (stations, activities) = (rows("stations.csv"), rows("station_activities.csv"));
    assert_eq!(stations.len(), activities.len());
    for (cell, activity) in stations.iter().zip(&activities) {
        assert_eq!([&cell[0], &cell[1], &cell[2]], [&activity[1], &activity[2], &activity[7]]);
        assert!(
            activity[3] > activity[2] && activity[2].starts_with(&activity[0][..8]),
            "{activity:?}"
        );
    }
    let text = fs::read_to_string(out.join("catalog.jsonld")).unwrap();
    let catalog: serde_json::Value = serde_json::from_str(&text).unwrap();
    let dataset = &catalog["dcat:dataset"][0];
    let files = tree(&out);
    for file in dataset["dcat:distribution"].as_array().unwrap() {
        let path = file["dcat:downloadURL"]["@id"].as_str().unwrap();
        assert!(files.contains_key(Path::new(path)), "{path}");
    }
    assert!(dataset["dct:temporal"]["dcat:startDate"]["@value"].is_string());
    Run::of(program().arg("verify").arg(&out).output().unwrap()).code(0);
}
