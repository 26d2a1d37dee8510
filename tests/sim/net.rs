//! The network: requests that come late, twice or never, answers that are lost; and the trace of a run.

use crate::broker::{Broker, Producer};
use crate::random::Random;

/// A request that is still on its way.
#[derive(Debug)]
pub enum Delayed {
    /// The end of a transaction: whichever is open when it arrives.
    End(Producer, bool),
    /// A new epoch, asked a second time.
    Init(String),
}

/// The network between workers and broker.
pub struct Net {
    /// The run's chance.
    pub random: Random,
    delayed: Vec<Delayed>,
    /// False: nothing is delayed or lost any more.
    pub is_bad: bool,
    /// How many outcomes were unknown to the worker.
    pub n_unknown: u64,
    trace: Option<Vec<String>>,
}

impl Net {
    /// A network with this chance; `traced`: what happens is written down.
    pub fn new(random: Random, traced: bool) -> Self {
        Self {
            random,
            delayed: Vec::new(),
            is_bad: true,
            n_unknown: 0,
            trace: traced.then(Vec::new),
        }
    }

    /// True once in `n` times, while the network is bad.
    pub fn fails(&mut self, n: u64) -> bool {
        self.is_bad && self.random.one_in(n)
    }

    /// Holds a request back.
    pub fn delay(&mut self, request: Delayed) {
        self.delayed.push(request);
    }

    /// Delivers a request that was held back, if there is one.
    pub fn deliver(&mut self, broker: &mut Broker) {
        if self.delayed.is_empty() {
            return;
        }
        let at = self.random.below(self.delayed.len() as u64) as usize;
        let request = self.delayed.swap_remove(at);
        self.trace(broker.now, || format!("the network delivers {request:?}"));
        match request {
            // Nobody waits for these answers any more.
            Delayed::End(producer, commit) => broker.end(&producer, commit).unwrap_or_default(),
            Delayed::Init(id) => drop(broker.init_producer(&id)),
        }
    }

    /// Notes what happens, if anybody wants to read it.
    pub fn trace(&mut self, now: i64, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let secs = (now - crate::world::BEGIN) as f64 / 1_000.0;
            trace.push(format!("{secs:>8.3} s  {}", line()));
        }
    }

    /// Everything that was noted.
    pub fn take_trace(&mut self) -> Vec<String> {
        self.trace.take().unwrap_or_default()
    }
}
