//! TIDES 1.0 `fare_transactions`, as JSON objects or as CSV: the standard says what the fields are called, which
//! records are taps, and how a missing value is written.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::csv::Csv;
use super::json::Json;
use super::{
    Below, Fields, Format, KeepRule, KindRule, Mapping, MissingColumns, Registration,
    begins_with_object, text,
};
use crate::declare::{Declared, Names, Section, Values};
use crate::model::Reject;
use crate::passenger::Picked;

pub(super) const REGISTRATION: Registration = Registration {
    name: "tides",
    about: "TIDES 1.0 fare_transactions, as JSON objects or as CSV; feed.fields and feed.kind are the standard's",
    sections: || vec![Section::of::<TidesKeys>("feed.tides")],
    build,
};

crate::keys! {
    /// For feed.format = "tides".
    pub(super) struct TidesKeys {
        /// names of the columns of a CSV message, which has no header, in order. Left out: messages are JSON
        columns: Names = optional(["token_id", "stop_id", "event_timestamp", "fare_action"]);
    }
}

/// Values of `fare_action` that are taps: those of 1.0, and the snake_case names that are to replace them.
const ENTRIES: [&str; 4] = ["Enter", "Transfer entrance", "enter", "transfer_entrance"];
const EXITS: [&str; 4] = ["Exit", "Transfer exit", "exit", "transfer_exit"];
/// Ways to write that a value is missing, besides leaving it empty.
const MISSING: [&str; 2] = ["NA", "NaN"];

fn build(values: &mut Values<'_>, general: Mapping, _: &Path) -> Option<Arc<dyn Format>> {
    let keys = TidesKeys::read(&mut values.below("tides"));
    let own: Vec<&str> =
        ["fields", "kind"].into_iter().filter(|name| values.is_written(name)).collect();
    for name in &own {
        values.complain(
            name,
            "is what TIDES says it is: leave it out, or choose another feed.format",
        );
    }
    let keys = keys.filter(|_| own.is_empty())?;
    let has_csv_messages = keys.columns.is_some();
    let mapping = mapping(general);
    let csv = Csv::new(mapping.clone(), keys.columns)
        .map_err(|missing| values.below("tides").complain("columns", missing))
        .ok()?;
    Some(Arc::new(Tides {
        csv,
        json: Json::new(mapping),
        has_csv_messages,
        is_below_header: false,
    }))
}

/// The standard's fields, and the feed's own filters and meanings beside the standard's.
fn mapping(general: Mapping) -> Mapping {
    let words =
        |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    let action = || "fare_action".to_owned();
    let taps = KeepRule { field: action(), values: [words(&ENTRIES), words(&EXITS)].concat() };
    Mapping {
        fields: Fields {
            card: "token_id".to_owned(),
            station: "stop_id".to_owned(),
            time: "event_timestamp".to_owned(),
            transaction: Some("transaction_id".to_owned()),
        },
        kind: Some(KindRule { field: action(), entry: words(&ENTRIES), exit: words(&EXITS) }),
        keep: [vec![taps], general.keep].concat(),
        values: general.values,
    }
}

#[derive(Clone, Debug)]
struct Tides {
    csv: Csv,
    json: Json,
    /// Whether the configuration names the columns of a CSV message.
    has_csv_messages: bool,
    is_below_header: bool,
}

impl Format for Tides {
    fn mapping(&self) -> &Mapping {
        self.csv.mapping()
    }

    fn recognizes(&self, first: &[u8]) -> bool {
        let header =
            String::from_utf8_lossy(first.split(|byte| *byte == b'\n').next().unwrap_or_default());
        begins_with_object(first) || self.csv.with_header(&header).is_ok()
    }

    fn has_header(&self, first: &[u8]) -> bool {
        !begins_with_object(first)
    }

    fn below(&self, header: &str) -> Result<Below, MissingColumns> {
        let remedy = "TIDES names them; choose another feed.format for a file with other names";
        let csv =
            self.csv.with_header(header).map_err(|missing| MissingColumns { remedy, ..missing })?;
        let is_like_messages = self.has_csv_messages && csv.is_like(&self.csv);
        let format = Arc::new(Self { csv, is_below_header: true, ..self.clone() });
        Ok(Below { format, is_like_messages })
    }

    fn header(&self) -> Option<Vec<u8>> {
        self.has_csv_messages.then(|| self.csv.header()).flatten()
    }

    fn pick<'a>(&self, record: &'a [u8]) -> Result<Picked<'a>, Reject> {
        let line = text(record)?;
        let mut picked = match begins_with_object(record) {
            true => self.json.pick_text(line)?,
            false if self.has_csv_messages || self.is_below_header => self.csv.pick_text(line)?,
            false => return Err(Reject::Malformed),
        };
        self.clean(&mut picked);
        Ok(picked)
    }

    fn clean(&self, picked: &mut Picked<'_>) {
        for value in [&mut picked.card, &mut picked.station, &mut picked.time] {
            if MISSING.contains(&value.as_ref()) {
                *value = Cow::Borrowed("");
            }
        }
        for value in
            [&mut picked.kind, &mut picked.transaction].into_iter().chain(&mut picked.filter_values)
        {
            value.take_if(|value| MISSING.contains(&value.as_ref()));
        }
    }

    fn encode(&self, picked: &Picked<'_>) -> Vec<u8> {
        match self.has_csv_messages {
            true => self.csv.encode(picked),
            false => self.json.encode(picked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{built, built_for, judged};
    use super::*;
    use crate::model::TapKind;

    const TIDES: &str = concat!(
        r#"{"transaction_id":"t1","service_date":"2024-05-01","event_timestamp":"2024-05-01T07:00:00-05:00","#,
        r#""amount":2.5,"fare_action":"Enter","stop_id":"s1","token_id":"c1"}"#
    );

    #[test]
    fn tides_knows_which_transactions_are_taps() {
        let tides = built("tides", "{}").unwrap();
        let picked = tides.pick(TIDES.as_bytes()).unwrap();
        assert_eq!((&*picked.card, &*picked.station), ("c1", "s1"));
        assert_eq!(
            (&*picked.time, picked.transaction.as_deref()),
            ("2024-05-01T07:00:00-05:00", Some("t1"))
        );
        for (action, expected) in [
            ("Enter", Ok(Some(TapKind::Entry))),
            ("Exit", Ok(Some(TapKind::Exit))),
            ("Transfer entrance", Ok(Some(TapKind::Entry))),
            ("Transfer exit", Ok(Some(TapKind::Exit))),
            ("transfer_entrance", Ok(Some(TapKind::Entry))),
            ("transfer_exit", Ok(Some(TapKind::Exit))),
            ("enter", Ok(Some(TapKind::Entry))),
            ("exit", Ok(Some(TapKind::Exit))),
            ("Purchase", Err(Reject::Filtered)),
            ("ENTER", Err(Reject::Filtered)),
            ("Unknown action type", Err(Reject::Filtered)),
            ("NA", Err(Reject::MissingField)),
            ("", Err(Reject::MissingField)),
        ] {
            let record = TIDES.replace("Enter", action);
            assert_eq!(judged(tides.as_ref(), &record), expected, "{action}");
        }
    }

    #[test]
    fn tides_writes_missing_values_in_three_ways() {
        let tides = built("tides", "{}").unwrap();
        let file =
            tides.below("fare_action,token_id,transaction_id,stop_id,event_timestamp").unwrap();
        for missing in ["", "NA", "NaN", " NA "] {
            for (name, value) in [
                ("token_id", "c1"),
                ("stop_id", "s1"),
                ("event_timestamp", "2024-05-01T07:00:00-05:00"),
            ] {
                let json = TIDES.replace(
                    &format!("\"{name}\":\"{value}\""),
                    &format!("\"{name}\":\"{missing}\""),
                );
                assert_eq!(judged(tides.as_ref(), &json), Err(Reject::MissingField), "{json}");
                let csv = "Enter,c1,t1,s1,2024-05-01T07:00:00-05:00".replace(value, missing);
                assert_eq!(judged(file.format.as_ref(), &csv), Err(Reject::MissingField), "{csv}");
            }
            let unnamed = TIDES.replace("\"t1\"", &format!("\"{missing}\""));
            assert_eq!(
                judged(tides.as_ref(), &unnamed),
                Ok(Some(TapKind::Entry)),
                "a tap needs no number"
            );
        }
        assert_eq!(
            judged(tides.as_ref(), &TIDES.replace("\"c1\"", "null")),
            Err(Reject::MissingField)
        );
    }

    #[test]
    fn tides_is_read_from_csv_with_the_standards_header() {
        let tides = built("tides", "{}").unwrap();
        let header =
            "transaction_id,service_date,event_timestamp,amount,fare_action,stop_id,token_id";
        assert!(tides.recognizes(header.as_bytes()) && tides.has_header(header.as_bytes()));
        let file = tides.below(header).unwrap().format;
        let row = "t1,2024-05-01,2024-05-01T07:00:00-05:00,2.5,Exit,s1,c1";
        assert_eq!(judged(file.as_ref(), row), Ok(Some(TapKind::Exit)));
        assert_eq!(judged(tides.as_ref(), row), Err(Reject::Malformed), "a message has no header");
        let without = tides.below("token_id,stop_id,event_timestamp,fare_action").unwrap().format;
        assert_eq!(
            judged(without.as_ref(), "c,s,t,Enter"),
            Ok(Some(TapKind::Entry)),
            "no transaction_id"
        );
        let missing = tides.below("card,stop_id,event_timestamp").unwrap_err();
        assert_eq!(missing.missing, ["token_id", "fare_action"]);
        assert!(!missing.to_string().contains("feed.fields"), "{missing}");
        let messages =
            r#"{"tides":{"columns":["token_id","stop_id","event_timestamp","fare_action"]}}"#;
        let messages = built("tides", messages).unwrap();
        assert_eq!(judged(messages.as_ref(), "c,s,t,Enter"), Ok(Some(TapKind::Entry)));
    }

    #[test]
    fn what_tides_says_cannot_be_configured_and_filters_add_up() {
        let complaints =
            built("tides", r#"{"fields":{"card":"x"},"kind":{},"tides":{"columns":3}}"#)
                .unwrap_err();
        let keys: Vec<&str> = complaints.iter().filter_map(|one| one.split(':').next()).collect();
        assert_eq!(keys, ["feed.tides.columns", "feed.fields", "feed.kind"], "{complaints:?}");
        let keep =
            KeepRule { field: "rider_category".to_owned(), values: vec!["Adult".to_owned()] };
        let mapping = Mapping { keep: vec![keep], ..Mapping::of_fields("card", "station", "time") };
        let tides = built_for("tides", "{}", mapping).unwrap();
        let of = |category: &str| {
            TIDES.replace("\"amount\":2.5", &format!("\"rider_category\":\"{category}\""))
        };
        assert_eq!(judged(tides.as_ref(), &of("Adult")), Ok(Some(TapKind::Entry)));
        assert_eq!(judged(tides.as_ref(), &of("Youth")), Err(Reject::Filtered));
    }
}
