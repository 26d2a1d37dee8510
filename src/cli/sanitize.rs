//! `tapveil sanitize`: one shot over a file.

use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::failure::say;
use super::progress::Progress;
use super::{COMMIT, ConfigArgument, Failure, JSON_FORMAT, TapsArgument, VERSION, dry_run};
use crate::clock::SystemClock;
use crate::config::{self, Settings};
use crate::engine::Registry;
use crate::ingest::Taps;
use crate::ledger::Edition;
use crate::metrics::{Board, Metrics};
use crate::model::Span;
use crate::pipeline::{self, Done, Job, Released, Summary};

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    taps: TapsArgument,
    #[command(flatten)]
    config: ConfigArgument,
    /// Where the releases go, one directory per window
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    out: Option<PathBuf>,
    /// Read and judge everything, show what would happen, book and write nothing
    #[arg(long, conflicts_with = "metrics")]
    dry_run: bool,
    /// First window: a date (its service day) or a local time. Which windows exist is public
    #[arg(long, value_name = "T")]
    from: Option<String>,
    /// Up to, without, this date or time
    #[arg(long, value_name = "T")]
    to: Option<String>,
    /// Write the run's metrics there, in Prometheus' text form (exact numbers: for operators only)
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let settings = config::load_with(&arguments.config.config, registry)?;
    settings.require_approval()?;
    let (span, taps) = (span(arguments, &settings)?, arguments.taps.get()?);
    let out = arguments.out.clone().unwrap_or_default();
    if arguments.dry_run {
        return dry_run::run(&settings, &taps, &out, span, arguments.json);
    }
    let metrics = Metrics::new(VERSION, COMMIT);
    let wanted = Wanted { span, edition: Edition::First, quiet: arguments.json };
    let summary = sanitize(&settings, &taps, &out, wanted, &metrics)?;
    if let Some(path) = &arguments.metrics {
        write_for_operators(path, &metrics.text()).map_err(|error| {
            Failure::external(format!("cannot write {}: {error}", path.display()))
        })?;
    }
    match arguments.json {
        true => say(&as_json(&summary, &out).to_string()),
        false => say_summary(&summary, &out),
    }
    let withheld = summary.windows.iter().any(|window| matches!(window.done, Done::Withheld(_)));
    Ok(ExitCode::from(u8::from(withheld)))
}

/// Exact numbers are not for everybody on this machine. The group may read them: a collector runs as another user.
fn write_for_operators(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o640).open(path)?;
    let found = file.metadata()?;
    let mode = found.permissions().mode();
    if found.is_file() && mode & 0o007 != 0 {
        file.set_permissions(Permissions::from_mode(mode & 0o770))?;
    }
    file.write_all(text.as_bytes())
}

/// What of a file is wanted, and how.
pub(super) struct Wanted {
    /// Which windows; `None`: those of the file.
    pub(super) span: Option<Span>,
    pub(super) edition: Edition,
    /// Without a progress bar.
    pub(super) quiet: bool,
}

/// Runs the job with a progress bar.
pub(super) fn sanitize(
    settings: &Settings,
    taps: &Taps,
    out: &Path,
    wanted: Wanted,
    metrics: &Metrics,
) -> Result<Summary, Failure> {
    let Wanted { span, edition, quiet } = wanted;
    let progress = Progress::new(taps.bytes(), "bytes", quiet);
    progress.say(&format!("reading {taps}"));
    let board = Board::default();
    let job = Job { settings, taps, out, span, edition, version: VERSION, commit: COMMIT };
    let summary = progress
        .follow(&board, || pipeline::sanitize(&job, &SystemClock, metrics, &board, &progress));
    progress.finish();
    Ok(summary?)
}

/// The range of windows: from the command line, else from the configuration, else none.
fn span(arguments: &Arguments, settings: &Settings) -> Result<Option<Span>, Failure> {
    match (&arguments.from, &arguments.to) {
        (None, None) => Ok(settings.span()),
        (Some(from), Some(to)) => parse_span(settings, from, to).map(Some),
        _ => Err(Failure::usage("--from and --to go together".to_owned())),
    }
}

/// A range as it was typed.
pub(super) fn parse_span(settings: &Settings, from: &str, to: &str) -> Result<Span, Failure> {
    let moment = |flag: &str, text: &str| {
        settings.calendar.parse_moment(text).ok_or_else(|| {
            Failure::usage(format!(
                "{flag} {text:?} is not a date like 2015-11-09 or a time like 2015-11-09T04:00"
            ))
        })
    };
    let span = Span { from: moment("--from", from)?, to: moment("--to", to)? };
    match span.from < span.to {
        true => Ok(span),
        false => Err(Failure::usage("--from must lie before --to".to_owned())),
    }
}

/// The outcome in words.
pub(super) fn say_summary(summary: &Summary, out: &Path) {
    for Released { window, n_rows, done } in &summary.windows {
        let place = out.join(window);
        let place = place.display();
        match done {
            Done::Paid(cost) if cost.is_differential() => {
                say(&format!("released  {place}  {n_rows} rows, epsilon {}", cost.epsilon()));
            }
            Done::Paid(_) => {
                say(&format!("released  {place}  {n_rows} rows, no epsilon: by suppression"));
            }
            Done::Again => say(&format!("unchanged {place}  {n_rows} rows, at no cost")),
            Done::Withheld(refusal) => say(&format!("withheld  {window}: {refusal}")),
        }
    }
    let is_bare =
        |window: &Released| window.n_rows == 0 && !matches!(window.done, Done::Withheld(_));
    if summary.windows.iter().any(is_bare) {
        say(match summary.is_differential {
            true => {
                "a release without rows: no trip had enough passengers to show through the noise. A longer window, \
                 wider slots, a lower height, allocation = \"even\" or a larger epsilon show more"
            }
            false => {
                "a release without rows: everything was suppressed, or there was nothing. A longer window, wider \
                 slots, a smaller k or l, or a larger breach show more"
            }
        });
    }
    let counts = &summary.counts;
    say(&format!(
        "operator only: {} taps accepted, {} duplicates, {} records rejected",
        counts.taps,
        summary.n_duplicates,
        counts.n_rejects()
    ));
    for (reason, n) in counts.rejects().filter(|(_, n)| *n > 0) {
        say(&format!("  {n:>9} {:<16} {}", reason.label(), reason.in_words()));
    }
    say(&format!("spent by this feed so far: epsilon {}", summary.spent));
}

pub(super) fn as_json(summary: &Summary, out: &Path) -> Value {
    let windows: Vec<Value> = summary
        .windows
        .iter()
        .map(|Released { window, n_rows, done }| match done {
            Done::Paid(cost) => json!({
                "window": window, "outcome": "released", "epsilon_micro": cost.epsilon(), "rows": n_rows,
                "path": out.join(window),
            }),
            Done::Again => json!({
                "window": window, "outcome": "same", "epsilon_micro": 0, "rows": n_rows,
                "path": out.join(window),
            }),
            Done::Withheld(refusal) => json!({
                "window": window, "outcome": "withheld", "reason": refusal.reason(),
                "message": refusal.to_string(),
            }),
        })
        .collect();
    let rejects: serde_json::Map<String, Value> =
        summary.counts.rejects().map(|(reason, n)| (reason.label().to_owned(), json!(n))).collect();
    json!({
        "format": JSON_FORMAT,
        "windows": windows,
        "spent_micro": summary.spent,
        "operator_only": {
            "taps": summary.counts.taps, "duplicates": summary.n_duplicates, "rejects": rejects,
        },
    })
}
