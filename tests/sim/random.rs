//! The one source of chance of a run: everything follows from its seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Numbers that follow from a seed.
pub struct Random(ChaCha8Rng);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        // The bias of a remainder is nothing to a schedule.
        u64::from(self.0.next_u32()) % n
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Between two numbers, without the second.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low).max(1).unsigned_abs()) as i64
    }

    /// Bytes, for the encryption of segments.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}
