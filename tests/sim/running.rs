//! A transaction while it runs: call after call, with everything that can happen to each.

use std::sync::Arc;

use tapveil_core::planted;
use tapveil_core::protocol::{Call, Ended, Position, Topic, Transaction};

use crate::broker::{Broker, LogName, Offsets, Refused};
use crate::net::{Delayed, Net};
use crate::worker::{Role, Worker};

/// A transaction and how far it is.
pub(crate) struct Running {
    transaction: Arc<Transaction>,
    /// A second one that a planted bug has put behind it.
    then: Option<Arc<Transaction>>,
    at: usize,
    has_begun: bool,
}

/// What a call led to.
pub(crate) enum Called {
    GoesOn,
    Ended(Ended),
}

impl Running {
    pub(crate) fn new(transaction: Arc<Transaction>, then: Option<Arc<Transaction>>) -> Self {
        Self { transaction, then, at: 0, has_begun: false }
    }

    /// Makes the next call of a worker's transaction.
    pub(crate) fn call(worker: &mut Worker, broker: &mut Broker, net: &mut Net) -> Called {
        let session = worker.session.as_mut().expect("a transaction runs in a session");
        let running = session.running.as_mut().expect("the caller looked");
        let transaction = running.transaction.clone();
        let call = transaction.calls().nth(running.at).expect("a transaction ends with its commit");
        running.at += 1;
        let name = format!("{:?} {}", worker.role, worker.number);
        net.trace(broker.now, || format!("{name}   {}", describe(&call)));
        let ended = match call {
            Call::CheckOwnership(positions) => {
                let is_ours = |one: &Position| {
                    worker.membership.assignment.contains(&one.partition)
                        && !worker.membership.lost.contains(&one.partition)
                };
                let is_blind = worker.role == Role::Release && planted!(ZombiePublishes);
                (!is_blind && !positions.iter().all(is_ours)).then_some(Ended::Lost)
            }
            Call::NewEpoch => {
                if net.fails(60) {
                    net.delay(Delayed::Init(worker.producer_id.clone()));
                }
                session.producer = Some(broker.init_producer(&worker.producer_id));
                None
            }
            Call::Begin => {
                running.has_begun = true;
                None
            }
            Call::CheckLedger(n) => {
                let found = crate::worker::ledger_lines(broker).len() as u64;
                (found != n && !planted!(ZombiePublishes)).then_some(Ended::Lost)
            }
            Call::Send(record) => {
                let log = log_of(record.topic);
                let producer = session.producer.clone().expect("fenced before it writes");
                let now = broker.now;
                refused(broker.produce(&producer, log, record.key.as_deref(), &record.payload, now))
            }
            Call::FreshMembership => {
                let membership = &worker.membership;
                session.used = membership.member.map(|member| (member, membership.generation));
                None
            }
            Call::SendPositions(positions) => {
                let producer = session.producer.clone().expect("fenced before it writes");
                let (member, generation) = session.used.unwrap_or_default();
                let offsets: Offsets = positions
                    .iter()
                    .map(|one| (one.partition, (one.offset, one.metadata.clone())))
                    .collect();
                refused(broker.send_offsets(
                    &producer,
                    worker.role.group(),
                    member,
                    generation,
                    offsets,
                ))
            }
            Call::Commit => Some(commit(worker, broker, net)),
        };
        finish(worker, broker, net, ended)
    }
}

fn refused(answer: Result<(), Refused>) -> Option<Ended> {
    match answer {
        Ok(()) => None,
        Err(Refused::Generation) => Some(Ended::Lost),
        Err(Refused::Fenced | Refused::State) => Some(Ended::Fenced("a newer epoch".to_owned())),
    }
}

/// The end of a transaction on a network that loses, delays and doubles.
fn commit(worker: &mut Worker, broker: &mut Broker, net: &mut Net) -> Ended {
    let session = worker.session.as_mut().expect("a transaction runs in a session");
    let producer = session.producer.clone().expect("fenced before it commits");
    if net.fails(40) {
        // Held by the network; the client gives up before it arrives, if it ever does.
        net.n_unknown += 1;
        if !net.random.one_in(3) {
            net.delay(Delayed::End(producer, true));
        }
        return Ended::Unknown("no answer in time".to_owned());
    }
    if net.fails(30) {
        // The brokers refuse for a passing reason: the client aborts.
        return Ended::Aborted;
    }
    if net.fails(12) {
        // The connection breaks; the client's own retry succeeds, and the first request arrives later.
        net.delay(Delayed::End(producer.clone(), true));
    }
    let answer = broker.end(&producer, true);
    if net.fails(40) {
        net.n_unknown += 1;
        return Ended::Unknown("the answer is lost".to_owned());
    }
    match answer {
        Ok(()) => Ended::Committed,
        Err(_) => Ended::Fenced("a newer epoch".to_owned()),
    }
}

fn finish(worker: &mut Worker, broker: &mut Broker, net: &mut Net, ended: Option<Ended>) -> Called {
    let Some(ended) = ended else { return Called::GoesOn };
    let session = worker.session.as_mut().expect("a transaction runs in a session");
    let running = session.running.take().expect("the caller looked");
    if matches!(ended, Ended::Aborted | Ended::Lost)
        && running.has_begun
        && let Some(producer) = session.producer.clone()
    {
        if net.fails(8) {
            net.delay(Delayed::End(producer.clone(), false));
        }
        broker.end(&producer, false).ok();
    }
    match (ended, running.then) {
        (Ended::Committed, Some(next)) => {
            session.running = Some(Running::new(next, None));
            Called::GoesOn
        }
        (ended, _) => Called::Ended(ended),
    }
}

fn log_of(topic: Topic) -> LogName {
    match topic {
        Topic::Segments => LogName::Segments,
        Topic::Rejects => LogName::Rejects,
        Topic::Ledger => LogName::Ledger,
        Topic::Releases => LogName::Releases,
    }
}

fn describe(call: &Call<'_>) -> String {
    match call {
        Call::CheckOwnership(_) => "checks what is its own".to_owned(),
        Call::NewEpoch => "gets a new epoch".to_owned(),
        Call::Begin => "begins".to_owned(),
        Call::CheckLedger(n) => format!("checks that the ledger has {n} records"),
        Call::Send(record) => format!("sends to {:?}", record.topic),
        Call::FreshMembership => "asks for its membership".to_owned(),
        Call::SendPositions(positions) => format!("sends {positions:?}"),
        Call::Commit => "commits".to_owned(),
    }
}
