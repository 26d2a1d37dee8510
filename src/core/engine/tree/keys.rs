//! The keys that every engine over a tree has, and the checks that they share.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    BudgetError, Places, Shape, Threshold, Times, TreeMechanism, TreeParams, expected_nodes,
};
use crate::declare::{Leaf, Positive, Values, Whole, inline};
use crate::engine::{AuditInstance, Engine, World};
use crate::model::OwnTaxonomy;

crate::keys! {
    /// Keys of every engine that grows a noisy tree.
    pub struct TreeKeys {
        /// taps of a trip that a release can show; at most window.max_length
        height: Positive<10_000> = default(4);
        /// smallest noisy count that is kept: own-noise | level-noise (the paper's text, keeps more) | an integer. Left
        /// out: level-noise for safepath, own-noise for the others, as measured (decision 0016)
        threshold: Threshold = optional("own-noise");
        /// noisy nodes; beyond it the tree is cut in a fixed order, and ε stays spent
        max_nodes: Whole<1, 4_294_967_295> = default(50_000_000);
    }
}

impl TreeKeys {
    /// What the tree is built from, if the height fits the world.
    pub fn params(
        &self,
        values: &mut Values<'_>,
        world: &World,
        usual: Threshold,
    ) -> Option<TreeParams> {
        let (height, max_length) = (self.height.get(), world.max_length);
        if height > max_length {
            let what = format!(
                "is {height}, but window.max_length is {max_length}: no trajectory is longer"
            );
            values.complain("height", what);
            return None;
        }
        Some(TreeParams {
            epsilon: world.epsilon,
            height,
            threshold: self.threshold.unwrap_or(usual),
            max_nodes: self.max_nodes.get(),
            max_length,
            stations: world.stations.clone(),
        })
    }
}

/// The keys of a tree for an auditor.
pub fn audit_keys(instance: &AuditInstance) -> Value {
    let threshold = instance.threshold.map_or(json!("own-noise"), Value::from);
    json!({ "height": instance.height, "threshold": threshold, "max_nodes": instance.max_nodes })
}

/// The engine, if its budget can be paid and noise alone does not fill it; otherwise complaints.
pub fn built<M: TreeMechanism + 'static>(
    values: &mut Values<'_>,
    engine: Result<M, Vec<BudgetError>>,
    n_slots: u32,
) -> Option<Arc<dyn Engine>> {
    match engine {
        Ok(engine) => {
            refuse_explosion(values, &engine, n_slots);
            Some(Arc::new(engine))
        }
        Err(errors) => {
            errors.iter().for_each(|error| values.complain_at(error.key(), error));
            None
        }
    }
}

/// A tree that noise alone would fill to the last node is a mistake; say which height works.
fn refuse_explosion(values: &mut Values<'_>, engine: &impl TreeMechanism, n_slots: u32) {
    use super::Level;
    let params = engine.params();
    let Ok(level) = engine.level(n_slots) else { return };
    let (per_node, most) = (level.false_children(), params.max_nodes as f64);
    if expected_nodes(per_node, params.height.get()) <= most {
        return;
    }
    let grows_to = |height: &u32| expected_nodes(per_node, *height) <= most;
    let remedy = match (1..params.height.get()).take_while(grows_to).last() {
        None => "no height fits; use a taxonomy or a higher threshold".to_owned(),
        Some(fits) => {
            format!(
                "the largest height that fits is {fits}, or use a taxonomy or a higher threshold"
            )
        }
    };
    let what = format!(
        "noise alone makes up {per_node:.1} paths below every empty one; at height {} that is more than \
         max_nodes = {}: {remedy}",
        params.height, params.max_nodes
    );
    values.complain("height", what);
}

impl Leaf for Threshold {
    fn read(value: &Value) -> Result<Self, String> {
        let fixed = match value {
            Value::String(word) if word == "own-noise" => return Ok(Self::OwnNoise),
            Value::String(word) if word == "level-noise" => return Ok(Self::LevelNoise),
            Value::String(digits) => digits.parse().ok(),
            other => other.as_u64(),
        };
        fixed.filter(|&number| number >= 1).map(Self::Fixed).ok_or_else(|| {
            let shown = inline(value);
            format!("{shown} is not \"own-noise\", \"level-noise\" or an integer from 1 on")
        })
    }

    fn schema() -> Value {
        json!({ "anyOf": [
            { "enum": ["own-noise", "level-noise"] },
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": "^[1-9][0-9]*$" },
        ] })
    }
}

impl Leaf for Places {
    fn read(value: &Value) -> Result<Self, String> {
        match value.as_str() {
            Some("flat") => Ok(Self::Flat),
            Some("lines") => Ok(Self::Lines),
            _ if value.get("by").is_some() => by_coordinates(value).map(Self::Near),
            _ if is_own(value) => own(value).map(Self::Own),
            _ => shape(value, "\"lines\", \"flat\", { file = \"…\" }").map(Self::Balanced),
        }
    }

    fn schema() -> Value {
        let [file, text] = own_schema();
        json!({ "anyOf": [{ "enum": ["lines", "flat"] }, shape_schema(true), file, text] })
    }
}

impl Leaf for Times {
    fn read(value: &Value) -> Result<Self, String> {
        match value.as_str() {
            Some("flat") => Ok(Self::Flat),
            _ if is_own(value) => own(value).map(Self::Own),
            _ => shape(value, "\"flat\", { file = \"…\" }").map(Self::Balanced),
        }
    }

    fn schema() -> Value {
        let [file, text] = own_schema();
        json!({ "anyOf": [{ "enum": ["flat"] }, shape_schema(false), file, text] })
    }
}

fn shape(value: &Value, words: &str) -> Result<Shape, String> {
    let number = |name: &str| {
        value.get(name).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok())
    };
    let plain = value
        .as_object()
        .is_some_and(|table| table.keys().all(|name| name == "fanout" || name == "height"));
    match (plain, number("fanout"), number("height")) {
        (true, Some(fanout), Some(height)) if fanout >= 2 && height <= 64 => {
            Ok(Shape { fanout, height })
        }
        _ => Err(format!(
            "{} is not {words} or {{ fanout = 2 or more, height = 0 to 64 }}",
            inline(value)
        )),
    }
}

/// A table with `by = "coordinates"`.
fn by_coordinates(value: &Value) -> Result<Shape, String> {
    if value["by"] != "coordinates" {
        return Err(format!("{} groups by something else than \"coordinates\"", inline(value)));
    }
    let mut rest = value.clone();
    if let Some(table) = rest.as_object_mut() {
        table.remove("by");
    }
    shape(&rest, "a table with by = \"coordinates\"")
}

fn is_own(value: &Value) -> bool {
    value.get("file").or(value.get("text")).is_some()
}

/// A taxonomy's text. Engines read no files: whoever read the configuration has put the file's text in place of its
/// name.
fn own(value: &Value) -> Result<Arc<OwnTaxonomy>, String> {
    let text = value.get("text").and_then(Value::as_str);
    let is_alone = value.as_object().is_some_and(|table| table.len() == 1);
    let own = text.filter(|_| is_alone).map(|text| Arc::new(OwnTaxonomy::read(text)));
    own.ok_or_else(|| "must have a file or a text, in quotes, and nothing else".to_owned())
}

fn shape_schema(has_by: bool) -> Value {
    let mut schema = json!({
        "type": "object", "additionalProperties": false, "required": ["fanout", "height"],
        "properties": {
            "fanout": { "type": "integer", "minimum": 2, "maximum": u32::MAX },
            "height": { "type": "integer", "minimum": 0, "maximum": 64 },
        },
    });
    if has_by {
        schema["properties"]["by"] = json!({ "enum": ["coordinates"] });
    }
    schema
}

fn own_schema() -> [Value; 2] {
    ["file", "text"].map(|one| {
        json!({
            "type": "object", "additionalProperties": false, "required": [one],
            "properties": { one: { "type": "string" } },
        })
    })
}
