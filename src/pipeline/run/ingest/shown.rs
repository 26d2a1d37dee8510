//! Records of flushes until everybody can read them (K-7). A flush that is aborted takes along what brokers forgot to
//! commit of those before it: what may be gone is written again before anything else.

use std::time::{Duration, Instant};

use super::Worker;
use crate::kafka::{End, Look};
use crate::metrics::Part;
use crate::pipeline::{Error, Event};
use crate::protocol::{OutRecord, Topic};

/// What does not show for so long was forgotten. Until then it may be a dead worker's transaction that hides it:
/// brokers end one after 15 s, and they look every 10 s.
const PATIENCE: Duration = Duration::from_secs(30);
/// So long the next flush waits for what may be gone; then the worker joins again.
pub(super) const BEFORE_NEXT: Duration = Duration::from_secs(60);
/// So long a worker that ends looks after its last flush; what is undecided then appears when its name is used again.
const AT_END: Duration = Duration::from_secs(3);
/// So long it tries to write what may be gone; a failure must not wait for it much longer.
const RESCUE: Duration = Duration::from_secs(5);

impl Worker<'_> {
    /// These records were just committed. Segments must be there; a note about a reject may be missing.
    pub(super) fn flushed(&mut self, mut records: Vec<OutRecord>) {
        records.retain(|record| record.topic == Topic::Segments);
        let is_segments = |end: &End| end.topic == self.service.kafka.topics.segments;
        let mut ends = self.transactions.written();
        ends.retain(is_segments);
        if !records.is_empty() {
            self.unshown.add(records, ends);
        }
    }

    /// Looks whether what was committed can be read; true if all of it can.
    pub(super) fn look_for_flushed(&mut self) -> Result<bool, Error> {
        let look = self.transactions.look(&mut self.unshown, &self.group, PATIENCE)?;
        if look == Look::WrittenAgain {
            self.service.observers.tell(&Event::WrittenAgain);
        }
        Ok(look == Look::Shown)
    }

    /// Whether nothing that was committed may be gone, after so long at most.
    pub(super) fn is_safe_within(&mut self, within: Duration) -> Result<bool, Error> {
        if self.unshown.is_safe() {
            return Ok(true);
        }
        self.service.health.doing(Part::Ingest, "making sure of what was committed");
        let began = Instant::now();
        while !self.unshown.is_safe() {
            if began.elapsed() > within {
                return Ok(false);
            }
            self.look_for_flushed()?;
            std::thread::sleep(Duration::from_millis(20));
        }
        self.service.health.doing(Part::Ingest, "committing a flush");
        Ok(true)
    }

    /// Before this worker is gone. What fails now is left to whoever uses the name next.
    pub(super) fn rescue(&mut self) {
        self.is_safe_within(RESCUE).ok();
    }

    /// Waits a little until what was flushed last shows: then nothing is left to anybody.
    pub(super) fn see_it_shown(&mut self) {
        let began = Instant::now();
        while began.elapsed() < AT_END && self.look_for_flushed().is_ok_and(|is_shown| !is_shown) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
