use super::*;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use std::collections::BTreeSet;
use std::time::Duration;

pub(super) fn settings(properties: Vec<Property>) -> Settings {
    let named = |name: &str| name.to_owned();
    Settings {
        brokers: named("127.0.0.1:1"),
        group: named("tapveil"),
        instance: None,
        protocol: Protocol::Classic,
        topics: Topics {
            taps: named("taps"),
            segments: named("tapveil.segments"),
            ledger: named("tapveil.ledger"),
            releases: named("releases"),
            rejects: named("tapveil.rejects"),
        },
        connect_timeout: Duration::from_millis(600),
        flush: Duration::from_secs(60),
        properties,
        stall_timeout: Duration::from_secs(300),
        accepts_unsigned: false,
        pass_segments: BTreeSet::new(),
        is_in_process: false,
    }
}

/// Holds K-3.
#[test]
fn secrets_never_show() {
    for name in ["sasl.password", "ssl.key.pem", "sasl.oauthbearer.client.secret", "x.TOKEN"] {
        let property = Property::new(name, "hunter2");
        assert!(property.is_secret(), "{name}");
        let all = format!("{property} {property:?} {:?}", settings(vec![property.clone()]));
        assert!(!all.contains("hunter2") && all.contains("***"), "{all}");
    }
    assert_eq!(Property::new("client.rack", "a").to_string(), "client.rack=a");
    assert_eq!(Property::from_file("sasl.username", "me").to_string(), "sasl.username=***");
}

#[test]
fn what_would_break_exactly_once_is_refused() {
    for name in [
        "isolation.level",
        "transactional.id",
        "enable.idempotence",
        "acks",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "auto.offset.reset",
        "group.id",
    ] {
        let complaint = Property::new(name, "x").complaint().unwrap();
        assert!(complaint.contains("would break exactly-once"), "{name}: {complaint}");
    }
    let brokers = Property::new("bootstrap.servers", "x").complaint().unwrap();
    assert!(brokers.contains("kafka.brokers"), "{brokers}");
}

#[test]
fn properties_are_known_and_their_values_fit() {
    assert_eq!(Property::new("linger.ms", "7").complaint(), None);
    let unknown = Property::new("no.such.thing", "1").complaint().unwrap();
    assert!(unknown.contains("No such configuration property"), "{unknown}");
    assert!(Property::new("linger.ms", "soon").complaint().is_some());
}

#[test]
fn a_build_without_tls_says_how_to_get_one() {
    for (name, value) in [("security.protocol", "SASL_SSL"), ("sasl.mechanism", "SCRAM-SHA-512")] {
        let complaint = Property::new(name, value).complaint();
        assert_eq!(complaint.is_none(), HAS_TLS, "{complaint:?}");
        assert!(complaint.is_none_or(|complaint| complaint.contains(TLS_BUILD)));
    }
    assert_eq!(Property::new("sasl.mechanism", "PLAIN").complaint(), None);
}

/// Holds K-1.
#[test]
fn nothing_overrides_what_exactly_once_rests_on() {
    let mut settings = settings(vec![
        Property::new("isolation.level", "read_uncommitted"),
        Property::new("fetch.queue.backoff.ms", "9"),
        Property::new("acks", "0"),
    ]);
    let consumer = settings.group_consumer("g");
    assert_eq!(consumer.get("isolation.level"), Some("read_committed"));
    assert_eq!(consumer.get("auto.offset.reset"), Some("error"));
    assert_eq!(consumer.get("fetch.queue.backoff.ms"), Some("9"), "tuning is the user's");
    assert_eq!(consumer.get("session.timeout.ms"), Some("6000"));
    assert_eq!(settings.transactional_producer("t", Load::Text).get("acks"), Some("all"));
    settings.protocol = Protocol::Consumer;
    assert_eq!(settings.group_consumer("g").get("session.timeout.ms"), None);
    assert_eq!(settings.plain_consumer("read_committed").get("group.id"), Some("tapveil.reader"));
}

#[test]
fn every_client_can_be_made() {
    use rdkafka::consumer::BaseConsumer;
    use rdkafka::producer::BaseProducer;
    for protocol in [Protocol::Classic, Protocol::Consumer] {
        let settings = Settings { protocol, ..settings(Vec::new()) };
        settings.group_consumer("g").create::<BaseConsumer>().unwrap();
        settings.plain_consumer("read_uncommitted").create::<BaseConsumer>().unwrap();
        settings.transactional_producer("t", Load::Encrypted).create::<BaseProducer>().unwrap();
        settings.plain_producer().create::<BaseProducer>().unwrap();
    }
}

/// Holds K-2.
#[test]
fn a_watcher_keeps_the_reason_that_explains_most() {
    let watcher = Watcher::default();
    watcher.note("1/1 brokers are down");
    assert_eq!(watcher.reason().unwrap(), "1/1 brokers are down");
    watcher.note(
        "[thrd:127.0.0.1:1/bootstrap]: 127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: \
         Connection refused (after 0ms in state CONNECT, 3 identical error(s) suppressed)",
    );
    let refused = "Connect to ipv4#127.0.0.1:1 failed: Connection refused";
    assert_eq!(watcher.reason().unwrap(), refused);
    watcher.note("1/1 brokers are down");
    assert_eq!(watcher.reason().unwrap(), refused);
    watcher.note("sasl_ssl://127.0.0.1:9/1: SASL authentication error: Authentication failed");
    watcher.note(refused);
    assert_eq!(watcher.reason().unwrap(), "SASL authentication error: Authentication failed");
    let error = KafkaError::MetadataFetch(RDKafkaErrorCode::BrokerTransportFailure);
    let explained = explain_on(&watcher, "reading the topic taps", error);
    assert_eq!(
        explained.to_string(),
        "reading the topic taps failed: SASL authentication error: Authentication failed"
    );
    watcher.forget();
    assert_eq!(watcher.reason(), None);
}

#[test]
fn nobody_at_the_address_is_said_in_time() {
    let began = std::time::Instant::now();
    let mut said = Vec::new();
    // Long enough for several questions: the first one that nobody answers is said.
    let settings = Settings { connect_timeout: Duration::from_secs(3), ..settings(Vec::new()) };
    let error = connect(&settings, &mut |line| said.push(line.to_owned()), &|| false).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(15));
    assert!(error.to_string().contains("Connection refused"), "{error}");
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(error.kind(), ErrorKind::External);
}
