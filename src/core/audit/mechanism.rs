//! What is audited: the engines as they are, behind the same face that mutants have.

use std::num::NonZeroU32;
use std::sync::Mutex;

use super::stage::{Card, Stage};
use super::statistical::Sampling;
use crate::engine::hybrid::{self, Groups, Hybrid};
use crate::engine::noise::NoiseSource;
use crate::engine::safepath::{self, Allocation, SafePath};
use crate::engine::seqpt::SeqPt;
use crate::engine::tree::{
    Places, Shape, Threshold, Times, TreeMechanism, TreeParams, run_audited,
};
use crate::engine::{AuditOutput, Engine};
use crate::ledger::{AuditLedger, AuditPermit, Request};
use crate::model::{Cost, MicroEpsilon, PathKind};
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

    pub(super) fn params(self, stage: &Stage) -> TreeParams {
        TreeParams {
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
    Hybrid(PathKind),
    Simple(PathKind),
    SeqPt,
}

impl Form {
    pub(super) const ALL: &[Self] = &[
        Self::SafePath,
        Self::Hybrid(PathKind::Timed),
        Self::Hybrid(PathKind::Untimed),
        Self::Simple(PathKind::Timed),
        Self::Simple(PathKind::Untimed),
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

    pub(super) fn input(self) -> PathKind {
        match self {
            Self::Hybrid(input) | Self::Simple(input) => input,
            Self::SafePath | Self::SeqPt => PathKind::Timed,
        }
    }

    /// Builds the engine and hands it on.
    pub(super) fn visit<V: Visitor>(self, stage: Stage, params: TreeParams, visitor: V) -> V::Seen {
        match self {
            Self::SafePath => {
                let n_slots = stage.window.n_slots();
                let halves = |n| if n > 3 { Shape { fanout: 2, height: 1 } } else { NO_GROUPS };
                let settings = safepath::Settings {
                    places: Places::Balanced(halves(stage.stations.len())),
                    times: Times::Balanced(halves(n_slots)),
                    allocation: Allocation::Even,
                    params,
                };
                let engine = SafePath::new(settings, n_slots).expect("even shares always fit");
                visitor.see(&Audited::new(stage, engine))
            }
            Self::Hybrid(input) => {
                let groups = Some(Groups { places: Places::Lines, fanout: 3 });
                let settings = hybrid::Settings { params, input, groups };
                let engine = Hybrid::new(settings).expect("a fan-out of 3 fits");
                visitor.see(&Audited::new(stage, engine))
            }
            Self::Simple(input) => {
                let settings = hybrid::Settings { params, input, groups: None };
                let engine = Hybrid::new(settings).expect("no groups always fit");
                visitor.see(&Audited::new(stage, engine))
            }
            Self::SeqPt => {
                let engine = SeqPt::new(params).expect("no groups always fit");
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
    ledger: Mutex<AuditLedger>,
}

impl<R: TreeMechanism> Audited<R> {
    fn new(stage: Stage, engine: R) -> Self {
        Self { stage, engine, ledger: Mutex::default() }
    }
}

impl<R: TreeMechanism> Mechanism for Audited<R> {
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
        let output = run_audited(&self.engine, ready, permit, &noise(0));
        vec![output.expect("the window has the slots the engine was built for")]
    }
}

/// Books an audit run of this window.
pub(super) fn permit(
    ledger: &Mutex<AuditLedger>,
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
    let params = instance.params(&stage);
    form.visit(stage, params, Bound(sampling))
}

pub(super) fn in_words(input: PathKind) -> &'static str {
    match input {
        PathKind::Timed => "doublets",
        PathKind::Untimed => "sequences",
    }
}
