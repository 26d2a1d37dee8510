//! Records of a topic, in every format.

use tapveil::ingest::format::{self, Mapping};

use crate::driver::{corpus, fuzz};

#[test]
fn a_record_is_a_tap_or_a_reject() {
    let mapping = Mapping::of_fields("card", "/gate/station", "time");
    let built = format::STANDARD.iter().map(|one| one.with_defaults(mapping.clone()).unwrap());
    let formats: Vec<_> = built.collect();
    let mut corpus = corpus("record");
    for format in &formats {
        let sample = format.mapping().sample("c0042", "central", "2015-11-09T07:00:00Z");
        corpus.push((format!("sample-{}", corpus.len()), format.encode(&sample)));
    }
    let mut n_read = 0_u64;
    fuzz("record", &corpus, |input| {
        for format in &formats {
            n_read += u64::from(format.pick(&input.bytes).is_ok());
        }
    });
    assert!(n_read > 0, "some inputs can be read");
}
