//! Seal decides that a window is complete and freezes it.
//!
//! In → out: an open window that nothing can change any more → [`SealedWindow`].
//! Promises: S-1 duplicates count once; S-2 a trajectory keeps its first `max_length` doublets; S-3 the
//!   batch has one canonical form, whatever the order of arrival; S-4 one card never touches another.
//! Refuses: nothing; what may not enter was rejected in `window`.
//! Why: `src/core/window/PROOF.md`.

mod gathered;
mod close;
mod partition;
mod packed;
mod segment;

pub use close::{ArrivalProgress, Closing, Finished, PartitionSeals, Watermark};
pub use gathered::{GatherError, GatheredWindows};
pub use partition::{IngestMetadata, Judged, PartitionState, Rules, Sealing};
pub use segment::{Nonce, Segment, SegmentCodec, SegmentError};

use std::fmt;
use std::num::NonZeroU32;

use rayon::slice::ParallelSliceMut;

use crate::model::{Doublet, Mac, Window};
use crate::passenger::{Stamp, Trajectories};
use crate::secret::Secret;

/// A complete window: one trajectory per card, duplicates gone, lengths bounded, order canonical.
#[derive(Clone)]
pub struct SealedWindow {
    window: Window,
    trajectories: Trajectories,
    mac: Mac,
    n_duplicates: u64,
}

impl SealedWindow {
    /// Freezes the taps of a window. `max_length` bounds what one card can contribute.
    pub fn freeze(
        window: Window,
        mut stamps: Vec<Stamp>,
        max_length: Option<NonZeroU32>,
        secret: &Secret,
    ) -> Self {
        sort_canonically(&mut stamps);
        let n_all = stamps.len();
        stamps.dedup();
        let n_duplicates = (n_all - stamps.len()) as u64;
        let longest = max_length.map_or(usize::MAX, |most| most.get() as usize);
        let mut trajectories = Trajectories::default();
        for taps in stamps.chunk_by(|a, b| a.card == b.card) {
            let doublet = |tap: &Stamp| Doublet {
                station: tap.station(),
                slot: window.slot_at(tap.offset_millis),
            };
            let taps_kept = taps.iter().take(longest).map(|tap| (doublet(tap), tap.kind()));
            trajectories.push(taps[0].card, taps_kept);
        }
        let mac = segment::batch_mac(secret, &window, &trajectories);
        Self { window, trajectories, mac, n_duplicates }
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The MAC of the canonical batch.
    pub fn mac(&self) -> &Mac {
        &self.mac
    }

    /// Cards in it; for the operator only.
    pub fn n_cards(&self) -> u64 {
        self.trajectories.len() as u64
    }

    /// Taps that were there twice; for the operator only.
    pub fn n_duplicates(&self) -> u64 {
        self.n_duplicates
    }

    /// The trajectories; behind the trust boundary.
    pub(crate) fn trajectories(&self) -> &Trajectories {
        &self.trajectories
    }
}

impl fmt::Debug for SealedWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealedWindow({})", self.window)
    }
}

/// Sorts by card, time, station on every core. Stamps that compare equal are equal, so threads never show.
fn sort_canonically(stamps: &mut [Stamp]) {
    const WORTH_A_THREAD: usize = 100_000;
    match stamps.len() < WORTH_A_THREAD {
        true => stamps.sort_unstable(),
        false => stamps.par_sort_unstable(),
    }
}

#[cfg(test)]
mod tests;
