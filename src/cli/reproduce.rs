//! `tapveil reproduce`: the figures and tables of the papers on synthetic data, ours beside what they print.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::failure::say;
use super::progress::Progress;
use super::{COMMIT, Failure, JSON_FORMAT, VERSION};
use crate::clock::{Clock, SystemClock};
use crate::engine::Registry;
use crate::evaluate::Watch;
use crate::evaluate::reproduce::{Paper, Reproduced, Scale, reproduce};

/// Where the tables go unless told otherwise.
const RESULTS: &str = "benches/RESULTS.md";

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Which paper: safepath, stm, lk, dptd, projection, or all
    #[arg(value_name = "PAPER")]
    paper: String,
    /// Write the tables there [default: benches/RESULTS.md, with --json nowhere]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Cards of a city at most, for a quick look; as many as the papers have if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    cards: Option<u64>,
    /// Count queries of each of the 32 kinds; 1250 are the 40,000 of the papers
    #[arg(long, value_name = "N", default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    queries: u32,
    /// Print the tables as JSON
    #[arg(long)]
    json: bool,
}

/// Says every step; how many there will be is not known beforehand.
struct Steps<'a> {
    progress: &'a Progress,
    n_begun: Cell<u64>,
}

impl Watch for Steps<'_> {
    fn next(&self, what: &str) {
        self.n_begun.set(self.n_begun.get() + 1);
        self.progress.say(&format!("{}: {what}", self.n_begun.get()));
    }
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let papers = match arguments.paper.as_str() {
        "all" => Paper::ALL.to_vec(),
        name => {
            let known = name.parse::<Paper>();
            vec![known.map_err(|error| Failure::usage(error.to_string()))?]
        }
    };
    let out = match (&arguments.out, arguments.json) {
        (Some(path), _) => Some(path.clone()),
        (None, true) => None,
        (None, false) => Some(PathBuf::from(RESULTS)),
    };
    if let Some(path) = &out {
        require_folder(path)?;
    }
    let progress = Progress::new(0, "", arguments.json);
    let steps = Steps { progress: &progress, n_begun: Cell::new(0) };
    let scale = Scale { cards: arguments.cards, n_queries: arguments.queries };
    let made = reproduce(&papers, registry, scale, &steps);
    progress.finish();
    let made = made.map_err(|error| Failure::usage(error.to_string()))?;
    if let Some(path) = &out {
        let text = page(arguments, &made);
        fs::write(path, text).map_err(|error| {
            Failure::external(format!("cannot write {}: {error}", path.display()))
        })?;
    }
    match (&out, arguments.json) {
        (_, true) => say(&as_json(arguments, &made).to_string()),
        (Some(path), false) => say(&format!("the tables are in {}", path.display())),
        (None, false) => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Said before minutes of work, not after them.
fn require_folder(path: &std::path::Path) -> Result<(), Failure> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match parent.is_none_or(std::path::Path::is_dir) && !path.is_dir() {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "--out {}: name a file in a folder that is there; nothing was run",
            path.display()
        ))),
    }
}

/// What the processor calls itself, how many threads it has.
fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find(|line| line.starts_with("model name"));
    let name = name.and_then(|line| line.split_once(": ")).map_or("unknown processor", |two| two.1);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{name}, {threads} threads, {}", std::env::consts::OS)
}

fn command(arguments: &Arguments) -> String {
    let mut words = format!("tapveil reproduce {}", arguments.paper);
    if let Some(cards) = arguments.cards {
        words += &format!(" --cards {cards}");
    }
    words + &format!(" --queries {}", arguments.queries)
}

fn page(arguments: &Arguments, made: &[Reproduced]) -> String {
    let size = match arguments.cards {
        Some(cards) => format!(
            "Every city has at most {cards} cards, fewer than the papers' data: noise is the same, counts are smaller, \
             so errors are larger than at full size."
        ),
        None => "Every city has as many cards as the paper's data.".to_owned(),
    };
    let mut text = format!(
        "# The papers' results, repeated\n\n\
         Made by `{}`; do not edit. Figures are what was seen on this machine.\n\n\
         | | |\n| --- | --- |\n| machine | {} |\n| date | {} |\n| version, commit | {VERSION}, {COMMIT} |\n| data | {size} |\n\n\
         Data are synthetic (`tapveil generate`), noisy engines are run with three seeds, figures are means. Errors are\n\
         defined in `src/core/evaluate/METRICS.md`; *drawn* queries are pieces of trips, *uniform* ones are the papers'. A\n\
         dash: refused, not said by this engine, or not printed by the paper. Seconds are those of the engine alone.\n",
        command(arguments),
        machine(),
        SystemClock.now().strftime("%Y-%m-%d"),
    );
    for Reproduced { paper, exhibits } in made {
        text += &format!("\n## {}\n", paper.cited());
        for exhibit in exhibits {
            text.push('\n');
            text += &exhibit.as_markdown();
        }
    }
    text
}

fn as_json(arguments: &Arguments, made: &[Reproduced]) -> Value {
    let papers: Vec<Value> = made
        .iter()
        .map(|Reproduced { paper, exhibits }| {
            json!({ "name": paper.name(), "cited": paper.cited(), "exhibits": exhibits })
        })
        .collect();
    json!({
        "format": JSON_FORMAT, "command": command(arguments), "commit": COMMIT, "machine": machine(),
        "cards": arguments.cards, "queries": arguments.queries, "papers": papers,
    })
}
