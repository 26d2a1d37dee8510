//! What time it is: asked of a value that is handed in, so that tests decide (`tests/it/one_release.rs`; the
//! simulator hands the protocol its time itself).

use jiff::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
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
