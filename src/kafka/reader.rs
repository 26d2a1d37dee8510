//! Reads a whole topic once, as anybody who may only read it could.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Headers, Message};
use rdkafka::metadata::Metadata;
use rdkafka::{Offset, TopicPartitionList};

use super::{Error, Settings, Watcher, explain_on};

/// One question may take so long; it is asked again.
const ANSWER: Duration = Duration::from_secs(5);

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

/// Reads every committed record from the beginning to the end as it is now, partition by partition in order; the end is
/// where the first open transaction begins. K-6: it is the leader's own answer, which a new leader gives only when it
/// knows how far its predecessor had come. What a client takes for the end when nothing more is fetched may lie before.
pub fn read_committed(
    settings: &Settings,
    topic: &str,
    header: &str,
    timeout: Duration,
    take: &mut dyn FnMut(Received),
) -> Result<(), Error> {
    let began = Instant::now();
    // A broker that does not know a new topic yet cannot say where it begins. Somebody new asks again: a client that is
    // assigned the same partitions while it still lets go of them ends the process (an assertion of librdkafka).
    while !read_once(settings, topic, header, timeout, take)? {
        if began.elapsed() > timeout {
            let seconds = timeout.as_secs();
            return Err(Error::TooLate(format!(
                "nobody says where the topic {topic} begins, for {seconds} s"
            )));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// False if nothing was read because nobody knows where the topic begins.
fn read_once(
    settings: &Settings,
    topic: &str,
    header: &str,
    timeout: Duration,
    take: &mut dyn FnMut(Received),
) -> Result<bool, Error> {
    let watcher = Watcher::default();
    let doing = format!("reading the topic {topic}");
    let failed = |error| explain_on(&watcher, &doing, error);
    let consumer: BaseConsumer<Watcher> = settings
        .plain_consumer("read_committed")
        .create_with_context(watcher.clone())
        .map_err(failed)?;
    let mut open = assign_all(&consumer, topic, timeout).map_err(failed)?;
    let ends = ends_of(&consumer, topic, &open, timeout, &failed)?;
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
                let reached = has_reached(&consumer, topic, partition, ends[&partition]);
                if reached.map_err(failed)? {
                    open.remove(&partition);
                }
            }
            Some(Err(error)) if is_passing(&error) => {}
            Some(Err(error)) if is_without_beginning(&error) && !has_read => return Ok(false),
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
    Ok(true)
}

/// Begins to read every partition of a topic at its beginning; gives their numbers.
fn assign_all(
    consumer: &BaseConsumer<Watcher>,
    topic: &str,
    timeout: Duration,
) -> Result<BTreeSet<i32>, KafkaError> {
    let metadata = topic_metadata(consumer, topic, timeout)?;
    let topics = metadata.topics().iter();
    let partitions: BTreeSet<i32> =
        topics.flat_map(|topic| topic.partitions()).map(|partition| partition.id()).collect();
    let mut assignment = TopicPartitionList::new();
    for &partition in &partitions {
        assignment.add_partition_offset(topic, partition, Offset::Beginning)?;
    }
    consumer.assign(&assignment)?;
    Ok(partitions)
}

/// Where each partition begins and ends now. A leader that is not sure says so; a broker that has just come back may
/// not know a topic that others have named: both pass.
fn ends_of(
    consumer: &BaseConsumer<Watcher>,
    topic: &str,
    partitions: &BTreeSet<i32>,
    timeout: Duration,
    failed: &dyn Fn(KafkaError) -> Error,
) -> Result<BTreeMap<i32, (i64, i64)>, Error> {
    let passes = |error: &KafkaError| {
        is_passing(error)
            || is_election(error)
            || error.rdkafka_error_code() == Some(RDKafkaErrorCode::UnknownTopicOrPartition)
    };
    let began = Instant::now();
    let ask = |&partition: &i32| {
        loop {
            match consumer.fetch_watermarks(topic, partition, ANSWER.min(timeout)) {
                Ok(ends) => return Ok((partition, ends)),
                Err(error) if !passes(&error) => return Err(failed(error)),
                Err(error) if began.elapsed() > timeout => {
                    return Err(Error::TooLate(failed(error).to_string()));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    partitions.iter().map(ask).collect()
}

/// Whether everything up to the end was read; a position passes the markers of transactions, which are no records.
fn has_reached(
    consumer: &BaseConsumer<Watcher>,
    topic: &str,
    partition: i32,
    (low, high): (i64, i64),
) -> Result<bool, KafkaError> {
    let positions = consumer.position()?;
    let position = positions.find_partition(topic, partition).map(|one| one.offset());
    Ok(match position {
        Some(Offset::Offset(position)) => position >= high,
        _ => low >= high,
    })
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
