//! Taxonomies of one's own, through the program: from a file to a release that names it.

use std::fs;

use serde_json::Value;

use crate::contract::fits;
use crate::support::{City, Run, program, run};

const WEEK: &str = "20151109T0400_20151116T0400";
const PLACES: &str = "locations = { fanout = 2, height = 3 }";
const TIMES: &str = "times = { fanout = 2, height = 3 }";
const SAFEPATH: &str = "name = \"safepath\"\nepsilon = \"20.0\"\n\n[engine.safepath]\nheight = 4\nthreshold = \"own-noise\"\n\
                        # Every taxonomy level gets the same share; \"paper\" starves the time taxonomy at 168 slots.\n\
                        allocation = \"even\"\n\n[engine.safepath.taxonomy]\n";

fn check(city: &City, more: &[&str], code: i32) -> Run {
    let mut command = program();
    command.args(["check", "-c"]).arg(city.config()).args(more);
    Run::of(command.output().unwrap()).code(code)
}

fn ids(city: &City) -> Vec<String> {
    let listed = fs::read_to_string(city.path("stations.csv")).unwrap();
    listed.lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned()).collect()
}

/// An uneven taxonomy: the first line below two groups, the second below one, the rest in none.
fn uneven(city: &City) -> String {
    let below = |line: &str, indent: &str| -> String {
        let of_line = ids(city).into_iter().filter(|id| id.starts_with(line));
        of_line.map(|id| format!("{indent}{id}\n")).collect()
    };
    let rest = ids(city).into_iter().filter(|id| !id.starts_with("L1") && !id.starts_with("L2"));
    let rest: String = rest.map(|id| format!("{id}\n")).collect();
    format!("west\n  first\n{}{}{rest}", below("L1", "    "), below("L2", "  "))
}

fn manifest(city: &City, out: &str) -> Value {
    let path = city.path(out).join(WEEK).join("datapackage.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_release_over_a_taxonomy_of_ones_own_names_it_and_verifies() {
    for name in ["safepath", "hybrid"] {
        let city = City::new();
        fs::write(city.path("places.txt"), uneven(&city)).unwrap();
        fs::write(
            city.path("times.csv"),
            "id,parent\nweekend,\n0,\n1,\n2,\n3,\n4,\n5,weekend\n6,weekend\n",
        )
        .unwrap();
        city.edit(PLACES, "locations = { file = \"places.txt\" }");
        if name == "safepath" {
            city.edit(TIMES, "times = { file = \"times.csv\" }");
        } else {
            city.edit(TIMES, "");
            let hybrid = "name = \"hybrid\"\nepsilon = \"20.0\"\n\n[engine.hybrid]\nheight = 4\ninput = \"sequences\"\n\
                          inference = \"kept-groups\"\n\n\
                          [engine.hybrid.taxonomy]\n";
            city.edit(SAFEPATH, hybrid);
        }
        let drawn = check(&city, &[], 0).out;
        let (with, without) = ("├─ west (", "│  ├─ first (");
        assert!(drawn.contains(with) && drawn.contains(without), "{drawn}");
        let said = check(&city, &["--json"], 0).json();
        fits("cli-check-1.json", &said);
        let west = &said["taxonomies"][0]["below"][0];
        assert_eq!((&west["group"], &west["below"][0]["group"]), (&"west".into(), &"first".into()));
        city.sanitize("out", &[]).code(0);
        city.verify("out").code(0);
        let rows = fs::read_to_string(city.path("out").join(WEEK).join("paths.csv")).unwrap();
        assert!(rows.lines().count() > 5, "{name}: {rows}");
        let released = manifest(&city, "out");
        let named = &released["privacy"]["engine"]["parameters"]["taxonomy.locations"];
        assert_eq!(*named, said["engine"]["parameters"]["taxonomy.locations"]);
        assert!(named.as_str().unwrap().starts_with("own, sha256 "), "{named}");
        let kept =
            released["privacy"]["post_processing"].to_string().contains("the groups above them");
        assert_eq!(kept, name == "hybrid");
        // The same groups in another form are the same declaration, so the release is there already.
        let table: String = said["taxonomies"][0]["below"]
            .as_array()
            .unwrap()
            .iter()
            .map(|b| rows_of(b, ""))
            .collect();
        fs::write(city.path("places.txt"), format!("id,parent\n{table}")).unwrap();
        city.sanitize("out", &[]).code(0);
        // Another group is another declaration, and a window is released once.
        fs::write(city.path("places.txt"), uneven(&city).replace("first", "one")).unwrap();
        let refused = city.sanitize("other", &["--json"]).code(1).json();
        assert_eq!(refused["windows"][0]["reason"], "repeat", "{refused}");
    }
}

/// The rows of a branch, as `check --json` has it.
fn rows_of(branch: &Value, parent: &str) -> String {
    match branch["group"].as_str() {
        None => format!("{},{parent}\n", branch.as_str().unwrap()),
        Some(group) => {
            let below = branch["below"].as_array().unwrap().iter().map(|one| rows_of(one, group));
            format!("{}{group},{parent}\n", below.collect::<String>())
        }
    }
}

#[test]
fn a_loop_an_orphan_and_a_station_twice_end_with_two_and_their_lines() {
    let city = City::new();
    city.edit(PLACES, "locations = { file = \"places.csv\" }");
    let all: String = ids(&city).iter().map(|id| format!("{id},\n")).collect();
    let first = &ids(&city)[0];
    for (more, words) in [
        ("x,y\ny,x\n".to_owned(), "line 2: it goes in a circle: x < y < x"),
        (
            "x,nowhere\n".to_owned(),
            "line 2: \"x\" is an orphan: its parent \"nowhere\" has no line",
        ),
        (format!("{first},\n"), "stands here twice: first in line 2"),
        ("empty,\n".to_owned(), "line 2: \"empty\" is neither a station nor a group of any"),
    ] {
        fs::write(city.path("places.csv"), format!("id,parent\n{more}{all}")).unwrap();
        let refused = check(&city, &[], 2);
        let at = "engine.safepath.taxonomy.locations: ";
        assert!(
            refused.err.contains(at) && refused.err.contains(words),
            "{words}: {}",
            refused.err
        );
        let sanitized = city.sanitize("out", &[]).code(2);
        assert!(sanitized.err.contains(words) && !city.path("out").exists(), "{}", sanitized.err);
    }
    fs::write(city.path("places.csv"), "").unwrap();
    assert!(check(&city, &[], 2).err.contains("line 1: the file is empty"));
}

/// What `stations --taxonomy` writes is what an engine reads.
#[test]
fn the_tree_of_a_gtfs_feed_is_a_taxonomy() {
    let city = City::generated(50);
    let gtfs = city.path("gtfs");
    fs::create_dir(&gtfs).unwrap();
    for (name, text) in [
        ("stops.txt", "stop_id,stop_name,stop_lat,stop_lon\nA,A,1,1\nB,B,1,2\nC,C,1,3\nD,D,2,2\n"),
        (
            "agency.txt",
            "agency_id,agency_name,agency_url,agency_timezone\nt,Transit,http://a,UTC\n",
        ),
        (
            "routes.txt",
            "route_id,agency_id,route_short_name,route_type\nr1,t,1,1\nr2,t,2,1\nr3,t,3,1\n",
        ),
        ("trips.txt", "route_id,service_id,trip_id\nr1,s,t1\nr2,s,t2\nr3,s,t3\n"),
        (
            "stop_times.txt",
            "trip_id,stop_id,stop_sequence\nt1,A,1\nt1,B,2\nt2,C,1\nt2,D,2\nt3,A,1\n",
        ),
    ] {
        fs::write(gtfs.join(name), text).unwrap();
    }
    let tree = city.path("tree.csv");
    let arguments =
        ["stations", "--gtfs", gtfs.to_str().unwrap(), "--taxonomy", tree.to_str().unwrap()];
    run(arguments).code(0);
    city.edit("file = \"stations.csv\"", "gtfs = \"gtfs\"");
    city.edit(PLACES, "locations = { file = \"tree.csv\" }");
    let drawn = check(&city, &[], 0).out;
    for words in ["network Transit (4)", "line 1 (2): A, B", "line 2 (2): C, D"] {
        assert!(drawn.contains(words), "{words}: {drawn}");
    }
}
