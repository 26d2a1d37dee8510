//! Files that are made of the declarations: a stale one is written anew, and the test fails once.

use super::*;

/// What the file should be, or the text between its two marks.
fn is_current(path: &str, marks: Option<(&str, &str)>, made: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let old = fs::read_to_string(&path).unwrap_or_default();
    let new = match marks {
        None => made.to_owned(),
        Some((from, to)) => {
            let (before, rest) = old.split_once(from).expect("the first mark");
            let (_, after) = rest.split_once(to).expect("the second mark");
            format!("{before}{from}\n{made}{to}{after}")
        }
    };
    if old != new {
        fs::write(&path, new).unwrap();
    }
    old == fs::read_to_string(&path).unwrap()
}

#[test]
fn generated_files_say_what_the_declarations_say() {
    let registry = Registry::standard();
    let schema = format!("{:#}\n", schema(&registry));
    let stale: Vec<&str> = [
        ("config/default.toml", is_current("config/default.toml", None, &default_text(&registry))),
        ("config/schema.json", is_current("config/schema.json", None, &schema)),
        (
            "README.md",
            is_current(
                "README.md",
                Some((
                    "<!-- keys: made by `cargo test generated_files` -->",
                    "<!-- end of keys -->",
                )),
                &key_table(&registry),
            ),
        ),
    ]
    .into_iter()
    .filter(|(_, current)| !current)
    .map(|(name, _)| name)
    .collect();
    assert!(stale.is_empty(), "{stale:?} were stale and are written anew; look at them and commit");
}

#[test]
fn every_default_is_a_value_of_its_type_and_every_example_loads() {
    let feed = Feed::new();
    let text = default_text(&Registry::standard());
    let given = text
        .replace("# file = \"tapveil.secret\"   (required)", "file = \"s\"")
        .replace("# file = \"stations.csv\"", "file = \"stations.csv\"")
        .replace("file = \"tapveil.ledger\"", "file = \"l\"");
    let settings = feed.load(&given).unwrap();
    assert_eq!(settings.engine.describe().name, crate::engine::DEFAULT);
}

/// A validator that nobody here wrote accepts what the program accepts, and refuses what it refuses.
#[test]
fn the_schema_accepts_the_defaults_and_refuses_mistakes() {
    let validator = jsonschema::validator_for(&schema(&Registry::standard())).unwrap();
    let value = |text: &str| serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
    let good = value(MINIMAL);
    assert!(validator.is_valid(&good), "{:?}", validator.iter_errors(&good).collect::<Vec<_>>());
    for demo in Registry::standard().iter().map(|engine| engine.demo) {
        let good = value(&format!("{MINIMAL}{demo}"));
        assert!(validator.is_valid(&good), "{demo}");
    }
    for bad in [
        "[engien]\nname = \"lk\"",
        "[engine]\nname = \"magic\"",
        "[engine]\nepsilon = 1.0",
        "[engine.safepath]\nheight = 0",
        "[engine.lk]\nl = 3",
        "[window]\nclose = \"later\"",
    ] {
        assert!(!validator.is_valid(&value(&format!("{MINIMAL}{bad}"))), "{bad}");
    }
}
