//! Avro through a real broker, with a schema registry that comes late.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;

use crate::broker::bootstrap;
use crate::service::{Feed, batches};

const LONG: Duration = Duration::from_secs(90);
const SCHEMA: &str = r#"{ "type": "record", "name": "tap", "fields": [ { "name": "device", "type": ["null", "long"] },
    { "name": "time", "type": "string" }, { "name": "card", "type": "string" }, { "name": "station", "type": "string" } ] }"#;

/// Answers every question with the schema, for as long as this process lives.
fn serve(listener: TcpListener) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut question = [0; 4096];
            let n_read = stream.read(&mut question).unwrap();
            let is_known =
                String::from_utf8_lossy(&question[..n_read]).starts_with("GET /schemas/ids/7 ");
            let (status, body) = match is_known {
                true => ("200 OK", json!({ "schema": SCHEMA }).to_string()),
                false => ("404 Not Found", json!({ "error_code": 40403 }).to_string()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
    });
}

#[test]
fn a_registry_that_is_down_ends_the_service_and_loses_no_tap() {
    let Some(brokers) = bootstrap() else { return };
    let feed = Feed::history(&brokers, 1_000);
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    fs::write(feed.path("city/tap.avsc"), SCHEMA).unwrap();
    let csv = fs::read_to_string(feed.config()).unwrap();
    feed.edit("format = \"csv\"", "format = \"avro\"");
    feed.append(&format!(
        "[feed.avro]\nschema = \"tap.avsc\"\nid = 7\nregistry = \"http://{address}\"\nregistry_patience = 1\n"
    ));
    feed.replay();
    let mut alone = feed.worker("all", None);
    assert_eq!(alone.wait(LONG), Some(3), "{}", alone.said());
    let said = alone.said();
    assert!(said.contains("gave no schema 7") && said.contains("No tap is lost"), "{said}");
    serve(TcpListener::bind(address).unwrap());
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(LONG), Some(0), "{}", worker.said());
    let ledger = feed.ledger();
    fs::write(feed.config(), csv).unwrap();
    feed.sanitized();
    assert_eq!(batches(&ledger), feed.sanitized_batches(), "the same batches reached the engine");
    assert_eq!(ledger["spent_micro"], 7_000_000);
}
