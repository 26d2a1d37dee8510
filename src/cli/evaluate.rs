//! `tapveil evaluate`: what releases are worth and what they give away, beside the raw window. Private output.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::failure::say;
use super::progress::Progress;
use super::{ConfigArgument, Failure, JSON_FORMAT, TapsArgument};
use crate::config::{self, Settings};
use crate::engine::Registry;
use crate::evaluate::risk::{Attack, Membership, Risk, attack};
use crate::evaluate::{Asked, Column, Group, Judged, Metric, judge, page, read, require_private};
use crate::metrics::Board;

/// What stands at the top of everything that is said here.
pub(super) const PRIVATE: &str =
    "PRIVATE: computed from raw taps. Never publish it, and never put it beside a release";

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    taps: TapsArgument,
    #[command(flatten)]
    config: ConfigArgument,
    /// A release, or a directory of releases; several are judged side by side
    #[arg(long, value_name = "DIR", required = true, num_args = 1..)]
    release: Vec<PathBuf>,
    /// What queries and samples are drawn with
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Count queries of each of the 32 kinds
    #[arg(long, value_name = "N", default_value_t = 1_250, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    queries: u32,
    /// Write the queries there, one JSON object a line (private: most are pieces of raw trips)
    #[arg(long, value_name = "FILE")]
    save_queries: Option<PathBuf>,
    /// Attack the configured engine on a synthetic twin, too: membership inference. Takes minutes
    #[arg(long)]
    risk: bool,
    /// Write a page for planners there (private: it shows raw numbers)
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let settings = config::load_with(&arguments.config.config, registry)?;
    for path in arguments.html.iter().chain(&arguments.save_queries) {
        require_private(path)?;
    }
    let mut releases = Vec::new();
    for dir in &arguments.release {
        releases.extend(read(dir, &settings)?);
    }
    let taps = arguments.taps.get()?;
    let progress = Progress::new(taps.bytes(), "bytes", arguments.json);
    progress.say(&format!("reading {taps}"));
    let board = Board::default();
    let asked = Asked { seed: arguments.seed, n_queries: arguments.queries };
    let tell = |what: &str| progress.say(what);
    let judged =
        progress.follow(&board, || judge(&settings, &taps, releases, asked, &board, &tell));
    progress.finish();
    let judged = judged?;
    let membership = match (arguments.risk, judged.first()) {
        (true, Some(window)) => Some(attacked(&settings, window, arguments)?),
        _ => None,
    };
    if let Some(path) = &arguments.save_queries {
        write(path, &queries(&judged))?;
    }
    if let Some(path) = &arguments.html {
        write(path, &page(&settings.stations, &judged, membership.as_ref()))?;
    }
    match arguments.json {
        true => say(&as_json(arguments, &settings, &judged, membership.as_ref()).to_string()),
        false => say_words(arguments, &settings, &judged, membership.as_ref()),
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::external(format!("cannot write {}: {error}", path.display())))
}

/// Attacks the configured engine on a twin of the first window.
fn attacked(
    settings: &Settings,
    window: &Judged,
    arguments: &Arguments,
) -> Result<Membership, Failure> {
    const TARGETS: u32 = 4;
    let progress = Progress::new(TARGETS.into(), "", arguments.json);
    progress.say("membership inference on a synthetic twin");
    let plan = Attack {
        n_cards: 200,
        n_targets: TARGETS,
        n_shadows: 100,
        n_stations: settings.stations.len(),
        max_length: settings.max_length,
        seed: arguments.seed,
    };
    let n_done = Cell::new(0);
    let found = attack(settings.engine.as_ref(), window.judge.window(), &plan, &|done| {
        n_done.set(done);
        progress.at(done.into());
    });
    progress.finish();
    found.map_err(|error| Failure::from(crate::evaluate::Error::from(error)))
}

/// Every query, one a line.
fn queries(judged: &[Judged]) -> String {
    let mut text = String::new();
    for window in judged {
        for query in window.judge.saved_queries() {
            let line = json!({
                "private": true, "window": window.judge.window().name(), "metric": query.metric,
                "query": query.query,
            });
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

fn title(column: &Column) -> String {
    match column.epsilon {
        Some(epsilon) => format!("{} {epsilon}", column.name),
        None => column.name.clone(),
    }
}

fn say_words(
    arguments: &Arguments,
    settings: &Settings,
    judged: &[Judged],
    membership: Option<&Membership>,
) {
    say(PRIVATE);
    say(&format!(
        "seed {}, {} queries of each kind; a dash: this source cannot say it\nnothing: an empty release. histogram: \
         plain noisy tables, each with all of epsilon to itself and the clip that suits it best; means of 3 seeds",
        arguments.seed, arguments.queries
    ));
    say_windows(judged);
    if let Some(found) = membership {
        say_membership(settings, found);
    }
}

/// Every window with its tables.
pub(super) fn say_windows(judged: &[Judged]) {
    for window in judged {
        say(&format!(
            "\nwindow {}: {} cards, s = {:.1}",
            window.judge.window(),
            window.judge.n_cards(),
            window.judge.sanity_bound()
        ));
        for column in &window.columns {
            if let Some(release) = &column.release {
                let note = match release.is_own_configuration {
                    true => "",
                    false => " (made with another configuration than -c)",
                };
                say(&format!("  {}: {}{note}", title(column), release.path.display()));
            }
        }
        for group in Group::ALL {
            let is_of = |metric: &&Metric| metric.group == group;
            let rows = window.judge.metrics().iter().filter(is_of).map(|metric| {
                let cells = window.columns.iter().map(|column| column.score.get(&metric.id));
                (metric.words.clone(), cells.collect())
            });
            say_table(group.in_words(), &window.columns, rows.collect());
        }
        say_risk(&window.columns);
        say("trips of a noisy release are nobody's: one that is alone gives nobody away");
    }
}

/// A heading, the columns, and rows in which anybody says something.
fn say_table(heading: &str, columns: &[Column], rows: Vec<(String, Vec<Option<f64>>)>) {
    let rows: Vec<_> = rows.into_iter().filter(|row| row.1.iter().any(Option::is_some)).collect();
    if rows.is_empty() {
        return;
    }
    let wide = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let wide = wide.max(heading.chars().count());
    let titles: Vec<String> =
        columns.iter().map(|column| format!("{:>16}", title(column))).collect();
    say(&format!("\n{heading:<wide$}{}", titles.concat()));
    for (words, cells) in rows {
        let cells: Vec<String> =
            cells.into_iter().map(|cell| format!("{:>16}", spelled(cell))).collect();
        say(&format!("{words:<wide$}{}", cells.concat()));
    }
}

/// Four digits; a dash for what is not said.
pub(super) fn spelled(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.fract() == 0.0 && value.abs() < 1e9 => format!("{value:.0}"),
        Some(value) => format!("{value:.4}"),
    }
}

fn say_risk(columns: &[Column]) {
    let of: Vec<(&Column, &Risk)> =
        columns.iter().filter_map(|column| Some((column, column.risk.as_ref()?))).collect();
    for (column, risk) in of {
        say(&format!("\nWhat {} gives away{:>24}{:>14}", title(column), "raw", "released"));
        let line = |words: String, before: Option<f64>, after: Option<f64>| {
            say(&format!("{words:<56}{:>10}{:>14}", spelled(before), spelled(after)));
        };
        for one in &risk.unique {
            let words = format!("singled out by {} known doublets", one.known);
            line(words, one.before, one.after);
        }
        let words = format!("pairs of doublets that fewer than {} share", risk.rare.k);
        line(words, risk.rare.before, risk.rare.after);
        for one in &risk.linked {
            let words = format!("whole trip found from {} known doublets", one.known);
            line(words, one.before, one.after);
        }
        let guess = &risk.guessed;
        let words = format!("another station guessed from {} known doublets", guess.known);
        line(words, guess.before, guess.after);
        line("  the same by naming the busiest station".to_owned(), guess.without, None);
        if let Some(promise) = risk.promise {
            let share = |holds: bool| Some(if holds { 1.0 } else { 0.0 });
            let words = "keeps its own promise (1: yes)".to_owned();
            line(words, share(promise.before), share(promise.after));
        }
    }
}

fn say_membership(settings: &Settings, found: &Membership) {
    say(&format!(
        "\nMembership inference against {} on a synthetic twin: AUC {:.3} ({:.3} to {:.3}), at most {} by epsilon; \
         advantage {:.3}, at most {}",
        settings.engine.describe().name,
        found.auc,
        found.low,
        found.high,
        spelled(found.auc_bound),
        found.advantage,
        spelled(found.advantage_bound),
    ));
}

/// Every window with its metrics and columns.
pub(super) fn windows_as_json(judged: &[Judged]) -> Vec<Value> {
    let column = |column: &Column| {
        let figures: Map<String, Value> =
            column.score.iter().map(|(id, value)| (id.to_owned(), json!(value))).collect();
        json!({
            "name": column.name, "epsilon_micro": column.epsilon,
            "release_id": column.release.as_ref().map(|release| &release.id),
            "path": column.release.as_ref().map(|release| &release.path),
            "guarantee": column.release.as_ref().map(|release| &release.guarantee),
            "same_configuration": column.release.as_ref().map(|release| release.is_own_configuration),
            "figures": figures, "risk": column.risk,
        })
    };
    judged
        .iter()
        .map(|window| {
            json!({
                "window": window.judge.window().name(), "cards": window.judge.n_cards(),
                "sanity_bound": window.judge.sanity_bound(), "metrics": window.judge.metrics(),
                "columns": window.columns.iter().map(column).collect::<Vec<_>>(),
            })
        })
        .collect()
}

fn as_json(
    arguments: &Arguments,
    settings: &Settings,
    judged: &[Judged],
    membership: Option<&Membership>,
) -> Value {
    json!({
        "format": JSON_FORMAT, "private": true, "note": PRIVATE, "seed": arguments.seed,
        "queries": arguments.queries, "windows": windows_as_json(judged),
        "membership": membership.map(|found| json!({
            "engine": settings.engine.describe().name, "found": found,
        })),
    })
}
