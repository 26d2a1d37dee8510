//! The statement binds: every key of a configuration is in it, or has a reason why not.

use super::*;
use crate::config::keys::sections;

/// Why a key is no part of the statement; `None`: it is part of it.
fn left_out(key: &str) -> Option<&'static str> {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    match (section, name) {
        ("", "version") => Some("the form of the file"),
        ("secret", _) | ("ledger", _) => {
            Some("where files lie; the ledger and the secret name each other")
        }
        ("stations", _) => Some("where the list lies; its content is in the configuration digest"),
        ("kafka" | "kafka.topics" | "kafka.properties", _) => {
            Some("how brokers are reached; the ledger refuses to be replaced by renaming")
        }
        ("http", "token_file") | ("log", _) => {
            Some("what operators see, who see exact numbers anyway")
        }
        (
            "release",
            "title" | "licence" | "contact" | "dir" | "at" | "after" | "on" | "not_before",
        ) => Some("words, place and time of a release; its rows do not change"),
        ("release", "approved") => Some("the signature itself"),
        ("window", "clock_margin") => Some("how long sealing waits; no tap is judged by it"),
        _ => None,
    }
}

fn statement(feed: &Feed, added: &str) -> Statement {
    Statement::of(&feed.load(&format!("{MINIMAL}{added}")).unwrap())
}

/// One change of every key that can weaken the promise, in a configuration of its own where it needs one.
const CHANGES: &[(&str, &str, &str)] = &[
    ("feed.id", "", "[feed]\nid = \"bus\""),
    ("feed.format", "", "[feed]\nformat = \"csv\""),
    ("feed.time_zone", "", "[feed]\ntime_zone = \"Asia/Tokyo\""),
    ("feed.keep", "", "[feed]\nkeep = { a = [\"b\"] }"),
    ("feed.values", KEEP, "[feed]\nkeep = { a = [\"b\"] }\nvalues = { a = { x = \"b\" } }"),
    ("feed.aliases", "", "[feed]\naliases = \"aliases.csv\""),
    ("feed.station_suffixes", "", "[feed]\nstation_suffixes = [\" station\"]"),
    ("feed.time_layouts", "", "[feed]\ntime_layouts = [\"%d/%m/%Y %H:%M\"]"),
    ("feed.card_is_token", "", "[feed]\ncard_is_token = true"),
    ("feed.max_rejects", "", "[feed]\nmax_rejects = \"50%\""),
    ("feed.fields.card", "", "[feed]\nfields = { card = \"x\" }"),
    ("feed.fields.station", "", "[feed]\nfields = { station = \"x\" }"),
    ("feed.fields.time", "", "[feed]\nfields = { time = \"x\" }"),
    ("feed.kind.field", KIND, "[feed]\nkind = { field = \"y\", entry = [\"a\"], exit = [\"b\"] }"),
    ("feed.kind.entry", KIND, "[feed]\nkind = { field = \"x\", entry = [\"c\"], exit = [\"b\"] }"),
    ("feed.kind.exit", KIND, "[feed]\nkind = { field = \"x\", entry = [\"a\"], exit = [\"c\"] }"),
    ("window.length", "", "[window]\nlength = \"7d\""),
    ("window.week_start", WEEK, "[window]\nlength = \"7d\"\nweek_start = \"sun\""),
    ("window.day_start", "", "[window]\nday_start = \"03:00\""),
    ("window.slot", "", "[window]\nslot = \"30m\""),
    ("window.grace", "", "[window]\ngrace = \"3h\""),
    ("window.close", "", "[window]\nclose = \"watermark\""),
    ("window.max_ahead", "", "[window]\nmax_ahead = \"6m\""),
    (
        "window.disorder",
        "[window]\nclose = \"watermark\"",
        "[window]\nclose = \"watermark\"\ndisorder = \"20m\"",
    ),
    ("window.from", "", "[window]\nfrom = \"2015-11-09\"\nto = \"2015-11-16\""),
    ("window.to", RANGE, "[window]\nfrom = \"2015-11-09\"\nto = \"2015-11-17\""),
    ("window.max_length", "", "[window]\nmax_length = 6"),
    ("engine.name", "", "[engine]\nname = \"weave\""),
    ("engine.epsilon", "", "[engine]\nepsilon = \"2.0\""),
    ("trips.from", WEAVE, "[engine]\nname = \"weave\"\n[trips]\nfrom = \"pairs\""),
    ("trips.longest", WEAVE, "[engine]\nname = \"weave\"\n[trips]\nlongest = \"2h\""),
    ("budget.lifetime", "", "[budget]\nlifetime = \"9\""),
    ("budget.horizon.windows", HORIZON, "[budget]\nhorizon = { windows = 8, cap = \"7\" }"),
    ("budget.horizon.cap", HORIZON, "[budget]\nhorizon = { windows = 7, cap = \"8\" }"),
    ("release.purpose", "", "[release]\npurpose = \"timetables\""),
    ("release.recipients", "", "[release]\nrecipients = \"the public\""),
    ("release.retention", "", "[release]\nretention = \"three days\""),
    ("release.missed", "", "[release]\nmissed = \"7d\""),
    ("http.listen", "", "[http]\nlisten = \"0.0.0.0:1\"\ntoken_file = \"t\""),
];

const KIND: &str = "[feed]\nkind = { field = \"x\", entry = [\"a\"], exit = [\"b\"] }";
const WEEK: &str = "[window]\nlength = \"7d\"";
const KEEP: &str = "[feed]\nkeep = { a = [\"b\"] }";
const RANGE: &str = "[window]\nfrom = \"2015-11-09\"\nto = \"2015-11-16\"";
const WEAVE: &str = "[engine]\nname = \"weave\"";
const HORIZON: &str = "[budget]\nhorizon = { windows = 7, cap = \"7\" }";

/// Holds C-4.
#[test]
fn every_key_is_in_the_statement_or_has_a_reason_why_not() {
    let feed = Feed::new();
    feed.put("aliases.csv", "alias,station\nthe first,a\n");
    feed.put("t", "a-token-of-many-letters");
    fs::set_permissions(feed.0.path().join("t"), fs::Permissions::from_mode(0o600)).unwrap();
    for section in sections(&Registry::standard()) {
        // An engine says its own keys as parameters, and a format its options: both are in the digest.
        let has_own_rule = section.path.starts_with("engine.")
            || ["feed.avro", "feed.csv", "feed.json", "feed.tides"]
                .contains(&section.path.as_str());
        for key in section.keys.iter().filter(|_| !has_own_rule) {
            let name = match section.path.as_str() {
                "" => key.name.to_owned(),
                path => format!("{path}.{}", key.name),
            };
            let change = CHANGES.iter().find(|(changed, ..)| *changed == name);
            match (left_out(&name), change) {
                (Some(why), None) => assert!(!why.is_empty(), "{name}"),
                (Some(_), Some(_)) => panic!("{name} is in the statement and left out"),
                (None, None) => {
                    panic!("{name}: say in the statement what it does, or why it cannot matter")
                }
                (None, Some((_, before, after))) => {
                    let (one, other) = (statement(&feed, before), statement(&feed, after));
                    assert_ne!(one.digest, other.digest, "{name}");
                }
            }
        }
    }
}

#[test]
fn the_page_gives_odds_days_and_what_a_range_means() {
    let feed = Feed::new();
    let words = statement(&feed, "[budget]\nlifetime = \"100\"").text;
    for expected in [
        "from one release: epsilon 1.0, at most 74 in 100",
        "every window of a year (365)",
        "every window of 1 day",
        "is not protected",
        "singling out",
    ] {
        assert!(words.contains(expected), "{expected:?} is not in\n{words}");
    }
    assert!(statement(&feed, RANGE).text.contains("says nothing about anybody"));
    let lk =
        statement(&feed, "[engine]\nname = \"lk\"\nlk = { l = 2, k = 1, allow_unsound = true }");
    assert!(lk.text.contains("Guarantee: Nothing."), "{}", lk.text);
}
