//! `tapveil audit`: tries to break the engines' guarantee.

use std::cell::Cell;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::failure::say;
use super::progress::Progress;
use super::{Failure, JSON_FORMAT};
use crate::audit::{
    self, ALPHA, Effort, EngineFinding, Keys, MutantFinding, PairFinding, Report, WholeFinding,
};
use crate::engine::Registry;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only this engine; mutants are tried all the same, to show that the audit sees
    #[arg(long, value_name = "E")]
    engine: Option<String>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let names = audit::engine_names(registry);
    if let Some(name) = &arguments.engine
        && !names.contains(&name.as_str())
    {
        let known = names.join(", ");
        return Err(Failure::usage(format!(
            "--engine {name:?} promises no differential privacy that could be audited; use one of {known}"
        )));
    }
    let engine = arguments.engine.as_deref();
    let progress = Progress::new(audit::n_steps(registry, engine) as u64, "", arguments.json);
    let n_begun = Cell::new(0);
    let report = audit::audit(registry, engine, Effort::usual(), &|what| {
        progress.say(what);
        progress.at(n_begun.replace(n_begun.get() + 1));
    });
    progress.finish();
    match arguments.json {
        true => say(&as_json(&report).to_string()),
        false => say_report(&report),
    }
    Ok(ExitCode::from(u8::from(!report.is_sound())))
}

fn say_report(report: &Report) {
    say("engine     input      height   epsilon   at least   verdict");
    for finding in &report.engines {
        let EngineFinding { engine, height, epsilon, lower_bound, .. } = finding;
        let (input, epsilon) = (format!("{:?}", finding.input).to_lowercase(), epsilon.to_string());
        let verdict = engine_verdict(finding);
        say(&format!(
            "{engine:<10} {input:<10} {height:>6} {epsilon:>9} {lower_bound:>10.3}   {verdict}"
        ));
        if let Some(breach) = &finding.breach {
            say(&format!("  {breach}"));
        }
    }
    say("broken on purpose                         epsilon   at least   verdict");
    for finding in &report.mutants {
        let MutantFinding { mutant, epsilon, lower_bound, .. } = finding;
        let (epsilon, verdict) = (epsilon.to_string(), mutant_verdict(finding));
        let bound = match finding.was_sampled() {
            true => format!("{lower_bound:.3}"),
            false => "-".to_owned(),
        };
        say(&format!("{mutant:<44} {epsilon:>5} {bound:>10}   {verdict}"));
    }
    say("two releases side by side                  epsilon   at least   verdict");
    for finding in &report.pairs {
        let (epsilon, verdict) = (finding.epsilon.to_string(), pair_verdict(finding));
        let what = match finding.keys {
            Keys::Program => finding.pair.in_words(),
            wrong => wrong.in_words(),
        };
        say(&format!("{what:<44} {epsilon:>5} {:>10.3}   {verdict}", finding.lower_bound));
    }
    say("whole releases, engines as they ship        epsilon   at least   verdict");
    for finding in &report.whole {
        let WholeFinding { about, epsilon, lower_bound, event, .. } = finding;
        let (epsilon, verdict) = (epsilon.to_string(), whole_verdict(finding));
        say(&format!("{about:<44} {epsilon:>5} {lower_bound:>10.3}   {verdict}"));
        say(&format!("  looked at: {event}"));
    }
    let samples = report.power.samples;
    say(&match report.power.smallest_found {
        Some(spent) => format!(
            "with {samples} releases of each window, spending {spent} where 1 is claimed is found; less may not be"
        ),
        None => format!("with {samples} releases of each window not even spending 2 is found"),
    });
    say(match report.is_sound() {
        true => "no guarantee was broken, and every broken engine was caught",
        false => "THE AUDIT FAILED: a guarantee is broken, or the auditor is blind",
    });
}

fn engine_verdict(finding: &EngineFinding) -> &'static str {
    if finding.holds() { "holds" } else { "broken" }
}

fn pair_verdict(finding: &PairFinding) -> &'static str {
    match (finding.keys, finding.is_as_it_should_be()) {
        (Keys::Program, true) => "holds",
        (Keys::Program, false) => "broken",
        (_, true) => "caught",
        (_, false) => "missed",
    }
}

fn whole_verdict(finding: &WholeFinding) -> &'static str {
    match (finding.is_mutant, finding.is_as_it_should_be()) {
        (false, true) => "holds",
        (false, false) => "broken",
        (true, true) => "caught",
        (true, false) => "missed",
    }
}

fn mutant_verdict(finding: &MutantFinding) -> &'static str {
    if finding.is_caught() { "caught" } else { "missed" }
}

fn as_json(report: &Report) -> Value {
    let whole: Vec<Value> = report.whole.iter().map(whole_as_json).collect();
    let power = &report.power;
    json!({
        "format": JSON_FORMAT, "alpha": ALPHA, "sound": report.is_sound(), "engines": engines(report),
        "mutants": mutants(report), "pairs": pairs(report), "whole": whole,
        "power": {
            "samples": power.samples, "claimed": 1.0, "tried": power.tried, "smallest_found": power.smallest_found,
        },
    })
}

fn whole_as_json(finding: &WholeFinding) -> Value {
    json!({
        "about": finding.about, "is_mutant": finding.is_mutant, "epsilon_micro": finding.epsilon,
        "lower_bound": finding.lower_bound, "samples": finding.samples, "event": finding.event,
        "verdict": whole_verdict(finding),
    })
}

fn engines(report: &Report) -> Vec<Value> {
    report
        .engines
        .iter()
        .map(|finding| {
            json!({
                "engine": finding.engine, "input": finding.input, "height": finding.height,
                "epsilon_micro": finding.epsilon, "lower_bound": finding.lower_bound,
                "samples": finding.samples, "recorded_pairs": finding.pairs,
                "breach": finding.breach, "verdict": engine_verdict(finding),
            })
        })
        .collect()
}

fn mutants(report: &Report) -> Vec<Value> {
    report
        .mutants
        .iter()
        .map(|finding| {
            let mut caught_by = Vec::new();
            if finding.breach.is_some() {
                caught_by.push("recorded");
            }
            if finding.caught_by_statistics() {
                caught_by.push("statistical");
            }
            json!({
                "mutant": finding.mutant, "height": finding.height,
                "epsilon_micro": finding.epsilon, "lower_bound": finding.lower_bound,
                "samples": finding.samples, "breach": finding.breach, "caught_by": caught_by,
                "verdict": mutant_verdict(finding),
            })
        })
        .collect()
}

fn pairs(report: &Report) -> Vec<Value> {
    report
        .pairs
        .iter()
        .map(|finding| {
            json!({
                "pair": finding.pair.in_words(), "keys": finding.keys.in_words(),
                "epsilon_micro": finding.epsilon, "lower_bound": finding.lower_bound,
                "samples": finding.samples, "verdict": pair_verdict(finding),
            })
        })
        .collect()
}
