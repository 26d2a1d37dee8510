//! One walk a level: over places, or over doublets (every slot of a place is a cell of its own).

use num_rational::Ratio;

use super::{
    Cell, ChildNode, Children, Item, Level, PricedTaxonomy, Share, Splitter, growth, walk_through,
};
use crate::engine::noise::{NodeClass, Noise};
use crate::model::{Digest, Doublet, StationIx};

/// Splits a node by index alone, or by place and slot at once.
#[derive(Debug)]
pub struct ByPlace<'a> {
    /// The groups of places.
    pub places: &'a PricedTaxonomy,
    /// Slots of the window; `None` for an engine that sees no times.
    pub n_slots: Option<u32>,
    /// Whether groups that pass are kept with their counts, for what is done with counts later.
    pub keeps_groups: bool,
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
        children: &mut Children,
    ) {
        items.sort_unstable_by_key(|item| u64::from(item.rank) << 32 | u64::from(item.slot));
        // Slots never decrease, so those before the parent's do not exist.
        let width = self.n_slots.map_or(1, |n_slots| n_slots - min_slot);
        let cell = |item: &Item| Cell { rank: item.rank, within: item.slot - min_slot };
        let at = |index: usize| u32::try_from(index).expect("as many as cards");
        let Children { nodes, groups } = children;
        let universe = self.places.universe(0, width);
        walk_through(universe, items, cell, noise, groups, &mut |found| {
            let station = StationIx(self.places.taxonomy().element(found.cell.rank));
            nodes.push(ChildNode {
                doublet: Doublet { station, slot: min_slot + found.cell.within },
                noisy: found.noisy,
                from: at(found.items.start),
                to: at(found.items.end),
                group: found.group.filter(|_| self.keeps_groups),
            });
        });
        if !self.keeps_groups {
            groups.clear();
        }
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
