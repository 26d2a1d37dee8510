//! What a release commit remembers of the ledger.

use std::time::Duration;

use rdkafka::consumer::Consumer;
use rdkafka::producer::{Producer, ThreadedProducer};
use rdkafka::{Offset, TopicPartitionList};

use super::Error;
use super::crash::crash_point;
use super::group::Group;
use crate::kafka::{Inside, Watcher};
use crate::ledger::kafka::{Line, TopicLedger};
use crate::model::Mac;

/// The one partition of `segments`.
const SEGMENTS: i32 = 0;
const ANSWER: Duration = Duration::from_secs(20);

/// How long the ledger was, and its head, at a commit: a shorter one later is a missing payment.
pub(super) struct LedgerMark {
    n_records: u64,
    head: Mac,
}

impl LedgerMark {
    pub(super) fn after(ledger: &TopicLedger, line: Option<&Line>) -> Self {
        let (n_records, head) = ledger.after(line);
        Self { n_records, head }
    }

    pub(super) fn to_text(&self) -> String {
        format!("tapveil1 {} {}", self.n_records, self.head)
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        if words.next()? != "tapveil1" {
            return None;
        }
        Some(Self { n_records: words.next()?.parse().ok()?, head: Mac::from_hex(words.next()?)? })
    }

    pub(super) fn check(&self, ledger: &TopicLedger) -> Result<(), Error> {
        if ledger.had(self.n_records, &self.head) {
            return Ok(());
        }
        Err(Error::LedgerShortened { found: ledger.book().n_records(), expected: self.n_records })
    }
}

/// Fresh metadata first, then the look at what is ours, then the offset.
pub(super) fn send_position(
    producer: &ThreadedProducer<Watcher>,
    group: &Group,
    position: i64,
    mark: &LedgerMark,
) -> Result<(), Inside> {
    let metadata = group.consumer().group_metadata().ok_or(Inside::Lost)?;
    if !group.owns(std::iter::once(SEGMENTS)) {
        return Err(Inside::Lost);
    }
    let mut positions = TopicPartitionList::new();
    let mut one = positions.add_partition(group.topic(), SEGMENTS);
    one.set_offset(Offset::Offset(position))?;
    one.set_metadata(mark.to_text());
    producer.send_offsets_to_transaction(&positions, &metadata, ANSWER)?;
    crash_point("release.offsets");
    Ok(())
}
