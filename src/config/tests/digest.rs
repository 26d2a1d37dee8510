use super::*;

fn digest(feed: &Feed, added: &str) -> Digest {
    feed.load(&format!("{MINIMAL}{added}")).unwrap().digest
}

#[test]
fn what_cannot_change_a_release_does_not_change_the_digest() {
    let feed = Feed::new();
    let plain = digest(&feed, "");
    for same in [
        "[window]\nlength = \"24h\"\nslot = \"60m\"",
        "[window]\nfrom = \"2015-11-09\"\nto = \"2015-11-16\"",
        "[release]\ntitle = \"Trips\"\nlicence = \"CC0-1.0\"\ncontact = \"me\"",
        "[budget]\nlifetime = \"9\"\nhorizon = { windows = 7, cap = \"7\" }",
        "[engine]\nepsilon = \"1.000\"",
        "[engine.safepath]\nthreshold = \"level-noise\"\nallocation = \"paper\"",
        "[kafka]\nbrokers = \"elsewhere:9092\"\n[http]\nlisten = \"127.0.0.1:1\"",
        "[feed]\nid = \"feed\"\nfields = { card = \"card\" }",
    ] {
        assert_eq!(digest(&feed, same), plain, "{same}");
    }
    for (from, to) in [("s", "keys"), ("l", "book"), ("stations.csv", "places.csv")] {
        fs::rename(feed.0.path().join(from), feed.0.path().join(to)).unwrap();
    }
    let moved = "[secret]\nfile = \"keys\"\n[stations]\nfile = \"places.csv\"\n\
                 [ledger]\nfile = \"book\"\n";
    assert_eq!(feed.load(moved).unwrap().digest, plain, "paths are no part of a release");
}

/// Releases are keyed by the digest: another form of its text would give every feed other noise.
#[test]
fn the_digest_of_a_configuration_never_changes_with_the_program() {
    let feed = Feed::new();
    assert_eq!(
        digest(&feed, "[engine.safepath]\nthreshold = \"own-noise\"").to_string(),
        "aac09664e871b026762f27a1b670f880f08f59a72c1e507916914a66e5ae8668"
    );
}

/// Holds C-3.
#[test]
fn whatever_can_change_a_release_changes_the_digest() {
    let feed = Feed::new();
    let mut seen = vec![(digest(&feed, ""), "")];
    for other in [
        "[engine]\nepsilon = \"1.000001\"",
        "[engine.safepath]\nheight = 3",
        "[engine.safepath]\nallocation = \"even\"",
        "[engine.safepath]\nthreshold = \"own-noise\"",
        "[engine.safepath]\nthreshold = 7",
        "[engine.safepath]\nmax_nodes = 1000",
        "[engine.safepath]\ntaxonomy.locations = \"flat\"",
        "[engine.safepath]\ntaxonomy.locations = \"lines\"",
        "[engine.safepath]\ntaxonomy.times = \"flat\"",
        "[engine.safepath]\ntaxonomy.times = { fanout = 3, height = 1 }",
        "[window]\nslot = \"30m\"",
        "[window]\nlength = \"12h\"",
        "[window]\nday_start = \"03:00\"",
        "[window]\nmax_length = 11",
        "[window]\ngrace = \"3h\"",
        "[window]\nclose = \"watermark\"",
        "[window]\nmax_ahead = \"6m\"",
        "[feed]\nid = \"another\"",
        "[feed]\ntime_zone = \"America/Toronto\"",
        "[feed]\nformat = \"csv\"",
        "[feed]\nfields = { card = \"token\" }",
    ] {
        let digest = digest(&feed, other);
        for (known, by) in &seen {
            assert_ne!(digest, *known, "{other} against {by}");
        }
        seen.push((digest, other));
    }
}

#[test]
fn stations_change_the_digest_by_content_and_order() {
    let feed = Feed::new();
    let plain = digest(&feed, "");
    feed.put("stations.csv", &STATIONS.replace("1,2,red", "1,2.5,red"));
    assert_ne!(digest(&feed, ""), plain, "a place moved");
    let mut lines: Vec<&str> = STATIONS.lines().collect();
    lines.swap(1, 2);
    feed.put("stations.csv", &(lines.join("\n") + "\n"));
    assert_ne!(digest(&feed, ""), plain, "the order decides which halves a taxonomy makes");
    feed.put("stations.csv", &STATIONS.replace('\n', "\r\n"));
    assert_eq!(digest(&feed, ""), plain, "line ends are no content");
}

/// A name is text, even if it looks like a duration.
#[test]
fn field_names_that_look_like_durations_stay_apart() {
    let feed = Feed::new();
    let named = |name: &str| format!("[feed]\nfields = {{ card = \"{name}\" }}");
    assert_ne!(digest(&feed, &named("24h")), digest(&feed, &named("1d")));
}
