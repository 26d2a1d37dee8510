//! LK-privacy for passenger flowgraphs (Ghasemzadeh et al. 2014): doublets are suppressed until whatever an adversary
//! knows of a card, up to L doublets, fits at least K cards; those first that mean least to the flowgraph.
//!
//! In → out: a sealed window → exact counts of what is left of its trajectories.
//! Promises: X-1 every sequence of at most L doublets in the release is contained in at least K of its trajectories;
//!   X-2 a trajectory keeps its order, an emptied one disappears; X-3 the same input gives the same output.
//! Refuses: a window that takes more than `max_work` steps, before it is booked; its own result, if one sequence
//!   breaks the promise.
//! Why: `PROOF.md` beside this file; the paper's errata are named where they bite.
#![doc = include_str!("PROOF.md")]

mod best;
mod flowgraph;
mod keys;
mod mining;
mod published;
mod score;
mod state;
mod whole;
mod work;

pub use flowgraph::{Flowgraph, Measures, Weights};
pub use keys::REGISTRATION;
pub use score::Score;

use std::cmp::Reverse;
use std::num::NonZeroU32;
use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::trips::{Trips, number_of};
use super::{
    Draft, Engine, EngineDescription, Error, Forecast, Guarantee, Reading, Row, UniverseFacts,
};
use crate::guarantee::{self, Trip};
use crate::model::{Cost, Digest, PathKind, Stations, Window};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;
use mining::Mined;
use score::Ranking;
use state::State;
use work::{TooMuch, Work};

/// Changes whenever the same input could give other output. Part of the configuration digest.
pub const REVISION: u32 = 2;

crate::words! {
    /// Which greedy removes what violates.
    pub enum Variant {
        /// Algorithm 3 of the paper, with a check of validity that is right.
        Published = "published",
        /// Ours: local suppressions, what they break mended in turn, what can come back given back.
        Best = "best",
    }
}

/// How many steps of checking are allowed for every step of mining.
const CHECKS_PER_CANDIDATE: u64 = 20;

/// A stronger promise is tried as well where that surely takes no more steps than this.
const CHEAP_FALLBACK: u64 = 20_000_000;

/// What the engine is built from.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many doublets an adversary knows.
    pub l: NonZeroU32,
    /// How many trajectories share them. One protects nobody, and the release says so.
    pub k: NonZeroU32,
    /// Which greedy removes what violates.
    pub variant: Variant,
    /// Which doublet goes first.
    pub score: Score,
    /// What the flowgraph is worth; they sum to one.
    pub weights: Weights,
    /// Candidate sequences that may be looked at.
    pub max_work: u64,
    /// The public stations.
    pub stations: Arc<Stations>,
}

#[derive(Debug)]
pub struct Lk {
    settings: Settings,
}

impl Lk {
    /// `None` if the weights do not sum to one.
    pub fn new(settings: Settings) -> Option<Self> {
        (settings.weights.sum_micro() == 1_000_000).then_some(Self { settings })
    }

    /// What is left of trajectories. `Err` says at which length mining would take too much.
    fn suppressed(&self, trips: Trips, key: &NoiseKey) -> Result<Trips, TooMuch> {
        let Settings { l, k, score, weights, variant, max_work, .. } = &self.settings;
        let graph = Flowgraph::of_trips(&trips);
        let ranking = Ranking::new(*score, graph.all_measures(), weights, key);
        drop(graph);
        let trips = without_rare(trips, k.get());
        // No adversary knows more of a trajectory than all of it.
        let longest = number_of(trips.longest()).max(1);
        let l = l.get().min(longest);
        match variant {
            Variant::Published => Ok(self.published(&trips, &self.mined(&trips, l)?, l, &ranking)),
            // K-anonymity is mined only where that surely fits.
            Variant::Best if l == longest && !work::is_surely_enough(&trips, l, *max_work) => {
                Ok(self.whole(&trips, &ranking, Work::new(u64::MAX)))
            }
            Variant::Best => self.best(trips, l, longest, &ranking),
        }
    }

    fn mined(&self, trips: &Trips, l: u32) -> Result<Mined, TooMuch> {
        mining::mine(trips, l, self.settings.k.get(), &mut Work::new(self.settings.max_work))
    }

    /// What is left by whoever keeps most: our greedy for this L or a longer one, the published one, or the one that
    /// protects whole trajectories. Line D of PROOF.md.
    fn best(
        &self,
        trips: Trips,
        l: u32,
        longest: u32,
        ranking: &Ranking,
    ) -> Result<Trips, TooMuch> {
        let most = CHEAP_FALLBACK.min(self.settings.max_work);
        let is_cheap = |l: &u32| work::is_surely_enough(&trips, *l, most);
        let longer: Vec<u32> = (l + 1..=longest).take_while(is_cheap).collect();
        let mined = self.mined(&trips, longer.last().copied().unwrap_or(l))?;
        if mined.is_clean(l) {
            return Ok(trips);
        }
        let ours = |l: u32| self.greedily(&trips, &mined, l, |state| best::run(state, ranking));
        let others: [&(dyn Fn() -> Trips + Sync); 3] =
            [&|| ours(l), &|| self.published(&trips, &mined, l, ranking), &|| {
                self.whole(&trips, ranking, Work::new(CHEAP_FALLBACK))
            }];
        let every = others.par_iter().map(|run| run()).chain(longer.par_iter().map(|l| ours(*l)));
        // The first of those that keep most.
        let most = every.enumerate().max_by_key(|(at, trips)| (trips.n_left(), Reverse(*at)));
        Ok(most.map(|(_, most)| most).unwrap_or(trips))
    }

    fn published(&self, trips: &Trips, mined: &Mined, l: u32, ranking: &Ranking) -> Trips {
        self.greedily(trips, mined, l, |state| published::run(state, ranking))
    }

    /// Nothing is left if the steps do not suffice: another way keeps more.
    fn whole(&self, trips: &Trips, ranking: &Ranking, work: Work) -> Trips {
        let mut trips = trips.clone();
        if !whole::anonymize(&mut trips, self.settings.k.get(), ranking, work) {
            trips.numbers().for_each(|trip| trips.retain(trip, |_, _| false));
        }
        trips
    }

    fn greedily(&self, trips: &Trips, mined: &Mined, l: u32, run: impl Fn(State<'_>)) -> Trips {
        let Settings { k, max_work, .. } = &self.settings;
        let mut trips = trips.clone();
        // Checking holds nothing in memory, so it may take longer than mining.
        let checking = Work::new(max_work.saturating_mul(CHECKS_PER_CANDIDATE));
        run(State::new(&mut trips, mined.up_to(l), l, k.get(), checking));
        trips
    }

    fn too_much(&self, window: &Window, TooMuch { length }: TooMuch) -> Error {
        Error::Work {
            window: window.name(),
            what: format!("looking at every sequence of {length} doublets"),
            max_work: self.settings.max_work,
        }
    }

    /// Mines the rows once more, with code of its own. Line C of PROOF.md.
    fn recheck(&self, rows: &[Row]) -> Result<(), Error> {
        let trips: Vec<Trip<'_>> =
            rows.iter().map(|row| Trip { path: &row.path, count: row.count }).collect();
        let Settings { l, k, .. } = &self.settings;
        guarantee::lk(&trips, l.get(), u64::from(k.get()))
            .map_err(|breach| Error::Promise(breach.to_string()))
    }

    fn described(&self, rows: Vec<Row>, window: &Window) -> Draft {
        let mut post_processing = vec![
            "suppression only: counts are exact, trajectories that lost every doublet are gone"
                .to_owned(),
        ];
        if rows.is_empty() {
            post_processing.push(
                "the release is empty: nothing was left that K trajectories share".to_owned(),
            );
        }
        Draft {
            rows,
            input: PathKind::Timed,
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

/// Doublets that violate by themselves go first: no other suppression can help them, and taking them away changes
/// nothing about sequences without them.
fn without_rare(mut trips: Trips, k: u32) -> Trips {
    let (rare, is_rare) = mining::rare_doublets(&trips, k);
    if !rare.is_empty() {
        for trip in trips.numbers() {
            trips.retain(trip, |_, item| !is_rare[item as usize]);
        }
    }
    trips.regrouped()
}

impl Engine for Lk {
    fn describe(&self) -> EngineDescription {
        let Settings { l, k, variant, score, weights, max_work, .. } = &self.settings;
        let parameters = [
            ("l", l.to_string()),
            ("k", k.to_string()),
            ("variant", variant.to_string()),
            ("score", score.to_string()),
            ("weights.alpha", weights.alpha.to_string()),
            ("weights.beta", weights.beta.to_string()),
            ("weights.gamma", weights.gamma.to_string()),
            ("weights.delta", weights.delta.to_string()),
            ("max_work", max_work.to_string()),
        ];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).to_vec();
        EngineDescription { name: "lk", version: REVISION, parameters }
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

    fn check_work(&self, window: &SealedWindow) -> Result<(), Error> {
        let Settings { l, k, variant, max_work, .. } = &self.settings;
        let trips = without_rare(Trips::of(window, PathKind::Timed), k.get());
        let longest = number_of(trips.longest());
        let l = l.get().min(longest);
        let is_mined = l < longest || *variant == Variant::Published;
        if !is_mined || work::is_surely_enough(&trips, l, *max_work) {
            return Ok(());
        }
        mining::mine(&trips, l, k.get(), &mut Work::new(*max_work))
            .map(drop)
            .map_err(|too_much| self.too_much(window.window(), too_much))
    }

    fn guarantee(&self) -> Guarantee {
        let Settings { l, k, .. } = &self.settings;
        match k.get() {
            1 => Guarantee::Nothing {
                dp: false,
                why: "K = 1 asks that every trajectory is shared by itself: nothing is suppressed, and every \
                      trajectory is shown as it was."
                    .to_owned(),
            },
            k => Guarantee::Lk {
                l: l.get(),
                k,
                dp: false,
                unit: "one card's whole trajectory in one window".to_owned(),
            },
        }
    }

    fn draft(&self, window: &SealedWindow, key: &NoiseKey) -> Result<Draft, Error> {
        let trips = self
            .suppressed(Trips::of(window, PathKind::Timed), key)
            .map_err(|too_much| self.too_much(window.window(), too_much))?;
        let rows = trips.rows();
        self.recheck(&rows)?;
        Ok(self.described(rows, window.window()))
    }
}

#[cfg(test)]
mod tests;
