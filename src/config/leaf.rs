//! Types of the values that only this program's own sections have.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo};
use serde_json::{Value, json};

use crate::declare::{Leaf, Names, inline, refuse_word};
use crate::ingest::TimeLayout;
use crate::ingest::format::{self, KeepRule, Mapping, ValueTable};
use crate::kafka::Protocol;

/// The form of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Version;

impl Version {
    /// The form that this program reads.
    pub(super) const KNOWN: u64 = 2;
}

impl Leaf for Version {
    fn read(value: &Value) -> Result<Self, String> {
        match value.as_u64() {
            Some(Self::KNOWN) => Ok(Self),
            Some(newer) if newer > Self::KNOWN => Err(format!(
                "is {newer}, but this program knows versions 1 and {}; use a newer tapveil",
                Self::KNOWN
            )),
            _ => {
                Err(format!("{} is not a version; write version = {}", inline(value), Self::KNOWN))
            }
        }
    }

    fn schema() -> Value {
        json!({ "const": Self::KNOWN })
    }
}

/// A duration of whole seconds, at most so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seconds<const LEAST: i64, const MOST: i64>(pub(super) SignedDuration);

impl<const LEAST: i64, const MOST: i64> Leaf for Seconds<LEAST, MOST> {
    fn read(value: &Value) -> Result<Self, String> {
        let text = String::read(value)?;
        match duration_secs(&text) {
            Some(secs) if secs < LEAST => Err(format!("must be at least \"{LEAST}s\"")),
            Some(secs) if secs > MOST => Err(format!("{text:?} is longer than {}d", MOST / 86_400)),
            Some(secs) => Ok(Self(SignedDuration::from_secs(secs))),
            None => {
                Err(format!("{text:?} is not a duration like \"90s\", \"15m\", \"2h\" or \"1d\""))
            }
        }
    }

    fn schema() -> Value {
        json!({ "type": "string", "examples": ["90s", "15m", "2h", "1d"] })
    }
}

/// "1d", "90m", "1h30m", "0s": whole seconds, not negative.
pub(crate) fn duration_secs(text: &str) -> Option<i64> {
    let span: Span = text.trim().parse().ok()?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    (duration.subsec_nanos() == 0 && !duration.is_negative()).then(|| duration.as_secs())
}

/// A time of day, in seconds after midnight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TimeOfDay(pub(super) i64);

impl Leaf for TimeOfDay {
    fn read(value: &Value) -> Result<Self, String> {
        let text = String::read(value)?;
        let time = Time::strptime("%H:%M", &text).ok().filter(|_| text.len() == 5);
        time.map(|time| Self(i64::from(time.hour()) * 3_600 + i64::from(time.minute()) * 60))
            .ok_or_else(|| format!("{text:?} is not a time of day like \"04:00\""))
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$" })
    }
}

/// A time zone of the IANA database.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Zone(pub(super) TimeZone);

impl Leaf for Zone {
    fn read(value: &Value) -> Result<Self, String> {
        let name = String::read(value)?;
        TimeZone::get(&name).map(Self).map_err(|_| {
            format!("{name:?} is not a time zone like \"America/Montreal\" or \"UTC\"")
        })
    }

    fn schema() -> Value {
        String::schema()
    }
}

/// A word that names a feed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FeedId(pub(super) String);

impl Leaf for FeedId {
    fn read(value: &Value) -> Result<Self, String> {
        let id = String::read(value)?;
        match id.is_empty() || id.chars().any(char::is_control) {
            true => Err("must be a word that names the feed".to_owned()),
            false => Ok(Self(id)),
        }
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }
}

/// The name of a format that is registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FormatName(pub(super) &'static str);

impl Leaf for FormatName {
    fn read(value: &Value) -> Result<Self, String> {
        let found = value.as_str().and_then(format::find);
        found.map(|format| Self(format.name)).ok_or_else(|| refuse_word(value, &format::names()))
    }

    fn schema() -> Value {
        json!({ "enum": format::names() })
    }
}

/// Which values each of some fields may have, by field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Keep(pub(super) Vec<KeepRule>);

impl Leaf for Keep {
    fn read(value: &Value) -> Result<Self, String> {
        let example = "{ deal_type = [\"in\", \"out\"] }";
        let table = value
            .as_object()
            .ok_or_else(|| format!("must be a table like {example}, not {}", inline(value)))?;
        if !(1..=Mapping::KEEP_MAX).contains(&table.len()) {
            let most = Mapping::KEEP_MAX;
            return Err(format!("has {} fields, but must have from 1 to {most}", table.len()));
        }
        let rule = |(field, values): (&String, &Value)| match Names::read(values) {
            Ok(Names(mut values)) => {
                values.sort();
                Ok(KeepRule { field: field.clone(), values })
            }
            Err(what) => Err(format!("{field} {what}")),
        };
        let (good, bad): (Vec<_>, Vec<_>) = table.iter().map(rule).partition(Result::is_ok);
        match bad.is_empty() {
            true => Ok(Self(good.into_iter().filter_map(Result::ok).collect())),
            false => Err(bad.into_iter().filter_map(Result::err).collect::<Vec<_>>().join("; ")),
        }
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "minProperties": 1,
            "maxProperties": Mapping::KEEP_MAX,
            "additionalProperties": Names::schema(),
        })
    }
}

/// What values of some fields mean, by field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Meanings(pub(super) Vec<ValueTable>);

impl Leaf for Meanings {
    fn read(value: &Value) -> Result<Self, String> {
        let refuse = || {
            let example = "{ direction = { \"1\" = \"in\", \"2\" = \"out\" } }";
            format!("must be a table of tables like {example}, not {}", inline(value))
        };
        let tables = value.as_object().filter(|tables| !tables.is_empty()).ok_or_else(refuse)?;
        let table = |(field, meanings): (&String, &Value)| {
            let meanings = meanings.as_object().filter(|one| !one.is_empty()).ok_or_else(refuse)?;
            let pair = |(written, meant): (&String, &Value)| {
                Ok((written.clone(), meant.as_str().ok_or_else(refuse)?.to_owned()))
            };
            let meanings = meanings.iter().map(pair).collect::<Result<_, String>>()?;
            Ok(ValueTable { field: field.clone(), meanings })
        };
        tables.iter().map(table).collect::<Result<_, String>>().map(Self)
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "type": "object", "minProperties": 1, "additionalProperties": { "type": "string" },
            },
        })
    }
}

/// Layouts of times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layouts(pub(super) Vec<TimeLayout>);

impl Leaf for Layouts {
    fn read(value: &Value) -> Result<Self, String> {
        let layout = |text: &String| {
            TimeLayout::new(text).ok_or_else(|| {
                format!(
                    "{text:?} is not a layout that says year, month, day, hour and minute, like \"%d/%m/%Y %H:%M:%S\""
                )
            })
        };
        Names::read(value)?.0.iter().map(layout).collect::<Result<_, String>>().map(Self)
    }

    fn schema() -> Value {
        Names::schema()
    }
}

/// Offsets of records in a topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Offsets(pub(super) BTreeSet<i64>);

impl Leaf for Offsets {
    fn read(value: &Value) -> Result<Self, String> {
        let refuse = || format!("must be a list of offsets like [1047], not {}", inline(value));
        let items = value.as_array().ok_or_else(refuse)?;
        let offset = |item: &Value| item.as_i64().filter(|offset| *offset >= 0);
        let offsets: Option<BTreeSet<i64>> = items.iter().map(offset).collect();
        offsets.map(Self).ok_or_else(refuse)
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": { "type": "integer", "minimum": 0 } })
    }
}

/// Route types of GTFS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RouteTypes(pub(super) Vec<u32>);

impl Leaf for RouteTypes {
    fn read(value: &Value) -> Result<Self, String> {
        let refuse = || format!("must be a list of route types like [0, 1], not {}", inline(value));
        let items = value.as_array().filter(|items| !items.is_empty()).ok_or_else(refuse)?;
        let number = |item: &Value| item.as_u64().and_then(|number| u32::try_from(number).ok());
        let numbers: Option<Vec<u32>> = items.iter().map(number).collect();
        numbers.map(Self).ok_or_else(refuse)
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 1 })
    }
}

impl Leaf for Protocol {
    fn read(value: &Value) -> Result<Self, String> {
        match value.as_str() {
            Some("classic") => Ok(Self::Classic),
            Some("consumer") => Ok(Self::Consumer),
            _ => Err(refuse_word(value, &["classic", "consumer"])),
        }
    }

    fn schema() -> Value {
        json!({ "enum": ["classic", "consumer"] })
    }
}

/// Addresses of brokers, with commas between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Brokers(pub(super) String);

impl Leaf for Brokers {
    fn read(value: &Value) -> Result<Self, String> {
        let text = String::read(value)?;
        let is_address = |address: &str| {
            let (host, port) = address.trim().rsplit_once(':').unwrap_or((address.trim(), "9092"));
            !host.is_empty()
                && !host.contains(char::is_whitespace)
                && port.parse::<u16>().is_ok_and(|port| port > 0)
        };
        match text.split(',').all(is_address) {
            true => Ok(Self(text.split(',').map(str::trim).collect::<Vec<_>>().join(","))),
            false => {
                Err(format!("{text:?} is not a list of addresses like \"host1:9092,host2:9092\""))
            }
        }
    }

    fn schema() -> Value {
        String::schema()
    }
}

/// A name that Kafka takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KafkaName(pub(super) String);

impl Leaf for KafkaName {
    fn read(value: &Value) -> Result<Self, String> {
        let text = String::read(value)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        match !text.is_empty() && text.len() <= 200 && text.chars().all(is_plain) {
            true => Ok(Self(text)),
            false => Err(format!(
                "{text:?} is not a name: use at most 200 letters, digits, dots, hyphens and underscores"
            )),
        }
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,200}$" })
    }
}

/// Where to listen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address(pub(super) SocketAddr);

impl Leaf for Address {
    fn read(value: &Value) -> Result<Self, String> {
        let text = String::read(value)?;
        let refuse = |_| format!("{text:?} is not an address like \"127.0.0.1:9464\"");
        text.parse().map(Self).map_err(refuse)
    }

    fn schema() -> Value {
        String::schema()
    }
}

/// A part of a hundred, with two digits after the point at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Percent {
    hundredths: u64,
}

impl Percent {
    #[cfg(all(test, feature = "kafka"))]
    pub(crate) fn for_test(hundredths: u64) -> Self {
        Self { hundredths }
    }

    /// Whether so many of so many are not more than this.
    pub fn allows(self, part: u64, all: u64) -> bool {
        u128::from(part) * 10_000 <= u128::from(all) * u128::from(self.hundredths)
    }
}

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.hundredths / 100, self.hundredths % 100) {
            (whole, 0) => write!(f, "{whole}%"),
            (whole, part) => write!(f, "{whole}.{part:02}%"),
        }
    }
}

impl Leaf for Percent {
    fn read(value: &Value) -> Result<Self, String> {
        let text = String::read(value)?;
        let hundredths = || {
            let (whole, part) = {
                let number = text.trim().strip_suffix('%')?.trim();
                number.split_once('.').unwrap_or((number, "0"))
            };
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            if part.len() > 2 || part.is_empty() || !digits(whole) || !digits(part) {
                return None;
            }
            let whole: u64 = whole.parse().ok()?;
            let hundredths = whole.checked_mul(100)? + format!("{part:0<2}").parse::<u64>().ok()?;
            (hundredths <= 10_000).then_some(hundredths)
        };
        let wrong = || format!("{text:?} is not a part like \"10%\", from 0% to 100%");
        hundredths().map(|hundredths| Self { hundredths }).ok_or_else(wrong)
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]{1,2})?%$" })
    }
}
