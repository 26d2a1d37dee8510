//! Complaints say where: ten mistakes are ten complaints with lines and columns; an old file shows the new lines.

use super::*;

fn said(text: &str) -> String {
    Feed::new()
        .load(text)
        .unwrap_err()
        .to_string()
        .replace(std::env::temp_dir().to_str().unwrap(), "")
}

/// Holds D-2, C-2.
#[test]
fn ten_mistakes_are_ten_complaints_with_lines() {
    let text = format!(
        "{MINIMAL}\
         [feed]\nformat = \"xml\"\ntime_zone = \"Atlantis\"\n\
         [window]\nslot = \"soon\"\nday_start = \"4:00\"\nclose = \"later\"\n\
         [engine]\nepsilon = 1.0\n  heigth = 3\n\
         [engine.safepath]\nheight = 0\n\
         [buget]\nlifetime = \"1\"\n\
         [kafka]\nbrokers = \"a b\"\n"
    );
    let Err(Error::Complaints { complaints, .. }) = Feed::new().load(&text) else { panic!("bad") };
    insta::assert_snapshot!(complaints.join("\n"), @r#"
    line 8, column 1: feed.format: "xml" is not one of "json", "csv", "tides", "avro"
    line 9, column 1: feed.time_zone: "Atlantis" is not a time zone like "America/Montreal" or "UTC"
    line 11, column 1: window.slot: "soon" is not a duration like "90s", "15m", "2h" or "1d"
    line 12, column 1: window.day_start: "4:00" is not a time of day like "04:00"
    line 13, column 1: window.close: "later" is not one of "arrival", "watermark"
    line 15, column 1: engine.epsilon: must be a decimal in quotes, like "1.0", not 1.0: a float is not exact
    line 16, column 3: engine.heigth: unknown key; did you mean engine.safepath.height?
    line 18, column 1: engine.safepath.height: is 0, but must be from 1 to 10000
    line 19, column 2: buget: unknown section [buget]; did you mean [budget]?
    line 22, column 1: kafka.brokers: "a b" is not a list of addresses like "host1:9092,host2:9092"
    "#);
}

#[test]
fn a_file_of_version_1_gets_one_complaint_with_the_new_lines() {
    let old = "version = 1\n[secret]\nfile = \"s\"\n[engine]\nname = \"lk\"\nl = 3\nk = 30\nheight = 4\n\
               weights = { alpha = \"0.4\" }\n";
    let Err(Error::Complaints { complaints, .. }) = Feed::new().load(old) else { panic!("old") };
    assert_eq!(complaints.len(), 1);
    insta::assert_snapshot!(complaints[0], @r#"
    line 1, column 1: this is a configuration of version 1; this program reads version 2. An engine's own keys stand in a section of its name. Write instead:

      version = 2

      [engine]
      name = "lk"

      [engine.lk]
      # height goes: it means nothing to lk
      k = 30
      l = 3
      weights = { alpha = "0.4" }
    "#);
    let unmarked = said(&old.replace("version = 1\n", ""));
    assert!(unmarked.contains("version 1"), "{unmarked}");
}

#[test]
fn a_newer_version_is_refused_by_name() {
    let newer = said(&format!("version = 3\n{MINIMAL}"));
    assert!(
        newer.contains("line 1, column 1: version: is 3, but this program knows versions 1 and 2"),
        "{newer}"
    );
}
