//! A record of a schema with the wanted fields in it. Fields that nobody wants are null, empty or zero.

use jiff::Timestamp;

use super::super::json::Tree;
use super::schema::{Schema, Time, Type, TypeIx};

/// The value of a wanted name.
pub(super) type Value<'v> = dyn Fn(usize) -> Option<&'v str> + 'v;

/// Writes a value of this type.
pub(super) fn write(
    schema: &Schema,
    of: TypeIx,
    tree: Option<&Tree>,
    value: &Value<'_>,
    out: &mut Vec<u8>,
) {
    let text = tree.and_then(|tree| tree.indexes.iter().find_map(|index| value(*index)));
    match schema.at(of) {
        Type::Null => {}
        Type::Boolean => out.push(u8::from(text == Some("true"))),
        Type::Int => long(text.and_then(|text| text.parse().ok()).unwrap_or(0), out),
        Type::Long(time) => long(text.map_or(0, |text| number(text, *time)), out),
        Type::Float => {
            let number = text.and_then(|text| text.parse::<f32>().ok()).unwrap_or(0.0);
            out.extend(number.to_le_bytes());
        }
        Type::Double => {
            let number = text.and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
            out.extend(number.to_le_bytes());
        }
        Type::Bytes | Type::String => counted(text.unwrap_or_default().as_bytes(), out),
        Type::Fixed(size) => {
            let bytes = text.unwrap_or_default().bytes().chain(std::iter::repeat(0));
            out.extend(bytes.take(*size));
        }
        Type::Enum(symbols) => {
            let place = symbols.iter().position(|symbol| Some(symbol.as_str()) == text);
            long(i64::try_from(place.unwrap_or(0)).unwrap_or(0), out);
        }
        Type::Array(_) | Type::Map(_) => long(0, out),
        Type::Union(branches) => {
            let place = branch(schema, branches, tree, text, value);
            long(i64::try_from(place).unwrap_or(0), out);
            if let Some(chosen) = branches.get(place) {
                write(schema, *chosen, tree, value, out);
            }
        }
        Type::Record(fields) => {
            for (name, field) in fields {
                write(schema, *field, tree.and_then(|tree| tree.find(name)), value, out);
            }
        }
    }
}

/// Null where there is nothing to say, else the first that is not null.
fn branch(
    schema: &Schema,
    branches: &[TypeIx],
    tree: Option<&Tree>,
    text: Option<&str>,
    value: &Value<'_>,
) -> usize {
    let has_below = tree.is_some_and(|tree| says_something(tree, value));
    let is_null = |at: &TypeIx| matches!(schema.at(*at), Type::Null);
    let wanted = text.is_some() || has_below;
    branches.iter().position(|at| is_null(at) != wanted).unwrap_or(0)
}

fn says_something(tree: &Tree, value: &Value<'_>) -> bool {
    tree.indexes.iter().any(|index| value(*index).is_some())
        || tree.below.iter().any(|(_, below)| says_something(below, value))
}

/// A number as it is; a time in its units. What is no time is the least number there is, which no reader takes for one.
fn number(text: &str, time: Time) -> i64 {
    let (Time::Instant(units) | Time::Local(units)) = time else {
        return text.parse().unwrap_or(i64::MIN);
    };
    let instant = text.parse::<Timestamp>().ok().map(|instant| {
        let nanos = instant.as_nanosecond() / i128::from(1_000_000_000 / units);
        i64::try_from(nanos).unwrap_or(i64::MIN)
    });
    instant.unwrap_or(i64::MIN)
}

fn counted(bytes: &[u8], out: &mut Vec<u8>) {
    long(i64::try_from(bytes.len()).unwrap_or(0), out);
    out.extend_from_slice(bytes);
}

fn long(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
