//! A feed whose records say entry and exit: legs go from entry to exit.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::support::run;

const CONFIG: &str = r#"
version = 2
secret = { file = "tapveil.secret" }
ledger = { file = "tapveil.ledger" }
stations = { file = "stations.csv" }

[feed]
format = "csv"
time_zone = "Asia/Shanghai"
fields = { card = "card_no", station = "station", time = "deal_date" }
kind = { field = "deal_type", entry = ["in"], exit = ["out"] }

[window]
from = "2018-09-03"
to = "2018-09-04"

[engine]
epsilon = "4.0"
"#;

/// Everybody goes in at A and forgets to go out, goes in at B, comes out at C: the leg is B to C. By number it would be
/// A to B.
fn taps() -> String {
    let mut text = "deal_date,deal_type,card_no,station\n".to_owned();
    for card in 0..3_000 {
        let minute = card % 60;
        for (hour, kind, station) in [("08", "in", "A"), ("09", "in", "B"), ("10", "out", "C")] {
            writeln!(text, "2018-09-03 {hour}:{minute:02}:00,{kind},c{card},{station}").unwrap();
        }
    }
    text
}

fn largest_flow(dir: &Path, config: &str, out: &str) -> (String, String, u64) {
    fs::write(dir.join("tapveil.toml"), config).unwrap();
    let argument = |name: &str| dir.join(name).to_string_lossy().into_owned();
    run([
        "sanitize",
        "--taps",
        &argument("taps.csv"),
        "--config",
        &argument("tapveil.toml"),
        "--out",
        &argument(out),
    ])
    .code(0);
    let release = dir.join(out).join("20180903T0400_20180904T0400");
    run(["verify", &release.to_string_lossy()]).code(0);
    let text = fs::read_to_string(release.join("od.csv")).unwrap();
    let flows = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].to_owned(), cells[1].to_owned(), cells[3].parse().unwrap())
    });
    flows.max_by_key(|flow: &(String, String, u64)| flow.2).unwrap()
}

#[test]
fn legs_go_from_entry_to_exit_where_records_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let stations =
        "id,name,lat,lon,line\nA,A,22.53,114.05,1\nB,B,22.54,114.06,1\nC,C,22.55,114.07,1\n";
    fs::write(dir.path().join("stations.csv"), stations).unwrap();
    fs::write(dir.path().join("taps.csv"), taps()).unwrap();
    run(["init".to_owned(), dir.path().join("made").to_string_lossy().into_owned()]).code(0);
    for name in ["tapveil.secret", "tapveil.ledger"] {
        for other in ["", "other."] {
            let copy = dir.path().join(format!("{other}{name}"));
            fs::copy(dir.path().join("made").join(name), copy).unwrap();
        }
    }
    let (from, to, trips) = largest_flow(dir.path(), CONFIG, "kinds");
    assert_eq!((from.as_str(), to.as_str()), ("B", "C"));
    assert!(trips.abs_diff(3_000) < 500, "{trips}");
    let by_number =
        CONFIG.replace("\"tapveil.", "\"other.tapveil.") + "[trips]\nfrom = \"pairs\"\n";
    let (from, to, _) = largest_flow(dir.path(), &by_number, "pairs");
    assert_eq!((from.as_str(), to.as_str()), ("A", "B"));
}
