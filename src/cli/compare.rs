//! `tapveil compare`: engines and budgets side by side on the same taps. Private output, nothing is booked.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::evaluate::{PRIVATE, say_windows, windows_as_json, write};
use super::failure::say;
use super::progress::Progress;
use super::{ConfigArgument, Failure, JSON_FORMAT, TapsArgument};
use crate::config::{self, Change};
use crate::engine::Registry;
use crate::evaluate::{
    Asked, CHOSEN_BY, Cache, Summary, Variant, Watch, compare, comparison_page, require_private,
    summaries,
};
use crate::model::MicroEpsilon;

/// Said with every comparison.
const LEAK: &str = "choosing by this on the taps that will be released leaks a little of them: choose on a twin of the \
                    feed (tapveil generate --like), then release";

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    taps: TapsArgument,
    #[command(flatten)]
    config: ConfigArgument,
    /// Engines to compare, with the keys that the configuration has for them; other keys behind the name, e.g.
    /// safepath:threshold=level-noise:height=3
    #[arg(long, value_name = "E,…", value_delimiter = ',', required = true)]
    engines: Vec<String>,
    /// Window lengths to compare, e.g. 1d,7d [default: the configured one]
    #[arg(long, value_name = "D,…", value_delimiter = ',')]
    windows: Vec<String>,
    /// Budgets to compare, exact decimals; engines that suppress have none
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1.0")]
    epsilons: Vec<String>,
    /// What queries, samples and noise are drawn with
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Count queries of each of the 32 kinds
    #[arg(long, value_name = "N", default_value_t = 1_250, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    queries: u32,
    /// Keep figures there, and take them from there the next time [default: beside the page, if there is one]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Write a page there (private: computed from raw taps)
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// Counts what was begun.
struct Steps<'a> {
    progress: &'a Progress,
    n_begun: Cell<u64>,
}

impl Watch for Steps<'_> {
    fn next(&self, what: &str) {
        self.progress.say(what);
        self.progress.at(self.n_begun.replace(self.n_begun.get() + 1));
    }
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let settings = config::load_with(&arguments.config.config, registry)?;
    let cache = arguments
        .cache
        .clone()
        .or_else(|| arguments.html.as_ref().map(|page| page.with_extension("cache")));
    for path in arguments.html.iter().chain(&cache) {
        require_private(path)?;
    }
    let lengths: Vec<Option<&str>> = match arguments.windows.is_empty() {
        true => vec![None],
        false => arguments.windows.iter().map(|length| Some(length.as_str())).collect(),
    };
    let mut lots = Vec::new();
    for length in lengths {
        lots.push((length, variants(arguments, registry, length)?));
    }
    let n_steps: usize = lots.iter().map(|lot| lot.1.len() + 1).sum();
    let progress = Progress::new(n_steps as u64, "", arguments.json);
    let steps = Steps { progress: &progress, n_begun: Cell::new(0) };
    let asked = Asked { seed: arguments.seed, n_queries: arguments.queries };
    let cache = cache.map(Cache);
    let taps = arguments.taps.get()?;
    if taps.are_read_once() && lots.len() > 1 {
        let what = "--windows reads the taps once for every length, and standard input can be read once: name a file";
        return Err(Failure::usage(what.to_owned()));
    }
    let (mut judged, mut lines) = (Vec::new(), Vec::new());
    for (length, variants) in &lots {
        // Whatever the engine keeps, the truth is of the same windows for all of one length.
        let truth = match (length, variants.first()) {
            (Some(_), Some(variant)) => &variant.settings,
            _ => &settings,
        };
        let found = compare(truth, &taps, variants, asked, cache.as_ref(), &steps);
        let found = found.inspect_err(|_| progress.finish())?;
        lines.extend(summaries(length.unwrap_or("as configured"), &found));
        judged.extend(found);
    }
    progress.finish();
    if let Some(path) = &arguments.html {
        write(path, &comparison_page(&judged, &lines, LEAK))?;
    }
    match arguments.json {
        true => say(&json!({
            "format": JSON_FORMAT, "private": true, "note": format!("{PRIVATE}; {LEAK}"),
            "seed": arguments.seed, "queries": arguments.queries, "windows": windows_as_json(&judged),
            "summary": lines.iter().map(line_as_json).collect::<Vec<_>>(),
        })
        .to_string()),
        false => {
            say(PRIVATE);
            say(LEAK);
            say_windows(&judged);
            say_summary(&lines);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line_as_json(line: &Summary) -> Value {
    let figures: Map<String, Value> =
        line.score.iter().map(|(id, value)| (id.to_owned(), json!(value))).collect();
    json!({
        "name": line.name, "epsilon_micro": line.epsilon, "window": line.window,
        "windows": line.n_windows, "spent_micro": line.spent(), "figures": figures,
    })
}

/// One line for every choice: what it is worth, and what it costs a card that travels in every window.
fn say_summary(lines: &[Summary]) {
    let heads: Vec<String> = CHOSEN_BY.iter().map(|(_, words)| format!("{words:>28}")).collect();
    say(&format!(
        "\n{:<34} {:>13} {:>9} {:>9}{}",
        "all windows",
        "window",
        "epsilon",
        "in all",
        heads.concat()
    ));
    for line in lines {
        let number =
            |epsilon: Option<MicroEpsilon>| epsilon.map_or("-".to_owned(), |e| e.to_string());
        let figure =
            |id: &str| line.score.get(id).map_or("-".to_owned(), |value| format!("{value:.3}"));
        let figures: Vec<String> =
            CHOSEN_BY.iter().map(|(id, _)| format!("{:>28}", figure(id))).collect();
        say(&format!(
            "{:<34} {:>13} {:>9} {:>9}{}",
            line.name,
            line.window,
            number(line.epsilon),
            number(line.spent()),
            figures.concat()
        ));
    }
    say("in all: what a card that travels in every one of these windows spends");
}

/// Every engine at every ε; complaints about any of them come before a tap is read.
fn variants(
    arguments: &Arguments,
    registry: &Registry,
    window: Option<&str>,
) -> Result<Vec<Variant>, Failure> {
    let mut variants = Vec::new();
    for asked in &arguments.engines {
        let (engine, keys) = with_keys(asked)?;
        let Some(known) = registry.find(engine) else {
            let names = registry.names().join(", ");
            return Err(Failure::usage(format!("--engines {engine:?} is no engine; use {names}")));
        };
        let variant = |epsilon: Option<&str>| {
            let change = Change { engine, epsilon, keys: &keys, window };
            config::load_variant(&arguments.config.config, registry, &change)
        };
        if !known.is_differential {
            let settings = variant(None)?;
            variants.push(Variant { engine: asked.clone(), epsilon: None, settings });
            continue;
        }
        for text in &arguments.epsilons {
            let epsilon = MicroEpsilon::parse(text)
                .map_err(|error| Failure::usage(format!("--epsilons {text:?}: {error}")))?;
            let settings = variant(Some(text))?;
            variants.push(Variant { engine: asked.clone(), epsilon: Some(epsilon), settings });
        }
    }
    Ok(variants)
}

/// Keys of an engine's section, with their values as text.
type Keys = Vec<(String, String)>;

/// An engine and keys of its own: `safepath:threshold=level-noise`.
fn with_keys(asked: &str) -> Result<(&str, Keys), Failure> {
    let mut parts = asked.split(':');
    let engine = parts.next().unwrap_or_default();
    let keys: Option<Keys> = parts
        .map(|part| part.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect();
    let keys = keys.ok_or_else(|| {
        Failure::usage(format!(
            "--engines {asked:?}: keys behind an engine look like :threshold=level-noise"
        ))
    })?;
    Ok((engine, keys))
}
