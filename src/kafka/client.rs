//! Client configurations. What exactly-once rests on is set last: nothing from outside overrides it.

use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer};

use super::{Error, Protocol, Settings, Watcher, explain};

/// What brokers allow a transaction before they end it.
pub(super) const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(15);

/// One question to the brokers may take so long.
const ANSWER: Duration = Duration::from_secs(1);
/// The pauses between questions grow to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What a producer sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Load {
    /// Text, which compresses well.
    Text,
    /// Encrypted segments, which do not compress at all.
    Encrypted,
}

impl Load {
    fn compression(self) -> &'static str {
        match self {
            Self::Text => "zstd",
            Self::Encrypted => "none",
        }
    }
}

impl Settings {
    /// What every client has: addresses, a name, and the configured properties.
    pub fn client(&self) -> ClientConfig {
        self.layered(&[], &[])
    }

    /// A member of a group that commits by transactions only. Vanished input is an error, not a gap.
    pub fn group_consumer(&self, group: &str) -> ClientConfig {
        let mut usual = vec![
            // The default, a second, halves the rate of a fast reader.
            ("fetch.queue.backoff.ms", "1"),
            // What is fetched and not yet read is memory too.
            ("queued.max.messages.kbytes", "16384"),
            ("max.poll.interval.ms", "300000"),
            // A partition that was added is read after so long.
            ("topic.metadata.refresh.interval.ms", "30000"),
            // Seldom: a report costs as much as a thousand taps.
            ("statistics.interval.ms", "30000"),
        ];
        if self.protocol == Protocol::Classic {
            // The consumer protocol refuses this: there the broker decides.
            // Six seconds is the least that brokers allow by default: so soon a dead worker's partitions move.
            usual.push(("session.timeout.ms", "6000"));
            usual.push(("heartbeat.interval.ms", "2000"));
        }
        let fixed = [
            ("group.id", group),
            ("group.protocol", self.protocol.name()),
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
            ("auto.offset.reset", "error"),
            ("isolation.level", "read_committed"),
            ("enable.partition.eof", "false"),
        ];
        self.layered(&usual, &fixed)
    }

    /// A reader that assigns itself partitions and never commits. It needs no right on its group: see
    /// [`is_passing`](super::is_passing).
    pub fn plain_consumer(&self, isolation: &str) -> ClientConfig {
        let group = format!("{}.reader", self.group);
        let fixed = [
            ("group.id", group.as_str()),
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
            ("auto.offset.reset", "error"),
            ("isolation.level", isolation),
            ("enable.partition.eof", "true"),
        ];
        let usual = [
            ("fetch.queue.backoff.ms", "1"),
            // The end of a topic is answered at once, not after the default of half a second.
            ("fetch.wait.max.ms", "10"),
            ("statistics.interval.ms", "0"),
        ];
        self.layered(&usual, &fixed)
    }

    /// A producer whose records appear with its positions, or not at all.
    pub fn transactional_producer(&self, transactional_id: &str, load: Load) -> ClientConfig {
        let timeout = TRANSACTION_TIMEOUT.as_millis().to_string();
        let usual = [
            // A dead worker's open transaction holds readers up for so long.
            ("transaction.timeout.ms", timeout.as_str()),
            ("compression.type", load.compression()),
            ("linger.ms", "5"),
        ];
        let fixed = [
            ("transactional.id", transactional_id),
            ("enable.idempotence", "true"),
            ("acks", "all"),
        ];
        self.layered(&usual, &fixed)
    }

    /// A producer without transactions that neither loses nor doubles on a retry.
    pub fn plain_producer(&self) -> ClientConfig {
        let usual = [
            ("compression.type", "zstd"),
            ("linger.ms", "20"),
            ("queue.buffering.max.messages", "200000"),
            ("queue.buffering.max.kbytes", "131072"),
        ];
        self.layered(&usual, &[("enable.idempotence", "true"), ("acks", "all")])
    }

    /// Usual values, then the configured properties over them, then what must be so.
    fn layered(&self, usual: &[(&str, &str)], fixed: &[(&str, &str)]) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("client.id", "tapveil").set("socket.keepalive.enable", "true");
        // Retries come soon at first, and never so seldom that a broker's return goes unnoticed.
        config.set("reconnect.backoff.ms", "100").set("reconnect.backoff.max.ms", "2000");
        for (name, value) in usual {
            config.set(*name, *value);
        }
        for property in &self.properties {
            config.set(property.name(), property.value());
        }
        config.set("bootstrap.servers", &self.brokers);
        for (name, value) in fixed {
            config.set(*name, *value);
        }
        // Why a broker refused us arrives in the log callback alone, as an error.
        config.set_log_level(RDKafkaLogLevel::Warning);
        config
    }
}

/// Waits until brokers answer, at most `connect_timeout`. `say` hears, once, that and why it takes a while. False if
/// `is_stopped` said so meanwhile.
pub fn connect(
    settings: &Settings,
    say: &mut dyn FnMut(&str),
    is_stopped: &dyn Fn() -> bool,
) -> Result<bool, Error> {
    let watcher = Watcher::default();
    let client: BaseConsumer<Watcher> = settings
        .plain_consumer("read_committed")
        .create_with_context(watcher.clone())
        .map_err(|error| explain(&watcher, error))?;
    let began = Instant::now();
    let left = || settings.connect_timeout.saturating_sub(began.elapsed());
    let mut pause = Duration::from_millis(100);
    let mut has_said = false;
    loop {
        let answer = ANSWER.min(left()).max(Duration::from_millis(100));
        let Err(error) = client.fetch_metadata(None, answer) else { return Ok(true) };
        if is_stopped() {
            return Ok(false);
        }
        // Polling is what makes the client tell its context the reasons.
        while client.poll(Duration::ZERO).is_some() {}
        if left().is_zero() {
            return Err(Error::Unreachable {
                brokers: settings.brokers.clone(),
                waited: began.elapsed().as_secs(),
                reason: watcher.reason().unwrap_or_else(|| error.to_string()),
            });
        }
        if !has_said {
            let reason = watcher.reason().unwrap_or_else(|| error.to_string());
            say(&format!("waiting for a broker at {}: {reason}", settings.brokers));
            has_said = true;
        }
        std::thread::sleep(pause.min(left()));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
