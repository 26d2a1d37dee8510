//! SafePath (Al-Hussaeni et al. 2018): a noisy prefix tree over doublets, each level split first by station
//! and then by time, both down a taxonomy.
//!
//! In → out: a sealed window → consistent noisy counts of whole paths.
//! Promises: G-1 ε-differential privacy for one card in one window; G-2 the longest path costs exactly ε.
//! Refuses: a taxonomy that leaves no budget for its leaves, before anything is paid.
//! Why: `PROOF.md` beside this file; the paper's errata are named where they bite.
#![doc = include_str!("PROOF.md")]

mod keys;

pub use keys::REGISTRATION;

use std::borrow::Cow;

use num_rational::Ratio;

use super::noise::{NodeClass, Noise};
use super::tree::{
    self, BudgetError, Cell, ChildNode, Children, Consistency, Item, Level, Places, PricedTaxonomy,
    Share, Splitter, SubLevel, Times, TreeMechanism, TreeParams, unfit,
};
use crate::model::{Digest, Doublet, Outline, PathKind, StationIx, Taxonomy};

/// Changes whenever the same input could give other output. Part of the configuration digest.
pub const REVISION: u32 = 2;

crate::words! {
    /// How a sub-level's share is split over the depths of its taxonomy.
    pub enum Allocation {
        /// ε_g(d) = d·2ε_s/|U|: the paper's.
        Paper = "paper",
        /// ε_g(d) = ε_s/(H+1): every depth the same.
        Even = "even",
    }
}

/// What the engine is built from. Checked by [`SafePath::new`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// What all engines over the tree have.
    pub params: TreeParams,
    /// How a sub-level's share is split.
    pub allocation: Allocation,
    /// How stations are grouped.
    pub places: Places,
    /// How slots are grouped.
    pub times: Times,
}

/// The engine. Cannot be built wrong.
#[derive(Debug)]
pub struct SafePath {
    settings: Settings,
    places: PricedTaxonomy,
    /// Of a window with the usual number of slots.
    times: PricedTaxonomy,
    slots_nominal: u32,
}

impl SafePath {
    /// Checks the settings against the station list and the usual number of slots; all complaints at once.
    pub fn new(settings: Settings, slots_nominal: u32) -> Result<Self, Vec<BudgetError>> {
        let places = settings.priced_places();
        let times = settings.priced_times(slots_nominal, slots_nominal);
        match (places, times) {
            (Ok(places), Ok(times)) => Ok(Self { settings, places, times, slots_nominal }),
            (places, times) => {
                Err([places.err(), times.err()].into_iter().flatten().flatten().collect())
            }
        }
    }
}

/// The largest height that leaves something for the leaves: H(H+1) < |U|.
pub fn largest_height(n_leaves: u32) -> u32 {
    let fits = |height: u64| height * (height + 1) < u64::from(n_leaves);
    (1..).take_while(|&height| fits(height)).last().map_or(0, |height| {
        u32::try_from(height).expect("below the square root of a 32-bit number")
    })
}

impl Settings {
    fn priced_places(&self) -> Result<PricedTaxonomy, Vec<BudgetError>> {
        const KEY: &str = "engine.safepath.taxonomy.locations";
        let taxonomy = self.places.taxonomy(&self.params.stations);
        let taxonomy = taxonomy.map_err(|complaints| unfit(KEY, complaints))?;
        self.priced(KEY, "locations", taxonomy, self.places.height()).map_err(|error| vec![error])
    }

    /// Of a window with so many slots, where there are usually `usual`.
    fn priced_times(&self, n_slots: u32, usual: u32) -> Result<PricedTaxonomy, Vec<BudgetError>> {
        const KEY: &str = "engine.safepath.taxonomy.times";
        let taxonomy = self.times.taxonomy(n_slots, usual);
        let taxonomy = taxonomy.map_err(|complaints| unfit(KEY, complaints))?;
        self.priced(KEY, "times", taxonomy, self.times.height()).map_err(|error| vec![error])
    }

    /// The share of every class of nodes in a taxonomy whose configured height is `asked`.
    fn priced(
        &self,
        key: &'static str,
        leaves_are: &'static str,
        taxonomy: Taxonomy,
        asked: Option<u32>,
    ) -> Result<PricedTaxonomy, BudgetError> {
        let n_leaves = taxonomy.n_leaves();
        let height = asked.unwrap_or(0).max(taxonomy.height());
        if self.allocation == Allocation::Paper && height > largest_height(n_leaves) && height > 0 {
            let fits = largest_height(n_leaves);
            return Err(BudgetError::NothingLeft { key, height, n_leaves, fits });
        }
        let epsilon = self.sub_level_epsilon();
        let depths = u128::from(taxonomy.height()) + 1;
        let general = |depth: u32| match self.allocation {
            Allocation::Paper => epsilon * Ratio::new(2 * u128::from(depth), u128::from(n_leaves)),
            Allocation::Even => epsilon / depths,
        };
        PricedTaxonomy::new(&self.params, SubLevel { key, leaves_are, epsilon }, taxonomy, general)
    }

    /// A level has two sub-levels, places and times: half of it each.
    fn sub_level_epsilon(&self) -> Ratio<u128> {
        self.params.level_epsilon() / 2
    }
}

impl TreeMechanism for SafePath {
    type Level<'a> = PlaceThenTime<'a>;

    fn name_and_revision(&self) -> (&'static str, u32) {
        ("safepath", REVISION)
    }

    fn params(&self) -> &TreeParams {
        &self.settings.params
    }

    fn own_parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("allocation", self.settings.allocation.to_string()),
            ("taxonomy.locations", self.settings.places.to_string()),
            ("taxonomy.times", self.settings.times.to_string()),
        ]
    }

    fn outlines(&self, n_slots: u32) -> Vec<Outline> {
        let Ok(PlaceThenTime { places, times }) = self.level(n_slots) else { return Vec::new() };
        let station = Places::leaf_name(&self.settings.params.stations);
        vec![
            Outline::new("taxonomy.locations", places.taxonomy(), &station),
            Outline::new("taxonomy.times", times.taxonomy(), &|slot| slot.to_string()),
        ]
    }

    fn lowered(&self, n_slots: u32) -> Vec<String> {
        let places = self.settings.places.lowered(&self.settings.params.stations);
        places.into_iter().chain(self.settings.times.lowered(n_slots)).collect()
    }

    fn input(&self) -> PathKind {
        PathKind::Timed
    }

    fn consistency(&self) -> Consistency {
        Consistency::TopDown
    }

    fn level(&self, n_slots: u32) -> Result<PlaceThenTime<'_>, BudgetError> {
        let times = match n_slots == self.slots_nominal {
            true => Cow::Borrowed(&self.times),
            false => {
                let priced = self.settings.priced_times(n_slots, self.slots_nominal);
                Cow::Owned(priced.map_err(|mut errors| errors.swap_remove(0))?)
            }
        };
        Ok(PlaceThenTime { places: &self.places, times })
    }
}

/// Splits a node by station, then each station that passed by time.
#[derive(Debug)]
pub struct PlaceThenTime<'a> {
    places: &'a PricedTaxonomy,
    times: Cow<'a, PricedTaxonomy>,
}

impl Splitter for PlaceThenTime<'_> {
    fn rank(&self, next: Doublet) -> (u32, u32) {
        (self.places.taxonomy().rank(next.station.0), next.slot)
    }

    fn split(
        &self,
        items: &mut [Item],
        min_slot: u32,
        noise: &mut impl Noise,
        children: &mut Children,
    ) {
        items.sort_unstable_by_key(|item| u64::from(item.rank) << 32 | u64::from(item.slot));
        let mut passed = Vec::new();
        let by_rank = |item: &Item| Cell { rank: item.rank, within: 0 };
        tree::walk(self.places.universe(0, 1), items, by_rank, noise, &mut |found| {
            passed.push(found)
        });
        let times = self.times.universe(min_slot, 1);
        let by_slot = |item: &Item| Cell { rank: item.slot, within: 0 };
        for part in passed {
            let station = StationIx(self.places.taxonomy().element(part.cell.rank));
            let below = &items[part.items.clone()];
            let item = |at: usize| u32::try_from(part.items.start + at).expect("as many as cards");
            tree::walk(times, below, by_slot, noise, &mut |found| {
                children.nodes.push(ChildNode {
                    doublet: Doublet { station, slot: found.cell.rank },
                    noisy: found.noisy,
                    from: item(found.items.start),
                    to: item(found.items.end),
                    group: None,
                });
            });
        }
    }
}

impl Level for PlaceThenTime<'_> {
    fn shares(&self) -> Vec<Share> {
        self.places.shares().iter().chain(self.times.shares()).cloned().collect()
    }

    fn path_costs(&self) -> Vec<Ratio<u128>> {
        let times = self.times.path_costs();
        let with = |station: Ratio<u128>| times.iter().map(move |time| station + time);
        self.places.path_costs().into_iter().flat_map(with).collect()
    }

    fn false_children(&self) -> f64 {
        tree::false_children(self.places.universe(0, 1))
            * tree::false_children(self.times.universe(0, 1))
    }

    fn leaf(&self) -> &NodeClass {
        self.times.leaf()
    }

    fn taxonomy_digest(&self) -> Digest {
        Digest::of(format!("{} {}", self.places.digest(), self.times.digest()).as_bytes())
    }
}

#[cfg(test)]
mod tests;
