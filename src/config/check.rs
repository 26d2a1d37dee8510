//! The checks: each reads its section, complains about what cannot be, and gives a value or nothing.

use std::fs::File as Disk;
use std::io::Read;
use std::num::{NonZeroU32, NonZeroUsize};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::digest::digest;
use super::feed_check::format;
use super::file::File;
use super::keys::{
    BudgetKeys, EngineKeys, FeedKeys, HorizonKeys, LedgerKeys, SecretKeys, TopKeys, TripKeys,
    WindowKeys, sections,
};
use super::live_check::{closing, http, log, release};
use super::schedule::length;
use super::station_check::{aliased, stations};
use super::warnings::{Warning, warnings};
use super::{
    Caps, Feed, LedgerAndSecret, Settings, TripRule, kafka_check, migrate, taxonomy_check,
};
use crate::engine::{Engine, Legs, Registration, Registry, World};
use crate::ledger::Horizon;
use crate::model::{Calendar, CalendarError, MicroEpsilon, Stations};
use crate::secret::{SECRET_BYTES, Secret};

/// All checks; complaints of all of them at once.
pub(super) fn settings(
    text: &str,
    base: &Path,
    registry: &Registry,
) -> Result<Settings, Vec<String>> {
    let mut file = File::parse(text).map_err(|complaint| vec![complaint])?;
    if let Some(complaint) = migrate::complaint(&file, registry) {
        return Err(vec![complaint]);
    }
    file.refuse_unknown(sections(registry));
    match read(&mut file, base, registry) {
        Some(settings) if file.is_content() => Ok(settings),
        _ => Err(file.into_complaints()),
    }
}

/// Just the ledger and its key.
pub(super) fn ledger_and_secret(text: &str, base: &Path) -> Result<LedgerAndSecret, Vec<String>> {
    let mut file = File::parse(text).map_err(|complaint| vec![complaint])?;
    let secret = secret(&mut file, base);
    match (ledger_file(&mut file, base), secret) {
        (Some(ledger_file), Some((secret, secret_file))) => {
            Ok(LedgerAndSecret { ledger_file, secret, secret_file })
        }
        _ => Err(file.into_complaints()),
    }
}

/// Every section is read before any complaint ends the reading.
fn read(file: &mut File<'_>, base: &Path, registry: &Registry) -> Option<Settings> {
    let version = file.section::<TopKeys>("");
    let (secret, ledger_file) = (secret(file, base), ledger_file(file, base));
    let feed = file.section::<FeedKeys>("feed");
    let format = format(file, base, feed.as_ref());
    let listed = stations(file, base);
    let notes = listed.as_ref().map(|listed| listed.notes.clone()).unwrap_or_default();
    let stations =
        listed.and_then(|listed| aliased(file, base, feed.as_ref(), listed.stations)).map(Arc::new);
    let window = file.section::<WindowKeys>("window");
    // Lengths are wrong in any zone: a feed that cannot be read hides no complaint about windows.
    let zone = feed.as_ref().map_or(TimeZone::UTC, |feed| feed.time_zone.0.clone());
    let calendar = window.as_ref().and_then(|window| calendar(file, zone, window));
    let range = calendar
        .as_ref()
        .zip(window.as_ref())
        .and_then(|(calendar, window)| range(file, calendar, window));
    let has_kinds = format.as_ref().map(|format| format.mapping().kind.is_some());
    let trips = trips(file, has_kinds);
    taxonomy_check::read_files(file, registry, base);
    let engine = engine(file, registry, &stations, &calendar, &window, trips);
    let caps = caps(file);
    if let (Some(engine), Some(caps)) = (&engine, &caps) {
        check_prices(file, engine.as_ref(), caps);
    }
    let release = release(file, base, window.as_ref().map(|window| window.close));
    let (http, log) = (http(file, base), log(file));
    let kafka = kafka_check::kafka(file, base);
    version?;
    let (feed, window, engine) = (feed?, window?, engine?);
    let (secret, secret_file) = secret?;
    // Only noise needs a bound on what one card can change.
    let is_bounded = engine.price().is_differential() || file.is_written("window.max_length");
    let (from, to) = range?;
    let mut settings = Settings {
        // A guessed zone would move trips by hours: local times count only where the user named one.
        feed: Feed {
            local_zone: Some(feed.time_zone.0).filter(|_| file.is_written("feed.time_zone")),
            id: feed.id.0,
            max_rejects: feed.max_rejects,
            time_layouts: feed.time_layouts.map(|layouts| layouts.0).unwrap_or_default(),
            card_is_token: feed.card_is_token,
            format: format?,
        },
        calendar: calendar?,
        stations: stations?,
        secret,
        secret_file,
        ledger_file: ledger_file?,
        closing: closing(&window),
        max_ahead: window.max_ahead.0,
        max_length: is_bounded.then(|| window.max_length.get()),
        from,
        to,
        engine,
        trips: trips?,
        caps: caps?,
        release: release?,
        http: http?,
        log: log?,
        kafka: kafka?,
        digest: crate::model::Digest::of(b""),
        warnings: Vec::new(),
    };
    settings.digest = digest(file, registry, &settings);
    settings.warnings = warnings(file, base, registry, &settings);
    settings.warnings.extend(notes.into_iter().map(Warning::Stations));
    Some(settings)
}

fn secret(file: &mut File<'_>, base: &Path) -> Option<(Secret, PathBuf)> {
    const KEY: &str = "secret.file";
    const REMEDY: &str = "make one with `tapveil init DIR`";
    if !file.is_written(KEY) {
        file.complain(KEY, format_args!("is required; {REMEDY}"));
        return None;
    }
    let path = base.join(file.section::<SecretKeys>("secret")?.file);
    let shown = path.display();
    let mut bytes = Vec::new();
    let read = Disk::open(&path).and_then(|disk| {
        let mode = disk.metadata()?.permissions().mode();
        disk.take(4096).read_to_end(&mut bytes)?;
        Ok(mode)
    });
    let what = match read {
        Err(error) => format!("cannot read {shown}: {error}; {REMEDY}"),
        Ok(mode) if mode & 0o077 != 0 => format!(
            "others can read {shown} (mode {:o}); run chmod 600 on it, or {REMEDY}",
            mode & 0o777
        ),
        Ok(_) if bytes.len() < SECRET_BYTES => {
            format!("{shown} has {} bytes, but a secret has {SECRET_BYTES}; {REMEDY}", bytes.len())
        }
        Ok(_) => return Secret::from_bytes(&bytes).map(|secret| (secret, path.clone())),
    };
    file.complain(KEY, what);
    None
}

fn ledger_file(file: &mut File<'_>, base: &Path) -> Option<PathBuf> {
    let path = base.join(file.section::<LedgerKeys>("ledger")?.file);
    // With Kafka the ledger is a topic.
    if !file.is_written("kafka.brokers") && !path.is_file() {
        let what = format!(
            "{} does not exist; a new one would forget what was spent. For a new feed make one with `tapveil init \
             DIR`, otherwise bring the old one back",
            path.display()
        );
        file.complain("ledger.file", what);
        return None;
    }
    Some(path)
}

fn calendar(file: &mut File<'_>, zone: TimeZone, window: &WindowKeys) -> Option<Calendar> {
    // The rest is checked with the length as it is written: all complaints come at once.
    let weeks = length(window);
    let length = weeks.clone().unwrap_or(window.length.0);
    let calendar = Calendar::new(zone, length, window.day_start.0, window.slot.0.as_secs());
    let wrong = calendar.as_ref().err().into_iter().flatten().cloned();
    let complaints: Vec<CalendarError> = weeks.err().into_iter().chain(wrong).collect();
    for complaint in &complaints {
        file.complain(complaint.key(), complaint);
    }
    calendar.ok().filter(|_| complaints.is_empty())
}

type Range = (Option<DateTime>, Option<DateTime>);

/// Which windows exist, as far as the file says so.
fn range(file: &mut File<'_>, calendar: &Calendar, window: &WindowKeys) -> Option<Range> {
    let mut moment = |key: &str, text: &Option<String>| {
        let Some(text) = text else { return Some(None) };
        let found = calendar.parse_moment(text);
        if found.is_none() {
            let what = format!(
                "{text:?} is not a date like \"2015-11-09\" or a time like \"2015-11-09T04:00\""
            );
            file.complain(key, what);
        }
        found.map(Some)
    };
    let (from, to) = (moment("window.from", &window.from), moment("window.to", &window.to));
    let (from, to) = (from?, to?);
    if from.zip(to).is_some_and(|(from, to)| from >= to) {
        file.complain("window.from", "must lie before window.to");
        return None;
    }
    Some((from, to))
}

/// How legs are made, and how long one takes at most. `has_kinds`: whether records say entry and exit, if known.
fn trips(file: &mut File<'_>, has_kinds: Option<bool>) -> Option<TripRule> {
    let TripKeys { from, longest } = file.section::<TripKeys>("trips")?;
    let usual = if file.is_written("feed.kind.field") { Legs::Kinds } else { Legs::Next };
    let legs = from.unwrap_or(usual);
    if legs == Legs::Kinds && has_kinds == Some(false) {
        let what = "\"kinds\" needs feed.kind, which says how records tell entry from exit; or use \"pairs\" or \"next\"";
        file.complain("trips.from", what);
    }
    let secs = u32::try_from(longest.0.as_secs()).unwrap_or(u32::MAX);
    Some(TripRule { from: legs, longest_secs: NonZeroU32::new(secs) })
}

/// The engine that `engine.name` says, built from its own section.
fn engine(
    file: &mut File<'_>,
    registry: &Registry,
    stations: &Option<Arc<Stations>>,
    calendar: &Option<Calendar>,
    window: &Option<WindowKeys>,
    trips: Option<TripRule>,
) -> Option<Arc<dyn Engine>> {
    let keys = file.section::<EngineKeys>("engine");
    let written = file.value("engine.name").and_then(Value::as_str);
    let name = written.unwrap_or(registry.default_name()).to_owned();
    let Some(registration) = registry.find(&name) else {
        unknown_engine(file, registry, &name);
        return None;
    };
    refuse_unpaid_epsilon(file, registration);
    let world = (|| {
        Some(World {
            epsilon: keys.as_ref()?.epsilon.0,
            max_length: window.as_ref()?.max_length.get(),
            slots_nominal: calendar.as_ref()?.slots_nominal(),
            stations: stations.as_ref()?.clone(),
            legs: trips?.from,
            longest_secs: trips?.longest_secs,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        })
    })();
    (registration.build)(&mut file.values(&format!("engine.{name}")), world.as_ref())
}

fn unknown_engine(file: &mut File<'_>, registry: &Registry, name: &str) {
    let known: Vec<String> = registry.names().iter().map(|name| format!("{name:?}")).collect();
    file.complain(
        "engine.name",
        format_args!("{name:?} is not an engine; use one of {}", known.join(", ")),
    );
}

/// An engine that suppresses costs no epsilon: one that is written would look as if it protected somebody.
fn refuse_unpaid_epsilon(file: &mut File<'_>, registration: &Registration) {
    if !registration.is_differential && file.is_written("engine.epsilon") {
        let what = format!(
            "belongs to engines that add noise; {} suppresses, promises no differential privacy and costs no \
             epsilon: leave it out",
            registration.name
        );
        file.complain("engine.epsilon", what);
    }
}

fn caps(file: &mut File<'_>) -> Option<Caps> {
    let (budget, horizon) =
        (file.section::<BudgetKeys>("budget"), file.section::<HorizonKeys>("budget.horizon"));
    let (budget, horizon) = (budget?, horizon?);
    let horizon = match (horizon.windows, horizon.cap) {
        (Some(windows), Some(cap)) => Some(Horizon { windows: windows.get().get(), cap: cap.0 }),
        (None, None) => None,
        _ => {
            let what = "needs both windows and cap: { windows = 7, cap = \"7.0\" }";
            file.complain("budget.horizon", what);
            return None;
        }
    };
    Some(Caps { lifetime: budget.lifetime.map(|cap| cap.0), horizon })
}

/// A cap below the price of one release would refuse every one.
fn check_prices(file: &mut File<'_>, engine: &dyn Engine, caps: &Caps) {
    let epsilon = engine.price().epsilon();
    let mut check = |key: &str, cap: Option<MicroEpsilon>| {
        if let Some(cap) = cap.filter(|cap| *cap < epsilon) {
            let what = format!(
                "is {cap}, less than engine.epsilon, {epsilon}: every release would be refused"
            );
            file.complain(key, what);
        }
    };
    check("budget.lifetime", caps.lifetime);
    check("budget.horizon.cap", caps.horizon.map(|horizon| horizon.cap));
}
