//! The engine: settings checked once, windows turned into releases.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use super::measure::measure;
use super::plan::{KnownLengths, Plan, Split, Terms, WHOLE, scale};
use super::tables::Name;
use super::weights::UNIT;
use super::{Favour, Legs, Shape, recorded, woven};
use crate::engine::noise::{AnyNoise, Scale};
use crate::engine::{
    Draft, Engine, EngineDescription, Error, ExpectedError, Figure, Forecast, Guarantee, Recorded,
    ShareFact, UniverseFacts,
};
use crate::model::{Cost, Digest, MicroEpsilon, PathKind, Stations, Window};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;

/// Changes whenever the same input could give other output. Part of the configuration digest.
pub const REVISION: u32 = 2;

/// Below this, noise alone would make up millions of cards.
const LEAST_EPSILON: MicroEpsilon = MicroEpsilon::new(1_000);

/// What the engine is built from. Checked by [`Weave::new`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// ε of one release.
    pub epsilon: MicroEpsilon,
    /// What a release should be best at.
    pub favour: Favour,
    /// How legs are made of taps.
    pub legs: Legs,
    /// A leg that takes longer, in seconds, is no leg; as far as slots can tell.
    pub longest_secs: Option<NonZeroU32>,
    /// Places with times, or places alone.
    pub input: PathKind,
    /// How many doublets of a card count.
    pub max_length: NonZeroU32,
    /// The public stations.
    pub stations: Arc<Stations>,
    /// Threads; never changes the result.
    pub threads: NonZeroUsize,
}

/// The engine. Cannot be built wrong.
#[derive(Debug)]
pub struct Weave {
    settings: Settings,
}

impl Weave {
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
        if settings.max_length.get() as usize > Shape::LONGEST {
            let what = format!(
                "is {}, but weave looks at {} doublets of a card at most",
                settings.max_length,
                Shape::LONGEST
            );
            complaints.push(("window.max_length", what));
        }
        let weave = Self { settings };
        complaints.extend(weave.too_large(slots_nominal).map(|what| ("window.slot", what)));
        if complaints.is_empty() { Ok(weave) } else { Err(complaints) }
    }

    /// Why a window of so many slots does not fit into memory, if it does not.
    fn too_large(&self, n_slots: u32) -> Option<String> {
        let stations = self.settings.stations.len();
        let slots = self.slots(n_slots);
        let doublets = u64::from(stations) * u64::from(slots);
        (doublets > Shape::MOST_DOUBLETS).then(|| {
            format!(
                "{stations} stations and {slots} slots make {doublets} doublets, more than the {} that weave holds in \
                 memory; use a longer window.slot or a shorter window.length",
                Shape::MOST_DOUBLETS
            )
        })
    }

    /// How many slots the engine sees.
    fn slots(&self, n_slots: u32) -> u32 {
        match self.settings.input {
            PathKind::Timed => n_slots,
            PathKind::Untimed => 1,
        }
    }

    pub(super) fn terms(&self, n_slots: u32, slot_secs: i64) -> Terms {
        const DAY_SECS: i64 = 86_400;
        let settings = &self.settings;
        let slots = self.slots(n_slots);
        let day = u32::try_from(DAY_SECS / slot_secs.max(1)).unwrap_or(1);
        let longest = settings.max_length.get();
        Terms {
            shape: Shape::new(settings.stations.len(), slots, day, longest),
            epsilon: settings.epsilon,
            favour: settings.favour,
            legs: settings.legs,
            longest: self.longest_leg(slots, slot_secs),
        }
    }

    /// The slots between two taps of a leg at most; `None` if no step of the window takes longer.
    fn longest_leg(&self, slots: u32, slot_secs: i64) -> Option<u32> {
        let slot_secs = u32::try_from(slot_secs).unwrap_or(u32::MAX).max(1);
        let longest = self.settings.longest_secs?.get().div_ceil(slot_secs);
        (longest < slots - 1).then_some(longest)
    }

    fn described(&self, window: &Window, plan: &Plan) -> Draft {
        let settings = &self.settings;
        Draft {
            rows: Vec::new(),
            input: settings.input,
            guarantee: self.guarantee(),
            engine: self.describe(),
            shares: shares(plan),
            universe: UniverseFacts {
                stations_sha256: settings.stations.digest(),
                taxonomy_sha256: Digest::of(b"no taxonomy"),
                slots: window.n_slots(),
            },
            post_processing: post_processing(plan),
            expected_error: Some(expected_error(plan)),
            tables: None,
            reading: super::reading::reading(),
        }
    }
}

/// What was done after the noise, and what a window of so few cards cannot say.
fn post_processing(plan: &Plan) -> Vec<String> {
    let mut done = vec![
        "estimates by empirical Bayes from the noisy tables",
        "synthetic trips drawn from the estimates and improved until their tables agree; no row is anybody's",
    ];
    if !plan.asks(Name::Occupancy) {
        done.push(
            "too few cards for stations by slots: totals by station and by slot were measured, cells are their product",
        );
    }
    match plan.asks(Name::Pairs) {
        true => done.push(
            "flows are medians: rare ones are left out, and sums over flows are a little low",
        ),
        false if plan.shape().stations > 1 => {
            done.push("too few cards for flows between stations: none were measured, and trips say nothing about them");
        }
        false => {}
    }
    done.into_iter().map(str::to_owned).collect()
}

/// Every table that is asked, with its share, the scale of its noise in cards, and its threshold.
fn shares(plan: &Plan) -> Vec<ShareFact> {
    let fact = |name: Name| {
        let sparse = name == Name::Loops;
        ShareFact {
            class: name.in_words().to_owned(),
            share: reduced(plan.split.of(name).into(), WHOLE.into()),
            scale: in_cards(plan.scale(name)),
            threshold: if sparse { plan.threshold().div_ceil(UNIT.into()) } else { 0 },
        }
    };
    Name::ALL.into_iter().filter(|&name| plan.asks(name)).map(fact).collect()
}

/// What error to expect in a cell of stations by slots, and below which sparse cells are missing.
fn expected_error(plan: &Plan) -> ExpectedError {
    let (table, about) = match plan.asks(Name::Occupancy) {
        true => (
            Name::Occupancy,
            "standard deviation of the noise on the cards of one station in one slot",
        ),
        false => (
            Name::Places,
            "standard deviation of the noise on the cards of one station over the window; there are too few cards to \
             say more",
        ),
    };
    let cell = plan.scale(table).approximately() / f64::from(UNIT);
    let threshold = if plan.asks(Name::Loops) { plan.threshold() / u64::from(UNIT) } else { 0 };
    let figure = |name, value, about| Figure { name, value, about };
    ExpectedError {
        figures: vec![
            figure(ExpectedError::DEVIATION, cell * std::f64::consts::SQRT_2, about),
            figure(
                ExpectedError::LIKELY_KEPT,
                threshold as f64,
                "a rare cell with fewer cards is more likely missing than not",
            ),
        ],
    }
}

fn reduced(num: u64, den: u64) -> String {
    let ratio = num_rational::Ratio::new(num, den);
    format!("{}/{}", ratio.numer(), ratio.denom())
}

/// A scale in units as a fraction of cards.
fn in_cards(scale: Scale) -> String {
    let ratio = num_rational::Ratio::new(
        u128::from(scale.num()),
        u128::from(scale.den()) * u128::from(UNIT),
    );
    format!("{}/{}", ratio.numer(), ratio.denom())
}

impl Engine for Weave {
    fn describe(&self) -> EngineDescription {
        let settings = &self.settings;
        let parameters = [
            ("epsilon", settings.epsilon.to_string()),
            ("favour", settings.favour.to_string()),
            ("trips.from", settings.legs.to_string()),
            (
                "input",
                match settings.input {
                    PathKind::Timed => "doublets".to_owned(),
                    PathKind::Untimed => "sequences".to_owned(),
                },
            ),
            ("max_length", settings.max_length.to_string()),
            (
                "trips.longest",
                settings.longest_secs.map_or("none".to_owned(), |secs| format!("{secs}s")),
            ),
        ];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).into();
        EngineDescription { name: "weave", version: REVISION, parameters }
    }

    /// The shares for a window of so many cards with four taps each: the true ones follow from noisy answers.
    fn forecast(&self, n_slots: u32, n_cards: u64) -> Forecast {
        let n_cards = n_cards.clamp(1, 1 << 26);
        let terms = self.terms(n_slots, 3_600);
        let split = Split::new(&terms, n_cards);
        let mut lengths = vec![0; terms.shape.longest as usize];
        let usual = lengths.len().min(4) - 1;
        lengths[usual] = n_cards as i64 * i64::from(UNIT);
        let scale = scale(terms.epsilon, split.of(Name::Lengths).max(1), NonZeroU32::MIN);
        let plan =
            Plan::new(terms, split, &KnownLengths { cards: n_cards, noisy: &lengths, scale });
        Forecast {
            shares_of: "every table that is measured, with its share of epsilon, for a window of about so many cards (--cards)",
            shares: shares(&plan),
            expected_error: Some(expected_error(&plan)),
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

    fn keeps_kinds(&self) -> bool {
        self.settings.legs == Legs::Kinds
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::differential(self.settings.epsilon, self.settings.max_length)
    }

    fn recorded(
        &self,
        window: &SealedWindow,
        noise: &dyn AnyNoise,
    ) -> Option<Result<Recorded, Error>> {
        let fits = self.check_window(window.window());
        let terms = self.terms(window.window().n_slots(), window.window().slot_secs());
        let answers = || measure(window.trajectories(), terms, noise, self.settings.threads);
        Some(fits.map(|()| recorded(&answers())))
    }

    fn draft(&self, window: &SealedWindow, key: &NoiseKey) -> Result<Draft, Error> {
        self.check_window(window.window())?;
        let threads = self.settings.threads;
        let terms = self.terms(window.window().n_slots(), window.window().slot_secs());
        let answers = measure(window.trajectories(), terms, key, threads);
        let (synthetic, tables) = woven(&answers, key, threads);
        let mut draft = self.described(window.window(), &answers.plan);
        draft.rows = synthetic.rows(terms.shape);
        draft.tables = Some(tables);
        Ok(draft)
    }
}
