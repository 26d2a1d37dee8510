//! Projections against known adversaries (Hassan et al. 2020): each adversary owns stations and saw what a card did
//! there. What it saw is shortened until no foreign place follows from it with more than a given probability.
//!
//! In → out: a sealed window → exact counts of what is left of its trajectories.
//! Promises: Y-1 among the trajectories of the release that pass an adversary's stations and look the same to it, no
//!   foreign place occurs in more than the share P_br; Y-2 a trajectory keeps its order, an emptied one disappears;
//!   Y-3 the same input gives the same output.
//! Refuses: its own result, if one place can be inferred.
//! Why: `PROOF.md` beside this file.
#![doc = include_str!("PROOF.md")]

mod gain;
mod greedy;
mod inside;
mod keys;
mod node;
mod reference;
mod tree;

pub use keys::REGISTRATION;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::trips::Trips;
use super::{
    Draft, Engine, EngineDescription, Error, Forecast, Guarantee, Reading, Row, UniverseFacts,
};
use crate::guarantee::{self, Trip};
use crate::model::{Cost, Digest, PathKind, Portion, StationIx, Stations, Window};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;
use gain::Losses;
use greedy::Greedy;
use reference::Scan;
use tree::{Territory, Tree};

/// Changes whenever the same input could give other output. Part of the configuration digest.
pub const REVISION: u32 = 2;

crate::words! {
    /// How the next suppression is found. The rows are the same.
    pub enum Method {
        /// By the projection support tree.
        Tree = "tree",
        /// By looking at every trajectory for every gain, as global suppression did before the tree.
        Scan = "scan",
    }
}

/// What the engine is built from. Checked by [`Projection::new`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// P_br: no foreign place follows with a higher probability.
    pub breach: Portion,
    /// Places with times, or places alone.
    pub input: PathKind,
    /// Every adversary with its stations.
    pub adversaries: BTreeMap<String, Vec<StationIx>>,
    /// How the next suppression is found.
    pub method: Method,
    /// Steps that may be done; beyond it what is left is suppressed without weighing.
    pub max_work: u64,
    /// The public stations.
    pub stations: Arc<Stations>,
}

/// The engine. Cannot be built wrong.
#[derive(Debug)]
pub struct Projection {
    settings: Settings,
    /// By station, the number of its adversary.
    owners: Vec<Option<u32>>,
}

impl Projection {
    /// All complaints at once, in words that name adversaries and stations.
    pub fn new(settings: Settings) -> Result<Self, Vec<String>> {
        let mut complaints = Vec::new();
        let mut owners: Vec<Option<u32>> = vec![None; settings.stations.len() as usize];
        let names: Vec<&String> = settings.adversaries.keys().collect();
        if names.is_empty() {
            complaints.push("there is no adversary".to_owned());
        }
        for (number, (name, stations)) in (0..).zip(&settings.adversaries) {
            if stations.is_empty() {
                complaints.push(format!("adversary {name} has no stations"));
            }
            for station in stations {
                let id = &settings.stations.get(*station).id;
                match owners[station.0 as usize].replace(number) {
                    None => {}
                    Some(other) if other == number => {
                        complaints.push(format!("adversary {name} has station {id} twice"));
                    }
                    Some(other) => complaints.push(format!(
                        "station {id} belongs to {} and to {name}; adversaries do not overlap",
                        names[other as usize]
                    )),
                }
            }
        }
        if settings.breach == Portion::default() || settings.breach == Portion::ONE {
            complaints.push("breach lies between 0 and 1".to_owned());
        }
        match complaints.is_empty() {
            true => Ok(Self { settings, owners }),
            false => Err(complaints),
        }
    }

    fn tree(&self, trips: Trips) -> Tree {
        let n_adversaries = super::trips::number_of(self.settings.adversaries.len());
        let territory = Territory::new(&trips, &self.owners, n_adversaries, self.settings.input);
        Tree::new(trips, territory, self.settings.breach)
    }

    fn suppressed(&self, trips: Trips) -> Trips {
        let tree = self.tree(trips);
        match self.settings.method {
            Method::Tree => {
                let mut greedy = Greedy::new(tree, self.settings.max_work);
                greedy.run();
                greedy.tree.trips
            }
            Method::Scan => {
                let mut scan = Scan::of(&tree, self.settings.max_work);
                scan.run(&losses(&tree));
                scan.trips
            }
        }
    }

    /// Infers from the rows once more, with code of its own. Line C of PROOF.md.
    fn recheck(&self, rows: &[Row]) -> Result<(), Error> {
        let trips: Vec<Trip<'_>> =
            rows.iter().map(|row| Trip { path: &row.path, count: row.count }).collect();
        guarantee::projection(&trips, &self.owners, self.settings.breach)
            .map_err(|breach| Error::Promise(breach.to_string()))
    }

    /// Adversaries with the ids of their stations, in order.
    fn adversaries(&self) -> BTreeMap<String, Vec<String>> {
        let id = |station: &StationIx| self.settings.stations.get(*station).id.clone();
        let ids = |stations: &Vec<StationIx>| {
            let mut ids: Vec<String> = stations.iter().map(id).collect();
            ids.sort();
            ids
        };
        self.settings.adversaries.iter().map(|(name, at)| (name.clone(), ids(at))).collect()
    }

    fn described(&self, rows: Vec<Row>, window: &Window) -> Draft {
        let mut post_processing = vec![
            "suppression only: counts are exact, trajectories that lost every doublet are gone"
                .to_owned(),
            format!(
                "at most {} steps were taken to weigh what to suppress; whatever still infers a foreign place after \
                 them is suppressed to nothing without weighing, which keeps the promise and loses more",
                self.settings.max_work
            ),
        ];
        if rows.is_empty() {
            post_processing.push("the release is empty: nothing was left".to_owned());
        }
        Draft {
            rows,
            input: self.settings.input,
            guarantee: self.guarantee(),
            engine: self.describe(),
            shares: Vec::new(),
            universe: UniverseFacts {
                stations_sha256: self.settings.stations.digest(),
                taxonomy_sha256: Digest::of(b"no taxonomy"),
                slots: window.n_slots(),
            },
            post_processing,
            expected_error: None,
            tables: None,
            reading: Reading::suppressed(),
        }
    }
}

impl Engine for Projection {
    fn describe(&self) -> EngineDescription {
        let input = match self.settings.input {
            PathKind::Timed => "doublets",
            PathKind::Untimed => "sequences",
        };
        let parameters = [
            ("breach", self.settings.breach.to_string()),
            ("input", input.to_owned()),
            ("adversaries", format!("{:?}", self.adversaries())),
            ("method", self.settings.method.to_string()),
            ("max_work", self.settings.max_work.to_string()),
        ];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).to_vec();
        EngineDescription { name: "projection", version: REVISION, parameters }
    }

    fn forecast(&self, _: u32, _: u64) -> Forecast {
        Forecast::default()
    }

    fn price(&self) -> Cost {
        Cost::syntactic()
    }

    fn check_window(&self, _: &Window) -> Result<(), Error> {
        Ok(())
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Projection {
            breach: self.settings.breach.to_string(),
            adversaries: self.adversaries(),
            dp: false,
            unit: "one card's whole trajectory in one window".to_owned(),
        }
    }

    fn draft(&self, window: &SealedWindow, _: &NoiseKey) -> Result<Draft, Error> {
        let rows = self.suppressed(Trips::of(window, self.settings.input)).rows();
        self.recheck(&rows)?;
        Ok(self.described(rows, window.window()))
    }
}

/// A window under study: the tree beside the scanning reference, for measurements. Exact numbers, for inside.
#[derive(Debug)]
pub struct Study {
    tree: Tree,
    max_work: u64,
}

impl Study {
    /// Builds the tree of a window.
    pub fn new(engine: &Projection, window: &SealedWindow) -> Self {
        let tree = engine.tree(Trips::of(window, engine.settings.input));
        Self { tree, max_work: engine.settings.max_work }
    }

    /// Threats, from the tree.
    pub fn threats(&self) -> u64 {
        self.tree.threats()
    }

    /// Threats, by scanning every trajectory for every view.
    pub fn threats_by_scanning(&self) -> u64 {
        self.scan().threats()
    }

    /// Suppresses with the tree; gives what is left.
    pub fn suppressed(&self) -> Vec<Row> {
        let mut greedy = Greedy::new(self.tree.clone(), self.max_work);
        greedy.run();
        greedy.tree.trips.rows()
    }

    /// Suppresses by scanning everything at every step; gives what is left.
    pub fn suppressed_by_scanning(&self) -> Vec<Row> {
        let mut scan = self.scan();
        scan.run(&losses(&self.tree));
        scan.trips.rows()
    }

    fn scan(&self) -> Scan {
        Scan::of(&self.tree, u64::MAX)
    }
}

/// Losses for the trajectories of a tree.
fn losses(tree: &Tree) -> Losses {
    let cards: u64 = tree.trips.numbers().map(|trip| u64::from(tree.trips.weight(trip))).sum();
    Losses::new(tree.trips.longest() as u64, cards)
}

#[cfg(test)]
mod tests;
