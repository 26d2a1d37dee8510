//! When is a window complete? Three ways of closing, each a small pure state.
//!
//! By arrival (live feeds): a partition has finished a window when it has read a record that arrived after
//! the deadline plus a margin for clocks, or has reached an end of its log that was fetched after that.
//! By watermark (backfill): when every partition's greatest event time, less the allowed disorder, has
//! passed the window's end. A file is complete at its end.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::model::{Reject, Window, WindowId};

/// How windows close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closing {
    /// By each record's own arrival.
    Arrival {
        /// A tap counts until so long after its window's end.
        grace: SignedDuration,
        /// How far the brokers' clocks may differ.
        clock_margin: SignedDuration,
    },
    /// By the progress of event time.
    Watermark {
        /// How far behind the greatest event time a tap may come.
        disorder: SignedDuration,
    },
}

impl Closing {
    /// How long after its end a window is complete, where clocks decide that.
    pub fn closes_after(self) -> Option<SignedDuration> {
        match self {
            Self::Arrival { grace, clock_margin } => Some(grace.saturating_add(clock_margin)),
            Self::Watermark { .. } => None,
        }
    }
}

/// Whether one partition has finished a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finished {
    /// Nothing more can come.
    Yes,
    /// Taps that count may still come.
    NotYet,
}

/// Closing by arrival, for one partition.
#[derive(Clone, Debug)]
pub struct ArrivalProgress {
    grace: SignedDuration,
    clock_margin: SignedDuration,
    /// Everything that arrived before this has been read.
    read_past: Option<Timestamp>,
}

impl ArrivalProgress {
    /// A partition of which nothing has been read.
    pub fn new(grace: SignedDuration, clock_margin: SignedDuration) -> Self {
        Self { grace, clock_margin, read_past: None }
    }

    /// A record was read that arrived then.
    pub fn read(&mut self, arrived: Timestamp) {
        self.read_past = self.read_past.max(Some(arrived));
    }

    /// The position has reached an end of the log that was fetched then.
    pub fn reached_end(&mut self, fetched: Timestamp) {
        self.read_past = self.read_past.max(Some(fetched));
    }

    /// Whether this partition has finished a window. Once it has, it always has.
    pub fn finished(&self, window: &Window) -> Finished {
        let Some(read_past) = self.read_past else { return Finished::NotYet };
        match read_past.duration_since(window.end()) > self.grace + self.clock_margin {
            true => Finished::Yes,
            false => Finished::NotYet,
        }
    }
}

/// Closing by watermark, over all partitions.
#[derive(Clone, Debug)]
pub struct Watermark {
    disorder: SignedDuration,
    /// The greatest event time of each partition; `None` before its first record.
    greatest: BTreeMap<u32, Option<Timestamp>>,
    /// Partitions whose end was reached: they hold nothing back.
    ended: Vec<u32>,
}

impl Watermark {
    /// Partitions `0..n_partitions`, nothing read.
    pub fn new(disorder: SignedDuration, n_partitions: u32) -> Self {
        let greatest = (0..n_partitions).map(|partition| (partition, None)).collect();
        Self { disorder, greatest, ended: Vec::new() }
    }

    /// A partition to wait for, of which nothing has been read.
    pub fn watch(&mut self, partition: u32) {
        self.greatest.entry(partition).or_default();
    }

    /// A record was read with this event time.
    pub fn read(&mut self, partition: u32, event: Timestamp) {
        let greatest = self.greatest.entry(partition).or_default();
        *greatest = (*greatest).max(Some(event));
    }

    /// A partition was read to its end.
    pub fn ended(&mut self, partition: u32) {
        if !self.ended.contains(&partition) {
            self.ended.push(partition);
        }
    }

    /// Whether every partition has passed the window.
    pub fn finished(&self, window: &Window) -> Finished {
        let passed = |(partition, greatest): (&u32, &Option<Timestamp>)| {
            self.ended.contains(partition)
                || greatest.is_some_and(|at| at.duration_since(window.end()) >= self.disorder)
        };
        match self.greatest.iter().all(passed) {
            true => Finished::Yes,
            false => Finished::NotYet,
        }
    }
}

/// Which windows a partition has sealed. They seal in order, so one number says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartitionSeals {
    through: Option<WindowId>,
}

impl PartitionSeals {
    /// As read back from a commit.
    pub fn through(window: Option<WindowId>) -> Self {
        Self { through: window }
    }

    /// The last sealed window.
    pub fn last(&self) -> Option<WindowId> {
        self.through
    }

    /// Seals a window and all before it.
    ///
    /// # Panics
    /// If a later one is sealed already: seals never move back.
    pub fn seal(&mut self, window: WindowId) {
        assert!(self.through < Some(window), "S-5: windows seal in order, each once");
        self.through = Some(window);
    }

    /// Whether a tap that passed its gate still finds its window open.
    pub fn admit(&self, window: WindowId, closing: Closing) -> Result<(), Reject> {
        match self.through {
            Some(through) if window <= through => Err(match closing {
                Closing::Arrival { .. } => Reject::ArrivalAfterSeal,
                Closing::Watermark { .. } => Reject::Late,
            }),
            _ => Ok(()),
        }
    }
}
