//! What time it is: asked of a value that is handed in, so that tests decide (`tests/it/one_release.rs`; the
//! simulator hands the protocol its time itself).

use jiff::{SignedDuration, Timestamp};

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
        Timestamp::now() + ahead()
    }
}

/// How far a test wants the machine's clock to be ahead: `TAPVEIL_CLOCK_AHEAD`, in seconds.
#[cfg(feature = "crash-points")]
fn ahead() -> SignedDuration {
    static AHEAD: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
    let seconds = || std::env::var("TAPVEIL_CLOCK_AHEAD").ok()?.parse().ok();
    SignedDuration::from_secs(*AHEAD.get_or_init(|| seconds().unwrap_or(0)))
}

/// Nothing, in a build that ships.
#[cfg(not(feature = "crash-points"))]
fn ahead() -> SignedDuration {
    SignedDuration::ZERO
}
