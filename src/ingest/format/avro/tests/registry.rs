//! Schemas out of a registry that answers, fails and refuses.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A registry of a few answers, on this machine.
fn registry(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let n_asked = Arc::new(AtomicUsize::new(0));
    let asked = n_asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut question, mut buffer) = (Vec::new(), [0; 1024]);
            while !question.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(n) if n > 0 => question.extend_from_slice(&buffer[..n]),
                    _ => break,
                }
            }
            asked.fetch_add(1, Ordering::SeqCst);
            let question = String::from_utf8_lossy(&question).into_owned();
            let (status, body) = answer(&question);
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(format!("{head}{body}").as_bytes()).ok();
        }
    });
    (url, n_asked)
}

fn with_registry(url: &str, more: &str) -> Arc<dyn Format> {
    let feed = format!(r#"{{"avro":{{"registry":"{url}"{more}}}}}"#);
    built_for("avro", &feed, Mapping::of_fields("card", "station", "time")).unwrap()
}

const FLAT: &str = r#"{"type":"record","name":"t","fields":[{"name":"card","type":"Id"},{"name":"station","type":"string"},{"name":"time","type":"string"}]}"#;
const ID: &str = r#"{"type":"fixed","name":"Id","size":1}"#;
const MESSAGE: &[u8] = &[0, 0, 0, 0, 5, 0x0a, 2, b's', 2, b't'];

#[test]
fn a_registry_is_asked_once_for_a_schema_and_its_references() {
    let (url, n_asked) = registry(|question| {
        let reference = json!([{ "name": "Id", "subject": "ids v", "version": 3 }]);
        match question.split(' ').nth(1).unwrap() {
            "/schemas/ids/5" => {
                (200, json!({ "schema": FLAT, "references": reference }).to_string())
            }
            "/subjects/ids%20v/versions/3" => (200, json!({ "schema": ID }).to_string()),
            _ => (404, json!({ "error_code": 40403 }).to_string()),
        }
    });
    let format = with_registry(&url, "");
    assert_eq!(format.pick(MESSAGE).err(), Some(Reject::UnknownSchema), "before anybody asked");
    for _ in 0..3 {
        format.prepare(MESSAGE).unwrap();
        let picked = format.pick(MESSAGE).unwrap();
        assert_eq!((&*picked.card, &*picked.station), ("0a", "s"));
    }
    assert_eq!(n_asked.load(Ordering::SeqCst), 2, "the schema and its reference");
    let unknown = [&[0, 0, 0, 0, 6], &MESSAGE[5..]].concat();
    for _ in 0..3 {
        format.prepare(&unknown).unwrap();
        assert_eq!(format.pick(&unknown).err(), Some(Reject::UnknownSchema));
    }
    assert_eq!(
        n_asked.load(Ordering::SeqCst),
        3,
        "a number that nobody knows is not asked for every time"
    );
    format.prepare(b"no message at all").unwrap();
    assert!(format.writes().is_err(), "a registry alone says only how to read");
}

#[test]
fn a_registry_that_fails_is_asked_again_and_then_stops_everything() {
    let n = AtomicUsize::new(0);
    let (url, n_asked) = registry(move |_| match n.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => (503, String::new()),
        _ => (200, json!({ "schema": FLAT.replace("\"Id\"", ID) }).to_string()),
    });
    let format = with_registry(&url, "");
    format.prepare(MESSAGE).unwrap();
    assert!(format.pick(MESSAGE).is_ok() && n_asked.load(Ordering::SeqCst) == 3, "it came back");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let down = with_registry(&format!("http://{nobody}"), r#","registry_patience":1"#);
    let outage = down.prepare(MESSAGE).unwrap_err().to_string();
    assert!(outage.contains("gave no schema 5") && outage.contains("No tap is lost"), "{outage}");
}

#[test]
fn a_registry_that_refuses_is_not_asked_again_and_no_password_shows() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    std::fs::write(&file, "open sesame\n").unwrap();
    let login = format!(r#","registry_user":"me","registry_password_file":{file:?}"#);
    // "me:open sesame", as RFC 7617 writes it.
    let (url, _) = registry(|question| match question.contains("Basic bWU6b3BlbiBzZXNhbWU=") {
        true => (200, json!({ "schema": FLAT.replace("\"Id\"", ID) }).to_string()),
        false => (401, String::new()),
    });
    let format = with_registry(&url, &login);
    format.prepare(MESSAGE).unwrap();
    assert!(format.pick(MESSAGE).is_ok());
    assert!(!format!("{format:?}").contains("sesame"));
    let outage = with_registry(&url, "").prepare(MESSAGE).unwrap_err().to_string();
    assert!(outage.contains("it refused us (401)"), "{outage}");
    let (url, n_asked) = registry(|_| (200, "<html>".to_owned()));
    let outage = with_registry(&url, "").prepare(MESSAGE).unwrap_err().to_string();
    assert!(
        outage.contains("is it a schema registry?") && n_asked.load(Ordering::SeqCst) == 1,
        "{outage}"
    );
}
