//! The engine: settings checked once, windows turned into releases.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::grow::grow;
use super::model::Model;
use super::plan::{Clip, Terms, UNIT, Universe, scale};
use super::{reading, synthesis};
use crate::engine::noise::{AnyNoise, Scale};
use crate::engine::{
    Draft, Engine, EngineDescription, Error, ExpectedError, Figure, Forecast, Guarantee, Recorded,
    ShareFact, UniverseFacts,
};
use crate::model::{Cost, Digest, MicroEpsilon, PathKind, Stations, Window};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;

/// Changes whenever the same input could give other output. Part of the configuration digest.
pub const REVISION: u32 = 1;

/// Below this, noise alone would make up millions of cards.
const LEAST_EPSILON: MicroEpsilon = MicroEpsilon::new(1_000);

/// Taps of a card that it looks at, at most.
const LONGEST_TRIP: u32 = 1_000;

/// What the engine is built from. Checked by [`NGram::new`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// ε of one release.
    pub epsilon: MicroEpsilon,
    /// Symbols of the longest n-gram.
    pub longest: NonZeroU32,
    /// Noisy n-grams in all.
    pub max_nodes: u64,
    /// Places with times, or places alone.
    pub input: PathKind,
    /// How many doublets of a card count.
    pub max_length: NonZeroU32,
    /// The public stations.
    pub stations: Arc<Stations>,
}

/// The engine. Cannot be built wrong.
#[derive(Debug)]
pub struct NGram {
    settings: Settings,
}

impl NGram {
    /// Checks the settings against the usual number of slots; all complaints at once.
    pub fn new(
        settings: Settings,
        slots_nominal: u32,
    ) -> Result<Self, Vec<(&'static str, String)>> {
        let mut complaints = Vec::new();
        if settings.epsilon < LEAST_EPSILON {
            let what = format!(
                "is {}, less than {LEAST_EPSILON}: noise alone would make up millions of cards",
                settings.epsilon
            );
            complaints.push(("engine.epsilon", what));
        }
        if settings.max_length.get() > LONGEST_TRIP {
            let what = format!(
                "is {}, but ngram looks at {LONGEST_TRIP} doublets of a card at most",
                settings.max_length
            );
            complaints.push(("window.max_length", what));
        }
        let engine = Self { settings };
        complaints.extend(engine.too_large(slots_nominal).map(|what| ("window.slot", what)));
        if complaints.is_empty() { Ok(engine) } else { Err(complaints) }
    }

    /// Why the symbols of a window of so many slots have no numbers, if they have none.
    fn too_large(&self, n_slots: u32) -> Option<String> {
        let Universe { stations, slots } = self.universe(n_slots);
        let symbols = u64::from(stations) * u64::from(slots);
        (symbols > Universe::MOST).then(|| {
            format!(
                "{stations} stations and {slots} slots make {symbols} doublets, more than the {} that ngram can tell \
                 apart; use a longer window.slot, or engine.ngram.input = \"sequences\"",
                Universe::MOST
            )
        })
    }

    fn universe(&self, n_slots: u32) -> Universe {
        let slots = match self.settings.input {
            PathKind::Timed => n_slots.max(1),
            PathKind::Untimed => 1,
        };
        Universe { stations: self.settings.stations.len(), slots }
    }

    pub(super) fn terms(&self, n_slots: u32) -> Terms {
        let settings = &self.settings;
        Terms {
            universe: self.universe(n_slots),
            epsilon: settings.epsilon,
            max_length: settings.max_length,
            longest: settings.longest.get(),
            max_nodes: settings.max_nodes,
        }
    }

    fn described(&self, window: &Window, clip: Clip) -> Draft {
        let (settings, terms) = (&self.settings, self.terms(window.n_slots()));
        Draft {
            rows: Vec::new(),
            input: settings.input,
            guarantee: self.guarantee(),
            engine: self.describe(),
            shares: shares(&terms, clip),
            universe: UniverseFacts {
                stations_sha256: settings.stations.digest(),
                taxonomy_sha256: Digest::of(b"no taxonomy"),
                slots: window.n_slots(),
            },
            post_processing: [
                "continuations of an n-gram lowered evenly until they add up to no more than it",
                "synthetic trips that follow the longest known n-gram; no row is anybody's",
            ]
            .map(str::to_owned)
            .into(),
            expected_error: Some(expected_error(&terms, clip)),
            tables: None,
            reading: reading::reading(),
        }
    }
}

/// What would be published, for an auditor: the dice are always the same, so that answers alone make a difference.
pub(super) fn recorded(model: &Model) -> Recorded {
    synthesis::rows(model, &NoiseKey::for_test(0)).into()
}

/// The numbers of taps, and all n-grams of a path together; scales are in cards.
fn shares(terms: &Terms, clip: Clip) -> Vec<ShareFact> {
    let (first, rest) = (terms.first_share(), terms.gram_share());
    let whole = u128::from(first) + u128::from(rest);
    let fact = |class: &str, share: u64, scale: Scale, unit: u64| ShareFact {
        class: class.to_owned(),
        share: fraction(share.into(), whole),
        scale: fraction(scale.num().into(), u128::from(scale.den()) * u128::from(unit)),
        threshold: 0,
    };
    vec![
        fact("cards by number of taps", first, scale(1, first), 1),
        fact("all n-grams that one start follows", rest, clip.scale(rest), UNIT),
    ]
}

fn fraction(num: u128, den: u128) -> String {
    let ratio = num_rational::Ratio::new(num, den.max(1));
    format!("{}/{}", ratio.numer(), ratio.denom())
}

/// What error to expect of a pair of stations, if two levels share the budget.
fn expected_error(terms: &Terms, clip: Clip) -> ExpectedError {
    let levels = u64::from(terms.longest.min(2));
    let cards = clip.scale(terms.gram_share() / levels).approximately() / UNIT as f64;
    let n_after = terms.universe.n_after(Some(0));
    let figure = |name, value, about| Figure { name, value, about };
    ExpectedError {
        figures: vec![
            figure(
                ExpectedError::DEVIATION,
                (cards * std::f64::consts::SQRT_2 * 10.0).round() / 10.0,
                "standard deviation of the noise on one run of two stations, if two levels share the budget",
            ),
            figure(
                ExpectedError::LIKELY_KEPT,
                (cards * f64::from(n_after.ilog2() + 1) * 0.7).ceil(),
                "a run of stations that fewer cards made is more likely lost in noise than not",
            ),
        ],
    }
}

impl Engine for NGram {
    fn describe(&self) -> EngineDescription {
        let settings = &self.settings;
        let input = match settings.input {
            PathKind::Timed => "doublets",
            PathKind::Untimed => "sequences",
        };
        let parameters = [
            ("epsilon", settings.epsilon.to_string()),
            ("longest", settings.longest.to_string()),
            ("max_nodes", settings.max_nodes.to_string()),
            ("max_length", settings.max_length.to_string()),
            ("input", input.to_owned()),
        ];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).into();
        EngineDescription { name: "ngram", version: REVISION, parameters }
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::differential(self.settings.epsilon, self.settings.max_length)
    }

    /// For cards with four taps: the true clip follows from noisy answers.
    fn forecast(&self, n_slots: u32, _: u64) -> Forecast {
        const USUAL_STARTS: u32 = 5;
        let terms = self.terms(n_slots);
        let clip = Clip(USUAL_STARTS.min(terms.max_length.get() + 1));
        Forecast {
            shares_of: "what is measured, with its share of epsilon, if nearly all cards have four taps or fewer",
            shares: shares(&terms, clip),
            expected_error: Some(expected_error(&terms, clip)),
            warnings: Vec::new(),
        }
    }

    fn price(&self) -> Cost {
        Cost::differential(self.settings.epsilon)
    }

    fn check_window(&self, window: &Window) -> Result<(), Error> {
        let complain = |complaint| Error::Configuration { window: window.name(), complaint };
        self.too_large(window.n_slots()).map_or(Ok(()), |complaint| Err(complain(complaint)))
    }

    fn draft(&self, window: &SealedWindow, key: &NoiseKey) -> Result<Draft, Error> {
        self.check_window(window.window())?;
        let model = grow(window.trajectories(), self.terms(window.window().n_slots()), key);
        let mut draft = self.described(window.window(), model.clip);
        draft.rows = synthesis::rows(&model, key);
        Ok(draft)
    }

    fn recorded(
        &self,
        window: &SealedWindow,
        noise: &dyn AnyNoise,
    ) -> Option<Result<Recorded, Error>> {
        let fits = self.check_window(window.window());
        let terms = self.terms(window.window().n_slots());
        Some(fits.map(|()| recorded(&grow(window.trajectories(), terms, noise))))
    }
}
