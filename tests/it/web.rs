//! A demo with its console, and a small HTTP client that can also misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::support::program;

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Asks for a page.
pub(crate) fn get(address: &str, path: &str) -> Answer {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"))
}

/// Sends this text, and reads until the other end closes.
pub(crate) fn ask(address: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // Whoever refuses early may close before everything is sent.
    stream.write_all(request.as_bytes()).ok();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok();
    let end =
        bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Answer { status, head, body: bytes[end..].to_vec() }
}

/// `tapveil demo --stay`, when its three windows are released.
pub(crate) struct Demo {
    child: Child,
    dir: TempDir,
    pub(crate) address: String,
    pub(crate) said: String,
}

impl Demo {
    pub(crate) fn start(engine: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("demo");
        let mut child = program()
            .args(["demo", "--stay", "--engine", engine, "--out", out.to_str().unwrap()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut address = None;
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            let console = line.strip_prefix("console: http://");
            address = address.or(console.map(|rest| rest.trim_end_matches('/').to_owned()));
            said.push_str(&line);
            said.push('\n');
            if line.starts_with("the console stays") {
                break;
            }
        }
        let address = address.unwrap_or_else(|| panic!("no console:\n{said}"));
        Self { child, dir, address, said }
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.dir.path().join("demo")
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        get(&self.address, path)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
