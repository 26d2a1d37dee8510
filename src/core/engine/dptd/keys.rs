//! `[engine.dptd]`: its keys, its checks, its samples, its audit.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Dptd, Settings, Variant, mutants};
use crate::declare::{Declared, Fraction, Positive, Section, Values, Whole};
use crate::engine::{AuditForm, AuditInstance, Engine, Registration, World};
use crate::model::{MicroEpsilon, PathKind};

/// The line of the registry.
pub const REGISTRATION: Registration = Registration {
    name: "dptd",
    about: "a noisy tree over clusters of near stations, every second layer by transition shares (dptd-2022)",
    is_differential: true,
    sections: || {
        vec![Section::of::<Keys>("engine.dptd"), Section::of::<ShareKeys>("engine.dptd.shares")]
    },
    starter: "[engine.dptd]\n\
        height = 3                          # taps of a trip that a release can show\n\
        radius = 1500                       # metres within which stations may be taken together\n",
    demo: "[engine]\nname = \"dptd\"\nepsilon = \"4.0\"\n\n[engine.dptd]\nheight = 3\nradius = 1500\n",
    build,
    audit: Some(&[AuditForm {
        kind: PathKind::Timed,
        n_stations: 2,
        keys: audit_keys,
        least_epsilon: MicroEpsilon::new(1),
        sampled_less: 20,
        compared_less: 4,
        broken: mutants::ALL,
    }]),
    proof: include_str!("PROOF.md"),
};

crate::keys! {
    /// dptd: clusters of near stations in every slot; needs lat and lon of every station.
    struct Keys {
        /// sound: ε-differentially private | published: as its paper prints it, protects nobody, for study
        variant: Variant = default("sound");
        /// taps of a trip that a release can show; at most window.max_length
        height: Positive<1_000> = default(3);
        /// metres within which stations may be taken together
        radius: Positive<1_000_000> = default(1500);
        /// taps of a slot within the radius, noisy ones, from which on a station is the core of a cluster; in published
        /// also the most locations in a leaf of the quadtree
        min_taps: Whole<1, 1_000_000_000> = default(50);
        /// smallest noisy count that is kept; left out: about half a made-up child for every node
        threshold: Whole<1, 1_000_000_000> = optional(20);
        /// noisy nodes; beyond it the tree is cut in a fixed order, and ε stays spent
        max_nodes: Whole<1, 50_000_000> = default(2_000_000);
        /// lets variant = "published" publish, which protects nobody
        allow_unsound: bool = default(false);
    }
}

crate::keys! {
    /// What of ε is spent before the tree; the rest is the tree's.
    struct ShareKeys {
        /// on the histogram that clusters are made of
        clusters: Fraction = default("0.2");
        /// on transitions to every second layer
        moves: Fraction = default("0.2");
    }
}

fn audit_keys(instance: &AuditInstance) -> Value {
    let mut keys = json!({
        "height": instance.height, "radius": 1, "min_taps": 2, "max_nodes": instance.max_nodes,
    });
    if let Some(threshold) = instance.threshold {
        keys["threshold"] = threshold.into();
    }
    keys
}

fn build(values: &mut Values<'_>, world: Option<&World>) -> Option<Arc<dyn Engine>> {
    let keys = Keys::read(values);
    let shares = ShareKeys::read(&mut values.below("shares"));
    let (keys, shares) = (keys?, shares?);
    if keys.variant == Variant::Published && !keys.allow_unsound {
        values.complain(
            "variant",
            "is \"published\": its structure comes from the raw taps, so nobody is protected. Use \"sound\", or \
             allow_unsound = true to release without any guarantee",
        );
        return None;
    }
    let world = world?;
    let (height, max_length) = (keys.height.get(), world.max_length);
    if height > max_length {
        let what =
            format!("is {height}, but window.max_length is {max_length}: no trajectory is longer");
        values.complain("height", what);
        return None;
    }
    let settings = Settings {
        epsilon: world.epsilon,
        variant: keys.variant,
        height,
        radius: keys.radius.get(),
        least: keys.min_taps.get(),
        clusters: shares.clusters.0,
        moves: shares.moves.0,
        threshold: keys.threshold.map(|threshold| threshold.get()),
        max_nodes: keys.max_nodes.get(),
        max_length,
        stations: world.stations.clone(),
    };
    match Dptd::new(settings) {
        Ok(engine) => Some(Arc::new(engine)),
        Err(complaints) => {
            for (key, what) in complaints {
                match key {
                    "name" => values.complain_at("engine.name", format_args!("dptd {what}")),
                    key => values.complain(key, what),
                }
            }
            None
        }
    }
}
