//! `[engine.safepath]`: its keys, its checks, its samples, its audit.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Allocation, SafePath, Settings, largest_height};
use crate::declare::{Declared, Section, Values};
use crate::engine::tree::{Places, Shape, Threshold, Times, TreeKeys, audit_keys, built};
use crate::engine::{AuditForm, AuditInstance, Engine, Registration, World};
use crate::model::PathKind;

/// The line of the registry.
pub const REGISTRATION: Registration = Registration {
    name: "safepath",
    about: "noisy prefix tree over places and times, split down two taxonomies (safepath-2018)",
    is_differential: true,
    sections: || {
        vec![
            Section::of::<Keys>("engine.safepath"),
            Section::of::<Taxonomy>("engine.safepath.taxonomy"),
        ]
    },
    starter: "[engine.safepath]\n\
        height = 4                          # taps of a trip that a release can show\n\
        threshold = \"level-noise\"           # \"own-noise\" lets fewer false paths through, and fewer true ones\n\
        allocation = \"even\"                 # \"paper\" starves the time taxonomy where there are many slots\n\
        # taxonomy.locations = { fanout = 2, height = 3 }   # left out: halves of the station list; or \"lines\", \"flat\"\n\
        # taxonomy.times = { fanout = 2, height = 3 }       # left out: halves of the day\n",
    demo: "[engine]\nname = \"safepath\"\nepsilon = \"4.0\"\n\n[engine.safepath]\nheight = 2\nallocation = \"even\"\n\
        taxonomy.locations = { fanout = 4, height = 1 }\ntaxonomy.times = \"flat\"\n",
    build,
    audit: Some(&[
        AuditForm::new(PathKind::Timed, 2, audited),
        AuditForm::new(PathKind::Timed, 3, audited_own),
    ]),
    proof: include_str!("PROOF.md"),
};

crate::keys! {
    /// safepath: a tree whose levels are split by place, then by time.
    struct Keys {
        include tree: TreeKeys;
        /// how a level's budget is split over the depths of a taxonomy: paper | even (every depth the same share)
        allocation: Allocation = default("paper");
    }
}

crate::keys! {
    /// How places and slots are grouped.
    struct Taxonomy {
        /// { fanout, height }, the same with by = "coordinates", { file = "places.csv" } of one's own (id,parent or
        /// indented text), "lines" or "flat". Left out: fanout 2 and the largest height up to 3 that leaves budget for
        /// the leaves
        locations: Places = optional({ "fanout": 2, "height": 3 });
        /// { fanout, height }, { file = "times.csv" } of one's own (over the numbers of slots, from 0 on) or "flat".
        /// Left out: as for locations
        times: Times = optional({ "fanout": 2, "height": 3 });
    }
}

fn build(values: &mut Values<'_>, world: Option<&World>) -> Option<Arc<dyn Engine>> {
    let keys = Keys::read(values);
    let taxonomy = Taxonomy::read(&mut values.below("taxonomy"));
    let (keys, taxonomy, world) = (keys?, taxonomy?, world?);
    let params = keys.tree.params(values, world, Threshold::LevelNoise)?;
    let usual = |n_leaves| usual_shape(keys.allocation, n_leaves);
    let settings = Settings {
        places: taxonomy.locations.unwrap_or_else(|| Places::Balanced(usual(world.stations.len()))),
        times: taxonomy.times.unwrap_or_else(|| Times::Balanced(usual(world.slots_nominal))),
        allocation: keys.allocation,
        params,
    };
    built(values, SafePath::new(settings, world.slots_nominal), world.slots_nominal)
}

/// A shape that was left out: fan-out 2 and the largest height up to 3 that leaves budget for leaves.
fn usual_shape(allocation: Allocation, n_leaves: u32) -> Shape {
    let height = match allocation {
        Allocation::Paper => largest_height(n_leaves).min(3),
        Allocation::Even => 3,
    };
    Shape { fanout: 2, height }
}

fn audited(instance: &AuditInstance) -> Value {
    let halves = |n: u32| json!({ "fanout": 2, "height": u32::from(n > 3) });
    let mut keys = audit_keys(instance);
    keys["allocation"] = json!("even");
    keys["taxonomy"] =
        json!({ "locations": halves(instance.n_stations), "times": halves(instance.n_slots) });
    keys
}

/// The same over uneven taxonomies of one's own.
fn audited_own(instance: &AuditInstance) -> Value {
    let mut keys = audited(instance);
    let (places, times) = (instance.uneven_places(), instance.uneven_times());
    keys["taxonomy"] = json!({ "locations": { "text": places }, "times": { "text": times } });
    keys
}
