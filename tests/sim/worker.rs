//! A worker as a driver of the protocol: executes effects against the broker in memory, one call at a time, and feeds
//! back what happened. Everything it knows is lost when it dies.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::SignedDuration;
use tapveil_core::ledger::{ChainFault, read_book};
use tapveil_core::protocol::{
    Error, Ingest, IngestEffect, IngestEvent, IngestPlan, OutRecord, PolledRecord, ReleaseEffect,
    ReleaseEvent, Releaser, SegmentRecord, Transaction,
};

use crate::broker::{Broker, GroupName, LogName, Producer};
use crate::group::Membership;
use crate::net::Net;
use crate::running::{Called, Running};
use crate::world::{Rows, World, instant};

/// What a worker does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Taps to segments.
    Ingest,
    /// Segments to releases.
    Release,
}

impl Role {
    pub(crate) fn group(self) -> GroupName {
        match self {
            Self::Ingest => GroupName::Ingest,
            Self::Release => GroupName::Release,
        }
    }
}

/// Whether a worker does anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// It works.
    Awake,
    /// It sleeps until then, and does not know.
    Asleep(i64),
    /// It is gone until then.
    Dead(i64),
    /// It has done all there was to do, or failed for good.
    Done,
}

pub(crate) enum Machine {
    Ingest(Box<Ingest>),
    Release(Box<Releaser<Rows>>),
}

#[expect(clippy::large_enum_variant, reason = "few exist at a time")]
pub(crate) enum Effect {
    Ingest(IngestEffect),
    Release(ReleaseEffect<Rows>),
}

/// What a worker remembers while it lives.
pub(crate) struct Session {
    machine: Machine,
    pub(crate) queue: VecDeque<Effect>,
    pub(crate) running: Option<Running>,
    pub(crate) producer: Option<Producer>,
    /// Member and generation that positions are sent with.
    pub(crate) used: Option<(u64, u32)>,
    pub(crate) positions: BTreeMap<i32, i64>,
    /// Records that a planted bug holds back.
    pub(crate) owed: Vec<OutRecord>,
}

/// A worker.
pub struct Worker {
    /// Which one.
    pub number: usize,
    /// What it does.
    pub role: Role,
    /// Its fixed name in its group, if it has one.
    pub instance: Option<String>,
    /// Its transactional id.
    pub producer_id: String,
    /// Whether it does anything.
    pub life: Life,
    /// How far its clock is off, in milliseconds.
    pub skew: i64,
    /// What its client knows of the group; heard of in the background, as long as it is awake.
    pub membership: Membership,
    pub(crate) session: Option<Session>,
}

/// What a worker's step led to.
pub enum Stepped {
    /// Nothing special.
    Went,
    /// It left, to come back.
    Left,
    /// It left for good: the range is done.
    Finished,
    /// It stopped with an error.
    Failed(String),
}

/// What workers share beside the broker: what a run is checked by.
#[derive(Default)]
pub struct Seen {
    /// Windows whose noise was drawn, and whether their price was durable then.
    pub noise: Vec<(i64, bool)>,
    /// Releases as they were put into a directory, by window.
    pub disk: BTreeMap<i64, Vec<u8>>,
    /// Windows whose files changed under a reader's eyes.
    pub changed: Vec<i64>,
}

impl Worker {
    fn now(&self, broker: &Broker) -> jiff::Timestamp {
        instant(broker.now + self.skew)
    }

    /// Dies, now. What it sent stays sent.
    pub fn die(&mut self, until: i64) {
        self.life = Life::Dead(until);
        self.session = None;
        self.membership = Membership::default();
    }

    /// Does one thing.
    pub fn step(
        &mut self,
        world: &World,
        broker: &mut Broker,
        net: &mut Net,
        seen: &mut Seen,
    ) -> Stepped {
        if self.session.is_none() {
            match self.begin(world, broker) {
                Ok(true) => {}
                Ok(false) => return Stepped::Went,
                Err(fault) => return Stepped::Failed(fault.to_string()),
            }
        }
        let session = self.session.as_mut().expect("begun above");
        if session.running.is_some() {
            return self.call(broker, net);
        }
        match session.queue.pop_front() {
            Some(effect) => self.execute(effect, world, broker, net, seen),
            None => self.poll(world, broker, net),
        }
    }

    /// Starts over with nothing but what the topics say. Ingest waits until the ledger is open.
    fn begin(&mut self, world: &World, broker: &Broker) -> Result<bool, ChainFault> {
        let machine = match self.role {
            Role::Release => {
                Machine::Release(Box::new(Releaser::of_segments(world.release_plan())))
            }
            Role::Ingest => {
                let book = read_book(&world.secret.ledger_key(), &ledger_lines(broker))?;
                if book.first_window().is_none() {
                    return Ok(false);
                }
                let settled = book.entries().iter().filter(|entry| entry.settled.is_some());
                let plan = IngestPlan {
                    rules: world.rules(),
                    codec: world.codec(),
                    signer: world.signer(),
                    taps_topic: "taps".to_owned(),
                    settled_through: settled.map(|entry| entry.reservation.window).max(),
                    flush: SignedDuration::from_secs(15),
                };
                Machine::Ingest(Box::new(Ingest::new(plan, self.now(broker))))
            }
        };
        self.session = Some(Session {
            machine,
            queue: VecDeque::new(),
            running: None,
            producer: None,
            used: None,
            positions: BTreeMap::new(),
            owed: Vec::new(),
        });
        Ok(true)
    }

    /// Hears what the group decided, reads, and lets time pass.
    fn poll(&mut self, world: &World, broker: &mut Broker, net: &mut Net) -> Stepped {
        let lost = std::mem::take(&mut self.membership.lost);
        let session = self.session.as_mut().expect("only a worker at work polls");
        if !lost.is_empty() {
            session.positions.retain(|partition, _| !lost.contains(partition));
            return match self.role {
                Role::Ingest => self.ingest(IngestEvent::Revoked(lost), net),
                Role::Release => self.release(ReleaseEvent::Revoked),
            };
        }
        let gained = std::mem::take(&mut self.membership.gained);
        let now = self.now(broker);
        if !gained.is_empty() {
            return match self.role {
                Role::Ingest => self.ingest(IngestEvent::Assigned(gained), net),
                Role::Release => self.release(ReleaseEvent::Assigned(now)),
            };
        }
        let read = match self.role {
            Role::Ingest => self.read_taps(world, broker, net),
            Role::Release => self.read_segments(broker),
        };
        match read {
            Stepped::Went if self.is_idle() => match self.role {
                Role::Ingest => self.ingest(IngestEvent::Tick(now), net),
                Role::Release => self.release(ReleaseEvent::Tick(now)),
            },
            stepped => stepped,
        }
    }

    fn is_idle(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.queue.is_empty())
    }

    fn read_taps(&mut self, world: &World, broker: &Broker, net: &mut Net) -> Stepped {
        let session = self.session.as_mut().expect("only a worker at work reads");
        let Machine::Ingest(machine) = &session.machine else { return Stepped::Went };
        let mut polled = Vec::new();
        for (partition, position) in &mut session.positions {
            let most = 1 + net.random.below(6) as usize;
            let Ok((records, next)) = broker.fetch(LogName::Taps(*partition), *position, most)
            else {
                // The process ends and is started again; if taps were truly lost, that never ends.
                return Stepped::Left;
            };
            for (offset, entry) in records {
                let payload = entry.payload.as_deref().unwrap_or_default();
                let judged = world.judge(machine.rules(), payload, entry.stamp);
                polled.push(PolledRecord { partition: *partition, offset, judged });
            }
            *position = next;
        }
        self.ingest(IngestEvent::Polled(polled), net)
    }

    fn read_segments(&mut self, broker: &Broker) -> Stepped {
        let session = self.session.as_mut().expect("only a worker at work reads");
        let mut polled = Vec::new();
        if let Some(position) = session.positions.get_mut(&0) {
            let Ok((records, next)) = broker.fetch(LogName::Segments, *position, 4) else {
                return Stepped::Left;
            };
            let record = |(offset, entry): (i64, &crate::broker::Entry)| SegmentRecord {
                offset,
                payload: entry.payload.as_deref().unwrap_or_default().to_vec(),
            };
            polled = records.into_iter().map(record).collect();
            *position = next;
        }
        self.release(ReleaseEvent::Polled(polled))
    }

    pub(crate) fn ingest(&mut self, event: IngestEvent, net: &mut Net) -> Stepped {
        let session = self.session.as_mut().expect("only a worker at work is told");
        let Machine::Ingest(machine) = &mut session.machine else { return Stepped::Went };
        let mut nonce = || {
            let mut nonce = [0; 24];
            net.random.fill(&mut nonce);
            nonce
        };
        match machine.step(event, &mut nonce) {
            Ok(effects) => session.queue.extend(effects.into_iter().map(Effect::Ingest)),
            Err(error) => return failed(&error),
        }
        Stepped::Went
    }

    pub(crate) fn release(&mut self, event: ReleaseEvent<Rows>) -> Stepped {
        let session = self.session.as_mut().expect("only a worker at work is told");
        let Machine::Release(machine) = &mut session.machine else { return Stepped::Went };
        match machine.step(event) {
            Ok(effects) => session.queue.extend(effects.into_iter().map(Effect::Release)),
            Err(error) => return failed(&error),
        }
        Stepped::Went
    }

    fn execute(
        &mut self,
        effect: Effect,
        world: &World,
        broker: &mut Broker,
        net: &mut Net,
        seen: &mut Seen,
    ) -> Stepped {
        net.trace(broker.now, || format!("{} {}", self.name(), crate::effects::describe(&effect)));
        match effect {
            Effect::Ingest(effect) => self.execute_ingest(effect, broker, net),
            Effect::Release(effect) => self.execute_release(effect, world, broker, net, seen),
        }
    }

    /// Its name in a trace.
    pub fn name(&self) -> String {
        format!("{:?} {}", self.role, self.number)
    }

    pub(crate) fn start(&mut self, transaction: Arc<Transaction>, then: Option<Arc<Transaction>>) {
        let session = self.session.as_mut().expect("only a worker at work commits");
        session.running = Some(Running::new(transaction, then));
    }

    /// One call of the transaction that runs.
    fn call(&mut self, broker: &mut Broker, net: &mut Net) -> Stepped {
        match Running::call(self, broker, net) {
            Called::GoesOn => Stepped::Went,
            Called::Ended(ended) => match self.role {
                Role::Ingest => self.ingest(IngestEvent::Ended(ended), net),
                Role::Release => self.release(ReleaseEvent::Ended(ended)),
            },
        }
    }
}

fn failed(error: &Error) -> Stepped {
    Stepped::Failed(error.to_string())
}

/// The records of the ledger as a reader of committed records sees them.
pub fn ledger_lines(broker: &Broker) -> Vec<Vec<u8>> {
    let (records, _) =
        broker.fetch(LogName::Ledger, 0, usize::MAX).expect("nobody deletes payments");
    records.into_iter().filter_map(|(_, entry)| Some(entry.payload.as_deref()?.to_vec())).collect()
}
