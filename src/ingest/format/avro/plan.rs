//! A walk over one record: what of the writer's schema is wanted is taken out, borrowed; everything else is passed
//! over.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::tz::Offset;

use super::super::json::{Found, Tree};
use super::super::mapping::{Role, Wanted};
use super::schema::{Schema, Time, Type, TypeIx};
use crate::model::Reject;
use crate::passenger::Picked;

/// Lists of lists in a record, at most: data can nest where its schema names itself.
const DEPTH_MAX: usize = 64;

/// What to do with a value.
#[derive(Clone, Debug)]
enum Step {
    Skip(TypeIx),
    Take {
        of: TypeIx,
        indexes: Vec<usize>,
        role: Role,
    },
    /// A record with wanted fields in it.
    Enter(Vec<Step>),
    /// One of several.
    Choose(Vec<Step>),
}

/// How records of one schema are read.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    schema: Schema,
    step: Step,
}

impl Plan {
    pub(super) fn new(schema: Schema, wanted: &Wanted, tree: &Tree) -> Self {
        let step = step(&schema, schema.root, Some(tree), wanted);
        Self { schema, step }
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The wanted fields of a record that is all of these bytes.
    pub(super) fn pick<'a>(&self, bytes: &'a [u8], wanted: &Wanted) -> Result<Picked<'a>, Reject> {
        let mut data = Data { bytes };
        let picked = self.next(&mut data, wanted)?;
        // What follows a record is no part of it: another schema was meant.
        if data.bytes.is_empty() { Ok(picked) } else { Err(Reject::Malformed) }
    }

    /// The wanted fields of the next record.
    pub(super) fn next<'a>(
        &self,
        data: &mut Data<'a>,
        wanted: &Wanted,
    ) -> Result<Picked<'a>, Reject> {
        let mut found = Found::default();
        self.walk(&self.step, data, &mut found)?;
        Ok(wanted.picked(&mut found))
    }

    fn walk<'a>(
        &self,
        step: &Step,
        data: &mut Data<'a>,
        found: &mut Found<'a>,
    ) -> Result<(), Reject> {
        match step {
            Step::Skip(of) => self.skip(*of, data, 0),
            Step::Enter(steps) => steps.iter().try_for_each(|step| self.walk(step, data, found)),
            Step::Choose(branches) => {
                let branch = usize::try_from(data.long()?).ok().and_then(|at| branches.get(at));
                self.walk(branch.ok_or(Reject::Malformed)?, data, found)
            }
            Step::Take { of, indexes, role } => {
                let value = self.value(*of, *role, data)?;
                // Nearly every field is wanted once.
                if let [index] = indexes.as_slice() {
                    found[*index] = value;
                    return Ok(());
                }
                indexes.iter().for_each(|index| found[*index].clone_from(&value));
                Ok(())
            }
        }
    }

    fn value<'a>(
        &self,
        of: TypeIx,
        role: Role,
        data: &mut Data<'a>,
    ) -> Result<Option<Cow<'a, str>>, Reject> {
        let text = match self.schema.at(of) {
            Type::String => {
                let text = std::str::from_utf8(data.counted()?).map_err(|_| Reject::NotUtf8)?;
                Cow::Borrowed(text.trim())
            }
            Type::Long(Time::None) | Type::Int => Cow::Owned(data.long()?.to_string()),
            Type::Long(time) => Cow::Owned(moment(*time, data.long()?).ok_or(Reject::BadTime)?),
            Type::Enum(symbols) => {
                let symbol = usize::try_from(data.long()?).ok().and_then(|at| symbols.get(at));
                Cow::Owned(symbol.ok_or(Reject::Malformed)?.clone())
            }
            Type::Bytes => Cow::Owned(hex(data.counted()?)),
            Type::Fixed(size) => Cow::Owned(hex(data.take(*size)?)),
            Type::Null => return Ok(None),
            Type::Boolean if role == Role::Word => {
                Cow::Borrowed(if data.take(1)?[0] == 0 { "false" } else { "true" })
            }
            Type::Float if role != Role::Id => {
                Cow::Owned(f32::from_le_bytes(data.array()?).to_string())
            }
            Type::Double if role != Role::Id => {
                Cow::Owned(f64::from_le_bytes(data.array()?).to_string())
            }
            // A number with a fraction cannot be kept exactly, and a list is no value.
            Type::Boolean
            | Type::Float
            | Type::Double
            | Type::Array(_)
            | Type::Map(_)
            | Type::Union(_)
            | Type::Record(_) => {
                return Err(Reject::Malformed);
            }
        };
        Ok(Some(text))
    }

    fn skip(&self, of: TypeIx, data: &mut Data<'_>, depth: usize) -> Result<(), Reject> {
        if depth > DEPTH_MAX {
            return Err(Reject::Malformed);
        }
        match self.schema.at(of) {
            Type::Null => Ok(()),
            Type::Boolean => data.take(1).map(drop),
            Type::Int | Type::Long(_) | Type::Enum(_) => data.long().map(drop),
            Type::Float => data.take(4).map(drop),
            Type::Double => data.take(8).map(drop),
            Type::Bytes | Type::String => data.counted().map(drop),
            Type::Fixed(size) => data.take(*size).map(drop),
            Type::Record(fields) => {
                fields.iter().try_for_each(|(_, field)| self.skip(*field, data, depth + 1))
            }
            Type::Union(branches) => {
                let branch = usize::try_from(data.long()?).ok().and_then(|at| branches.get(at));
                self.skip(*branch.ok_or(Reject::Malformed)?, data, depth + 1)
            }
            Type::Array(items) => self.skip_blocks(*items, false, data, depth),
            Type::Map(values) => self.skip_blocks(*values, true, data, depth),
        }
    }

    /// Items in blocks; a block may say how many bytes it has, and is then passed over at once.
    fn skip_blocks(
        &self,
        of: TypeIx,
        keyed: bool,
        data: &mut Data<'_>,
        depth: usize,
    ) -> Result<(), Reject> {
        loop {
            let n = data.long()?;
            match n {
                0 => return Ok(()),
                ..0 => {
                    let bytes = usize::try_from(data.long()?).map_err(|_| Reject::Malformed)?;
                    data.take(bytes)?;
                }
                1.. => {
                    // Items of no bytes would be counted for ever.
                    if n as u64 > data.bytes.len() as u64
                        && !matches!(self.schema.at(of), Type::Null)
                    {
                        return Err(Reject::Malformed);
                    }
                    if !keyed && matches!(self.schema.at(of), Type::Null) {
                        continue;
                    }
                    for _ in 0..n {
                        if keyed {
                            data.counted()?;
                        }
                        self.skip(of, data, depth + 1)?;
                    }
                }
            }
        }
    }
}

fn step(schema: &Schema, of: TypeIx, tree: Option<&Tree>, wanted: &Wanted) -> Step {
    let Some(tree) = tree else { return Step::Skip(of) };
    match schema.at(of) {
        Type::Record(fields) if !tree.below.is_empty() => Step::Enter(
            fields
                .iter()
                .map(|(name, field)| step(schema, *field, tree.find(name), wanted))
                .collect(),
        ),
        Type::Union(branches) => Step::Choose(
            branches.iter().map(|branch| step(schema, *branch, Some(tree), wanted)).collect(),
        ),
        _ => match tree.indexes.first() {
            None => Step::Skip(of),
            Some(first) => {
                Step::Take { of, indexes: tree.indexes.clone(), role: wanted.role(*first) }
            }
        },
    }
}

/// The text of a moment: seconds since 1970 with a fraction, or a local time.
fn moment(time: Time, number: i64) -> Option<String> {
    let (Time::Instant(units) | Time::Local(units)) = time else { return Some(number.to_string()) };
    if matches!(time, Time::Local(_)) {
        let nanos = i128::from(number) * i128::from(1_000_000_000 / units);
        return Some(Offset::UTC.to_datetime(Timestamp::from_nanosecond(nanos).ok()?).to_string());
    }
    let (secs, rest) = (number / units, (number % units).unsigned_abs());
    let sign = if number < 0 && secs == 0 { "-" } else { "" };
    Some(match units {
        1_000 => format!("{sign}{secs}.{rest:03}"),
        1_000_000 => format!("{sign}{secs}.{rest:06}"),
        _ => format!("{sign}{secs}.{rest:09}"),
    })
}

/// Bytes that need not be text. Two of them never become one.
fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}

/// Bytes that are read from their front.
pub(in crate::ingest) struct Data<'a> {
    pub(in crate::ingest) bytes: &'a [u8],
}

impl<'a> Data<'a> {
    pub(in crate::ingest) fn take(&mut self, n: usize) -> Result<&'a [u8], Reject> {
        let (front, rest) = self.bytes.split_at_checked(n).ok_or(Reject::Malformed)?;
        self.bytes = rest;
        Ok(front)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Reject> {
        self.take(N)?.try_into().map_err(|_| Reject::Malformed)
    }

    /// A number in seven bits a byte, the sign in the lowest bit.
    #[inline]
    pub(in crate::ingest) fn long(&mut self) -> Result<i64, Reject> {
        let mut number = 0_u64;
        for (at, &byte) in self.bytes.iter().take(10).enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                self.bytes = &self.bytes[at + 1..];
                return Ok((number >> 1) as i64 ^ -((number & 1) as i64));
            }
        }
        Err(Reject::Malformed)
    }

    /// Bytes after their number.
    #[inline]
    pub(in crate::ingest) fn counted(&mut self) -> Result<&'a [u8], Reject> {
        let n = usize::try_from(self.long()?).map_err(|_| Reject::Malformed)?;
        self.take(n)
    }
}
