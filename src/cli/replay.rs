//! `tapveil replay`: a file of taps, played into Kafka.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use super::failure::say;
use super::progress::Progress;
use super::sending::{Chance, SendArguments, Shuffle, check_share, connected, feeder};
use super::taps_file::{Record, TapsFile};
use super::{ConfigArgument, Failure};
use crate::ingest::Decoder;
use crate::kafka::{Feeder, Outgoing, topics};

/// At most so many taps are held back for disorder, so that memory is bounded whatever the file says.
const HELD_MOST: usize = 1_000_000;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The file of taps: CSV with a header, or one JSON object a line
    #[arg(long, value_name = "FILE")]
    taps: PathBuf,
    #[command(flatten)]
    config: ConfigArgument,
    #[command(flatten)]
    send: SendArguments,
    /// Hold each tap back by up to so many seconds of the taps' own time, at random
    #[arg(long, value_name = "SECS", default_value_t = 0)]
    disorder: u32,
    /// The same seed gives the same disorder and duplicates
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    check_share("--duplicates", arguments.send.duplicates)?;
    let (settings, kafka) = connected(&arguments.config.config)?;
    let ingest = &settings.ingest;
    let (mut taps, output) =
        TapsFile::open(&arguments.taps, ingest.format, &ingest.fields, arguments.send.keyed)?;
    topics::make_taps(&kafka)?;
    let bytes = std::fs::metadata(&arguments.taps).map_or(0, |facts| facts.len());
    let progress = Progress::new(bytes, "bytes", false);
    let topic = &kafka.topics.taps;
    progress.say(&format!("playing {} into {topic}", arguments.taps.display()));
    let mut player = Player {
        feeder: feeder(&kafka, topic, &arguments.send, None)?,
        chance: Chance::new(arguments.seed),
        duplicates: arguments.send.duplicates,
        disorder: arguments.disorder,
        held: Shuffle::new(),
        // Only disorder looks into a tap, for its time.
        decoder: (arguments.disorder > 0).then(|| Decoder::new(ingest.clone())),
        newest: i64::MIN,
    };
    let began = Instant::now();
    let mut read = 0;
    while let Some(record) = taps.next(output)? {
        read += record.bytes;
        progress.at(read);
        if !player.play(record) {
            break;
        }
    }
    let delivered = player.finish()?;
    progress.finish();
    let seconds = began.elapsed().as_secs_f64();
    let rate = delivered as f64 / seconds.max(0.001);
    say(&format!(
        "{delivered} messages delivered to {topic} in {seconds:.1} s ({rate:.0} a second)"
    ));
    Ok(ExitCode::SUCCESS)
}

/// Sends taps in the file's order, or out of it on purpose.
struct Player {
    feeder: Feeder,
    chance: Chance,
    duplicates: f64,
    disorder: u32,
    held: Shuffle<Outgoing>,
    decoder: Option<Decoder>,
    /// The greatest event time so far, in seconds.
    newest: i64,
}

impl Player {
    /// False once sending has failed.
    fn play(&mut self, record: Record) -> bool {
        let Record { card: key, message: payload, .. } = record;
        if self.chance.happens(self.duplicates) {
            let again = Outgoing { key: key.clone(), payload: payload.clone() };
            if !self.pass(again) {
                return false;
            }
        }
        self.pass(Outgoing { key, payload })
    }

    fn pass(&mut self, message: Outgoing) -> bool {
        let event = self
            .decoder
            .as_mut()
            .and_then(|decoder| decoder.decode(&message.payload).ok())
            .map(|decoded| decoded.event.as_second());
        let Some(event) = event else { return self.feeder.send(message) };
        let due = event + self.chance.below(u64::from(self.disorder) + 1).cast_signed();
        self.held.hold(due, message);
        self.newest = self.newest.max(event);
        while let Some(message) = self.held.release(self.newest) {
            if !self.feeder.send(message) {
                return false;
            }
        }
        match self.held.len() > HELD_MOST {
            true => self.held.force().is_none_or(|message| self.feeder.send(message)),
            false => true,
        }
    }

    /// Sends what is held, then waits for everything.
    fn finish(mut self) -> Result<u64, Failure> {
        while let Some(message) = self.held.force() {
            if !self.feeder.send(message) {
                break;
            }
        }
        Ok(self.feeder.finish()?)
    }
}
