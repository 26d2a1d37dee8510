//! Lists of stations out of GTFS feeds.

use std::fs;
use std::path::{Path, PathBuf};

use tapveil::gtfs::{Choice, Network};

use crate::support::{City, Run, program, run, skipped};

fn feed(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let found = [beside, PathBuf::from("/work/shared/data")]
        .into_iter()
        .map(|data| data.join(name))
        .find(|dir| dir.join("stops.txt").is_file());
    if found.is_none() {
        skipped(&format!("the GTFS feed is not here (../shared/data/{name})"));
    }
    found
}

fn stations(arguments: &[&str]) -> Run {
    run(["stations", "--gtfs"].iter().chain(arguments))
}

/// Twelve metro lines of a whole feed, each with its stations in their order.
#[test]
fn a_whole_feed_gives_stations_on_lines() {
    let Some(dir) = feed("gtfs-mexico-city") else { return };
    let all = Network::read(&dir, &Choice::default()).unwrap();
    assert_eq!(all.stations.len(), 5_215);
    let metro = Choice { route_types: vec![1], ..Choice::default() };
    let metro = Network::read(&dir, &metro).unwrap();
    let lines: std::collections::BTreeSet<&str> =
        metro.stations.iter().map(|station| station.line.as_str()).collect();
    assert_eq!(lines.len(), 12, "{lines:?}");
    let made = stations(&[dir.to_str().unwrap(), "--route-types", "1"]).code(0);
    assert_eq!(made.out.lines().count(), metro.stations.len() + 1);
    assert!(tapveil::model::Stations::from_csv(made.out.as_bytes()).is_ok());
}

/// A feed of stops alone: its 68 metro stations, what is missing, and a list of neighbours.
#[test]
fn a_feed_of_stops_alone_says_what_is_missing() {
    let Some(dir) = feed("gtfs-montreal") else { return };
    let made = stations(&[dir.to_str().unwrap(), "--only-stations"]).code(0);
    assert_eq!(made.out.lines().count(), 69);
    assert!(made.err.contains("trips.txt, stop_times.txt is missing"), "{}", made.err);
    assert!(made.err.contains("fanout"), "{}", made.err);
    let refused = stations(&[dir.to_str().unwrap(), "--route-types", "1"]).code(2);
    assert!(refused.err.contains("leave stations.route_types out"), "{}", refused.err);
}

const STOPS: &str = "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\nA,Airport,1,1,1,\nA1,Gate,1,1,0,A\n\
                     B,Bridge,2,2,,\n";

/// A configuration may name a feed; taps may name platforms; what is written out reads the same.
#[test]
fn a_configuration_names_a_feed_instead_of_a_file() {
    let city = City::generated(50);
    fs::create_dir(city.path("gtfs")).unwrap();
    fs::write(city.path("gtfs/stops.txt"), STOPS).unwrap();
    city.edit("file = \"stations.csv\"", "gtfs = \"gtfs\"");
    let check = |code: i32, more: &[&str]| {
        let mut command = program();
        command.args(["check", "-c"]).arg(city.config()).args(more);
        Run::of(command.output().unwrap()).code(code)
    };
    let said = check(0, &[]);
    assert!(
        said.out.contains("stations       2") && said.out.contains("stop_times.txt is missing"),
        "{}",
        said.out
    );
    let taps = city.path("sample.csv");
    fs::write(&taps, "card,station,time\nc,A1,2015-11-09T07:00:00Z\nc,B,2015-11-09T08:00:00Z\n")
        .unwrap();
    let sampled = check(0, &["--json", "--sample", taps.to_str().unwrap()]).json();
    assert_eq!(sampled["records"][0]["tap"]["station"], "A", "a platform means its station");
    let gtfs = city.path("gtfs");
    let (aliases, tree) = (city.path("aliases.csv"), city.path("tree.csv"));
    let files = ["--aliases", aliases.to_str().unwrap(), "--taxonomy", tree.to_str().unwrap()];
    let written = stations(&[&[gtfs.to_str().unwrap()], &files[..]].concat()).code(0);
    assert_eq!(written.out, "id,name,lat,lon,line\nA,Airport,1,1,\nB,Bridge,2,2,\n");
    assert_eq!(fs::read_to_string(&aliases).unwrap(), "alias,station\nA1,A\n");
    assert_eq!(fs::read_to_string(&tree).unwrap(), "id,parent\nA,\nB,\n");
}

#[test]
fn every_bad_feed_ends_with_two_and_a_sentence() {
    let city = City::generated(50);
    fs::create_dir(city.path("gtfs")).unwrap();
    let text = fs::read_to_string(city.config()).unwrap();
    fs::write(city.config(), text.replace("file = \"stations.csv\"", "gtfs = \"gtfs\"")).unwrap();
    let config = city.config();
    let check = || run(["check".as_ref(), "-c".as_ref(), config.as_os_str()]).code(2);
    assert!(check().err.contains("stations.gtfs: ") && check().err.contains("has no stops.txt"));
    for (stops, words) in [
        (
            STOPS.replace("1,1,1,\n", "1,1,1,A1\n").into_bytes(),
            "parent_station goes in a circle: A → A1 → A",
        ),
        (STOPS.replace(",0,A\n", ",0,Z\n").into_bytes(), "names stops that are not there: Z"),
        ([STOPS.as_bytes(), b"D,Caf\xe9,1,1,0,\n"].concat(), "Windows-1252"),
        (b"stop_id\n".to_vec(), "no station of"),
    ] {
        fs::write(city.path("gtfs/stops.txt"), stops).unwrap();
        assert!(check().err.contains(words), "{words}: {}", check().err);
    }
    city.edit("gtfs = \"gtfs\"", "gtfs = \"taps.csv\"");
    assert!(check().err.contains("neither a directory nor a whole zip file"), "{}", check().err);
    city.edit("gtfs = \"taps.csv\"", "gtfs = \"taps.csv\"\nfile = \"stations.csv\"");
    assert!(check().err.contains("keep one of them"), "{}", check().err);
}
