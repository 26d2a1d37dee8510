//! DPTD (Cai et al. 2022): stations near each other in a slot are taken together, every second layer of a prefix tree
//! gets noise, the layers between follow from transition probabilities.
//!
//! In → out: a sealed window → consistent noisy counts of paths over clusters of stations.
//! Promises: G-1 ε-differential privacy for one card in one window; in the variant `published` nothing.
//! Refuses: stations without coordinates, a window of too many stations and slots; nothing by its data.
//! Why: `PROOF.md` beside this file.
#![doc = include_str!("PROOF.md")]

mod cells;
mod keys;
mod mutants;
mod places;
mod published;
mod sound;
mod squares;
mod terms;

pub use keys::REGISTRATION;

use std::num::NonZeroU32;
use std::sync::Arc;

use rand_chacha::rand_core::Rng;

use super::noise::{AnyNoise, stream};
use super::{
    Draft, Engine, EngineDescription, Error, ExpectedError, Figure, Forecast, Guarantee, Reading,
    Recorded, Row, UniverseFacts,
};
use crate::model::{Cost, Digest, MicroEpsilon, PathKind, Portion, Stations, Window};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;
use places::Plane;
use terms::Terms;

/// Changes whenever the same input could give other output. Part of the configuration digest.
pub const REVISION: u32 = 1;

/// Stations times slots at most: the histogram is held whole.
const MOST_CELLS: u64 = 20_000_000;

/// The stream that the published variant chooses locations from.
const LOCATIONS: u32 = 1 << 17;

crate::words! {
    /// Which DPTD.
    pub enum Variant {
        /// Ours: what the paper reads off the data is paid for.
        Sound = "sound",
        /// As printed. Protects nobody.
        Published = "published",
    }
}

/// What the engine is built from. Checked by [`Dptd::new`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// ε of one release.
    pub epsilon: MicroEpsilon,
    /// Which of the two.
    pub variant: Variant,
    /// Layers of the tree.
    pub height: NonZeroU32,
    /// How far apart neighbours are, in metres.
    pub radius: NonZeroU32,
    /// How many taps of a slot within the radius make a core.
    pub least: u64,
    /// Share of ε for the histogram that clusters are made of.
    pub clusters: Portion,
    /// Share of ε for moves to even layers.
    pub moves: Portion,
    /// The smallest noisy count that is kept; `None`: by the noise and the number of candidates.
    pub threshold: Option<u64>,
    /// Nodes at most.
    pub max_nodes: u64,
    /// How many doublets of a card count; for the words of the guarantee.
    pub max_length: NonZeroU32,
    /// The public stations.
    pub stations: Arc<Stations>,
}

/// The engine. Cannot be built wrong.
#[derive(Debug)]
pub struct Dptd {
    settings: Settings,
    plane: Plane,
    terms: Terms,
}

impl Dptd {
    /// All complaints at once: a key of the engine and what is wrong with it.
    pub fn new(settings: Settings) -> Result<Self, Vec<(&'static str, String)>> {
        let mut complaints = Vec::new();
        let plane = Plane::new(&settings.stations, settings.radius.get());
        if let Err(without) = &plane {
            let shown: Vec<&str> = without.iter().take(5).map(String::as_str).collect();
            complaints.push((
                "name",
                format!(
                    "needs lat and lon of every station; {} of {} have none: {}{}",
                    without.len(),
                    settings.stations.len(),
                    shown.join(", "),
                    if without.len() > shown.len() { ", …" } else { "" }
                ),
            ));
        }
        let shares = u64::from(settings.clusters.micro()) + u64::from(settings.moves.micro());
        if shares >= 1_000_000 || settings.clusters.micro() == 0 || settings.moves.micro() == 0 {
            let what = "shares.clusters and shares.moves are above 0 and leave something of 1 for the tree";
            complaints.push(("shares", what.to_owned()));
            return Err(complaints);
        }
        let terms = Terms::new(&settings);
        if terms.is_none() {
            complaints.push(("height", "leaves too little of epsilon for every layer".to_owned()));
        }
        match (plane, terms) {
            (Ok(plane), Some(terms)) => Ok(Self { settings, plane, terms }),
            _ => Err(complaints),
        }
    }

    fn rows(
        &self,
        window: &SealedWindow,
        noise: &dyn AnyNoise,
        pick: &dyn Fn(u32, usize) -> usize,
    ) -> Vec<Row> {
        let Self { settings, plane, terms } = self;
        let (cards, n_slots) = (window.trajectories(), window.window().n_slots());
        match settings.variant {
            Variant::Sound => sound::released(settings, plane, terms, cards, n_slots, noise),
            Variant::Published => published::released(settings, plane, cards, n_slots, noise, pick),
        }
    }

    fn expected_error(&self, n_slots: u32) -> ExpectedError {
        let facts = self.terms.facts(&self.settings, n_slots);
        let figure = |name, value, about| Figure { name, value, about };
        ExpectedError {
            figures: vec![
                figure(
                    ExpectedError::DEVIATION,
                    self.terms.deviation(),
                    "standard deviation of the noise on one path's count",
                ),
                figure(
                    ExpectedError::LIKELY_KEPT,
                    facts.last().map_or(1.0, |share| share.threshold as f64),
                    "a path with fewer passengers is more likely missing than not, if every station is a cluster",
                ),
            ],
        }
    }

    fn made(&self) -> Vec<String> {
        let (radius, least) = (self.settings.radius, self.settings.least);
        match self.settings.variant {
            Variant::Sound => vec![
                format!(
                    "stations are taken together, slot by slot, where noisy counts within {radius} m reach {least}; one \
                     public station stands for each cluster"
                ),
                "layers 1, 3, 5 … have noise of their own; layers 2, 4, 6 … are the layer before times noisy \
                 transition shares"
                    .to_owned(),
                "least squares: children that sum to more than their node are averaged with it, then fitted under it; \
                 whole numbers"
                    .to_owned(),
            ],
            Variant::Published => vec![
                "as printed in the paper: clusters, quadtree, transition shares and nodes come from the raw taps; only \
                 layers 1, 3, 5 … have noise"
                    .to_owned(),
                format!("cards with fewer than {} taps are dropped, others cut to that", self.settings.height),
            ],
        }
    }
}

impl Engine for Dptd {
    fn describe(&self) -> EngineDescription {
        let one = &self.settings;
        let threshold =
            one.threshold.map_or("by noise and candidates".to_owned(), |n| n.to_string());
        let parameters = [
            ("epsilon", one.epsilon.to_string()),
            ("variant", one.variant.to_string()),
            ("height", one.height.to_string()),
            ("radius", one.radius.to_string()),
            ("min_taps", one.least.to_string()),
            ("shares.clusters", one.clusters.to_string()),
            ("shares.moves", one.moves.to_string()),
            ("threshold", threshold),
            ("max_nodes", one.max_nodes.to_string()),
            ("max_length", one.max_length.to_string()),
        ];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).to_vec();
        EngineDescription { name: "dptd", version: REVISION, parameters }
    }

    fn guarantee(&self) -> Guarantee {
        match self.settings.variant {
            Variant::Sound => Guarantee::differential(self.settings.epsilon, self.settings.max_length),
            Variant::Published => Guarantee::Nothing {
                dp: false,
                why: "DPTD as published adds noise to every second layer only; clusters, the nodes that exist and the \
                      layers between come from the raw taps, so that a path that one card alone took is shown or not \
                      with that card."
                    .to_owned(),
            },
        }
    }

    fn forecast(&self, n_slots: u32, _: u64) -> Forecast {
        if self.settings.variant == Variant::Published {
            return Forecast::default();
        }
        Forecast {
            shares_of: "every kind of question, with its share of epsilon",
            shares: self.terms.facts(&self.settings, n_slots),
            expected_error: Some(self.expected_error(n_slots)),
            warnings: Vec::new(),
        }
    }

    fn price(&self) -> Cost {
        match self.settings.variant {
            Variant::Sound => Cost::differential(self.settings.epsilon),
            Variant::Published => Cost::syntactic(),
        }
    }

    fn check_window(&self, window: &Window) -> Result<(), Error> {
        let cells = u64::from(self.settings.stations.len()) * u64::from(window.n_slots());
        match cells <= MOST_CELLS {
            true => Ok(()),
            false => Err(Error::Configuration {
                window: window.name(),
                complaint: format!(
                    "engine.dptd holds stations times slots, {cells}, of which {MOST_CELLS} fit; use longer slots"
                ),
            }),
        }
    }

    fn draft(&self, window: &SealedWindow, key: &NoiseKey) -> Result<Draft, Error> {
        self.check_window(window.window())?;
        let n_slots = window.window().n_slots();
        let pick = |slot: u32, n: usize| {
            let drawn = stream(key, LOCATIONS, slot.into()).next_u64() % n as u64;
            usize::try_from(drawn).expect("below n")
        };
        let is_sound = self.settings.variant == Variant::Sound;
        let error = self.expected_error(n_slots);
        let reading = match is_sound {
            true => Reading::noisy(&error),
            false => Reading {
                cautions: vec![
                    "This release protects nobody; it is for study. Do not pass it on.".to_owned(),
                ],
                ..Reading::noisy(&error)
            },
        };
        Ok(Draft {
            rows: self.rows(window, key, &pick),
            input: PathKind::Timed,
            guarantee: self.guarantee(),
            engine: self.describe(),
            shares: if is_sound { self.terms.facts(&self.settings, n_slots) } else { Vec::new() },
            universe: UniverseFacts {
                stations_sha256: self.settings.stations.digest(),
                taxonomy_sha256: Digest::of(b"no taxonomy"),
                slots: n_slots,
            },
            post_processing: self.made(),
            expected_error: is_sound.then_some(error),
            tables: None,
            reading,
        })
    }

    fn recorded(
        &self,
        window: &SealedWindow,
        noise: &dyn AnyNoise,
    ) -> Option<Result<Recorded, Error>> {
        let checked = self.check_window(window.window());
        Some(checked.map(|()| self.rows(window, noise, &|_, _| 0).into()))
    }
}

#[cfg(test)]
mod tests;
