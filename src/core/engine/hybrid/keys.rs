//! `[engine.hybrid]` and `[engine.simple]`: their keys, their checks, their samples, their audit.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Groups, Hybrid, Inference, Settings};
use crate::declare::{Declared, Positive, Section, Values};
use crate::engine::tree::{Places, Shape, Threshold, TreeKeys, audit_keys, built};
use crate::engine::{AuditForm, AuditInstance, Engine, Registration, World};
use crate::model::{PathKind, Stations, Taxonomy};

/// The line of the registry.
pub const REGISTRATION: Registration = Registration {
    name: "hybrid",
    about: "noisy prefix tree split by groups of stations, then by stations (stm-hybrid-2012)",
    is_differential: true,
    sections: || {
        vec![
            Section::of::<HybridKeys>("engine.hybrid"),
            Section::of::<TaxonomyKeys>("engine.hybrid.taxonomy"),
        ]
    },
    starter: "[engine.hybrid]\n\
        height = 4                          # taps of a trip that a release can show\n\
        input = \"sequences\"                 # stations without times; doublets: with times\n",
    demo: "[engine]\nname = \"hybrid\"\nepsilon = \"4.0\"\n\n[engine.hybrid]\nheight = 3\ninput = \"sequences\"\n\
        taxonomy.locations = { fanout = 8, height = 1 }\n",
    build: hybrid,
    audit: Some(&[
        AuditForm::new(PathKind::Timed, 3, |one| grouped(one, "doublets")),
        AuditForm::new(PathKind::Untimed, 3, |one| grouped(one, "sequences")),
        AuditForm::new(PathKind::Timed, 3, |one| grouped_own(one, "doublets")),
    ]),
    proof: include_str!("PROOF.md"),
};

/// The line of the registry for the tree without groups.
pub const SIMPLE: Registration = Registration {
    name: "simple",
    about: "hybrid without groups, its baseline",
    is_differential: true,
    sections: || vec![Section::of::<Keys>("engine.simple")],
    starter: "[engine.simple]\n\
        height = 4                          # taps of a trip that a release can show\n\
        input = \"sequences\"                 # stations without times; doublets: with times\n",
    demo: "[engine]\nname = \"simple\"\nepsilon = \"4.0\"\n\n[engine.simple]\nheight = 2\ninput = \"sequences\"\n",
    build: simple,
    audit: Some(&[
        AuditForm::new(PathKind::Timed, 2, |one| plain(one, "doublets")),
        AuditForm::new(PathKind::Untimed, 2, |one| plain(one, "sequences")),
    ]),
    proof: include_str!("PROOF.md"),
};

crate::keys! {
    /// hybrid, and simple without groups.
    struct Keys {
        include tree: TreeKeys;
        /// doublets (place and time) | sequences (places alone)
        input: PathKind = default("doublets");
    }
}

crate::keys! {
    /// hybrid: a tree whose levels are split by groups of stations, then by stations.
    struct HybridKeys {
        include common: Keys;
        /// which noisy counts are made consistent: without-groups (those of stations alone, as in the paper) |
        /// kept-groups (those of groups too, its footnote 3)
        inference: Inference = default("without-groups");
    }
}

crate::keys! {
    /// How stations are grouped.
    struct TaxonomyKeys {
        /// { fanout, height }, the same with by = "coordinates", { file = "places.csv" } of one's own (id,parent or
        /// indented text) or "lines". Left out: "lines" if a line has three stations or more on average, else about as
        /// many groups as members
        locations: Places = optional("lines");
        /// groups get 2/fanout of a level; 3 or more. Left out: the table's own, with "lines" the stations that a line
        /// has on average, with a file the members that a group has on average, but at least 3
        fanout: Positive<4_294_967_295> = optional(12);
    }
}

fn hybrid(values: &mut Values<'_>, world: Option<&World>) -> Option<Arc<dyn Engine>> {
    let keys = HybridKeys::read(values);
    let taxonomy = TaxonomyKeys::read(&mut values.below("taxonomy"));
    let (keys, taxonomy, world) = (keys?, taxonomy?, world?);
    let HybridKeys { common: Keys { tree, input }, inference } = keys;
    let params = tree.params(values, world, Threshold::OwnNoise);
    let groups = groups(&mut values.below("taxonomy"), &taxonomy, &world.stations);
    let settings = Settings { params: params?, input, groups: Some(groups?), inference };
    built(values, Hybrid::new(settings), world.slots_nominal)
}

fn simple(values: &mut Values<'_>, world: Option<&World>) -> Option<Arc<dyn Engine>> {
    let (keys, world) = (Keys::read(values)?, world?);
    let settings = Settings {
        params: keys.tree.params(values, world, Threshold::OwnNoise)?,
        input: keys.input,
        groups: None,
        inference: Inference::WithoutGroups,
    };
    built(values, Hybrid::new(settings), world.slots_nominal)
}

const FLAT: &str = "\"flat\" has no groups, which are what hybrid is about; use \"lines\" or a table, or \
                    engine.name = \"simple\"";

/// The groups with their fan-out. Left out: lines with three stations or more on average, otherwise as many groups as
/// they have stations.
fn groups(values: &mut Values<'_>, keys: &TaxonomyKeys, stations: &Stations) -> Option<Groups> {
    let of_lines = stations_a_line(stations);
    let asked = keys.fanout.map(|fanout| fanout.get().get());
    let balanced = |shape: Shape| Groups {
        places: Places::Balanced(shape),
        fanout: asked.unwrap_or(shape.fanout),
    };
    let lines = |fanout: u32| Some(Groups { places: Places::Lines, fanout });
    match (keys.locations.clone(), of_lines) {
        (None, Some(mean)) if asked.is_some() || mean > 2 => lines(asked.unwrap_or(mean)),
        (None, _) => {
            let side = stations.len().isqrt() + 1;
            Some(balanced(Shape { fanout: side.max(3), height: 1 }))
        }
        (Some(Places::Balanced(shape)), _) => Some(balanced(shape)),
        (Some(Places::Near(shape)), _) => {
            Some(Groups { places: Places::Near(shape), fanout: asked.unwrap_or(shape.fanout) })
        }
        (Some(own @ Places::Own(_)), _) => own_groups(values, own, asked, stations),
        (Some(Places::Flat), _) => {
            values.complain("locations", FLAT);
            None
        }
        (Some(Places::Lines), None) => {
            values.complain("locations", "\"lines\", but no station of the list has a line");
            None
        }
        (Some(Places::Lines), Some(mean)) if asked.is_some() || mean > 2 => {
            lines(asked.unwrap_or(mean))
        }
        (Some(Places::Lines), Some(mean)) => {
            let what = format!(
                "a line has {mean} stations on average, but hybrid needs a fan-out of 3 or more; set \
                 engine.hybrid.taxonomy.fanout, or use {{ fanout = 3, height = 1 }}"
            );
            values.complain("locations", what);
            None
        }
    }
}

/// Groups of one's own, with the members that they have on average, rounded up and at least 3, as their fan-out.
fn own_groups(
    values: &mut Values<'_>,
    own: Places,
    asked: Option<u32>,
    stations: &Stations,
) -> Option<Groups> {
    let taxonomy = match own.taxonomy(stations) {
        Ok(taxonomy) => taxonomy,
        Err(complaints) => {
            complaints.iter().for_each(|what| values.complain("locations", what));
            return None;
        }
    };
    let groups = taxonomy.nodes().filter(|&node| node != Taxonomy::ROOT);
    let members: Vec<u32> = groups.map(|node| taxonomy.n_children(node)).collect();
    let n_groups = u32::try_from(members.len()).ok()?;
    if n_groups == 0 {
        values.complain("locations", FLAT);
        return None;
    }
    let mean = members.iter().sum::<u32>().div_ceil(n_groups);
    Some(Groups { places: own, fanout: asked.unwrap_or(mean.max(3)) })
}

/// Stations per line, rounded up; `None` where no station has a line.
fn stations_a_line(stations: &Stations) -> Option<u32> {
    let lined = || stations.iter().map(|station| station.line.as_str()).filter(|l| !l.is_empty());
    let n_lines = u32::try_from(lined().collect::<BTreeSet<_>>().len()).ok()?;
    let n_stations = u32::try_from(lined().count()).ok()?;
    (n_lines > 0).then(|| n_stations.div_ceil(n_lines))
}

fn plain(instance: &AuditInstance, input: &str) -> Value {
    let mut keys = audit_keys(instance);
    keys["input"] = json!(input);
    keys
}

fn grouped(instance: &AuditInstance, input: &str) -> Value {
    let mut keys = plain(instance, input);
    keys["taxonomy"] = json!({ "locations": "lines", "fanout": 3 });
    keys
}

/// The same over an uneven taxonomy of one's own, with its counts in the inference.
fn grouped_own(instance: &AuditInstance, input: &str) -> Value {
    let mut keys = plain(instance, input);
    keys["taxonomy"] = json!({ "locations": { "text": instance.uneven_places() }, "fanout": 3 });
    keys["inference"] = json!("kept-groups");
    keys
}
