//! Named crash points: a test ends the process exactly there, as a power cut would.
//!
//! `TAPVEIL_CRASH_AT=name` or `name:3` (the third time). Without the variable this is a comparison with nothing.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

static WANTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
static PASSED: AtomicU64 = AtomicU64::new(0);

/// Ends the process here if it was asked to.
pub(super) fn crash_point(name: &str) {
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var("TAPVEIL_CRASH_AT").ok()?;
        let (name, times) = text.split_once(':').unwrap_or((&text, "1"));
        Some((name.to_owned(), times.parse().ok()?))
    });
    if let Some((wanted, times)) = wanted
        && wanted == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *times
    {
        std::process::abort();
    }
}
