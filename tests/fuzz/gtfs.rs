//! GTFS feeds, as folders and as archives.

use std::fs;

use tapveil::gtfs::{Archive, Choice, Network};

use crate::driver::{corpus, fuzz};

#[test]
fn a_gtfs_feed_gives_stations_or_a_complaint() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = corpus("gtfs");
    let is_archive = |name: &str| name.ends_with(".zip");
    for (name, whole) in corpus.iter().filter(|(name, _)| !is_archive(name)) {
        fs::write(dir.path().join(name), whole).unwrap();
    }
    let check = |network: Network| {
        let is_listed = |id: &String| network.stations.iter().any(|station| station.id == *id);
        assert!(network.parts.iter().all(|(_, station)| is_listed(station)));
    };
    let mut n_good = 0_u64;
    fuzz("gtfs", &corpus, |input| {
        let network = if is_archive(input.name) {
            let archive = Archive::from_bytes("feed.zip", input.bytes.clone());
            archive.and_then(|archive| Network::of(archive, &Choice::default()))
        } else {
            let path = dir.path().join(input.name);
            fs::write(&path, &input.bytes).unwrap();
            let network = Network::read(dir.path(), &Choice::default());
            fs::write(&path, input.whole).unwrap();
            network
        };
        if let Ok(network) = network {
            n_good += 1;
            check(network);
        }
    });
    assert!(n_good > 0, "some feeds can be read");
}
