//! What the console shows of windows and budget: written by the workers, read by whoever looks. No passenger's number
//! is in it but the operator's watermark.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::model::{MicroEpsilon, WindowId};

/// A window on its way to its release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gathered {
    pub window: WindowId,
    /// Partitions that have finished it.
    pub n_finished: u32,
    /// Of how many; 0 before the first.
    pub n_partitions: u32,
}

/// One line of the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Booked {
    pub window: WindowId,
    /// Its first instant.
    pub start: Timestamp,
    /// The instant after its last.
    pub end: Timestamp,
    /// What it cost; zero for a release without noise.
    pub price: MicroEpsilon,
    /// Whether its release is in place.
    pub is_settled: bool,
}

/// Everything at one moment.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Snapshot {
    /// The first window that exists, once the ledger is open.
    pub first: Option<WindowId>,
    /// Windows on their way.
    pub gathered: Vec<Gathered>,
    /// The ledger, oldest first.
    pub booked: Vec<Booked>,
    /// Windows without a release, with the reason.
    pub withheld: BTreeMap<WindowId, String>,
    /// The greatest time of a tap that was read. For the operator only.
    pub watermark: Option<Timestamp>,
    /// Records to the end of the log, and records a second. For the operator only.
    pub progress: Option<(i64, f64)>,
    /// The warning that too many records cannot be used. For the operator only.
    pub unusable: Option<String>,
}

impl Snapshot {
    /// Windows whose release is in place.
    pub fn released(&self) -> BTreeSet<WindowId> {
        self.booked.iter().filter(|line| line.is_settled).map(|line| line.window).collect()
    }

    /// Everything ever booked.
    pub fn spent(&self) -> MicroEpsilon {
        let prices = self.booked.iter().map(|line| line.price);
        prices.fold(MicroEpsilon::default(), |sum, price| {
            sum.checked_add(price).unwrap_or(MicroEpsilon::MAX)
        })
    }
}

/// The status. Nobody waits long for anybody: it is locked for a copy only.
#[derive(Debug, Default)]
pub struct Status(Mutex<Snapshot>);

impl Status {
    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far ingest is from the end of the log, and how fast it reads.
    pub fn progress(&self, progress: Option<(i64, f64)>) {
        self.lock().progress = progress;
    }

    /// As it is now.
    pub fn snapshot(&self) -> Snapshot {
        self.lock().clone()
    }

    /// What the ledger says.
    pub fn ledger(&self, first: Option<WindowId>, booked: Vec<Booked>) {
        let mut now = self.lock();
        now.first = first;
        now.booked = booked;
    }

    /// Which windows are on their way.
    pub fn gathered(&self, windows: Vec<Gathered>) {
        self.lock().gathered = windows;
    }

    /// A window goes without a release.
    pub fn withheld(&self, window: WindowId, reason: &str) {
        self.lock().withheld.insert(window, reason.to_owned());
    }

    /// Whether too many records cannot be used, in words.
    pub fn unusable(&self, warning: Option<String>) {
        self.lock().unusable = warning;
    }

    /// The greatest time of a tap so far.
    pub fn watermark(&self, event: Option<Timestamp>) {
        let mut now = self.lock();
        now.watermark = now.watermark.max(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(window: i64, micro: u64, is_settled: bool) -> Booked {
        Booked {
            window: WindowId::new(window),
            start: Timestamp::UNIX_EPOCH,
            end: Timestamp::UNIX_EPOCH,
            price: MicroEpsilon::new(micro),
            is_settled,
        }
    }

    #[test]
    fn what_was_reserved_is_spent_and_what_is_settled_is_released() {
        let status = Status::default();
        status.ledger(Some(WindowId::new(1)), vec![line(1, 5, true), line(2, 7, false)]);
        let now = status.snapshot();
        assert_eq!(now.spent(), MicroEpsilon::new(12));
        assert_eq!(now.released(), BTreeSet::from([WindowId::new(1)]));
    }

    #[test]
    fn a_watermark_never_goes_back() {
        let status = Status::default();
        let later = Timestamp::from_second(60).unwrap();
        status.watermark(Some(later));
        status.watermark(Some(Timestamp::UNIX_EPOCH));
        status.watermark(None);
        assert_eq!(status.snapshot().watermark, Some(later));
    }
}
