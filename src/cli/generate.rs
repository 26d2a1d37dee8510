//! `tapveil generate`: a synthetic city, ready for `sanitize`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Failure;
use super::failure::say;
use super::init::write_feed;
use super::progress::Progress;
use crate::city::{City, Preset};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Which city: metro, bus, metro200k or stm514k
    #[arg(long, value_name = "P")]
    preset: String,
    /// How many cards; the preset's own number if left out
    #[arg(long, value_name = "N")]
    cards: Option<u64>,
    /// The same seed gives the same city
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Where to put taps.csv, stations.csv and what `init` writes
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let usage = |error: crate::city::Error| Failure::usage(error.to_string());
    let preset: Preset = arguments.preset.parse().map_err(usage)?;
    let city = City::new(preset, arguments.cards, arguments.seed).map_err(usage)?;
    let taps = write_city(&city, &arguments.out, false)?;
    let dir = arguments.out.display();
    say(&format!(
        "{taps} taps of {} cards in {dir}\nnext:\n  tapveil sanitize --taps {dir}/taps.csv --config \
         {dir}/tapveil.toml --out RELEASES",
        city.n_cards()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Writes a city with its configuration; nothing of it stays behind if it fails.
pub(super) fn write_city(city: &City, dir: &Path, quiet: bool) -> Result<u64, Failure> {
    let [taps, stations] = ["taps.csv", "stations.csv"].map(|name| dir.join(name));
    if let Some(there) = [&taps, &stations].into_iter().find(|path| path.exists()) {
        let there = there.display();
        return Err(Failure::usage(format!("{there} is there already; generate never overwrites")));
    }
    write_feed(dir, &city.configuration())?;
    let written = write_files(city, &taps, &stations, quiet);
    if written.is_err() {
        for name in ["taps.csv", "stations.csv", "tapveil.toml", "tapveil.secret", "tapveil.ledger"]
        {
            fs::remove_file(dir.join(name)).ok();
        }
    }
    written
}

fn write_files(city: &City, taps: &Path, stations: &Path, quiet: bool) -> Result<u64, Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        Failure::external(format!("cannot write {}: {error}", path.display()))
    };
    let create = |path: &Path| {
        File::create_new(path).map(BufWriter::new).map_err(|error| failed(path, error))
    };
    let mut out = create(stations)?;
    city.write_stations(&mut out)
        .and_then(|()| out.flush())
        .map_err(|error| failed(stations, error))?;
    let progress = Progress::new(city.expected_taps(), "taps", quiet);
    progress.say("making taps");
    let mut out = create(taps)?;
    let n_taps = city
        .write_taps(&mut out, &mut |n| progress.at(n))
        .and_then(|n| out.flush().map(|()| n))
        .map_err(|error| failed(taps, error))?;
    progress.finish();
    Ok(n_taps)
}
