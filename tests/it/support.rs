//! A city to work on, and the program as a child process.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tapveil"))
}

/// What a run said and how it ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().expect("nobody killed it"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Insists on an exit code.
    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Self {
        assert_eq!(self.code, expected, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).expect("the output is JSON")
    }

    /// The lines in which the program says what is wrong.
    pub(crate) fn complaints(&self) -> Vec<&str> {
        self.err.lines().filter(|line| line.starts_with("tapveil: ")).collect()
    }
}

pub(crate) fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    Run::of(program().args(arguments).output().unwrap())
}

/// A generated city with its configuration, secret and ledger.
pub(crate) struct City {
    dir: TempDir,
}

/// Few slots and a large epsilon, so that three thousand cards show rows.
const SHOWS_ROWS: [(&str, &str); 4] = [
    ("slot = \"1h\"", "slot = \"1d\""),
    ("epsilon = \"1.0\"", "epsilon = \"20.0\""),
    ("lifetime = \"100.0\"", "lifetime = \"1000.0\""),
    ("cap = \"7.0\"", "cap = \"1000.0\""),
];

/// The engine of most tests: one whose rows are few and counted by hand.
const ENGINE: &str = r#"[engine]
name = "safepath"
epsilon = "1.0"

[engine.safepath]
height = 4
threshold = "own-noise"
# Every taxonomy level gets the same share; "paper" starves the time taxonomy at 168 slots.
allocation = "even"

[engine.safepath.taxonomy]
locations = { fanout = 2, height = 3 }
times = { fanout = 2, height = 3 }

"#;

/// Replaces the engine of a generated configuration by [`ENGINE`].
pub(crate) fn name_every_key_of_safepath(config: &Path) {
    let text = fs::read_to_string(config).unwrap();
    let (before, rest) = text.split_once("[engine]\n").unwrap();
    let (_, after) = rest.split_once("[budget]\n").unwrap();
    fs::write(config, format!("{before}{ENGINE}[budget]\n{after}")).unwrap();
}

impl City {
    /// A week of three thousand cards, as one window that shows rows.
    pub(crate) fn new() -> Self {
        let city = Self::generated(3_000);
        for (from, to) in SHOWS_ROWS {
            city.edit(from, to);
        }
        city
    }

    /// A week of so many cards, as generated.
    pub(crate) fn generated(cards: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cards = cards.to_string();
        let at = dir.path().join("city");
        let made = program()
            .args([
                "generate", "--preset", "metro", "--engine", "safepath", "--seed", "7", "--cards",
                &cards, "--out",
            ])
            .arg(&at)
            .output();
        Run::of(made.unwrap()).code(0);
        let city = Self { dir };
        name_every_key_of_safepath(&city.config());
        city
    }

    /// A file of the city, or beside it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("city").join(name)
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("tapveil.toml")
    }

    pub(crate) fn ledger(&self) -> Vec<u8> {
        fs::read(self.path("tapveil.ledger")).unwrap()
    }

    /// Changes the configuration.
    #[track_caller]
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.config()).unwrap();
        assert!(text.contains(from), "{from} is in the configuration");
        fs::write(self.config(), text.replace(from, to)).unwrap();
    }

    /// Takes the range of windows out of the configuration.
    pub(crate) fn forget_range(&self) {
        self.edit("from = \"2015-11-09\"\n", "");
        self.edit("to = \"2015-11-16\"\n", "");
    }

    pub(crate) fn sanitize(&self, out: &str, more: &[&str]) -> Run {
        self.sanitize_file("taps.csv", out, more)
    }

    pub(crate) fn sanitize_file(&self, taps: &str, out: &str, more: &[&str]) -> Run {
        let mut command = program();
        command.arg("sanitize").arg("--taps").arg(self.path(taps));
        command.arg("--config").arg(self.config()).arg("--out").arg(self.path(out)).args(more);
        Run::of(command.output().unwrap())
    }

    /// Releases into a directory that is not the city's.
    pub(crate) fn sanitize_into(&self, out: &Path) -> Run {
        let mut command = program();
        command.arg("sanitize").arg("--taps").arg(self.path("taps.csv"));
        command.arg("--config").arg(self.config()).arg("--out").arg(out);
        Run::of(command.arg("--json").output().unwrap())
    }

    pub(crate) fn verify(&self, out: &str) -> Run {
        run([OsStr::new("verify"), self.path(out).as_os_str()])
    }

    /// `ledger show --json`, which must succeed.
    pub(crate) fn booked(&self) -> Value {
        let show = ["ledger", "show", "--json", "--config"].map(OsStr::new);
        run(show.into_iter().chain([self.config().as_os_str()])).code(0).json()
    }

    pub(crate) fn spent_micro(&self) -> u64 {
        self.booked()["spent_micro"].as_u64().unwrap()
    }
}

/// Says loudly that a case was not tried: past the harness, which shows nothing of a test that passes.
pub(crate) fn skipped(what: &str) {
    io::stderr().write_all(format!("\nSKIPPED: {what}\n").as_bytes()).unwrap();
}

/// Every file below a directory with its bytes; directories have none.
pub(crate) fn tree(dir: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(next) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(dir).unwrap().to_owned();
            if path.is_dir() {
                found.insert(name, None);
                waiting.push(path);
            } else {
                found.insert(name, Some(fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// The names of the release directories.
pub(crate) fn releases(out: &Path) -> Vec<String> {
    let mut names: Vec<String> = tree(out)
        .into_iter()
        .filter(|(path, bytes)| bytes.is_none() && path.components().count() == 1)
        .map(|(path, _)| path.to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

/// Insists that two directories hold the same, and says where they do not.
#[track_caller]
pub(crate) fn assert_same_tree(one: &Path, other: &Path) {
    let (one, other) = (tree(one), tree(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (path, bytes) in &one {
        assert!(*bytes == other[path], "{} differs", path.display());
    }
}
