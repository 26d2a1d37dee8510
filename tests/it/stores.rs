//! Releases in an object store: a real S3 server on this machine (moto, from PyPI), and one that refuses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::{City, Run, program, skipped, tree};

/// A folder with Python packages, made once and kept; `None` where that cannot be.
pub(crate) fn python(name: &str, packages: &[&str]) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let dir = cache.or(home)?.join("tapveil").join(name);
    let (python, done) = (dir.join("bin/python"), dir.join("complete"));
    if !done.exists() {
        let made = Command::new("python3").args(["-m", "venv"]).arg(&dir).output().ok()?;
        let pip =
            Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages).output();
        if !made.status.success() || !pip.is_ok_and(|pip| pip.status.success()) {
            return None;
        }
        std::fs::write(&done, "").ok()?;
    }
    Some(python)
}

/// The S3 server of these tests. It ends with the process that runs them.
struct Server {
    address: String,
    child: Child,
}

const SIGNED: &str = "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, \
                      SignedHeaders=host, Signature=00\r\n";

impl Server {
    fn start() -> Option<Self> {
        let python = python("python-s3-1", &["moto[server,s3]==5.2.5"])?;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(python)
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let server = Self { address: format!("127.0.0.1:{port}"), child };
        let began = Instant::now();
        while TcpStream::connect(&server.address).is_err() {
            if began.elapsed() > Duration::from_secs(60) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(server)
    }

    /// A request whose signature is none: the server wants one and does not look at it.
    fn ask(&self, method: &str, path: &str) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let question = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{SIGNED}Content-Length: 0\r\nConnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(question.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let head = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        let status = String::from_utf8_lossy(&answer[9..12]).parse().unwrap();
        (status, answer[head..].to_vec())
    }

    fn bucket(&self, name: &str) -> String {
        assert_eq!(self.ask("PUT", &format!("/{name}")).0, 200);
        name.to_owned()
    }

    /// Keys of a bucket.
    fn keys(&self, bucket: &str) -> Vec<String> {
        let (_, text) = self.ask("GET", &format!("/{bucket}?list-type=2"));
        let text = String::from_utf8(text).unwrap();
        text.split("<Key>")
            .skip(1)
            .map(|rest| rest.split("</Key>").next().unwrap().to_owned())
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn sanitize(city: &City, address: &str, out: &str) -> Run {
    let mut command = program();
    command.env("AWS_ENDPOINT", format!("http://{address}")).env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
    command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
    command.arg("sanitize").arg("--taps").arg(city.path("taps.csv"));
    command.arg("--config").arg(city.config()).args(["--out", out]);
    Run::of(command.output().unwrap())
}

/// A release appears once and whole, holds what a directory would hold, and costs nothing again.
#[test]
fn a_release_in_a_real_s3_is_what_a_directory_holds_and_is_never_replaced() {
    let Some(server) = Server::start() else {
        return skipped(
            "no S3 server: python3 with venv and pip, and moto from PyPI, are not here",
        );
    };
    let city = City::new();
    let bucket = server.bucket("releases");
    let out = format!("s3://{bucket}/metro/private");
    let said = sanitize(&city, &server.address, &out).code(0);
    assert!(said.out.contains(&format!("released  {out}/")), "{}", said.out);
    city.sanitize("plain", &[]).code(0);
    let files = tree(&city.path("plain"));
    let expected: Vec<(String, &Vec<u8>)> = files
        .iter()
        .filter_map(|(path, bytes)| {
            Some((format!("metro/private/{}", path.display()), bytes.as_ref()?))
        })
        .collect();
    let keys = server.keys(&bucket);
    assert_eq!(keys, expected.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>());
    for (key, bytes) in &expected {
        assert!(server.ask("GET", &format!("/{bucket}/{key}")).1 == **bytes, "{key}");
    }
    let spent = city.spent_micro();
    let again = sanitize(&city, &server.address, &out).code(0);
    assert!(again.out.contains("unchanged"), "{}", again.out);
    assert_eq!(city.spent_micro(), spent);

    // Without its manifest it is no release: the same again completes it, and pays nothing.
    let manifest = keys.iter().find(|key| key.ends_with("datapackage.json")).unwrap();
    assert_eq!(server.ask("DELETE", &format!("/{bucket}/{manifest}")).0, 204);
    sanitize(&city, &server.address, &out).code(0);
    assert_eq!((server.keys(&bucket), city.spent_micro()), (keys.clone(), spent));

    // An object that is something else is never replaced, and the manifest stays away.
    let rows = keys.iter().find(|key| key.ends_with("paths.csv")).unwrap();
    for key in [manifest, rows] {
        server.ask("DELETE", &format!("/{bucket}/{key}"));
    }
    assert_eq!(server.ask("PUT", &format!("/{bucket}/{rows}")).0, 200);
    let refused = sanitize(&city, &server.address, &out).code(2);
    assert!(refused.err.contains("no object of a release is ever replaced"), "{}", refused.err);
    assert!(!server.keys(&bucket).contains(manifest), "nothing half-published");
    assert_eq!(city.spent_micro(), spent, "nothing paid twice");
}

/// Answers every request with the same bytes.
fn always(answer: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let n_asked = Arc::new(AtomicUsize::new(0));
    let asked = n_asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut buffer = [0; 4096];
            let n_read = stream.read(&mut buffer).unwrap_or(0);
            assert!(n_read < buffer.len(), "a question fits");
            asked.fetch_add(1, Ordering::SeqCst);
            stream.write_all(answer.as_bytes()).ok();
        }
    });
    (address, n_asked)
}

#[test]
fn a_store_that_refuses_or_is_not_there_costs_nothing_and_ends_with_three() {
    let city = City::generated(300);
    let denied = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (address, n_asked) = always(denied);
    let refused = sanitize(&city, &address, "s3://bucket/x").code(3);
    assert!(
        refused.err.contains("cannot") && refused.err.contains("s3://bucket/x"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("No release is there in part"), "{}", refused.err);
    assert!(n_asked.load(Ordering::SeqCst) > 0);
    assert_eq!(city.spent_micro(), 0, "asked before anything is paid");
    for (out, words) in [
        ("s3://", "names no bucket"),
        ("ftp://host/x", "ftp:// is not known"),
        ("file://relative", "names no directory"),
    ] {
        let refused = sanitize(&city, "127.0.0.1:9", out).code(2);
        assert!(refused.err.contains(words), "{out}: {}", refused.err);
    }
    assert_eq!(city.spent_micro(), 0);
    assert!(!Path::new("s3:").exists() && !Path::new("ftp:").exists(), "an address is no path");
}

#[test]
fn an_address_of_a_file_is_a_directory() {
    let city = City::generated(300);
    let out = format!("file://{}", city.path("out").display());
    sanitize(&city, "127.0.0.1:9", &out).code(0);
    city.verify("out").code(0);
}
