//! `tapveil quickstart`: the whole way in one command, with nothing but this program.

use std::path::PathBuf;
use std::process::ExitCode;

use super::failure::say;
use super::generate::write_city;
use super::init::engine_section;
use super::sanitize::Wanted;
use super::{COMMIT, Failure, VERSION};
use crate::city::{City, Preset};
use crate::config;
use crate::engine::{DEFAULT, Registry};
use crate::ledger::Edition;
use crate::metrics::Metrics;
use crate::publish::verify::verify;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Where the city and its releases go; must not hold an earlier one
    #[arg(long, value_name = "DIR", default_value = "tapveil-quickstart")]
    out: PathBuf,
    /// How many cards the city has
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    cards: u64,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let dir = &arguments.out;
    let usage = |error: crate::city::Error| Failure::usage(error.to_string());
    let city = City::new(Preset::Metro, Some(arguments.cards), 1).map_err(usage)?;
    say(&format!("1. a synthetic city of {} cards in {}", city.n_cards(), dir.display()));
    write_city(&city, &engine_section(registry, DEFAULT)?, dir, false)?;
    let settings = config::load_with(&dir.join("tapveil.toml"), registry)?;
    let releases = dir.join("releases");
    say("2. one window of a week, released with differential privacy");
    let taps = dir.join("taps.csv");
    let metrics = Metrics::new(VERSION, COMMIT);
    let wanted = Wanted { span: settings.span(), edition: Edition::First, quiet: false };
    let summary =
        super::sanitize::sanitize(&settings, &taps.as_path().into(), &releases, wanted, &metrics)?;
    super::sanitize::say_summary(&summary, &releases);
    say("3. the release, checked as a recipient would");
    let report = verify(&releases)?;
    super::verify::say_report(&report);
    let config = dir.join("tapveil.toml");
    say(&format!(
        "\nwhat to try next:\n  less {}/*/README.md, or open report.html beside it in a browser\n  tapveil check -c {}\n  tapveil ledger show -c {}",
        releases.display(),
        config.display(),
        config.display()
    ));
    Ok(ExitCode::from(u8::from(!report.is_sound())))
}
