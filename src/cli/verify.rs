//! `tapveil verify DIR`: are these releases what was published?

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::failure::{one_line, say};
use super::{Failure, JSON_FORMAT};
use crate::publish::verify::{Options, Report, verify_with};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// A directory of releases, or one release
    dir: PathBuf,
    /// The public key that must have signed every release; `tapveil init` prints it, and the agency hands it out
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// A release of more MiB than this is refused unread
    #[arg(long, value_name = "N", default_value_t = Options::default().most_bytes >> 20)]
    max_mib: u64,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let options = Options {
        key: arguments.key.as_deref().map(str::trim),
        most_bytes: arguments.max_mib.saturating_mul(1 << 20),
    };
    let report = verify_with(&arguments.dir, &options)?;
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
                let id = release.id.as_deref().unwrap_or("");
                say(&format!("good  {}  {}", one_line(&release.name), one_line(id)));
            }
            false => say(&format!("BAD   {}", one_line(&release.name))),
        }
        for problem in &release.problems {
            say(&format!("  {}: {}", one_line(&problem.file), one_line(&problem.what)));
        }
    }
    for problem in &report.catalog {
        say(&format!("BAD   {}: {}", one_line(&problem.file), one_line(&problem.what)));
    }
    let signers: BTreeSet<&str> =
        report.releases.iter().filter_map(|release| release.signed_by.as_deref()).collect();
    for key in signers {
        say(&format!(
            "signed by {}: compare it with the key that the agency hands out, or use --key",
            one_line(key)
        ));
    }
    for note in &report.notes {
        say(&format!("note: {}", one_line(note)));
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
