//! What a release commit remembers: how long the ledger was, and how far the windows have gone.

use std::time::Duration;

use rdkafka::consumer::Consumer;
use rdkafka::producer::{BaseProducer, Producer};
use rdkafka::{Offset, TopicPartitionList};

use super::Error;
use super::crash::crash_point;
use super::group::Group;
use crate::kafka::ledger::{Line, TopicLedger};
use crate::kafka::{Inside, Watcher};
use crate::model::{Mac, WindowId};

/// The one partition of `segments`.
const SEGMENTS: i32 = 0;
const ANSWER: Duration = Duration::from_secs(20);

/// How long the ledger was, and its head, at a commit: a shorter one later is a missing payment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LedgerMark {
    n_records: u64,
    head: Mac,
    /// The last window that was released or withheld. A window that was withheld stands in no ledger: without this,
    /// a restart would wait for its parcels, which are deleted.
    done_through: Option<WindowId>,
}

impl LedgerMark {
    pub(super) fn after(
        ledger: &TopicLedger,
        line: Option<&Line>,
        done_through: Option<WindowId>,
    ) -> Self {
        let (n_records, head) = ledger.after(line);
        Self { n_records, head, done_through }
    }

    pub(super) fn done_through(&self) -> Option<WindowId> {
        self.done_through
    }

    pub(super) fn to_text(&self) -> String {
        let done = self.done_through.map_or("-".to_owned(), |window| window.number().to_string());
        format!("tapveil1 {} {} {done}", self.n_records, self.head)
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        if words.next()? != "tapveil1" {
            return None;
        }
        let (n_records, head) = (words.next()?.parse().ok()?, Mac::from_hex(words.next()?)?);
        let done_through = match words.next() {
            None | Some("-") => None,
            Some(number) => Some(WindowId::new(number.parse().ok()?)),
        };
        Some(Self { n_records, head, done_through })
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
    producer: &BaseProducer<Watcher>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_also_one_that_knew_no_windows() {
        let head = Mac::from_bytes([7; 32]);
        for done_through in [None, Some(WindowId::new(-3)), Some(WindowId::new(20_000))] {
            let mark = LedgerMark { n_records: 5, head, done_through };
            assert_eq!(LedgerMark::from_text(&mark.to_text()), Some(mark));
        }
        let old = LedgerMark::from_text(&format!("tapveil1 5 {head}")).unwrap();
        assert_eq!((old.n_records, old.done_through), (5, None));
        assert_eq!(LedgerMark::from_text("somebody else's"), None);
        assert_eq!(LedgerMark::from_text(&format!("tapveil1 5 {head} soon")), None);
    }
}
