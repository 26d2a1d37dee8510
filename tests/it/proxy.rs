//! The service behind a network that delivers late: an `EndTxn` arrives when its sender's retry has long succeeded
//! and the next transaction is open.
//!
//! The proxy stands between the program and a real broker. It keeps one `EndTxn`, cuts the connection it came on,
//! lets the client's retry pass, and delivers what it kept when everything of the next transaction is written and its
//! positions are not.

pub(crate) mod wire;

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use self::wire::{End, Request};
use crate::broker::{Own, bootstrap};
use crate::history::{PATIENCE, assert_released_once, check_week, name_the_instance, week};
use crate::service::Feed;

/// Longer than anything takes that the proxy waits for, shorter than a transaction may stay open.
const SOON: Duration = Duration::from_secs(10);

/// Which `EndTxn` comes late.
struct Plan {
    /// A part of the transactional id.
    name: &'static str,
    end: End,
    /// How many of them pass before.
    skip: usize,
    /// The abort is one of a transaction that writes to a topic with this ending.
    topic: &'static str,
}

/// How far the plan is.
enum Stage {
    /// The next transaction that writes to the topic is made to abort.
    Provoke,
    /// So many ends pass; the next is kept.
    Keep(usize),
    /// The client does not know that its request was kept, and that it will arrive.
    Kept(Vec<u8>),
    Delivered,
}

/// The transaction that is open, as the proxy saw it.
#[derive(Default)]
struct Open {
    partitions: BTreeSet<(String, i32)>,
    n_written: usize,
}

impl Open {
    /// Whether every partition has its records: each gets one batch.
    fn is_written(&self) -> bool {
        !self.partitions.is_empty() && self.n_written >= self.partitions.len()
    }
}

struct State {
    stage: Stage,
    open: Open,
    /// The next positions that the broker accepts are refused all the same, so that their transaction is aborted.
    is_refusing: bool,
    /// What the broker said to the request that came late.
    verdict: Option<String>,
    /// Whether a transaction was committed after that.
    has_gone_on: bool,
}

struct Proxy {
    plan: Plan,
    broker: String,
    address: String,
    began: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

/// One connection of a client, and its continuation to the broker.
struct Link {
    client: Mutex<TcpStream>,
    broker: Mutex<TcpStream>,
    /// Numbers of the requests that write for the plan's producer.
    writing: Mutex<BTreeSet<i32>>,
    /// Numbers of its requests that bring positions.
    positions: Mutex<BTreeSet<i32>>,
}

/// What becomes of a request.
enum Verdict {
    Passes,
    /// Passes later, when a thread of its own says so.
    Waits,
    Cut,
}

impl Proxy {
    fn start(broker: &str, plan: Plan) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stage = match plan.end {
            End::Abort => Stage::Provoke,
            End::Commit => Stage::Keep(plan.skip),
        };
        let proxy = Arc::new(Self {
            plan,
            broker: broker.to_owned(),
            address: listener.local_addr().unwrap().to_string(),
            began: Instant::now(),
            state: Mutex::new(State {
                stage,
                open: Open::default(),
                is_refusing: false,
                verdict: None,
                has_gone_on: false,
            }),
            changed: Condvar::new(),
        });
        let accepting = proxy.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                accepting.link(client.unwrap());
            }
        });
        proxy
    }

    /// What happened, in the order in which it did.
    #[expect(clippy::print_stdout, reason = "shown with --nocapture, and when the test fails")]
    fn tell(&self, what: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        println!("proxy {seconds:7.3} s  {:?} in {}: {what}", self.plan.end, self.plan.name);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn is_ours(&self, name: &str) -> bool {
        name.contains(self.plan.name)
    }

    fn link(self: &Arc<Self>, client: TcpStream) {
        let Ok(broker) = TcpStream::connect(&self.broker) else { return };
        client.set_nodelay(true).unwrap();
        broker.set_nodelay(true).unwrap();
        let link = Arc::new(Link {
            client: Mutex::new(client.try_clone().unwrap()),
            broker: Mutex::new(broker.try_clone().unwrap()),
            writing: Mutex::default(),
            positions: Mutex::default(),
        });
        let (proxy, there) = (self.clone(), link.clone());
        std::thread::spawn(move || proxy.pass_requests(client, &there));
        let proxy = self.clone();
        std::thread::spawn(move || proxy.pass_answers(broker, &link));
    }

    fn pass_requests(self: &Arc<Self>, mut client: TcpStream, link: &Arc<Link>) {
        while let Ok(frame) = wire::read_frame(&mut client) {
            match self.judge(&frame, link) {
                Verdict::Passes => link.to_broker(&frame),
                Verdict::Waits => {
                    let (proxy, link) = (self.clone(), link.clone());
                    std::thread::spawn(move || proxy.positions_wait(&frame, &link));
                }
                Verdict::Cut => break,
            }
        }
        link.cut();
    }

    /// Brokers name themselves in their answers; clients shall come here instead.
    fn pass_answers(&self, mut broker: TcpStream, link: &Link) {
        let (theirs, ours) = (wire::in_an_answer(&self.broker), wire::in_an_answer(&self.address));
        while let Ok(mut frame) = wire::read_frame(&mut broker) {
            let found: Vec<usize> = memchr::memmem::find_iter(&frame, &theirs).collect();
            for at in found {
                frame[at..at + ours.len()].copy_from_slice(&ours);
            }
            let number = wire::number_of_answer(&frame);
            if link.writing.lock().unwrap().remove(&number) {
                self.state().open.n_written += 1;
                self.changed.notify_all();
            }
            if link.positions.lock().unwrap().remove(&number) {
                self.refuse_if_wanted(&mut frame);
            }
            link.to_client(&frame);
        }
        link.cut();
    }

    fn judge(&self, frame: &[u8], link: &Link) -> Verdict {
        match wire::understand(frame) {
            Request::Produce { name } if self.is_ours(&name) => {
                link.writing.lock().unwrap().insert(wire::number_of_request(frame));
                Verdict::Passes
            }
            Request::AddPartitions { name, partitions } if self.is_ours(&name) => {
                self.state().open.partitions.extend(partitions);
                Verdict::Passes
            }
            Request::AddOffsets { name } if self.is_ours(&name) => {
                link.positions.lock().unwrap().insert(wire::number_of_request(frame));
                match self.state().stage {
                    Stage::Provoke | Stage::Kept(_) => Verdict::Waits,
                    Stage::Keep(_) | Stage::Delivered => Verdict::Passes,
                }
            }
            Request::EndTxn { name, epoch, end } if self.is_ours(&name) => {
                self.judge_end(frame, epoch, end)
            }
            _ => Verdict::Passes,
        }
    }

    fn judge_end(&self, frame: &[u8], epoch: i16, end: End) -> Verdict {
        let mut state = self.state();
        state.open = Open::default();
        match &mut state.stage {
            Stage::Keep(0) if end == self.plan.end => {
                self.tell(&format!("keeps EndTxn {end:?} of epoch {epoch}, cuts its connection"));
                state.stage = Stage::Kept(frame.to_vec());
                return Verdict::Cut;
            }
            Stage::Keep(skip) if end == self.plan.end => *skip -= 1,
            Stage::Delivered if end == End::Commit => {
                state.has_gone_on = true;
                self.changed.notify_all();
            }
            _ => {}
        }
        self.tell(&format!("EndTxn {end:?} of epoch {epoch} passes"));
        Verdict::Passes
    }

    /// Lets the positions of a transaction wait until its records are written; then it is the moment for what was kept.
    fn positions_wait(&self, frame: &[u8], link: &Link) {
        let (mut state, waited) = self
            .changed
            .wait_timeout_while(self.state(), SOON, |state| !state.open.is_written())
            .unwrap();
        if waited.timed_out() {
            self.tell("no record was written: the positions pass");
            return link.to_broker(frame);
        }
        let is_aim =
            state.open.partitions.iter().any(|(topic, _)| topic.ends_with(self.plan.topic));
        match std::mem::replace(&mut state.stage, Stage::Delivered) {
            Stage::Provoke if is_aim => {
                state.stage = Stage::Keep(self.plan.skip);
                state.is_refusing = true;
            }
            Stage::Kept(kept) => {
                let verdict = self.deliver(&kept);
                self.tell(&format!("delivers it, into the next transaction; answer: {verdict}"));
                state.verdict = Some(verdict);
                state.is_refusing = self.plan.end == End::Commit;
            }
            stage => state.stage = stage,
        }
        drop(state);
        link.to_broker(frame);
    }

    /// The broker has said yes or "not yet"; a yes becomes a refusal, if one is wanted.
    fn refuse_if_wanted(&self, answer: &mut [u8]) {
        let mut state = self.state();
        if state.is_refusing && wire::refuse(answer) {
            state.is_refusing = false;
            self.tell("refuses the positions of a transaction, which must abort now");
        }
    }

    /// Waits for the first commit after the delivery.
    #[track_caller]
    fn wait_until_gone_on(&self) {
        let wait =
            self.changed.wait_timeout_while(self.state(), PATIENCE, |state| !state.has_gone_on);
        assert!(!wait.unwrap().1.timed_out(), "nothing was committed after the delivery");
    }

    /// On a connection of its own, as a packet that took another way would come.
    fn deliver(&self, kept: &[u8]) -> String {
        let mut broker = TcpStream::connect(&self.broker).unwrap();
        broker.set_read_timeout(Some(SOON)).unwrap();
        broker.write_all(kept).unwrap();
        wire::verdict(&wire::read_frame(&mut broker).unwrap())
    }
}

impl Link {
    // Whoever has left does not hear it; the other side notices.
    fn to_broker(&self, frame: &[u8]) {
        self.broker.lock().unwrap().write_all(frame).ok();
    }

    fn to_client(&self, frame: &[u8]) {
        self.client.lock().unwrap().write_all(frame).ok();
    }

    fn cut(&self) {
        self.client.lock().unwrap().shutdown(Shutdown::Both).ok();
        self.broker.lock().unwrap().shutdown(Shutdown::Both).ok();
    }
}

/// A broker that names itself as the tests do: with brokers from elsewhere, one of our own.
fn broker() -> Option<(Option<Own>, String)> {
    if std::env::var("TAPVEIL_TEST_BROKERS").is_ok_and(|given| !given.is_empty()) {
        let own = Own::start(&[])?;
        let address = own.bootstrap.clone();
        return Some((Some(own), address));
    }
    Some((None, bootstrap()?))
}

/// A week goes through while one `EndTxn` comes late; nothing is lost, doubled or paid for twice.
#[track_caller]
fn comes_late(plan: Plan) {
    let Some((_own, broker)) = broker() else { return };
    let is_ingest = plan.topic == ".segments";
    let proxy = Proxy::start(&broker, plan);
    let feed = week(&proxy.address, 1_000);
    name_the_instance(&feed);
    // Long enough that every partition's records go in one batch: then all of them are written before the positions.
    feed.append("\"linger.ms\" = \"100\"\n");
    let before = if is_ingest { ingest_alone(&feed, &proxy) } else { String::new() };
    let mut worker = feed.worker("all", None);
    let ended = worker.wait(PATIENCE);
    let said = before + &worker.said();
    proxy.tell(&format!("the service ended with {ended:?}; it said:\n{said}"));
    let verdict = proxy.state().verdict.clone().expect("an EndTxn was kept and delivered");
    assert_eq!(ended, Some(0), "{said}");
    assert_released_once(&feed, 7);
    check_week(&feed);
    assert!(!said.contains("joining again"), "nobody was disturbed:\n{said}");
    assert_ne!(verdict, "NONE", "the broker ended a transaction that was not meant");
}

/// Everything is ingested before anybody releases: what is there twice is then seen twice. Gives what the worker said.
#[track_caller]
fn ingest_alone(feed: &Feed, proxy: &Proxy) -> String {
    let mut opener = feed.worker("release", None);
    opener.wait_for("active: releasing windows", PATIENCE);
    opener.signal("INT");
    assert_eq!(opener.wait(PATIENCE), Some(0), "{}", opener.said());
    let mut ingest = feed.worker("ingest", None);
    proxy.wait_until_gone_on();
    ingest.signal("INT");
    assert_eq!(ingest.wait(PATIENCE), Some(0), "{}", ingest.said());
    ingest.said()
}

#[test]
fn an_abort_that_comes_late_in_ingest_ends_no_other_transaction() {
    comes_late(Plan { name: ".ingest.", end: End::Abort, skip: 0, topic: ".segments" });
}

#[test]
fn a_commit_that_comes_late_in_ingest_ends_no_other_transaction() {
    comes_late(Plan { name: ".ingest.", end: End::Commit, skip: 0, topic: ".segments" });
}

#[test]
fn an_abort_that_comes_late_in_release_ends_no_other_transaction() {
    comes_late(Plan { name: ".ledger.writer", end: End::Abort, skip: 0, topic: ".releases" });
}

/// The commit that opens the ledger passes, the one of the first reservation comes late: into what publishes the
/// window.
#[test]
fn a_commit_that_comes_late_in_release_ends_no_other_transaction() {
    comes_late(Plan { name: ".ledger.writer", end: End::Commit, skip: 1, topic: ".releases" });
}
