//! Which engines there are. An engine is one folder and one line of [`STANDARD`].

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use serde_json::Value;

use super::noise::AnyNoise;
use super::{Engine, Legs, Recorded, dptd, hybrid, lk, ngram, projection, safepath, seqpt, weave};
use crate::declare::{Section, Values};
use crate::model::{MicroEpsilon, PathKind, Stations};
use crate::seal::SealedWindow;

/// Every engine of this program, the default first.
pub const STANDARD: &[Registration] = &[
    weave::REGISTRATION,
    safepath::REGISTRATION,
    hybrid::REGISTRATION,
    hybrid::SIMPLE,
    seqpt::REGISTRATION,
    ngram::REGISTRATION,
    dptd::REGISTRATION,
    lk::REGISTRATION,
    projection::REGISTRATION,
];

/// The engine of a configuration that names none.
pub const DEFAULT: &str = STANDARD[0].name;

/// Builds an engine from its keys. Without a world only the keys are read.
pub type Build = fn(&mut Values<'_>, Option<&World>) -> Option<Arc<dyn Engine>>;

/// What the program knows about an engine before it is configured.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// Its name in the configuration.
    pub name: &'static str,
    /// One line for the table of engines.
    pub about: &'static str,
    /// Whether it adds noise and costs ε.
    pub is_differential: bool,
    /// The keys of `[engine.<name>]` and of the sections below it.
    pub sections: fn() -> Vec<Section>,
    /// The lines of `[engine.<name>]` that `init` writes.
    pub starter: &'static str,
    /// The lines of `[engine]` and `[engine.<name>]` that `demo` writes.
    pub demo: &'static str,
    /// Builds it from its keys; all complaints at once. Without a world only the keys are read.
    pub build: Build,
    /// How it is audited; `None` where it promises no differential privacy.
    pub audit: Option<&'static [AuditForm]>,
    /// Its proof, for whoever signs.
    pub proof: &'static str,
}

/// What an engine is built for, besides its own keys.
#[derive(Clone, Debug)]
pub struct World {
    /// ε of one release, for engines that add noise.
    pub epsilon: MicroEpsilon,
    /// How many doublets of a card count.
    pub max_length: NonZeroU32,
    /// How many slots a window usually has.
    pub slots_nominal: u32,
    /// The public stations.
    pub stations: Arc<Stations>,
    /// How legs are made of one card's taps.
    pub legs: Legs,
    /// A leg that takes longer is no leg: seconds (`trips.longest`); `None`: however long it takes.
    pub longest_secs: Option<NonZeroU32>,
    /// Threads that may be used; they never change a result.
    pub threads: NonZeroUsize,
}

/// One form of an engine that the auditor looks at.
#[derive(Clone, Copy, Debug)]
pub struct AuditForm {
    /// Whether its paths carry times.
    pub kind: PathKind,
    /// Stations of the smallest world in which it can be caught.
    pub n_stations: u32,
    /// Its keys for one instance.
    pub keys: fn(&AuditInstance) -> Value,
    /// The smallest ε that its configuration accepts, or with which an audit ends in time.
    pub least_epsilon: MicroEpsilon,
    /// By how much fewer releases are sampled, for an engine that takes longer than a tree of two stations.
    pub sampled_less: u64,
    /// By how much fewer neighbouring windows are compared, for the same reason.
    pub compared_less: u64,
    /// The same form broken on purpose in ways of its own.
    pub broken: &'static [BrokenForm],
}

impl AuditForm {
    /// A form with these keys, at any ε, without broken forms of its own.
    pub const fn new(kind: PathKind, n_stations: u32, keys: fn(&AuditInstance) -> Value) -> Self {
        let least_epsilon = MicroEpsilon::new(1);
        Self {
            kind,
            n_stations,
            keys,
            least_epsilon,
            sampled_less: 1,
            compared_less: 1,
            broken: &[],
        }
    }
}

/// A form that is broken on purpose: what is wrong, and what it would publish of a window.
#[derive(Clone, Copy, Debug)]
pub struct BrokenForm {
    /// What was done to it.
    pub about: &'static str,
    /// What comes out under any source of noise.
    pub recorded: fn(&World, &SealedWindow, &dyn AnyNoise) -> Recorded,
}

impl BrokenForm {
    /// What is wrong, and what it would publish.
    pub const fn new(
        about: &'static str,
        recorded: fn(&World, &SealedWindow, &dyn AnyNoise) -> Recorded,
    ) -> Self {
        Self { about, recorded }
    }
}

/// What an auditor varies.
#[derive(Clone, Copy, Debug)]
pub struct AuditInstance {
    /// Taps that a path can show.
    pub height: u32,
    /// The smallest noisy count that is kept; `None`: what the engine usually takes.
    pub threshold: Option<u64>,
    /// Most noisy counts.
    pub max_nodes: u64,
    /// Stations of the world.
    pub n_stations: u32,
    /// Slots of the window.
    pub n_slots: u32,
}

impl AuditInstance {
    /// The id of a station of an auditor's world.
    pub fn station(number: u32) -> String {
        format!("s{number:03}")
    }

    /// A taxonomy as somebody might write one: a third of these leaves in no group, a third in a group, and a third one
    /// group deeper. Leaves of a third follow each other.
    fn uneven(leaves: &[String]) -> String {
        let (one, two) = (leaves.len().div_ceil(3), (leaves.len() * 2).div_ceil(3));
        let mut text = "id,parent\n".to_owned();
        let mut add = |name: &str, parent: &str| text.push_str(&format!("{name},{parent}\n"));
        if one < leaves.len() {
            add("outer", "");
        }
        if two < leaves.len() {
            add("inner", "outer");
        }
        leaves[..one].iter().for_each(|leaf| add(leaf, ""));
        leaves[one..two].iter().for_each(|leaf| add(leaf, "outer"));
        leaves[two..].iter().for_each(|leaf| add(leaf, "inner"));
        text
    }

    /// An uneven taxonomy of its stations.
    pub fn uneven_places(&self) -> String {
        Self::uneven(&(0..self.n_stations).map(Self::station).collect::<Vec<_>>())
    }

    /// An uneven taxonomy of its slots.
    pub fn uneven_times(&self) -> String {
        Self::uneven(&(0..self.n_slots).map(|slot| slot.to_string()).collect::<Vec<_>>())
    }
}

/// The engines a program knows.
#[derive(Clone, Debug)]
pub struct Registry(Vec<Registration>);

impl Registry {
    /// Those of this program.
    pub fn standard() -> Self {
        Self(STANDARD.to_vec())
    }

    /// One more.
    #[must_use]
    pub fn with(mut self, registration: Registration) -> Self {
        self.0.push(registration);
        self
    }

    /// The same with another default.
    ///
    /// # Panics
    /// If there is no engine of this name.
    #[must_use]
    pub fn with_default(mut self, name: &str) -> Self {
        let at = self.0.iter().position(|engine| engine.name == name).expect("a registered engine");
        self.0[..=at].rotate_right(1);
        self
    }

    /// The engine of a configuration that names none.
    pub fn default_name(&self) -> &'static str {
        self.0.first().map_or(DEFAULT, |engine| engine.name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Registration> {
        self.0.iter()
    }

    /// The engine of this name.
    pub fn find(&self, name: &str) -> Option<&Registration> {
        self.iter().find(|registration| registration.name == name)
    }

    /// Their names.
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(|registration| registration.name).collect()
    }
}
