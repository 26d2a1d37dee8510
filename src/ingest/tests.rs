use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::format::{Format, Mapping};
use super::*;
use crate::engine::fixture::with_threads;
use crate::metrics::Board;
use crate::model::{Calendar, Counts, Reject, Stations, WindowId};
use crate::passenger::Stamp;
use crate::secret::Secret;
use crate::window::{Arrival, Gate};

mod csv;
mod json;

const STATIONS: &str = "id\nA\n\"B, \"\"x\"\"\"\nÉ\n12\n";

/// How often two readers of the same bytes are compared: a thousand times more where somebody has the time.
pub(super) fn comparisons(usual: u32) -> ProptestConfig {
    let is_long = std::env::var("TAPVEIL_LONG").as_deref() == Ok("1");
    ProptestConfig::with_cases(if is_long { usual.saturating_mul(1_000) } else { usual })
}

/// The forms that these tests write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Written {
    Csv,
    Json,
}

impl Written {
    fn format(self, mapping: Mapping) -> Arc<dyn Format> {
        let name = match self {
            Self::Csv => "csv",
            Self::Json => "json",
        };
        format::find(name).unwrap().with_defaults(mapping).unwrap()
    }
}

fn settings(format: Written) -> Settings {
    Settings {
        format: format.format(Mapping::of_fields("card", "station", "time")),
        local_zone: Some(TimeZone::get("America/Toronto").unwrap()),
        time_layouts: Vec::new(),
        card_is_token: false,
        calendar: Calendar::new(TimeZone::UTC, 86_400, 0, 3_600).unwrap(),
        stations: Arc::new(Stations::from_csv(STATIONS.as_bytes()).unwrap()),
        secret: Secret::from_bytes(&[4; 32]).unwrap(),
        keeps_kinds: false,
    }
}

fn gate() -> Gate {
    Gate { range: None, grace: None, max_ahead: SignedDuration::from_mins(5) }
}

fn put(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn try_read(path: &Path, format: Written, threads: usize) -> Result<Harvest, Error> {
    with_threads(threads, || read_file(&path.into(), &settings(format), &gate(), &Board::default()))
}

fn read(bytes: &[u8], format: Written) -> Harvest {
    try_read(put(bytes).path(), format, 2).unwrap()
}

/// Taps, and rejects by label without the zeros.
fn tally(counts: &Counts) -> (u64, Vec<(&'static str, u64)>) {
    let rejects = counts.rejects().filter(|(_, n)| *n > 0);
    (counts.taps, rejects.map(|(reason, n)| (reason.label(), n)).collect())
}

type Sorted = (BTreeMap<WindowId, Vec<Stamp>>, Counts);

/// The harvest in an order that does not depend on who decoded what.
fn sorted(mut harvest: Harvest) -> Sorted {
    let mut windows = BTreeMap::new();
    for id in harvest.open.ids() {
        let mut stamps = harvest.open.take(id);
        stamps.sort();
        windows.insert(id, stamps);
    }
    (windows, harvest.counts)
}

/// Line by line, in the plainest way there is.
fn reference(bytes: &[u8], format: Written) -> Sorted {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let settings = settings(format);
    let mut decoder = match format {
        Written::Json => Decoder::new(settings),
        Written::Csv => {
            let header = String::from_utf8_lossy(lines.next().unwrap()).into_owned();
            Decoder::with_header(settings, &header).unwrap()
        }
    };
    let (mut windows, mut counts) = (BTreeMap::<WindowId, Vec<Stamp>>::new(), Counts::default());
    for line in lines.filter(|line| !matches!(*line, b"" | b"\r")) {
        match decoder.decode(line) {
            Ok(decoded) => {
                gate().judge(decoded.window, decoded.event, Arrival::InFile).unwrap();
                windows.entry(decoded.tap.window()).or_default().push(decoded.tap.stamp());
                counts.taps += 1;
            }
            Err(reason) => counts.reject(reason),
        }
    }
    windows.values_mut().for_each(|stamps| stamps.sort());
    (windows, counts)
}

fn tap(format: Written, card: u64) -> String {
    match format {
        Written::Csv => format!("c{card},A,2015-11-09T07:{:02}:00Z", card % 60),
        Written::Json => format!(
            r#"{{"card":"c{card}","station":"A","time":"2015-11-09T07:{:02}:00Z"}}"#,
            card % 60
        ),
    }
}

fn header(format: Written) -> &'static str {
    match format {
        Written::Csv => "card,station,time\n",
        Written::Json => "",
    }
}

/// Holds I-2.
#[test]
fn a_line_of_ten_megabytes_is_counted_once_and_its_neighbours_survive() {
    for format in [Written::Csv, Written::Json] {
        // Before, in the middle of, and after a block's end; with and without something behind it.
        for (before, after) in [(0, 3), (3, 2), (30_000, 40_000), (5, 0)] {
            let mut text = header(format).to_owned();
            for card in 0..before {
                text += &(tap(format, card) + "\n");
            }
            text += &"x".repeat(10_000_000);
            for card in 0..after {
                text += &("\n".to_owned() + &tap(format, card));
            }
            let harvest = read(text.as_bytes(), format);
            let expected = (before + after, vec![("too_long", 1)]);
            assert_eq!(
                tally(&harvest.counts),
                expected,
                "{format:?}, {before} before, {after} after"
            );
        }
    }
}

#[test]
fn two_long_lines_in_a_row_are_two() {
    let long = "y".repeat(3_000_000);
    let text = format!("card,station,time\n{long}\n{long}\n{}\n", tap(Written::Csv, 1));
    assert_eq!(tally(&read(text.as_bytes(), Written::Csv).counts), (1, vec![("too_long", 2)]));
}

/// A line may be just as long as a record can be, whatever its end: else the lines before it, which move
/// the ends of blocks, would decide whether it counts.
#[test]
fn whether_a_longest_line_counts_does_not_depend_on_what_stands_before_it() {
    let start = "c1,A,2015-11-09T07:00:00Z,";
    for end in ["", "\r", "\n", "\r\n"] {
        for lines_before in [0, 1 << 20, (1 << 20) - RECORD_BYTES_MAX, 3 << 20] {
            for extra in [0, 1] {
                let pad = "z".repeat(RECORD_BYTES_MAX + extra - start.len());
                let before = "\n".repeat(lines_before);
                let text = format!("{}{before}{start}{pad}{end}", header(Written::Csv));
                let found = tally(&read(text.as_bytes(), Written::Csv).counts);
                let expected = if extra == 0 { (1, vec![]) } else { (0, vec![("too_long", 1)]) };
                assert_eq!(found, expected, "{end:?} {lines_before} {extra}");
            }
        }
    }
}

#[test]
fn the_last_line_needs_no_line_feed() {
    for format in [Written::Csv, Written::Json] {
        let text = format!("{}{}\n{}", header(format), tap(format, 1), tap(format, 2));
        assert_eq!(tally(&read(text.as_bytes(), format).counts), (2, vec![]));
        let text = text + "\n";
        assert_eq!(tally(&read(text.as_bytes(), format).counts), (2, vec![]));
    }
}

#[test]
fn an_empty_file_holds_nothing() {
    for format in [Written::Csv, Written::Json] {
        for bytes in [&b""[..], header(format).as_bytes(), header(format).trim_end().as_bytes()] {
            let harvest = read(bytes, format);
            assert_eq!(tally(&harvest.counts), (0, vec![]));
            assert!(harvest.open.ids().is_empty());
        }
    }
}

#[test]
fn blank_lines_are_nothing_and_lines_of_spaces_are_rejects() {
    for format in [Written::Csv, Written::Json] {
        let text = format!("{}\n\r\n  \t\n\n{}\n\n", header(format), tap(format, 1));
        assert_eq!(tally(&read(text.as_bytes(), format).counts), (1, vec![("empty", 1)]));
    }
}

#[test]
fn what_cannot_be_opened_is_told_with_its_name() {
    let missing = try_read(Path::new("/nowhere/taps.csv"), Written::Csv, 1).unwrap_err();
    assert!(missing.to_string().contains("/nowhere/taps.csv"), "{missing}");
    assert_eq!(missing.kind(), ErrorKind::Config);
    let dir = tempfile::tempdir().unwrap();
    let directory = try_read(dir.path(), Written::Csv, 1).unwrap_err();
    assert!(directory.to_string().contains("is a directory"), "{directory}");
}

/// Holds I-1.
#[test]
fn a_card_cannot_be_followed_from_window_to_window() {
    let text = b"card,station,time\nc,A,2015-11-09T07:00:00Z\nc,A,2015-11-09T08:00:00Z\n\
                 c,A,2015-11-10T07:00:00Z\n";
    let (windows, _) = sorted(read(text, Written::Csv));
    let days: Vec<&Vec<Stamp>> = windows.values().collect();
    assert!(days[0][0].card() == days[0][1].card(), "one card in one window");
    assert!(days[0][0].card() != days[1][0].card(), "another key in the next window");
}

#[test]
fn taps_outside_the_range_are_counted_as_such() {
    let file = put(b"card,station,time\nc,A,2015-11-09T07:00:00Z\nc,A,2015-11-10T07:00:00Z\n");
    let settings = settings(Written::Csv);
    let first = settings.calendar.window_at("2015-11-09T07:00:00Z".parse().unwrap()).unwrap().id();
    let gate = Gate { range: Some(first..WindowId::new(first.number() + 1)), ..gate() };
    let harvest = read_file(&file.path().into(), &settings, &gate, &Board::default()).unwrap();
    assert_eq!(tally(&harvest.counts), (1, vec![("outside_range", 1)]));
}

/// Lines that are taps, nearly taps, or nothing like it.
fn line(format: Written) -> impl Strategy<Value = Vec<u8>> {
    let good = (0..9_u64).prop_map(move |card| tap(format, card).into_bytes());
    let near = "[cA,\"{}: 0-9TZ.\r]{0,40}".prop_map(String::into_bytes);
    let wild = prop::collection::vec(any::<u8>(), 0..60);
    let long = Just(vec![b'k'; RECORD_BYTES_MAX + 1]);
    prop_oneof![60 => good, 20 => near, 20 => wild, 1 => long]
}

fn file(format: Written) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(line(format), 0..120)
        .prop_map(move |lines| [header(format).as_bytes().to_vec(), lines.join(&b'\n')].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_harvest_of_a_csv_file_does_not_depend_on_threads(bytes in file(Written::Csv)) {
        let file = put(&bytes);
        let one = sorted(try_read(file.path(), Written::Csv, 1).unwrap());
        let four = sorted(try_read(file.path(), Written::Csv, 4).unwrap());
        prop_assert_eq!(&one, &four);
        prop_assert_eq!(&one, &reference(&bytes, Written::Csv));
    }

    #[test]
    fn the_harvest_of_a_json_file_does_not_depend_on_threads(bytes in file(Written::Json)) {
        let file = put(&bytes);
        let one = sorted(try_read(file.path(), Written::Json, 1).unwrap());
        let four = sorted(try_read(file.path(), Written::Json, 4).unwrap());
        prop_assert_eq!(&one, &four);
        prop_assert_eq!(&one, &reference(&bytes, Written::Json));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_bytes_whatever_stop_the_decoder(
        lines in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200),
                "[\\PC\"{}:,\\\\]{0,80}".prop_map(String::into_bytes),
                ("[0-9.eE+-]{0,30}", "[ABx]").prop_map(|(time, at)| {
                    format!("{{\"card\":1,\"station\":{at:?},\"time\":{time}}}").into_bytes()
                }),
                "[0-9TtZ:. +-]{0,32}".prop_map(|time| format!("c,A,{time}").into_bytes()),
            ],
            1..8,
        ),
    ) {
        for format in [Written::Csv, Written::Json] {
            let mut decoder = Decoder::new(settings(format));
            for line in &lines {
                if let Ok(decoded) = decoder.decode(line) {
                    prop_assert!(decoded.window.start() <= decoded.event);
                    prop_assert!(decoded.event < decoded.window.end());
                }
            }
        }
    }

    #[test]
    fn no_header_whatever_stops_the_decoder(header in "\\PC{0,60}", line in "\\PC{0,60}") {
        match Decoder::with_header(settings(Written::Csv), &header) {
            Ok(mut decoder) => drop(decoder.decode(line.as_bytes()).is_ok()),
            Err(columns) => prop_assert!(!columns.missing.is_empty()),
        }
    }
}

/// A file that fills many blocks: every worker gets some.
#[test]
fn many_blocks_on_many_threads_lose_nothing() {
    for format in [Written::Csv, Written::Json] {
        let mut text = header(format).to_owned();
        for card in 0..100_000 {
            text += &tap(format, card);
            text += if card % 7 == 0 { "\r\n" } else { "\n" };
        }
        let four = sorted(try_read(put(text.as_bytes()).path(), format, 4).unwrap());
        assert_eq!(tally(&four.1), (100_000, vec![]));
        assert!(four == reference(text.as_bytes(), format));
    }
}
