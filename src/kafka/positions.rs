//! Where the partitions of a group stand: what is committed, and where records begin.
//!
//! A broker that dies can take a question with it, and the client then waits for its whole time. So a question is
//! short, and whoever asks again does it with a client of its own.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};

use super::group::Group;
use super::{Error, ask_again};
use crate::protocol::{Committed, Position};

/// One question may take so long. Positions behind a dead worker's open transaction are known when the brokers have
/// ended it: after its 15 s, and they look every 10 s. They are asked for until then.
const ANSWER: Duration = Duration::from_secs(8);

/// Positions of a committed transaction are there for everybody after so long, at most.
const UNTIL_SHOWN: Duration = Duration::from_secs(10);

impl Group {
    /// Offset and metadata of every partition, in one answer. It waits for a transaction that is not decided, because
    /// we read committed; `unanswered` is called before the question is asked again.
    pub fn committed(
        &self,
        partitions: Range<i32>,
        unanswered: &dyn Fn(),
    ) -> Result<BTreeMap<i32, Option<Committed>>, Error> {
        let within = self.settings().stall_timeout;
        self.committed_of(partitions, within, unanswered)
    }

    /// Whether the group knows these positions, or later ones. A commit that its coordinator calls done, and that left
    /// the positions out, is none.
    pub fn shows(&self, positions: &[Position]) -> bool {
        // The brokers inside this process keep no positions of transactions.
        if self.settings().is_in_process {
            return true;
        }
        let partitions = positions.iter().map(|position| position.partition);
        let known = match positions.is_empty() {
            true => Ok(BTreeMap::new()),
            false => self.committed_of(partitions, UNTIL_SHOWN, &|| {}),
        };
        let is_known = |known: &BTreeMap<i32, Option<Committed>>, position: &Position| {
            let known = known.get(&position.partition).and_then(Option::as_ref);
            known.is_some_and(|known| known.offset >= position.offset)
        };
        known.is_ok_and(|known| positions.iter().all(|position| is_known(&known, position)))
    }

    fn committed_of(
        &self,
        partitions: impl Iterator<Item = i32>,
        within: Duration,
        unanswered: &dyn Fn(),
    ) -> Result<BTreeMap<i32, Option<Committed>>, Error> {
        let mut asked = TopicPartitionList::new();
        for partition in partitions {
            asked.add_partition(self.topic(), partition);
        }
        let question = |client: &dyn Asked| client.committed_offsets(asked.clone());
        let found = self.ask(question, within, unanswered)?;
        let position = |one: &rdkafka::topic_partition_list::TopicPartitionListElem<'_>| {
            let committed = match one.offset() {
                Offset::Offset(offset) => {
                    Some(Committed { offset, metadata: one.metadata().to_owned() })
                }
                _ => None,
            };
            (one.partition(), committed)
        };
        Ok(found.elements().iter().map(position).collect())
    }

    /// The first record of a partition that is still there.
    pub fn beginning(&self, partition: i32) -> Result<i64, Error> {
        let within = self.settings().stall_timeout;
        self.ask(|client| client.beginning(self.topic(), partition), within, &|| {})
    }

    /// Asks as a member, then again and again as somebody new.
    fn ask<T>(
        &self,
        question: impl Fn(&dyn Asked) -> Result<T, KafkaError>,
        within: Duration,
        unanswered: &dyn Fn(),
    ) -> Result<T, Error> {
        let mut is_first = true;
        let answer = ask_again(within, || match std::mem::replace(&mut is_first, false) {
            true => question(self.consumer()),
            false => {
                unanswered();
                question(&self.settings().group_consumer(self.name()).create::<BaseConsumer>()?)
            }
        });
        answer.map_err(|error| self.explain(error))
    }
}

/// A client of the group, a member or not.
trait Asked {
    fn committed_offsets(
        &self,
        asked: TopicPartitionList,
    ) -> Result<TopicPartitionList, KafkaError>;
    fn beginning(&self, topic: &str, partition: i32) -> Result<i64, KafkaError>;
}

impl<C: rdkafka::consumer::ConsumerContext> Asked for BaseConsumer<C> {
    fn committed_offsets(
        &self,
        asked: TopicPartitionList,
    ) -> Result<TopicPartitionList, KafkaError> {
        Consumer::committed_offsets(self, asked, ANSWER)
    }

    fn beginning(&self, topic: &str, partition: i32) -> Result<i64, KafkaError> {
        self.fetch_watermarks(topic, partition, ANSWER).map(|(low, _)| low)
    }
}
