//! The live board: who is ready and how far work has come, written by workers and read by whoever shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dashmap::DashMap;

use crate::model::WindowId;

/// A worker's part in a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Ingest,
    Release,
}

impl Part {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Release => "release",
        }
    }
}

/// What a worker does, and since when.
#[derive(Clone, Copy, Debug)]
pub struct Doing {
    pub what: &'static str,
    pub since: Instant,
}

/// One worker, as it says of itself.
#[derive(Debug, Default)]
struct Pulse {
    is_ready: AtomicBool,
    /// How often it got something done that stays done.
    n_achieved: AtomicU64,
    /// `None`: it has not begun, or has ended.
    doing: Mutex<Option<Doing>>,
}

/// Whether a service is alive and ready, written by its workers and read by whoever asks.
#[derive(Debug, Default)]
pub struct Health {
    ingest: Pulse,
    release: Pulse,
    has_failed: AtomicBool,
}

impl Health {
    fn pulse(&self, part: Part) -> &Pulse {
        match part {
            Part::Ingest => &self.ingest,
            Part::Release => &self.release,
        }
    }

    /// The ingest worker has partitions; the release worker is in its group, active or standing by.
    pub fn ready(&self, part: Part, ready: bool) {
        self.pulse(part).is_ready.store(ready, Ordering::Relaxed);
    }

    /// A worker begins something: whatever it did before has ended.
    pub fn doing(&self, part: Part, what: &'static str) {
        let doing = Some(Doing { what, since: Instant::now() });
        *self.pulse(part).doing.lock().unwrap_or_else(PoisonError::into_inner) = doing;
    }

    /// A worker has got something done that stays done: a committed flush, a window that is settled.
    pub fn achieved(&self, part: Part) {
        self.pulse(part).n_achieved.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it has.
    pub fn n_achieved(&self, part: Part) -> u64 {
        self.pulse(part).n_achieved.load(Ordering::Relaxed)
    }

    /// The whole process was stopped for so long: nobody was at anything meanwhile.
    pub fn slept(&self, gap: Duration) {
        for part in [Part::Ingest, Part::Release] {
            let mut doing = self.pulse(part).doing.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(doing) = &mut *doing {
                doing.since = (doing.since + gap).min(Instant::now());
            }
        }
    }

    /// A worker has ended, well or not.
    pub fn ended(&self, part: Part, is_failure: bool) {
        self.has_failed.fetch_or(is_failure, Ordering::Relaxed);
        self.ready(part, false);
        *self.pulse(part).doing.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What a worker does now; `None`: it has not begun, or has ended.
    pub fn now(&self, part: Part) -> Option<Doing> {
        *self.pulse(part).doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no worker has failed, and none has been at one thing for longer than this.
    pub fn is_alive(&self, limit: Duration) -> bool {
        let is_stuck = |part| self.now(part).is_some_and(|doing| doing.since.elapsed() > limit);
        !self.has_failed.load(Ordering::Relaxed)
            && !is_stuck(Part::Ingest)
            && !is_stuck(Part::Release)
    }

    /// Whether every wanted worker does its work.
    pub fn is_ready(&self, ingests: bool, releases: bool) -> bool {
        (!ingests || self.ingest.is_ready.load(Ordering::Relaxed))
            && (!releases || self.release.is_ready.load(Ordering::Relaxed))
    }
}

/// How far each window of each partition is. Ingest writes it and console and metrics read it at the same time:
/// nobody waits for the whole board.
#[derive(Debug, Default)]
pub struct Board {
    windows: DashMap<(i32, WindowId), Progress>,
    bytes: AtomicU64,
}

/// How far one window of one partition is, or one window of all partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Taps that count.
    pub n_taps: u64,
    /// Partitions with taps of it, or that have finished it.
    pub n_partitions: u32,
    /// Partitions that have finished it: no more taps of it will come.
    pub n_finished: u32,
}

impl Board {
    /// So many bytes were read.
    pub fn read(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// So many more taps of a window.
    pub fn add(&self, partition: i32, window: WindowId, n_taps: u64) {
        let mut progress = self.windows.entry((partition, window)).or_default();
        progress.n_partitions = 1;
        progress.n_taps += n_taps;
    }

    /// A partition has finished a window. Those before it are history: they are forgotten.
    pub fn finish(&self, partition: i32, window: WindowId) {
        self.add(partition, window, 0);
        if let Some(mut progress) = self.windows.get_mut(&(partition, window)) {
            progress.n_finished = 1;
        }
        self.windows.retain(|(one, before), _| *one != partition || *before >= window);
    }

    /// A partition is somebody else's now.
    pub fn forget_partition(&self, partition: i32) {
        self.windows.retain(|(one, _), _| *one != partition);
    }

    /// A window is released or withheld.
    pub fn forget_window(&self, window: WindowId) {
        self.windows.retain(|(_, one), _| *one != window);
    }

    /// Every window on the board, all partitions together.
    pub fn windows(&self) -> BTreeMap<WindowId, Progress> {
        let mut windows = BTreeMap::<WindowId, Progress>::new();
        for entry in &self.windows {
            let sum = windows.entry(entry.key().1).or_default();
            sum.n_taps += entry.n_taps;
            sum.n_partitions += entry.n_partitions;
            sum.n_finished += entry.n_finished;
        }
        windows
    }

    /// Windows that some partition has taps of and has not finished.
    pub fn n_filling(&self) -> usize {
        let filling = self.windows.iter().filter(|entry| entry.n_finished == 0);
        filling.map(|entry| entry.key().1).collect::<BTreeSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(number: i64) -> WindowId {
        WindowId::new(number)
    }

    #[test]
    fn the_board_adds_up_over_threads_while_it_is_read() {
        let board = Board::default();
        std::thread::scope(|scope| {
            for partition in 0..4 {
                let board = &board;
                scope.spawn(move || (0..100).for_each(|n| board.add(partition, window(n % 2), 3)));
            }
            let taps = || board.windows().values().map(|progress| progress.n_taps).sum::<u64>();
            let seen: Vec<u64> = (0..50).map(|_| taps()).collect();
            assert!(seen.is_sorted() && seen.iter().all(|n| n % 3 == 0), "{seen:?}");
        });
        let half = Progress { n_taps: 600, n_partitions: 4, n_finished: 0 };
        assert_eq!(board.windows(), BTreeMap::from([(window(0), half), (window(1), half)]));
    }

    #[test]
    fn what_is_finished_released_or_elsewhere_is_forgotten() {
        let board = Board::default();
        for (partition, number) in [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3)] {
            board.add(partition, window(number), 5);
        }
        assert_eq!(board.n_filling(), 3);
        board.finish(0, window(2));
        let known = board.windows();
        assert_eq!(known[&window(1)], Progress { n_taps: 5, n_partitions: 1, n_finished: 0 });
        assert_eq!(known[&window(2)], Progress { n_taps: 10, n_partitions: 2, n_finished: 1 });
        board.forget_window(window(2));
        assert_eq!(board.windows().keys().copied().collect::<Vec<_>>(), [window(1), window(3)]);
        assert_eq!(board.n_filling(), 2);
        board.forget_partition(1);
        assert!(board.windows().is_empty());
    }
}
