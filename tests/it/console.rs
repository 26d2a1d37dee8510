//! The demo and its console: what the pages show, what they never show, and what bad requests get.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::contract::fits;
use crate::service::{Feed, Worker};
use crate::support::run;
use crate::web::{Demo, ask, get};

/// Holds H-1, H-3, M-2.
#[test]
fn the_demo_releases_three_windows_that_a_file_gives_too_and_the_console_shows_them() {
    let demo = Demo::start("safepath");
    assert_eq!(demo.said.matches("  released ").count(), 3, "{}", demo.said);
    assert!(demo.said.contains("every one checked and sound"), "{}", demo.said);
    assert_eq!(demo.said.matches("\n  tapveil ").count(), 3, "three things to try: {}", demo.said);
    as_sanitize_does(&demo);
    pages(&demo);
    machine_readable(&demo);
    bad_requests(&demo);
    tampered(&demo);
}

/// The demo is a configuration of the same program: the file of its taps gives the same rows.
fn as_sanitize_does(demo: &Demo) {
    let (out, again) = (demo.out(), demo.out().join("again"));
    let (taps, config) = (out.join("taps.csv"), out.join("tapveil.toml"));
    let [taps, config, again] = [&taps, &config, &again].map(|path| path.to_str().unwrap());
    run(["sanitize", "--taps", taps, "-c", config, "--out", again]).code(0);
    let mut n_rows = 0;
    for entry in fs::read_dir(out.join("releases")).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            let mine = fs::read(entry.path().join("paths.csv")).unwrap();
            let other = out.join("again").join(entry.file_name()).join("paths.csv");
            assert_eq!(mine, fs::read(other).unwrap(), "{}", entry.path().display());
            n_rows += mine.iter().filter(|byte| **byte == b'\n').count() - 1;
        }
    }
    assert!(n_rows > 100, "a demo shows something: {n_rows} rows");
}

/// The name of the newest release.
fn newest(demo: &Demo) -> String {
    let found = demo.get("/api/v1/releases").json();
    assert_eq!(found["releases"].as_array().unwrap().len(), 3, "{found}");
    found["releases"][0]["name"].as_str().unwrap().to_owned()
}

fn pages(demo: &Demo) {
    let name = newest(demo);
    let taps = fs::read_to_string(demo.out().join("taps.csv")).unwrap();
    let exact = (taps.lines().count() - 1).to_string();
    for (path, words) in [
        ("/", "Latest releases"),
        ("/releases", name.as_str()),
        ("/budget", "Lifetime cap"),
        ("/statement", "What is not protected"),
        (&format!("/releases/{name}"), "Differential privacy"),
    ] {
        let answer = demo.get(path);
        let text = answer.text();
        assert_eq!(answer.status, 200, "{path}");
        assert!(text.contains(words), "{words:?} is not on {path}:\n{text}");
        assert!(answer.head.contains("default-src 'none'"), "{}", answer.head);
        assert!(!text.contains(&exact), "{path} shows how many taps there were");
        assert!(!text.contains("://"), "{path} asks for something elsewhere");
        assert!(!text.contains("<script"), "{path} works without a script");
    }
    let release = demo.get(&format!("/releases/{name}")).text();
    assert_eq!(release.matches("<svg").count(), 4, "a map, a heat map, bars by slot and by length");
    let windows = demo.get("/windows").text();
    assert!(windows.contains("For operators only"), "{windows}");
    assert_eq!(windows.matches(">released<").count(), 3, "{windows}");
    let file = demo.get(&format!("/releases/{name}/paths.csv"));
    assert_eq!(
        file.body,
        fs::read(demo.out().join("releases").join(&name).join("paths.csv")).unwrap()
    );
    assert!(file.head.contains("attachment; filename=\"paths.csv\""), "{}", file.head);
}

fn machine_readable(demo: &Demo) {
    let budget = demo.get("/api/v1/budget").json();
    assert_eq!(budget["spent_micro"], 12_000_000, "{budget}");
    assert_eq!(budget["left_micro"], 88_000_000, "{budget}");
    let windows = demo.get("/api/v1/windows").json();
    let states = windows["windows"].as_array().unwrap().iter().map(|line| line["state"].clone());
    assert_eq!(states.collect::<Vec<_>>(), ["released"; 3], "{windows}");
    let release = demo.get(&format!("/api/v1/releases/{}", newest(demo))).json();
    fits("api-budget-1.json", &budget);
    fits("api-windows-1.json", &windows);
    fits("api-release-1.json", &release);
    fits("api-releases-1.json", &demo.get("/api/v1/releases").json());
    assert_eq!(release["is_sound"], true);
    assert_eq!(release["manifest"]["privacy"]["engine"]["name"], "safepath");
    assert!(release["rows"].as_u64().unwrap() > 0, "{release}");
    let metrics = demo.get("/metrics").text();
    for name in [
        "tapveil_publish_releases_total{engine=\"safepath\"} 3",
        "tapveil_ledger_epsilon_spent 12",
        "tapveil_kafka_brokers_up{client=\"ingest\"} 1",
    ] {
        assert!(metrics.contains(name), "{name} is not in\n{metrics}");
    }
}

fn bad_requests(demo: &Demo) {
    let (name, address) = (newest(demo), &demo.address);
    for path in [
        "/releases/..%2f..%2ftapveil.secret",
        "/releases/%2e%2e/tapveil.secret",
        &format!("/releases/{name}/..%2f..%2f..%2ftapveil.secret"),
        &format!("/releases/{name}/%2fetc%2fpasswd"),
        &format!("/releases/{name}/../../../tapveil.secret"),
        &format!("/releases/{name}%00/paths.csv"),
        "/releases/nothing",
        "/nothing",
        "/api/v1/releases/..%2f",
    ] {
        assert_eq!(demo.get(path).status, 404, "{path}");
    }
    let head =
        ask(address, &format!("HEAD / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"));
    assert_eq!((head.status, head.body.len()), (200, 0));
    let post = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(ask(address, &post).status, 405);
    let huge = "x".repeat(2_000_000);
    let huge = format!("GET / HTTP/1.1\r\nHost: {address}\r\nX-Huge: {huge}\r\n\r\n");
    assert!([0, 400, 431].contains(&ask(address, &huge).status));
    assert!([0, 400].contains(&ask(address, "nonsense\r\n\r\n").status));
    // Somebody who sends a byte and waits, and somebody who asks and does not read, hold nobody up.
    let mut slow = TcpStream::connect(address).unwrap();
    slow.write_all(b"G").unwrap();
    let mut deaf = TcpStream::connect(address).unwrap();
    write!(deaf, "GET /releases/{name}/paths.parquet HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let began = Instant::now();
    for _ in 0..50 {
        assert_eq!(demo.get(&format!("/releases/{name}")).status, 200);
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    deaf.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(deaf.read(&mut [0; 12]).unwrap(), 12, "and is answered when they do");
}

fn tampered(demo: &Demo) {
    let name = newest(demo);
    let path = demo.out().join("releases").join(&name).join("paths.csv");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() - 2;
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    let page = demo.get(&format!("/releases/{name}")).text();
    assert!(page.contains("was changed after it was published"), "{page}");
    assert!(!page.contains("<svg"), "nothing of it is shown");
    assert_eq!(demo.get(&format!("/releases/{name}/paths.csv")).status, 409);
    assert_eq!(demo.get(&format!("/api/v1/releases/{name}")).json()["is_sound"], false);
}

/// Holds H-2.
#[test]
fn operators_pages_ask_for_the_token_and_public_ones_do_not() {
    let feed = Feed::history("127.0.0.1:1", 20);
    let token = "sixteen-letters-or-more";
    fs::write(feed.path("city/token"), format!("{token}\n")).unwrap();
    feed.edit("listen = \"127.0.0.1:0\"", "listen = \"0.0.0.0:0\"\ntoken_file = \"token\"");
    let mut worker = feed.worker("all", None);
    worker.wait_for("console at http://", Duration::from_secs(30));
    let said = worker.said();
    let (_, rest) = said.split_once("console at http://0.0.0.0:").unwrap();
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let address = format!("127.0.0.1:{port}");
    for path in ["/metrics", "/windows", "/api/v1/windows"] {
        let answer = get(&address, path);
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.head.to_lowercase().contains("www-authenticate: basic"), "{}", answer.head);
        let with = |value: &str| {
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {value}\r\nConnection: close\r\n\r\n"
            );
            ask(&address, &request).status
        };
        assert_eq!(with(&format!("Bearer {token}")), 200, "{path}");
        assert_eq!(with("Bearer sixteen-letters-or-less"), 401, "{path}");
    }
    for path in ["/livez", "/", "/budget", "/releases", "/statement", "/api/v1/budget"] {
        assert_eq!(get(&address, path).status, 200, "{path}");
    }
    assert_eq!(get(&address, "/readyz").status, 503, "no broker, no work");
    assert!(!said.contains(token), "the token is never printed");
}

/// A service that finds no broker, and the address of its console.
fn without_broker() -> (Feed, Worker, String) {
    let feed = Feed::history("127.0.0.1:1", 20);
    let mut worker = feed.worker("all", None);
    worker.wait_for("console at http://", Duration::from_secs(30));
    let said = worker.said();
    let (_, rest) = said.split_once("console at http://").unwrap();
    let address: String = rest.chars().take_while(|&letter| letter != '/').collect();
    (feed, worker, address)
}

#[test]
fn every_answer_carries_the_headers_that_keep_pages_to_themselves() {
    let (_feed, _worker, address) = without_broker();
    let with = |method: &str, path: &str, host: &str| {
        ask(
            &address,
            &format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
        )
    };
    for (answer, status) in [
        (get(&address, "/livez"), 200),
        (get(&address, "/readyz"), 503),
        (get(&address, "/nothing/here"), 404),
        (get(&address, "/releases/..%2f..%2fetc"), 404),
        (with("POST", "/", &address), 405),
        (with("GET", "/", "evil.example"), 421),
    ] {
        assert_eq!(answer.status, status, "{}", answer.head);
        let head = answer.head.to_lowercase();
        for header in [
            "content-security-policy: default-src 'none'",
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
        ] {
            assert!(head.contains(header), "{header} is not in {head}");
        }
    }
}

/// More than twice as many as are served at a time say nothing, or half of something.
#[test]
fn six_hundred_half_requests_do_not_keep_health_from_answering_and_end_in_seconds() {
    let (_feed, _worker, address) = without_broker();
    let half = |n: usize| {
        let mut stream = TcpStream::connect(&address).unwrap();
        if n.is_multiple_of(2) {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: loc").unwrap();
        }
        stream
    };
    let halves: Vec<TcpStream> = (0..600).map(half).collect();
    let began = Instant::now();
    assert_eq!(get(&address, "/livez").status, 200);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let busy = get(&address, "/");
    assert_eq!(busy.status, 503, "{}", busy.head);
    let patience = Duration::from_secs(30);
    for mut stream in halves {
        stream.set_read_timeout(Some(patience)).unwrap();
        if let Err(error) = stream.read_to_end(&mut Vec::new()) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "half a request stays");
        }
    }
    assert!(began.elapsed() < patience, "{:?}", began.elapsed());
    assert_eq!(get(&address, "/").status, 200, "places are free again");
}

#[test]
fn an_address_that_is_taken_and_a_missing_token_are_said_at_once() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let feed = Feed::history("127.0.0.1:1", 20);
    let address = taken.local_addr().unwrap().to_string();
    feed.edit("listen = \"127.0.0.1:0\"", &format!("listen = \"{address}\""));
    let refused = feed.command(["run"]).code(3);
    assert!(
        refused.err.contains(&format!("nothing can be served at {address}")),
        "{}",
        refused.err
    );
    feed.edit(&format!("listen = \"{address}\""), "listen = \"0.0.0.0:0\"");
    let refused = feed.command(["run"]).code(2);
    assert!(refused.err.contains("set http.token_file"), "{}", refused.err);
    feed.edit("listen = \"0.0.0.0:0\"", "listen = \"0.0.0.0:0\"\ntoken_file = \"token\"");
    let refused = feed.command(["run"]).code(2);
    assert!(refused.err.contains("http.token_file"), "{}", refused.err);
    fs::write(feed.path("city/token"), "short").unwrap();
    let refused = feed.command(["run"]).code(2);
    assert!(refused.err.contains("at least 16 letters"), "{}", refused.err);
}

#[test]
fn only_what_the_officer_signed_is_released() {
    let feed = Feed::history("127.0.0.1:1", 200);
    let statement = feed.command(["check", "--statement"]).code(0).out;
    for words in ["epsilon = 1.0", "the budget ends on 2016-02-1", "What is not protected"] {
        assert!(statement.contains(words), "{words:?} is not in\n{statement}");
    }
    let digest = statement.lines().last().unwrap().rsplit(' ').next().unwrap().to_owned();
    feed.append(&format!("[release]\napproved = \"{digest}\"\n"));
    feed.sanitized();
    feed.edit("epsilon = \"1.0\"", "epsilon = \"2.0\"");
    let (taps, out) = (feed.taps(), feed.path("refused"));
    let arguments = ["sanitize", "--taps", taps.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let refused = feed.command(arguments).code(2);
    assert!(refused.err.contains("has not signed it"), "{}", refused.err);
    assert!(!out.exists(), "nothing was written");
    let refused = feed.command(["run"]).code(2);
    assert!(refused.err.contains("has not signed it"), "{}", refused.err);
}
