//! `dptd` through the program, with good places and bad ones; and the other engines of the papers on input that nobody
//! would wish for.

use std::fs;

use crate::support::{City, Run, program, tree};

const WEEK: &str = "20151109T0400_20151116T0400";

/// A week of a city with this engine, in place of the usual one.
fn city(engine: &str) -> City {
    let city = City::new();
    let text = fs::read_to_string(city.config()).unwrap();
    let (before, rest) = text.split_once("[engine]\n").unwrap();
    let (_, after) = rest.split_once("[budget]\n").unwrap();
    fs::write(city.config(), format!("{before}[engine]\n{engine}[budget]\n{after}")).unwrap();
    city
}

const DPTD: &str =
    "name = \"dptd\"\nepsilon = \"20.0\"\n[engine.dptd]\nheight = 3\nradius = 1500\n";

fn manifest(city: &City, out: &str) -> serde_json::Value {
    let path = city.path(out).join(WEEK).join("datapackage.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn rows(city: &City, out: &str) -> usize {
    let rows = fs::read_to_string(city.path(out).join(WEEK).join("paths.csv")).unwrap();
    rows.lines().count() - 1
}

fn check(city: &City) -> Run {
    Run::of(program().args(["check", "-c"]).arg(city.config()).output().unwrap())
}

#[test]
fn dptd_that_is_sound_is_released_and_verified() {
    let city = city(DPTD);
    city.sanitize("out", &[]).code(0);
    city.verify("out").code(0);
    assert!(rows(&city, "out") > 5, "a release to look at has rows");
    let privacy = &manifest(&city, "out")["privacy"];
    assert_eq!(privacy["engine"]["parameters"]["variant"], "sound");
    assert_eq!(privacy["guarantee"]["model"], "differential-privacy");
    assert_eq!(city.spent_micro(), 20_000_000);
}

#[test]
fn dptd_as_published_is_refused_unless_somebody_asks_for_no_guarantee() {
    let city = city(&format!("{DPTD}variant = \"published\"\n"));
    let ledger = city.ledger();
    for refused in [check(&city).code(2), city.sanitize("out", &[]).code(2)] {
        assert!(refused.err.contains("nobody is protected"), "{}", refused.err);
        assert!(refused.err.contains("allow_unsound = true"), "{}", refused.err);
    }
    assert_eq!(city.ledger(), ledger);
    city.edit("\"published\"\n", "\"published\"\nallow_unsound = true\n");
    city.sanitize("out", &[]).code(0);
    city.verify("out").code(0);
    let guarantee = &manifest(&city, "out")["privacy"]["guarantee"];
    assert_eq!((&guarantee["model"], &guarantee["dp"]), (&"none".into(), &false.into()));
    assert!(guarantee.to_string().contains("come from the raw taps"), "it says why: {guarantee}");
}

/// Writes the list anew with these coordinates.
fn place(city: &City, place: impl Fn(usize) -> (String, String)) {
    let listed = fs::read_to_string(city.path("stations.csv")).unwrap();
    let mut text = "id,name,lat,lon,line\n".to_owned();
    for (at, row) in listed.lines().skip(1).enumerate() {
        let fields: Vec<&str> = row.split(',').collect();
        let (lat, lon) = place(at);
        text.push_str(&format!("{},{},{lat},{lon},{}\n", fields[0], fields[1], fields[4]));
    }
    fs::write(city.path("stations.csv"), text).unwrap();
}

#[test]
fn coordinates_that_are_missing_are_a_complaint_with_their_stations() {
    let city = city(DPTD);
    let everywhere = |at: usize| ("45.5".to_owned(), format!("-73.{at:03}"));
    place(&city, |at| if at == 3 { (String::new(), String::new()) } else { everywhere(at) });
    let (refused, ledger) = (check(&city).code(2), city.ledger());
    let words = "needs lat and lon of every station; 1 of 68 have none: L1-04";
    assert!(refused.err.contains(words), "{}", refused.err);
    let refused = city.sanitize("out", &[]).code(2);
    assert!(refused.err.contains(words) && !city.path("out").exists(), "{}", refused.err);
    assert_eq!(city.ledger(), ledger);
    place(&city, |_| (String::new(), String::new()));
    assert!(check(&city).code(2).err.contains("68 of 68 have none: L1-01"));
}

/// All stations at one place are one cluster; a radius beyond the city, too; a core that nobody can be, none.
#[test]
fn equal_coordinates_one_cluster_and_none_give_releases_like_any_other() {
    let equal = city(DPTD);
    place(&equal, |_| ("45.5".to_owned(), "-73.5".to_owned()));
    let one = city(&DPTD.replace("radius = 1500", "radius = 1000000"));
    let none = city(&format!("{DPTD}min_taps = 1000000000\n"));
    for city in [equal, one, none] {
        city.sanitize("out", &[]).code(0);
        city.verify("out").code(0);
        assert_eq!(city.spent_micro(), 20_000_000);
    }
}

/// K-anonymity is L beyond every trajectory: the same as any other such L.
#[test]
fn an_l_longer_than_any_trajectory_is_released_and_verified() {
    let of = |l: u32| {
        let city = city(&format!("name = \"lk\"\n[engine.lk]\nl = {l}\nk = 10\n"));
        city.sanitize("out", &[]).code(0);
        city.verify("out").code(0);
        let guarantee = &manifest(&city, "out")["privacy"]["guarantee"];
        assert_eq!(guarantee["L"], l);
        fs::read(city.path("out").join(WEEK).join("paths.csv")).unwrap()
    };
    let (one, other) = (of(500), of(1_000));
    assert!(one.len() > 200 && one == other);
}

#[test]
fn a_k_above_the_number_of_cards_suppresses_everything_and_says_so_under_both_variants() {
    for variant in ["best", "published"] {
        let engine =
            format!("name = \"lk\"\n[engine.lk]\nl = 2\nk = 100000\nvariant = {variant:?}\n");
        let city = city(&engine);
        let done = city.sanitize("out", &[]).code(0);
        assert!(done.out.contains("everything was suppressed"), "{}", done.out);
        assert_eq!(rows(&city, "out"), 0);
        city.verify("out").code(0);
    }
}

#[test]
fn adversaries_that_overlap_or_own_nothing_are_refused() {
    let with = |adversaries: &str| {
        let engine =
            "name = \"projection\"\n[engine.projection]\nbreach = \"0.5\"\ninput = \"sequences\"\n";
        city(&format!("{engine}adversaries = {adversaries}\n"))
    };
    for (adversaries, words) in [
        ("{ A = [\"L1-01\", \"L1-02\"], B = [\"L1-02\"] }", "station L1-02 belongs to A and to B"),
        ("{ A = [\"L1-01\"], B = [] }", "B has no stations"),
        ("{}", "engine.projection.adversaries"),
    ] {
        let city = with(adversaries);
        let before = tree(&city.path("."));
        for refused in [check(&city).code(2), city.sanitize("out", &[]).code(2)] {
            assert!(refused.err.contains(words), "{words}: {}", refused.err);
        }
        assert!(tree(&city.path(".")) == before, "nothing was written");
    }
    let owners = "{ A = [\"nowhere\"], B = [], C = [\"L1-01\"], D = [\"L1-01\"] }";
    for (adversaries, n_complaints) in [(owners, 3), ("{ A = [\"nowhere\"] }", 1)] {
        let refused = check(&with(adversaries)).code(2);
        let about = refused.err.matches("engine.projection.adversaries").count();
        assert_eq!(about, n_complaints, "all at once, each once: {}", refused.err);
    }
    // An adversary at a station where nobody was owns nothing of any trajectory.
    let city = with("{ A = [\"L1-01\"], B = [\"L1-02\"] }");
    let taps = fs::read_to_string(city.path("taps.csv")).unwrap();
    let elsewhere: Vec<&str> = taps.lines().filter(|line| !line.contains("L1-02")).collect();
    fs::write(city.path("few.csv"), elsewhere.join("\n") + "\n").unwrap();
    city.sanitize_file("few.csv", "out", &[]).code(0);
    city.verify("out").code(0);
}
