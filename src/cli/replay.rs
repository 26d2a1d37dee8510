//! `tapveil replay`: a file of taps, played into Kafka.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use super::failure::say;
use super::progress::Progress;
use super::sending::{Chance, SendArguments, Shuffle, check_share, connected, feeder};
use super::taps_file::{Record, TapsFile};
use super::{ConfigArgument, Failure};
use crate::engine::Registry;
use crate::ingest::Decoder;
use crate::kafka::{Feeder, Outgoing, topics};

/// At most so many taps are held back for disorder, so that memory is bounded whatever the file says.
const HELD_MOST: usize = 1_000_000;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The file of taps, in the form of the feed or in another one with the same fields
    #[arg(long, value_name = "FILE")]
    taps: PathBuf,
    #[command(flatten)]
    config: ConfigArgument,
    #[command(flatten)]
    send: SendArguments,
    /// Play the taps in the order of their own times, whatever the file's order: the whole file is sorted in memory.
    /// A replay for window.close = "watermark" needs it, unless the file is in that order
    #[arg(long)]
    by_time: bool,
    /// Hold each tap back by up to so many seconds of the taps' own time, at random
    #[arg(long, value_name = "SECS", default_value_t = 0)]
    disorder: u32,
    /// The same seed gives the same disorder and duplicates
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    check_share("--duplicates", arguments.send.duplicates)?;
    let (settings, kafka) = connected(&arguments.config.config, registry)?;
    let ingest = &settings.ingest();
    let mut taps = TapsFile::open(&arguments.taps, ingest.format.clone(), arguments.send.keyed)?;
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
    let mut waiting = ByTime::new(arguments.by_time.then(|| Decoder::new(ingest.clone())));
    while let Some(record) = taps.next()? {
        read += record.bytes;
        progress.at(read);
        let Some(record) = waiting.hold(record) else { continue };
        if !player.play(record) {
            break;
        }
    }
    for record in waiting.sorted() {
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

/// Holds a whole file to bring it into the order of time, if that is asked for.
struct ByTime {
    decoder: Option<Decoder>,
    held: Vec<(i64, Record)>,
}

impl ByTime {
    fn new(decoder: Option<Decoder>) -> Self {
        Self { decoder, held: Vec::new() }
    }

    /// Keeps a record for later; gives it back if nothing is to be sorted.
    fn hold(&mut self, record: Record) -> Option<Record> {
        let Some(decoder) = &mut self.decoder else { return Some(record) };
        // What has no time that can be read stays behind the record before it.
        let before = self.held.last().map_or(i64::MIN, |(at, _)| *at);
        let decoded = decoder.decode(&record.message);
        let at = decoded.map_or(before, |decoded| decoded.event.as_millisecond());
        self.held.push((at, record));
        None
    }

    /// What is held, in order of time; equal times in the file's order.
    fn sorted(mut self) -> impl Iterator<Item = Record> {
        self.held.sort_by_key(|(at, _)| *at);
        self.held.into_iter().map(|(_, record)| record)
    }
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
