//! `[engine.ngram]`: its keys, its checks, its samples, its audit.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{NGram, Settings, mutants};
use crate::declare::{Declared, Positive, Section, Values, Whole};
use crate::engine::{AuditForm, AuditInstance, BrokenForm, Engine, Registration, World};
use crate::model::{MicroEpsilon, PathKind};

/// The line of the registry.
pub const REGISTRATION: Registration = Registration {
    name: "ngram",
    about: "noisy n-grams of stations, and synthetic trips that follow them (Chen, Ács, Castelluccia 2012)",
    is_differential: true,
    sections: || vec![Section::of::<Keys>("engine.ngram")],
    starter: "[engine.ngram]\n\
        longest = 5                         # stations in a row that are counted together, at most\n",
    demo: "[engine]\nname = \"ngram\"\nepsilon = \"1.0\"\n\n[engine.ngram]\nlongest = 5\n",
    build,
    audit: Some(&[
        form(PathKind::Untimed, |one| audit_keys(one, "sequences"), mutants::ALL),
        form(PathKind::Timed, |one| audit_keys(one, "doublets"), &[]),
    ]),
    proof: include_str!("PROOF.md"),
};

/// How one kind of input is audited: at ε from 1 on, because with less ε the answers that an auditor gives would mean
/// millions of cards.
const fn form(
    kind: PathKind,
    keys: fn(&AuditInstance) -> Value,
    broken: &'static [BrokenForm],
) -> AuditForm {
    let least_epsilon = MicroEpsilon::new(1_000_000);
    let (sampled_less, compared_less) = (50, 4);
    AuditForm { kind, n_stations: 2, keys, least_epsilon, sampled_less, compared_less, broken }
}

crate::keys! {
    /// ngram: frequent runs of stations, and trips that follow them.
    struct Keys {
        /// symbols of the longest n-gram; the beginning and the end of a trip are symbols
        longest: Positive<32> = default(5);
        /// doublets (place and time) | sequences (places alone)
        input: PathKind = default("sequences");
        /// noisy n-grams; beyond it no more are told, in a fixed order, and ε stays spent
        max_nodes: Whole<1, 1_073_741_824> = default(4_000_000);
    }
}

fn audit_keys(instance: &AuditInstance, input: &str) -> Value {
    json!({ "longest": instance.height + 1, "input": input, "max_nodes": instance.max_nodes })
}

fn build(values: &mut Values<'_>, world: Option<&World>) -> Option<Arc<dyn Engine>> {
    let (keys, world) = (Keys::read(values)?, world?);
    let settings = Settings {
        epsilon: world.epsilon,
        longest: keys.longest.get(),
        max_nodes: keys.max_nodes.get(),
        input: keys.input,
        max_length: world.max_length,
        stations: world.stations.clone(),
    };
    match NGram::new(settings, world.slots_nominal) {
        Ok(engine) => Some(Arc::new(engine)),
        Err(complaints) => {
            for (key, what) in complaints {
                values.complain_at(key, what);
            }
            None
        }
    }
}
