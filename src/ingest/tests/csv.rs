use super::*;

/// Rows under the usual header.
fn rows(rows: &str) -> (u64, Vec<(&'static str, u64)>) {
    let text = format!("card,station,time\n{rows}");
    tally(&read(text.as_bytes(), Written::Csv).counts)
}

fn one(bytes: &[u8]) -> Sorted {
    let found = sorted(read(bytes, Written::Csv));
    assert_eq!(found.1.taps, 1, "{:?}", tally(&found.1));
    found
}

#[test]
fn columns_are_found_by_name_whatever_their_order_and_company() {
    let plain = one(b"card,station,time\nc,A,2015-11-09T07:00:00Z\n");
    let others: [&[u8]; 6] = [
        b"time,card,station\n2015-11-09T07:00:00Z,c,A\n",
        b"id,station,fare,card,note,time\n1,A,3.20,c,,2015-11-09T07:00:00Z\n",
        b"\xef\xbb\xbfcard,station,time\nc,A,2015-11-09T07:00:00Z\n",
        b"card,station,time\r\nc,A,2015-11-09T07:00:00Z\r\n",
        b" card , station , time \n  c  ,\tA , 2015-11-09T07:00:00Z \n",
        b"\"card\",\"station\",\"time\"\n\"c\",\"A\",\"2015-11-09T07:00:00Z\"\n",
    ];
    for other in others {
        assert!(one(other) == plain, "{}", String::from_utf8_lossy(other));
    }
}

#[test]
fn quotes_hold_commas_and_quotes_together() {
    let found = one(b"card,station,time\n\"a,b\",\"B, \"\"x\"\"\",2015-11-09T07:00:00Z\n");
    assert_eq!(found.0.values().next().unwrap().len(), 1);
}

#[test]
fn a_quote_that_is_never_closed_spoils_its_own_line_only() {
    let found = rows("\"c,A,2015-11-09T07:00:00Z\nc,A,2015-11-09T07:00:00Z\n");
    assert_eq!(found, (1, vec![("malformed", 1)]));
}

#[test]
fn a_header_without_a_column_names_it() {
    let error = try_read(put(b"card,stop,when\n").path(), Written::Csv, 1).unwrap_err();
    let Error::Header { columns, .. } = &error else { panic!("{error}") };
    assert_eq!(columns.missing, ["station", "time"]);
    assert!(error.to_string().contains("feed.fields"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Config);
    let taps_only = put(b"c,A,2015-11-09T07:00:00Z\n");
    let error = try_read(taps_only.path(), Written::Csv, 1).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("line 1: the header must have the columns card, station, time"),
        "{said}"
    );
    assert!(!said.contains("c,A") && !said.contains("2015"), "it shows a tap: {said}");
}

#[test]
fn an_endless_header_is_an_error_and_no_endless_message() {
    let error = try_read(put(&vec![b'h'; 3_000_000]).path(), Written::Csv, 1).unwrap_err();
    assert!(matches!(error, Error::Header { .. }));
    assert!(error.to_string().len() < 600);
}

#[test]
fn latin_1_is_refused_in_words_and_utf_8_is_taken() {
    let latin = b"card,station,time\nc,\xc9,2015-11-09T07:00:00Z\n";
    let found = read(latin, Written::Csv);
    assert_eq!(tally(&found.counts), (0, vec![("not_utf8", 1)]));
    assert_eq!(rows("c,É,2015-11-09T07:00:00Z\n"), (1, vec![]));
}

#[test]
fn empty_and_missing_fields_are_missing() {
    let found = rows(
        ",A,2015-11-09T07:00:00Z\nc,,2015-11-09T07:00:00Z\nc,A,\nc,  ,2015-11-09T07:00:00Z\n\
         c,A\nc\n\"c\",\"A\"\n\"\",A,2015-11-09T07:00:00Z\n",
    );
    assert_eq!(found, (0, vec![("missing_field", 8)]));
}

#[test]
fn stations_and_times_that_nobody_knows_are_counted_apart() {
    let found = rows(
        "c,Z,2015-11-09T07:00:00Z\nc,A,yesterday\nc,A,2015-11-09\nc,A,2015-02-30T07:00:00Z\n\
         c,A,2015-03-08T02:30:00\nc,A,2015-11-01T01:30:00\nc,A,2015-11-01T01:30:00-05:00\n",
    );
    let expected =
        vec![("bad_time", 3), ("time_skipped", 1), ("time_repeated", 1), ("unknown_station", 1)];
    assert_eq!(found, (1, expected));
}

#[test]
fn one_instant_has_many_ways_to_be_written() {
    let plain = one(b"card,station,time\nc,A,2015-11-09T12:00:00Z\n");
    for time in [
        "2015-11-09T07:00:00-05:00",
        "2015-11-09T07:00:00",
        "2015-11-09 07:00:00",
        "1447070400",
        "1447070400000",
        "1447070400.000",
    ] {
        let text = format!("card,station,time\nc,A,{time}\n");
        assert!(one(text.as_bytes()) == plain, "{time}");
    }
}

#[test]
fn without_a_zone_local_times_are_rejects() {
    let settings = Settings { local_zone: None, ..settings(Written::Csv) };
    let mut decoder = Decoder::new(settings);
    assert_eq!(decoder.decode(b"c,A,2015-11-09T07:00:00").err(), Some(Reject::NoZone));
    assert!(decoder.decode(b"c,A,2015-11-09T07:00:00Z").is_ok());
}
