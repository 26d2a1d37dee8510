//! `[engine.weave]`: its keys, its checks, its samples.

use std::sync::Arc;

use super::{Favour, Settings, Weave};
use crate::declare::{Declared, Section, Values};
use crate::engine::{Engine, Registration, World};
use crate::model::PathKind;

/// The line of the registry.
pub const REGISTRATION: Registration = Registration {
    name: "weave",
    about: "noisy tables of stations, flows and lengths, and synthetic trips that agree with them",
    is_differential: true,
    sections: || vec![Section::of::<Keys>("engine.weave")],
    starter: "[engine.weave]\n\
        favour = \"balanced\"                 # what a release is best at: stations | od | trips | balanced\n",
    demo: "[engine]\nname = \"weave\"\nepsilon = \"1.0\"\n\n[engine.weave]\nfavour = \"balanced\"\n",
    build,
    // Its questions are tables, not nodes: `weave/tests/audit.rs` records and replays them.
    audit: None,
    proof: include_str!("PROOF.md"),
};

crate::keys! {
    /// weave: tables that are measured, and trips that are drawn from them.
    struct Keys {
        /// what a release is best at: stations | od | trips | balanced. ε is the same
        favour: Favour = default("balanced");
        /// doublets (place and time) | sequences (places alone)
        input: PathKind = default("doublets");
    }
}

fn build(values: &mut Values<'_>, world: Option<&World>) -> Option<Arc<dyn Engine>> {
    let (keys, world) = (Keys::read(values)?, world?);
    let settings = Settings {
        epsilon: world.epsilon,
        favour: keys.favour,
        legs: world.legs,
        input: keys.input,
        max_length: world.max_length,
        stations: world.stations.clone(),
        threads: world.threads,
    };
    match Weave::new(settings, world.slots_nominal) {
        Ok(engine) => Some(Arc::new(engine)),
        Err(complaints) => {
            for (key, what) in complaints {
                values.complain_at(key, what);
            }
            None
        }
    }
}
