use super::*;

pub(super) fn parameter(settings: &Settings, name: &str) -> String {
    let parameters = settings.engine.describe().parameters;
    parameters
        .into_iter()
        .find(|(known, _)| known == name)
        .map_or(String::new(), |(_, value)| value)
}

fn engine(name: &str, more: &str) -> String {
    format!("{MINIMAL}[engine]\nname = \"{name}\"\n[engine.{name}]\n{more}\n")
}

/// A height that does not fit used to be lowered in silence.
#[test]
fn a_taxonomy_that_is_lowered_is_said() {
    let feed = Feed::new();
    let added =
        "[engine.safepath]\nallocation = \"even\"\ntaxonomy.locations = { fanout = 2, height = 6 }";
    let warnings = feed.load(&format!("{MINIMAL}{added}")).unwrap().warnings;
    let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let is_said =
        |line: &String| line.contains("4 leaves cannot be split 6 times; height 1 is used");
    assert!(said.iter().any(is_said), "{said:?}");
}

#[test]
fn every_engine_over_the_tree_loads_by_its_name_alone() {
    let feed = Feed::new();
    for name in ["safepath", "hybrid", "simple", "seqpt"] {
        let settings = feed.load(&engine(name, "")).unwrap();
        assert_eq!(settings.engine.describe().name, name);
        let forecast =
            settings.engine.forecast(settings.calendar.slots_nominal(), crate::engine::USUAL_CARDS);
        assert!(!forecast.shares.is_empty() && forecast.expected_error.is_some(), "{name}");
        assert_eq!(settings.engine.price().epsilon().to_string(), "1.0");
    }
    for name in ["hybrid", "simple"] {
        let settings = feed.load(&engine(name, "input = \"sequences\"")).unwrap();
        assert_eq!(parameter(&settings, "input"), "sequences");
    }
}

/// Six red stations, four blue ones and one alone: five to a line on average.
#[test]
fn hybrid_takes_lines_where_there_are_lines_and_one_number_for_all_of_them() {
    let feed = Feed::new();
    let line = |n: u32| {
        if n < 6 {
            "red"
        } else if n < 10 {
            "blue"
        } else {
            ""
        }
    };
    let rows: String = (0..11).map(|n| format!("s{n:02},{}\n", line(n))).collect();
    feed.put("stations.csv", &format!("id,line\n{rows}"));
    for more in ["", "taxonomy.locations = \"lines\""] {
        let settings = feed.load(&engine("hybrid", more)).unwrap();
        assert_eq!(parameter(&settings, "taxonomy.locations"), "lines");
        assert_eq!(parameter(&settings, "taxonomy.fanout"), "5");
    }
    let settings = feed.load(&engine("hybrid", "taxonomy.fanout = 7")).unwrap();
    assert_eq!(parameter(&settings, "taxonomy.fanout"), "7");
    let table = "taxonomy.locations = { fanout = 4, height = 2 }";
    let settings = feed.load(&engine("hybrid", table)).unwrap();
    assert_eq!(parameter(&settings, "taxonomy.fanout"), "4");
    feed.put("stations.csv", "id\na\nb\nc\n");
    let settings = feed.load(&engine("hybrid", "")).unwrap();
    assert_eq!(parameter(&settings, "taxonomy.fanout"), "3", "no lines: groups of the list");
}

#[test]
fn groups_that_hybrid_cannot_pay_for_are_refused_in_words() {
    let feed = Feed::new();
    for (more, words) in [
        ("taxonomy.locations = { fanout = 2, height = 3 }", "a fan-out of 2 leaves no budget"),
        ("taxonomy.locations = \"lines\"\ntaxonomy.fanout = 2", "a fan-out of 2 leaves no budget"),
        ("taxonomy.locations = \"flat\"", "\"simple\""),
        ("taxonomy.locations = \"lines\"", "2 stations on average"),
        ("taxonomy.fanout = 0", "from 1 to"),
    ] {
        let complaint = feed.complaint(&engine("hybrid", more).replace(MINIMAL, ""));
        assert!(complaint.starts_with("engine.hybrid.taxonomy."), "{more}: {complaint}");
        assert!(complaint.contains(words), "{more}: {complaint}");
    }
    feed.put("stations.csv", "id\na\nb\n");
    let complaint =
        feed.complaint("[engine]\nname = \"hybrid\"\nhybrid.taxonomy.locations = \"lines\"\n");
    assert!(complaint.contains("no station of the list has a line"), "{complaint}");
}

#[test]
fn complaints_about_an_engine_come_all_at_once_whatever_its_name() {
    let feed = Feed::new();
    for name in ["safepath", "hybrid", "simple", "seqpt"] {
        let more = "height = 0\nthreshold = 0\nmax_nodes = 0\nlevels = 3\n[trips]\nfrom = \"home\"";
        let complaints = feed.complaints(&engine(name, more));
        assert_eq!(complaints.len(), 5, "{name}: {complaints:#?}");
    }
}

/// A section of another engine is no reason to refuse, and not passed over in silence.
#[test]
fn sections_of_other_engines_are_warned_about() {
    let feed = Feed::new();
    let settings = feed.load(&engine("simple", "[engine.lk]\nk = 3")).unwrap();
    let unused = Warning::Unused { section: "engine.lk".to_owned(), engine: "simple" };
    assert!(settings.warnings.contains(&unused), "{:?}", settings.warnings);
    assert_eq!(unused.to_string(), "[engine.lk] has no effect while engine.name = \"simple\"");
}

#[test]
fn every_sample_of_every_engine_loads() {
    let feed = Feed::new();
    for registration in Registry::standard().iter() {
        let name = registration.name;
        let starter = format!("{MINIMAL}[engine]\nname = \"{name}\"\n{}", registration.starter);
        assert_eq!(feed.load(&starter).unwrap().engine.describe().name, name);
        let demo = format!("{MINIMAL}{}", registration.demo);
        assert_eq!(feed.load(&demo).unwrap().engine.describe().name, name);
    }
}

#[test]
fn a_seqpt_that_noise_would_fill_is_refused_with_the_height_that_fits() {
    let feed = Feed::new();
    let ids: String = (0..68).map(|n| format!("s{n:02}\n")).collect();
    feed.put("stations.csv", &format!("id\n{ids}"));
    let complaint = feed.complaint("[engine]\nname = \"seqpt\"\nseqpt.height = 12\n");
    assert!(complaint.starts_with("engine.seqpt.height: noise alone"), "{complaint}");
    assert!(complaint.contains("largest height that fits is"), "{complaint}");
}

#[test]
fn weave_needs_its_name_alone_and_refuses_what_is_not_its_own() {
    let feed = Feed::new();
    let settings = feed.load(&engine("weave", "")).unwrap();
    assert_eq!(settings.engine.describe().name, "weave");
    assert_eq!(parameter(&settings, "favour"), "balanced");
    assert_eq!(parameter(&settings, "trips.from"), "next");
    let forecast =
        settings.engine.forecast(settings.calendar.slots_nominal(), crate::engine::USUAL_CARDS);
    assert!(!forecast.shares.is_empty() && forecast.shares_of.contains("table"));
    let chosen = engine("weave", "favour = \"od\"\n[trips]\nfrom = \"pairs\"");
    let settings = feed.load(&chosen).unwrap();
    assert_eq!(parameter(&settings, "favour"), "od");
    assert_eq!(parameter(&settings, "trips.from"), "pairs");
    for (more, what) in [
        ("favour = \"speed\"", "is not one of"),
        ("height = 7", "unknown key"),
        ("[window]\nmax_length = 1000", "doublets of a card at most"),
    ] {
        let complaints = feed.load(&engine("weave", more)).unwrap_err().to_string();
        assert!(complaints.contains(what), "{more}: {complaints}");
    }
}
