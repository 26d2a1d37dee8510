//! Ends what brokers forgot to end.
//!
//! A coordinator that comes back without its view of the cluster takes partitions for deleted, leaves them out when it
//! ends a transaction, and calls it ended all the same (Kafka 4.3.1 logs "likely deleted already and hence can be
//! skipped"). Records and positions of that transaction stay undecided: nobody reads past them, and the next commit of
//! the same name makes them appear, though it was to abort. A transaction of the same name that touches the same
//! partitions and is aborted ends them, too.
//!
//! Segments are another matter: their transaction may have been committed, with positions that everybody sees, so an
//! abort would lose taps. Made to appear they do no harm: the same tap counts once, and a marker stands behind the taps
//! that it is about.

use std::time::Duration;

use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Offset, TopicPartitionList};

use super::epoch::Stopped;
use super::transaction::{ANSWER, Membership, Transactions};
use super::{Error, Watcher};
use crate::protocol::Ended;

/// How long brokers may take to say how many partitions a topic has.
const METADATA: Duration = Duration::from_secs(5);

impl Transactions {
    /// K-4: before the first transaction of a worker, and after each one that was not committed, whatever of this name
    /// is undecided is ended: in every topic it writes, and among the group's positions. Gives how it ended where
    /// that could not be done; then it is done the next time.
    pub fn sweep(&self, group: &dyn Membership) -> Result<Option<Ended>, Error> {
        // The brokers inside this process forget nothing, and show what was aborted.
        if self.is_swept() || self.is_in_process() {
            return Ok(None);
        }
        if let Some(ended) = self.let_leftovers_appear()? {
            return Ok(Some(ended));
        }
        let epoch = self.new_epoch()?;
        let mut is_everywhere = false;
        let ended = epoch.spend(&mut |producer| {
            self.touch_everything(producer, group)?;
            is_everywhere = true;
            // Nothing of it shall appear.
            Err(Stopped::Lost)
        });
        match ended {
            Ok(Ended::Lost) if is_everywhere => {
                self.prepare(epoch);
                self.set_swept(true);
                Ok(None)
            }
            Ok(ended) => Ok(Some(ended)),
            Err(error) => {
                self.prepare(epoch);
                Err(error)
            }
        }
    }

    /// K-7: whatever of this name is undecided in the topic that must have all of its records is committed.
    fn let_leftovers_appear(&self) -> Result<Option<Ended>, Error> {
        let Some(record) = self.says_nothing() else { return Ok(None) };
        let epoch = self.new_epoch()?;
        let ended = epoch.spend(&mut |producer| {
            producer.begin_transaction()?;
            let record = BaseRecord::<[u8], [u8], ()>::to(self.topic(record.topic))
                .payload(record.payload.as_slice());
            producer.send(record).map_err(|(error, _)| error)?;
            Ok(producer.flush(ANSWER)?)
        });
        match ended {
            Ok(Ended::Committed) => {
                self.prepare(epoch);
                Ok(None)
            }
            Ok(ended) => Ok(Some(ended)),
            Err(error) => {
                self.prepare(epoch);
                Err(error)
            }
        }
    }

    fn touch_everything(
        &self,
        producer: &BaseProducer<Watcher>,
        group: &dyn Membership,
    ) -> Result<(), Stopped> {
        producer.begin_transaction()?;
        let has_appeared = self.says_nothing().map(|record| record.topic);
        for &topic in self.writes().iter().filter(|topic| Some(**topic) != has_appeared) {
            let topic = self.topic(topic);
            let metadata = producer.client().fetch_metadata(Some(topic), METADATA)?;
            let found = metadata.topics().first();
            if let Some(error) = found.and_then(|topic| topic.error()) {
                return Err(KafkaError::MetadataFetch(error.into()).into());
            }
            for partition in found.into_iter().flat_map(|topic| topic.partitions()) {
                let record = BaseRecord::to(topic).partition(partition.id());
                producer.send(record.key("sweep").payload("")).map_err(|(error, _)| error)?;
            }
        }
        producer.flush(ANSWER)?;
        if let Some(membership) = group.metadata() {
            let position = any_position(group.topic())?;
            producer.send_offsets_to_transaction(&position, &membership, ANSWER)?;
        }
        Ok(())
    }
}

/// Any position will do: it is never committed.
fn any_position(topic: &str) -> Result<TopicPartitionList, KafkaError> {
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(topic, 0, Offset::Offset(0))?;
    Ok(list)
}
