//! `[engine.projection]`: its keys, its checks, its samples.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Method, Projection, Settings};
use crate::declare::{Declared, Fraction, Leaf, Section, Values, Whole, inline};
use crate::engine::{Engine, Registration, World};
use crate::model::{PathKind, Portion, StationIx, Stations};

/// The line of the registry.
pub const REGISTRATION: Registration = Registration {
    name: "projection",
    about: "suppression against adversaries who own stations (projection-2008)",
    is_differential: false,
    sections: || vec![Section::of::<Keys>("engine.projection")],
    starter: "[engine.projection]\n\
        breach = \"0.5\"                      # no adversary infers a foreign place with a higher probability\n\
        adversaries = \"line\"                # one adversary for every line; or { A = [\"s1\"], B = [\"s2\"] }\n",
    demo: "[engine]\nname = \"projection\"\n\n[engine.projection]\nbreach = \"0.5\"\ninput = \"sequences\"\n\
        adversaries = \"line\"\n",
    build,
    audit: None,
    proof: include_str!("PROOF.md"),
};

crate::keys! {
    /// projection: suppression, no differential privacy, no epsilon, no noise. Its releases never stand beside a
    /// differentially private one of the same time: together both promises fail.
    struct Keys {
        /// no adversary infers a foreign place with a higher probability; between 0 and 1
        breach: Breach = required("0.5");
        /// who owns which stations; or "line": one adversary for every line of the station list
        adversaries: Adversaries = required({ "A": ["s1", "s2"], "B": ["s3"] });
        /// doublets (place and time) | sequences (places alone)
        input: PathKind = default("doublets");
        /// tree: the projection support tree | scan: global suppression as it was before the tree, which looks at every
        /// trajectory for every gain; the same rows, for small windows
        method: Method = default("tree");
        /// steps that may be done: gains, beginnings of views followed, 256 places looked at for them; for scan
        /// trajectories looked at. Then what still infers something is suppressed to nothing. About 100 bytes each at
        /// worst
        max_work: Whole<1, 10_000_000_000> = default(50_000_000);
    }
}

/// A probability that protects somebody and shows something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Breach(Portion);

impl Leaf for Breach {
    fn read(value: &Value) -> Result<Self, String> {
        let Fraction(breach) = Fraction::read(value)?;
        match breach == Portion::default() || breach == Portion::ONE {
            false => Ok(Self(breach)),
            true => Err(format!(
                "is {breach}, but must lie between 0 and 1: at 0 nothing could be shown, at 1 nobody is protected"
            )),
        }
    }

    fn schema() -> Value {
        Fraction::schema()
    }
}

/// Who owns which stations, as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Adversaries {
    /// One for every line of the station list.
    ByLine,
    /// Names with station ids.
    Named(BTreeMap<String, Vec<String>>),
}

impl Leaf for Adversaries {
    fn read(value: &Value) -> Result<Self, String> {
        if value.as_str() == Some("line") {
            return Ok(Self::ByLine);
        }
        serde_json::from_value(value.clone()).map(Self::Named).map_err(|_| {
            let shown = inline(value);
            format!("{shown} is not {{ A = [\"s1\", \"s2\"], B = [\"s3\"] }} or \"line\"")
        })
    }

    fn schema() -> Value {
        let ids = json!({ "type": "array", "items": { "type": "string" } });
        json!({ "anyOf": [{ "enum": ["line"] }, { "type": "object", "additionalProperties": ids }] })
    }
}

fn build(values: &mut Values<'_>, world: Option<&World>) -> Option<Arc<dyn Engine>> {
    let (keys, world) = (Keys::read(values)?, world?);
    let (adversaries, all_found) = match &keys.adversaries {
        Adversaries::ByLine => (by_line(values, &world.stations)?, true),
        Adversaries::Named(named) => found(values, named, &world.stations),
    };
    if adversaries.is_empty() && !all_found {
        return None;
    }
    let settings = Settings {
        breach: keys.breach.0,
        input: keys.input,
        adversaries,
        method: keys.method,
        max_work: keys.max_work.get(),
        stations: world.stations.clone(),
    };
    match Projection::new(settings) {
        Ok(engine) => all_found.then_some(Arc::new(engine)),
        Err(complaints) => {
            complaints.iter().for_each(|complaint| values.complain("adversaries", complaint));
            None
        }
    }
}

fn by_line(
    values: &mut Values<'_>,
    stations: &Stations,
) -> Option<BTreeMap<String, Vec<StationIx>>> {
    let mut owned: BTreeMap<String, Vec<StationIx>> = BTreeMap::new();
    for (number, station) in (0..).zip(stations.iter()) {
        if !station.line.is_empty() {
            owned.entry(station.line.clone()).or_default().push(StationIx(number));
        }
    }
    if owned.is_empty() {
        values.complain("adversaries", "is \"line\", but no station of the list has one");
        return None;
    }
    Some(owned)
}

/// What the named adversaries own, and whether every station was found. An adversary of whom none was found is left
/// out: that it owns nothing is not worth a second complaint.
fn found(
    values: &mut Values<'_>,
    named: &BTreeMap<String, Vec<String>>,
    stations: &Stations,
) -> (BTreeMap<String, Vec<StationIx>>, bool) {
    let mut owned: BTreeMap<String, Vec<StationIx>> = BTreeMap::new();
    let mut all_found = true;
    for (name, ids) in named {
        let known: Vec<StationIx> = ids.iter().filter_map(|id| stations.find(id)).collect();
        for id in ids.iter().filter(|id| stations.find(id).is_none()) {
            all_found = false;
            values.complain(
                "adversaries",
                format_args!("{name} has {id:?}, which is no station's id"),
            );
        }
        if !known.is_empty() || ids.is_empty() {
            owned.insert(name.clone(), known);
        }
    }
    (owned, all_found)
}
