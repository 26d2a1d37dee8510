//! Taxonomies of one's own, from their files.

use super::engines::parameter;
use super::*;

const WINDOW: &str = "[window]\nlength = \"1d\"\nslot = \"1h\"\n";

fn with_own(name: &str, keys: &str) -> String {
    format!("{MINIMAL}[engine]\nname = {name:?}\n[engine.{name}]\n{keys}\n{WINDOW}")
}

const SAFEPATH: &str = "allocation = \"even\"\ntaxonomy.locations = { file = \"places.txt\" }\n\
                        taxonomy.times = { file = \"times.csv\" }";

fn city() -> Feed {
    let feed = Feed::new();
    feed.put("stations.csv", "id,lat,lon\na,45.0,-73\nb,45.1,-73\nc,46.0,-73\nd,46.1,-73\n");
    feed.put("places.txt", "north\n  c\n  d\nsouth\n  a\nb\n");
    let part = |slot: u32| if slot < 12 { "am" } else { "pm" };
    let slots: String = (0..24).map(|slot| format!("{slot},{}\n", part(slot))).collect();
    feed.put("times.csv", &format!("id,parent\nam,\npm,\n{slots}"));
    feed
}

#[test]
fn a_taxonomy_of_ones_own_is_read_from_its_file_and_another_file_is_another_declaration() {
    let feed = city();
    for (name, keys) in
        [("safepath", SAFEPATH), ("hybrid", "taxonomy.locations = { file = \"places.txt\" }")]
    {
        let load = || feed.load(&with_own(name, keys)).unwrap();
        let before = load();
        let drawn: Vec<String> =
            before.engine.taxonomies(24).iter().flat_map(|outline| outline.drawing(99)).collect();
        let times = [
            "├─ am (12): 0, 1, 2, 3, 4, 5, … 6 more",
            "└─ pm (12): 12, 13, 14, 15, 16, 17, … 6 more",
        ];
        let places = ["├─ north (2): c, d", "├─ south (1): a", "└─ b"];
        assert_eq!(drawn[..3], places);
        assert!(drawn[3..].is_empty() || drawn[3..] == times, "{drawn:?}");
        let said = parameter(&before, "taxonomy.locations");
        assert!(said.starts_with("own, sha256 ") && said.len() == 76, "{said}");
        // The same said otherwise is the same declaration, another group is another one.
        feed.put("places.txt", "id,parent\nd,north\nc,north\nsouth,\nnorth,\nb,\na,south\n");
        assert_eq!((said.clone(), before.digest), {
            let same = load();
            (parameter(&same, "taxonomy.locations"), same.digest)
        });
        feed.put("places.txt", "north\n  c\n  a\nsouth\n  d\n  b\n");
        let after = load();
        assert_ne!(said, parameter(&after, "taxonomy.locations"));
        assert_ne!(before.digest, after.digest);
        assert_ne!(Statement::of(&before).digest, Statement::of(&after).digest);
        feed.put("places.txt", "north\n  c\n  d\nsouth\n  a\nb\n");
    }
    let written = "taxonomy.locations = { text = \"north\\n  c\\n  d\\nsouth\\n  a\\nb\" }";
    let [file, text] = ["taxonomy.locations = { file = \"places.txt\" }", written]
        .map(|keys| feed.load(&with_own("hybrid", keys)).unwrap().digest);
    assert_eq!(file, text, "what counts is what it says, not where");
}

#[test]
fn groups_of_ones_own_have_the_fan_out_of_their_members_on_average() {
    let feed = city();
    let file = "taxonomy.locations = { file = \"places.txt\" }";
    let fanout =
        |keys: &str| parameter(&feed.load(&with_own("hybrid", keys)).unwrap(), "taxonomy.fanout");
    assert_eq!(fanout(file), "3", "two and one are fewer than 3");
    assert_eq!(fanout(&format!("{file}\ntaxonomy.fanout = 7")), "7");
    let listed: String = (0..9).map(|i| format!("s{i}\n")).collect();
    feed.put("stations.csv", &format!("id\n{listed}"));
    feed.put("places.txt", "x\n  s0\n  s1\n  s2\n  s3\n  s4\ny\n  s5\n  s6\n  s7\ns8\n");
    assert_eq!(fanout(file), "4");
    feed.put("places.txt", &listed);
    let said = feed.complaints(&with_own("hybrid", file)).join("\n");
    assert!(said.contains("has no groups, which are what hybrid is about"), "{said}");
}

/// All of them at once, at the key, with their lines.
#[test]
fn mistakes_in_a_taxonomys_file_are_complaints_with_their_lines() {
    let feed = city();
    feed.put("places.txt", "id,parent\nx,y\ny,x\na,nowhere\nb,\nb,\nc,b\n");
    feed.put("times.csv", "id,parent\n");
    for (name, keys) in
        [("safepath", SAFEPATH), ("hybrid", "taxonomy.locations = { file = \"places.txt\" }")]
    {
        let said = feed.complaints(&with_own(name, keys));
        let key = format!("engine.{name}.taxonomy.locations: ");
        let about: Vec<&str> =
            said.iter().filter_map(|what| what.split_once(&key)).map(|(_, what)| what).collect();
        assert_eq!(
            about,
            [
                "line 2: it goes in a circle: x < y < x",
                "line 4: \"a\" is an orphan: its parent \"nowhere\" has no line of its own",
                "line 5: \"b\" is both a station and a group: line 7 is below it",
                "line 6: \"b\" stands here twice: first in line 5",
                "the station \"d\" is missing",
            ],
            "{said:?}"
        );
        let is_empty =
            said.iter().any(|what| what.contains("taxonomy.times: line 1: the file is empty"));
        assert_eq!(is_empty, name == "safepath", "{said:?}");
    }
}

#[test]
fn files_that_are_not_there_and_tables_that_say_two_things_are_refused() {
    let feed = city();
    feed.put("not-text", "\u{0}");
    fs::write(feed.0.path().join("not-text"), [0xff, 0xfe]).unwrap();
    for (value, words) in [
        ("{ file = \"nowhere.txt\" }", "cannot read"),
        ("{ file = \".\" }", "cannot read"),
        ("{ file = \"not-text\" }", "valid UTF-8"),
        ("{ file = 7 }", "must have a file or a text, in quotes, and nothing else"),
        ("{ file = \"places.txt\", fanout = 2 }", "must have a file or a text"),
        ("{ file = \"places.txt\", text = \"a\" }", "must have a file or a text"),
        ("{ file = \"places.txt\", by = \"coordinates\" }", "by = \"coordinates\""),
        ("{ fanout = 2, height = 1, by = \"size\" }", "something else than \"coordinates\""),
    ] {
        let keys = format!("allocation = \"even\"\ntaxonomy.locations = {value}");
        let said = feed.complaints(&with_own("safepath", &keys)).join("\n");
        assert!(
            said.contains("engine.safepath.taxonomy.locations: ") && said.contains(words),
            "{value}: {said}"
        );
    }
}

#[test]
fn groups_by_coordinates_need_coordinates() {
    let feed = city();
    let near = "taxonomy.locations = { fanout = 3, height = 1, by = \"coordinates\" }";
    for name in ["hybrid", "safepath"] {
        let keys = match name {
            "hybrid" => near.to_owned(),
            _ => format!("allocation = \"even\"\n{near}"),
        };
        let settings = feed.load(&with_own(name, &keys)).unwrap();
        let said = parameter(&settings, "taxonomy.locations");
        assert_eq!(said, "fanout 3, height 1, by coordinates");
    }
    feed.put("stations.csv", "id\na\nb\n");
    for name in ["hybrid", "safepath"] {
        let said = feed.complaints(&with_own(name, near)).join("\n");
        assert!(
            said.contains("needs lat and lon of every station; 2 of 2 have none: a, b"),
            "{said}"
        );
    }
}
