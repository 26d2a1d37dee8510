//! `tapveil generate --like`: a twin of a feed, made-up people at its own public stations. What it is like is known
//! without looking at anybody's taps: choosing an engine on it leaks nothing.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use super::Failure;
use super::failure::say;
use super::generate::write_taps;
use super::progress::Progress;
use crate::city::{City, Stop, Totals};
use crate::config::{self, Settings};
use crate::engine::Registry;
use crate::evaluate;
use crate::model::Station;

/// Cards of a twin of which nothing is known.
const USUAL_CARDS: u64 = 100_000;

/// What a twin is made from.
pub(super) struct Given<'a> {
    pub(super) config: &'a Path,
    pub(super) totals: Option<&'a Path>,
    pub(super) cards: Option<u64>,
    pub(super) seed: u64,
}

pub(super) fn run(given: &Given<'_>, out: &Path, registry: &Registry) -> Result<ExitCode, Failure> {
    let settings = config::load_with(given.config, registry)?;
    let totals = match given.totals {
        Some(dir) => published(dir, &settings)?,
        None => Totals { cards: given.cards.unwrap_or(USUAL_CARDS), mean_taps: None },
    };
    let stops: Vec<Stop> = settings.stations.iter().map(stop).collect();
    let start = settings.from.map(|from| from.date());
    let days = u32::try_from(settings.calendar.longest_secs().div_euclid(86_400)).unwrap_or(7);
    let city = City::twin(&stops, days, start, totals, given.seed)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let format = settings.feed.format.as_ref();
    let name = if format.header().is_some() { "taps.csv" } else { "taps.jsonl" };
    let path = out.join(name);
    let failed = |error: std::io::Error| {
        Failure::external(format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(out).map_err(failed)?;
    let mut file = BufWriter::new(File::create_new(&path).map_err(failed)?);
    let progress = Progress::new(city.expected_taps(), "taps", false);
    progress.say("making taps of a twin");
    // Times without an offset are rejects of a feed that names no zone.
    let zone = settings.feed.local_zone.is_none().then(|| settings.calendar.zone());
    let n_taps = write_taps(&city, format, zone, &mut file, &mut |n| progress.at(n))
        .and_then(|n| file.flush().map(|()| n))
        .map_err(failed)?;
    progress.finish();
    let (taps, config) = (path.display(), given.config.display());
    say(&format!(
        "{n_taps} taps of {} made-up cards at the feed's stations in {taps}\nnothing in it was counted from real \
         taps: choosing by it leaks nothing\n\nnext:\n  tapveil compare --taps {taps} -c {config} --engines \
         weave,safepath --epsilons 0.5,1.0",
        city.n_cards()
    ));
    Ok(ExitCode::SUCCESS)
}

fn stop(station: &Station) -> Stop {
    let place = station.lat.parse().ok().zip(station.lon.parse().ok());
    Stop { id: station.id.clone(), name: station.name.clone(), place, line: station.line.clone() }
}

/// What a release says of its window in all: noisy numbers, which anybody may know.
fn published(dir: &Path, settings: &Settings) -> Result<Totals, Failure> {
    let releases = evaluate::read(dir, settings)?;
    let Some(release) = releases.first() else {
        return Err(Failure::usage(format!("--totals {}: there is no release", dir.display())));
    };
    let counted: Vec<(u64, u64)> = match release.said.tables.as_ref().map(|tables| &tables.lengths)
    {
        Some(lengths) if !lengths.is_empty() => {
            lengths.iter().map(|one| (u64::from(one.taps), one.cards.value)).collect()
        }
        _ => release.said.rows.iter().map(|row| (row.path.len() as u64, row.count)).collect(),
    };
    let cards = counted.iter().map(|(_, cards)| cards).sum();
    let taps: u64 = counted.iter().map(|(taps, cards)| taps.saturating_mul(*cards)).sum();
    if cards == 0 {
        return Err(Failure::usage(format!(
            "--totals {}: the release has no passengers; give --cards instead",
            dir.display()
        )));
    }
    Ok(Totals { cards, mean_taps: Some(taps as f64 / cards as f64) })
}
