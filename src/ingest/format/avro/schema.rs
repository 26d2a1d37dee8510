//! An Avro schema, read from its JSON: as much of it as is needed to walk over data that was written with it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// The place of a type in its schema.
pub(super) type TypeIx = usize;

/// One type. Types inside it are named by their places, so that a record can hold itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Null,
    Boolean,
    Int,
    Long(Time),
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Enum(Vec<String>),
    Array(TypeIx),
    Map(TypeIx),
    Union(Vec<TypeIx>),
    Record(Vec<(String, TypeIx)>),
}

/// What a long number means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Time {
    /// Itself.
    None,
    /// An instant: so many units a second since 1970.
    Instant(i64),
    /// The same on a local clock.
    Local(i64),
}

/// A schema that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Schema {
    types: Vec<Type>,
    pub(super) root: TypeIx,
}

/// Deeper schemas are refused: they are read by a function that calls itself.
const DEPTH_MAX: usize = 32;
/// More types than that are no tap.
const TYPES_MAX: usize = 10_000;

impl Schema {
    /// Reads a schema. Names of `others` may be used in it.
    pub(super) fn read(text: &str, others: &[String]) -> Result<Self, String> {
        let mut reading = Reading { types: Vec::new(), names: HashMap::new() };
        for other in others {
            let value = parsed(other)?;
            reading.read(&value, "", 0)?;
        }
        let value = parsed(text)?;
        let root = reading.read(&value, "", 0)?;
        Ok(Self { types: reading.types, root })
    }

    pub(super) fn at(&self, at: TypeIx) -> &Type {
        &self.types[at]
    }
}

fn parsed(text: &str) -> Result<Value, String> {
    // A schema that is one word may stand without quotes.
    serde_json::from_str(text.trim()).or_else(|error| match text.trim() {
        word if word.chars().all(|letter| letter.is_ascii_alphanumeric()) && !word.is_empty() => {
            Ok(json!(word))
        }
        _ => Err(format!("it is not JSON: {error}")),
    })
}

struct Reading {
    types: Vec<Type>,
    /// Named types, by full name.
    names: HashMap<String, TypeIx>,
}

impl Reading {
    fn push(&mut self, one: Type) -> Result<TypeIx, String> {
        match self.types.len() < TYPES_MAX {
            true => {
                self.types.push(one);
                Ok(self.types.len() - 1)
            }
            false => Err(format!("it has more than {TYPES_MAX} types")),
        }
    }

    fn read(&mut self, value: &Value, space: &str, depth: usize) -> Result<TypeIx, String> {
        if depth > DEPTH_MAX {
            return Err(format!("it is nested more than {DEPTH_MAX} times"));
        }
        match value {
            Value::String(word) => self.word(word, space, None),
            Value::Array(branches) => {
                let branches: Result<Vec<TypeIx>, String> =
                    branches.iter().map(|branch| self.read(branch, space, depth + 1)).collect();
                let branches = branches?;
                self.push(Type::Union(branches))
            }
            Value::Object(object) => self.object(object, space, depth),
            other => Err(format!("{other} is no type")),
        }
    }

    fn word(&mut self, word: &str, space: &str, logical: Option<&str>) -> Result<TypeIx, String> {
        let one = match word {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "int" => Type::Int,
            "long" => Type::Long(time(logical)),
            "float" => Type::Float,
            "double" => Type::Double,
            "bytes" => Type::Bytes,
            "string" => Type::String,
            name => {
                let known = self.names.get(&full(name, space)).or_else(|| self.names.get(name));
                return known.copied().ok_or_else(|| format!("the type {name:?} is not known"));
            }
        };
        self.push(one)
    }

    fn object(
        &mut self,
        object: &Map<String, Value>,
        space: &str,
        depth: usize,
    ) -> Result<TypeIx, String> {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let inner = |key: &str| object.get(key).ok_or_else(|| format!("a type has no {key}"));
        let Some(kind) = text("type") else {
            return self.read(inner("type")?, space, depth + 1);
        };
        match kind {
            "array" => {
                let items = self.read(inner("items")?, space, depth + 1)?;
                self.push(Type::Array(items))
            }
            "map" => {
                let values = self.read(inner("values")?, space, depth + 1)?;
                self.push(Type::Map(values))
            }
            "record" | "error" | "enum" | "fixed" => self.named(kind, object, space, depth),
            word => self.word(word, space, text("logicalType")),
        }
    }

    /// A type with a name. Its name is known inside it.
    fn named(
        &mut self,
        kind: &str,
        object: &Map<String, Value>,
        space: &str,
        depth: usize,
    ) -> Result<TypeIx, String> {
        let name = object.get("name").and_then(Value::as_str).ok_or("a named type has no name")?;
        let space = object.get("namespace").and_then(Value::as_str).unwrap_or(space);
        let name = full(name, space);
        let space = name.rsplit_once('.').map_or("", |(space, _)| space).to_owned();
        let place = self.push(Type::Null)?;
        if self.names.insert(name.clone(), place).is_some() {
            return Err(format!("the type {name:?} is there twice"));
        }
        let list = |key: &str| {
            object
                .get(key)
                .and_then(Value::as_array)
                .ok_or_else(|| format!("{name:?} has no {key}"))
        };
        self.types[place] = match kind {
            "enum" => {
                let symbol =
                    |one: &Value| one.as_str().map(str::to_owned).ok_or("a symbol is no word");
                Type::Enum(list("symbols")?.iter().map(symbol).collect::<Result<_, _>>()?)
            }
            "fixed" => {
                let size = object
                    .get("size")
                    .and_then(Value::as_u64)
                    .and_then(|size| usize::try_from(size).ok());
                Type::Fixed(size.ok_or_else(|| format!("{name:?} has no size"))?)
            }
            _ => {
                let mut fields = Vec::new();
                for field in list("fields")? {
                    let label =
                        field.get("name").and_then(Value::as_str).ok_or("a field has no name")?;
                    let kind = field.get("type").ok_or("a field has no type")?;
                    fields.push((label.to_owned(), self.read(kind, &space, depth + 1)?));
                }
                Type::Record(fields)
            }
        };
        Ok(place)
    }
}

fn full(name: &str, space: &str) -> String {
    if name.contains('.') || space.is_empty() { name.to_owned() } else { format!("{space}.{name}") }
}

fn time(logical: Option<&str>) -> Time {
    match logical {
        Some("timestamp-millis") => Time::Instant(1_000),
        Some("timestamp-micros") => Time::Instant(1_000_000),
        Some("timestamp-nanos") => Time::Instant(1_000_000_000),
        Some("local-timestamp-millis") => Time::Local(1_000),
        Some("local-timestamp-micros") => Time::Local(1_000_000),
        Some("local-timestamp-nanos") => Time::Local(1_000_000_000),
        _ => Time::None,
    }
}
