//! What a client hears from librdkafka beside its answers: the reasons.
//!
//! A wrong password or an unknown certificate shows in a call as "transport failure" or "timed out". Why, librdkafka
//! says only in its log and error callbacks, and those run only while somebody polls the client.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Message, Timestamp};
use rdkafka::producer::{DeliveryResult, ProducerContext};

use super::Error;
use super::shown::End;

/// A better reason stands for so long against worse ones.
const HOLDS: Duration = Duration::from_secs(60);

/// A client's context: remembers the last reason it was told, and the brokers' own time. Clones share their memory.
#[derive(Clone, Default, Debug)]
pub struct Watcher {
    heard: Arc<Mutex<Option<LastError>>>,
    /// When a broker took the last record, by its own clock, in milliseconds: of topics that are stamped so.
    stamped: Arc<Mutex<Option<i64>>>,
    /// The last record that was delivered to each partition.
    delivered: Arc<Mutex<Vec<End>>>,
}

#[derive(Debug)]
struct LastError {
    reason: String,
    weight: u8,
    at: Instant,
}

impl Watcher {
    /// The last reason for trouble, in librdkafka's words without its bookkeeping.
    pub fn reason(&self) -> Option<String> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.as_ref().map(|heard| heard.reason.clone())
    }

    /// When a broker took the last record that was delivered, by its own clock.
    pub fn stamped_millis(&self) -> Option<i64> {
        *self.stamped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last record that was delivered to each partition.
    pub fn delivered(&self) -> Vec<End> {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_delivered(&self, topic: &str, partition: i32, offset: i64) {
        let mut delivered = self.delivered.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            delivered.iter_mut().find(|end| end.topic == topic && end.partition == partition);
        match known {
            Some(end) => end.offset = end.offset.max(offset),
            None => delivered.push(End { topic: topic.to_owned(), partition, offset }),
        }
    }

    /// Forgets what it heard, so that old trouble does not explain new one.
    pub fn forget(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Takes note of a reason, unless a better one is fresh.
    pub fn note(&self, text: &str) {
        let reason = plain(text);
        let weight = weight(&reason);
        if weight == 0 {
            return;
        }
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let is_outdone =
            heard.as_ref().is_some_and(|old| old.weight > weight && old.at.elapsed() < HOLDS);
        if !is_outdone {
            *heard = Some(LastError { reason, weight, at: Instant::now() });
        }
    }
}

impl ClientContext for Watcher {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        // Facilities that end in WARN are about settings of the other kind of client: nothing failed.
        if (level as i32) <= RDKafkaLogLevel::Warning as i32 && !facility.ends_with("WARN") {
            self.note(message);
        }
    }

    fn error(&self, _error: KafkaError, reason: &str) {
        self.note(reason);
    }
}

impl ConsumerContext for Watcher {}

impl ProducerContext for Watcher {
    type DeliveryOpaque = ();

    fn delivery(&self, delivery: &DeliveryResult<'_>, _opaque: ()) {
        match delivery {
            Err((error, _)) => self.note(&error.to_string()),
            Ok(message) => {
                self.is_delivered(message.topic(), message.partition(), message.offset());
                if let Timestamp::LogAppendTime(millis) = message.timestamp() {
                    let mut stamped = self.stamped.lock().unwrap_or_else(PoisonError::into_inner);
                    *stamped = Some(millis);
                }
            }
        }
    }
}

/// How much a reason explains: 0 nothing, 3 why we are not let in.
fn weight(reason: &str) -> u8 {
    let lower = reason.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["authentication", "authorization", "sasl", "ssl", "certificate"]) {
        3
    } else if has(&["brokers are down", "application maximum poll"]) || lower.is_empty() {
        u8::from(!lower.is_empty())
    } else {
        2
    }
}

/// librdkafka's message without threads, states and repeats: `[thrd:x]: x: Connect to … failed: Connection refused
/// (after 0ms in state CONNECT, 3 identical error(s) suppressed)`.
fn plain(message: &str) -> String {
    let mut text = message.trim();
    if let Some((_, rest)) = text.strip_prefix("[thrd:").and_then(|inside| inside.split_once("]: "))
    {
        text = rest;
    }
    if let Some((before, rest)) = text.split_once(": ")
        && (before.contains("/bootstrap") || before.rsplit('/').next().is_some_and(is_number))
        && !before.contains(' ')
    {
        text = rest;
    }
    if let Some(at) = text.rfind(" (after ") {
        text = &text[..at];
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// One sentence for an error of a client, with the true reason if the watcher heard one.
pub fn explain(watcher: &Watcher, error: KafkaError) -> Error {
    explain_on(watcher, "", error)
}

/// The same, and says what was being done: "writing to the topic taps".
pub fn explain_on(watcher: &Watcher, doing: &str, error: KafkaError) -> Error {
    let lead = if doing.is_empty() { String::new() } else { format!("{doing} failed: ") };
    match &error {
        KafkaError::ClientConfig(_, what, name, _) => {
            return Error::Settings(format!("{name}: {what}"));
        }
        KafkaError::ClientCreation(what) => {
            return Error::Settings(format!("no Kafka client can be made: {what}"));
        }
        _ => {}
    }
    let own = match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::TopicAuthorizationFailed) => {
            "topic authorization failed: this user lacks a right on the topic (deploy/kafka/ACLS.md lists them)"
        }
        Some(RDKafkaErrorCode::GroupAuthorizationFailed) => {
            "group authorization failed: this user may not use the consumer group (deploy/kafka/ACLS.md)"
        }
        Some(RDKafkaErrorCode::TransactionalIdAuthorizationFailed) => {
            "transactional id authorization failed: this user may not use it (deploy/kafka/ACLS.md)"
        }
        Some(RDKafkaErrorCode::UnknownTopic | RDKafkaErrorCode::UnknownTopicOrPartition) => {
            let what = "there is no such topic, or this user may not see it";
            return Error::NoTopic(format!("{lead}{what}"));
        }
        // These say that nothing came back, not why.
        Some(
            RDKafkaErrorCode::BrokerTransportFailure
            | RDKafkaErrorCode::AllBrokersDown
            | RDKafkaErrorCode::OperationTimedOut
            | RDKafkaErrorCode::MessageTimedOut
            | RDKafkaErrorCode::Authentication
            | RDKafkaErrorCode::SSL
            | RDKafkaErrorCode::Resolve,
        ) => {
            let reason = watcher.reason().unwrap_or_else(|| error.to_string());
            return Error::Failed(format!("{lead}{reason}"));
        }
        _ => return Error::Failed(format!("{lead}{error}")),
    };
    Error::Failed(format!("{lead}{own}"))
}
