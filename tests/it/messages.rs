//! Every page of words that a user sees, as a snapshot: a stray blank, a riddle or a lost sentence shows in the diff.
//! After an intended change: `INSTA_UPDATE=always cargo test … messages`, then read the diff.

use std::fs;

use tapveil::config;
use tapveil::model::{Reject, Window};
use tapveil::pipeline::Event;

use crate::support::{City, Run, run};

/// Text without what differs from run to run.
fn plain(text: &str, city: Option<&City>) -> String {
    let mut text = text.to_owned();
    if let Some(city) = city {
        let dir = city.path("");
        text = text.replace(dir.to_str().unwrap(), "CITY/");
    }
    let is_hex = |word: &str| word.len() >= 12 && word.chars().all(|c| c.is_ascii_hexdigit());
    let mut plain = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() {
            word.push(c);
            continue;
        }
        plain.push_str(if is_hex(&word) { "HEX" } else { &word });
        word.clear();
        plain.push(c);
    }
    // How many rows there are follows from the noise, which follows from a fresh secret.
    let words: Vec<&str> = plain.trim_end().split(' ').collect();
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    let is_rows = |at: usize| {
        is_number(words[at]) && words.get(at + 1).is_some_and(|next| next.starts_with("rows"))
    };
    let masked = words.iter().enumerate().map(|(at, word)| if is_rows(at) { "N" } else { word });
    masked.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn shows(name: &str, text: &str) {
    // Help and tables are set in columns; sentences are not.
    let is_stray = |line: &&str| line.starts_with("tapveil: ") && line.contains("   ");
    let stray = text.lines().find(is_stray);
    assert!(stray.is_none(), "blanks inside a message: {stray:?}");
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

fn said(run: &Run, city: &City) -> String {
    plain(&format!("{}{}", run.out, run.err), Some(city))
}

#[test]
fn the_help_of_every_command() {
    let overview = run(["--help"]).code(0).out;
    shows("help", &plain(&overview, None));
    let commands = overview.split("Commands:").nth(1).unwrap();
    let commands = commands.lines().skip(1).map_while(|line| line.strip_prefix("  "));
    let mut n_commands = 0;
    for command in
        commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
    {
        shows(&format!("help_{command}"), &plain(&run([command, "--help"]).code(0).out, None));
        n_commands += 1;
    }
    assert!(n_commands >= 12, "{n_commands}");
}

#[test]
fn check_statement_sanitize_verify_and_ledger() {
    let city = City::new();
    let config = city.config();
    let config = config.to_str().unwrap();
    shows("check", &said(&run(["check", "-c", config]).code(0), &city));
    shows("statement", &said(&run(["check", "--statement", "-c", config]).code(0), &city));
    shows("sanitize", &said(&city.sanitize("out", &[]).code(0), &city));
    shows("sanitize_again", &said(&city.sanitize("out", &[]).code(0), &city));
    shows("verify", &said(&city.verify("out").code(0), &city));
    let shown = said(&run(["ledger", "show", "-c", config]).code(0), &city);
    // The day on which it was made.
    let shown: Vec<&str> = shown.lines().filter(|line| !line.contains("made")).collect();
    shows("ledger_show", &shown.join("\n"));
    shows("ledger_verify", &said(&run(["ledger", "verify", "-c", config]).code(0), &city));
}

#[test]
fn refusals_and_complaints() {
    let city = City::new();
    city.sanitize("out", &[]).code(0);
    city.edit("epsilon = \"20.0\"", "epsilon = \"19.0\"");
    shows("refused", &said(&city.sanitize("out2", &[]).code(1), &city));
    city.edit("epsilon = \"19.0\"", "epsilon = 19.0\nheigth = 3");
    city.edit("slot = \"1d\"", "slot = \"7h\"");
    city.edit("[engine.safepath]", "[engine.safepat]");
    shows(
        "complaints",
        &said(&run(["check", "-c", city.config().to_str().unwrap()]).code(2), &city),
    );
    fs::write(city.path("bad.csv"), "a,b\n1,2\n").unwrap();
    let other = City::new();
    fs::write(other.path("bad.csv"), "a,b\n1,2\n").unwrap();
    shows("no_columns", &said(&other.sanitize_file("bad.csv", "out", &[]).code(2), &other));
    let nothing = other.path("nothing");
    shows("nothing_to_verify", &said(&run(["verify", nothing.to_str().unwrap()]).code(2), &other));
}

#[test]
fn reasons_of_rejects_and_events_of_the_log() {
    let reasons: Vec<String> = Reject::ALL
        .iter()
        .map(|reason| format!("{}: {}", reason.label(), reason.in_words()))
        .collect();
    shows("reject_reasons", &reasons.join("\n"));
    let city = City::new();
    let max_rejects = config::load(&city.config()).unwrap().feed.max_rejects;
    let events = [
        Event::WaitingForLedger,
        Event::MostTapsLate,
        Event::Unusable { limit: max_rejects, mostly: Reject::UnknownStation },
        Event::UsableAgain,
        Event::LedgerUnread("no broker answered".to_owned()),
        Event::Active,
        Event::StandingBy,
        Event::JoiningAgain("another worker has taken over".to_owned()),
        Event::VerifyFailed,
        Event::SegmentsKept("the broker said no".to_owned()),
        Event::RangeDone,
    ];
    let lines: Vec<String> =
        events.iter().map(|event| format!("{}: {event}", event.name())).collect();
    shows("events", &lines.join("\n"));
    assert!(events.iter().all(|event| event.window().map(Window::id).is_none()));
}
