//! Membership of a consumer group: partitions come and go only between polls, where the worker can act on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::Statistics;
use rdkafka::TopicPartitionList;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{
    BaseConsumer, Consumer, ConsumerContext, ConsumerGroupMetadata, RebalanceProtocol,
};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::types::RDKafkaRespErr;

use super::reader::{is_passing, topic_metadata};
use super::shown::End;
use super::transaction::Membership;
use super::{Error, Protocol, Settings, Watcher, explain};
use crate::metrics::KafkaNumbers;
use crate::protocol::Position;

/// What changed since the worker last asked.
#[derive(Debug, Default)]
pub struct Changes {
    /// Ours now; not read until the worker has assigned their positions.
    pub gained: BTreeSet<i32>,
    /// Not ours any more; what was read of them and not committed is somebody else's to read again.
    pub lost: BTreeSet<i32>,
}

/// What the group decided: all that is ours now, and what the worker has not heard of yet.
#[derive(Debug, Default)]
struct Decided {
    held: BTreeSet<i32>,
    status: Changes,
}

/// What the client last said of itself.
#[derive(Debug, Default)]
struct Latest {
    /// Counters as they stood then; librdkafka counts from the client's beginning.
    before: KafkaNumbers,
    /// What the worker has not fetched yet.
    status: Option<GroupStatus>,
}

/// What the client said since the worker last asked.
#[derive(Clone, Debug, Default)]
pub struct GroupStatus {
    /// Its numbers.
    pub numbers: KafkaNumbers,
    /// The committed end of every partition that is read.
    pub ends: BTreeMap<i32, i64>,
}

/// A member's context: hears the reasons of trouble, and collects what the group decides. Never waits.
#[derive(Default)]
pub struct Member {
    watcher: Watcher,
    decided: Mutex<Decided>,
    latest: Mutex<Latest>,
}

impl Member {
    fn decided(&self) -> MutexGuard<'_, Decided> {
        self.decided.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Member {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.watcher.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.watcher.error(error, reason);
    }

    fn stats(&self, statistics: Statistics) {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).update(&statistics);
    }
}

impl Latest {
    fn update(&mut self, said: &Statistics) {
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        let now = KafkaNumbers {
            received: count(said.rxmsgs),
            received_bytes: count(said.rxmsg_bytes),
            rebalances: said.cgrp.as_ref().map_or(0, |group| count(group.rebalance_cnt)),
            brokers_up: said
                .brokers
                .values()
                .filter(|one| one.state == "UP" && one.nodeid >= 0)
                .count() as i64,
            queued: said.replyq,
        };
        let status = self.status.get_or_insert_default();
        status.numbers = KafkaNumbers {
            received: status.numbers.received + now.received.saturating_sub(self.before.received),
            received_bytes: status.numbers.received_bytes
                + now.received_bytes.saturating_sub(self.before.received_bytes),
            rebalances: status.numbers.rebalances
                + now.rebalances.saturating_sub(self.before.rebalances),
            ..now
        };
        let partitions = said.topics.values().flat_map(|topic| topic.partitions.iter());
        status.ends = partitions
            .filter(|(partition, one)| **partition >= 0 && one.ls_offset >= 0)
            .map(|(partition, one)| (*partition, one.ls_offset))
            .collect();
        self.before = now;
    }
}

impl ConsumerContext for Member {
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        what: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        let partitions: Vec<i32> = list.elements().iter().map(|one| one.partition()).collect();
        let mut decided = self.decided();
        if what == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            // Nobody will assign positions for nothing, and a member that leaves this unanswered takes part in no later
            // rebalance: it would hold the group up until its poll interval ends.
            let answered = match consumer.rebalance_protocol() {
                _ if !partitions.is_empty() => Ok(()),
                RebalanceProtocol::Cooperative => consumer.incremental_assign(list),
                _ => consumer.assign(list),
            };
            if let Err(error) = answered {
                self.watcher.note(&error.to_string());
            }
            decided.held.extend(&partitions);
            decided.status.gained.extend(partitions);
            return;
        }
        // Handed back before it was taken up: nothing to give up.
        decided.held.retain(|partition| !partitions.contains(partition));
        let held: Vec<i32> = partitions
            .into_iter()
            .filter(|partition| !decided.status.gained.remove(partition))
            .collect();
        let given_up = match consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => {
                let topic = list.elements().first().map(|one| one.topic().to_owned());
                let mut mine = TopicPartitionList::new();
                for partition in &held {
                    mine.add_partition(topic.as_deref().unwrap_or_default(), *partition);
                }
                consumer.incremental_unassign(&mine)
            }
            _ => consumer.unassign(),
        };
        if let Err(error) = given_up {
            self.watcher.note(&error.to_string());
        }
        decided.status.lost.extend(held);
    }
}

/// A consumer in a group.
pub struct Group {
    consumer: BaseConsumer<Member>,
    settings: Settings,
    name: String,
    topic: String,
}

impl Group {
    /// Joins; partitions come with later polls.
    pub fn join(settings: &Settings, group: &str, topic: &str) -> Result<Self, Error> {
        let member = Member::default();
        let watcher = member.watcher.clone();
        let mut config = settings.group_consumer(group);
        // A restart under the same name takes over at once, instead of after the session has timed out.
        if let (Some(instance), Protocol::Classic) = (&settings.instance, settings.protocol) {
            config.set("group.instance.id", instance);
        }
        let consumer: BaseConsumer<Member> = config
            .set("enable.partition.eof", "true")
            .create_with_context(member)
            .map_err(|error| explain(&watcher, error))?;
        consumer.subscribe(&[topic]).map_err(|error| explain(&watcher, error))?;
        Ok(Self {
            consumer,
            settings: settings.clone(),
            name: group.to_owned(),
            topic: topic.to_owned(),
        })
    }

    pub fn consumer(&self) -> &BaseConsumer<Member> {
        &self.consumer
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the group is called.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The topic it reads.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// What the client said of itself since the last call, if it said something.
    pub fn status(&self) -> Option<GroupStatus> {
        self.consumer.context().latest.lock().unwrap_or_else(PoisonError::into_inner).status.take()
    }

    /// What the group decided since the last call.
    pub fn changes(&self) -> Changes {
        std::mem::take(&mut self.consumer.context().decided().status)
    }

    /// An error with its true reason.
    pub fn explain(&self, error: KafkaError) -> Error {
        explain(&self.consumer.context().watcher, error)
    }

    /// A client that met a fatal error joins its group never again, polls as before, and is silent. A new coordinator
    /// that knows an older state of the group throws a fixed instance out like this, though there is no second one.
    pub fn refuse_fatal(&self) -> Result<(), Error> {
        match self.consumer.client().fatal_error() {
            Some((_, reason)) => Err(Error::ThrownOut(reason)),
            None => Ok(()),
        }
    }

    /// Ignores transient errors; fails when input was lost or access is denied.
    pub fn tolerate(&self, error: KafkaError) -> Result<(), Error> {
        self.refuse_fatal()?;
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange) => {
                Err(Error::Vanished { topic: self.topic.clone() })
            }
            Some(
                RDKafkaErrorCode::UnknownTopicOrPartition
                | RDKafkaErrorCode::UnknownTopic
                | RDKafkaErrorCode::UnknownPartition,
            ) => Err(self.unknown_topic()),
            Some(
                RDKafkaErrorCode::TopicAuthorizationFailed
                | RDKafkaErrorCode::GroupAuthorizationFailed
                | RDKafkaErrorCode::Fatal,
            ) => Err(self.explain(error)),
            _ => Ok(()),
        }
    }

    /// Why no broker seems to know the topic. One that has just come back may say so for a moment: where the topic is
    /// there after all, a new client finds it.
    pub fn unknown_topic(&self) -> Error {
        const KNOWN_WITHIN: Duration = Duration::from_secs(15);
        const ANSWER: Duration = Duration::from_secs(5);
        let began = Instant::now();
        loop {
            let topic = &self.topic;
            let metadata = topic_metadata(&self.consumer, topic, ANSWER);
            let is_known = metadata.as_ref().is_ok_and(|answer| {
                answer.topics().first().is_some_and(|topic| !topic.partitions().is_empty())
            });
            if is_known {
                return Error::ThrownOut(format!("brokers did not know {topic} for a moment"));
            }
            if began.elapsed() > KNOWN_WITHIN {
                return match metadata {
                    Err(error) if is_passing(&error) => self.explain(error),
                    _ => Error::TopicGone { topic: topic.clone() },
                };
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// Starts reading partitions at positions.
    pub fn assign(&self, positions: &TopicPartitionList) -> Result<(), Error> {
        match self.consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => self.assign_again(positions),
            _ => self.consumer.assign(positions),
        }
        .map_err(|error| self.explain(error))
    }

    /// A partition that is read already cannot be added to what is read: it is taken away first.
    fn assign_again(&self, positions: &TopicPartitionList) -> Result<(), KafkaError> {
        let read = self.consumer.assignment()?;
        let mut again = TopicPartitionList::new();
        for one in positions.elements() {
            if read.find_partition(one.topic(), one.partition()).is_some() {
                again.add_partition(one.topic(), one.partition());
            }
        }
        if again.count() > 0 {
            self.consumer.incremental_unassign(&again)?;
        }
        self.consumer.incremental_assign(positions)
    }

    /// What the group gave, and what the client reads of it: for whoever asks.
    pub fn in_words(&self) -> String {
        let held: Vec<String> =
            self.consumer.context().decided().held.iter().map(ToString::to_string).collect();
        let read = self.consumer.assignment().map_or(Vec::new(), |list| {
            list.elements().iter().map(|one| one.partition().to_string()).collect()
        });
        let lost = if self.consumer.assignment_lost() { ", thrown out" } else { "" };
        format!("given [{}], reads [{}]{lost}", held.join(" "), read.join(" "))
    }
}

impl Membership for Group {
    fn topic(&self) -> &str {
        &self.topic
    }

    fn metadata(&self) -> Option<ConsumerGroupMetadata> {
        self.consumer.group_metadata()
    }

    /// A member that the group has thrown out learns it from its heartbeat; what it held stays assigned until it polls
    /// again, but counts as lost from then on.
    fn owns(&self, positions: &[Position]) -> bool {
        if self.consumer.assignment_lost() {
            return false;
        }
        let decided = self.consumer.context().decided();
        let Decided { held, status } = &*decided;
        // What went and came back while the worker did not listen is not what the worker holds.
        let is_ours = |partition: &i32| {
            held.contains(partition)
                && !status.lost.contains(partition)
                && !status.gained.contains(partition)
        };
        positions.iter().all(|position| is_ours(&position.partition))
    }

    fn can_read(&self, end: &End) -> bool {
        const ANSWER: Duration = Duration::from_secs(2);
        // The brokers inside this process show everything at once.
        let is_past = |(_, stable): (i64, i64)| stable > end.offset;
        self.settings.is_in_process
            || self.consumer.fetch_watermarks(&end.topic, end.partition, ANSWER).is_ok_and(is_past)
    }
}
