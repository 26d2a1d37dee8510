//! What one card adds to a table: whole numbers of a fixed unit, never more than the table's clip.
//!
//! A card whose cells weigh more than c in all adds every cell with the same smaller weight, rounded down. So
//! the sum of what it adds is at most c, exactly, which is all that the noise relies on (line 3 of PROOF.md).

use std::num::NonZeroU32;

/// One card's full weight. Divisible by every small number of cells, so that little is lost by rounding.
pub const UNIT: u32 = 5_040;

/// The cells of one card in one table, with their weights in units.
#[derive(Clone, Debug, Default)]
pub(super) struct Contribution {
    cells: Vec<(u64, u32)>,
}

impl Contribution {
    pub(super) fn clear(&mut self) {
        self.cells.clear();
    }

    pub(super) fn cells(&self) -> &[(u64, u32)] {
        &self.cells
    }

    /// A cell with the full weight. The same cell may come several times.
    #[inline]
    pub(super) fn add(&mut self, cell: u64) {
        self.cells.push((cell, UNIT));
    }

    /// A cell with a weight of at most one.
    #[inline]
    pub(super) fn add_weighted(&mut self, cell: u64, units: u32) {
        self.cells.push((cell, units.min(UNIT)));
    }

    /// A cell with this weight, unless it is there.
    #[inline]
    pub(super) fn add_once(&mut self, cell: u64, units: u32) {
        if !self.cells.iter().any(|&(known, _)| known == cell) {
            self.add_weighted(cell, units);
        }
    }

    /// Makes the whole weigh at most `clip` cards.
    #[inline]
    pub(super) fn clip(&mut self, clip: NonZeroU32) {
        let most = u64::from(clip.get()) * u64::from(UNIT);
        let total: u64 = self.cells.iter().map(|&(_, units)| u64::from(units)).sum();
        if total <= most {
            return;
        }
        for (_, units) in &mut self.cells {
            let smaller = u64::from(*units) * most / total;
            *units = u32::try_from(smaller).expect("smaller than it was");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_card_adds_more_than_the_clip_of_a_table(
            cells in proptest::collection::vec((0_u64..20, 0_u32..=UNIT), 0..80),
            clip in 1_u32..20,
        ) {
            let mut contribution = Contribution::default();
            for &(cell, units) in &cells {
                contribution.add_weighted(cell, units);
            }
            contribution.clip(NonZeroU32::new(clip).unwrap());
            let total: u64 = contribution.cells().iter().map(|cell| u64::from(cell.1)).sum();
            prop_assert!(total <= u64::from(clip) * u64::from(UNIT));
            for (clipped, whole) in contribution.cells().iter().zip(&cells) {
                prop_assert!(clipped.1 <= whole.1);
            }
        }
    }
}
