//! One walk a level: over places, or over doublets (every slot of a place is a cell of its own).

use num_rational::Ratio;

use super::{Cell, ChildNode, Item, Level, PricedTaxonomy, Share, Splitter, growth, walk};
use crate::engine::noise::{NodeClass, Noise};
use crate::model::{Digest, Doublet, StationIx};

/// Splits a node by index alone, or by place and slot at once.
#[derive(Debug)]
pub struct ByPlace<'a> {
    /// The groups of places.
    pub places: &'a PricedTaxonomy,
    /// Slots of the window; `None` for an engine that sees no times.
    pub n_slots: Option<u32>,
}

impl Splitter for ByPlace<'_> {
    fn rank(&self, next: Doublet) -> (u32, u32) {
        let slot = if self.n_slots.is_some() { next.slot } else { 0 };
        (self.places.taxonomy().rank(next.station.0), slot)
    }

    fn split(
        &self,
        items: &mut [Item],
        min_slot: u32,
        noise: &mut impl Noise,
        children: &mut Vec<ChildNode>,
    ) {
        items.sort_unstable_by_key(|item| u64::from(item.rank) << 32 | u64::from(item.slot));
        // Slots never decrease, so those before the parent's do not exist.
        let width = self.n_slots.map_or(1, |n_slots| n_slots - min_slot);
        let cell = |item: &Item| Cell { rank: item.rank, within: item.slot - min_slot };
        let at = |index: usize| u32::try_from(index).expect("as many as cards");
        walk(self.places.universe(0, width), items, cell, noise, &mut |found| {
            let station = StationIx(self.places.taxonomy().element(found.cell.rank));
            children.push(ChildNode {
                doublet: Doublet { station, slot: min_slot + found.cell.within },
                noisy: found.noisy,
                from: at(found.items.start),
                to: at(found.items.end),
            });
        });
    }
}

impl Level for ByPlace<'_> {
    fn shares(&self) -> Vec<Share> {
        self.places.shares().to_vec()
    }

    fn path_costs(&self) -> Vec<Ratio<u128>> {
        self.places.path_costs()
    }

    fn false_children(&self) -> f64 {
        growth::false_children(self.places.universe(0, self.n_slots.unwrap_or(1)))
    }

    fn leaf(&self) -> &NodeClass {
        self.places.leaf()
    }

    fn taxonomy_digest(&self) -> Digest {
        self.places.digest()
    }
}
