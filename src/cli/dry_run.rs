//! `tapveil sanitize --dry-run`: what would happen. Exact numbers, for the operator alone.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::failure::say;
use super::progress::Progress;
use super::{COMMIT, Failure, JSON_FORMAT, VERSION};
use crate::config::Settings;
use crate::engine::Figure;
use crate::ingest::Taps;
use crate::ledger::{Edition, Would};
use crate::metrics::Board;
use crate::model::Span;
use crate::pipeline::{DryRun, Job, Planned, dry_run};

/// So many unknown stations are shown.
const STATIONS_SHOWN: usize = 30;

pub(super) fn run(
    settings: &Settings,
    taps: &Taps,
    out: &Path,
    span: Option<Span>,
    is_json: bool,
) -> Result<ExitCode, Failure> {
    if taps.are_read_once() {
        let what =
            "a dry run reads the taps twice, and standard input can be read once: name a file";
        return Err(Failure::usage(what.to_owned()));
    }
    let progress = Progress::new(taps.bytes(), "bytes", is_json);
    let (board, edition) = (Board::default(), Edition::First);
    let job = Job { settings, taps, out, span, edition, version: VERSION, commit: COMMIT };
    let found = progress.follow(&board, || dry_run(&job, &board));
    progress.finish();
    let found = found?;
    match is_json {
        true => say(&as_json(&found).to_string()),
        false => say_found(&found),
    }
    let is_refused = |planned: &Planned| matches!(planned.would, Would::BeRefused(_));
    let fails = found.stop.is_some() || found.windows.iter().any(is_refused);
    Ok(ExitCode::from(u8::from(fails)))
}

fn in_words(would: &Would) -> String {
    match would {
        Would::Pay(cost) if cost.is_differential() => {
            format!("would be released for epsilon {}", cost.epsilon())
        }
        Would::Pay(_) => "would be released, by suppression".to_owned(),
        Would::BeFree => "is released already: the same again, at no cost".to_owned(),
        Would::BeRefused(refusal) => format!("would be withheld: {refusal}"),
    }
}

fn say_found(found: &DryRun) {
    say("a dry run: nothing is booked, nothing is written. Exact numbers, for the operator alone");
    let counts = &found.counts;
    say(&format!("{} taps would count, {} records would not", counts.taps, counts.n_rejects()));
    for (reason, n) in counts.rejects().filter(|(_, n)| *n > 0) {
        say(&format!("  {n:>9} {:<16} {}", reason.label(), reason.in_words()));
        for example in found.survey.examples.get(&reason).into_iter().flatten() {
            let shown = example.shown.as_deref().map(|text| format!(": {text:?}"));
            let (file, line) = (&example.file, example.line);
            say(&format!("            {file}, line {line}{}", shown.unwrap_or_default()));
        }
    }
    if !found.survey.unknown_stations.is_empty() {
        say("stations that the list does not have, by how many records name them:");
    }
    for (station, n) in found.survey.unknown_stations.iter().take(STATIONS_SHOWN) {
        say(&format!("  {n:>9} {station:?}"));
    }
    for Planned { window, n_cards, would, forecast } in &found.windows {
        say(&format!("{window}: {n_cards} cards; {}", in_words(would)));
        let figures = forecast.expected_error.iter().flat_map(|error| &error.figures);
        for Figure { value, about, .. } in figures {
            say(&format!("  expect {value:.1} {about}"));
        }
    }
    if let Some(stop) = &found.stop {
        say(&format!("it would stop before anything is booked: {stop}"));
    }
}

fn as_json(found: &DryRun) -> Value {
    let rejects: serde_json::Map<String, Value> = found
        .counts
        .rejects()
        .map(|(reason, n)| {
            let examples: Vec<Value> = found
                .survey
                .examples
                .get(&reason)
                .into_iter()
                .flatten()
                .map(|example| {
                    json!({ "file": example.file, "line": example.line, "shown": example.shown })
                })
                .collect();
            (reason.label().to_owned(), json!({ "records": n, "examples": examples }))
        })
        .collect();
    let windows: Vec<Value> = found
        .windows
        .iter()
        .map(|planned| {
            let outcome = match &planned.would {
                Would::Pay(_) => "released",
                Would::BeFree => "same",
                Would::BeRefused(_) => "withheld",
            };
            json!({
                "window": planned.window, "cards": planned.n_cards, "outcome": outcome,
                "message": in_words(&planned.would), "expected_error": planned.forecast.expected_error,
            })
        })
        .collect();
    let stations: Vec<Value> = found
        .survey
        .unknown_stations
        .iter()
        .map(|(station, n)| json!({ "station": station, "records": n }))
        .collect();
    json!({
        "format": JSON_FORMAT, "dry_run": true, "stop": found.stop.as_ref().map(ToString::to_string),
        "windows": windows,
        "operator_only": {
            "taps": found.counts.taps, "rejects": rejects, "unknown_stations": stations,
        },
    })
}
