//! `tapveil generate`: a synthetic city, ready for `sanitize`, or a live feed into Kafka.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::failure::say;
use super::init::{engine_section, write_feed};
#[cfg(feature = "kafka")]
use super::live;
use super::progress::Progress;
#[cfg(feature = "kafka")]
use super::sending::SendArguments;
use super::{Failure, twin};
use crate::city::{City, Preset};
use crate::config;
use crate::engine::{DEFAULT, Registry};
use crate::ingest::format::Format;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Which city: metro, bus, metro200k, stm514k, stm-metro, stm-bus, bus20, random100 or taxis
    #[arg(long, value_name = "P", required_unless_present = "like")]
    preset: Option<String>,
    /// Instead of a preset: a twin of the feed with this configuration, made-up people at its own stations. Gives taps
    /// to choose an engine on, without looking at anybody's
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "hours", "engine"], requires = "out")]
    like: Option<PathBuf>,
    /// With --like: take how many cards and taps there are from this release, whose numbers have noise
    #[arg(long, value_name = "DIR", requires = "like", conflicts_with = "cards")]
    totals: Option<PathBuf>,
    /// How many cards; the preset's own number if left out
    #[arg(long, value_name = "N")]
    cards: Option<u64>,
    /// Only the taps of so many hours from the window's start on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=744))]
    hours: Option<u32>,
    /// The same seed gives the same city
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(super) seed: u64,
    /// Which engine the configuration names; `tapveil config --default` lists them
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    engine: String,
    /// Where to put taps.csv, stations.csv and what `init` writes
    #[cfg_attr(
        feature = "kafka",
        arg(required_unless_present = "topic", conflicts_with = "topic")
    )]
    #[cfg_attr(not(feature = "kafka"), arg(required = true))]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[cfg(feature = "kafka")]
    #[command(flatten)]
    pub(super) live: LiveArguments,
}

#[cfg(feature = "kafka")]
/// Options of a live feed.
#[derive(clap::Args)]
#[command(next_help_heading = "A live feed")]
pub(super) struct LiveArguments {
    /// Send taps that happen now into Kafka: into this topic, or the configured one if no name follows
    #[arg(long, value_name = "T", num_args = 0..=1, requires = "config")]
    pub(super) topic: Option<Option<String>>,
    /// The configuration file: where Kafka is, and which stations exist
    #[arg(short, long, value_name = "FILE", requires = "topic")]
    pub(super) config: Option<PathBuf>,
    #[command(flatten)]
    pub(super) send: SendArguments,
    /// How long, e.g. 90s or 15m; until Ctrl-C if left out
    #[arg(long = "for", value_name = "DURATION", requires = "topic")]
    pub(super) how_long: Option<String>,
    /// Taps happened up to so many seconds ago, at random
    #[arg(long, value_name = "SECS", default_value_t = 0, requires = "topic")]
    pub(super) disorder: u32,
    /// This share of the taps is late, e.g. 0.01
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, requires = "late_by")]
    pub(super) late: f64,
    /// By how many seconds late taps are late
    #[arg(long, value_name = "SECS", default_value_t = 0, requires = "topic")]
    pub(super) late_by: u32,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    if let (Some(like), Some(out)) = (&arguments.like, &arguments.out) {
        let given = twin::Given {
            config: like,
            totals: arguments.totals.as_deref(),
            cards: arguments.cards,
            seed: arguments.seed,
        };
        return twin::run(&given, out, registry);
    }
    let usage = |error: crate::city::Error| Failure::usage(error.to_string());
    let preset: Preset = arguments.preset.as_deref().unwrap_or_default().parse().map_err(usage)?;
    let city = City::new(preset, arguments.cards, arguments.seed).map_err(usage)?;
    let city = match arguments.hours {
        Some(hours) => city.first_hours(hours),
        None => city,
    };
    let Some(out) = &arguments.out else { return without_files(arguments, &city, registry) };
    #[cfg(feature = "kafka")]
    if let Some(flag) = arguments.live.send.any_given() {
        return Err(Failure::usage(format!(
            "{flag} is for a feed into Kafka; with --out nothing is sent"
        )));
    }
    let section = engine_section(registry, &arguments.engine)?;
    let taps = write_city(&city, &section, out, false)?;
    let dir = out.display();
    let measured = city.measured();
    say(&format!(
        "{taps} taps of {} cards in {dir}\n\n{}\n\nnext:\n  tapveil sanitize --taps {dir}/taps.csv --config \
         {dir}/tapveil.toml --out RELEASES",
        measured.cards,
        measured.in_words()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Without a directory the taps go into Kafka.
#[cfg(feature = "kafka")]
fn without_files(
    arguments: &Arguments,
    city: &City,
    registry: &Registry,
) -> Result<ExitCode, Failure> {
    live::run(arguments, city, registry)
}

#[cfg(not(feature = "kafka"))]
fn without_files(_: &Arguments, _: &City, _: &Registry) -> Result<ExitCode, Failure> {
    Err(super::no_kafka::missing("generate without --out"))
}

/// Writes a city with its configuration; nothing of it stays behind if it fails.
pub(super) fn write_city(
    city: &City,
    engine: &str,
    dir: &Path,
    quiet: bool,
) -> Result<u64, Failure> {
    let [taps, stations] = ["taps.csv", "stations.csv"].map(|name| dir.join(name));
    if let Some(there) = [&taps, &stations].into_iter().find(|path| path.exists()) {
        let there = there.display();
        return Err(Failure::usage(format!("{there} is there already; generate never overwrites")));
    }
    write_feed(dir, &city.configuration(engine))?;
    let written = write_files(city, dir, [&taps, &stations], quiet);
    if written.is_err() {
        for name in ["taps.csv", "stations.csv", "tapveil.toml", "tapveil.secret", "tapveil.ledger"]
        {
            fs::remove_file(dir.join(name)).ok();
        }
    }
    written
}

/// The taps are in the form that the city's own configuration names.
fn write_files(
    city: &City,
    dir: &Path,
    [taps, stations]: [&Path; 2],
    quiet: bool,
) -> Result<u64, Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        Failure::external(format!("cannot write {}: {error}", path.display()))
    };
    let create = |path: &Path| {
        let file = File::create_new(path).map_err(|error| failed(path, error))?;
        Ok::<_, Failure>(BufWriter::with_capacity(1 << 16, file))
    };
    let mut out = create(stations)?;
    city.write_stations(&mut out)
        .and_then(|()| out.flush())
        .map_err(|error| failed(stations, error))?;
    let format = config::load(&dir.join("tapveil.toml"))?.feed.format;
    let progress = Progress::new(city.expected_taps(), "taps", quiet);
    progress.say("making taps");
    let mut out = create(taps)?;
    let n_taps = write_taps(city, format.as_ref(), None, &mut out, &mut |n| progress.at(n))
        .and_then(|n| out.flush().map(|()| n))
        .map_err(|error| failed(taps, error))?;
    progress.finish();
    Ok(n_taps)
}

/// Writes all taps of a city, card by card, and gives their number: in local time, or as moments of a zone. `progress`
/// is told how many there are, now and then and at the end.
pub(super) fn write_taps(
    city: &City,
    format: &dyn Format,
    zone: Option<&TimeZone>,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> io::Result<u64> {
    let write_line = |out: &mut dyn Write, mut line: Vec<u8>| {
        line.push(b'\n');
        out.write_all(&line)
    };
    if let Some(header) = format.header() {
        write_line(out, header)?;
    }
    let mut n_taps = 0;
    let mut card = None;
    for tap in city.taps() {
        let (_, name) = match card.take() {
            Some((number, name)) if number == tap.card => card.insert((number, name)),
            _ => card.insert((tap.card, tap.card_id())),
        };
        let time = match zone {
            Some(zone) => moment(tap.time, zone),
            None => tap.time.to_string(),
        };
        write_line(out, format.encode(&format.mapping().sample(name, tap.station, &time)))?;
        n_taps += 1;
        if n_taps % 4_096 == 0 {
            progress(n_taps);
        }
    }
    progress(n_taps);
    Ok(n_taps)
}

/// A local time as a moment; one that a clock change skips is taken for the one an hour later.
fn moment(time: DateTime, zone: &TimeZone) -> String {
    zone.to_ambiguous_zoned(time)
        .compatible()
        .map_or_else(|_| time.to_string(), |zoned| zoned.timestamp().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::format::{Mapping, STANDARD};

    #[test]
    fn every_format_reads_the_city_that_it_wrote() {
        let city = City::new(Preset::Bus, Some(3_000), 13).unwrap();
        // A message of Avro is no line: it may hold a line feed.
        for registration in STANDARD.iter().filter(|one| one.name != "avro") {
            let mapping = Mapping::of_fields("card", "station", "time");
            let format = registration.with_defaults(mapping).unwrap();
            let (mut bytes, mut told) = (Vec::new(), Vec::new());
            let n = write_taps(&city, format.as_ref(), None, &mut bytes, &mut |n| told.push(n))
                .unwrap();
            assert!(told.is_sorted() && told.last() == Some(&n) && told.len() > 2, "{told:?}");
            let text = String::from_utf8(bytes).unwrap();
            let mut lines = text.lines();
            let format = match format.has_header(text.as_bytes()) {
                true => format.below(lines.next().unwrap()).unwrap().format,
                false => format,
            };
            for tap in city.taps() {
                let picked = format.pick(lines.next().unwrap().as_bytes()).unwrap();
                assert_eq!(picked.card, tap.card_id(), "{}", registration.name);
                assert_eq!(
                    (&*picked.station, &*picked.time),
                    (tap.station, &*tap.time.to_string())
                );
                assert_eq!(format.mapping().judge(&picked), Ok(()));
            }
            assert_eq!(lines.next(), None);
        }
    }
}
