//! Where the brokers are, what the topics are called, and the properties that pass through.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// Whether this build can speak TLS. SCRAM needs it too: librdkafka takes both from OpenSSL. SASL PLAIN without
/// TLS works in every build.
pub const HAS_TLS: bool = cfg!(feature = "tls");

/// How to get a build that can.
pub const TLS_BUILD: &str = "cargo build --release --features tls";

/// How the members of a group agree on who reads what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// Works with every broker.
    Classic,
    /// Needs Kafka 4.0.
    Consumer,
}

impl Protocol {
    /// Its name in the configuration and for librdkafka.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        }
    }
}

/// The names of the topics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topics {
    /// Taps, from fare collection.
    pub taps: String,
    /// Sealed windows, between ingest and release.
    pub segments: String,
    /// What was spent.
    pub ledger: String,
    /// What recipients read.
    pub releases: String,
    /// Where taps that do not count are noted, without their content.
    pub rejects: String,
}

/// Everything about Kafka that a configuration says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// host:port, with commas between.
    pub brokers: String,
    /// The group of the ingest workers; other names derive from it.
    pub group: String,
    /// Names this worker in transactional ids; random if left out.
    pub instance: Option<String>,
    /// How the group is run.
    pub protocol: Protocol,
    /// The topics.
    pub topics: Topics,
    /// How long to wait for brokers at the start.
    pub connect_timeout: Duration,
    /// How often ingest commits.
    pub flush: Duration,
    /// A worker that makes no progress for so long, although there is work, ends the process.
    pub stall_timeout: Duration,
    /// Whether positions that an earlier version left unsigned are believed.
    pub accepts_unsigned: bool,
    /// Offsets in `segments` of records that cannot be taken and are passed over.
    pub pass_segments: BTreeSet<i64>,
    /// Passed through to librdkafka.
    pub properties: Vec<Property>,
    /// Whether the cluster is [`InProcess`](super::InProcess): its topics can be neither asked about nor changed.
    pub is_in_process: bool,
}

/// One librdkafka property. A secret one is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Property {
    name: String,
    value: String,
    is_secret: bool,
}

/// Names that contain one of these hold secrets.
const SECRET_WORDS: [&str; 6] =
    ["password", "secret", "key.pem", "token", "jaas", "oauthbearer.config"];

impl Property {
    /// A property as written; its name says whether it is secret.
    pub fn new(name: &str, value: &str) -> Self {
        let is_secret = SECRET_WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word));
        Self { name: name.to_owned(), value: value.to_owned(), is_secret }
    }

    /// A property whose value came from a file of its own: somebody wanted to keep it apart.
    pub fn from_file(name: &str, value: &str) -> Self {
        Self { is_secret: true, ..Self::new(name, value) }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value, for the client alone.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether its value must not be shown.
    pub fn is_secret(&self) -> bool {
        self.is_secret
    }

    /// Its value for people: stars if it is secret.
    pub fn shown(&self) -> &str {
        if self.is_secret { "***" } else { &self.value }
    }

    /// Why this property cannot be set here, if it cannot.
    pub fn complaint(&self) -> Option<String> {
        refusal(&self.name).or_else(|| self.tls_complaint()).or_else(|| self.client_complaint())
    }

    /// What librdkafka says to it.
    #[cfg(feature = "kafka")]
    fn client_complaint(&self) -> Option<String> {
        let mut alone = rdkafka::ClientConfig::new();
        alone.set(&self.name, &self.value);
        let error = alone.create_native_config().err()?;
        Some(match error {
            // The last part is librdkafka's sentence; it never repeats a value that is secret. The value itself is not
            // shown: a name that nobody knows may be a misspelt password's.
            rdkafka::error::KafkaError::ClientConfig(_, what, _, _) => what,
            other => other.to_string(),
        })
    }

    /// A build without a client connects to nothing: a build with one looks at the property.
    #[cfg(not(feature = "kafka"))]
    fn client_complaint(&self) -> Option<String> {
        None
    }

    fn tls_complaint(&self) -> Option<String> {
        let value = self.value.to_ascii_lowercase();
        let asks = match self.name.as_str() {
            "security.protocol" => value.contains("ssl"),
            "sasl.mechanism" | "sasl.mechanisms" => {
                value.contains("scram") || value.contains("oauthbearer")
            }
            name => name.starts_with("ssl."),
        };
        // A build without Kafka connects nowhere: it need not be able to.
        (asks && !HAS_TLS && cfg!(feature = "kafka")).then(|| {
            format!("this build has neither TLS nor SCRAM; make one that has: {TLS_BUILD}")
        })
    }
}

/// Why a property of this name is not taken.
fn refusal(name: &str) -> Option<String> {
    let reason = match name {
        "bootstrap.servers" | "metadata.broker.list" => "use kafka.brokers instead",
        "group.protocol" => "use kafka.protocol instead",
        "isolation.level"
        | "transactional.id"
        | "enable.idempotence"
        | "acks"
        | "request.required.acks"
        | "enable.auto.commit"
        | "enable.auto.offset.store"
        | "auto.offset.reset"
        | "group.id"
        | "group.instance.id"
        | "auto.commit.enable"
        | "enable.gapless.guarantee" => {
            "would break exactly-once: tapveil sets it itself; remove this line"
        }
        _ => return None,
    };
    Some(reason.to_owned())
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.shown())
    }
}

impl fmt::Debug for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
