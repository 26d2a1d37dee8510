//! Whether too many of the records that come cannot be used. `sanitize` refuses such a file; a service can only say so.

use jiff::{SignedDuration, Timestamp};

use super::Event;
use crate::config::Percent;
use crate::model::{Counts, Reject};

/// Records are judged together for so long, and said to be bad once in it.
const PERIOD: SignedDuration = SignedDuration::from_mins(10);
/// Fewer records say nothing; a quiet feed gathers on.
const FEWEST: u64 = 20;

/// What came in the period so far.
pub(super) struct UnusableShare {
    limit: Percent,
    since: Timestamp,
    counts: Counts,
    has_told: bool,
    /// Whether the last word was that too many cannot be used.
    is_over: bool,
}

impl UnusableShare {
    pub(super) fn new(limit: Percent, now: Timestamp) -> Self {
        Self { limit, since: now, counts: Counts::default(), has_told: false, is_over: false }
    }

    /// Counts what was committed; gives what there is to say.
    pub(super) fn committed(&mut self, counts: &Counts, now: Timestamp) -> Option<Event> {
        self.counts.add(counts);
        let (unusable, all) =
            (self.counts.n_unusable(), self.counts.taps + self.counts.n_rejects());
        if all < FEWEST {
            return None;
        }
        let is_within = self.limit.allows(unusable, all);
        let mut event = None;
        if !is_within && !self.has_told {
            (self.has_told, self.is_over) = (true, true);
            event = self.mostly().map(|mostly| Event::Unusable { limit: self.limit, mostly });
        }
        if now.duration_since(self.since) >= PERIOD {
            (self.since, self.counts, self.has_told) = (now, Counts::default(), false);
            if is_within && std::mem::take(&mut self.is_over) {
                event = Some(Event::UsableAgain);
            }
        }
        event
    }

    fn mostly(&self) -> Option<Reject> {
        let unusable = self.counts.rejects().filter(|(reason, _)| reason.is_unusable());
        unusable.max_by_key(|(_, n)| *n).map(|(reason, _)| reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(taps: u64, malformed: u64) -> Counts {
        let mut counts = Counts::default();
        counts.taps = taps;
        (0..malformed).for_each(|_| counts.reject(Reject::Malformed));
        // What could be read and does not count is no garbage.
        counts.reject(Reject::Late);
        counts
    }

    #[test]
    fn too_many_are_said_once_in_ten_minutes_and_again_when_it_is_over() {
        let at = |minutes: i64| Timestamp::from_second(minutes * 60).unwrap();
        let mut share = UnusableShare::new(Percent::for_test(1_000), at(0));
        let name = |event: Option<Event>| event.map(|event| event.name());
        assert_eq!(name(share.committed(&counts(0, 5), at(1))), None, "too few to tell");
        assert_eq!(name(share.committed(&counts(30, 5), at(2))), Some("unusable"));
        assert_eq!(name(share.committed(&counts(0, 50), at(3))), None, "said already");
        assert_eq!(name(share.committed(&counts(0, 50), at(10))), None, "said already");
        assert_eq!(name(share.committed(&counts(0, 50), at(11))), Some("unusable"));
        assert_eq!(name(share.committed(&counts(0, 0), at(20))), None);
        assert_eq!(name(share.committed(&counts(90, 9), at(25))), None);
        assert_eq!(name(share.committed(&counts(90, 9), at(31))), Some("usable_again"));
        assert_eq!(name(share.committed(&counts(90, 9), at(42))), None, "said already");
    }
}
