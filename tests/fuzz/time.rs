//! Times, as they stand in a record.

use tapveil::ingest::Decoder;

use crate::driver::{city, corpus, fuzz};

#[test]
fn a_time_lies_in_its_window_or_is_a_reject() {
    let (folder, settings) = city();
    let stations = std::fs::read_to_string(folder.join("stations.csv")).unwrap();
    let station = stations.lines().nth(1).unwrap().split(',').next().unwrap();
    let mut decoder = Decoder::new(settings.ingest());
    let mut n_taps = 0_u64;
    fuzz("time", &corpus("time"), |input| {
        let record = [format!("c1,{station},").as_bytes(), &input.bytes].concat();
        if let Ok(decoded) = decoder.decode(&record) {
            n_taps += 1;
            let (event, window) = (decoded.event, decoded.window);
            assert!(window.start() <= event && event < window.end(), "{event} in {window}");
        }
    });
    assert!(n_taps > 0, "some times are times");
}
