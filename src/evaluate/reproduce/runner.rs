//! Runs an engine on data so often as noise asks for, and keeps the means.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Instant;

use serde_json::Value;
use tapveil_core::evaluate::trial;

use super::data::{Data, SEED, Wish};
use super::exhibit::{Cell, Wanted};
use crate::city;
use crate::declare::Values;
use crate::engine::{Engine, Legs, Registry, World};
use crate::evaluate::{Score, Watch};
use crate::model::MicroEpsilon;

/// Noisy engines are run so often; figures are means.
const SEEDS: u64 = 3;
/// Taps of a card that an engine is told of where nothing is cut.
const USUAL_LENGTH: NonZeroU32 = NonZeroU32::new(12).expect("twelve is not zero");

/// How large everything is.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Cards of a city at most; `None`: as many as the paper has.
    pub cards: Option<u64>,
    /// Count queries of each of the 32 kinds.
    pub n_queries: u32,
}

/// Makes data and runs engines.
pub(super) struct Runner<'a> {
    registry: &'a Registry,
    pub(super) scale: Scale,
    watch: &'a dyn Watch,
}

/// What came out of a run.
pub(super) enum Tried {
    /// Mean figures, mean seconds, mean number of rows.
    Done { score: Score, seconds: f64, rows: f64 },
    /// The program does not do this, and says why.
    Refused(String),
}

impl Tried {
    /// Why it was not run.
    pub(super) fn refusal(&self) -> Option<&str> {
        match self {
            Self::Refused(reason) => Some(reason),
            Self::Done { .. } => None,
        }
    }

    /// One cell of it.
    pub(super) fn cell(&self, wanted: Wanted) -> Cell {
        let Self::Done { score, seconds, rows } = self else { return Cell::Nothing };
        match wanted {
            Wanted::Figure(id) => score.get(id).map_or(Cell::Nothing, Cell::Figure),
            Wanted::Count(id) => score.get(id).map_or(Cell::Nothing, Cell::Count),
            Wanted::Seconds => Cell::Seconds(*seconds),
            Wanted::Rows => Cell::Count(rows.round()),
        }
    }
}

impl<'a> Runner<'a> {
    pub(super) fn new(registry: &'a Registry, scale: Scale, watch: &'a dyn Watch) -> Self {
        Self { registry, scale, watch }
    }

    /// Says what is next.
    pub(super) fn say(&self, what: &str) {
        self.watch.next(what);
    }

    /// So many cards, or as many as are asked for.
    pub(super) fn cards(&self, of_paper: u64) -> u64 {
        self.scale.cards.map_or(of_paper, |most| most.min(of_paper))
    }

    /// A city.
    pub(super) fn data(&self, wish: Wish) -> Result<Data, city::Error> {
        self.say(&format!("a city: {}", wish.preset.name()));
        Data::new(wish, self.scale.cards, self.scale.n_queries)
    }

    /// What publishing nothing scores.
    pub(super) fn nothing(&self, data: &Data) -> Tried {
        Tried::Done { score: data.judge.nothing(), seconds: 0.0, rows: 0.0 }
    }

    /// Runs an engine that adds noise with these keys of its section.
    pub(super) fn noisy(&self, data: &Data, engine: &str, epsilon: &str, keys: &Value) -> Tried {
        self.say(&format!("{engine} at epsilon {epsilon}, {keys}"));
        match MicroEpsilon::parse(epsilon) {
            Ok(price) => self.tried(data, engine, price, keys, SEEDS),
            Err(error) => Tried::Refused(error.to_string()),
        }
    }

    /// Runs an engine that suppresses.
    pub(super) fn suppressing(&self, data: &Data, engine: &str, keys: &Value) -> Tried {
        self.say(&format!("{engine}, {keys}"));
        self.tried(data, engine, MicroEpsilon::new(1_000_000), keys, 1)
    }

    fn tried(
        &self,
        data: &Data,
        name: &str,
        epsilon: MicroEpsilon,
        keys: &Value,
        n_seeds: u64,
    ) -> Tried {
        let engine = match self.built(data, name, epsilon, keys) {
            Ok(engine) => engine,
            Err(reason) => return Tried::Refused(reason),
        };
        if let Err(error) = engine.check_window(data.sealed.window()) {
            return Tried::Refused(error.to_string());
        }
        let (mut scores, mut seconds, mut rows) = (Vec::new(), 0.0, 0.0);
        for number in 0..n_seeds {
            let start = Instant::now();
            let said = match trial(engine.as_ref(), &data.sealed, SEED, number) {
                Ok(said) => said,
                Err(error) => return Tried::Refused(error.to_string()),
            };
            seconds += start.elapsed().as_secs_f64();
            rows += said.rows.len() as f64;
            scores.push(data.judge.release(&said));
        }
        let n = n_seeds as f64;
        Tried::Done { score: Score::mean(&scores), seconds: seconds / n, rows: rows / n }
    }

    /// An engine as the configuration would build it. What `check` complains about is not run.
    fn built(
        &self,
        data: &Data,
        name: &str,
        epsilon: MicroEpsilon,
        keys: &Value,
    ) -> Result<std::sync::Arc<dyn Engine>, String> {
        let known = self.registry.find(name).ok_or_else(|| format!("{name} is not here"))?;
        let world = World {
            epsilon,
            max_length: data.max_length.unwrap_or(USUAL_LENGTH),
            slots_nominal: data.n_slots(),
            stations: data.stations.clone(),
            legs: Legs::Next,
            longest_secs: None,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        };
        let mut complaints = Vec::new();
        let path = format!("engine.{name}");
        let mut values = Values::new(&path, keys.as_object(), &mut complaints);
        let engine = (known.build)(&mut values, Some(&world));
        match (engine, complaints.first()) {
            (Some(engine), None) => Ok(engine),
            (_, Some(complaint)) => Err(format!("{} {}", complaint.key, complaint.what)),
            (None, None) => Err(format!("{name} cannot be built from {keys}")),
        }
    }
}
