//! Whether what was committed can be read by everybody.
//!
//! A coordinator that forgets partitions when it ends a transaction (`sweep`) may forget some and tell others:
//! positions were seen to be committed while the records before them stayed undecided, and the next abort of their name
//! took them away. Records that say the same twice do no harm, records that are missing do: so what cannot be read is
//! written again.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::Error;
use super::transaction::{Checks, Membership, Transactions};
use crate::protocol::{Ended, OutRecord, Transaction};

/// A coordinator says that a transaction is committed before every partition knows it; they do after so long.
pub(super) const UNTIL_SHOWN: Duration = Duration::from_secs(10);

/// The last record that a transaction wrote to a partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
}

/// Committed records that perhaps nobody can read.
pub struct Unshown {
    records: Vec<OutRecord>,
    ends: Vec<End>,
    since: Instant,
}

/// What a look at such records says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// Everybody can read them, or whoever has the name now sees to it.
    Shown,
    NotYet,
    /// It took too long, and they were written once more.
    WrittenAgain,
}

impl Unshown {
    /// What was just committed, and where it ended.
    pub fn new(records: Vec<OutRecord>, ends: Vec<End>) -> Self {
        Self { records, ends, since: Instant::now() }
    }
}

impl Transactions {
    /// K-7: looks whether records can be read, and writes those of topics where they cannot once more if that takes too
    /// long: without positions, so that it does not matter who owns their partitions by now.
    pub fn look(&self, unshown: &mut Unshown, group: &dyn Membership) -> Result<Look, Error> {
        unshown.ends.retain(|end| !group.can_read(end));
        if unshown.ends.is_empty() {
            return Ok(Look::Shown);
        }
        if unshown.since.elapsed() < UNTIL_SHOWN {
            return Ok(Look::NotYet);
        }
        let topics: BTreeSet<&str> = unshown.ends.iter().map(|end| end.topic.as_str()).collect();
        let is_missing = |record: &&OutRecord| topics.contains(self.topic(record.topic));
        let records: Vec<OutRecord> = unshown.records.iter().filter(is_missing).cloned().collect();
        let again = Transaction { records, ..Transaction::default() };
        let checks = Checks { ledger_length: &|| Ok(0), stamped_from: None };
        let ended = self.execute(&again, group, &checks)?;
        unshown.since = Instant::now();
        Ok(match ended {
            Ended::Committed => {
                unshown.ends = self.written();
                Look::WrittenAgain
            }
            Ended::Fenced(_) => Look::Shown,
            _ => Look::NotYet,
        })
    }
}
