//! The admin client: asks for topics and their settings, and makes topics.

use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::metadata::Metadata;
use rdkafka::{Offset, TopicPartitionList};

use super::topics::{Found, Purpose, create_command};
use super::{Error, Settings, Watcher, explain_on};

const ANSWER: Duration = Duration::from_secs(20);
/// A topic that was just made may take so long to be known everywhere.
const APPEARS: Duration = Duration::from_secs(20);

/// The admin client with a runtime of its own: its calls are futures, this program's are not.
pub(super) struct Admin<'a> {
    settings: &'a Settings,
    client: AdminClient<Watcher>,
    watcher: Watcher,
    runtime: tokio::runtime::Runtime,
    options: AdminOptions,
}

impl<'a> Admin<'a> {
    pub(super) fn new(settings: &'a Settings) -> Result<Self, Error> {
        let watcher = Watcher::default();
        let client = settings
            .client()
            .create_with_context(watcher.clone())
            .map_err(|error| explain_on(&watcher, "", error))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Failed(format!("the system gives no event loop: {error}")))?;
        let options =
            AdminOptions::new().operation_timeout(Some(ANSWER)).request_timeout(Some(ANSWER));
        Ok(Self { settings, client, watcher, runtime, options })
    }

    /// Deletes the records of partition 0 before an offset.
    pub(super) fn delete_before(&self, topic: &str, offset: i64) -> Result<(), Error> {
        let failed =
            |error| explain_on(&self.watcher, &format!("deleting records of {topic}"), error);
        let mut before = TopicPartitionList::new();
        before.add_partition_offset(topic, 0, Offset::Offset(offset)).map_err(failed)?;
        let done = self.runtime.block_on(self.client.delete_records(&before, &self.options));
        let done = done.map_err(failed)?;
        done.elements().iter().try_for_each(|one| one.error()).map_err(failed)
    }

    /// All topics: asking for one by name could make it, with the broker's settings instead of ours.
    pub(super) fn metadata(&self) -> Result<Metadata, Error> {
        let answer = self.client.inner().fetch_metadata(None, ANSWER);
        answer.map_err(|error| explain_on(&self.watcher, "asking for the topics", error))
    }

    /// Makes topics. Those that it may not make are an error that names the command for somebody who may. True if
    /// somebody else had made one of them meanwhile: then nobody knows its settings yet.
    pub(super) fn create(&self, missing: &[Purpose], n_brokers: usize) -> Result<bool, Error> {
        if missing.is_empty() {
            return Ok(false);
        }
        let copies = n_brokers.clamp(1, 3);
        let new: Vec<NewTopic<'_>> = missing
            .iter()
            .map(|purpose| {
                let replication = TopicReplication::Fixed(i32::try_from(copies).unwrap_or(1));
                let topic =
                    NewTopic::new(purpose.name(self.settings), purpose.partitions(), replication);
                let topic =
                    purpose.configuration().iter().fold(topic, |topic, (k, v)| topic.set(k, v));
                if copies == 3 { topic.set("min.insync.replicas", "2") } else { topic }
            })
            .collect();
        let results = self
            .runtime
            .block_on(self.client.create_topics(&new, &self.options))
            .map_err(|error| explain_on(&self.watcher, "creating topics", error))?;
        let is_there = |result: &Result<String, (String, RDKafkaErrorCode)>| {
            matches!(result, Err((_, RDKafkaErrorCode::TopicAlreadyExists)))
        };
        let any_was_there = results.iter().any(is_there);
        let refused = |(purpose, result): (
            &Purpose,
            Result<String, (String, RDKafkaErrorCode)>,
        )| {
            let (topic, code) = result.err()?;
            (code != RDKafkaErrorCode::TopicAlreadyExists).then(|| {
                format!(
                    "the topic {topic} is missing (or this user may not see it) and cannot be made: {}; run: {}",
                    in_words(code),
                    create_command(self.settings, *purpose, copies)
                )
            })
        };
        let complaints: Vec<String> = missing.iter().zip(results).filter_map(refused).collect();
        match complaints.is_empty() {
            true => Ok(any_was_there),
            false => Err(Error::Failed(complaints.join("\n  "))),
        }
    }

    /// Waits until new topics have leaders.
    pub(super) fn await_topics(&self, made: &[Purpose]) -> Result<(), Error> {
        let began = Instant::now();
        let is_ready = |metadata: &Metadata, purpose: &Purpose| {
            let name = purpose.name(self.settings);
            metadata.topics().iter().any(|topic| {
                topic.name() == name
                    && topic.partitions().iter().all(|partition| partition.leader() >= 0)
            })
        };
        while !made.is_empty() {
            let metadata = self.metadata()?;
            if made.iter().all(|purpose| is_ready(&metadata, purpose)) {
                break;
            }
            if began.elapsed() > APPEARS {
                return Err(Error::Failed(
                    "the brokers made topics but do not lead them".to_owned(),
                ));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// The settings of topics, in order; nothing where this user may not look. A broker that has not heard of a new
    /// topic yet is asked again: an empty answer is no setting.
    pub(super) fn describe(&self, topics: &[Purpose]) -> Result<Vec<Option<Found>>, Error> {
        if topics.is_empty() {
            return Ok(Vec::new());
        }
        let began = Instant::now();
        loop {
            let answers = self.described(topics)?;
            let is_known = |answer: &Answer| !matches!(answer, Answer::NotYet);
            if answers.iter().all(is_known) {
                return Ok(answers.into_iter().map(Answer::found).collect());
            }
            if began.elapsed() > APPEARS {
                let unknown = topics.iter().zip(&answers).filter(|(_, answer)| !is_known(answer));
                let names: Vec<&str> =
                    unknown.map(|(topic, _)| topic.name(self.settings)).collect();
                return Err(Error::Failed(format!(
                    "the brokers do not tell the settings of {}, although the topic is there",
                    names.join(", ")
                )));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn described(&self, topics: &[Purpose]) -> Result<Vec<Answer>, Error> {
        let resources: Vec<ResourceSpecifier<'_>> = topics
            .iter()
            .map(|purpose| ResourceSpecifier::Topic(purpose.name(self.settings)))
            .collect();
        let doing = "asking for the topics' settings";
        let results = self
            .runtime
            .block_on(self.client.describe_configs(&resources, &self.options))
            .map_err(|error| explain_on(&self.watcher, doing, error))?;
        results
            .into_iter()
            .map(|result| match result {
                Ok(resource) if resource.entries.is_empty() => Ok(Answer::NotYet),
                Ok(resource) => Ok(Answer::Found(Found::new(&resource))),
                Err(
                    RDKafkaErrorCode::TopicAuthorizationFailed
                    | RDKafkaErrorCode::ClusterAuthorizationFailed,
                ) => Ok(Answer::Forbidden),
                Err(RDKafkaErrorCode::UnknownTopicOrPartition) => Ok(Answer::NotYet),
                Err(code) => Err(Error::Failed(format!("{doing} failed: {}", in_words(code)))),
            })
            .collect()
    }
}

/// What a broker says about a topic's settings.
enum Answer {
    Found(Found),
    /// This user may not look.
    Forbidden,
    /// This broker has not heard of the topic.
    NotYet,
}

impl Answer {
    fn found(self) -> Option<Found> {
        match self {
            Self::Found(found) => Some(found),
            Self::Forbidden | Self::NotYet => None,
        }
    }
}

/// What a broker says, without the name of the code.
fn in_words(code: RDKafkaErrorCode) -> String {
    let text = code.to_string();
    let inside = text.split_once('(').map_or(text.as_str(), |(_, inside)| inside);
    inside.trim_start_matches("Broker: ").trim_end_matches(')').to_lowercase()
}
