//! The judge: how much a release is worth beside the window it was made from, and what it gives away.
//!
//! In → out: a sealed window and what a release says → figures, each beside the same figure of doing nothing.
//! Promises: J-1 nothing that points at a person leaves: figures, shares and exact tables of a whole window only;
//!   J-2 a source that cannot answer has no figure; J-3 the same window, release and seed give the same figures.
//! Refuses: nothing; whether a release belongs to the window was checked by whoever read it.
//! Why: a figure without its baselines misleads. Publishing nothing scores 0.0001 on the papers' own queries.
//!
//! Everything that comes out was computed from raw data: it is private and never goes beside a release.
#![doc = include_str!("METRICS.md")]

mod cells;
mod coverage;
mod flowgraph;
mod histogram;
mod index;
mod journeys;
mod legs;
mod metric;
mod patterns;
mod planner;
mod queries;
pub mod risk;
mod score;
mod source;
mod space;

pub use metric::{Better, Group, Metric};
pub use queries::SavedQuery;
pub use score::Score;

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use crate::engine::{self, Draft, Engine, Legs, Row, Tables};
use crate::guarantee::Guarantee;
use crate::model::{Digest, MicroEpsilon, PathKind, Stations, TapKind, Window};
use crate::seal::SealedWindow;
use crate::secret::Secret;

use flowgraph::Flowgraph;
use index::Answers;
use journeys::Journeys;
use legs::LegRule;
use patterns::{LARGEST_K, Pattern};
use planner::Planner;
use queries::Questions;
use source::Source;
use space::Space;

/// The public terms under which a window is judged; all from configuration.
#[derive(Clone, Debug)]
pub struct Terms {
    pub stations: Arc<Stations>,
    /// How legs are made of taps.
    pub legs: Legs,
    /// A leg that takes longer is no leg: seconds; `None`: however long it takes.
    pub longest_secs: Option<NonZeroU32>,
    /// How many doublets of a card count; `None`: all of them.
    pub max_length: Option<NonZeroU32>,
    /// What queries, rectangles and samples are drawn with.
    pub seed: u64,
    /// Queries of each kind and length.
    pub n_queries: u32,
}

/// What a release says, as it was published.
#[derive(Clone, Debug)]
pub struct Said {
    /// Paths with counts.
    pub rows: Vec<Row>,
    /// Whether paths and tables have times.
    pub kind: PathKind,
    /// The tables beside the paths, where there are any.
    pub tables: Option<Tables>,
    /// Whether the engine only left doublets out: what is left can be compared with what there was.
    pub is_suppressed: bool,
}

/// The sizes that everything here is counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) stations: u64,
    pub(crate) slots: u64,
    /// Slots of a day; all of them for a window that is shorter.
    pub(crate) day: u64,
    pub(crate) legs: LegRule,
}

impl Shape {
    const DAY_SECS: i64 = 86_400;

    fn of(window: &Window, terms: &Terms) -> Self {
        let slot_secs = u64::try_from(window.slot_secs()).unwrap_or(1).max(1);
        let slots = u64::from(window.n_slots()).max(1);
        let day = u64::try_from(Self::DAY_SECS).unwrap_or(1).div_euclid(slot_secs).max(1);
        // As far as slots can tell, and only where it shuts any step out.
        let longest = terms.longest_secs.map(|secs| u64::from(secs.get()).div_ceil(slot_secs));
        let longest = longest.filter(|&longest| longest + 1 < slots);
        // Trips do not say entry and exit: where cards do, their taps are taken for entry, exit, entry, …
        let legs = LegRule { in_pairs: terms.legs != Legs::Next, longest };
        Self { stations: terms.stations.len().into(), slots, day: day.min(slots), legs }
    }
}

/// A window that releases are judged against. Looked at once, asked often.
pub struct Judge {
    shape: Shape,
    window: Window,
    terms: Terms,
    journeys: Journeys,
    /// Every leg by itself, where the cards' taps say entry and exit.
    entry_to_exit: Option<Journeys>,
    truth: Source,
    questions: Questions,
    answers: Answers,
    patterns: Vec<Pattern>,
    flowgraph: Flowgraph,
    space: Option<Space>,
    planner: Planner,
    metrics: Vec<Metric>,
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Judge({})", self.window)
    }
}

/// Every step from an entry to the card's next tap, if that is an exit, as a trip of its own.
fn entry_to_exit(shape: Shape, window: &SealedWindow) -> Journeys {
    let all = window.trajectories();
    let trip = [Some(TapKind::Entry), Some(TapKind::Exit)];
    let legs = (0..all.len()).flat_map(|ix| {
        let steps = all.get(ix).windows(2).zip(all.kinds(ix).windows(2));
        steps.filter(move |(_, kinds)| **kinds == trip).map(|(step, _)| (step, 1))
    });
    Journeys::timed(shape, legs)
}

impl Judge {
    /// Looks at the truth.
    pub fn new(window: &SealedWindow, terms: Terms) -> Self {
        let shape = Shape::of(window.window(), &terms);
        let trips = window.trajectories().iter().map(|(_, path)| (path, 1));
        let journeys = Journeys::timed(shape, trips);
        let mut truth = Source::of_journeys(shape, &journeys, PathKind::Timed);
        let entry_to_exit = (terms.legs == Legs::Kinds).then(|| entry_to_exit(shape, window));
        if let Some(legs) = &entry_to_exit {
            truth.replace_legs(shape, legs);
        }
        let questions = Questions::draw(shape, &terms, &journeys);
        let answers = questions.ask(shape, &journeys, PathKind::Timed);
        let patterns = patterns::top(&journeys.places(shape), LARGEST_K);
        let flowgraph = Flowgraph::of(&journeys);
        let space = Space::new(&terms.stations, terms.seed);
        let planner = Planner::of(shape, window.window(), &truth);
        let metrics = metric::catalogue(&questions, &planner);
        let window = window.window().clone();
        Self {
            shape,
            window,
            terms,
            journeys,
            entry_to_exit,
            truth,
            questions,
            answers,
            patterns,
            flowgraph,
            space,
            planner,
            metrics,
        }
    }

    /// The window.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Every metric, in the order in which it is shown.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Trips whose legs are the true ones.
    fn raw_legs(&self) -> &Journeys {
        self.entry_to_exit.as_ref().unwrap_or(&self.journeys)
    }

    /// Cards with at least one tap.
    pub fn n_cards(&self) -> u64 {
        self.journeys.total()
    }

    /// The smallest count that relative errors are taken of: a thousandth of the window.
    pub fn sanity_bound(&self) -> f64 {
        self.journeys.total() as f64 / 1_000.0
    }

    /// Every query that is asked, spelled out; the drawn ones are pieces of raw trips.
    pub fn saved_queries(&self) -> Vec<SavedQuery> {
        self.questions.spelled(self.shape, &self.window, &self.terms.stations)
    }

    /// The truth as tables of a release: exact, and so private. For pages that show raw beside released.
    pub fn exact_tables(&self) -> Tables {
        self.truth.as_tables(self.shape)
    }

    /// What a release says as tables: its own, or what its trips add up to.
    pub fn tables_of(&self, said: &Said) -> Tables {
        self.source_of(said, &self.journeys_of(said)).as_tables(self.shape)
    }

    fn journeys_of(&self, said: &Said) -> Journeys {
        let rows = said.rows.iter().map(|row| (row.path.as_slice(), row.count));
        Journeys::timed(self.shape, rows)
    }

    fn source_of(&self, said: &Said, journeys: &Journeys) -> Source {
        let mut source = Source::of_journeys(self.shape, journeys, said.kind);
        if let Some(tables) = &said.tables {
            source.replace_by_tables(self.shape, tables, said.kind);
        }
        source
    }

    /// What publishing nothing scores.
    pub fn nothing(&self) -> Score {
        let kind = PathKind::Timed;
        self.release(&Said { rows: Vec::new(), kind, tables: None, is_suppressed: false })
    }

    /// What plain noisy tables of this ε score: the mean over so many seeds.
    pub fn histogram(&self, epsilon: MicroEpsilon, n_seeds: NonZeroU64) -> Score {
        let sources = histogram::sources(
            self.shape,
            &self.journeys,
            self.raw_legs(),
            &self.truth,
            epsilon,
            n_seeds,
            &self.terms,
        );
        Score::mean(&sources.iter().map(|source| self.score(source)).collect::<Vec<_>>())
    }

    /// What a release scores.
    pub fn release(&self, said: &Said) -> Score {
        let journeys = self.journeys_of(said);
        let source = self.source_of(said, &journeys);
        let mut score = self.score(&source);
        self.score_trips(&journeys, said.kind, &mut score);
        if said.is_suppressed {
            journeys::score_kept(&self.journeys, &journeys, said.kind, &mut score);
        }
        if let Some(tables) = &said.tables {
            coverage::score(
                self.shape,
                self.raw_legs(),
                &self.truth,
                tables,
                said.kind,
                &mut score,
            );
        }
        score
    }

    /// Whatever tables can say.
    fn score(&self, source: &Source) -> Score {
        let mut score = Score::default();
        source.score(&self.truth, self.sanity_bound(), &mut score);
        self.planner.score(self.shape, &self.window, source, &mut score);
        if let (Some(cells), false) = (&source.occupancy, source.has_trips) {
            self.questions.score_by_cells(&self.answers, cells, self.sanity_bound(), &mut score);
        }
        score
    }

    /// Whatever needs whole trips.
    fn score_trips(&self, made: &Journeys, kind: PathKind, score: &mut Score) {
        let said = self.questions.ask(self.shape, made, kind);
        self.questions.score(&self.answers, &said, self.sanity_bound(), score);
        let places = made.places(self.shape);
        patterns::score(&self.patterns, &places, score);
        if kind == PathKind::Timed {
            score.set("flowgraph.phi", self.flowgraph.similarity(&Flowgraph::of(made)));
            let times = legs::travel_times(self.shape, made);
            let truth = legs::travel_times(self.shape, self.raw_legs());
            score.set("trips.travel_times.jsd", truth.divergence(&times));
        }
        let returning = |journeys: &Journeys| legs::returning_share(self.shape, journeys);
        let off = returning(&self.journeys).zip(returning(made)).map(|(a, b)| (a - b).abs());
        score.set("trips.returning", off);
        if let Some(space) = &self.space {
            space.score(&self.journeys.places(self.shape), &places, score);
        }
    }
}

/// What an engine would say about a window. Never published and never booked: its noise is keyed by a secret that the
/// seed makes, which no feed has.
pub fn trial(
    engine: &dyn Engine,
    window: &SealedWindow,
    seed: u64,
    number: u64,
) -> Result<Said, engine::Error> {
    engine.check_work(window)?;
    let text = format!("a trial that nobody is released by: {seed} {number}");
    let digest = Digest::of(text.as_bytes());
    let secret = Secret::from_bytes(digest.bytes()).expect("a digest has 32 bytes");
    let key = secret.noise_key(window.window().id(), window.mac(), &digest, 0);
    let Draft { rows, input, tables, guarantee, .. } = engine.draft(window, &key)?;
    let is_suppressed = matches!(guarantee, Guarantee::Lk { .. } | Guarantee::Projection { .. });
    Ok(Said { rows, kind: input, tables, is_suppressed })
}

#[cfg(test)]
mod tests;
