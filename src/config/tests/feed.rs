//! What a record looks like: fields, filters and kinds.

use super::engines::parameter;
use super::*;
use crate::model::TapKind;

const WEAVE: &str = "[engine]\nname = \"weave\"\n";
const SHENZHEN: &str = "[feed]\nfields = { card = \"card_no\", station = \"station\", time = \"deal_date\" }\n\
    time_zone = \"Asia/Shanghai\"\nkeep = { deal_type = [\"地铁入站\", \"地铁出站\"] }\n\
    kind = { field = \"deal_type\", entry = [\"地铁入站\"], exit = [\"地铁出站\"] }\n";

#[test]
fn a_vendors_feed_needs_configuration_only() {
    let feed = Feed::new();
    let settings = feed.load(&format!("{MINIMAL}{WEAVE}{SHENZHEN}")).unwrap();
    let mut decoder = ingest::Decoder::new(settings.ingest());
    let record = |kind: &str| {
        format!(
            "{{\"deal_date\":\"2018-08-31 22:14:50\",\"card_no\":\"C\",\"deal_type\":\"{kind}\",\"station\":\"a\"}}"
        )
    };
    let mut kind = |text: &str| {
        decoder.decode(record(text).as_bytes()).map(|decoded| decoded.tap.stamp().kind())
    };
    assert_eq!(kind("地铁入站"), Ok(Some(TapKind::Entry)));
    assert_eq!(kind("地铁出站"), Ok(Some(TapKind::Exit)));
    assert_eq!(kind("巴士"), Err(crate::model::Reject::Filtered));
    assert_eq!(parameter(&settings, "trips.from"), "kinds");
}

#[test]
fn taps_keep_their_kind_only_where_legs_are_made_of_it() {
    let feed = Feed::new();
    for (added, keeps) in [
        ("", true),
        ("[trips]\nfrom = \"kinds\"", true),
        ("[trips]\nfrom = \"pairs\"", false),
        ("[trips]\nfrom = \"next\"", false),
    ] {
        let settings = feed.load(&format!("{MINIMAL}{WEAVE}{SHENZHEN}{added}")).unwrap();
        assert_eq!(settings.ingest().keeps_kinds, keeps, "{added}");
    }
    let trees = feed.load(&format!("{MINIMAL}{SHENZHEN}")).unwrap();
    assert!(!trees.ingest().keeps_kinds, "safepath makes no legs");
    let complaint = feed.complaint("[trips]\nfrom = \"kinds\"");
    assert!(complaint.starts_with("trips.from: \"kinds\" needs feed.kind"), "{complaint}");
    let tides = feed.load(&format!("{MINIMAL}{WEAVE}[feed]\nformat = \"tides\"\n")).unwrap();
    assert_eq!(parameter(&tides, "trips.from"), "next");
    let tides = "[feed]\nformat = \"tides\"\n[trips]\nfrom = \"kinds\"";
    let tides = feed.load(&format!("{MINIMAL}{WEAVE}{tides}")).unwrap();
    assert!(tides.ingest().keeps_kinds, "TIDES says entry and exit by itself");
}

#[test]
fn every_mistake_in_the_rules_is_one_clear_complaint() {
    let feed = Feed::new();
    for (added, key, words) in [
        ("[feed]\nkeep = \"metro\"", "feed.keep", "must be a table like { deal_type = "),
        ("[feed]\nkeep = {}", "feed.keep", "from 1 to 8"),
        ("[feed]\nkeep = { a = [], b = 1 }", "feed.keep", "a must be a list of words"),
        ("[feed]\nkeep = { a = [\"x\", \"x\"] }", "feed.keep", "a has \"x\" twice"),
        (
            "[feed]\nkind = { field = \"x\", entry = [\"in\"] }",
            "feed.kind",
            "needs field, entry and exit",
        ),
        (
            "[feed.kind]\nfield = \"x\"\nentry = [\"in\"]\nexit = [\"in\"]",
            "feed.kind",
            "both entry and exit",
        ),
        ("[feed.kind]\nfeild = \"x\"", "feed.kind.feild", "did you mean feed.kind.field?"),
        (
            "[feed]\nformat = \"csv\"\ncsv.columns = [\"card\", \"time\"]",
            "feed.csv.columns",
            "station is missing",
        ),
        ("[feed]\nformat = \"tides\"\nfields = { card = \"x\" }", "feed.fields", "leave it out"),
        ("[feed]\nformat = \"tdes\"", "feed.format", "did you mean \"tides\"?"),
    ] {
        let trees = feed.load(&format!("{MINIMAL}{SHENZHEN}")).unwrap();
        assert!(!trees.ingest().keeps_kinds, "safepath makes no legs");
        let complaint = feed.complaint(added);
        assert!(complaint.starts_with(&format!("{key}: ")), "{added}: {complaint}");
        assert!(complaint.contains(words), "{added}: {complaint}");
    }
}

/// Rules change which taps count, and so the digest; a feed without rules has the digest it always had.
#[test]
fn rules_are_part_of_the_digest() {
    let feed = Feed::new();
    let digest = |added: &str| feed.load(&format!("{MINIMAL}{added}")).unwrap().digest;
    let mut seen = Vec::new();
    for one in [
        "",
        "[feed]\nkeep = { x = [\"a\"] }",
        "[feed]\nkeep = { x = [\"a\", \"b\"] }",
        "[feed]\nkeep = { y = [\"a\"] }",
        "[feed]\nkind = { field = \"x\", entry = [\"a\"], exit = [\"b\"] }",
        "[feed]\nkind = { field = \"x\", entry = [\"b\"], exit = [\"a\"] }",
        "[feed]\nformat = \"csv\"",
        "[feed]\nformat = \"csv\"\ncsv.columns = [\"time\", \"card\", \"station\"]",
        "[feed]\nformat = \"tides\"",
    ] {
        let digest = digest(one);
        assert!(!seen.contains(&digest), "{one}");
        seen.push(digest);
    }
    let reordered = "[feed]\nkeep = { x = [\"b\", \"a\"] }";
    assert_eq!(digest(reordered), seen[2], "the order of the values means nothing");
}
