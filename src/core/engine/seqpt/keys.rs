//! `[engine.seqpt]`: its keys, its samples, its audit.

use std::sync::Arc;

use super::SeqPt;
use crate::declare::{Declared, Section, Values};
use crate::engine::tree::{Threshold, TreeKeys, audit_keys, built};
use crate::engine::{AuditForm, Engine, Registration, World};
use crate::model::PathKind;

/// The line of the registry.
pub const REGISTRATION: Registration = Registration {
    name: "seqpt",
    about: "noisy prefix tree without groups, to compare with (safepath-2018, 5.2)",
    is_differential: true,
    sections: || vec![Section::of::<Keys>("engine.seqpt")],
    starter: "[engine.seqpt]\n\
        height = 2                          # taps of a trip that a release can show\n",
    demo: "[engine]\nname = \"seqpt\"\nepsilon = \"4.0\"\n\n[engine.seqpt]\nheight = 2\n",
    build,
    audit: Some(&[AuditForm::new(PathKind::Timed, 2, audit_keys)]),
    proof: include_str!("PROOF.md"),
};

crate::keys! {
    /// seqpt: one flat set of candidates below every node.
    struct Keys {
        include tree: TreeKeys;
    }
}

fn build(values: &mut Values<'_>, world: Option<&World>) -> Option<Arc<dyn Engine>> {
    let (keys, world) = (Keys::read(values)?, world?);
    let params = keys.tree.params(values, world, Threshold::OwnNoise)?;
    built(values, SeqPt::new(params).map_err(|error| vec![error]), world.slots_nominal)
}
