//! Reads a whole topic once, as anybody who may only read it could.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Headers, Message};
use rdkafka::metadata::Metadata;
use rdkafka::{Offset, TopicPartitionList};

use super::{Error, Settings, Watcher, explain_on};

const ANSWER: Duration = Duration::from_secs(20);

/// One record of a topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// The partition it stands in.
    pub partition: i32,
    /// Its place there.
    pub offset: i64,
    /// Its key; empty without one.
    pub key: Vec<u8>,
    /// Its header of the asked name, if it has one.
    pub header: Option<Vec<u8>>,
    /// Its value; nothing for a tombstone.
    pub payload: Option<Vec<u8>>,
}

/// Reads every committed record from the beginning to the end as it is now, partition by partition in order. A
/// transaction that is still open holds the end back until it is decided, at most for `timeout` without a record.
pub fn read_committed(
    settings: &Settings,
    topic: &str,
    header: &str,
    timeout: Duration,
    take: &mut dyn FnMut(Received),
) -> Result<(), Error> {
    let watcher = Watcher::default();
    let doing = format!("reading the topic {topic}");
    let failed = |error| explain_on(&watcher, &doing, error);
    let consumer: BaseConsumer<Watcher> = settings
        .plain_consumer("read_committed")
        .create_with_context(watcher.clone())
        .map_err(failed)?;
    let metadata = topic_metadata(&consumer, topic, timeout);
    let metadata = metadata.map_err(failed)?;
    let partitions: BTreeSet<i32> = metadata
        .topics()
        .iter()
        .flat_map(|topic| topic.partitions())
        .map(|partition| partition.id())
        .collect();
    let mut assignment = TopicPartitionList::new();
    for &partition in &partitions {
        assignment.add_partition_offset(topic, partition, Offset::Beginning).map_err(failed)?;
    }
    consumer.assign(&assignment).map_err(failed)?;
    let mut open = partitions;
    let mut has_read = false;
    let mut last = Instant::now();
    while !open.is_empty() {
        match consumer.poll(Duration::from_millis(200)) {
            Some(Ok(message)) => {
                (last, has_read) = (Instant::now(), true);
                let value = message.headers().and_then(|headers| {
                    headers.iter().find(|one| one.key == header).and_then(|one| one.value)
                });
                take(Received {
                    partition: message.partition(),
                    offset: message.offset(),
                    key: message.key().unwrap_or_default().to_vec(),
                    header: value.map(<[u8]>::to_vec),
                    payload: message.payload().map(<[u8]>::to_vec),
                });
            }
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                open.remove(&partition);
            }
            Some(Err(error)) if is_passing(&error) => {}
            // A broker that does not know a new topic yet cannot say where it begins; asking again starts over.
            Some(Err(error)) if is_without_beginning(&error) && !has_read => {
                std::thread::sleep(Duration::from_millis(100));
                consumer.assign(&assignment).map_err(failed)?;
            }
            Some(Err(error)) => return Err(failed(error)),
            None => {}
        }
        if last.elapsed() > timeout {
            let reason = watcher.reason().unwrap_or_else(|| "the brokers do not answer".to_owned());
            return Err(Error::TooLate(format!(
                "{doing} brought nothing for {} s: {reason}",
                timeout.as_secs()
            )));
        }
    }
    Ok(())
}

fn is_without_beginning(error: &KafkaError) -> bool {
    error.rdkafka_error_code() == Some(RDKafkaErrorCode::AutoOffsetReset)
}

/// Trouble that a reader which assigns itself partitions may pass over: the client mends it itself, or, for the
/// group, it is of no matter. librdkafka looks for every group's coordinator, also for one that is never joined, and
/// says so when this user may not use that group.
pub fn is_passing(error: &KafkaError) -> bool {
    use rdkafka::error::RDKafkaErrorCode::{
        AllBrokersDown, BrokerTransportFailure, GroupAuthorizationFailed, OperationTimedOut,
    };
    matches!(
        error.rdkafka_error_code(),
        Some(
            AllBrokersDown | BrokerTransportFailure | GroupAuthorizationFailed | OperationTimedOut
        )
    )
}

/// Somebody else leads a partition, a group or a transaction from now on, and not everybody knows it yet.
fn is_election(error: &KafkaError) -> bool {
    use rdkafka::error::RDKafkaErrorCode::{
        BrokerDestroy, BrokerNotAvailable, CoordinatorLoadInProgress, CoordinatorNotAvailable,
        DestroyBroker, FencedLeaderEpoch, KafkaStorageError, LeaderNotAvailable, NetworkException,
        NotCoordinator, NotLeaderForPartition, OffsetNotAvailable, ReplicaNotAvailable,
        RequestTimedOut, UnknownLeaderEpoch, UnknownPartition, UnstableOffsetCommit,
        WaitingForCoordinator,
    };
    matches!(
        error.rdkafka_error_code(),
        Some(
            BrokerDestroy
                | BrokerNotAvailable
                | CoordinatorLoadInProgress
                | CoordinatorNotAvailable
                | DestroyBroker
                | FencedLeaderEpoch
                | KafkaStorageError
                | LeaderNotAvailable
                | NetworkException
                | NotCoordinator
                | NotLeaderForPartition
                | OffsetNotAvailable
                | ReplicaNotAvailable
                | RequestTimedOut
                | UnknownLeaderEpoch
                | UnknownPartition
                | UnstableOffsetCommit
                | WaitingForCoordinator
        )
    )
}

/// How a topic is made up, asked until a broker knows. While leaders are elected, brokers answer with an error for the
/// topic: that passes.
pub fn topic_metadata<C: ConsumerContext>(
    consumer: &BaseConsumer<C>,
    topic: &str,
    within: Duration,
) -> Result<Metadata, KafkaError> {
    ask_again(within, || {
        let metadata = consumer.fetch_metadata(Some(topic), ANSWER)?;
        match metadata.topics().first().and_then(|topic| topic.error()) {
            Some(error) => Err(KafkaError::MetadataFetch(error.into())),
            None => Ok(metadata),
        }
    })
}

/// Asks until an answer comes that says something, at most for `within`: a broker that dies takes the question with
/// it, and whoever leads in its place answers the next.
pub fn ask_again<T>(
    within: Duration,
    mut ask: impl FnMut() -> Result<T, KafkaError>,
) -> Result<T, KafkaError> {
    let began = Instant::now();
    loop {
        let answer = ask();
        let is_moving = answer.as_ref().is_err_and(|error| is_passing(error) || is_election(error));
        if !is_moving || began.elapsed() > within {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
