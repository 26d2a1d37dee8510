//! Changes inputs a little, again and again, until the time is over.

use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tapveil::config::{self, Settings};
use tempfile::TempDir;

const SEED: u64 = 20_151_109;
/// Readers that are tried: they share the time.
const N_READERS: u64 = 13;
/// However slow a reader is: so many inputs are tried.
const LEAST: u64 = 100;
/// A reader that takes longer for one small input hangs.
const LONGEST: Duration = Duration::from_secs(20);
/// Pieces that readers look for: numbers at the edge, quotes, separators, versions.
const PIECES: [&str; 22] = [
    "\"",
    "{",
    "}",
    "[",
    ",",
    "\n",
    "\\u0000",
    "-1",
    "9223372036854775807",
    "18446744073709551616",
    "1e999",
    "null",
    "format",
    "tapveil2",
    ">",
    "\u{feff}",
    "\0",
    "=",
    "\u{1b}[2J",
    "../",
    "\r\n",
    "\u{7f}\u{7f}\u{7f}\u{7f}",
];

/// Two at a time, whatever the number of test threads: they share the machine with others.
static TURNS: [Mutex<()>; 2] = [Mutex::new(()), Mutex::new(())];

/// The turn that is free, or the second one when it is.
fn turn() -> MutexGuard<'static, ()> {
    let waited = || TURNS[1].lock().unwrap_or_else(PoisonError::into_inner);
    TURNS[0].try_lock().unwrap_or_else(|_| waited())
}

/// An input as a reader gets it.
pub(crate) struct Input<'a> {
    /// The file of the corpus that it was made from.
    pub(crate) name: &'a str,
    /// That file as it is.
    pub(crate) whole: &'a [u8],
    pub(crate) bytes: Vec<u8>,
}

/// The files of a folder of the corpus, in order of their names.
pub(crate) fn corpus(reader: &str) -> Vec<(String, Vec<u8>)> {
    folder(&root().join("tests/fuzz/corpus").join(reader))
}

/// The files of any folder.
pub(crate) fn folder(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(path)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{}: a corpus", path.display());
    files
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Tries a reader on every file as it is, and then on changed ones until the time is over.
pub(crate) fn fuzz(reader: &str, corpus: &[(String, Vec<u8>)], mut read: impl FnMut(&Input<'_>)) {
    let _turn = turn();
    let seed = number("TAPVEIL_SEED").unwrap_or(SEED);
    let usual = if number("TAPVEIL_LONG") == Some(1) { 600 } else { 60 / N_READERS };
    let time = Duration::from_secs(number("TAPVEIL_FUZZ_SECS").unwrap_or(usual));
    let mut random = StdRng::seed_from_u64(seed ^ reader.bytes().map(u64::from).sum::<u64>());
    let began = Instant::now();
    let mut n: u64 = 0;
    for (name, whole) in corpus {
        try_one(reader, seed, n, &Input { name, whole, bytes: whole.clone() }, &mut read);
        n += 1;
    }
    while n < LEAST || began.elapsed() < time {
        let (name, whole) = &corpus[random.random_range(0..corpus.len())];
        let other = &corpus[random.random_range(0..corpus.len())].1;
        let bytes = change(&mut random, whole, other);
        try_one(reader, seed, n, &Input { name, whole, bytes }, &mut read);
        n += 1;
    }
    // The harness's own capture would hide this from whoever counts.
    let secs = began.elapsed().as_secs_f64();
    let files = corpus.len();
    let line = format!(
        "fuzz {reader}: {n} inputs of {files} files in {secs:.1} s, seed {seed}, 0 findings\n"
    );
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Whatever goes wrong is kept before it is reported.
fn try_one(reader: &str, seed: u64, n: u64, input: &Input<'_>, read: &mut impl FnMut(&Input<'_>)) {
    let began = Instant::now();
    let tried = catch_unwind(AssertUnwindSafe(|| {
        read(input);
        assert!(began.elapsed() < LONGEST, "it took {:?}", began.elapsed());
    }));
    if let Err(panic) = tried {
        let kept = root().join("target/fuzz");
        fs::create_dir_all(&kept).unwrap();
        let path = kept.join(format!("{reader}-{n}-{}", input.name));
        fs::write(&path, &input.bytes).unwrap();
        let line =
            format!("fuzz {reader}: FINDING at input {n}, seed {seed}: {}\n", path.display());
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        resume_unwind(panic);
    }
}

/// One to four small changes; now and then a piece of another file.
fn change(random: &mut StdRng, whole: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..random.random_range(1..=4) {
        let at = random.random_range(0..=bytes.len());
        let end = (at + random.random_range(0..32)).min(bytes.len());
        let piece = PIECES[random.random_range(0..PIECES.len())].as_bytes();
        match random.random_range(0..8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            3 => drop(bytes.splice(at..at, piece.iter().copied())),
            4 => bytes.truncate(at),
            5 => {
                let from = random.random_range(0..=other.len());
                let to = (from + random.random_range(0..64)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            6 if at < bytes.len() => {
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.random_range(0..5)]
            }
            _ => drop(bytes.splice(at..end, piece.iter().copied())),
        }
    }
    bytes
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// A small generated city, made once; its folder and its settings.
pub(crate) fn city() -> &'static (PathBuf, Settings) {
    static CITY: OnceLock<(TempDir, (PathBuf, Settings))> = OnceLock::new();
    let (_, city) = CITY.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("city");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tapveil"));
        command.args(["generate", "--preset", "metro", "--cards", "20", "--out"]).arg(&at);
        assert!(command.output().unwrap().status.success());
        let settings = config::load(&at.join("tapveil.toml")).unwrap();
        (dir, (at, settings))
    });
    city
}
