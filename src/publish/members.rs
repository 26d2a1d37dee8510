//! A JSON object whose members keep their order, so that a manifest reads back to the same bytes.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Members in the order they were written.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Members(Vec<(String, Value)>);

impl Members {
    /// The members of anything that serializes as an object, in its own order.
    pub(super) fn of(facts: &impl Serialize) -> Self {
        let text = serde_json::to_vec(facts).expect("facts are plain data with text keys");
        serde_json::from_slice(&text).expect("facts serialize as an object")
    }

    /// Names and texts.
    pub(super) fn of_texts(pairs: &[(String, String)]) -> Self {
        Self(pairs.iter().map(|(name, text)| (name.clone(), text.as_str().into())).collect())
    }

    /// Adds a member at the end.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// The member of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
