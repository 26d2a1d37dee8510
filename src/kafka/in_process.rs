//! A Kafka inside this process, for demonstrations: librdkafka's mock cluster. Its limits: transactions are accepted
//! but not real, offsets in them are not kept, 5 MiB stay per partition, nothing can be asked about or done to a
//! topic. So it suits one run from the beginning to the end, and nothing that must survive.

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

use super::{Error, Property, Settings};

/// Taps are spread over so many partitions, 5 MiB each.
const TAPS_PARTITIONS: i32 = 16;

/// The cluster; it ends when this is dropped.
pub struct InProcess {
    cluster: MockCluster<'static, DefaultProducerContext>,
}

impl InProcess {
    /// Starts it.
    pub fn start() -> Result<Self, Error> {
        let failed = |error: rdkafka::error::KafkaError| {
            Error::Failed(format!("no Kafka can be started inside this process: {error}"))
        };
        Ok(Self { cluster: MockCluster::new(1).map_err(failed)? })
    }

    /// Where it listens, on this machine only.
    pub fn brokers(&self) -> String {
        self.cluster.bootstrap_servers()
    }

    /// Makes the topics, and gives settings that fit such a cluster.
    pub fn settings(&self, settings: &Settings) -> Result<Settings, Error> {
        let topics = &settings.topics;
        for (topic, partitions) in [
            (&topics.taps, TAPS_PARTITIONS),
            (&topics.segments, 1),
            (&topics.ledger, 1),
            (&topics.releases, 1),
            (&topics.rejects, 1),
        ] {
            let made = self.cluster.create_topic(topic, partitions, 1);
            made.map_err(|error| Error::Failed(format!("making the topic {topic}: {error}")))?;
        }
        let mut properties = settings.properties.clone();
        // It waits for so long before every answer.
        properties.push(Property::new("fetch.wait.max.ms", "10"));
        // A demonstration is short: its numbers come often.
        properties.push(Property::new("statistics.interval.ms", "1000"));
        let brokers = self.brokers();
        Ok(Settings { brokers, properties, is_in_process: true, ..settings.clone() })
    }
}

impl std::fmt::Debug for InProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InProcess")
    }
}
