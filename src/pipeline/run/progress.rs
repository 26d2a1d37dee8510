//! Whether a worker comes along: how fast it reads, how far it has to go, whether it reads nothing although there is
//! something to read, and whether it joins again and again and gets nothing done.

use std::time::{Duration, Instant};

use super::Event;

/// So often a worker that is far behind says how it comes along.
const SAID_EVERY: Duration = Duration::from_secs(10);
/// Records to the end from which on a worker is far behind.
const FAR: i64 = 200_000;

/// How far and how fast, by the positions that were reached.
#[derive(Debug)]
pub(super) struct Pace {
    since: Instant,
    n_read: u64,
    said: Option<Instant>,
    rate: f64,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), n_read: 0, said: None, rate: 0.0 }
    }

    /// So many records were read since the last time.
    pub(super) fn read(&mut self, n: u64) {
        self.n_read += n;
    }

    /// How it comes along, now and then.
    pub(super) fn event(&mut self, lag: i64) -> Option<Event> {
        const MEASURED_OVER: Duration = Duration::from_secs(2);
        let elapsed = self.since.elapsed();
        if elapsed < MEASURED_OVER {
            return None;
        }
        self.rate = self.n_read as f64 / elapsed.as_secs_f64();
        (self.since, self.n_read) = (Instant::now(), 0);
        let is_due = self.said.is_none_or(|said| said.elapsed() >= SAID_EVERY);
        let is_behind = lag >= FAR && is_due;
        if is_behind {
            self.said = Some(Instant::now());
        }
        Some(Event::Progress { lag, rate: self.rate, is_behind })
    }
}

/// Notices when nothing is read for long although there is something.
#[derive(Debug)]
pub(super) struct Standstill {
    position: i64,
    /// For how long it has not moved while somebody looked.
    still: Duration,
    /// How much of that had passed when the end was asked for.
    asked_at: Duration,
    seen: Instant,
    limit: Duration,
}

/// Between two looks no more than this counts as reading nothing: whoever was stopped, or at other work, did not read.
const COUNTED: Duration = Duration::from_secs(5);

impl Standstill {
    pub(super) fn new(limit: Duration) -> Self {
        let nothing = Duration::ZERO;
        Self { position: i64::MIN, still: nothing, asked_at: nothing, seen: Instant::now(), limit }
    }

    /// The worker is at this position, over all that it reads. Gives for how long nothing came although `end` says
    /// that there is more; the end is asked for seldom, and only while nothing moves.
    pub(super) fn at(
        &mut self,
        position: i64,
        end: impl FnOnce() -> Option<i64>,
    ) -> Option<Duration> {
        self.after(self.seen.elapsed(), position, end)
    }

    /// The same, so long after the look before.
    fn after(
        &mut self,
        gap: Duration,
        position: i64,
        end: impl FnOnce() -> Option<i64>,
    ) -> Option<Duration> {
        self.seen = Instant::now();
        if position != self.position {
            (self.position, self.still, self.asked_at) = (position, Duration::ZERO, Duration::ZERO);
            return None;
        }
        self.still += gap.min(COUNTED);
        if self.still < self.limit || self.still.saturating_sub(self.asked_at) < self.limit / 10 {
            return None;
        }
        self.asked_at = self.still;
        match end() {
            Some(end) if end > position => Some(self.still),
            // At the end, nothing need move. Brokers that do not answer are found by their own limits.
            _ => {
                (self.still, self.asked_at) = (Duration::ZERO, Duration::ZERO);
                None
            }
        }
    }
}

/// Notices a worker that joins again and again and gets nothing done in between: each session is too short for its own
/// limits to be reached.
#[derive(Debug)]
pub(super) struct Restless {
    /// When the first of these sessions began.
    since: Option<Instant>,
    n_achieved: u64,
    limit: Duration,
}

impl Restless {
    pub(super) fn new(limit: Duration) -> Self {
        Self { since: None, n_achieved: 0, limit }
    }

    /// A session that began then is over, and the worker has got so much done since its start. Gives for how long it
    /// has joined in vain, if that is too long.
    pub(super) fn session_over(&mut self, began: Instant, n_achieved: u64) -> Option<Duration> {
        // A session that lasted as long as the limit was judged by the limits of its own.
        if n_achieved != self.n_achieved || began.elapsed() > self.limit {
            (self.since, self.n_achieved) = (None, n_achieved);
            return None;
        }
        let in_vain = self.since.get_or_insert(began).elapsed();
        (in_vain > self.limit).then_some(in_vain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_in_vain_for_long_is_noticed_and_work_in_between_is_not() {
        let limit = Duration::from_secs(3);
        let now = Instant::now();
        // A session that began so long ago is over now.
        let mut restless = Restless::new(limit);
        let ago = |seconds| now.checked_sub(Duration::from_secs(seconds)).unwrap();
        assert_eq!(restless.session_over(ago(1), 0), None, "the first");
        restless.since = Some(ago(4));
        let in_vain = restless.session_over(ago(1), 0).unwrap();
        assert!((4..60).contains(&in_vain.as_secs()));
        assert_eq!(restless.session_over(ago(1), 1), None, "it has done something");
        assert_eq!(restless.session_over(ago(1), 1), None, "counted from here on");
        restless.since = Some(ago(4));
        assert_eq!(restless.session_over(ago(4), 1), None, "it was at rest meanwhile");
    }

    #[test]
    fn a_standstill_is_noticed_only_where_there_is_more_to_read() {
        let mut standstill = Standstill::new(Duration::from_secs(60));
        let second = Duration::from_secs(1);
        let mut looks = |n: u32, position, end| {
            let seen: Vec<_> =
                (0..n).filter_map(|_| standstill.after(second, position, || end)).collect();
            seen.first().copied()
        };
        assert_eq!(looks(60, 5, Some(9)), None, "it has just come here");
        assert_eq!(looks(1, 5, Some(9)), Some(60 * second));
        assert_eq!(looks(1, 6, Some(9)), None, "it moves");
        assert_eq!(looks(300, 6, Some(6)), None, "at the end");
        assert_eq!(looks(300, 6, None), None, "nobody knows");
        assert_eq!(looks(61, 7, Some(9)), Some(60 * second));
        assert_eq!(standstill.after(second, 8, || Some(9)), None);
        let hour = Duration::from_secs(3_600);
        assert_eq!(standstill.after(hour, 8, || Some(9)), None, "it was stopped, and reads now");
    }
}
