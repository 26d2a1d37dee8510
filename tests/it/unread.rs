//! Results and remarks that cannot be written: a full disk is a failure, a reader that went away is none, and neither
//! of them changes what the work comes to.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::process::{Command, Stdio};

use crate::support::{City, program, releases, run};

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// A pipe whose reader has gone.
fn closed() -> std::io::PipeWriter {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer
}

fn code(command: &mut Command) -> Option<i32> {
    let ended = command.stdin(Stdio::null()).output().unwrap();
    assert!(!String::from_utf8_lossy(&ended.stderr).contains("panicked"), "{ended:?}");
    ended.status.code()
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    for words in [&["config", "--default"][..], &["--help"], &["--version"], &["verify", "--help"]]
    {
        let done = program().args(words).stdout(full()).output().unwrap();
        assert_eq!(done.status.code(), Some(3), "{words:?}");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(said.contains("cannot write the result"), "{words:?}: {said}");
    }
}

/// A bad release used to count as good when the reader of the findings had gone.
#[test]
fn whoever_stops_reading_changes_neither_the_work_nor_its_exit_code() {
    let city = City::new();
    let mut check = program();
    check.arg("check").arg("-c").arg(city.config());
    assert_eq!(code(check.stdout(closed())), Some(0));
    for range in ["out", "bad"] {
        let out = city.path(range);
        let mut sanitize = program();
        sanitize.args(["sanitize", "--taps"]).arg(city.path("taps.csv")).arg("--config");
        sanitize.arg(city.config()).arg("--out").arg(&out);
        assert_eq!(code(sanitize.stdout(closed())), Some(0));
        assert!(out.join("catalog.json").exists(), "the work was finished");
    }
    let bad = city.path("bad");
    let paths = bad.join(&releases(&bad)[0]).join("paths.csv");
    let rows = fs::read_to_string(&paths).unwrap();
    fs::write(&paths, rows + "9,L1-01\n").unwrap();
    let verify = |dir: &str| code(program().arg("verify").arg(city.path(dir)).stdout(closed()));
    assert_eq!((verify("out"), verify("bad")), (Some(0), Some(1)));
}

/// Remarks are not the result. The service used to end with a panic when nobody took its log any more.
#[test]
fn remarks_that_cannot_be_written_end_nothing() {
    let city = City::new();
    let text = fs::read_to_string(city.config()).unwrap();
    let live = city.path("live.toml");
    let kafka = "\n[kafka]\nbrokers = \"127.0.0.1:1\"\nconnect_timeout = \"2s\"\n[http]\nlisten = \"127.0.0.1:0\"\n";
    let nowhere = city.path("nowhere");
    for format in ["text", "json"] {
        fs::write(&live, format!("{text}{kafka}[log]\nformat = \"{format}\"\n")).unwrap();
        for listener in [Stdio::from(full()), Stdio::from(closed())] {
            let mut service = program();
            service.arg("run").arg("-c").arg(&live).stderr(listener);
            assert_eq!(code(&mut service), Some(3), "no broker is there");
        }
    }
    let usual = run([OsStr::new("verify"), nowhere.as_os_str()]).code;
    assert_eq!(code(program().arg("verify").arg(&nowhere).stderr(full())), Some(usual));
    let mut sanitize = program();
    sanitize.args(["sanitize", "--taps"]).arg(city.path("taps.csv")).arg("--config");
    sanitize.arg(city.config()).arg("--out").arg(city.path("out"));
    assert_eq!(code(sanitize.stderr(full())), Some(0));
}
