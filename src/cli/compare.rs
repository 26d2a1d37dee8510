//! `tapveil compare`: engines and budgets side by side on the same taps. Private output, nothing is booked.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::evaluate::{PRIVATE, say_windows, windows_as_json, write};
use super::failure::say;
use super::progress::Progress;
use super::{ConfigArgument, Failure, JSON_FORMAT, TapsArgument};
use crate::config;
use crate::engine::Registry;
use crate::evaluate::{Asked, Cache, Variant, Watch, compare, comparison_page, require_private};
use crate::model::MicroEpsilon;

/// Said with every comparison.
const LEAK: &str = "choosing by this on the taps that will be released leaks a little of them: choose on a synthetic \
                    city (tapveil generate), then release";

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    taps: TapsArgument,
    #[command(flatten)]
    config: ConfigArgument,
    /// Engines to compare, with the keys that the configuration has for them
    #[arg(long, value_name = "E,…", value_delimiter = ',', required = true)]
    engines: Vec<String>,
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
    let variants = variants(arguments, registry)?;
    let progress = Progress::new(variants.len() as u64 + 1, "", arguments.json);
    let steps = Steps { progress: &progress, n_begun: Cell::new(0) };
    let asked = Asked { seed: arguments.seed, n_queries: arguments.queries };
    let cache = cache.map(Cache);
    let taps = arguments.taps.get()?;
    let judged = compare(&settings, &taps, &variants, asked, cache.as_ref(), &steps);
    progress.finish();
    let judged = judged?;
    if let Some(path) = &arguments.html {
        write(path, &comparison_page(&judged, LEAK))?;
    }
    match arguments.json {
        true => say(&json!({
            "format": JSON_FORMAT, "private": true, "note": format!("{PRIVATE}; {LEAK}"),
            "seed": arguments.seed, "queries": arguments.queries, "windows": windows_as_json(&judged),
        })
        .to_string()),
        false => {
            say(PRIVATE);
            say(LEAK);
            say_windows(&judged);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Every engine at every ε; complaints about any of them come before a tap is read.
fn variants(arguments: &Arguments, registry: &Registry) -> Result<Vec<Variant>, Failure> {
    let config = &arguments.config.config;
    let mut variants = Vec::new();
    for engine in &arguments.engines {
        let Some(known) = registry.find(engine) else {
            let names = registry.names().join(", ");
            return Err(Failure::usage(format!("--engines {engine:?} is no engine; use {names}")));
        };
        if !known.is_differential {
            let settings = config::load_variant(config, registry, engine, None)?;
            variants.push(Variant { engine: engine.clone(), epsilon: None, settings });
            continue;
        }
        for text in &arguments.epsilons {
            let epsilon = MicroEpsilon::parse(text)
                .map_err(|error| Failure::usage(format!("--epsilons {text:?}: {error}")))?;
            let settings = config::load_variant(config, registry, engine, Some(text))?;
            variants.push(Variant { engine: engine.clone(), epsilon: Some(epsilon), settings });
        }
    }
    Ok(variants)
}
