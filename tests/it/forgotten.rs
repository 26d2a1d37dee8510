//! Brokers that forget: a transaction that its coordinator has ended without telling every partition, and a leader that
//! does not know yet how far the one before had come. Both were seen on Kafka 4.3.1 while brokers died (decision 0021).

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::FromClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tapveil::kafka;

use crate::broker::Own;
use crate::history::{PATIENCE, assert_released_once, check_week, name_the_instance, week};
use crate::kafka_clients::{Admin, settings};
use crate::proxy::wire::{self, Request};
use crate::service::Feed;

const SOON: Duration = Duration::from_secs(20);
/// The first transactions of an ingest worker let leftovers appear, and end all others.
const FIRST_FLUSH: usize = 2;

/// What of a transaction its coordinator never hears of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    All,
    /// That it has records. It commits the positions.
    Records,
    /// The same; and the positions of the next one are refused, so that it is aborted.
    RecordsThenAborts,
}

/// Which transaction of a name is forgotten, counted from the first one that ends.
struct Forgotten {
    name: String,
    what: What,
    transaction: usize,
    n_ended: AtomicUsize,
}

impl Forgotten {
    fn new(name: &str, what: What, transaction: usize) -> Arc<Self> {
        let n_ended = AtomicUsize::new(0);
        Arc::new(Self { name: name.to_owned(), what, transaction, n_ended })
    }

    /// The coordinator's yes, if it is not asked.
    fn answer(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let (number, request) = (wire::number_of_request(frame), wire::understand(frame));
        let (Request::AddPartitions { name, .. }
        | Request::AddOffsets { name }
        | Request::EndTxn { name, .. }) = &request
        else {
            return None;
        };
        let is_ours = name.contains(&self.name);
        let at = match &request {
            Request::EndTxn { .. } if is_ours => self.n_ended.fetch_add(1, Ordering::SeqCst),
            _ => self.n_ended.load(Ordering::SeqCst),
        };
        let is_next = at == self.transaction + 1 && self.what == What::RecordsThenAborts;
        match &request {
            Request::AddOffsets { .. } if is_ours && is_next => Some(wire::refused(number)),
            _ if !is_ours || at != self.transaction => None,
            Request::AddPartitions { partitions, .. } => {
                Some(wire::partitions_added(number, partitions))
            }
            _ => (self.what == What::All).then(|| wire::plain_yes(number)),
        }
    }
}

/// Stands between clients and their broker, and keeps a transaction from its coordinator, which so never ends it.
fn forgetful(broker: &str, forgotten: Arc<Forgotten>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (theirs, ours) = (broker.to_owned(), address.clone());
    std::thread::spawn(move || {
        for client in listener.incoming() {
            pass(client.unwrap(), &theirs, &ours, forgotten.clone());
        }
    });
    address
}

fn pass(mut client: TcpStream, theirs: &str, ours: &str, forgotten: Arc<Forgotten>) {
    let mut broker = TcpStream::connect(theirs).unwrap();
    let answers = Arc::new(Mutex::new(client.try_clone().unwrap()));
    let (from_broker, to_client) = (broker.try_clone().unwrap(), answers.clone());
    let (theirs, ours) = (wire::in_an_answer(theirs), wire::in_an_answer(ours));
    std::thread::spawn(move || {
        let mut from_broker = from_broker;
        while let Ok(mut frame) = wire::read_frame(&mut from_broker) {
            let found: Vec<usize> = memchr::memmem::find_iter(&frame, &theirs).collect();
            for at in found {
                frame[at..at + ours.len()].copy_from_slice(&ours);
            }
            if to_client.lock().unwrap().write_all(&frame).is_err() {
                break;
            }
        }
        to_client.lock().unwrap().shutdown(Shutdown::Both).ok();
    });
    std::thread::spawn(move || {
        while let Ok(frame) = wire::read_frame(&mut client) {
            let sent = match forgotten.answer(&frame) {
                Some(yes) => answers.lock().unwrap().write_all(&yes),
                None => broker.write_all(&frame),
            };
            if sent.is_err() {
                break;
            }
        }
        broker.shutdown(Shutdown::Both).ok();
    });
}

/// Brokers take records of transactions that their coordinator does not know.
fn trust_producers(own: &Own) {
    let client: AdminClient<DefaultClientContext> =
        AdminClient::from_config(ClientConfig::new().set("bootstrap.servers", &own.bootstrap))
            .unwrap();
    let change = AlterConfig::new(ResourceSpecifier::Broker(1))
        .set("transaction.partition.verification.enable", "false");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let done = runtime.block_on(client.alter_configs([&change], &AdminOptions::new()));
    done.unwrap().remove(0).unwrap();
}

/// A record and a position that stay undecided, of a name that the service uses.
fn forget(own: &Own, name: &str, topic: &str, group: &str, read: &str) {
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", forgetful(&own.bootstrap, Forgotten::new(name, What::All, 0)))
        .set("transactional.id", name)
        .create()
        .unwrap();
    producer.init_transactions(SOON).unwrap();
    producer.begin_transaction().unwrap();
    let record = BaseRecord::<str, str>::to(topic).partition(0).payload("forgotten");
    producer.send(record).map_err(|(error, _)| error).unwrap();
    producer.flush(SOON).unwrap();
    let member: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &own.bootstrap)
        .set("group.id", group)
        .create()
        .unwrap();
    let mut positions = TopicPartitionList::new();
    positions.add_partition_offset(read, 0, Offset::Offset(1_000_000)).unwrap();
    let membership = member.group_metadata().unwrap();
    producer.send_offsets_to_transaction(&positions, &membership, SOON).unwrap();
}

/// What readers of committed records can reach, and where the records end.
fn ends(own: &Own, topic: &str) -> (i64, i64) {
    let end = |isolation: &str| {
        let client: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", &own.bootstrap)
            .set("isolation.level", isolation)
            .create()
            .unwrap();
        client.fetch_watermarks(topic, 0, SOON).unwrap().1
    };
    (end("read_committed"), end("read_uncommitted"))
}

fn opened(own: &Own) -> Feed {
    let feed = week(&own.bootstrap, 500);
    name_the_instance(&feed);
    let mut opener = feed.worker("release", None);
    opener.wait_for("active: releasing windows", PATIENCE);
    opener.signal("INT");
    assert_eq!(opener.wait(PATIENCE), Some(0), "{}", opener.said());
    feed
}

/// Holds K-4. The service used to wait for the positions until it gave up, and the next commit of a name made its
/// forgotten records appear: the ledger was broken.
#[test]
fn what_brokers_forgot_to_end_neither_stops_the_service_nor_appears() {
    let Some(own) = Own::start(&[]) else { return };
    let feed = opened(&own);
    trust_producers(&own);
    let name = |what: &str| format!("{}.{what}", feed.name);
    let (ledger, segments, taps) = (name("ledger"), name("segments"), name("taps"));
    let rejects = name("rejects");
    Admin::new(&own.bootstrap).create(&rejects, 1, &[]);
    forget(&own, &format!("{ledger}.writer"), &ledger, &name("release"), &segments);
    forget(&own, &name("ingest.one"), &rejects, &feed.name, &taps);
    for topic in [&ledger, &rejects] {
        let (readable, all) = ends(&own, topic);
        assert!(readable < all, "{topic} has an undecided record: {readable} of {all}");
    }
    finishes(&feed);
    for topic in [&ledger, &rejects, &segments] {
        let (readable, all) = ends(&own, topic);
        assert_eq!(readable, all, "{topic} has nothing undecided any more");
    }
}

/// Holds K-4 where no name is configured. The next process used to have another name, and waited for the positions of
/// the dead one until it gave up.
#[test]
fn what_brokers_forgot_of_a_worker_that_died_is_ended_by_the_next_process() {
    let Some(own) = Own::start(&[]) else { return };
    trust_producers(&own);
    let feed = dies_at_its_first_flush(&own, What::All);
    let taps = format!("{}.taps", feed.name);
    assert!(!positions_are_known(&own, &feed.name, &taps), "positions are undecided");
    finishes(&feed);
    assert!(positions_are_known(&own, &feed.name, &taps));
}

/// Holds K-7. Its positions are committed, so nobody reads those taps again; an abort of its name used to lose them.
#[test]
fn records_that_brokers_forgot_of_a_worker_that_died_appear_with_the_next_process() {
    let Some(own) = Own::start(&[]) else { return };
    trust_producers(&own);
    let feed = dies_at_its_first_flush(&own, What::Records);
    assert!(positions_are_known(&own, &feed.name, &format!("{}.taps", feed.name)));
    let (readable, all) = ends(&own, &format!("{}.segments", feed.name));
    assert!(readable < all, "segments are undecided: {readable} of {all}");
    finishes(&feed);
}

/// A worker without a configured name is killed when its first flush has ended, of which the coordinator forgets this.
fn dies_at_its_first_flush(own: &Own, what: What) -> Feed {
    let forgotten = Forgotten::new(".ingest.", what, FIRST_FLUSH);
    let feed = week(&forgetful(&own.bootstrap, forgotten.clone()), 500);
    let mut first = feed.worker("all", None);
    let began = Instant::now();
    while forgotten.n_ended.load(Ordering::SeqCst) <= FIRST_FLUSH {
        assert!(began.elapsed() < PATIENCE, "it flushed nothing: {}", first.said());
        std::thread::sleep(Duration::from_millis(1));
    }
    first.signal("KILL");
    first.wait(PATIENCE);
    feed
}

/// Whether a group's positions can be read by whoever reads committed ones.
fn positions_are_known(own: &Own, group: &str, topic: &str) -> bool {
    let member: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &own.bootstrap)
        .set("group.id", group)
        .set("isolation.level", "read_committed")
        .create()
        .unwrap();
    let mut asked = TopicPartitionList::new();
    asked.add_partition(topic, 0);
    member.committed_offsets(asked, Duration::from_secs(3)).is_ok()
}

/// The service goes through the week, and nothing is lost, doubled or paid for twice. Gives what it said.
#[track_caller]
fn finishes(feed: &Feed) -> String {
    let mut worker = feed.worker("all", None);
    assert_eq!(worker.wait(PATIENCE), Some(0), "{}", worker.said());
    assert_released_once(feed, 7);
    check_week(feed);
    worker.said()
}

/// The coordinator says that a transaction is committed, and who must know of it never hears of it.
#[track_caller]
fn is_noticed(name: &str, what: What, transaction: usize, said: &str) {
    let Some(own) = Own::start(&[]) else { return };
    let (_, heard) = finishes_without(&own, name, what, transaction);
    assert!(heard.contains(said), "{heard}");
}

/// The same for a transaction of the release role: its line is in the ledger a second time, and counts once.
#[track_caller]
fn is_booked_again(what: What, transaction: usize) {
    let Some(own) = Own::start(&[]) else { return };
    let (feed, heard) = finishes_without(&own, ".ledger.writer", what, transaction);
    let (settings, topic) = (settings(&own.bootstrap), format!("{}.ledger", feed.name));
    let mut lines = Vec::new();
    kafka::read_committed(&settings, &topic, "", SOON, &mut |record| lines.push(record.payload))
        .unwrap();
    let n_lines = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(n_lines, lines.len() + 1, "one stands there twice: {heard}");
}

#[track_caller]
fn finishes_without(own: &Own, name: &str, what: What, transaction: usize) -> (Feed, String) {
    trust_producers(own);
    let forgotten = Forgotten::new(name, what, transaction);
    let feed = week(&forgetful(&own.bootstrap, forgotten.clone()), 500);
    name_the_instance(&feed);
    let heard = finishes(&feed);
    assert!(forgotten.n_ended.load(Ordering::SeqCst) > transaction, "one was forgotten");
    (feed, heard)
}

/// Holds K-5. What was in it used to be lost.
#[test]
fn a_flush_that_brokers_forgot_is_noticed_before_the_next_one_and_made_again() {
    let said = "the group does not show the positions of the last flush";
    is_noticed(".ingest.", What::All, FIRST_FLUSH, said);
}

/// Holds K-7. Seen on Kafka 4.3.1: the positions were committed, the segments were not, and the next transaction of the
/// name, which was aborted, took them away.
#[test]
fn records_that_brokers_forgot_of_a_committed_flush_are_written_again() {
    is_noticed(".ingest.", What::RecordsThenAborts, FIRST_FLUSH, "they were written again");
}

/// Holds L-8. The first two transactions sweep and open the ledger; the third is the first reservation, for which noise
/// used to be drawn.
#[test]
fn a_reservation_that_brokers_forgot_is_booked_before_noise_is_drawn() {
    is_booked_again(What::All, 2);
}

/// The positions say how long the ledger is: without its record the service would stop for good.
#[test]
fn a_reservation_that_brokers_forgot_all_but_the_positions_of_is_booked_again() {
    is_booked_again(What::Records, 2);
}

/// The fourth settles; the release itself is in it.
#[test]
fn a_release_that_brokers_forgot_appears_once() {
    is_booked_again(What::All, 3);
}

#[test]
fn a_release_that_brokers_forgot_all_but_the_positions_of_appears_once() {
    is_booked_again(What::Records, 3);
}

/// Holds K-6. Every copy must be in sync before readers are shown more, so what the new leader does not know stays so
/// until the old one is back.
#[test]
fn a_new_leader_that_does_not_know_the_end_yet_is_not_believed() {
    let Some(own) = Own::start(&["--brokers", "3"]) else { return };
    let settings = settings(&own.bootstrap);
    let topic = &settings.topics.ledger;
    Admin::new(&own.bootstrap).create_copied(topic, 3, &[("min.insync.replicas", "3")]);
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &own.bootstrap)
        .set("enable.idempotence", "true")
        .set("linger.ms", "0")
        .create()
        .unwrap();
    let read = |timeout: Duration| {
        let mut n_read = 0;
        kafka::read_committed(&settings, topic, "", timeout, &mut |_| n_read += 1).map(|()| n_read)
    };
    for n_sent in 1..=4 {
        let record = BaseRecord::<str, str>::to(topic).partition(0).payload("a line");
        producer.send(record).map_err(|(error, _)| error).unwrap();
        producer.flush(SOON).unwrap();
        let leader = crate::run_elections::leader_of(&own.bootstrap, topic);
        own.local(&["broker", "kill", &leader.to_string()], &[]);
        // Whoever leads now may say that nobody knows; never that there is less.
        let seen: Vec<_> = (0..4).map(|_| read(Duration::from_secs(3))).collect();
        let is_wrong = |found: &Result<i32, kafka::Error>| {
            found.as_ref().is_ok_and(|n_read| *n_read != n_sent)
        };
        assert!(!seen.iter().any(is_wrong), "{n_sent} records were taken: {seen:?}");
        own.local(&["broker", "restart", &leader.to_string()], &[]);
        assert_eq!(read(Duration::from_secs(60)).unwrap(), n_sent);
    }
}
