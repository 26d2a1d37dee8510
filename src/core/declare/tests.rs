//! A declaration as an engine writes it, read well and badly.

use serde_json::{Map, Value, json};

use super::*;

words! {
    /// A choice.
    enum Split {
        /// As printed.
        Paper = "paper",
        /// Evenly.
        Even = "even",
    }
}

keys! {
    /// Keys that several have.
    struct Common {
        /// levels
        height: Positive<10> = default(4);
    }
}

keys! {
    /// A section
    /// of two lines.
    struct Sample {
        include common: Common;
        /// how it is split
        split: Split = default("paper");
        /// price
        epsilon: Epsilon = required("1.0");
        /// left out: none
        breach: Fraction = optional("0.5");
    }
}

fn read(table: Value) -> (Option<Sample>, Vec<Complaint>) {
    let table: Map<String, Value> = serde_json::from_value(table).unwrap();
    let mut complaints = Vec::new();
    let sample = Sample::read(&mut Values::new("engine.sample", Some(&table), &mut complaints));
    (sample, complaints)
}

#[test]
fn defaults_hold_where_nothing_is_written() {
    let (sample, complaints) = read(json!({ "epsilon": "0.5" }));
    let sample = sample.unwrap();
    assert_eq!((sample.common.height.get().get(), sample.split), (4, Split::Paper));
    assert_eq!((sample.epsilon.0.micro(), sample.breach), (500_000, None));
    assert_eq!(complaints, []);
}

/// Holds D-1.
#[test]
fn every_wrong_value_is_a_complaint_with_its_key_and_what_to_write() {
    let (sample, complaints) = read(json!({ "height": 11, "split": "evn", "breach": 0.5 }));
    assert_eq!(sample, None);
    let said: Vec<String> =
        complaints.iter().map(|one| format!("{}: {}", one.key, one.what)).collect();
    assert_eq!(
        said,
        [
            "engine.sample.height: is 11, but must be from 1 to 10",
            "engine.sample.split: \"evn\" is not one of \"paper\", \"even\"; did you mean \"even\"?",
            "engine.sample.epsilon: is required, e.g. epsilon = \"1.0\"",
            "engine.sample.breach: must be a decimal in quotes, like \"0.5\", not 0.5: a float is not exact",
        ]
    );
}

#[test]
fn a_declaration_knows_its_own_words() {
    let section = Section::of::<Sample>("engine.sample");
    assert_eq!(section.about, "A section of two lines.");
    let names: Vec<&str> = section.keys.iter().map(|key| key.name).collect();
    assert_eq!(names, ["height", "split", "epsilon", "breach"]);
    assert_eq!(section.keys[1].schema, json!({ "enum": ["paper", "even"] }));
    assert_eq!(section.keys[3].presence, Presence::Optional(json!("0.5")));
}

#[test]
fn a_value_is_shown_as_toml() {
    assert_eq!(
        inline(&json!({ "a": ["x", 1], "b c": true })),
        "{ a = [\"x\", 1], \"b c\" = true }"
    );
}
