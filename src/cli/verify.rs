//! `tapveil verify DIR`: are these releases what was published?

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::failure::say;
use super::{Failure, JSON_FORMAT};
use crate::publish::verify::{Report, verify, verify_with_key};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// A directory of releases, or one release
    dir: PathBuf,
    /// The public key that must have signed every release; `tapveil init` prints it, and the agency hands it out
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let report = match &arguments.key {
        Some(key) => verify_with_key(&arguments.dir, key.trim())?,
        None => verify(&arguments.dir)?,
    };
    match arguments.json {
        true => say(&as_json(&report).to_string()),
        false => say_report(&report),
    }
    Ok(ExitCode::from(u8::from(!report.is_sound())))
}

/// The findings in words.
pub(super) fn say_report(report: &Report) {
    for release in &report.releases {
        match release.problems.is_empty() {
            true => {
                say(&format!("good  {}  {}", release.name, release.id.as_deref().unwrap_or("")))
            }
            false => say(&format!("BAD   {}", release.name)),
        }
        for problem in &release.problems {
            say(&format!("  {}: {}", problem.file, problem.what));
        }
    }
    for problem in &report.catalog {
        say(&format!("BAD   {}: {}", problem.file, problem.what));
    }
    let signers: BTreeSet<&str> =
        report.releases.iter().filter_map(|release| release.signed_by.as_deref()).collect();
    for key in signers {
        say(&format!(
            "signed by {key}: compare it with the key that the agency hands out, or use --key"
        ));
    }
    for note in &report.notes {
        say(&format!("note: {note}"));
    }
}

fn as_json(report: &Report) -> serde_json::Value {
    let releases: Vec<_> = report
        .releases
        .iter()
        .map(|release| {
            let problems: Vec<_> = release
                .problems
                .iter()
                .map(|problem| json!({ "file": problem.file, "what": problem.what }))
                .collect();
            json!({
                "name": release.name, "release_id": release.id, "signed_by": release.signed_by, "problems": problems,
            })
        })
        .collect();
    let catalog: Vec<_> = report
        .catalog
        .iter()
        .map(|problem| json!({ "file": problem.file, "what": problem.what }))
        .collect();
    json!({ "format": JSON_FORMAT, "sound": report.is_sound(), "releases": releases, "catalog": catalog, "notes": report.notes })
}
