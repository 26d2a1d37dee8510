//! A feed on a real broker and the service as child processes, for the tests of `run`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tapveil::ledger::Journal;
use tapveil::secret::Secret;
use tempfile::TempDir;

use crate::broker::unique;
use crate::support::{Run, name_every_key_of_safepath, program, run};

/// A generated city whose configuration names topics of its own on a broker.
pub(crate) struct Feed {
    dir: TempDir,
    /// The prefix of all its topics, and its group.
    pub(crate) name: String,
    brokers: String,
}

impl Feed {
    /// A week of so many cards in daily windows, closed by watermark; `flush` every half second.
    pub(crate) fn history(brokers: &str, cards: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let city = dir.path().join("city");
        let (cards, out) = (cards.to_string(), city.to_str().unwrap());
        run(["generate", "--preset", "metro", "--cards", &cards, "--out", out]).code(0);
        name_every_key_of_safepath(&city.join("tapveil.toml"));
        let feed = Self { dir, name: unique("feed"), brokers: brokers.to_owned() };
        feed.edit("length = \"7d\"", "length = \"1d\"\nclose = \"watermark\"");
        feed.edit("cap = \"7.0\"", "cap = \"100.0\"");
        let name = &feed.name;
        feed.append(&format!(
            "\n[kafka]\nbrokers = \"{brokers}\"\ngroup = \"{name}\"\nflush = \"500s\"\n\
             topics = {{ taps = \"{name}.taps\", segments = \"{name}.segments\", ledger = \"{name}.ledger\", \
             releases = \"{name}.releases\", rejects = \"{name}.rejects\" }}\n\
             [http]\nlisten = \"127.0.0.1:0\"\n"
        ));
        feed.edit("flush = \"500s\"", "flush = \"1s\"");
        feed
    }

    pub(crate) fn brokers(&self) -> &str {
        &self.brokers
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("city/tapveil.toml")
    }

    pub(crate) fn taps(&self) -> PathBuf {
        self.path("city/taps.csv")
    }

    /// Replaces text in the configuration; insists that it was there.
    #[track_caller]
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.config()).unwrap();
        assert!(text.contains(from), "{from:?} is not in the configuration");
        fs::write(self.config(), text.replace(from, to)).unwrap();
    }

    pub(crate) fn append(&self, more: &str) {
        let text = fs::read_to_string(self.config()).unwrap();
        fs::write(self.config(), text + more).unwrap();
    }

    /// Runs a command with this feed's configuration.
    pub(crate) fn command<const N: usize>(&self, arguments: [&str; N]) -> Run {
        let config = self.config();
        let with = ["-c", config.to_str().unwrap()];
        run(arguments.iter().chain(with.iter()))
    }

    /// Plays the city's taps into the topic, in order of time: progress of time is what closes windows.
    pub(crate) fn replay(&self) {
        let taps = self.taps();
        self.command(["replay", "--by-time", "--taps", taps.to_str().unwrap()]).code(0);
    }

    /// The service's ledger.
    pub(crate) fn ledger(&self) -> Value {
        self.command(["ledger", "show", "--topic", "--json"]).code(0).json()
    }

    /// Starts a worker; its words go to a file.
    pub(crate) fn worker(&self, role: &str, crash_at: Option<&str>) -> Worker {
        let crash = crash_at.map(|point| ("TAPVEIL_CRASH_AT", point));
        self.worker_with(role, &self.config(), crash)
    }

    /// The same with another configuration.
    pub(crate) fn worker_of(&self, config: &Path, role: &str, crash_at: Option<&str>) -> Worker {
        self.worker_with(role, config, crash_at.map(|point| ("TAPVEIL_CRASH_AT", point)))
    }

    /// Starts a worker with a configuration and a variable of its environment.
    pub(crate) fn worker_with(
        &self,
        role: &str,
        config: &Path,
        variable: Option<(&str, &str)>,
    ) -> Worker {
        let log = self.path(&unique("worker.log"));
        let mut command = program();
        command.args(["run", "--role", role, "-c"]).arg(config);
        command.envs(variable);
        let out = File::create(&log).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .unwrap();
        Worker { child, log }
    }

    /// The configuration of the same feed without Kafka, in a directory with its own copy of the secret and an empty
    /// ledger: what this feed would be if it were never live.
    pub(crate) fn apart(&self, name: &str) -> PathBuf {
        let dir = self.path(name);
        fs::create_dir(&dir).unwrap();
        for file in ["tapveil.secret", "stations.csv"] {
            fs::copy(self.path("city").join(file), dir.join(file)).unwrap();
        }
        let secret = Secret::from_bytes(&fs::read(dir.join("tapveil.secret")).unwrap()).unwrap();
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        Journal::create(&dir.join("tapveil.ledger"), &secret.ledger_key(), now).unwrap();
        let text = fs::read_to_string(self.config()).unwrap();
        let mut is_kept = true;
        let kept = text.lines().filter(|line| {
            is_kept = if line.starts_with('[') { !line.starts_with("[kafka") } else { is_kept };
            is_kept
        });
        let config = dir.join("tapveil.toml");
        fs::write(&config, kept.collect::<Vec<_>>().join("\n")).unwrap();
        config
    }

    /// What `sanitize` makes of the same taps, with a ledger of its own: paths.csv by window.
    pub(crate) fn sanitized(&self) -> PathBuf {
        let out = self.path("sanitized");
        let (taps, config) = (self.taps(), self.apart("plain"));
        let (taps, config) = (taps.to_str().unwrap(), config.to_str().unwrap());
        run(["sanitize", "--taps", taps, "--config", config, "--out", out.to_str().unwrap()])
            .code(0);
        out
    }

    /// The batch MACs that `sanitize` booked, by window number: what the service must book too.
    pub(crate) fn sanitized_batches(&self) -> Vec<(i64, String)> {
        let config = self.path("plain/tapveil.toml");
        batches(&run(["ledger", "show", "--json", "-c", config.to_str().unwrap()]).code(0).json())
    }

    /// Rebuilds the releases from the topic.
    pub(crate) fn export(&self) -> PathBuf {
        let out = self.path(&unique("exported"));
        self.command(["export", "--out", out.to_str().unwrap()]).code(0);
        out
    }
}

/// Window numbers with their batch MACs, in order of windows.
pub(crate) fn batches(ledger: &Value) -> Vec<(i64, String)> {
    let mut found: Vec<(i64, String)> = ledger["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (entry["window"].as_i64().unwrap(), entry["batch_mac"].as_str().unwrap().to_owned())
        })
        .collect();
    found.sort();
    found
}

/// Insists that the exported rows are the sanitized ones, byte for byte, window by window.
#[track_caller]
pub(crate) fn assert_same_paths(exported: &Path, sanitized: &Path) {
    let mut n = 0;
    for entry in fs::read_dir(sanitized).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            let mine = fs::read(entry.path().join("paths.csv")).unwrap();
            let theirs = fs::read(exported.join(entry.file_name()).join("paths.csv")).unwrap();
            assert!(mine == theirs, "{} differs", entry.file_name().display());
            n += 1;
        }
    }
    assert!(n > 0, "there are releases to compare");
}

/// A worker process. Killed when it is dropped.
pub(crate) struct Worker {
    pub(crate) child: Child,
    log: PathBuf,
}

impl Worker {
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it has said something.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str, at_most: Duration) {
        let began = Instant::now();
        while !self.said().contains(text) {
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "it ended ({ended:?}) before {text:?}; it said:\n{}",
                self.said()
            );
            assert!(
                began.elapsed() < at_most,
                "no {text:?} in {at_most:?}; it said:\n{}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until it has said something, or has ended before: then `false`.
    #[track_caller]
    pub(crate) fn comes_to(&mut self, text: &str, at_most: Duration) -> bool {
        let began = Instant::now();
        while !self.said().contains(text) {
            if self.child.try_wait().unwrap().is_some() {
                return self.said().contains(text);
            }
            let said = self.said();
            assert!(began.elapsed() < at_most, "no {text:?} in {at_most:?}; it said:\n{said}");
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Waits a moment; gives its exit code if it has ended by itself.
    pub(crate) fn wait_a_moment(&mut self) -> Option<i32> {
        std::thread::sleep(Duration::from_millis(100));
        self.child.try_wait().unwrap().and_then(|status| status.code())
    }

    /// Waits until it ends by itself; gives its exit code, `None` for a signal.
    #[track_caller]
    pub(crate) fn wait(&mut self, at_most: Duration) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(
                began.elapsed() < at_most,
                "still running after {at_most:?}; it said:\n{}",
                self.said()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends a signal by name: INT, TERM, STOP, CONT, KILL.
    pub(crate) fn signal(&self, name: &str) {
        let status = std::process::Command::new("kill")
            .args([format!("-{name}"), self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success(), "kill -{name}");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
