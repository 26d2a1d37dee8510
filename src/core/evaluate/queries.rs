//! Count queries: how many cards contain this? Ordered doublets as safepath-2018 asks, station sets as stm-hybrid-2012
//! (Definition 3.4) asks; drawn uniformly from the universe, as both papers do, and from the data.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::cells::Cells;
use super::index::{Answers, Index};
use super::journeys::{Code, Journeys};
use super::{Score, Shape, Terms};
use crate::model::{PathKind, Stations, Window};

/// The height that query lengths are fractions of, where trajectories have no bound: the papers' own.
const USUAL_HEIGHT: u64 = 12;

/// What a query is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Doublets in order.
    Doublets,
    /// Stations in any order.
    Stations,
}

/// Where a query comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The universe: nearly every true answer is nothing.
    Uniform,
    /// A card: every true answer is at least one.
    Drawn,
}

/// How long a query is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Length {
    Exactly(u64),
    /// Uniform between 1 and this many quarters of the height.
    Quarters(u64),
}

/// Queries of one kind.
#[derive(Clone)]
pub(super) struct Family {
    pub(super) form: Form,
    pub(super) origin: Origin,
    pub(super) length: Length,
    pub(super) queries: Vec<Vec<Code>>,
}

impl Family {
    /// Its metric's id.
    pub(super) fn id(&self) -> String {
        let form = match self.form {
            Form::Doublets => "doublets",
            Form::Stations => "sets",
        };
        let origin = match self.origin {
            Origin::Uniform => "uniform",
            Origin::Drawn => "drawn",
        };
        match self.length {
            Length::Exactly(n) => format!("queries.{form}.{origin}.{n}"),
            Length::Quarters(n) => format!("queries.{form}.{origin}.h{n}"),
        }
    }

    /// The average relative error, counts below the bound taken for the bound.
    fn error(truth: &[f64], said: &[f64], bound: f64) -> Option<f64> {
        let error = |(a, b): (&f64, &f64)| (a - b).abs() / a.max(bound);
        let sum: f64 = truth.iter().zip(said).map(error).sum();
        (!truth.is_empty() && bound > 0.0).then(|| sum / truth.len() as f64)
    }
}

/// Every query that is asked.
#[derive(Clone)]
pub(super) struct Questions {
    pub(super) families: Vec<Family>,
    /// What lengths are fractions of.
    pub(super) height: u64,
}

/// A query in words. Those drawn from the data are pieces of raw trips: private.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct SavedQuery {
    /// The metric that it belongs to.
    pub metric: String,
    /// Stations, or stations with slots, as paths are written.
    pub query: String,
}

impl Questions {
    /// Draws all of them; the same seed and window give the same.
    pub(super) fn draw(shape: Shape, terms: &Terms, journeys: &Journeys) -> Self {
        let height = terms.max_length.map_or(USUAL_HEIGHT, |most| most.get().into());
        let lengths = (1..=4).map(Length::Exactly).chain((1..=4).map(Length::Quarters));
        let lengths: Vec<Length> = lengths.collect();
        let sets = journeys.station_sets(shape);
        let mut families = Vec::new();
        for form in [Form::Doublets, Form::Stations] {
            for origin in [Origin::Uniform, Origin::Drawn] {
                for &length in &lengths {
                    families.push(Family { form, origin, length, queries: Vec::new() });
                }
            }
        }
        for (number, family) in (0_u64..).zip(&mut families) {
            let source = if family.form == Form::Doublets { journeys } else { &sets };
            let mut drawing = Drawing { rng: generator(terms.seed, number), shape, height };
            family.queries = match family.origin {
                Origin::Uniform => drawing.uniform(family.form, family.length, terms.n_queries),
                Origin::Drawn => drawing.drawn(source, family.length, terms.n_queries),
            };
        }
        Self { families, height }
    }

    /// Asks trips everything; `None` where they have no times to be asked for.
    pub(super) fn ask(&self, shape: Shape, journeys: &Journeys, kind: PathKind) -> Answers {
        let timed = (kind == PathKind::Timed).then(|| Index::ordered(journeys.clone()));
        let sets = Index::sets(journeys.station_sets(shape));
        let ask = |family: &Family| match family.form {
            Form::Doublets => timed.as_ref().map(|index| index.answer(&family.queries)),
            Form::Stations => Some(sets.answer(&family.queries)),
        };
        self.families.iter().map(ask).collect()
    }

    /// The errors of answers.
    pub(super) fn score(&self, truth: &Answers, said: &Answers, bound: f64, score: &mut Score) {
        for ((family, truth), said) in self.families.iter().zip(truth).zip(said) {
            if let (Some(truth), Some(said)) = (truth, said) {
                score.set(&family.id(), Family::error(truth, said, bound));
            }
        }
    }

    /// A table of stations by slots answers queries of one doublet, and no other.
    pub(super) fn score_by_cells(
        &self,
        truth: &Answers,
        cells: &Cells,
        bound: f64,
        score: &mut Score,
    ) {
        let is_single =
            |family: &&Family| family.form == Form::Doublets && family.length == Length::Exactly(1);
        for (family, truth) in self.families.iter().zip(truth).filter(|(f, _)| is_single(f)) {
            let said: Vec<f64> = family.queries.iter().map(|query| cells.get(query[0])).collect();
            let truth = truth.as_deref().unwrap_or_default();
            score.set(&family.id(), Family::error(truth, &said, bound));
        }
    }

    /// All of them as text.
    pub(super) fn spelled(
        &self,
        shape: Shape,
        window: &Window,
        stations: &Stations,
    ) -> Vec<SavedQuery> {
        let id = |station: u64| {
            let ix = crate::model::StationIx(u32::try_from(station).unwrap_or(u32::MAX));
            stations.get(ix).id.clone()
        };
        let slot = |slot: u64| window.slot_label(u32::try_from(slot).unwrap_or(u32::MAX));
        let mut saved = Vec::new();
        for family in &self.families {
            for query in &family.queries {
                let spell = |&code: &Code| match family.form {
                    Form::Doublets => {
                        format!("{}@{}", id(code / shape.slots), slot(code % shape.slots))
                    }
                    Form::Stations => id(code),
                };
                let spelled: Vec<String> = query.iter().map(spell).collect();
                saved.push(SavedQuery { metric: family.id(), query: spelled.join(">") });
            }
        }
        saved
    }
}

/// A generator of its own for each use of a seed.
pub(super) fn generator(seed: u64, usage: u64) -> ChaCha8Rng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&usage.to_le_bytes());
    ChaCha8Rng::from_seed(bytes)
}

/// A number below a bound; the bound is at least 1.
pub(super) fn below(rng: &mut ChaCha8Rng, bound: u64) -> u64 {
    let wide = u128::from(rng.next_u64()) * u128::from(bound.max(1));
    u64::try_from(wide >> 64).unwrap_or(0)
}

/// So many different positions of a list, in order.
pub(super) fn positions(rng: &mut ChaCha8Rng, length: usize, n: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..length).collect();
    for at in 0..n.min(length) {
        let other = at + below(rng, (length - at) as u64) as usize;
        all.swap(at, other);
    }
    all.truncate(n);
    all.sort_unstable();
    all
}

struct Drawing {
    rng: ChaCha8Rng,
    shape: Shape,
    height: u64,
}

impl Drawing {
    fn length(&mut self, length: Length) -> u64 {
        match length {
            Length::Exactly(n) => n,
            Length::Quarters(n) => 1 + below(&mut self.rng, (n * self.height / 4).max(1)),
        }
    }

    fn uniform(&mut self, form: Form, length: Length, n: u32) -> Vec<Vec<Code>> {
        let Shape { stations, slots, .. } = self.shape;
        let mut queries = Vec::new();
        for _ in 0..n {
            let most = if form == Form::Stations { stations } else { u64::MAX };
            let wanted = self.length(length).min(most);
            let mut query: Vec<Code> = Vec::new();
            while (query.len() as u64) < wanted {
                let station = below(&mut self.rng, stations);
                match form {
                    Form::Doublets => query.push(station * slots + below(&mut self.rng, slots)),
                    Form::Stations if query.contains(&station) => {}
                    Form::Stations => query.push(station),
                }
            }
            match form {
                // In the order of time: another one could never occur.
                Form::Doublets => query.sort_by_key(|code| (code % slots, code / slots)),
                Form::Stations => query.sort_unstable(),
            }
            queries.push(query);
        }
        queries
    }

    /// Pieces of trips of random cards. A card whose trip is too short is passed over.
    fn drawn(&mut self, source: &Journeys, length: Length, n: u32) -> Vec<Vec<Code>> {
        const TRIES: u64 = 200;
        let upto = source.running_counts();
        let mut queries = Vec::new();
        for _ in 0..u64::from(n) * TRIES {
            if queries.len() == n as usize || source.total() == 0 {
                break;
            }
            let trip = source.of_card(&upto, below(&mut self.rng, source.total()));
            let wanted = usize::try_from(self.length(length)).unwrap_or(usize::MAX);
            let wanted = match length {
                Length::Exactly(_) if trip.len() < wanted => continue,
                _ => wanted.min(trip.len()),
            };
            let taken = positions(&mut self.rng, trip.len(), wanted);
            queries.push(taken.into_iter().map(|at| trip[at]).collect());
        }
        queries
    }
}
