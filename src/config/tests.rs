use std::fs;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;
use crate::ledger::Journal;

mod digest;
mod engines;
mod feed;
mod generated;
mod positions;
mod schedule;
mod statement;
mod suppression;
mod taxonomies;

const STATIONS: &str = "id,name,lat,lon,line\na,A,1,2,red\nb,B,1,3,red\nc,C,2,2,blue\nd,D,2,3,\n";

/// The smallest configuration: a secret and stations; everything else has a default.
const MINIMAL: &str = "[secret]\nfile = \"s\"\n[stations]\nfile = \"stations.csv\"\n\
                       [ledger]\nfile = \"l\"\n";

/// A directory with everything a good configuration names.
struct Feed(TempDir);

impl Feed {
    fn new() -> Self {
        let feed = Self(tempfile::tempdir().unwrap());
        feed.secret(&[7; 32], 0o600);
        let key = Secret::from_bytes(&[7; 32]).unwrap().ledger_key();
        let now = "2015-11-09T04:00:00Z".parse().unwrap();
        Journal::create(&feed.0.path().join("l"), &key, now).unwrap();
        feed.put("stations.csv", STATIONS);
        feed
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn secret(&self, bytes: &[u8], mode: u32) {
        let path = self.0.path().join("s");
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn load(&self, text: &str) -> Result<Settings, Error> {
        let path = self.0.path().join("tapveil.toml");
        fs::write(&path, text).unwrap();
        // Most cases are about an engine with many keys.
        load_with(&path, &Registry::standard().with_default("safepath"))
    }

    /// The complaints, without their places.
    fn complaints(&self, text: &str) -> Vec<String> {
        match self.load(text) {
            Err(Error::Complaints { complaints, .. }) => {
                complaints.iter().map(|complaint| without_place(complaint)).collect()
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it is good:\n{text}"),
        }
    }

    /// The only complaint about a minimal configuration with this added.
    fn complaint(&self, added: &str) -> String {
        let complaints = self.complaints(&format!("{MINIMAL}{added}"));
        assert_eq!(complaints.len(), 1, "{added}: {complaints:#?}");
        complaints.into_iter().next().unwrap()
    }
}

/// "line 3, column 1: key: what" without its beginning.
fn without_place(complaint: &str) -> String {
    let rest = complaint.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    rest.map_or(complaint, |(_, rest)| rest).to_owned()
}

#[test]
fn a_minimal_configuration_loads_with_the_documented_defaults() {
    let settings = Feed::new().load(MINIMAL).unwrap();
    assert_eq!(settings.stations.len(), 4);
    assert_eq!((settings.calendar.longest_secs(), settings.calendar.slots_nominal()), (86_400, 24));
    assert_eq!(settings.engine.price().epsilon().to_string(), "1.0");
    assert_eq!(settings.max_length.map(|most| most.get()), Some(12));
    let parameters = settings.engine.describe().parameters;
    assert!(parameters.contains(&("height".to_owned(), "4".to_owned())), "{parameters:?}");
    assert_eq!(settings.feed.id, "feed");
    assert!(settings.span().is_none());
    assert!(settings.feed.local_zone.is_none(), "a zone that nobody wrote reads no local times");
    let warned = [Warning::NoLifetime, Warning::NoHorizon, Warning::NoRange];
    assert_eq!(settings.warnings[..3], warned);
}

#[test]
fn the_commented_defaults_are_a_good_configuration_but_for_what_is_required() {
    let complaints = Feed::new().complaints(&default_text(&Registry::standard()));
    let about = |key: &str| complaints.iter().filter(|line| line.starts_with(key)).count();
    let required = about("secret.file") + about("ledger.file") + about("stations.file");
    assert_eq!((required, complaints.len()), (3, 3), "{complaints:#?}");
}

#[test]
fn everything_that_is_wrong_with_an_epsilon_is_said() {
    let feed = Feed::new();
    for (value, words) in [
        ("\"0\"", "must be greater than zero"),
        ("\"-1\"", "not negative"),
        ("\"NaN\"", "finite"),
        ("\"inf\"", "finite"),
        ("\"0.0000001\"", "0.000001"),
        ("1.0", "a float is not exact"),
        ("1", "in quotes"),
        ("\"1e3\"", "not a decimal number"),
        ("\"10001\"", "greater than 10000.0"),
    ] {
        let complaint = feed.complaint(&format!("[engine]\nepsilon = {value}\n"));
        assert!(
            complaint.starts_with("engine.epsilon: ") && complaint.contains(words),
            "{complaint}"
        );
    }
}

#[test]
fn every_single_mistake_is_one_clear_complaint() {
    let feed = Feed::new();
    for (added, key, words) in [
        ("[engine.safepath]\nheight = 0", "engine.safepath.height", "from 1 to"),
        ("[engine.safepath]\nheight = 2.5", "engine.safepath.height", "whole number"),
        ("[window]\nmax_length = 0", "window.max_length", "from 1 to"),
        (
            "[engine.safepath]\nheight = 13",
            "engine.safepath.height: is 13",
            "window.max_length is 12",
        ),
        (
            "[engine.safepath]\ntaxonomy.times = { fanout = 2, height = 6 }",
            "engine.safepath.taxonomy.times",
            "largest height that fits is 4",
        ),
        (
            "[engine.safepath]\ntaxonomy.times = { fanout = 1, height = 2 }",
            "engine.safepath.taxonomy.times",
            "2 or more",
        ),
        (
            "[engine.safepath]\ntaxonomy.locations = \"line\"",
            "engine.safepath.taxonomy.locations",
            "\"lines\", \"flat\"",
        ),
        ("[engine.safepath]\nthreshold = 0", "engine.safepath.threshold", "integer from 1 on"),
        (
            "[engine.safepath]\nallocation = \"fair\"",
            "engine.safepath.allocation",
            "\"paper\", \"even\"",
        ),
    ] {
        is_one_clear_complaint(&feed, added, key, words);
    }
}

fn is_one_clear_complaint(feed: &Feed, added: &str, key: &str, words: &str) {
    let complaint = feed.complaint(added);
    assert!(complaint.starts_with(key), "{added}: the key comes first: {complaint}");
    assert!(complaint.contains(words), "{added}: {complaint}");
}

/// Holds C-1.
#[test]
fn every_single_mistake_outside_the_engine_is_one_clear_complaint() {
    let feed = Feed::new();
    for (added, key, words) in [
        ("[window]\nslot = \"7h\"", "window.slot", "does not divide window.length"),
        ("[window]\nslot = \"soon\"", "window.slot", "is not a duration"),
        ("[window]\nlength = \"7h\"", "window.length", "divide 24h"),
        ("[window]\nlength = \"25h\"\nslot = \"1h\"", "window.length", "whole days"),
        ("[window]\nlength = \"32d\"", "window.length", "longer than 31d"),
        ("[window]\nday_start = \"4:00\"", "window.day_start", "time of day"),
        ("[window]\nclose = \"later\"", "window.close", "\"arrival\", \"watermark\""),
        ("[feed]\ntime_zone = \"Atlantis\"", "feed.time_zone", "is not a time zone"),
        ("[feed]\nformat = \"xml\"", "feed.format", "not one of"),
        (
            "[feed]\nformat = \"xml\"",
            "feed.format",
            "is not one of \"json\", \"csv\", \"tides\", \"avro\"",
        ),
        ("[feed]\nid = \"\"", "feed.id", "names the feed"),
        ("[engine]\nname = \"magic\"", "engine.name", "is not an engine"),
        (
            "[engine]\nname = \"dptd\"\ndptd.variant = \"published\"",
            "engine.dptd.variant",
            "nobody is protected",
        ),
        (
            "[engine]\nname = \"simple\"\nsimple.input = \"trips\"",
            "engine.simple.input",
            "\"doublets\", \"sequences\"",
        ),
        ("[engine.safepath]\ninput = \"sequences\"", "engine.safepath.input", "unknown key"),
        (
            "[engine.safepath]\nheigth = 2",
            "engine.safepath.heigth",
            "did you mean engine.safepath.height?",
        ),
        (
            "[engine]\nname = \"seqpt\"\nseqpth.height = 2",
            "engine.seqpth",
            "did you mean [engine.seqpt]?",
        ),
        ("[engine]\nepsilonn = \"1.0\"", "engine.epsilonn", "did you mean engine.epsilon?"),
        ("[engien]\nx = 1", "engien", "unknown section [engien]; did you mean [engine]?"),
        ("[budget]\nlifetime = \"0.9\"", "budget.lifetime", "every release would be refused"),
        ("[budget]\nhorizon = { windows = 7, cap = \"0.9\" }", "budget.horizon.cap", "0.9"),
        ("[budget]\nhorizon = { windows = 7 }", "budget.horizon", "both windows and cap"),
        ("[budget]\nhorizon = { windows = 0, cap = \"9\" }", "budget.horizon.windows", "from 1"),
        ("[window]\nfrom = \"2015-11-10\"\nto = \"2015-11-09\"", "window.from", "before window.to"),
        ("[window]\nfrom = \"2015-11-09\"\nto = \"2015-11-09\"", "window.from", "before window.to"),
        ("[window]\nfrom = \"monday\"", "window.from", "is not a date"),
        ("[kafka]\nflush = \"often\"", "kafka.flush", "is not a duration"),
    ] {
        is_one_clear_complaint(&feed, added, key, words);
    }
}

#[test]
fn a_secret_must_be_there_long_enough_and_ours_alone() {
    let feed = Feed::new();
    feed.secret(&[7; 32], 0o644);
    let open = feed.complaint("");
    assert!(open.starts_with("secret.file: ") && open.contains("mode 644"), "{open}");
    assert!(open.contains("chmod 600"), "{open}");
    feed.secret(&[7; 31], 0o600);
    let short = feed.complaint("");
    assert!(short.starts_with("secret.file: ") && short.contains("31 bytes"), "{short}");
    fs::remove_file(feed.0.path().join("s")).unwrap();
    let missing = feed.complaint("");
    assert!(missing.starts_with("secret.file: cannot read"), "{missing}");
    let unnamed = feed.complaints("[stations]\nfile = \"stations.csv\"\n[ledger]\nfile = \"l\"\n");
    assert_eq!(unnamed.len(), 1);
    assert!(unnamed[0].starts_with("secret.file: is required"), "{unnamed:?}");
    for complaint in [open, short, missing, unnamed[0].clone()] {
        assert!(complaint.contains("tapveil init"), "every one tells the remedy: {complaint}");
    }
}

#[test]
fn a_missing_ledger_is_a_complaint_and_no_new_ledger() {
    let feed = Feed::new();
    fs::remove_file(feed.0.path().join("l")).unwrap();
    let complaint = feed.complaint("");
    assert!(complaint.starts_with("ledger.file: ") && complaint.contains("forget"), "{complaint}");
    assert!(!feed.0.path().join("l").exists());
}

#[test]
fn stations_must_be_there_and_be_a_list() {
    let feed = Feed::new();
    let unnamed = feed.complaints("[secret]\nfile = \"s\"\n[ledger]\nfile = \"l\"\n");
    assert!(unnamed.len() == 1 && unnamed[0].starts_with("stations.file: is required"));
    feed.put("stations.csv", "id,name\na,A\nb,B\na,again\n");
    let twice = feed.complaint("");
    assert!(twice.starts_with("stations.file: ") && twice.contains("stands in row 2"), "{twice}");
    fs::remove_file(feed.0.path().join("stations.csv")).unwrap();
    let missing = feed.complaint("");
    assert!(missing.starts_with("stations.file: cannot read"), "{missing}");
    let gtfs = feed.complaints(&MINIMAL.replace("[ledger]", "gtfs = \"x.zip\"\n[ledger]"));
    assert!(gtfs.len() == 1 && gtfs[0].starts_with("stations.gtfs: stands beside"), "{gtfs:?}");
    for (added, key) in [
        ("[stations]\nroute_types = [1]", "stations.route_types: belongs to stations.gtfs"),
        ("[stations]\nonly_stations = true", "stations.only_stations: belongs to stations.gtfs"),
        (
            "[stations]\nroute_types = \"metro\"",
            "stations.route_types: must be a list of route types",
        ),
    ] {
        feed.put("stations.csv", STATIONS);
        let complaints = feed.complaints(&MINIMAL.replace("[stations]", added));
        assert!(complaints.len() == 1 && complaints[0].contains(key), "{complaints:?}");
    }
}

#[test]
fn a_tree_that_noise_alone_would_fill_is_refused_with_the_height_that_fits() {
    let feed = Feed::new();
    let ids: String = (0..68).map(|n| format!("s{n:02}\n")).collect();
    feed.put("stations.csv", &format!("id\n{ids}"));
    let flat = "[window]\nlength = \"7d\"\n[engine.safepath]\nheight = 12\n\
                taxonomy.locations = \"flat\"\ntaxonomy.times = \"flat\"\n";
    let complaint = feed.complaint(flat);
    assert!(complaint.starts_with("engine.safepath.height: noise alone"), "{complaint}");
    let fits: u32 = complaint
        .split("largest height that fits is ")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .and_then(|number| number.parse().ok())
        .expect("the complaint names a height");
    assert!((1..12).contains(&fits), "{complaint}");
    let with = |height: u32| format!("{MINIMAL}{}", flat.replace("12", &height.to_string()));
    assert!(feed.load(&with(fits)).is_ok(), "the height it names is good");
    assert!(feed.load(&with(fits + 1)).is_err(), "and the next one is not");
}

#[test]
fn five_mistakes_are_five_complaints_at_once() {
    let feed = Feed::new();
    feed.secret(&[7; 32], 0o640);
    let complaints = feed.complaints(&format!(
        "{MINIMAL}[engine]\nepsilon = \"-1\"\nepsilonn = 3\n[window]\nslot = \"7h\"\n\
         [feed]\nformat = \"xml\"\n"
    ));
    assert_eq!(complaints.len(), 5, "{complaints:#?}");
    for key in ["secret.file", "engine.epsilon", "engine.epsilonn", "window.slot", "feed.format"] {
        assert!(complaints.iter().any(|line| line.starts_with(key)), "{key}: {complaints:#?}");
    }
    let error = feed.load(&fs::read_to_string(feed.0.path().join("tapveil.toml")).unwrap());
    let words = error.unwrap_err().to_string();
    assert!(words.contains("5 complaints:") && words.lines().count() == 6, "{words}");
}

#[test]
fn what_is_not_toml_or_not_there_is_told_in_one_line() {
    let feed = Feed::new();
    let complaints = feed.complaints("[secret\nfile=");
    assert!(complaints.len() == 1 && complaints[0].starts_with("it is not TOML"), "{complaints:?}");
    assert_eq!(complaints[0].lines().count(), 1);
    let missing = load(Path::new("/nowhere/tapveil.toml")).unwrap_err();
    assert!(matches!(missing, Error::Read { .. }));
    assert_eq!(missing.kind(), ErrorKind::Config);
    assert!(missing.to_string().contains("tapveil init"), "{missing}");
}

#[test]
fn ledger_and_secret_load_without_the_rest() {
    let feed = Feed::new();
    feed.put("tapveil.toml", "[secret]\nfile = \"s\"\n[ledger]\nfile = \"l\"\n");
    let found = ledger_and_secret(&feed.0.path().join("tapveil.toml")).unwrap();
    assert_eq!(found.ledger_file, feed.0.path().join("l"));
    assert_eq!(found.secret_file, feed.0.path().join("s"));
}

/// Tokens and passwords that everybody can read are said, with the key, the file and what to do.
#[test]
fn a_token_or_password_that_everybody_can_read_is_a_warning() {
    let feed = Feed::new();
    feed.put("token", "sixteen-letters-or-more");
    feed.put("pw", "hidden");
    let text = format!(
        "{MINIMAL}[http]\ntoken_file = \"token\"\n[kafka]\nbrokers = \"127.0.0.1:1\"\n\
         [kafka.properties]\n\"sasl.password_file\" = \"pw\"\n"
    );
    let warned = |mode: u32| -> Vec<String> {
        for name in ["token", "pw"] {
            let path = feed.0.path().join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let settings = feed.load(&text).unwrap();
        let is_exposed = |one: &&Warning| matches!(one, Warning::Exposed { .. });
        settings.warnings.iter().filter(is_exposed).map(ToString::to_string).collect()
    };
    assert_eq!(warned(0o600), Vec::<String>::new());
    assert_eq!(warned(0o440), Vec::<String>::new());
    let said = warned(0o644);
    assert_eq!(said.len(), 2, "{said:?}");
    for (said, key) in said.iter().zip(["http.token_file", "kafka.properties.sasl.password_file"]) {
        assert!(said.contains("(mode 644)") && said.contains(key), "{said}");
        assert!(said.contains("chmod 600") && !said.contains("hidden"), "{said}");
    }
}
