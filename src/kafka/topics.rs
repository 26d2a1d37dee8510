//! The topics: made with the right settings if missing, held to them if present.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use rdkafka::admin::{ConfigEntry, ConfigResource};
use rdkafka::metadata::Metadata;

use super::admin::Admin;
use super::{Error, Settings};

/// What a process does, and so which topics it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Taps in, segments and rejects out.
    Ingest,
    /// Segments in, ledger and releases out.
    Release,
    /// Both.
    All,
}

impl Role {
    /// Every role with its name and what it does, for the command line.
    pub const NAMED: [(Self, &'static str, &'static str); 3] = [
        (Self::Ingest, "ingest", "Taps to sealed segments"),
        (Self::Release, "release", "Complete windows to releases"),
        (Self::All, "all", "Both"),
    ];

    /// Whether it reads taps.
    pub fn ingests(self) -> bool {
        matches!(self, Self::Ingest | Self::All)
    }

    /// Whether it releases windows.
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::All)
    }
}

/// What a topic is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Purpose {
    Taps,
    Segments,
    Ledger,
    Releases,
    Rejects,
}

impl Purpose {
    /// The topics of a role.
    fn of(role: Role) -> &'static [Purpose] {
        match role {
            Role::Ingest => &[Self::Taps, Self::Segments, Self::Rejects],
            Role::Release => &[Self::Segments, Self::Ledger, Self::Releases],
            Role::All => &[Self::Taps, Self::Segments, Self::Ledger, Self::Releases, Self::Rejects],
        }
    }

    /// Whether this role looks at the topic's settings. Each topic has one role that answers for it, so that
    /// the other needs no right to look.
    fn is_judged_by(self, role: Role) -> bool {
        match self {
            Self::Taps => role.ingests(),
            Self::Segments | Self::Ledger => role.releases(),
            Self::Releases | Self::Rejects => false,
        }
    }

    /// The configured name.
    pub(super) fn name(self, settings: &Settings) -> &str {
        let topics = &settings.topics;
        match self {
            Self::Taps => &topics.taps,
            Self::Segments => &topics.segments,
            Self::Ledger => &topics.ledger,
            Self::Releases => &topics.releases,
            Self::Rejects => &topics.rejects,
        }
    }

    pub(super) fn partitions(self) -> i32 {
        if self == Self::Taps { 4 } else { 1 }
    }

    /// The settings a new topic gets beside its copies.
    pub(super) fn configuration(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Taps => &[("message.timestamp.type", "LogAppendTime")],
            // Its records tell ingest what time it is at the brokers.
            Self::Segments => &[
                ("cleanup.policy", "delete"),
                ("retention.ms", "-1"),
                ("retention.bytes", "-1"),
                ("message.timestamp.type", "LogAppendTime"),
            ],
            Self::Ledger | Self::Releases => {
                &[("cleanup.policy", "delete"), ("retention.ms", "-1"), ("retention.bytes", "-1")]
            }
            Self::Rejects => &[],
        }
    }
}

/// What is allowed but probably not meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warning {
    /// This user may not look at a topic's settings.
    NotDescribed { topic: String },
    /// Compaction keeps one tap a key.
    CompactedTaps { topic: String },
    /// Taps may be gone before they are read.
    ShortRetention {
        topic: String,
        /// How long it keeps records, in seconds.
        kept: u64,
        /// How long they may be needed, in seconds.
        needed: u64,
    },
    /// One broker's loss can lose what was acknowledged.
    FewInSync { topic: String },
    /// Not there yet.
    Missing {
        /// Which topics.
        topics: Vec<String>,
    },
    /// There is one copy.
    OneCopy {
        /// Which topics.
        topics: Vec<String>,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDescribed { topic } => write!(
                f,
                "this user may not see the settings of the topic {topic}, so nobody checked them; grant \
                 DescribeConfigs on it (deploy/kafka/ACLS.md)"
            ),
            Self::CompactedTaps { topic } => write!(
                f,
                "the topic {topic} is compacted: of taps with the same key only the last one stays"
            ),
            Self::ShortRetention { topic, kept, needed } => write!(
                f,
                "the topic {topic} keeps records for {kept} s, but {needed} s may pass until they are sealed: a \
                 worker that was down for long would miss taps"
            ),
            Self::FewInSync { topic } => write!(
                f,
                "the topic {topic} has min.insync.replicas=1: the loss of one broker can lose what was \
                 acknowledged; set it to 2"
            ),
            Self::Missing { topics } => write!(
                f,
                "not there yet: {}; `tapveil run` makes them where that is allowed",
                topics.join(", ")
            ),
            Self::OneCopy { topics } => write!(
                f,
                "only one copy exists of {}: the loss of a broker's disk loses it",
                topics.join(", ")
            ),
        }
    }
}

/// Makes missing topics if that is allowed, checks those that are there. All complaints come at once. `grace`: how
/// long after its window's end a tap counts, where arrival decides that; taps must be kept for longer than that and a
/// flush.
pub fn ensure(
    settings: &Settings,
    grace: Option<Duration>,
    role: Role,
) -> Result<Vec<Warning>, Error> {
    judge(settings, grace, role, true)
}

/// The same without making anything: a topic that is missing is a warning.
pub fn look(
    settings: &Settings,
    grace: Option<Duration>,
    role: Role,
) -> Result<Vec<Warning>, Error> {
    judge(settings, grace, role, false)
}

fn judge(
    settings: &Settings,
    grace: Option<Duration>,
    role: Role,
    may_create: bool,
) -> Result<Vec<Warning>, Error> {
    let needs_arrival = grace.is_some();
    let needed = settings.flush + grace.unwrap_or_default();
    if settings.is_in_process {
        return Ok(Vec::new());
    }
    let admin = Admin::new(settings)?;
    let wanted = Purpose::of(role);
    let metadata = admin.metadata()?;
    let there: BTreeMap<Purpose, TopicShape> = wanted
        .iter()
        .filter_map(|&purpose| Some((purpose, shape(&metadata, purpose.name(settings))?)))
        .collect();
    let missing: Vec<Purpose> =
        wanted.iter().copied().filter(|purpose| !there.contains_key(purpose)).collect();
    let n_brokers = metadata.brokers().len();
    if may_create && admin.create(&missing, n_brokers)? {
        // It was made between our look and our try: look again.
        admin.await_topics(&missing)?;
        return judge(settings, grace, role, may_create);
    }
    let mut complaints = Vec::new();
    let judged: Vec<Purpose> =
        there.keys().copied().filter(|purpose| purpose.is_judged_by(role)).collect();
    let mut warnings = Vec::new();
    for (purpose, described) in judged.iter().zip(admin.describe(&judged)?) {
        let topic = purpose.name(settings);
        let shape = &there[purpose];
        complaints.extend(partition_complaint(*purpose, topic, shape));
        match described {
            None => warnings.push(Warning::NotDescribed { topic: topic.to_owned() }),
            Some(found) => {
                complaints.extend(found.complaints(*purpose, settings, needs_arrival));
                warnings.extend(found.warnings(*purpose, topic, shape, needed));
            }
        }
    }
    if !complaints.is_empty() {
        return Err(Error::Topics { complaints });
    }
    if may_create {
        admin.await_topics(&missing)?;
    } else if !missing.is_empty() {
        let topics = missing.iter().map(|purpose| purpose.name(settings).to_owned()).collect();
        warnings.push(Warning::Missing { topics });
    }
    let singles: Vec<String> = wanted
        .iter()
        .filter(|purpose| there.get(purpose).map_or(n_brokers == 1, |shape| shape.copies == 1))
        .map(|purpose| purpose.name(settings).to_owned())
        .collect();
    if !singles.is_empty() {
        warnings.push(Warning::OneCopy { topics: singles });
    }
    Ok(warnings)
}

/// Makes the topic of the taps if it is missing, for whoever feeds it; looks at nothing else.
pub fn make_taps(settings: &Settings) -> Result<(), Error> {
    let admin = Admin::new(settings)?;
    let metadata = admin.metadata()?;
    if shape(&metadata, &settings.topics.taps).is_some() {
        return Ok(());
    }
    admin.create(&[Purpose::Taps], metadata.brokers().len())?;
    admin.await_topics(&[Purpose::Taps])
}

/// How a topic is laid out.
struct TopicShape {
    partitions: usize,
    copies: usize,
}

fn shape(metadata: &Metadata, name: &str) -> Option<TopicShape> {
    let topic = metadata.topics().iter().find(|topic| topic.name() == name)?;
    let partitions = topic.partitions();
    let copies = partitions.iter().map(|partition| partition.replicas().len()).min()?;
    Some(TopicShape { partitions: partitions.len(), copies })
}

fn partition_complaint(purpose: Purpose, topic: &str, shape: &TopicShape) -> Option<String> {
    let one = matches!(purpose, Purpose::Segments | Purpose::Ledger);
    (one && shape.partitions != 1).then(|| {
        format!(
            "the topic {topic} has {} partitions but must have 1, because its order is what counts; choose another name \
             in kafka.topics, or delete the topic if nothing is in it",
            shape.partitions
        )
    })
}

/// The settings of a topic that matter here.
pub(super) struct Found(BTreeMap<String, String>);

impl Found {
    pub(super) fn new(resource: &ConfigResource) -> Self {
        let entry = |entry: &ConfigEntry| Some((entry.name.clone(), entry.value.clone()?));
        Self(resource.entries.iter().filter_map(entry).collect())
    }

    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn is_compacted(&self) -> bool {
        self.get("cleanup.policy").contains("compact")
    }

    fn complaints(
        &self,
        purpose: Purpose,
        settings: &Settings,
        needs_arrival: bool,
    ) -> Vec<String> {
        let topic = purpose.name(settings);
        let alter = |change: &str| alter_command(settings, topic, change);
        let mut complaints = Vec::new();
        match purpose {
            Purpose::Taps
                if needs_arrival && self.get("message.timestamp.type") != "LogAppendTime" =>
            {
                complaints.push(format!(
                    "the topic {topic} carries its producers' times, but window.close = \"arrival\" needs the broker's own; \
                     run: {}",
                    alter("message.timestamp.type=LogAppendTime")
                ));
            }
            Purpose::Segments | Purpose::Ledger => {
                let loss = match purpose {
                    Purpose::Ledger => "would erase a payment",
                    _ => "would lose taps",
                };
                if self.is_compacted() {
                    complaints.push(format!(
                        "the topic {topic} is compacted, and compaction {loss}; run: {}",
                        alter("cleanup.policy=delete")
                    ));
                }
                if self.get("retention.ms") != "-1" || self.get("retention.bytes") != "-1" {
                    complaints.push(format!(
                        "the topic {topic} forgets old records (retention.ms={}, retention.bytes={}), and that {loss}; \
                         run: {}",
                        self.get("retention.ms"),
                        self.get("retention.bytes"),
                        alter("retention.ms=-1,retention.bytes=-1")
                    ));
                }
            }
            _ => {}
        }
        complaints
    }

    fn warnings(
        &self,
        purpose: Purpose,
        topic: &str,
        shape: &TopicShape,
        needed: Duration,
    ) -> Vec<Warning> {
        let topic = topic.to_owned();
        let mut warnings = Vec::new();
        if purpose == Purpose::Taps {
            if self.is_compacted() {
                warnings.push(Warning::CompactedTaps { topic: topic.clone() });
            }
            if let Ok(kept) = self.get("retention.ms").parse::<u64>()
                && kept < u64::try_from(needed.as_millis()).unwrap_or(u64::MAX)
            {
                let (kept, needed) = (kept / 1_000, needed.as_secs());
                warnings.push(Warning::ShortRetention { topic: topic.clone(), kept, needed });
            }
        }
        if shape.copies >= 3 && self.get("min.insync.replicas") == "1" {
            warnings.push(Warning::FewInSync { topic });
        }
        warnings
    }
}

fn alter_command(settings: &Settings, topic: &str, change: &str) -> String {
    format!(
        "kafka-configs.sh --bootstrap-server {} --alter --entity-type topics --entity-name {topic} --add-config {change}",
        settings.brokers
    )
}

pub(super) fn create_command(settings: &Settings, purpose: Purpose, copies: usize) -> String {
    let options: String = purpose
        .configuration()
        .iter()
        .map(|(name, value)| format!(" --config {name}={value}"))
        .collect();
    format!(
        "kafka-topics.sh --bootstrap-server {} --create --topic {} --partitions {} --replication-factor {copies}{options}",
        settings.brokers,
        purpose.name(settings),
        purpose.partitions()
    )
}
