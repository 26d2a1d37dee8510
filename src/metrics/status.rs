//! What the console shows of windows and budget: written by the workers, read by whoever looks. No passenger's number
//! is in it but the operator's watermark.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::model::{Calendar, MicroEpsilon, Window, WindowId};

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
    /// The last window that has gone its way, as far as the positions know.
    pub done_through: Option<WindowId>,
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

    /// The window whose release comes next.
    pub fn next(&self, calendar: &Calendar) -> Option<Window> {
        let first = calendar.window(self.first?)?;
        let settled = self.booked.iter().filter(|line| line.is_settled).map(|line| line.end);
        let withheld = self.withheld.keys().chain(&self.done_through);
        let withheld = withheld.filter_map(|id| calendar.window(*id)).map(|window| window.end());
        calendar.window_at(settled.chain(withheld).fold(first.start(), Timestamp::max))
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
    pub fn gathered(&self, windows: Vec<Gathered>, done_through: Option<WindowId>) {
        let mut now = self.lock();
        now.gathered = windows;
        now.done_through = now.done_through.max(done_through);
    }

    /// The window whose release comes next.
    pub fn next(&self, calendar: &Calendar) -> Option<Window> {
        self.lock().next(calendar)
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
    fn the_next_release_follows_what_has_gone_its_way() {
        let days = Calendar::new(jiff::tz::TimeZone::UTC, 86_400, 0, 3_600).unwrap();
        let next = |known: &Snapshot| known.next(&days).map(|window| window.id().number());
        let mut known = Snapshot::default();
        assert_eq!(next(&known), None, "the ledger is not open");
        known.first = Some(WindowId::new(7));
        assert_eq!(next(&known), Some(7));
        let window = days.window(WindowId::new(7)).unwrap();
        let booked = Booked { start: window.start(), end: window.end(), ..line(7, 5, false) };
        known.booked.push(booked);
        assert_eq!(next(&known), Some(7), "paid for, and not in place");
        known.booked[0].is_settled = true;
        assert_eq!(next(&known), Some(8));
        known.withheld.insert(WindowId::new(8), "a cap".to_owned());
        assert_eq!(next(&known), Some(9));
        known.done_through = Some(WindowId::new(11));
        assert_eq!(next(&known), Some(12), "withheld by an earlier process");
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
