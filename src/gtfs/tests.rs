use std::io::Write;

use proptest::prelude::*;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const STOPS: &str = "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\n\
    A,Airport,1.0,1.0,1,\nA1,Airport platform 1,1.0,1.0,0,A\nA2,Airport platform 2,1.0,1.0,0,A\nAe,Entrance,1.0,1.0,2,A\n\
    A1b,Boarding,1.0,1.0,4,A1\nB,Bridge,2.0,2.0,0,\nC,Centre,3.0,3.0,0,\n";
const ROUTES: &str = "route_id,agency_id,route_short_name,route_long_name,route_type\nr1,T,1,Red,1\nr2,T,2,Blue,1\nr3,T,9,Night,3\n";
const TRIPS: &str = "route_id,service_id,trip_id\nr1,s,t1\nr1,s,t2\nr2,s,t3\nr2,s,t4\nr3,s,t5\n";
/// The airport: two trips of r1, two of r2. The bridge: one of r1, two of r2. The centre: r3 alone.
const TIMES: &str = "trip_id,stop_id,stop_sequence\n\
    t1,A1,1\nt1,B,2\nt2,A2,1\nt3,A1b,2\nt3,B,1\nt4,A1,2\nt4,B,1\nt5,C,1\nt5,B,2\n";
const AGENCY: &str = "agency_id,agency_name\nT,Transit\n";

/// Files by name.
type Packed = Vec<(&'static str, Vec<u8>)>;

fn files() -> Packed {
    [
        ("stops.txt", STOPS),
        ("routes.txt", ROUTES),
        ("trips.txt", TRIPS),
        ("stop_times.txt", TIMES),
        ("agency.txt", AGENCY),
    ]
    .map(|(name, text)| (name, text.as_bytes().to_vec()))
    .to_vec()
}

fn packed(folder: &str, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(format!("{folder}{name}"), SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn read(files: &[(&str, Vec<u8>)], choice: &Choice) -> Result<Network, Error> {
    Network::of(Archive::from_bytes("feed.zip", packed("", files))?, choice)
}

fn changed(name: &str, change: impl Fn(Vec<u8>) -> Option<Vec<u8>>) -> Packed {
    let one = |(file, bytes): (&'static str, Vec<u8>)| match file == name {
        true => change(bytes).map(|bytes| (file, bytes)),
        false => Some((file, bytes)),
    };
    files().into_iter().filter_map(one).collect()
}

fn replaced(name: &str, from: &str, to: &str) -> Packed {
    changed(name, |bytes| Some(String::from_utf8(bytes).unwrap().replace(from, to).into_bytes()))
}

fn summary(network: &Network) -> Vec<(&str, &str)> {
    network.stations.iter().map(|station| (station.id.as_str(), station.line.as_str())).collect()
}

#[test]
fn platforms_climb_to_stations_and_stations_stand_on_their_main_line() {
    let network = read(&files(), &Choice::default()).unwrap();
    // Along r1's longest trip: airport; along r2's: bridge. The airport's tie goes to the lower id.
    assert_eq!(summary(&network), [("A", "1"), ("B", "2"), ("C", "9")]);
    assert_eq!(network.networks["1"], "Transit");
    assert!(network.notes.is_empty(), "{:?}", network.notes);
    let stations = network.into_stations().unwrap();
    for part in ["A", "A1", "A2", "Ae", "A1b"] {
        assert_eq!(stations.get(stations.find(part).unwrap()).id, "A", "{part}");
    }
}

#[test]
fn route_types_and_stations_with_parts_are_a_choice() {
    let metro = Choice { route_types: vec![1], ..Choice::default() };
    assert_eq!(summary(&read(&files(), &metro).unwrap()), [("A", "1"), ("B", "2")]);
    let stations = Choice { only_stations: true, ..Choice::default() };
    assert_eq!(summary(&read(&files(), &stations).unwrap()), [("A", "1")]);
    let ferries = Choice { route_types: vec![4], ..Choice::default() };
    assert!(matches!(read(&files(), &ferries), Err(Error::NothingLeft { .. })));
}

#[test]
fn a_network_is_named_before_an_agency_and_tells_lines_apart() {
    let routes =
        "route_id,route_short_name,route_type,network_id\nr1,1,1,north\nr2,1,1,south\nr3,9,3,\n";
    let network =
        read(&changed("routes.txt", |_| Some(routes.into())), &Choice::default()).unwrap();
    assert_eq!(summary(&network), [("A", "north 1"), ("B", "south 1"), ("C", "9")]);
    assert_eq!(network.networks["9"], "Transit", "the only agency");
}

#[test]
fn a_feed_without_trips_says_so_and_lists_along_a_curve() {
    for missing in ["trips.txt", "stop_times.txt", "routes.txt"] {
        let network = read(&changed(missing, |_| None), &Choice::default()).unwrap();
        assert!(
            network.notes[0].contains(missing) && network.notes[0].contains("fanout"),
            "{:?}",
            network.notes
        );
        assert!(network.stations.iter().all(|station| station.line.is_empty()));
        let metro = Choice { route_types: vec![1], ..Choice::default() };
        let refused = read(&changed(missing, |_| None), &metro).unwrap_err();
        assert!(refused.to_string().contains("leave stations.route_types out"), "{refused}");
    }
}

#[test]
fn bad_feeds_get_a_sentence_each() {
    let cases: Vec<(Packed, &str)> = vec![
        (changed("stops.txt", |_| None), "has no stops.txt"),
        (
            replaced("stops.txt", "A,Airport,1.0,1.0,1,\n", "A,Airport,1.0,1.0,1,A1b\n"),
            "goes in a circle: A → A1b → A1 → A",
        ),
        (
            replaced("stops.txt", "0,A\n", "0,X\n"),
            "parent_station names stops that are not there: X",
        ),
        (replaced("stops.txt", "B,Bridge", "A,Bridge"), "\"A\" is there twice"),
        (replaced("stops.txt", "stop_id", "id"), "no column stop_id"),
        (
            changed("stops.txt", |bytes| Some([&bytes[..], b"D,Caf\xe9,1,1,0,\n"].concat())),
            "line 9 is not UTF-8 (byte 0xe9)",
        ),
        (replaced("trips.txt", "trip_id", "trip"), "trips.txt: the header has no column trip_id"),
        (
            replaced("stop_times.txt", "stop_id", "stop"),
            "stop_times.txt: the header has no column stop_id",
        ),
    ];
    for (files, words) in cases {
        let error = read(&files, &Choice::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.kind(), ErrorKind::Config);
    }
    let half = packed("", &files());
    let error = Archive::from_bytes("feed.zip", half[..half.len() / 2].to_vec()).err().unwrap();
    assert!(error.to_string().contains("neither a directory nor a whole zip file"), "{error}");
}

#[test]
fn a_byte_order_mark_a_folder_and_missing_places_are_no_obstacle() {
    let marked = changed("stops.txt", |bytes| Some([b"\xef\xbb\xbf", &bytes[..]].concat()));
    let folder = packed("export/2026/", &marked);
    let network =
        Network::of(Archive::from_bytes("feed.zip", folder).unwrap(), &Choice::default()).unwrap();
    assert_eq!(network.stations.len(), 3);
    let homeless = replaced("stops.txt", "B,Bridge,2.0,2.0", "B,Bridge,,");
    let network = read(&homeless, &Choice::default()).unwrap();
    assert!(
        network.notes[0].contains("1 stations have no coordinates")
            && network.notes[0].contains(": B;")
    );
    assert!(network.into_stations().is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Holds O-1.
    #[test]
    fn a_feed_gives_the_same_list_whatever_the_order_of_its_rows(seed in any::<u64>(), has_trips in any::<bool>()) {
        let shuffled = |text: &str| {
            let mut rows: Vec<&str> = text.lines().skip(1).collect();
            // A plain shuffle: rows sorted by a hash of seed and row.
            rows.sort_by_key(|row| {
                row.bytes().fold(seed, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
            });
            let header = text.lines().next().unwrap();
            [header].into_iter().chain(rows).collect::<Vec<_>>().join("\n").into_bytes()
        };
        let kept = |(name, _): &(&str, Vec<u8>)| has_trips || *name != "trips.txt";
        let plain: Vec<_> = files().into_iter().filter(kept).collect();
        let mixed: Vec<(&str, Vec<u8>)> = plain
            .iter()
            .map(|(name, bytes)| (*name, shuffled(std::str::from_utf8(bytes).unwrap())))
            .collect();
        let (one, mut other) = (read(&plain, &Choice::default()).unwrap(), read(&mixed, &Choice::default()).unwrap());
        let mut parts = one.parts.clone();
        parts.sort();
        other.parts.sort();
        prop_assert_eq!(&one.stations, &other.stations);
        prop_assert_eq!(parts, other.parts);
    }
}
