//! `tapveil demo`: the whole thing alive in one command, with a Kafka inside this process. The service is the one of
//! `run`; only its configuration is made here.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use jiff::civil::DateTime;

use super::failure::say;
use super::init::write_feed;
use super::run::{Console, last_words, stop_on_signals};
use super::{COMMIT, Failure, VERSION};
use crate::city::{City, CityTap, Preset};
use crate::clock::SystemClock;
use crate::config::{self, Settings};
use crate::engine::{DEFAULT, Registry};
use crate::ingest::format::Format;
use crate::kafka::{self, FeedOptions, Feeder, InProcess, Outgoing};
use crate::ledger::Journal;
use crate::pipeline::run::{Name, Role, Service, Stop};
use crate::pipeline::{Event, Observers};
use crate::publish::verify::verify;

const CONFIG: &str = include_str!("../../config/demo.toml");
const NOTE: &str =
    "A demonstration: its Kafka is a mock inside this process, and its passengers are made up.";
/// The three days take so long.
const SECONDS: u64 = 15;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Where the city and its releases go; must not hold an earlier one
    #[arg(long, value_name = "DIR", default_value = "tapveil-demo")]
    out: PathBuf,
    /// Which engine; `tapveil config --default` lists them
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    engine: String,
    /// How many cards the city has
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    cards: u64,
    /// Where the console is served
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: String,
    /// Keep the console open at the end, until Ctrl-C
    #[arg(long)]
    stay: bool,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let began = Instant::now();
    let dir = &arguments.out;
    let usage = |error: crate::city::Error| Failure::usage(error.to_string());
    let city = City::new(Preset::Metro, Some(arguments.cards), 1).map_err(usage)?;
    let cluster = InProcess::start()?;
    let text = CONFIG
        .replace("ENGINE", engine_section(registry, &arguments.engine)?)
        .replace("BROKERS", &cluster.brokers())
        .replace("LISTEN", &arguments.listen);
    write_feed(dir, &text)?;
    write_stations(&city, dir)?;
    let path = dir.join("tapveil.toml");
    let settings = config::load_with(&path, registry)?;
    let taps = write_days(&city, dir, settings.feed.format.as_ref())?;
    let kafka = cluster.settings(settings.required_kafka(&path)?)?;
    let stop = Stop::default();
    let console = Console::start(&settings, Role::All, Some(NOTE), &stop)?;
    console.serving.runtime.spawn(stop_on_signals(stop.clone()));
    say(&format!(
        "a made-up city of {} cards; three days of taps, one window a day, engine {}\n\
         console: http://{}/\n",
        city.n_cards(),
        arguments.engine,
        console.serving.address
    ));
    let played = play_and_run(&settings, &kafka, taps, &console, &stop)?;
    leave_files(&settings, &kafka, &path, &text)?;
    summary(dir, played, began)?;
    if arguments.stay {
        say(&format!("\nthe console stays at http://{}/ until Ctrl-C", console.serving.address));
        while !stop.is_asked() {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
    console.serving.end();
    Ok(ExitCode::SUCCESS)
}

/// Plays the taps while the service runs; gives how many were played.
fn play_and_run(
    settings: &Settings,
    kafka: &kafka::Settings,
    taps: Vec<(DateTime, Vec<u8>)>,
    console: &Console,
    stop: &Stop,
) -> Result<u64, Failure> {
    let per_second = u32::try_from(taps.len() as u64 / SECONDS + 1).unwrap_or(u32::MAX);
    let options = FeedOptions { rate: NonZeroU32::new(per_second), producers: NonZeroUsize::MIN };
    let service = Service {
        settings,
        kafka,
        name: Name::for_once(),
        role: Role::All,
        version: VERSION,
        commit: COMMIT,
        clock: &SystemClock,
        health: &console.shown.health,
        last_words: &last_words,
        observers: Observers {
            metrics: &console.shown.metrics,
            status: &console.shown.status,
            board: &console.shown.board,
            log: &|event| match event {
                Event::WaitingForLedger | Event::WaitingForBroker(_) | Event::Topic(_) => {}
                event => say(&format!("  {event}")),
            },
        },
    };
    std::thread::scope(|scope| {
        let feed = scope.spawn(|| -> Result<u64, Failure> {
            let mut feeder = Feeder::start(kafka, &kafka.topics.taps, options)?;
            let mut day = None;
            for (time, payload) in taps {
                if day != Some(time.date()) {
                    day = Some(time.date());
                    say(&format!("  taps of {} …", time.date()));
                }
                if stop.is_set() || !feeder.send(Outgoing { key: None, payload }) {
                    break;
                }
            }
            Ok(feeder.finish()?)
        });
        let done = crate::pipeline::run::run(&service, stop);
        // Whatever ended the service ends the feed.
        stop.set();
        let played = feed.join().expect("a feed that panics stops the demo");
        done.map_err(|error| Failure::new(error.kind(), error))?;
        played
    })
}

/// The cluster ends with this process. What it held as the feed's ledger goes into the feed's file, and the
/// configuration without the cluster takes the place of the one with it: every other command works on both.
fn leave_files(
    settings: &Settings,
    kafka: &kafka::Settings,
    path: &Path,
    text: &str,
) -> Result<(), Failure> {
    let lines = kafka::ledger::read_lines(kafka)?;
    Journal::take_over(&settings.ledger_file, &settings.secret.ledger_key(), &lines)?;
    let mut is_kept = true;
    let kept = text.lines().filter(|line| {
        is_kept = if line.starts_with('[') { !line.starts_with("[kafka") } else { is_kept };
        is_kept
    });
    let text = kept.collect::<Vec<_>>().join("\n") + "\n";
    std::fs::write(path, text).map_err(cannot_write(path))
}

/// The end: what there is now, and three things to try.
fn summary(dir: &Path, played: u64, began: Instant) -> Result<(), Failure> {
    let releases = dir.join("releases");
    let report = verify(&releases)?;
    let sound = if report.is_sound() { "every one checked and sound" } else { "NOT sound" };
    let (n, dir, releases) = (report.releases.len(), dir.display(), releases.display());
    say(&format!(
        "\n{played} taps became {n} releases in {releases}, {sound}, in {:.0} s\n\
         what to try next:\n  \
         tapveil demo --stay --out another        the same, and look at the console\n  \
         tapveil verify {releases}                what a recipient would check\n  \
         tapveil check -c {dir}/tapveil.toml      what the configuration promises and costs",
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}

fn cannot_write(dir: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::external(format!("cannot write into {}: {error}", dir.display()))
}

fn write_stations(city: &City, dir: &Path) -> Result<(), Failure> {
    let failed = cannot_write(dir);
    let mut stations = BufWriter::new(File::create_new(dir.join("stations.csv")).map_err(&failed)?);
    city.write_stations(&mut stations).and_then(|()| stations.flush()).map_err(failed)
}

/// Writes the first three days of taps, in order of time; gives the taps.
fn write_days(
    city: &City,
    dir: &Path,
    format: &dyn Format,
) -> Result<Vec<(DateTime, Vec<u8>)>, Failure> {
    let failed = cannot_write(dir);
    let ends = city.windows().begins() + jiff::SignedDuration::from_hours(3 * 24);
    let line = |tap: CityTap<'_>| {
        let (card, time) = (tap.card_id(), tap.time.to_string());
        (tap.time, format.encode(&format.mapping().sample(&card, tap.station, &time)))
    };
    let mut taps: Vec<_> = city.taps().filter(|tap| tap.time < ends).map(line).collect();
    taps.sort();
    let mut file = BufWriter::new(File::create_new(dir.join("taps.csv")).map_err(&failed)?);
    for line in format.header().iter().chain(taps.iter().map(|(_, line)| line)) {
        file.write_all(line).and_then(|()| file.write_all(b"\n")).map_err(&failed)?;
    }
    file.flush().map_err(failed)?;
    Ok(taps)
}

/// What `[engine]` says for this engine.
fn engine_section(registry: &Registry, name: &str) -> Result<&'static str, Failure> {
    registry.find(name).map(|engine| engine.demo).ok_or_else(|| {
        let known = registry.names().join(", ");
        Failure::usage(format!("{name:?} is not an engine; use one of {known}"))
    })
}
