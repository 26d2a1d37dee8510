//! Who may append to the ledger's topic, whoever has had the writer's name before.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use rdkafka::consumer::ConsumerGroupMetadata;
use tapveil::kafka::ledger::{TopicLedger, read_lines};
use tapveil::kafka::{self, End, Membership, Protocol, Settings, Topics};
use tapveil::ledger::Ledger;
use tapveil::protocol::{Ended, OutRecord, Position, Topic, Transaction};

use crate::broker::{bootstrap, unique};

/// Topics of their own on a broker.
fn settings(brokers: String) -> Settings {
    let name = unique("writer");
    let topic = |what: &str| format!("{name}.{what}");
    let topics = Topics {
        taps: topic("taps"),
        segments: topic("segments"),
        ledger: topic("ledger"),
        releases: topic("releases"),
        rejects: topic("rejects"),
    };
    let settings = Settings {
        brokers,
        group: name,
        instance: None,
        protocol: Protocol::Classic,
        topics,
        connect_timeout: Duration::from_secs(60),
        flush: Duration::from_secs(60),
        properties: Vec::new(),
        stall_timeout: Duration::from_secs(300),
        accepts_unsigned: false,
        pass_segments: BTreeSet::new(),
        is_in_process: false,
    };
    kafka::topics::ensure(&settings, None, kafka::topics::Role::All).unwrap();
    settings
}

/// A worker whose group refuses nothing, as that of another configuration would.
struct NoGroup;

impl Membership for NoGroup {
    fn topic(&self) -> &str {
        "segments"
    }

    fn metadata(&self) -> Option<ConsumerGroupMetadata> {
        None
    }

    fn owns(&self, _: &[Position]) -> bool {
        true
    }

    fn can_read(&self, _: &End) -> bool {
        true
    }
}

fn ledger(settings: &Settings) -> TopicLedger {
    let mut ledger = TopicLedger::new(settings, Rc::new(NoGroup));
    ledger.fence().unwrap();
    ledger
}

/// Appends a line to a ledger that should have so many.
fn append(ledger: &mut TopicLedger, line: &str, expected: u64) -> Ended {
    let records = vec![OutRecord::plain(Topic::Ledger, line.as_bytes().to_vec())];
    let transaction = Transaction { records, positions: Vec::new(), ledger_length: Some(expected) };
    ledger.commit(&transaction).unwrap()
}

/// The two are of different groups, so no group refuses either. The first gets a new epoch only when the second has
/// appended, and must see that its ledger is not the ledger any more.
#[test]
fn a_writer_whose_name_was_used_meanwhile_appends_nothing() {
    let Some(brokers) = bootstrap() else { return };
    let settings = settings(brokers);
    let mut first = ledger(&settings);
    let mut second = ledger(&settings);
    assert_eq!(append(&mut second, "the second's", 0), Ended::Committed);
    first.fence().unwrap();
    assert_eq!(append(&mut first, "the first's", 0), Ended::Lost);
    assert_eq!(read_lines(&settings).unwrap(), [b"the second's".to_vec()]);
}

/// Holds L-6.
/// A worker that was fenced stays so: it takes no new epoch by itself, and does not fence its successor.
#[test]
fn a_writer_that_was_fenced_leaves_its_successor_alone() {
    let Some(brokers) = bootstrap() else { return };
    let settings = settings(brokers);
    let mut first = ledger(&settings);
    let mut second = ledger(&settings);
    let refused = append(&mut first, "the first's", 0);
    assert!(matches!(refused, Ended::Fenced(_)), "{refused:?}");
    assert_eq!(append(&mut second, "one", 0), Ended::Committed);
    assert_eq!(append(&mut second, "two", 1), Ended::Committed);
    assert_eq!(read_lines(&settings).unwrap().len(), 2);
}
