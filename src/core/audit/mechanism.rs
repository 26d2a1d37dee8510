//! What is audited: engines as the registry builds them, behind the same face that mutants have.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex};

use super::stage::{Card, Stage};
use serde_json::Value;

use crate::declare::Values;
use crate::engine::noise::AnyNoise;
use crate::engine::tree::{Threshold, TreeParams};
use crate::engine::{
    AuditForm, AuditInstance, AuditOutput, BrokenForm, Engine, Legs, Registration, Registry, World,
};
use crate::ledger::{AuditLedger, AuditPermit, Request};
use crate::model::{Cost, MicroEpsilon};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;

/// The noise of the n-th release of a run.
pub(super) type NoiseOf<'a, 'n> = &'a dyn Fn(u64) -> Box<dyn AnyNoise + 'n>;

/// Turns cards into rows.
pub(super) trait Mechanism: Sync {
    /// What is made of the cards once, before any noise.
    type Ready: Sync;

    /// What it claims to cost.
    fn epsilon(&self) -> MicroEpsilon;

    /// The world it lives in.
    fn stage(&self) -> &Stage;

    /// The sealed window that noise is keyed by.
    fn window<'r>(&self, ready: &'r Self::Ready) -> &'r SealedWindow;

    /// Seals the cards.
    fn ready(&self, cards: &[Card]) -> Self::Ready;

    /// Makes its releases, usually one; `key(n)` is the key of the n-th.
    fn released(&self, ready: &Self::Ready, key: &dyn Fn(u64) -> NoiseKey) -> Vec<AuditOutput>;

    /// The same under noise that writes every question down; `None` if it asks its questions in another way.
    fn recorded(&self, ready: &Self::Ready, noise: NoiseOf<'_, '_>) -> Option<Vec<AuditOutput>>;
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

    /// Noisy counts of a tiny world at most.
    pub(super) const MAX_NODES: u64 = 10_000;

    pub(super) const fn new(height: u32, micro: u64) -> Self {
        Self { height, epsilon: MicroEpsilon::new(micro) }
    }

    /// For an engine that a registry builds. As low as a threshold can be: whatever noise hides is hidden by nothing
    /// else.
    pub(super) fn audit_instance(self, stage: &Stage) -> AuditInstance {
        AuditInstance {
            height: self.height,
            threshold: Some(1),
            max_nodes: Self::MAX_NODES,
            n_stations: stage.stations.len(),
            n_slots: stage.window.n_slots(),
        }
    }

    /// For a mutant, which is made of a tree's parts.
    pub(super) fn params(self, stage: &Stage) -> TreeParams {
        TreeParams {
            epsilon: self.epsilon,
            height: NonZeroU32::new(self.height).expect("a height of at least 1"),
            threshold: Threshold::Fixed(1),
            max_nodes: Self::MAX_NODES,
            max_length: stage.max_length,
            stations: stage.stations.clone(),
        }
    }
}

/// One form of one engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form<'a> {
    pub(super) engine: &'a Registration,
    pub(super) form: &'a AuditForm,
}

impl<'a> Form<'a> {
    /// Every form of every engine that can be audited.
    pub(super) fn all(registry: &'a Registry) -> Vec<Self> {
        let of = |engine: &'a Registration| {
            engine.audit.unwrap_or_default().iter().map(move |form| Form { engine, form })
        };
        registry.iter().flat_map(of).collect()
    }

    /// The smallest world in which it can be caught.
    pub(super) fn tiny_stage(self, height: u32) -> Stage {
        let height = NonZeroU32::new(height).expect("a height of at least 1");
        Stage::new(self.form.n_stations, 1, height)
    }

    /// Builds the engine as the configuration would.
    pub(super) fn build(
        self,
        stage: Stage,
        epsilon: MicroEpsilon,
        instance: &AuditInstance,
    ) -> Audited {
        Audited::new(self.engine, stage, epsilon, &(self.form.keys)(instance))
    }
}

/// A true engine on its stage.
pub(super) struct Audited {
    stage: Stage,
    engine: Arc<dyn Engine>,
    ledger: Mutex<AuditLedger>,
}

impl Audited {
    /// An engine with these keys of its own; all others have their defaults.
    pub(super) fn new(
        registration: &Registration,
        stage: Stage,
        epsilon: MicroEpsilon,
        keys: &Value,
    ) -> Self {
        let world = world(&stage, epsilon);
        let mut complaints = Vec::new();
        let path = format!("engine.{}", registration.name);
        let mut values = Values::new(&path, keys.as_object(), &mut complaints);
        let engine = (registration.build)(&mut values, Some(&world));
        // A complaint beside a built engine is about its usefulness (noise would fill the tree), not about its
        // guarantee.
        let engine = engine.unwrap_or_else(|| {
            panic!("A-4: an engine's own audit keys build it: {keys} {complaints:?}")
        });
        Self { stage, engine, ledger: Mutex::default() }
    }
}

impl Mechanism for Audited {
    type Ready = SealedWindow;

    fn epsilon(&self) -> MicroEpsilon {
        self.engine.price().epsilon()
    }

    fn stage(&self) -> &Stage {
        &self.stage
    }

    fn window<'r>(&self, ready: &'r SealedWindow) -> &'r SealedWindow {
        ready
    }

    fn ready(&self, cards: &[Card]) -> SealedWindow {
        self.stage.seal(cards)
    }

    fn released(&self, ready: &SealedWindow, key: &dyn Fn(u64) -> NoiseKey) -> Vec<AuditOutput> {
        // Faster than a whole draft, where the engine can give it.
        let recorded = match self.engine.recorded(ready, &key(0)) {
            Some(recorded) => recorded,
            None => self.engine.draft(ready, &key(0)).map(|draft| draft.rows.into()),
        };
        let recorded = recorded.expect("the window has the slots the engine was built for");
        vec![AuditOutput::new(permit(&self.ledger, ready, self.engine.price()), recorded)]
    }

    fn recorded(&self, ready: &SealedWindow, noise: NoiseOf<'_, '_>) -> Option<Vec<AuditOutput>> {
        let recorded = self.engine.recorded(ready, &*noise(0))?;
        let recorded = recorded.expect("the window has the slots the engine was built for");
        Some(vec![AuditOutput::new(permit(&self.ledger, ready, self.engine.price()), recorded)])
    }
}

/// A form that is broken in a way of its own, in a world where every question is asked.
pub(super) struct Broken<'a> {
    pub(super) form: &'a BrokenForm,
    stage: Stage,
    epsilon: MicroEpsilon,
    ledger: Mutex<AuditLedger>,
}

impl<'a> Broken<'a> {
    /// Taps of a card that count in the world of a broken form.
    pub(super) const LENGTH: NonZeroU32 = NonZeroU32::new(11).expect("not 0");

    /// The world of a broken form.
    pub(super) fn stage() -> Stage {
        Stage::new(5, 12, Self::LENGTH)
    }

    /// All that these forms have.
    pub(super) fn all(forms: &[Form<'a>]) -> Vec<Self> {
        let of = |form: &Form<'a>| {
            let epsilon = form.form.least_epsilon;
            form.form.broken.iter().map(move |broken| Broken {
                form: broken,
                stage: Self::stage(),
                epsilon,
                ledger: Mutex::default(),
            })
        };
        forms.iter().flat_map(of).collect()
    }
}

impl Mechanism for Broken<'_> {
    type Ready = SealedWindow;

    fn epsilon(&self) -> MicroEpsilon {
        self.epsilon
    }

    fn stage(&self) -> &Stage {
        &self.stage
    }

    fn window<'r>(&self, ready: &'r SealedWindow) -> &'r SealedWindow {
        ready
    }

    fn ready(&self, cards: &[Card]) -> SealedWindow {
        self.stage.seal(cards)
    }

    fn released(&self, ready: &SealedWindow, key: &dyn Fn(u64) -> NoiseKey) -> Vec<AuditOutput> {
        self.recorded(ready, &|n| Box::new(key(n))).unwrap_or_default()
    }

    fn recorded(&self, ready: &SealedWindow, noise: NoiseOf<'_, '_>) -> Option<Vec<AuditOutput>> {
        let recorded = (self.form.recorded)(&world(&self.stage, self.epsilon), ready, &*noise(0));
        let permit = permit(&self.ledger, ready, Cost::differential(self.epsilon));
        Some(vec![AuditOutput::new(permit, recorded)])
    }
}

/// What an engine is built for on this stage.
fn world(stage: &Stage, epsilon: MicroEpsilon) -> World {
    World {
        epsilon,
        max_length: stage.max_length,
        slots_nominal: stage.window.n_slots(),
        stations: stage.stations.clone(),
        legs: Legs::Next,
        longest_secs: None,
        threads: NonZeroUsize::MIN,
    }
}

/// Books an audit run of this window.
pub(super) fn permit(
    ledger: &Mutex<AuditLedger>,
    window: &SealedWindow,
    cost: Cost,
) -> AuditPermit {
    let request =
        Request::of_nobody(window.window().clone(), *window.mac(), Stage::configuration(), cost);
    ledger.lock().expect("nobody panics while booking").reserve(&request)
}
