//! SafePath (Al-Hussaeni et al. 2018): a noisy prefix tree over doublets, each level split first by place
//! and then by time, both down a taxonomy.
//!
//! In → out: a sealed window → consistent noisy counts of whole paths.
//! Promises: P-1 ε-differential privacy for one card in one window; P-2 the longest path costs exactly ε.
//! Refuses: a taxonomy that leaves no budget for its leaves, before anything is paid.
//! Why: `PROOF.md` beside this file; the paper's errata are named where they bite.
#![doc = include_str!("PROOF.md")]

mod budget;
mod growth;

pub use budget::{Allocation, BudgetError, Share, Threshold, largest_height};
pub use growth::{expected_nodes, false_children};

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use super::noise::{Noise, NoiseSource};
use super::tree::{self, Classes, Growth, Item, Splitter, Sprout};
use super::{
    Draft, Engine, EngineFacts, Error, ExpectedError, Guarantee, Outlook, Release, Row,
    UniverseFacts,
};
use crate::ledger::Permit;
use crate::model::{
    Cost, Digest, Doublet, Input, MicroEpsilon, StationIx, Stations, Taxonomy, Window,
};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;

/// Changes whenever the same input could give other output. Part of the configuration digest.
pub const REVISION: u32 = 1;

/// How places are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    /// Not at all.
    Flat,
    /// By line; a station without one stands alone.
    Lines,
    /// In halves, thirds … of the list.
    Balanced(Shape),
}

/// How slots are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// Not at all.
    Flat,
    /// In halves, thirds … of the window.
    Balanced(Shape),
}

/// A balanced taxonomy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Parts a group is split into.
    pub fanout: u32,
    /// How often.
    pub height: u32,
}

/// What the engine is built from. Checked by [`SafePath::new`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// ε of one release.
    pub epsilon: MicroEpsilon,
    /// Levels of the tree.
    pub height: NonZeroU32,
    /// When a node is kept.
    pub threshold: Threshold,
    /// How a sub-level's share is split.
    pub allocation: Allocation,
    /// Noisy nodes in all.
    pub max_nodes: u64,
    /// How many doublets of a card count; for the words of the guarantee.
    pub max_length: NonZeroU32,
    /// The public stations.
    pub stations: Arc<Stations>,
    /// How they are grouped.
    pub places: Places,
    /// How slots are grouped.
    pub times: Times,
    /// Threads; never changes the result.
    pub threads: NonZeroUsize,
}

/// The engine. Cannot be built wrong.
#[derive(Debug)]
pub struct SafePath {
    settings: Settings,
    places: Taxonomy,
    place_classes: Classes,
    place_shares: Vec<Share>,
}

impl SafePath {
    /// Checks the settings against the station list and the usual number of slots; all complaints at once.
    pub fn new(settings: Settings, slots_nominal: u32) -> Result<Self, Vec<BudgetError>> {
        let places = place_taxonomy(&settings);
        let shares =
            settings.shares("engine.taxonomy.locations", &places, settings.places.height());
        let times = time_taxonomy(settings.times, slots_nominal);
        let time_shares = settings.shares("engine.taxonomy.times", &times, settings.times.height());
        match (shares, time_shares) {
            (Ok(place_shares), Ok(_)) => {
                let place_classes = budget::classes(&place_shares);
                Ok(Self { settings, places, place_classes, place_shares })
            }
            (places, times) => Err([places.err(), times.err()].into_iter().flatten().collect()),
        }
    }

    /// What it was built from.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The budget of every class of nodes in a window with so many slots.
    pub fn shares(&self, n_slots: u32) -> Result<Vec<Share>, BudgetError> {
        let mut shares = self.place_shares.clone();
        shares.extend(self.time_shares(&time_taxonomy(self.settings.times, n_slots))?);
        Ok(shares)
    }

    /// Paths per empty node that noise alone makes up, in a window with so many slots; a float, for words.
    pub fn false_children(&self, n_slots: u32) -> Result<f64, BudgetError> {
        let times = time_taxonomy(self.settings.times, n_slots);
        let time_classes = budget::classes(&self.time_shares(&times)?);
        Ok(false_children(&self.places, &self.place_classes)
            * false_children(&times, &time_classes))
    }

    fn time_shares(&self, times: &Taxonomy) -> Result<Vec<Share>, BudgetError> {
        self.settings.shares("engine.taxonomy.times", times, self.settings.times.height())
    }

    /// The rows of a window under any source of noise. Public numbers come out; the trajectories stay.
    pub(crate) fn noisy_rows<S: NoiseSource>(
        &self,
        window: &SealedWindow,
        times: Taxonomy,
        shares: &[Share],
        source: &S,
    ) -> Vec<Row> {
        let splitter = PlaceThenTime {
            places: &self.places,
            place_classes: &self.place_classes,
            times,
            time_classes: budget::classes(shares),
        };
        let growth = Growth {
            height: self.settings.height.get(),
            max_nodes: self.settings.max_nodes,
            threads: self.settings.threads,
        };
        let levels = tree::grow(window.trajectories(), &splitter, growth, source);
        tree::rows(&levels)
    }

    fn draft(
        &self,
        rows: Vec<Row>,
        times: &Taxonomy,
        time_shares: &[Share],
        window: &Window,
    ) -> Draft {
        let settings = &self.settings;
        let leaf = budget::classes(time_shares).leaf.into_iter().next_back();
        let leaf = leaf.expect("a taxonomy has leaves");
        let taxonomies = format!("{} {}", self.places.digest(), times.digest());
        Draft {
            rows,
            input: Input::Doublets,
            guarantee: Guarantee::Differential {
                epsilon_micro: settings.epsilon,
                unit: format!(
                    "one card's whole trajectory in one window, at most its first {} doublets",
                    settings.max_length
                ),
                neighbouring: "one card added or removed (replacing one costs twice as much)"
                    .to_owned(),
            },
            engine: self.facts(),
            shares: self.place_shares.iter().chain(time_shares).map(Share::fact).collect(),
            universe: UniverseFacts {
                stations_sha256: settings.stations.digest(),
                taxonomy_sha256: Digest::of(taxonomies.as_bytes()),
                slots: window.n_slots(),
            },
            post_processing: vec![
                "children lowered evenly until they do not exceed their parent".to_owned(),
                "whole numbers by largest remainder, ties by path".to_owned(),
                "a path's count is its node's count less its children's".to_owned(),
            ],
            expected_error: Some(ExpectedError {
                count_standard_deviation: leaf.scale().approximately() * std::f64::consts::SQRT_2,
                smallest_count_likely_kept: leaf.threshold(),
                false_children_per_empty_node: self
                    .false_children(window.n_slots())
                    .expect("the shares of this window were computed above"),
            }),
        }
    }

    fn parameters(&self) -> Vec<(String, String)> {
        let settings = &self.settings;
        let parameters = [
            ("epsilon", settings.epsilon.to_string()),
            ("height", settings.height.to_string()),
            ("threshold", settings.threshold.to_string()),
            ("allocation", settings.allocation.to_string()),
            ("max_nodes", settings.max_nodes.to_string()),
            ("max_length", settings.max_length.to_string()),
            ("taxonomy.locations", settings.places.to_string()),
            ("taxonomy.times", settings.times.to_string()),
        ];
        parameters.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }
}

impl Engine for SafePath {
    fn facts(&self) -> EngineFacts {
        EngineFacts { name: "safepath", version: REVISION, parameters: self.parameters() }
    }

    fn outlook(&self, n_slots: u32) -> Outlook {
        let shares = self.shares(n_slots).unwrap_or_default();
        let false_children = self.false_children(n_slots).ok();
        Outlook {
            shares: shares.iter().map(Share::fact).collect(),
            false_children,
            expected_nodes: false_children
                .map(|per_node| expected_nodes(per_node, self.settings.height.get())),
        }
    }

    fn price(&self) -> Cost {
        Cost::differential(self.settings.epsilon)
    }

    fn fits(&self, window: &Window) -> Result<(), Error> {
        self.shares(window.n_slots()).map(|_| ()).map_err(|error| Error::Configuration {
            window: window.name(),
            complaint: error.to_string(),
        })
    }

    fn sanitize(
        &self,
        window: &SealedWindow,
        permit: Permit,
        key: &NoiseKey,
    ) -> Result<Release, Error> {
        self.fits(window.window())?;
        let times = time_taxonomy(self.settings.times, window.window().n_slots());
        let shares = self.time_shares(&times).expect("the window fits: it was asked above");
        let rows = self.noisy_rows(window, times.clone(), &shares, key);
        let draft = self.draft(rows, &times, &shares, window.window());
        Release::new(self, window, permit, draft)
    }
}

/// Splits a node by place, then each place that passed by time.
struct PlaceThenTime<'a> {
    places: &'a Taxonomy,
    place_classes: &'a Classes,
    times: Taxonomy,
    time_classes: Classes,
}

impl Splitter for PlaceThenTime<'_> {
    fn rank(&self, station: u32) -> u32 {
        self.places.rank(station)
    }

    fn split(
        &self,
        items: &mut [Item],
        min_slot: u32,
        noise: &mut impl Noise,
        sprouts: &mut Vec<Sprout>,
    ) {
        items.sort_unstable_by_key(|item| u64::from(item.rank) << 32 | u64::from(item.slot));
        let mut passed = Vec::new();
        let by_rank = |item: &Item| item.rank;
        tree::walk(self.places, self.place_classes, items, by_rank, 0, noise, &mut |found| {
            passed.push(found);
        });
        for place in passed {
            let station = StationIx(self.places.element(place.rank));
            let below = &items[place.items.clone()];
            let by_slot = |item: &Item| item.slot;
            tree::walk(
                &self.times,
                &self.time_classes,
                below,
                by_slot,
                min_slot,
                noise,
                &mut |found| {
                    let item = |at: usize| {
                        u32::try_from(place.items.start + at).expect("as many as cards")
                    };
                    sprouts.push(Sprout {
                        doublet: Doublet { station, slot: found.rank },
                        noisy: found.noisy,
                        from: item(found.items.start),
                        to: item(found.items.end),
                    });
                },
            );
        }
    }
}

fn place_taxonomy(settings: &Settings) -> Taxonomy {
    let stations = &settings.stations;
    let taxonomy = match settings.places {
        Places::Flat => Taxonomy::flat(stations.len()),
        Places::Lines => {
            let way = |line: &str| if line.is_empty() { vec![] } else { vec![line.to_owned()] };
            let ways: Vec<_> = stations.iter().map(|station| way(&station.line)).collect();
            Taxonomy::grouped(&ways)
        }
        Places::Balanced(Shape { fanout, height }) => {
            let listed = stations.as_listed().iter().map(|station| station.0).collect();
            Taxonomy::balanced(stations.len(), fanout.max(2), height)
                .map(|taxonomy| taxonomy.ordered_as(listed))
        }
    };
    taxonomy.expect("a station list is not empty, and the fanout at least 2")
}

fn time_taxonomy(times: Times, n_slots: u32) -> Taxonomy {
    let taxonomy = match times {
        Times::Flat => Taxonomy::flat(n_slots),
        Times::Balanced(Shape { fanout, height }) => {
            Taxonomy::balanced(n_slots, fanout.max(2), height)
        }
    };
    taxonomy.expect("a window has at least one slot, and the fanout is at least 2")
}

#[cfg(test)]
mod tests;
