//! Reads a manifest of any version that was ever written, into today's types.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

use serde_json::Value;

use super::{FORMAT, Package, canonical};
use crate::model::Digest;

/// A manifest that was read.
#[derive(Debug)]
pub(in crate::publish) struct Manifest {
    /// What it says.
    pub(in crate::publish) package: Package,
    /// Whether its text is the canonical one. A member that stands there twice makes it false.
    pub(in crate::publish) is_canonical: bool,
    /// Whether it has the digest that it states.
    pub(in crate::publish) has_own_digest: bool,
}

/// Why a text is no manifest that this program can read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(in crate::publish) enum Unreadable {
    #[error("is no manifest: {0}")]
    Shape(String),
    #[error(
        "has privacy.format {found}; this program knows the formats 1 to {FORMAT}: read it with the tapveil that wrote it, \
         or a newer one"
    )]
    Newer { found: String },
}

impl Manifest {
    /// Reads a text, canonical or not. Unknown members of a known format are passed over.
    pub(in crate::publish) fn read(text: &[u8]) -> Result<Self, Unreadable> {
        let shape = |error: serde_json::Error| Unreadable::Shape(error.to_string());
        let mut value: Value = serde_json::from_slice(text).map_err(shape)?;
        let is_canonical = canonical(&value) == text;
        let has_own_digest = has_own_digest(&value);
        if format(&value)? == 1 {
            upgrade_from_1(&mut value);
        }
        let package: Package = serde_json::from_value(value).map_err(shape)?;
        Ok(Self { package, is_canonical, has_own_digest })
    }

    /// The same for callers who accept nothing but an intact one.
    pub(in crate::publish) fn read_intact(text: &[u8]) -> Result<Package, String> {
        match Self::read(text) {
            Err(error) => Err(error.to_string()),
            Ok(one) if !one.is_canonical => Err("is not in canonical form".to_owned()),
            Ok(one) if !one.has_own_digest => Err("does not have the digest it states".to_owned()),
            Ok(one) => Ok(one.package),
        }
    }
}

/// The format that a manifest states. The first one stated none.
fn format(value: &Value) -> Result<u64, Unreadable> {
    match value.get("privacy").and_then(|privacy| privacy.get("format")) {
        None => Ok(1),
        Some(stated) => match stated.as_u64() {
            Some(known @ 2..) if known <= u64::from(FORMAT) => Ok(known),
            _ => Err(Unreadable::Newer { found: stated.to_string() }),
        },
    }
}

fn has_own_digest(value: &Value) -> bool {
    let mut bare = value.clone();
    let Some(member) =
        bare.get_mut("privacy").and_then(|privacy| privacy.get_mut("manifest_sha256"))
    else {
        return false;
    };
    let stated = std::mem::replace(member, Value::from(""));
    stated.as_str() == Some(Digest::of(&canonical(&bare)).to_string().as_str())
}

/// Format 1 had no number, and said in the model's name what format 2 says in a sentence.
fn upgrade_from_1(value: &mut Value) {
    let Some(privacy) = value.get_mut("privacy").and_then(Value::as_object_mut) else { return };
    privacy.insert("format".to_owned(), Value::from(1));
    let model = privacy.get_mut("guarantee").and_then(|guarantee| guarantee.get_mut("model"));
    if let Some(model) = model
        && model.as_str() == Some("differential-privacy (computational: noise keyed by the secret)")
    {
        *model = Value::from("differential-privacy");
    }
}
