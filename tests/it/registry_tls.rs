//! A schema registry behind TLS: its authority stands in a file, and nobody else's word counts.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tapveil::declare::Values;
use tapveil::ingest::format::{Mapping, find};

use crate::support::skipped;

/// Answers every question with a schema, behind TLS; says its port first.
const SERVER: &str = r#"
import http.server, json, ssl, sys
schema = {"type": "record", "name": "t", "fields": [{"name": n, "type": "string"} for n in ("card", "station", "time")]}
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"schema": json.dumps(schema)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"#;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// An authority, and what it signed for this machine.
fn certificates(dir: &Path) -> Option<()> {
    let openssl = |arguments: &str| {
        let arguments = arguments.split(' ');
        let done = Command::new("openssl").args(arguments).current_dir(dir).output().ok()?;
        done.status.success().then_some(())
    };
    fs::write(dir.join("san"), "subjectAltName=IP:127.0.0.1\n").ok()?;
    openssl(
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority",
    )?;
    openssl("req -newkey rsa:2048 -nodes -keyout key.pem -out request -subj /CN=registry")?;
    openssl(
        "x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 -extfile san",
    )?;
    openssl(
        "req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -days 2 -subj /CN=other",
    )
}

#[test]
fn a_registry_behind_tls_is_trusted_by_its_authority_alone() {
    let dir = tempfile::tempdir().unwrap();
    if certificates(dir.path()).is_none() {
        return skipped("a registry behind TLS: openssl is not here");
    }
    let server = Command::new("python3")
        .args(["-c", SERVER, "cert.pem", "key.pem"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut server) = server.map(Server) else {
        return skipped("a registry behind TLS: python3 is not here");
    };
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let ask = |authority: &str| {
        let feed = serde_json::json!({ "avro": {
            "registry": format!("https://127.0.0.1:{}", port.trim()), "registry_ca_file": authority, "registry_patience": 1,
        } });
        let mut complaints = Vec::new();
        let mut values = Values::new("feed", feed.as_object(), &mut complaints);
        let mapping = Mapping::of_fields("card", "station", "time");
        let format = (find("avro").unwrap().build)(&mut values, mapping, dir.path());
        let format = format.unwrap_or_else(|| panic!("{complaints:?}"));
        let message = [0, 0, 0, 0, 1, 2, b'c', 2, b's', 2, b't'];
        format.prepare(&message).map(|()| format.pick(&message).unwrap().station.into_owned())
    };
    assert_eq!(ask("ca.pem").unwrap(), "s");
    let refused = ask("other.pem").unwrap_err().to_string();
    assert!(refused.contains("gave no schema 1"), "{refused}");
}
