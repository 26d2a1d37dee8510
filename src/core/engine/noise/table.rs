//! Noise for whole tables: every count is told, also one below zero.

use std::num::NonZeroUsize;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use super::{DiscreteLaplace, Scale};
use crate::secret::NoiseKey;

/// A question about all counts of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableClass {
    /// The scale of the noise on every count.
    pub scale: Scale,
    /// The most that one card changes all counts by, together: what the engine states and the auditor checks.
    pub most: u64,
}

/// Adds noise to tables.
pub trait TableNoise: Sync {
    /// Adds noise to every count of the table of this number. Threads never change the result.
    fn table(&self, number: u32, class: TableClass, counts: &mut [i64], threads: NonZeroUsize);
}

/// Counts that share one stream of noise.
const BLOCK: usize = 4_096;

impl TableNoise for NoiseKey {
    fn table(&self, number: u32, class: TableClass, counts: &mut [i64], threads: NonZeroUsize) {
        let noise = DiscreteLaplace::new(class.scale);
        let add = |(block, counts): (usize, &mut [i64])| {
            let mut rng = stream(self, number, block as u64);
            for count in counts {
                *count = count.saturating_add(noise.draw(&mut rng));
            }
        };
        match threads.get() {
            1 => counts.chunks_mut(BLOCK).enumerate().for_each(add),
            _ => counts.par_chunks_mut(BLOCK).enumerate().for_each(add),
        }
    }
}

/// A stream of a release's key: every use and piece has its own, and streams never overlap.
pub(crate) fn stream(key: &NoiseKey, usage: u32, piece: u64) -> ChaCha20Rng {
    const PIECE_BITS: u32 = 40;
    assert!(piece < 1 << PIECE_BITS && usage < 1 << 24, "N-5: every piece has its own stream");
    let mut rng = ChaCha20Rng::from_seed(key.bytes());
    rng.set_stream(u64::from(usage) << PIECE_BITS | piece);
    rng
}
