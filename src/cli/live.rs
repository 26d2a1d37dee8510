//! `tapveil generate --topic`: a live feed of made-up passengers, whose taps happen now.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::Failure;
use super::failure::say;
use super::generate::{Arguments, LiveArguments};
use super::progress::Progress;
use super::sending::{Chance, check_share, connected, feeder};
use crate::city::City;
use crate::clock::{Clock, SystemClock};
use crate::config::{self, Settings};
use crate::engine::Registry;
use crate::kafka::{Outgoing, topics};
use crate::model::StationIx;

/// Messages a second unless somebody says otherwise.
const USUAL_RATE: u32 = 1_000;

pub(super) fn run(
    arguments: &Arguments,
    city: &City,
    registry: &Registry,
) -> Result<ExitCode, Failure> {
    let live = &arguments.live;
    let how_long = check(live)?;
    let Some(path) = &live.config else {
        return Err(Failure::usage("--topic needs a configuration: add -c FILE".to_owned()));
    };
    let (settings, mut kafka) = connected(path, registry)?;
    if let Some(Some(topic)) = &live.topic {
        kafka.topics.taps.clone_from(topic);
    }
    topics::make_taps(&kafka)?;
    let topic = kafka.topics.taps.clone();
    let mut send = feeder(&kafka, &topic, &live.send, Some(USUAL_RATE))?;
    let mut riders = Riders::new(&settings, live, city.n_cards(), arguments.seed);
    let stop = stop_on_ctrl_c()?;
    let total = how_long.map_or(0, |how_long| how_long.as_secs());
    let progress = Progress::new(total, "s", false);
    progress.say(&format!("taps of {} cards into {topic}; Ctrl-C ends it", city.n_cards()));
    let began = Instant::now();
    let is_over = || {
        stop.load(Ordering::Relaxed) || how_long.is_some_and(|how_long| began.elapsed() >= how_long)
    };
    while !is_over() {
        let (message, is_double) = riders.tap(SystemClock.now(), live.send.keyed);
        let again = is_double
            .then(|| Outgoing { key: message.key.clone(), payload: message.payload.clone() });
        let sent = send.send(message) && again.is_none_or(|again| send.send(again));
        progress.at(began.elapsed().as_secs());
        if !sent {
            break;
        }
    }
    let delivered = send.finish()?;
    progress.finish();
    let seconds = began.elapsed().as_secs_f64();
    say(&format!("{delivered} messages delivered to {topic} in {seconds:.1} s"));
    Ok(ExitCode::SUCCESS)
}

/// Checks what clap cannot; gives how long the feed lasts.
fn check(live: &LiveArguments) -> Result<Option<Duration>, Failure> {
    check_share("--duplicates", live.send.duplicates)?;
    check_share("--late", live.late)?;
    let Some(text) = &live.how_long else { return Ok(None) };
    let secs = config::duration_secs(text).and_then(|secs| u64::try_from(secs).ok());
    match secs {
        Some(secs) if secs > 0 => Ok(Some(Duration::from_secs(secs))),
        _ => Err(Failure::usage(format!(
            "--for {text:?} is not a duration like \"90s\", \"15m\" or \"2h\""
        ))),
    }
}

/// Passengers who go back and forth between two stations each, some of them popular.
struct Riders<'a> {
    settings: &'a Settings,
    live: &'a LiveArguments,
    n_cards: u64,
    seed: u64,
    chance: Chance,
}

impl<'a> Riders<'a> {
    fn new(settings: &'a Settings, live: &'a LiveArguments, n_cards: u64, seed: u64) -> Self {
        Self { settings, live, n_cards, seed, chance: Chance::new(seed) }
    }

    /// One tap, and whether it is to be sent twice.
    fn tap(&mut self, now: Timestamp, keyed: bool) -> (Outgoing, bool) {
        let card = self.chance.below(self.n_cards);
        let way = self.chance.below(2);
        let place = self.station(card, way);
        let station = &self.settings.stations.get(place).id;
        let behind = match self.chance.happens(self.live.late) {
            true => u64::from(self.live.late_by) * 1_000,
            false => self.chance.below(u64::from(self.live.disorder) * 1_000 + 1),
        };
        let event =
            now.checked_sub(SignedDuration::from_millis(behind.cast_signed())).unwrap_or(now);
        let name = format!("c{card:08}");
        let format = &self.settings.feed.format;
        let time = format!("{event:.3}");
        let payload = format.encode(&format.mapping().sample(&name, station, &time));
        let is_double = self.chance.happens(self.live.send.duplicates);
        (Outgoing { key: keyed.then_some(name), payload }, is_double)
    }

    /// A card's home (way 0) or destination (way 1): the same for ever. The square makes few stations busy, so that
    /// a release of a short window has something to show.
    fn station(&self, card: u64, way: u64) -> StationIx {
        let mut draw =
            Chance::new(self.seed ^ (card * 2 + way).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let n = u64::from(self.settings.stations.len());
        let unit = draw.below(1_000_000);
        let square = unit * unit / 1_000_000;
        StationIx(u32::try_from(square * n / 1_000_000).unwrap_or(0))
    }
}

/// A flag that Ctrl-C raises: what was sent is still delivered. A second Ctrl-C ends the program at once.
fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::external(format!("the system gives no event loop: {error}")))?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if raised.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
            }
        });
    });
    Ok(stop)
}
