//! The checks: each reads its keys, complains about what cannot be, and gives a value or nothing.

use std::fs::{self, File};
use std::io::Read;
use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use toml::Value;

use super::digest::{digest, warnings};
use super::engine_check::{check_prices, engine};
use super::kafka_check;
use super::live_check::{Live, live};
use super::reader::{self, Reader};
use super::{DEFAULTS, ReleaseWords, Settings};
use crate::engine::Engine;
use crate::ingest::{self, Fields, Format};
use crate::kafka;
use crate::ledger::{self, Horizon, Repeat};
use crate::model::{Calendar, Span, Stations};
use crate::secret::{SECRET_BYTES, Secret};
use crate::window::Gate;

const MONTH_SECS: i64 = 31 * 86_400;

/// All checks; complaints of all of them at once.
pub(super) fn settings(text: &str, base: &Path) -> Result<Settings, Vec<String>> {
    let mut reader = Reader::new(DEFAULTS, text).map_err(|complaint| vec![complaint])?;
    let parts = Parts::read(&mut reader, base);
    match parts.assemble(&reader) {
        Some(settings) if reader.is_content() => Ok(settings),
        _ => Err(reader.into_complaints()),
    }
}

/// What each check gave; `None` where it complained.
struct Parts {
    secret: Option<Secret>,
    ledger_file: Option<PathBuf>,
    zone: Option<TimeZone>,
    stations: Option<Arc<Stations>>,
    calendar: Option<Calendar>,
    feed: Option<(String, Format, Fields)>,
    gate: Option<Gate>,
    max_length: Option<NonZeroU32>,
    span: Option<Span>,
    engine: Option<Arc<dyn Engine>>,
    budget: Option<ledger::Settings>,
    release: Option<ReleaseWords>,
    kafka: Option<kafka::Settings>,
    live: Option<Live>,
}

impl Parts {
    fn read(reader: &mut Reader, base: &Path) -> Self {
        reader.integer("version", 1, 1);
        let secret = secret(reader, base);
        let ledger_file = ledger_file(reader, base);
        let zone = zone(reader);
        let stations = stations(reader, base);
        let calendar = zone.clone().and_then(|zone| calendar(reader, zone));
        let feed = feed(reader);
        let gate = gate(reader);
        let max_length = positive(reader, "window.max_length", 1_000_000);
        let span = calendar.as_ref().and_then(|calendar| span(reader, calendar));
        let engine = engine(reader, stations.as_ref(), calendar.as_ref(), max_length);
        let budget = budget(reader, calendar.as_ref());
        if let (Some(engine), Some(budget)) = (&engine, &budget) {
            check_prices(reader, engine.as_ref(), budget);
        }
        let release = release(reader);
        let kafka = kafka_check::kafka(reader, base);
        let live = live(reader, base, calendar.as_ref());
        not_in_this_version(reader);
        Self {
            secret,
            ledger_file,
            zone,
            stations,
            calendar,
            feed,
            gate,
            max_length,
            span,
            engine,
            budget,
            release,
            kafka,
            live,
        }
    }

    fn assemble(self, reader: &Reader) -> Option<Settings> {
        let (secret, stations, calendar) = (self.secret?, self.stations?, self.calendar?);
        let (engine, (id, format, fields)) = (self.engine?, self.feed?);
        // Only noise needs a bound on what one card can change.
        let is_bounded = engine.price().is_differential() || reader.is_written("window.max_length");
        let max_length = if is_bounded { Some(self.max_length?) } else { None };
        let digest = digest(reader, &id, &stations, max_length, engine.as_ref());
        let warnings = warnings(reader, engine.as_ref(), &calendar);
        let ingest = ingest::Settings {
            format,
            fields,
            // A guessed zone would move trips by hours: local times count only where the user named one.
            local_zone: self.zone.filter(|_| reader.is_written("feed.time_zone")),
            calendar: calendar.clone(),
            stations: stations.clone(),
            secret: secret.clone(),
        };
        Some(Settings {
            ingest,
            gate: self.gate?,
            span: self.span,
            max_length,
            engine,
            budget: ledger::Settings { feed: id, calendar: calendar.clone(), ..self.budget? },
            calendar,
            secret,
            ledger_file: self.ledger_file?,
            stations,
            release: self.release?,
            kafka: self.kafka,
            live: self.live?,
            digest,
            warnings,
        })
    }
}

/// Just the ledger and its key.
pub(super) fn ledger_and_secret(text: &str, base: &Path) -> Result<(PathBuf, Secret), Vec<String>> {
    let mut reader = Reader::new(DEFAULTS, text).map_err(|complaint| vec![complaint])?;
    let secret = secret(&mut reader, base);
    match (ledger_file(&mut reader, base), secret) {
        (Some(file), Some(secret)) => Ok((file, secret)),
        _ => Err(reader.into_complaints()),
    }
}

fn secret(reader: &mut Reader, base: &Path) -> Option<Secret> {
    const REMEDY: &str = "make one with `tapveil init DIR`";
    let Some(file) = reader.text("secret.file") else {
        if reader.value("secret.file").is_none() {
            reader.complain("secret.file", format_args!("is required; {REMEDY}"));
        }
        return None;
    };
    let path = base.join(file);
    let shown = path.display();
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|file| {
        let mode = file.metadata()?.permissions().mode();
        file.take(4096).read_to_end(&mut bytes)?;
        Ok(mode)
    });
    match read {
        Err(error) => {
            reader.complain("secret.file", format_args!("cannot read {shown}: {error}; {REMEDY}"))
        }
        Ok(mode) if mode & 0o077 != 0 => reader.complain(
            "secret.file",
            format_args!(
                "others can read {shown} (mode {:o}); run chmod 600 on it, or {REMEDY}",
                mode & 0o777
            ),
        ),
        Ok(_) if bytes.len() < SECRET_BYTES => reader.complain(
            "secret.file",
            format_args!(
                "{shown} has {} bytes, but a secret has {SECRET_BYTES}; {REMEDY}",
                bytes.len()
            ),
        ),
        Ok(_) => return Secret::from_bytes(&bytes),
    }
    None
}

fn ledger_file(reader: &mut Reader, base: &Path) -> Option<PathBuf> {
    let path = base.join(reader.text("ledger.file")?);
    if !path.is_file() {
        let shown = path.display();
        reader.complain(
            "ledger.file",
            format_args!(
                "{shown} does not exist; a new one would forget what was spent. For a new feed make one with \
                 `tapveil init DIR`, otherwise bring the old one back"
            ),
        );
        return None;
    }
    Some(path)
}

fn zone(reader: &mut Reader) -> Option<TimeZone> {
    let name = reader.text("feed.time_zone")?;
    match TimeZone::get(&name) {
        Ok(zone) => Some(zone),
        Err(_) => {
            let what = format!("{name:?} is not a time zone like \"America/Montreal\" or \"UTC\"");
            reader.complain("feed.time_zone", what);
            None
        }
    }
}

fn stations(reader: &mut Reader, base: &Path) -> Option<Arc<Stations>> {
    if reader.is_written("stations.gtfs") {
        reader.complain("stations.gtfs", "is not in this version; name a stations.file");
        return None;
    }
    let Some(file) = reader.text("stations.file") else {
        if reader.value("stations.file").is_none() {
            reader.complain("stations.file", "is required: a CSV with id,name,lat,lon,line");
        }
        return None;
    };
    let path = base.join(file);
    let shown = path.display();
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) => {
            reader.complain("stations.file", format_args!("cannot read {shown}: {error}"));
            return None;
        }
    };
    match Stations::from_csv(&text) {
        Ok(stations) => Some(Arc::new(stations)),
        Err(complaints) => {
            for complaint in complaints {
                reader.complain("stations.file", format_args!("{shown}: {complaint}"));
            }
            None
        }
    }
}

fn calendar(reader: &mut Reader, zone: TimeZone) -> Option<Calendar> {
    let length = reader.duration("window.length", MONTH_SECS);
    let slot = reader.duration("window.slot", MONTH_SECS);
    let day_start = reader.time_of_day("window.day_start");
    let (length, slot, day_start) = (length?.as_secs(), slot?.as_secs(), day_start?);
    match Calendar::new(zone, length, day_start, slot) {
        Ok(calendar) => Some(calendar),
        Err(complaints) => {
            complaints.iter().for_each(|complaint| reader.complain_plainly(complaint));
            None
        }
    }
}

fn feed(reader: &mut Reader) -> Option<(String, Format, Fields)> {
    let id = reader.text("feed.id");
    if id.as_ref().is_some_and(|id| id.is_empty() || id.chars().any(char::is_control)) {
        reader.complain("feed.id", "must be a word that names the feed");
    }
    let format = match reader.text("feed.format").as_deref() {
        Some("csv") => Some(Format::Csv),
        Some("json") => Some(Format::Json),
        Some(later @ ("tides" | "avro")) => {
            let what = format!("{later:?} is not in this version; use \"csv\" or \"json\"");
            reader.complain("feed.format", what);
            None
        }
        Some(other) => {
            let what = format!("{other:?} is not one of \"csv\", \"json\", \"tides\", \"avro\"");
            reader.complain("feed.format", what);
            None
        }
        None => None,
    };
    let [card, station, time] =
        ["feed.fields.card", "feed.fields.station", "feed.fields.time"].map(|key| reader.text(key));
    Some((id?, format?, Fields { card: card?, station: station?, time: time? }))
}

fn gate(reader: &mut Reader) -> Option<Gate> {
    let grace =
        reader.value("window.grace").and_then(|grace| reader::duration_secs(grace.as_str()?));
    let grace = grace.map(SignedDuration::from_secs);
    let max_ahead = reader.duration("window.max_ahead", MONTH_SECS);
    let by_arrival =
        reader.value("window.close").is_some_and(|close| close.as_str() == Some("arrival"));
    let grace: Option<SignedDuration> = if by_arrival { Some(grace?) } else { None };
    Some(Gate { range: None, grace, max_ahead: max_ahead? })
}

fn span(reader: &mut Reader, calendar: &Calendar) -> Option<Span> {
    let mut moment = |key: &str| {
        let value = reader.value(key)?;
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let found = calendar.parse_moment(&text);
        if found.is_none() {
            let what = format!(
                "{text:?} is not a date like \"2015-11-09\" or a time like \"2015-11-09T04:00\""
            );
            reader.complain(key, what);
        }
        found
    };
    let (from, to) = (moment("window.from"), moment("window.to"));
    match (from, to) {
        (Some(from), Some(to)) if from < to => Some(Span { from, to }),
        (Some(_), Some(_)) => {
            reader.complain_plainly("window.from must lie before window.to");
            None
        }
        _ => None,
    }
}

pub(super) fn positive(reader: &mut Reader, key: &str, most: i64) -> Option<NonZeroU32> {
    reader
        .integer(key, 1, most)
        .and_then(|number| u32::try_from(number).ok())
        .and_then(NonZeroU32::new)
}

fn budget(reader: &mut Reader, calendar: Option<&Calendar>) -> Option<ledger::Settings> {
    let lifetime = reader.decimal("budget.lifetime");
    let repeat = reader.word("budget.repeat", &[("refuse", Repeat::Refuse), ("pay", Repeat::Pay)]);
    let windows = positive(reader, "budget.horizon.windows", 100_000);
    let cap = reader.decimal("budget.horizon.cap");
    if reader
        .value("budget.horizon")
        .is_some_and(|horizon| horizon.get("windows").is_none() || horizon.get("cap").is_none())
    {
        reader.complain(
            "budget.horizon",
            "needs both windows and cap: { windows = 7, cap = \"7.0\" }",
        );
    }
    let horizon = windows.zip(cap).map(|(windows, cap)| Horizon { windows: windows.get(), cap });
    let calendar = calendar?.clone();
    Some(ledger::Settings { feed: String::new(), calendar, lifetime, horizon, repeat: repeat? })
}

fn release(reader: &mut Reader) -> Option<ReleaseWords> {
    let [title, licence, contact] =
        ["release.title", "release.licence", "release.contact"].map(|key| reader.text(key));
    let approved = reader.value("release.approved").and_then(|_| reader.text("release.approved"));
    Some(ReleaseWords { title: title?, licence: licence?, contact: contact?, approved })
}

/// Keys whose meaning this version does not carry out are refused where ignoring them would be a broken
/// promise, and checked for their form where they only concern `run`.
fn not_in_this_version(reader: &mut Reader) {
    if reader.value("engine.allow_unsound").is_some_and(|value| value.as_bool().is_none()) {
        reader.complain("engine.allow_unsound", "must be true or false");
    }
}
