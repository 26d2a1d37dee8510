//! What is audited: the engines as they are, behind the same face that mutants have.

use std::num::NonZeroU32;
use std::sync::Mutex;

use super::stage::{Card, Stage};
use super::statistical::Sampling;
use crate::engine::hybrid::{self, Groups, Hybrid};
use crate::engine::noise::NoiseSource;
use crate::engine::safepath::{self, Allocation, SafePath};
use crate::engine::seqpt::SeqPt;
use crate::engine::tree::{Basics, Places, Recipe, Shape, Threshold, Times, rehearse};
use crate::engine::{AuditOutput, Engine};
use crate::ledger::{AuditPermit, RehearsalLedger, Request};
use crate::model::{Cost, Input, MicroEpsilon};
use crate::seal::SealedWindow;

/// Turns cards into rows under any noise.
pub(super) trait Mechanism: Sync {
    /// What is made of the cards once, before any noise.
    type Ready: Sync;

    /// What it claims to cost.
    fn epsilon(&self) -> MicroEpsilon;

    /// The world it lives in.
    fn stage(&self) -> &Stage;

    /// Seals the cards.
    fn ready(&self, cards: &[Card]) -> Self::Ready;

    /// Makes its releases, usually one; `noise(n)` is the noise of the n-th.
    fn run<S: NoiseSource>(
        &self,
        ready: &Self::Ready,
        noise: &impl Fn(u64) -> S,
    ) -> Vec<AuditOutput>;
}

/// What a statistical audit runs with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Instance {
    pub(super) height: u32,
    pub(super) epsilon: MicroEpsilon,
}

impl Instance {
    /// Those that true engines are looked at with; the mutants have theirs among them, or their own.
    pub(super) const ALL: &[Self] =
        &[Self::new(2, 2_000_000), Self::new(1, 1_000_000), Self::new(3, 1_000_000)];

    pub(super) const fn new(height: u32, micro: u64) -> Self {
        Self { height, epsilon: MicroEpsilon::new(micro) }
    }

    pub(super) fn basics(self, stage: &Stage) -> Basics {
        Basics {
            epsilon: self.epsilon,
            height: NonZeroU32::new(self.height).expect("a height of at least 1"),
            // As low as a threshold can be: whatever noise hides is hidden by nothing else.
            threshold: Threshold::Fixed(1),
            max_nodes: 10_000,
            max_length: stage.max_length,
            stations: stage.stations.clone(),
        }
    }
}

/// Every engine in every form it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    SafePath,
    Hybrid(Input),
    Simple(Input),
    SeqPt,
}

impl Form {
    pub(super) const ALL: &[Self] = &[
        Self::SafePath,
        Self::Hybrid(Input::Doublets),
        Self::Hybrid(Input::Sequences),
        Self::Simple(Input::Doublets),
        Self::Simple(Input::Sequences),
        Self::SeqPt,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SafePath => "safepath",
            Self::Hybrid(_) => "hybrid",
            Self::Simple(_) => "simple",
            Self::SeqPt => "seqpt",
        }
    }

    pub(super) fn input(self) -> Input {
        match self {
            Self::Hybrid(input) | Self::Simple(input) => input,
            Self::SafePath | Self::SeqPt => Input::Doublets,
        }
    }

    /// Builds the engine and hands it on.
    pub(super) fn visit<V: Visitor>(self, stage: Stage, basics: Basics, visitor: V) -> V::Seen {
        match self {
            Self::SafePath => {
                let n_slots = stage.window.n_slots();
                let halves = |n| if n > 3 { Shape { fanout: 2, height: 1 } } else { NO_GROUPS };
                let settings = safepath::Settings {
                    places: Places::Balanced(halves(stage.stations.len())),
                    times: Times::Balanced(halves(n_slots)),
                    allocation: Allocation::Even,
                    basics,
                };
                let engine = SafePath::new(settings, n_slots).expect("even shares always fit");
                visitor.see(&Audited::new(stage, engine))
            }
            Self::Hybrid(input) => {
                let groups = Some(Groups { places: Places::Lines, fanout: 3 });
                let settings = hybrid::Settings { basics, input, groups };
                let engine = Hybrid::new(settings).expect("a fan-out of 3 fits");
                visitor.see(&Audited::new(stage, engine))
            }
            Self::Simple(input) => {
                let settings = hybrid::Settings { basics, input, groups: None };
                let engine = Hybrid::new(settings).expect("no groups always fit");
                visitor.see(&Audited::new(stage, engine))
            }
            Self::SeqPt => {
                let engine = SeqPt::new(basics).expect("no groups always fit");
                visitor.see(&Audited::new(stage, engine))
            }
        }
    }
}

const NO_GROUPS: Shape = Shape { fanout: 2, height: 0 };

/// Something to do with a mechanism, whatever it is.
pub(super) trait Visitor {
    type Seen;

    fn see<M: Mechanism>(self, mechanism: &M) -> Self::Seen;
}

/// A true engine on its stage.
pub(super) struct Audited<R> {
    stage: Stage,
    engine: R,
    ledger: Mutex<RehearsalLedger>,
}

impl<R: Recipe> Audited<R> {
    fn new(stage: Stage, engine: R) -> Self {
        Self { stage, engine, ledger: Mutex::default() }
    }
}

impl<R: Recipe> Mechanism for Audited<R> {
    type Ready = SealedWindow;

    fn epsilon(&self) -> MicroEpsilon {
        self.engine.price().epsilon()
    }

    fn stage(&self) -> &Stage {
        &self.stage
    }

    fn ready(&self, cards: &[Card]) -> SealedWindow {
        self.stage.seal(cards)
    }

    fn run<S: NoiseSource>(
        &self,
        ready: &SealedWindow,
        noise: &impl Fn(u64) -> S,
    ) -> Vec<AuditOutput> {
        let permit = permit(&self.ledger, ready, self.engine.price());
        let output = rehearse(&self.engine, ready, permit, &noise(0));
        vec![output.expect("the window has the slots the engine was built for")]
    }
}

/// Books a rehearsal of this window.
pub(super) fn permit(
    ledger: &Mutex<RehearsalLedger>,
    window: &SealedWindow,
    cost: Cost,
) -> AuditPermit {
    let request = Request {
        window: window.window().clone(),
        batch: *window.mac(),
        configuration: Stage::configuration(),
        cost,
    };
    ledger.lock().expect("nobody panics while booking").reserve(&request)
}

/// The smallest world: two stations (one line of three for groups) and one slot.
pub(super) fn tiny_stage(form: Form, height: u32) -> Stage {
    let n_stations = if matches!(form, Form::Hybrid(_)) { 3 } else { 2 };
    Stage::new(n_stations, 1, NonZeroU32::new(height).expect("a height of at least 1"))
}

/// The lower bound on what a form of an engine spends in the smallest world.
pub(super) fn with_tiny(form: Form, instance: Instance, sampling: &Sampling) -> f64 {
    struct Bound<'a>(&'a Sampling);
    impl Visitor for Bound<'_> {
        type Seen = f64;
        fn see<M: Mechanism>(self, mechanism: &M) -> f64 {
            self.0.lower_bound(mechanism)
        }
    }
    let stage = tiny_stage(form, instance.height);
    let basics = instance.basics(&stage);
    form.visit(stage, basics, Bound(sampling))
}

pub(super) fn in_words(input: Input) -> &'static str {
    match input {
        Input::Doublets => "doublets",
        Input::Sequences => "sequences",
    }
}
