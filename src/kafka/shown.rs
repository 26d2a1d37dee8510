//! Whether what was committed can be read by everybody.
//!
//! A coordinator that forgets partitions when it ends a transaction (`sweep`) may forget some and tell others:
//! positions were seen to be committed while the records before them stayed undecided, and the next abort of their name
//! took them away. Records that say the same twice do no harm, records that are missing do: so what cannot be read is
//! written again.

use std::time::{Duration, Instant};

use super::Error;
use super::transaction::{Checks, Membership, Transactions};
use crate::protocol::{Ended, OutRecord, Transaction};

/// The last record that a transaction wrote to a partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
}

/// Committed records that perhaps nobody can read, the earliest first.
#[derive(Default)]
pub struct Unshown {
    written: Vec<Written>,
    is_endangered: bool,
}

/// What one transaction wrote.
struct Written {
    records: Vec<OutRecord>,
    ends: Vec<End>,
    since: Instant,
}

/// What a look at such records says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// Everybody can read all of them, or whoever has the name now sees to it.
    Shown,
    NotYet,
    /// They were written once more.
    WrittenAgain,
}

impl Unshown {
    /// These were just committed, and ended there.
    pub fn add(&mut self, records: Vec<OutRecord>, ends: Vec<End>) {
        self.written.push(Written { records, ends, since: Instant::now() });
    }

    /// A transaction of the same name was not committed: its abort takes along what is undecided, and nobody can tell
    /// from where readers get to.
    pub fn endanger(&mut self) {
        self.is_endangered = !self.written.is_empty();
    }

    /// Whether nothing of it may be gone, and it does not take much memory.
    pub fn is_safe(&self) -> bool {
        const MOST_BYTES: usize = 64 << 20;
        let records = self.written.iter().flat_map(|one| &one.records);
        let n_bytes: usize = records.map(|record| record.payload.len()).sum();
        !self.is_endangered && n_bytes < MOST_BYTES
    }

    /// Forgets what everybody can read.
    fn forget_shown(&mut self, group: &dyn Membership) {
        let is_shown = |one: &Written| one.ends.iter().all(|end| group.can_read(end));
        while !self.is_endangered && self.written.first().is_some_and(is_shown) {
            self.written.remove(0);
        }
    }
}

impl Transactions {
    /// K-7: looks whether records can be read, and writes them once more if that takes too long or something may have
    /// taken them away: without positions, so that it does not matter who owns their partitions by now.
    pub fn look(
        &self,
        unshown: &mut Unshown,
        group: &dyn Membership,
        patience: Duration,
    ) -> Result<Look, Error> {
        unshown.forget_shown(group);
        let Some(first) = unshown.written.first() else { return Ok(Look::Shown) };
        if !unshown.is_endangered && first.since.elapsed() < patience {
            return Ok(Look::NotYet);
        }
        let records: Vec<OutRecord> =
            unshown.written.iter().flat_map(|one| one.records.iter().cloned()).collect();
        let again = Transaction { records, ..Transaction::default() };
        let checks = Checks { ledger_length: &|| Ok(0), stamped_from: None };
        match self.execute(&again, group, &checks)? {
            Ended::Committed => {
                *unshown = Unshown::default();
                unshown.add(again.records, self.written());
                Ok(Look::WrittenAgain)
            }
            Ended::Fenced(_) => {
                *unshown = Unshown::default();
                Ok(Look::Shown)
            }
            _ => {
                unshown.endanger();
                Ok(Look::NotYet)
            }
        }
    }
}
