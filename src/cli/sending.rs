//! What `replay` and `generate --topic` share: how messages are sent, and how a feed is made worse on purpose.

use std::collections::BinaryHeap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::Failure;
use super::failure::remark;
use crate::config::{self, Settings};
use crate::engine::Registry;
use crate::kafka::{self, FeedOptions, Feeder};

/// Options of every command that sends taps.
#[derive(clap::Args)]
pub(super) struct SendArguments {
    /// Messages a second; 0 is as fast as possible. Left out: 1000 for a live feed, 0 for a file
    #[arg(long, value_name = "N")]
    rate: Option<u32>,
    /// How many producers share the work
    #[arg(long, value_name = "N", default_value = "1")]
    producers: NonZeroUsize,
    /// Send this share of the taps twice, e.g. 0.01
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(super) duplicates: f64,
    /// Give every message its card as key; without it they go to any partition
    #[arg(long)]
    pub(super) keyed: bool,
}

impl SendArguments {
    /// An option that was given, if any: they mean nothing where nothing is sent.
    pub(super) fn any_given(&self) -> Option<&'static str> {
        let given = [
            (self.rate.is_some(), "--rate"),
            (self.producers.get() > 1, "--producers"),
            (self.duplicates > 0.0, "--duplicates"),
            (self.keyed, "--keyed"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }

    /// With a rate for whoever names none; 0 is as fast as possible.
    fn options(&self, usual: Option<u32>) -> FeedOptions {
        let rate = self.rate.or(usual).and_then(NonZeroU32::new);
        FeedOptions { rate, producers: self.producers }
    }
}

/// Complains about a share that is none.
pub(super) fn check_share(flag: &str, share: f64) -> Result<(), Failure> {
    match (0.0..=1.0).contains(&share) {
        true => Ok(()),
        false => Err(Failure::usage(format!("{flag} must be from 0 to 1, not {share}"))),
    }
}

/// Loads the configuration and waits for its brokers.
pub(super) fn connected(
    path: &Path,
    registry: &Registry,
) -> Result<(Settings, kafka::Settings), Failure> {
    let settings = config::load_with(path, registry)?;
    let kafka = settings.required_kafka(path)?.clone();
    settings.feed.format.writes().map_err(|what| Failure::usage(what.to_owned()))?;
    kafka::connect(&kafka, &mut remark, &|| false)?;
    Ok((settings, kafka))
}

/// Starts sending into the topic of the taps, or into another one.
pub(super) fn feeder(
    kafka: &kafka::Settings,
    topic: &str,
    arguments: &SendArguments,
    usual_rate: Option<u32>,
) -> Result<Feeder, Failure> {
    Ok(Feeder::start(kafka, topic, arguments.options(usual_rate))?)
}

/// Randomness for feeds: the same seed gives the same feed.
pub(super) struct Chance(ChaCha8Rng);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// True with this probability.
    pub(super) fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && (self.0.next_u64() as f64) < share * (u64::MAX as f64)
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound.max(1)
    }
}

/// Holds things back for a while, each for its own time, so that they come out of order.
pub(super) struct Shuffle<T> {
    held: BinaryHeap<Held<T>>,
    next: u64,
}

struct Held<T> {
    due: i64,
    number: u64,
    thing: T,
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.due, self.number) == (other.due, other.number)
    }
}
impl<T> Eq for Held<T> {}
impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Held<T> {
    /// The heap gives its greatest first; the first due is the greatest.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl<T> Shuffle<T> {
    pub(super) fn new() -> Self {
        Self { held: BinaryHeap::new(), next: 0 }
    }

    /// Holds a thing until `due`.
    pub(super) fn hold(&mut self, due: i64, thing: T) {
        self.held.push(Held { due, number: self.next, thing });
        self.next += 1;
    }

    /// How many are held.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// The next thing that is due by now.
    pub(super) fn release(&mut self, now: i64) -> Option<T> {
        match self.held.peek()?.due <= now {
            true => self.held.pop().map(|held| held.thing),
            false => None,
        }
    }

    /// The next thing, due or not.
    pub(super) fn force(&mut self) -> Option<T> {
        self.held.pop().map(|held| held.thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_out_when_they_are_due() {
        let mut shuffle = Shuffle::new();
        for (due, thing) in [(5, "late"), (1, "first"), (1, "second")] {
            shuffle.hold(due, thing);
        }
        assert_eq!(shuffle.release(0), None);
        assert_eq!(
            [shuffle.release(1), shuffle.release(1), shuffle.release(1)],
            [Some("first"), Some("second"), None]
        );
        assert_eq!((shuffle.len(), shuffle.force(), shuffle.force()), (1, Some("late"), None));
    }

    #[test]
    fn chances_are_about_what_they_say() {
        let mut chance = Chance::new(1);
        let hits = (0..100_000).filter(|_| chance.happens(0.25)).count();
        assert!((24_000..26_000).contains(&hits), "{hits}");
        assert!(!chance.happens(0.0) && chance.happens(1.0));
    }
}
