//! One JSON object a record: the wanted members out of it, strings or numbers. Everything else in it is skipped.

mod path;
mod plain;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

pub(super) use self::path::Tree;
use super::mapping::{NAMES_MAX, Role, Wanted};
use super::{Below, Format, Mapping, MissingColumns, Registration, begins_with_object, text};
use crate::model::Reject;
use crate::passenger::Picked;

pub(super) const REGISTRATION: Registration = Registration {
    name: "json",
    about: "one JSON object a message, or a line of a file",
    sections: Vec::new,
    build: |values, mapping, _| {
        let json = Json::new(mapping);
        if let Some(name) = json.tree.contradiction() {
            values.complain(
                "fields",
                format_args!("{name:?} cannot be a value and an object with values in it"),
            );
            return None;
        }
        Some(Arc::new(json))
    },
};

/// JSON objects, in messages or in lines.
#[derive(Clone, Debug)]
pub(super) struct Json {
    mapping: Mapping,
    wanted: Wanted,
    /// Where the wanted members stand.
    tree: Tree,
}

impl Json {
    pub(super) fn new(mapping: Mapping) -> Self {
        let wanted = Wanted::new(&mapping);
        Self { tree: Tree::of(&wanted.names), wanted, mapping }
    }

    pub(super) fn pick_text<'a>(&self, line: &'a str) -> Result<Picked<'a>, Reject> {
        let plain = if self.tree.is_flat() { plain::pick(line, &self.wanted) } else { None };
        match plain {
            Some(picked) => Ok(picked),
            None => read(line, &self.wanted, &self.tree),
        }
    }
}

impl Format for Json {
    fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    fn recognizes(&self, first: &[u8]) -> bool {
        begins_with_object(first)
    }

    fn has_header(&self, _: &[u8]) -> bool {
        false
    }

    fn below(&self, _: &str) -> Result<Below, MissingColumns> {
        Ok(Below { format: Arc::new(self.clone()), is_like_messages: true })
    }

    fn header(&self) -> Option<Vec<u8>> {
        None
    }

    fn pick<'a>(&self, record: &'a [u8]) -> Result<Picked<'a>, Reject> {
        self.pick_text(text(record)?)
    }

    fn encode(&self, picked: &Picked<'_>) -> Vec<u8> {
        if !self.tree.is_flat() {
            let value = |index: usize| self.wanted.value(picked, index);
            return self.tree.written(&value).to_string().into_bytes();
        }
        let mut record = Vec::with_capacity(96);
        for (index, name) in self.wanted.names.iter().enumerate() {
            let Some(value) = self.wanted.value(picked, index) else { continue };
            record.push(if record.is_empty() { b'{' } else { b',' });
            for (text, sign) in [(name.as_str(), Some(b':')), (value, None)] {
                serde_json::to_writer(&mut record, text).expect("memory takes any text");
                record.extend(sign);
            }
        }
        record.push(b'}');
        record
    }
}

/// The wanted members of a line, by the library.
fn read<'a>(line: &'a str, wanted: &Wanted, tree: &Tree) -> Result<Picked<'a>, Reject> {
    let mut text = serde_json::Deserializer::from_str(line);
    let mut found = Found::default();
    let members = Members { wanted, tree, found: &mut found };
    members.deserialize(&mut text).map_err(|_| Reject::Malformed)?;
    text.end().map_err(|_| Reject::Malformed)?;
    Ok(wanted.picked(&mut found))
}

pub(super) type Found<'a> = [Option<Cow<'a, str>>; NAMES_MAX];

/// An object and the wanted members in it.
struct Members<'w, 'f, 'de> {
    wanted: &'w Wanted,
    tree: &'w Tree,
    found: &'f mut Found<'de>,
}

impl<'de> DeserializeSeed<'de> for Members<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<(), D::Error> {
        text.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { wanted, tree, found } = self;
        while let Some(member) = map.next_key_seed(Key(tree))? {
            match member {
                None => drop(map.next_value::<IgnoredAny>()?),
                Some(leaf) if leaf.below.is_empty() => {
                    let role = leaf.indexes.first().map_or(Role::Word, |first| wanted.role(*first));
                    leaf.put(map.next_value_seed(Scalar(role))?, found);
                }
                Some(tree) => map.next_value_seed(Nested(Members { wanted, tree, found }))?,
            }
        }
        Ok(())
    }
}

/// An object that paths lead into. Anything else in its place has none of their fields.
struct Nested<'w, 'f, 'de>(Members<'w, 'f, 'de>);

impl<'de> DeserializeSeed<'de> for Nested<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<(), D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.visit_map(map)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Which of the wanted members one is. Names are compared as they are: one with a space is another name.
struct Key<'w>(&'w Tree);

impl<'w, 'de> DeserializeSeed<'de> for Key<'w> {
    type Value = Option<&'w Tree>;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<Self::Value, D::Error> {
        text.deserialize_str(self)
    }
}

impl<'w> Visitor<'_> for Key<'w> {
    type Value = Option<&'w Tree>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.find(name))
    }
}

/// A string or a number as text; null is nothing. What else a value may be depends on its role. An id is a whole
/// number of at most 64 bits: beyond that two ids could be rounded to one, and two cards would become one.
struct Scalar(Role);

impl<'de> DeserializeSeed<'de> for Scalar {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<Self::Value, D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scalar {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text.trim())))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.trim().to_owned())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Self::Value, E> {
        match self.0 {
            Role::Time | Role::Word if number.is_finite() => {
                Ok(Some(Cow::Owned(number.to_string())))
            }
            _ => Err(E::custom("not a number that can be kept exactly")),
        }
    }

    fn visit_bool<E: serde::de::Error>(self, flag: bool) -> Result<Self::Value, E> {
        match self.0 {
            Role::Word => Ok(Some(Cow::Borrowed(if flag { "true" } else { "false" }))),
            Role::Id | Role::Time => Err(E::custom("neither a string nor a number")),
        }
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}
