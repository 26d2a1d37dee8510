//! Types of single values: what each accepts, what it says instead, and its JSON Schema.

use std::num::NonZeroU32;

use serde_json::{Value, json};

use super::inline;
use crate::model::{MicroEpsilon, PathKind, Portion};

/// A type that a key can have. It cannot hold a wrong value.
pub trait Leaf: Sized {
    /// Reads a value; the error completes the sentence that begins with the key.
    fn read(value: &Value) -> Result<Self, String>;

    /// JSON Schema of what is accepted.
    fn schema() -> Value;
}

/// The complaint about a word that is none of these.
pub fn refuse_word(value: &Value, words: &[&str]) -> String {
    let known: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let nearest = value.as_str().and_then(|written| {
        words.iter().copied().find(|word| strsim::damerau_levenshtein(written, word) <= 2)
    });
    let hint = nearest.map(|word| format!("; did you mean {word:?}?")).unwrap_or_default();
    format!("{} is not one of {}{hint}", inline(value), known.join(", "))
}

impl Leaf for String {
    fn read(value: &Value) -> Result<Self, String> {
        let refuse = || format!("must be a string in quotes, not {}", inline(value));
        value.as_str().map(str::to_owned).ok_or_else(refuse)
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

impl Leaf for bool {
    fn read(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| format!("must be true or false, not {}", inline(value)))
    }

    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
}

/// Words in a list, each once; at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names(pub Vec<String>);

impl Leaf for Names {
    fn read(value: &Value) -> Result<Self, String> {
        let refuse =
            || format!("must be a list of words like [\"a\", \"b\"], not {}", inline(value));
        let items = value.as_array().filter(|items| !items.is_empty()).ok_or_else(refuse)?;
        let mut names = Vec::new();
        for item in items {
            let name =
                item.as_str().map(str::trim).filter(|name| !name.is_empty()).ok_or_else(refuse)?;
            if names.iter().any(|known| known == name) {
                return Err(format!("has {name:?} twice"));
            }
            names.push(name.to_owned());
        }
        Ok(Self(names))
    }

    fn schema() -> Value {
        json!({
            "type": "array",
            "items": { "type": "string", "minLength": 1 },
            "minItems": 1,
            "uniqueItems": true,
        })
    }
}

/// A whole number from `LEAST` to `MOST`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whole<const LEAST: u64, const MOST: u64>(u64);

impl<const LEAST: u64, const MOST: u64> Whole<LEAST, MOST> {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl<const LEAST: u64, const MOST: u64> Leaf for Whole<LEAST, MOST> {
    fn read(value: &Value) -> Result<Self, String> {
        whole(value, LEAST, MOST).map(Self)
    }

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }
}

/// A whole number from 1 to `MOST`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Positive<const MOST: u32>(NonZeroU32);

impl<const MOST: u32> Positive<MOST> {
    /// The number.
    pub fn get(self) -> NonZeroU32 {
        self.0
    }
}

impl<const MOST: u32> Leaf for Positive<MOST> {
    fn read(value: &Value) -> Result<Self, String> {
        let number = whole(value, 1, MOST.into())?;
        let number = u32::try_from(number).ok().and_then(NonZeroU32::new);
        number.map(Self).ok_or_else(|| "must be at least 1".to_owned())
    }

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": 1, "maximum": MOST })
    }
}

fn whole(value: &Value, least: u64, most: u64) -> Result<u64, String> {
    match value {
        Value::Number(number) if number.is_i64() || number.is_u64() => match number.as_u64() {
            Some(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(format!("is {number}, but must be from {least} to {most}")),
        },
        other => Err(format!("must be a whole number, not {}", inline(other))),
    }
}

/// A privacy budget: an exact decimal in quotes, greater than zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epsilon(pub MicroEpsilon);

impl Leaf for Epsilon {
    fn read(value: &Value) -> Result<Self, String> {
        let text = decimal(value, "1.0")?;
        MicroEpsilon::parse(text).map(Self).map_err(|error| format!("{text:?} {error}"))
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9]*\\.?[0-9]*$" })
    }
}

/// A part of a whole: an exact decimal in quotes, from 0 to 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fraction(pub Portion);

impl Leaf for Fraction {
    fn read(value: &Value) -> Result<Self, String> {
        let text = decimal(value, "0.5")?;
        Portion::parse(text).map(Self).map_err(|error| format!("{text:?} {error}"))
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9]*\\.?[0-9]*$" })
    }
}

fn decimal<'a>(value: &'a Value, example: &str) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| {
        let shown = inline(value);
        format!("must be a decimal in quotes, like {example:?}, not {shown}: a float is not exact")
    })
}

impl Leaf for PathKind {
    fn read(value: &Value) -> Result<Self, String> {
        match value.as_str() {
            Some("doublets") => Ok(Self::Timed),
            Some("sequences") => Ok(Self::Untimed),
            _ => Err(refuse_word(value, &["doublets", "sequences"])),
        }
    }

    fn schema() -> Value {
        json!({ "enum": ["doublets", "sequences"] })
    }
}
