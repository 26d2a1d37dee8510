//! Kafka clients: how to reach the brokers, what every client of ours must be set to, and the topics.
//!
//! In → out: checked [`Settings`] → client configurations, checked topics, taps sent, records read.
//! Promises: K-1 no property from outside changes what exactly-once rests on; K-2 a failure carries the
//!   broker's own reason, not only librdkafka's summary; K-3 no secret is ever printed.
//! Refuses: topics whose settings would lose a tap or a payment.
//! Why: the rules are the same for every client, so they stand in one place.

#[cfg(feature = "kafka")]
mod admin;
#[cfg(feature = "kafka")]
mod client;
#[cfg(feature = "kafka")]
mod crash;
#[cfg(feature = "kafka")]
mod epoch;
#[cfg(feature = "kafka")]
mod feeder;
#[cfg(feature = "kafka")]
mod group;
#[cfg(feature = "kafka")]
mod in_process;
#[cfg(feature = "kafka")]
pub mod ledger;
#[cfg(feature = "kafka")]
mod positions;
#[cfg(feature = "kafka")]
mod reader;
mod settings;
#[cfg(feature = "kafka")]
mod shown;
#[cfg(feature = "kafka")]
mod sweep;
#[cfg(feature = "kafka")]
pub mod topics;
#[cfg(feature = "kafka")]
mod transaction;
#[cfg(feature = "kafka")]
mod watcher;

#[cfg(feature = "kafka")]
pub use self::{
    client::{Load, connect},
    crash::crash_point,
    feeder::{Feeder, Options as FeedOptions, Outgoing},
    group::{Changes, Group, GroupStatus},
    in_process::InProcess,
    reader::{Received, ask_again, is_passing, read_committed, topic_metadata},
    shown::{End, Look, Unshown},
    topics::Warning,
    transaction::{Checks, HEADER, Membership, Transactions},
    watcher::{Watcher, explain, explain_on},
};
pub use settings::{HAS_TLS, Property, Protocol, Settings, TLS_BUILD, Topics};

use crate::model::ErrorKind;

#[cfg(feature = "kafka")]
/// Deletes the records of a topic's partition 0 before an offset.
pub fn delete_before(settings: &Settings, topic: &str, offset: i64) -> Result<(), Error> {
    if settings.is_in_process {
        return Ok(());
    }
    admin::Admin::new(settings)?.delete_before(topic, offset)
}

/// Why Kafka could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody answered in time.
    #[error("no broker at {brokers} answered within {waited} s: {reason}")]
    Unreachable {
        /// Where they should be.
        brokers: String,
        /// How long was waited, in seconds.
        waited: u64,
        /// The true reason.
        reason: String,
    },
    /// The brokers refused something or failed.
    #[error("{0}")]
    Failed(String),
    /// The client has given up for good and says nothing more: only a new one becomes a member again.
    #[error("{0}")]
    ThrownOut(String),
    /// A topic is not there, or not for this user.
    #[error("{0}")]
    NoTopic(String),
    /// Records are gone that were not read.
    #[error(
        "records of {topic} are gone that were never read (retention too short, or the topic was made anew); \
         taps are lost. Decide where to go on by committing positions for the group, then start again"
    )]
    Vanished { topic: String },
    /// A topic that was there is not any more.
    #[error("the topic {topic} does not exist any more, or a partition of it; taps may be lost")]
    TopicGone { topic: String },
    /// Something took longer than it may.
    #[error("{0}")]
    TooLate(String),
    /// The client's settings cannot be.
    #[error("{0}; see [kafka] and [kafka.properties] in the configuration")]
    Settings(String),
    /// Topics are missing or set so that taps or payments would be lost.
    #[error("{}", complaints.join("\n  "))]
    Topics {
        /// All of them, each with its remedy.
        complaints: Vec<String>,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreachable { .. }
            | Self::Failed(_)
            | Self::ThrownOut(_)
            | Self::NoTopic(_)
            | Self::Vanished { .. }
            | Self::TopicGone { .. }
            | Self::TooLate(_) => ErrorKind::External,
            Self::Settings(_) | Self::Topics { .. } => ErrorKind::Config,
        }
    }
}

#[cfg(all(test, feature = "kafka"))]
mod tests;
