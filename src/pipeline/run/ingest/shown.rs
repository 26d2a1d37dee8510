//! Records of a flush until everybody can read them (K-7). The next flush waits for that: its abort would take away
//! what brokers forgot to commit.

use std::time::{Duration, Instant};

use super::Worker;
use crate::kafka::{Look, Unshown};
use crate::pipeline::{Error, Event};
use crate::protocol::OutRecord;

/// So long the next flush waits; then the worker joins again, and what is undecided appears by that.
pub(super) const BEFORE_NEXT: Duration = Duration::from_secs(60);
/// So long a worker that ends looks after its last flush; what is undecided then appears when its name is used again.
pub(super) const AT_END: Duration = Duration::from_secs(3);

impl Worker<'_> {
    /// These records were just committed.
    pub(super) fn flushed(&mut self, records: Vec<OutRecord>) {
        let written = self.transactions.written();
        self.unshown = Some(Unshown::new(records, written));
    }

    /// Whether everything that was committed can be read. What cannot be for too long is written again.
    pub(super) fn is_all_shown(&mut self) -> Result<bool, Error> {
        let Some(unshown) = &mut self.unshown else { return Ok(true) };
        match self.transactions.look(unshown, &self.group)? {
            Look::Shown => self.unshown = None,
            Look::NotYet => {}
            Look::WrittenAgain => self.service.observers.tell(&Event::WrittenAgain),
        }
        Ok(self.unshown.is_none())
    }

    /// The same, looked at again and again for a while.
    pub(super) fn is_all_shown_within(&mut self, within: Duration) -> Result<bool, Error> {
        let began = Instant::now();
        while !self.is_all_shown()? {
            if began.elapsed() > within {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(true)
    }
}
