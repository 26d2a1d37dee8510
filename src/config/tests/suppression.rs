use super::*;

const LK: &str = "[engine]\nname = \"lk\"\n[engine.lk]\nl = 3\nk = 30\n";

/// The complaints about a configuration of lk with this added below `[engine]`.
fn complaints(added: &str) -> Vec<String> {
    Feed::new().complaints(&format!("{MINIMAL}{LK}{added}"))
}

#[test]
fn lk_loads_with_its_defaults_and_without_a_limit_of_length() {
    let feed = Feed::new();
    let settings = feed.load(&format!("{MINIMAL}{LK}")).unwrap();
    assert!(!settings.engine.price().is_differential());
    assert_eq!(settings.max_length, None, "nothing needs a bound");
    let facts = settings.engine.describe();
    let parameter = |name: &str| {
        facts.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    };
    assert_eq!((facts.name, parameter("l"), parameter("k")), ("lk", Some("3"), Some("30")));
    assert_eq!((parameter("score"), parameter("weights.alpha")), (Some("1"), Some("0.4")));
    let warned = |warning: &Warning| matches!(warning, Warning::NoLifetime | Warning::NoHorizon);
    assert!(!settings.warnings.iter().any(warned), "caps are for what costs something");
    let bounded = feed.load(&format!("{MINIMAL}{LK}[window]\nmax_length = 5\n")).unwrap();
    assert_eq!(bounded.max_length.map(|most| most.get()), Some(5));
    assert_ne!(bounded.digest, settings.digest);
}

#[test]
fn every_mistake_about_lk_is_one_clear_complaint() {
    let lk = |l: &str, k: &str, more: &str| {
        format!("{MINIMAL}[engine]\nname = \"lk\"\n[engine.lk]\nl = {l}\nk = {k}\n{more}\n")
    };
    for (text, key, words) in [
        (lk("0", "30", ""), "engine.lk.l", "from 1 to"),
        (lk("3", "0", ""), "engine.lk.k", "from 1 to"),
        (lk("3", "-1", ""), "engine.lk.k", "from 1 to"),
        (lk("3", "\"30\"", ""), "engine.lk.k", "whole number"),
        (lk("3", "1", ""), "engine.lk.k", "allow_unsound = true"),
        (lk("3", "9", "score = 5"), "engine.lk.score", "1, 2, 3, 4"),
        (lk("3", "9", "max_work = 0"), "engine.lk.max_work", "from 1 to"),
        (lk("3", "9", "weights = { alpha = \"0.5\" }"), "engine.lk.weights", "is not 1"),
        (lk("3", "9", "weights = { alpha = 0.4 }"), "engine.lk.weights.alpha", "not exact"),
        (
            lk("3", "9", "weights = { alpha = \"-0.4\" }"),
            "engine.lk.weights.alpha",
            "between 0 and 1",
        ),
        (lk("3", "9", "weights = { omega = \"1\" }"), "engine.lk.weights.omega", "unknown key"),
        (
            lk("3", "9", "").replace("[engine.lk]", "epsilon = \"1.0\"\n[engine.lk]"),
            "engine.epsilon",
            "costs no epsilon",
        ),
        (lk("3", "9", "taxonomy.locations = \"flat\""), "engine.lk.taxonomy", "unknown section"),
        (
            lk("3", "9", "breach = \"0.5\""),
            "engine.lk.breach",
            "did you mean engine.projection.breach?",
        ),
        (lk("3", "9", "input = \"sequences\""), "engine.lk.input", "unknown key"),
        (lk("3", "9", "").replace("l = 3\n", ""), "engine.lk.l", "is required"),
    ] {
        let complaints = Feed::new().complaints(&text);
        assert_eq!(complaints.len(), 1, "{text}: {complaints:#?}");
        assert!(complaints[0].starts_with(key), "{complaints:?}");
        assert!(complaints[0].contains(words), "{complaints:?}");
    }
}

#[test]
fn all_mistakes_about_lk_come_at_once() {
    let complaints = complaints("score = 0\nmax_work = 0\nweights = { delta = \"0.9\" }\n");
    assert_eq!(complaints.len(), 3, "{complaints:#?}");
}

#[test]
fn a_k_that_protects_nobody_needs_a_word() {
    let text = format!(
        "{MINIMAL}[engine]\nname = \"lk\"\n[engine.lk]\nl = 3\nk = 1\nallow_unsound = true\n"
    );
    assert!(Feed::new().load(&text).is_ok());
}

#[test]
fn whatever_can_change_what_lk_releases_changes_the_digest() {
    let feed = Feed::new();
    let digest = |text: &str| feed.load(&format!("{MINIMAL}{text}")).unwrap().digest;
    let mut seen = vec![digest(LK)];
    for other in [
        LK.replace("l = 3", "l = 2"),
        LK.replace("k = 30", "k = 31"),
        format!("{LK}score = 2\n"),
        format!("{LK}weights = {{ alpha = \"0.2\", beta = \"0.4\" }}\n"),
        format!("{LK}max_work = 1000\n"),
    ] {
        let digest = digest(&other);
        assert!(!seen.contains(&digest), "{other}");
        seen.push(digest);
    }
    assert_eq!(digest(&format!("{LK}score = 1\n")), seen[0]);
}

const PROJECTION: &str = "[engine]\nname = \"projection\"\n[engine.projection]\nbreach = \"0.5\"\ninput = \"sequences\"\n\
                          adversaries = { A = [\"a\", \"b\"], B = [\"c\"] }\n";

#[test]
fn projection_takes_adversaries_by_list_or_by_line() {
    let feed = Feed::new();
    let listed = feed.load(&format!("{MINIMAL}{PROJECTION}")).unwrap();
    assert!(!listed.engine.price().is_differential() && listed.max_length.is_none());
    let by_line = PROJECTION.replace("{ A = [\"a\", \"b\"], B = [\"c\"] }", "\"line\"");
    let by_line = feed.load(&format!("{MINIMAL}{by_line}")).unwrap();
    let parameters = by_line.engine.describe().parameters;
    let owned = &parameters.iter().find(|(name, _)| name == "adversaries").unwrap().1;
    assert_eq!(owned, "{\"blue\": [\"c\"], \"red\": [\"a\", \"b\"]}", "d has no line");
    assert_ne!(by_line.digest, listed.digest);
    for other in [("0.5", "0.4"), ("sequences", "doublets"), ("[\"c\"]", "[\"c\", \"d\"]")] {
        let changed = feed.load(&format!("{MINIMAL}{}", PROJECTION.replace(other.0, other.1)));
        assert_ne!(changed.unwrap().digest, listed.digest, "{other:?}");
    }
}

#[test]
fn every_mistake_about_projections_is_one_clear_complaint() {
    for (from, to, key, words) in [
        ("\"0.5\"", "\"0\"", "engine.projection.breach", "between 0 and 1"),
        ("\"0.5\"", "\"1\"", "engine.projection.breach", "between 0 and 1"),
        ("\"0.5\"", "\"1.5\"", "engine.projection.breach", "between 0 and 1"),
        ("\"0.5\"", "\"-0.5\"", "engine.projection.breach", "between 0 and 1"),
        ("\"0.5\"", "0.5", "engine.projection.breach", "not exact"),
        ("breach = \"0.5\"\n", "", "engine.projection.breach", "is required"),
        (
            "B = [\"c\"]",
            "B = [\"b\"]",
            "engine.projection.adversaries",
            "station b belongs to A and to B",
        ),
        ("B = [\"c\"]", "B = []", "engine.projection.adversaries", "B has no stations"),
        ("B = [\"c\"]", "B = [\"x\"]", "engine.projection.adversaries", "no station's id"),
        ("B = [\"c\"]", "B = \"c\"", "engine.projection.adversaries", "is not { A ="),
        ("B = [\"c\"]", "B = [3]", "engine.projection.adversaries", "is not { A ="),
        ("sequences", "trips", "engine.projection.input", "\"doublets\", \"sequences\""),
        ("input", "k = 5\ninput", "engine.projection.k", "did you mean engine.lk.k?"),
        (
            "[engine.projection]",
            "epsilon = \"1\"\n[engine.projection]",
            "engine.epsilon",
            "costs no epsilon",
        ),
    ] {
        let text = PROJECTION.replace(from, to);
        let complaints = Feed::new().complaints(&format!("{MINIMAL}{text}"));
        assert_eq!(complaints.len(), 1, "{text}: {complaints:#?}");
        assert!(complaints[0].starts_with(key), "{complaints:?}");
        assert!(complaints[0].contains(words), "{complaints:?}");
    }
    let bare = format!("{MINIMAL}[engine]\nname = \"projection\"\n");
    assert_eq!(Feed::new().complaints(&bare).len(), 2, "breach and adversaries");
    let column = PROJECTION.replace("{ A = [\"a\", \"b\"], B = [\"c\"] }", "\"zone\"");
    let complaints = Feed::new().complaints(&format!("{MINIMAL}{column}"));
    assert!(complaints[0].contains("\"line\""), "{complaints:?}");
}
