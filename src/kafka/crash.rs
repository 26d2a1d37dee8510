//! Named crash points, in builds for tests only (feature `crash-points`): a test ends the process exactly there, as a
//! power cut would, or stops it, as a machine that sleeps would.
//!
//! `TAPVEIL_CRASH_AT=name` or `name:3` (the third time) ends it; `TAPVEIL_STOP_AT` sends it SIGSTOP instead, so that
//! somebody can wake it when another worker has taken over; `TAPVEIL_PANIC_AT` panics, as a broken invariant would; and
//! `TAPVEIL_HANG_AT` never comes back, as a call to a broker might. A shipped build holds neither the names nor the
//! variables.

#[cfg(feature = "crash-points")]
mod wanted {
    use std::process::{Command, abort, id};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A point that was asked for, and how often it has been passed.
    struct Wanted {
        name: String,
        times: u64,
        passed: AtomicU64,
    }

    impl Wanted {
        fn from_env(variable: &str) -> Option<Self> {
            let text = std::env::var(variable).ok()?;
            let (name, times) = text.split_once(':').unwrap_or((&text, "1"));
            let times = times.parse().ok()?;
            Some(Self { name: name.to_owned(), times, passed: AtomicU64::new(0) })
        }

        fn is_here(&self, name: &str) -> bool {
            self.name == name && self.passed.fetch_add(1, Ordering::SeqCst) + 1 == self.times
        }
    }

    static CRASH: OnceLock<Option<Wanted>> = OnceLock::new();
    static STOP: OnceLock<Option<Wanted>> = OnceLock::new();
    static PANIC: OnceLock<Option<Wanted>> = OnceLock::new();
    static HANG: OnceLock<Option<Wanted>> = OnceLock::new();

    pub(super) fn pass(name: &str) {
        let crash = CRASH.get_or_init(|| Wanted::from_env("TAPVEIL_CRASH_AT"));
        if crash.as_ref().is_some_and(|wanted| wanted.is_here(name)) {
            abort();
        }
        let stop = STOP.get_or_init(|| Wanted::from_env("TAPVEIL_STOP_AT"));
        if stop.as_ref().is_some_and(|wanted| wanted.is_here(name)) {
            // The signal stops every thread before the command has ended.
            Command::new("kill").args(["-STOP", &id().to_string()]).status().ok();
        }
        let panics = PANIC.get_or_init(|| Wanted::from_env("TAPVEIL_PANIC_AT"));
        assert!(!panics.as_ref().is_some_and(|wanted| wanted.is_here(name)), "a test wanted it");
        let hangs = HANG.get_or_init(|| Wanted::from_env("TAPVEIL_HANG_AT"));
        while hangs.as_ref().is_some_and(|wanted| wanted.is_here(name)) {
            std::thread::sleep(std::time::Duration::from_secs(3_600));
        }
    }
}

/// Ends or stops the process here if a test asked for it.
#[cfg(feature = "crash-points")]
pub fn crash_point(role: &str, name: &str) {
    wanted::pass(&format!("{role}.{name}"));
}

/// Nothing, in a build that ships.
#[cfg(not(feature = "crash-points"))]
pub fn crash_point(_: &str, _: &str) {}
