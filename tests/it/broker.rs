//! One real broker for all tests of this binary.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
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
    let (child, bootstrap) = run_local(&[]).unzip();
    Broker { bootstrap: bootstrap.flatten(), _local: child }
}

/// Runs `deploy/kafka/local run` until this process ends; the address is missing if it could not start.
fn run_local(options: &[&str]) -> Option<(Child, Option<String>)> {
    let mut child = Command::new(local())
        .args(["run", "--with-parent"])
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let bootstrap = child.stdout.take().and_then(|out| {
        BufReader::new(out)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("bootstrap=").map(str::to_owned))
    });
    Some((child, bootstrap))
}

fn local() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/kafka/local")
}

/// Brokers of one test alone, which may break them. They end with it.
pub(crate) struct Own {
    child: Child,
    /// Where everything of theirs is.
    pub(crate) dir: PathBuf,
    /// Their address.
    pub(crate) bootstrap: String,
}

impl Own {
    /// Starts them, with options of `deploy/kafka/local`. Without Java or the jars the caller returns at once, as
    /// with [`bootstrap`].
    pub(crate) fn start(options: &[&str]) -> Option<Self> {
        if std::env::var("TAPVEIL_TEST_BROKERS").is_err() {
            bootstrap()?;
        }
        let dir = std::env::temp_dir().join(unique("tapveil-test"));
        let with_dir: Vec<&str> = options.iter().copied().chain(["--dir", dir.to_str()?]).collect();
        let (child, bootstrap) = run_local(&with_dir)?;
        let bootstrap = bootstrap.expect("what starts once starts again");
        Some(Self { child, dir, bootstrap })
    }

    /// Runs `deploy/kafka/local` on them; gives what it printed.
    #[track_caller]
    pub(crate) fn local(&self, command: &[&str], more: &[&str]) -> String {
        let done = Command::new(local())
            .args(command)
            .args(["--dir", self.dir.to_str().unwrap()])
            .args(more)
            .output()
            .unwrap();
        assert!(done.status.success(), "{command:?} {more:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // Asked to end, it ends its brokers and removes their data.
        Command::new("kill").arg(self.child.id().to_string()).status().ok();
        self.child.wait().ok();
    }
}

/// Whether the tests shall take long: `tests/all --long`, or `TAPVEIL_LONG=1`.
pub(crate) fn is_long() -> bool {
    std::env::var("TAPVEIL_LONG").as_deref() == Ok("1")
}

/// A name that no other test and no other run uses.
pub(crate) fn unique(what: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let moment = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros();
    format!("{what}-{}-{moment}-{number}", std::process::id())
}
