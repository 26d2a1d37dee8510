//! `tapveil check --sample`: a configuration tried on real records, one by one. For the operator alone.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::failure::say;
use super::{Failure, JSON_FORMAT};
use crate::config::Settings;
use crate::ingest::{Sampled, SampledTap, Taps, sample};
use crate::model::{Counts, Reject, TapKind};

/// So many records are looked at.
const MOST: usize = 1_000;
const PRIVATE: &str = "PRIVATE: made from raw taps, for the operator alone. Cards are never shown";

pub(super) fn run(settings: &Settings, path: &Path, is_json: bool) -> Result<ExitCode, Failure> {
    let sampled = sample(&Taps::from(path), &settings.ingest(), MOST)
        .map_err(|error| Failure::new(error.kind(), error))?;
    let mut counts = Counts::default();
    for record in &sampled {
        match record.outcome {
            Ok(_) => counts.taps += 1,
            Err(reason) => counts.reject(reason),
        }
    }
    let is_within = settings.feed.max_rejects.allows(counts.n_unusable(), sampled.len() as u64);
    match is_json {
        true => say(&as_json(&sampled, &counts, is_within).to_string()),
        false => say_sampled(&sampled, &counts, settings, is_within),
    }
    Ok(ExitCode::from(u8::from(!is_within || counts.taps == 0)))
}

fn say_sampled(sampled: &[Sampled], counts: &Counts, settings: &Settings, is_within: bool) {
    say(PRIVATE);
    for record in sampled {
        let outcome = match &record.outcome {
            Ok(SampledTap { station, time, kind, window }) => {
                format!("tap   {time} {} {station:?}, window {window}", kind_word(*kind))
            }
            Err(reason) => format!("{:<5} {}", "-", reason.label()),
        };
        let Sampled { line, station, time, .. } = record;
        say(&format!("line {line:>5}  {outcome}   (station {station:?}, time {time:?})"));
    }
    say(&format!(
        "{} records: {} taps, {} that would not count",
        sampled.len(),
        counts.taps,
        counts.n_rejects()
    ));
    for (reason, n) in counts.rejects().filter(|(_, n)| *n > 0) {
        say(&format!("  {n:>9} {:<16} {}", reason.label(), reason.in_words()));
    }
    if !is_within {
        let (limit, n) = (settings.feed.max_rejects, counts.n_unusable());
        say(&format!(
            "{n} cannot be used, more than feed.max_rejects ({limit}) allows: sanitize would refuse the file"
        ));
    }
}

fn kind_word(kind: Option<TapKind>) -> &'static str {
    match kind {
        Some(TapKind::Entry) => "entry",
        Some(TapKind::Exit) => "exit",
        None => "at",
    }
}

fn as_json(sampled: &[Sampled], counts: &Counts, is_within: bool) -> Value {
    let record = |record: &Sampled| {
        let Sampled { line, station, time, outcome, .. } = record;
        let mut json = json!({ "line": line, "written": { "station": station, "time": time } });
        match outcome {
            Ok(tap) => {
                json["tap"] =
                    json!({ "station": tap.station, "time": tap.time, "window": tap.window });
                json["tap"]["kind"] =
                    tap.kind.map_or(Value::Null, |kind| json!(kind_word(Some(kind))));
            }
            Err(reason) => json["reject"] = json!(reason.label()),
        }
        json
    };
    let rejects: serde_json::Map<String, Value> = counts
        .rejects()
        .filter(|(_, n)| *n > 0)
        .map(|(reason, n): (Reject, u64)| (reason.label().to_owned(), json!(n)))
        .collect();
    json!({
        "format": JSON_FORMAT, "private": true, "records": sampled.iter().map(record).collect::<Vec<_>>(),
        "taps": counts.taps, "rejects": rejects, "within_max_rejects": is_within,
    })
}
