//! The live board: who is ready and how far work has come, written by workers and read by whoever shows it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dashmap::DashMap;

/// Whether a service is ready, written by its workers and read by whoever asks.
#[derive(Debug, Default)]
pub struct Health {
    ingest: AtomicBool,
    release: AtomicBool,
    active: AtomicBool,
}

impl Health {
    /// The ingest worker has partitions.
    pub fn ingest_ready(&self, ready: bool) {
        self.ingest.store(ready, Ordering::Relaxed);
    }

    /// The release worker is in its group, and active or standing by.
    pub fn release_ready(&self, ready: bool, active: bool) {
        self.release.store(ready, Ordering::Relaxed);
        self.active.store(active, Ordering::Relaxed);
    }

    /// Whether every wanted worker does its work.
    pub fn is_ready(&self, ingests: bool, releases: bool) -> bool {
        (!ingests || self.ingest.load(Ordering::Relaxed))
            && (!releases || self.release.load(Ordering::Relaxed))
    }
}

/// How far each partition is, written by ingest threads and read by whoever shows progress, without either
/// waiting for the other.
#[derive(Debug, Default)]
pub struct Board {
    partitions: DashMap<u32, Progress>,
    bytes: AtomicU64,
}

/// One partition's progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Taps that count.
    pub taps: u64,
    /// Records that do not.
    pub rejects: u64,
}

impl Board {
    /// So many bytes were read.
    pub fn read(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many records of a partition were decoded.
    pub fn add(&self, partition: u32, taps: u64, rejects: u64) {
        let mut progress = self.partitions.entry(partition).or_default();
        progress.taps += taps;
        progress.rejects += rejects;
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// All partitions together.
    pub fn total(&self) -> Progress {
        self.partitions.iter().fold(Progress::default(), |sum, progress| Progress {
            taps: sum.taps + progress.taps,
            rejects: sum.rejects + progress.rejects,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_board_adds_up_over_threads() {
        let board = Board::default();
        std::thread::scope(|scope| {
            for partition in 0..4 {
                let board = &board;
                scope.spawn(move || (0..100).for_each(|_| board.add(partition % 2, 3, 1)));
            }
        });
        assert_eq!(board.total(), Progress { taps: 1_200, rejects: 400 });
    }
}
