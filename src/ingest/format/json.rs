//! One JSON object: three members out of it, strings or numbers. Everything else in it is skipped.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::ingest::Fields;
use crate::model::Reject;

mod plain;

/// The three members of a line.
pub(in crate::ingest) fn pick<'a>(
    line: &'a str,
    fields: &Fields,
) -> Result<[Cow<'a, str>; 3], Reject> {
    match plain::pick(line, fields) {
        Some(found) => Ok(found),
        None => read(line, fields),
    }
}

/// The same, by the library.
pub(in crate::ingest) fn read<'a>(
    line: &'a str,
    fields: &Fields,
) -> Result<[Cow<'a, str>; 3], Reject> {
    let mut text = serde_json::Deserializer::from_str(line);
    let found = Members(fields).deserialize(&mut text).map_err(|_| Reject::Malformed)?;
    text.end().map_err(|_| Reject::Malformed)?;
    match found {
        [Some(card), Some(station), Some(time)] => Ok([card, station, time]),
        _ => Err(Reject::MissingField),
    }
}

type Found<'a> = [Option<Cow<'a, str>>; 3];

struct Members<'f>(&'f Fields);

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = Found<'de>;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<Self::Value, D::Error> {
        text.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found: Found<'de> = [None, None, None];
        while let Some(Key(name)) = map.next_key_seed(KeySeed)? {
            let names = [
                (&self.0.card, Scalar::Id),
                (&self.0.station, Scalar::Id),
                (&self.0.time, Scalar::Time),
            ];
            let mut wanted =
                names.into_iter().zip(&mut found).filter(|((wanted, _), _)| **wanted == *name);
            match wanted.next() {
                Some(((_, scalar), slot)) => *slot = map.next_value_seed(scalar)?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

struct KeySeed;
struct Key<'a>(Cow<'a, str>);

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key<'de>;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<Self::Value, D::Error> {
        text.deserialize_str(Scalar::Id).map(|key| Key(key.unwrap_or_default()))
    }
}

/// A string or a number as text; null is nothing; anything else is not a tap.
enum Scalar {
    /// A whole number of at most 64 bits: beyond that two ids could be rounded to one, and two cards would
    /// become one.
    Id,
    /// Any number: seconds may have a fraction.
    Time,
}

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
        match self {
            Self::Time if number.is_finite() => Ok(Some(Cow::Owned(number.to_string()))),
            _ => Err(E::custom("not a number that can be kept exactly")),
        }
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}
