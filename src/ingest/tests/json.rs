use super::*;
use crate::passenger::Tap;

const TIME: &str = "2015-11-09T07:00:00Z";

fn decode(record: &str) -> Result<Stamp, Reject> {
    let mut decoder = Decoder::new(settings(Written::Json));
    let tap: Tap = decoder.decode(record.as_bytes())?.tap;
    Ok(tap.stamp())
}

fn plain() -> Stamp {
    decode(&format!(r#"{{"card":"12","station":"A","time":"{TIME}"}}"#)).unwrap()
}

#[test]
fn members_are_found_by_name_whatever_their_order_and_company() {
    let record = format!(
        r#" {{"time": "{TIME}", "x": {{"card": "no", "deep": [[[{{}}]]]}}, "card": "12",
             "list": [1, "card"], "nothing": null, "flag": true, "station": " A "}} "#
    );
    assert!(decode(&record) == Ok(plain()));
}

#[test]
fn a_number_is_a_card_a_station_and_a_time() {
    let record = format!(r#"{{"card":12,"station":"A","time":"{TIME}"}}"#);
    assert!(decode(&record) == Ok(plain()), "the number and its text are the same card");
    assert!(decode(r#"{"card":12,"station":"A","time":1447052400}"#) == Ok(plain()));
    assert!(decode(r#"{"card":12,"station":"A","time":1447052400000}"#) == Ok(plain()));
    assert!(decode(r#"{"card":12,"station":"A","time":1447052400.0}"#) == Ok(plain()));
    let by_number = decode(r#"{"card":12,"station":12,"time":1447052400}"#).unwrap();
    assert!(by_number.station() != plain().station(), "station 12 is on the list");
}

/// Beyond 64 bits a number is only nearly itself: two cards would become one.
#[test]
fn a_card_number_that_would_be_rounded_is_refused() {
    let card = |digits: &str| {
        decode(&format!(r#"{{"card":{digits},"station":"A","time":"{TIME}"}}"#)).err()
    };
    assert_eq!(card("18446744073709551615"), None);
    assert_eq!(card("100000000000000000000001"), Some(Reject::Malformed));
    assert_eq!(card("12.5"), Some(Reject::Malformed));
    assert_eq!(card("1e400"), Some(Reject::Malformed));
}

#[test]
fn escapes_are_read_as_what_they_stand_for() {
    let record = format!(r#"{{"c\u0061rd":"\u0031\u0032","station":"\u0041","time":"{TIME}"}}"#);
    assert!(decode(&record) == Ok(plain()));
    let accented = format!(r#"{{"card":"12","station":"\u00c9","time":"{TIME}"}}"#);
    assert!(decode(&accented).is_ok());
}

#[test]
fn null_empty_and_absent_members_are_missing() {
    for record in [
        format!(r#"{{"card":null,"station":"A","time":"{TIME}"}}"#),
        format!(r#"{{"card":"","station":"A","time":"{TIME}"}}"#),
        format!(r#"{{"card":"  ","station":"A","time":"{TIME}"}}"#),
        format!(r#"{{"station":"A","time":"{TIME}"}}"#),
        r#"{"card":"12","station":"A"}"#.to_owned(),
        "{}".to_owned(),
    ] {
        assert!(decode(&record) == Err(Reject::MissingField), "{record}");
    }
}

#[test]
fn the_last_of_two_members_of_a_name_counts() {
    let record = format!(r#"{{"card":"99","card":"12","station":"A","time":"{TIME}"}}"#);
    assert!(decode(&record) == Ok(plain()));
    let record = format!(r#"{{"card":"12","card":null,"station":"A","time":"{TIME}"}}"#);
    assert!(decode(&record) == Err(Reject::MissingField));
}

#[test]
fn what_is_not_one_object_is_malformed() {
    let good = format!(r#"{{"card":"12","station":"A","time":"{TIME}"}}"#);
    for record in [
        format!("{good} trailing"),
        format!("{good}{good}"),
        format!("[{good}]"),
        "12".to_owned(),
        "\"card\"".to_owned(),
        "null".to_owned(),
        good[..good.len() - 1].to_owned(),
        format!(r#"{{"card":["12"],"station":"A","time":"{TIME}"}}"#),
        format!(r#"{{"card":{{"id":"12"}},"station":"A","time":"{TIME}"}}"#),
        format!(r#"{{"card":true,"station":"A","time":"{TIME}"}}"#),
        format!(r#"{{card:"12","station":"A","time":"{TIME}"}}"#),
        format!(r#"{{"card":NaN,"station":"A","time":"{TIME}"}}"#),
        "[".repeat(5_000),
        "{\"a\":".repeat(5_000),
    ] {
        assert!(decode(&record) == Err(Reject::Malformed), "{}", &record[..record.len().min(80)]);
    }
}

#[test]
fn a_bad_line_spoils_itself_only() {
    let good = format!(r#"{{"card":"12","station":"A","time":"{TIME}"}}"#);
    let text = format!("{good}\r\n{{\n{good}\n\"\n\n{good}");
    let found = read(text.as_bytes(), Written::Json);
    assert_eq!(tally(&found.counts), (3, vec![("malformed", 2)]));
}

#[test]
fn records_of_64_kib_are_taken_and_longer_ones_are_not() {
    let start = format!(r#"{{"card":"12","station":"A","time":"{TIME}","pad":""#);
    let pad = |bytes: usize| format!("{start}{}\"}}", "p".repeat(bytes - start.len() - 2));
    assert!(decode(&pad(RECORD_BYTES_MAX)) == Ok(plain()));
    assert!(decode(&pad(RECORD_BYTES_MAX + 1)) == Err(Reject::TooLong));
    assert!(decode("") == Err(Reject::Empty));
}
