//! What time it is: asked of a value that is handed in, so that tests decide.

use std::sync::Mutex;

use jiff::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock. `cli` makes the only one and hands it down.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the machine for the time"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that stands where it is set.
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// Stands at this instant.
    pub fn at(instant: Timestamp) -> Self {
        Self(Mutex::new(instant))
    }

    /// Moves on.
    ///
    /// # Panics
    /// If it would go back: time does not.
    pub fn set(&self, instant: Timestamp) {
        let mut now = self.0.lock().expect("no thread panics while it holds the time");
        assert!(*now <= instant, "a clock never goes back");
        *now = instant;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("no thread panics while it holds the time")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_stands_until_it_is_set() {
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH);
        let later: Timestamp = "2015-11-09T04:00:00Z".parse().unwrap();
        clock.set(later);
        assert_eq!(clock.now(), later);
    }
}
