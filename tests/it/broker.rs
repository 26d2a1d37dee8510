//! One real broker for all tests of this binary.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

struct Broker {
    bootstrap: Option<String>,
    /// Ends by itself when this process does; held so that it is not reaped before.
    _local: Option<Child>,
}

/// The address of a broker: the one in `TAPVEIL_TEST_BROKERS`, or a local one that ends with this process. Without
/// one the caller returns at once; a line that begins with SKIPPED is printed for it.
///
/// # Panics
/// If there is none and `TAPVEIL_REQUIRE_KAFKA=1`.
pub(crate) fn bootstrap() -> Option<String> {
    static BROKER: OnceLock<Broker> = OnceLock::new();
    let broker = BROKER.get_or_init(|| match std::env::var("TAPVEIL_TEST_BROKERS") {
        Ok(given) if !given.is_empty() => Broker { bootstrap: Some(given), _local: None },
        _ => start(),
    });
    if broker.bootstrap.is_none() {
        assert!(
            std::env::var("TAPVEIL_REQUIRE_KAFKA").as_deref() != Ok("1"),
            "TAPVEIL_REQUIRE_KAFKA=1, but no Kafka broker could be started"
        );
        // The harness's own capture would hide this from whoever counts skipped tests.
        std::io::stderr().write_all(b"SKIPPED a test that needs a Kafka broker\n").unwrap();
    }
    broker.bootstrap.clone()
}

fn start() -> Broker {
    let local = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/kafka/local");
    let started = Command::new(local)
        .args(["run", "--with-parent"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else { return Broker { bootstrap: None, _local: None } };
    let bootstrap = child.stdout.take().and_then(|out| {
        BufReader::new(out)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("bootstrap=").map(str::to_owned))
    });
    Broker { bootstrap, _local: Some(child) }
}

/// A name that no other test and no other run uses.
pub(crate) fn unique(what: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let moment = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros();
    format!("{what}-{}-{moment}-{number}", std::process::id())
}
