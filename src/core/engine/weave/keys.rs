//! `[engine.weave]`: its keys, its checks, its samples.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Favour, Settings, Weave, mutants};
use crate::declare::{Declared, Section, Values};
use crate::engine::{AuditForm, AuditInstance, BrokenForm, Engine, Registration, World};
use crate::model::{MicroEpsilon, PathKind};

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
    audit: Some(&[
        form(PathKind::Timed, |_| json!({ "input": "doublets" }), mutants::ALL),
        form(PathKind::Untimed, |_| json!({ "input": "sequences" }), &[]),
    ]),
    proof: include_str!("PROOF.md"),
};

/// How one kind of input is audited: at ε from 1 on, because with less ε the answers that an auditor gives to have
/// every table asked would mean millions of cards.
const fn form(
    kind: PathKind,
    keys: fn(&AuditInstance) -> Value,
    broken: &'static [BrokenForm],
) -> AuditForm {
    let least_epsilon = MicroEpsilon::new(1_000_000);
    let (sampled_less, compared_less) = (50, 8);
    AuditForm { kind, n_stations: 2, keys, least_epsilon, sampled_less, compared_less, broken }
}

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
        longest_secs: world.longest_secs,
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
