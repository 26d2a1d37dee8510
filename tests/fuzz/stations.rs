//! Lists of stations.

use tapveil::model::Stations;

use crate::driver::{corpus, fuzz};

#[test]
fn a_list_of_stations_has_names_for_all_or_is_refused() {
    fuzz("stations", &corpus("stations"), |input| {
        if let Ok(stations) = Stations::from_csv(&input.bytes) {
            assert!(stations.iter().all(|station| !station.id.is_empty()));
        }
    });
}
