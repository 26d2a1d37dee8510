use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::model::TapKind;

pub(super) fn built(name: &str, feed: &str) -> Result<Arc<dyn Format>, Vec<String>> {
    built_for(name, feed, Mapping::of_fields("card", "station", "time"))
}

/// A format with these values of `[feed]`, as JSON.
pub(super) fn built_for(
    name: &str,
    feed: &str,
    mapping: Mapping,
) -> Result<Arc<dyn Format>, Vec<String>> {
    let values: serde_json::Value = serde_json::from_str(feed).unwrap();
    let mut complaints = Vec::new();
    let mut values = Values::new("feed", values.as_object(), &mut complaints);
    let built =
        (find(name).unwrap().build)(&mut values, mapping, Path::new(env!("CARGO_MANIFEST_DIR")));
    built.ok_or_else(|| complaints.iter().map(|one| format!("{}: {}", one.key, one.what)).collect())
}

/// Entry and exit by `deal_type`, which is filtered by, too; a second filter by `company`.
fn with_rules() -> Mapping {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let keep =
        |field: &str, values: &[&str]| KeepRule { field: field.to_owned(), values: words(values) };
    Mapping {
        kind: Some(KindRule {
            field: "deal_type".to_owned(),
            entry: words(&["地铁入站"]),
            exit: words(&["地铁出站"]),
        }),
        keep: vec![
            keep("company", &["5", "true"]),
            keep("deal_type", &["地铁入站", "地铁出站", "换乘"]),
        ],
        ..Mapping::of_fields("card", "station", "time")
    }
}

pub(super) fn judged(format: &dyn Format, record: &str) -> Result<Option<TapKind>, Reject> {
    let picked = format.pick(record.as_bytes())?;
    format.mapping().judge(&picked)?;
    Ok(format.mapping().kind(&picked))
}

/// Holds I-5.
#[test]
fn every_format_has_a_name_of_its_own_and_builds_without_keys() {
    let names: HashSet<&str> = names().into_iter().collect();
    assert_eq!(names.len(), STANDARD.len());
    for registration in STANDARD {
        assert!(built(registration.name, "{}").is_ok(), "{}", registration.name);
        for section in (registration.sections)() {
            assert_eq!(section.path, format!("feed.{}", registration.name));
        }
    }
}

#[test]
fn records_are_kept_by_their_fields_and_have_a_kind_in_json() {
    let json = built_for("json", "{}", with_rules()).unwrap();
    let record = |deal: &str, company: &str| {
        format!(r#"{{"card":"c","deal_type":{deal},"station":"s","company":{company},"time":"t"}}"#)
    };
    let judged = |deal: &str, company: &str| judged(json.as_ref(), &record(deal, company));
    assert_eq!(judged("\"地铁入站\"", "5"), Ok(Some(TapKind::Entry)));
    assert_eq!(judged("\" 地铁出站 \"", "true"), Ok(Some(TapKind::Exit)));
    assert_eq!(judged("\"换乘\"", "\"5\""), Ok(None), "kept, and neither entry nor exit");
    assert_eq!(judged("\"巴士\"", "5"), Err(Reject::Filtered));
    assert_eq!(judged("\"地铁入站\"", "5.5"), Err(Reject::Filtered));
    assert_eq!(judged("null", "5"), Err(Reject::MissingField));
    assert_eq!(judged("\"\"", "6"), Err(Reject::Filtered), "the other filter says no");
    assert_eq!(judged("[]", "5"), Err(Reject::Malformed));
    // A bus has no station: it is not wanted, whatever it lacks.
    let bus = r#"{"card":"c","deal_type":"巴士","company":"5","time":"t"}"#;
    assert_eq!(self::judged(json.as_ref(), bus), Err(Reject::Filtered));
}

#[test]
fn records_are_kept_by_their_columns_and_have_a_kind_in_csv() {
    let csv = built_for("csv", "{}", with_rules()).unwrap();
    let file = csv.below("time,deal_type,x,company,card,station").unwrap();
    assert!(!file.is_like_messages);
    let judged = |line: &str| judged(file.format.as_ref(), line);
    assert_eq!(judged("t,地铁入站,,5,c,s"), Ok(Some(TapKind::Entry)));
    assert_eq!(judged("t,\"地铁出站\",,5,c,s"), Ok(Some(TapKind::Exit)));
    assert_eq!(judged("t,巴士,,5,c,"), Err(Reject::Filtered));
    assert_eq!(judged("t,地铁入站,,5,c,"), Err(Reject::MissingField));
    assert_eq!(judged("t,,,5,c,s"), Err(Reject::MissingField));
    let missing = csv.below("card,station,time,company").unwrap_err();
    assert_eq!(missing.missing, ["deal_type"], "a filter without its column would drop everything");
    // A message has card, station and time first, then the fields of the rules.
    assert_eq!(self::judged(csv.as_ref(), "c,s,t,地铁入站,5"), Ok(Some(TapKind::Entry)));
    assert_eq!(csv.header().unwrap(), "card,station,time,deal_type,company".as_bytes());
}

#[test]
fn the_columns_of_a_message_can_be_named() {
    let csv = built("csv", r#"{"csv":{"columns":["time","fare","card","station"]}}"#).unwrap();
    let picked = csv.pick(b"t,3.20,c,s").unwrap();
    assert_eq!((&*picked.card, &*picked.station, &*picked.time), ("c", "s", "t"));
    assert_eq!(csv.encode(&picked), b"t,,c,s");
    assert!(csv.below("time,fare,card,station,more").unwrap().is_like_messages);
    let complaints = built("csv", r#"{"csv":{"columns":["card","time"]}}"#).unwrap_err();
    assert!(
        complaints[0].starts_with("feed.csv.columns: ")
            && complaints[0].contains("but station is missing"),
        "{complaints:?}"
    );
}

#[test]
fn a_file_is_recognized_by_its_beginning() {
    let mapping = Mapping::of_fields("card", "station", "time");
    for (first, is_json) in
        [("{\"card\":1}", true), ("\u{feff} {", true), ("card,station,time\n", false)]
    {
        let format = recognized(first.as_bytes(), &mapping).unwrap();
        assert_eq!(format.has_header(first.as_bytes()), !is_json, "{first}");
    }
}

proptest! {
    /// I-4: every format reads what it wrote, whatever stands in the fields.
    #[test]
    fn what_a_format_writes_it_reads(
        card in "[^\\s\"][\\PC]{0,12}", station in "\\PC{0,12}", time in "[\",;a-z0-9{}\\\\ ]{0,12}",
        rules in any::<bool>(),
    ) {
        let mapping = if rules { with_rules() } else { Mapping::of_fields("card", "station", "time") };
        for registration in STANDARD {
            let format = match registration.with_defaults(mapping.clone()) {
                Some(format) => format,
                None => return Err(TestCaseError::fail(registration.name)),
            };
            // Fields are trimmed where they are read; `NA` is how one format writes nothing.
            let [card, station, time] = [&card, &station, &time].map(|text| text.trim());
            prop_assume!(![card, station, time].iter().any(|text| matches!(*text, "NA" | "NaN")));
            // A byte order mark before a record is no part of it.
            prop_assume!(!card.starts_with('\u{feff}'));
            let written = format.mapping().sample(card, station, time);
            let record = format.encode(&written);
            let read = format.pick(&record);
            prop_assert!(read == Ok(written), "{}: {}", registration.name, String::from_utf8_lossy(&record));
        }
    }
}
