//! One seed, one run: a feed, workers that die, sleep and come back, a network that fails; then calm, and the checks.

use std::rc::Rc;

use crate::bad::Bad;
use crate::broker::{Broker, GroupName, LogName, Producer};
use crate::check;
use crate::group::Membership;
use crate::net::Net;
use crate::random::Random;
use crate::worker::{Life, Role, Seen, Stepped, Worker};
use crate::world::{BEGIN, GRACE, LENGTH, MARGIN, World, tap_bytes};

/// A run that has not ended after so many rounds of calm never will.
const CALM_ROUNDS: u32 = 4_000;

/// What happened in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    /// Things that workers did.
    pub steps: u64,
    /// Workers that died.
    pub crashes: u64,
    /// Workers that slept through something and woke.
    pub zombies: u64,
    /// Transactions whose end their worker did not learn.
    pub unknown: u64,
}

impl Numbers {
    /// Adds another run's.
    pub fn add(&mut self, other: Self) {
        self.steps += other.steps;
        self.crashes += other.crashes;
        self.zombies += other.zombies;
        self.unknown += other.unknown;
    }
}

/// How a run ended.
pub struct Outcome {
    /// What happened in it.
    pub numbers: Numbers,
    /// What was wrong, if anything was.
    pub verdict: Result<(), String>,
    /// Every step, if it was asked for.
    pub trace: Vec<String>,
}

struct Sent {
    at: i64,
    partition: i32,
    payload: Rc<[u8]>,
    /// The number of the feed's transaction it belongs to.
    txn: Option<u32>,
}

struct FeedTransaction {
    ends_at: i64,
    commits: bool,
    producer: Option<Producer>,
    is_over: bool,
}

/// A run.
pub struct Run {
    pub(crate) world: World,
    pub(crate) broker: Broker,
    pub(crate) seen: Seen,
    net: Net,
    workers: Vec<Worker>,
    feed: Vec<Sent>,
    feed_transactions: Vec<FeedTransaction>,
    next_sent: usize,
    skews: Vec<i64>,
    numbers: Numbers,
    is_released: bool,
    bad: Option<Bad>,
}

/// Runs one seed.
pub fn run(seed: u64, traced: bool) -> Outcome {
    Run::new(seed, traced, None).go()
}

/// Runs one seed with one record in it that no correct worker writes.
pub fn run_with(seed: u64, bad: Bad, traced: bool) -> Outcome {
    Run::new(seed, traced, Some(bad)).go()
}

impl Run {
    fn new(seed: u64, traced: bool, bad: Option<Bad>) -> Self {
        let mut random = Random::new(seed);
        let world = World::new(&mut random);
        let n_partitions = 1 + random.below(3) as i32;
        let mut broker = Broker::new(BEGIN, n_partitions);
        broker.now = if world.is_live() { BEGIN } else { world.over() };
        let n_ingest = if world.is_live() { 1 + random.below(3) as usize } else { 1 };
        let n_release = 1 + random.below(2) as usize;
        let mut workers = Vec::new();
        for number in 0..n_ingest + n_release {
            let role = if number < n_ingest { Role::Ingest } else { Role::Release };
            workers.push(worker(number, role, &mut random));
        }
        let mut run = Self {
            skews: (0..8).map(|_| random.between(-MARGIN / 3, MARGIN / 3)).collect(),
            net: Net::new(random, traced),
            world,
            broker,
            seen: Seen::default(),
            workers,
            feed: Vec::new(),
            feed_transactions: Vec::new(),
            next_sent: 0,
            numbers: Numbers::default(),
            is_released: false,
            bad,
        };
        run.plan_feed(n_partitions);
        run
    }

    /// Which taps are sent when: most in time, some late, some broken, some in transactions that stay open for a while.
    fn plan_feed(&mut self, n_partitions: i32) {
        let n_windows = self.world.windows.end - self.world.windows.start;
        let random = &mut self.net.random;
        let n_taps = 4 + random.below(14);
        for _ in 0..n_taps {
            let event = BEGIN + random.between(0, LENGTH * n_windows);
            let (card, station) = (random.below(6) as u8, random.below(4) as u8);
            let payload = match random.below(12) {
                0 => b"?".to_vec(),
                1 => tap_bytes(card, 9, event),
                _ => tap_bytes(card, station, event),
            };
            let delay = match random.below(8) {
                0 => random.between(0, LENGTH + GRACE + 20_000),
                _ => random.between(0, GRACE / 2),
            };
            let at = if self.world.is_live() { event + delay } else { self.broker.now };
            let partition = random.below(n_partitions.unsigned_abs().into()) as i32;
            let txn = (self.world.is_live() && random.one_in(4))
                .then_some(self.feed_transactions.len() as u32);
            if txn.is_some() {
                let ends_at = at + random.between(0, 14_000);
                let commits = !random.one_in(5);
                self.feed_transactions.push(FeedTransaction {
                    ends_at,
                    commits,
                    producer: None,
                    is_over: false,
                });
            }
            self.feed.push(Sent { at, partition, payload: payload.into(), txn });
        }
        if self.world.is_live() && self.net.random.one_in(2) {
            self.send_at_the_last_moment(n_windows);
        }
        self.feed.sort_by_key(|sent| sent.at);
    }

    /// A tap that arrives just in time, in a transaction that stays open until after the window could be finished.
    fn send_at_the_last_moment(&mut self, n_windows: i64) {
        let random = &mut self.net.random;
        let end = BEGIN + LENGTH * (1 + random.between(0, n_windows));
        let partition = random.below(self.broker.n_partitions().unsigned_abs().into()) as i32;
        // The broker's own stamp must be in time, whatever its clock says.
        let at = end + GRACE - self.skews[partition as usize] - random.between(1, 2_000);
        let payload = tap_bytes(7, random.below(4) as u8, end - random.between(1, LENGTH)).into();
        let txn = Some(self.feed_transactions.len() as u32);
        let ends_at = at + random.between(13_000, 14_900);
        let transaction =
            FeedTransaction { ends_at, commits: true, producer: None, is_over: false };
        self.feed_transactions.push(transaction);
        self.feed.push(Sent { at, partition, payload, txn });
    }

    fn go(mut self) -> Outcome {
        let verdict = self.disturbed().and_then(|()| self.calm()).and_then(|()| check::all(&self));
        let verdict = match self.bad {
            None => verdict,
            Some(bad) => bad.judge(&self, verdict),
        };
        self.numbers.unknown = self.net.n_unknown;
        Outcome { numbers: self.numbers, verdict, trace: self.net.take_trace() }
    }

    /// While the feed lasts: anybody may die between any two effects.
    fn disturbed(&mut self) -> Result<(), String> {
        let over = self.broker.now.max(self.world.over());
        let mut crashes_left = self.net.random.below(8);
        let mut sleeps_left = self.net.random.below(4);
        let mut adds_left = u64::from(self.world.is_live() && self.net.random.one_in(4));
        let mut idle_left = u64::from(self.world.is_live() && self.net.random.one_in(3));
        let mut rounds = 150 + self.net.random.below(150);
        while rounds > 0 && (self.broker.now <= over + 20_000) && !self.is_released {
            rounds -= 1;
            match self.net.random.below(64) {
                0..=15 => self.pass_time(),
                16..=18 => self.net.deliver(&mut self.broker),
                19 if crashes_left > 0 => {
                    crashes_left -= 1;
                    self.crash();
                }
                20 if sleeps_left > 0 => {
                    sleeps_left -= 1;
                    self.sleep();
                }
                21 if adds_left > 0 => {
                    adds_left -= 1;
                    self.broker.add_partition();
                }
                22 if idle_left > 0 => {
                    idle_left -= 1;
                    let number = self.workers.len();
                    let random = &mut self.net.random;
                    self.workers.push(worker(number, Role::Ingest, random));
                }
                23 => self.inject(),
                24 => self.retain(),
                _ => self.step_somebody()?,
            }
        }
        Ok(())
    }

    /// No more trouble: everything must come to its end.
    fn calm(&mut self) -> Result<(), String> {
        self.net.is_bad = false;
        for _ in 0..CALM_ROUNDS {
            self.inject();
            if self.is_released && self.is_read() {
                return Ok(());
            }
            self.pass_time();
            if self.net.random.one_in(4) {
                self.net.deliver(&mut self.broker);
            }
            for number in 0..self.workers.len() {
                for _ in 0..3 {
                    self.step(number)?;
                }
            }
        }
        Err("the run does not end: a livelock".to_owned())
    }

    /// Retention takes old taps; only such as were read and committed, or the operator would have been warned.
    fn retain(&mut self) {
        let partition =
            self.net.random.below(self.broker.n_partitions().unsigned_abs().into()) as i32;
        if let Ok(Some((offset, _))) = self.broker.committed(GroupName::Ingest, partition) {
            self.broker.delete_before(LogName::Taps(partition), offset);
        }
    }

    /// Puts the bad record in, if this run has one and it is not in yet.
    fn inject(&mut self) {
        if let Some(bad) = &mut self.bad {
            bad.inject(&self.world, &mut self.broker);
        }
    }

    /// Whether every committed tap was read and committed by ingest.
    fn is_read(&self) -> bool {
        self.next_sent == self.feed.len()
            && self.feed_transactions.iter().all(|one| one.is_over)
            && (0..self.broker.n_partitions()).all(|one| {
                let log = LogName::Taps(one);
                let last = self
                    .broker
                    .all(log)
                    .filter(|(_, _, fate)| *fate == crate::broker::Fate::Committed)
                    .last();
                let needed = last.map_or(0, |(offset, _, _)| offset + 1);
                let commit = self.broker.committed(GroupName::Ingest, one);
                needed == 0
                    || commit.is_ok_and(|commit| commit.is_some_and(|(offset, _)| offset >= needed))
            })
    }

    fn pass_time(&mut self) {
        let most = if self.net.is_bad { 6_000 } else { 5_000 };
        self.broker.now += self.net.random.between(100, most);
        let now = self.broker.now;
        self.feed_until(now);
        for worker in &mut self.workers {
            match worker.life {
                Life::Dead(until) if until <= now || !self.net.is_bad => worker.life = Life::Awake,
                Life::Asleep(until) if until <= now || !self.net.is_bad => {
                    worker.life = Life::Awake;
                    self.numbers.zombies += 1;
                }
                _ => {}
            }
            // A worker is heard of in the background, unless it has just woken: then it does not know yet.
            if worker.life == Life::Awake && (!self.net.is_bad || !self.net.random.one_in(5)) {
                let group =
                    self.broker.groups.get_mut(&worker.role.group()).expect("made with the broker");
                group.heartbeat(&mut worker.membership, worker.instance.as_deref(), now);
            }
        }
        self.broker.expire();
    }

    /// Sends what is due, and ends the feed's transactions that are due.
    fn feed_until(&mut self, now: i64) {
        while self.next_sent < self.feed.len() && self.feed[self.next_sent].at <= now {
            let Sent { at, partition, payload, txn } = &self.feed[self.next_sent];
            let stamp = at + self.skews[*partition as usize];
            let log = LogName::Taps(*partition);
            match txn {
                None => self.broker.write(log, payload, stamp),
                Some(number) => {
                    let producer = self.broker.init_producer(&format!("feed.{number}"));
                    self.broker
                        .produce(&producer, log, None, payload, stamp)
                        .expect("its first request");
                    self.feed_transactions[*number as usize].producer = Some(producer);
                }
            }
            self.next_sent += 1;
        }
        for one in &mut self.feed_transactions {
            if let (Some(producer), false) = (&one.producer, one.is_over)
                && one.ends_at <= now
            {
                one.is_over = true;
                self.broker.end(producer, one.commits).ok();
            }
        }
    }

    fn crash(&mut self) {
        let random = &mut self.net.random;
        let number = random.below(self.workers.len() as u64) as usize;
        let until = self.broker.now + random.between(0, 20_000);
        let worker = &mut self.workers[number];
        if worker.life == Life::Awake {
            self.numbers.crashes += 1;
            let name = worker.name();
            worker.die(until);
            rename(worker, &mut self.net.random);
            self.net.trace(self.broker.now, || format!("{name} dies"));
        }
    }

    fn sleep(&mut self) {
        let random = &mut self.net.random;
        let number = random.below(self.workers.len() as u64) as usize;
        let until = self.broker.now + random.between(500, 40_000);
        let worker = &mut self.workers[number];
        if worker.life == Life::Awake {
            worker.life = Life::Asleep(until);
            let name = worker.name();
            self.net.trace(self.broker.now, || format!("{name} falls asleep"));
        }
    }

    fn step_somebody(&mut self) -> Result<(), String> {
        let number = self.net.random.below(self.workers.len() as u64) as usize;
        // Runs of steps reach further into a transaction than single ones.
        for _ in 0..=self.net.random.below(6) {
            self.step(number)?;
        }
        Ok(())
    }

    fn step(&mut self, number: usize) -> Result<(), String> {
        let worker = &mut self.workers[number];
        if worker.life != Life::Awake || self.is_released && worker.role == Role::Release {
            return Ok(());
        }
        self.numbers.steps += 1;
        match worker.step(&self.world, &mut self.broker, &mut self.net, &mut self.seen) {
            Stepped::Went => Ok(()),
            Stepped::Finished => {
                self.is_released = true;
                Ok(())
            }
            Stepped::Left => {
                worker.session = None;
                let group =
                    self.broker.groups.get_mut(&worker.role.group()).expect("made with the broker");
                if let (Some(member), None) = (worker.membership.member, &worker.instance) {
                    group.leave(member, self.broker.now);
                }
                worker.membership = Membership::default();
                rename(worker, &mut self.net.random);
                Ok(())
            }
            Stepped::Failed(error) => Err(format!("{} stopped: {error}", worker.name())),
        }
    }
}

fn worker(number: usize, role: Role, random: &mut Random) -> Worker {
    let is_static = random.one_in(2);
    let mut worker = Worker {
        number,
        role,
        instance: is_static.then(|| format!("worker-{number}")),
        producer_id: String::new(),
        life: Life::Awake,
        skew: random.between(-MARGIN / 3, MARGIN / 3),
        membership: Membership::default(),
        session: None,
    };
    rename(&mut worker, random);
    worker
}

/// A worker without a fixed name takes a new one when it starts; all release workers share the ledger's.
fn rename(worker: &mut Worker, random: &mut Random) {
    worker.producer_id = match (worker.role, &worker.instance) {
        (Role::Release, _) => "ledger.writer".to_owned(),
        (Role::Ingest, Some(instance)) => format!("ingest.{instance}"),
        (Role::Ingest, None) => format!("ingest.{}.{}", worker.number, random.below(1 << 30)),
    };
}
