//! Avro schemas that somebody else wrote, and a message read with each.

use std::fs;

use tapveil::config;
use tapveil::engine::Registry;
use tapveil::ingest::Decoder;

use crate::driver::{city, corpus, fuzz};

#[test]
fn a_schema_is_a_way_to_read_messages_or_a_complaint() {
    let (folder, _) = city();
    let text = fs::read_to_string(folder.join("tapveil.toml")).unwrap();
    assert!(text.contains("format = \"csv\""), "the city's feed is CSV");
    let path = folder.join("avro.toml");
    let text = text.replace("format = \"csv\"", "format = \"avro\"");
    fs::write(&path, format!("{text}\n[feed.avro]\nschema = \"tap.avsc\"\n")).unwrap();
    let message = b"\x00\x00\x00\x00\x01\x0ac0042\x0ecentral(2015-11-09T07:00:00Z";
    let mut n_read = 0_u64;
    fuzz("schema", &corpus("schema"), |input| {
        fs::write(folder.join("tap.avsc"), &input.bytes).unwrap();
        if let Ok(settings) = config::load_with(&path, &Registry::standard()) {
            n_read += 1;
            drop(Decoder::new(settings.ingest()).decode(message));
        }
    });
    assert!(n_read > 0, "some schemas can be used");
}
