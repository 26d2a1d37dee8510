//! `tapveil check`: what a configuration means, and everything that is wrong with it.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::failure::say;
use super::{ConfigArgument, Failure, JSON_FORMAT, sample};
use crate::config::{self, Settings, Statement};
use crate::engine::{DEFAULT, ExpectedError, Figure, Forecast, Registry, ShareFact, USUAL_CARDS};
use crate::kafka;
use crate::ledger::Tail;
use crate::model::{Missed, Outline};
use crate::pipeline::books;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Print the page that the privacy officer signs
    #[arg(long, conflicts_with = "json")]
    statement: bool,
    /// Print a record for the registry of differential privacy deployments (JSON, which is YAML too)
    #[arg(long, conflicts_with_all = ["json", "statement"])]
    registry: bool,
    /// About how many cards a window has: says what a release of so many would be like, and refuses (exit 1) what would
    /// publish nothing. From the configuration alone; say a round number, not a count of your data
    #[arg(long, value_name = "N")]
    cards: Option<u64>,
    /// Try the configuration on these records: shows what becomes of each of the first thousand. For the operator alone
    #[arg(long, value_name = "FILE", conflicts_with_all = ["statement", "registry", "cards", "live"])]
    sample: Option<PathBuf>,
    /// Ask the brokers as `tapveil run` would: address, password, topics, the ledger
    #[arg(long)]
    live: bool,
}

/// What was spent, as far as it was asked.
struct Spent {
    /// `None`: it stands in a topic, and nobody asked the brokers.
    micro: Option<u64>,
    words: String,
    tail: Tail,
    /// What the brokers said.
    notes: Vec<String>,
}

/// A file is looked at always, a topic only with --live: a configuration can be checked where no broker is.
fn spent(settings: &Settings, arguments: &Arguments) -> Result<Spent, Failure> {
    let name = books::name(settings);
    if arguments.live {
        settings.required_kafka(&arguments.config.config)?;
    }
    if settings.kafka.is_some() && !arguments.live {
        books::refuse_second(settings)?;
        let words = format!("in the topic {name}; --live asks the brokers");
        return Ok(Spent { micro: None, words, tail: Tail::Whole, notes: Vec::new() });
    }
    let notes = if arguments.live { books::ask_brokers(settings)? } else { Vec::new() };
    let (book, tail) = books::book(settings)?;
    let words = format!("epsilon {} so far, in {name}", book.spent());
    Ok(Spent { micro: Some(book.spent().micro()), words, tail, notes })
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let settings = config::load_with(&arguments.config.config, registry)?;
    if arguments.statement {
        say(Statement::of(&settings).to_string().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = &arguments.sample {
        return sample::run(&settings, path.as_path(), arguments.json);
    }
    if arguments.registry {
        let record = config::deployment_record(&settings).ok_or_else(|| {
            Failure::usage(format!(
                "{} promises no differential privacy: there is nothing to register",
                settings.engine.describe().name
            ))
        })?;
        say(&format!("{record:#}"));
        return Ok(ExitCode::SUCCESS);
    }
    let spent = spent(&settings, arguments)?;
    let forecast = settings
        .engine
        .forecast(settings.calendar.slots_nominal(), arguments.cards.unwrap_or(USUAL_CARDS));
    let verdict =
        arguments.cards.and_then(|cards| would_publish_nothing(&settings, &forecast, cards));
    match arguments.json {
        true => {
            let mut json = as_json(&settings, &forecast, spent.micro);
            json["publishes_nothing"] = json!(verdict);
            say(&json.to_string());
        }
        false => {
            say_settings(&settings, &forecast, &spent);
            say(verdict.as_deref().unwrap_or("the configuration is good"));
        }
    }
    Ok(ExitCode::from(u8::from(verdict.is_some())))
}

/// Why a window of so many cards would come out as noise alone, and what would help.
fn would_publish_nothing(settings: &Settings, forecast: &Forecast, cards: u64) -> Option<String> {
    let error = forecast.expected_error.as_ref()?;
    let get = |name| error.get(name).unwrap_or(0.0);
    let needed = get(ExpectedError::LIKELY_KEPT).max(get(ExpectedError::DEVIATION));
    if needed < cards as f64 {
        return None;
    }
    let price = settings.engine.price().epsilon();
    let factor = (needed / cards.max(1) as f64 * 2.0).ceil();
    let epsilon = price.micro() as f64 / 1e6 * factor;
    let other = match settings.engine.describe().name {
        DEFAULT => "wider slots, a longer window".to_owned(),
        _ => format!("engine.name = {DEFAULT:?}, a longer window, wider slots, a lower height"),
    };
    Some(format!(
        "a window of {cards} cards would publish nothing but noise: what has fewer than about {needed:.0} cards does not \
         show. What would: {other}, or an epsilon of about {epsilon}"
    ))
}

/// When `run` releases, and what it makes up for.
fn due_words(settings: &Settings) -> String {
    let schedule = &settings.release.schedule;
    let due = match schedule.is_at_once() {
        true => "as soon as a window is complete".to_owned(),
        false => format!("due {schedule}"),
    };
    match schedule.missed {
        Missed::All => format!("{due}; after a downtime all that were missed, in order"),
        Missed::Within(late) => {
            format!("{due}; one that is late by more than {late:#} is not made, and costs nothing")
        }
    }
}

fn say_settings(settings: &Settings, forecast: &Forecast, spent: &Spent) {
    let engine = settings.engine.describe();
    let calendar = &settings.calendar;
    say(&format!("configuration  {}", settings.digest));
    say(&format!(
        "windows        {} long, {} slots of {}s, {}",
        config::window_length(calendar.length()),
        calendar.slots_nominal(),
        calendar.slot_secs(),
        calendar.zone().iana_name().unwrap_or("UTC")
    ));
    say(&format!("releases       {}", due_words(settings)));
    say(&format!("stations       {}", settings.stations.len()));
    say(&format!("engine         {}, revision {}", engine.name, engine.version));
    for (name, value) in &engine.parameters {
        say(&format!("  {name:<20} {value}"));
    }
    if let Some(advice) = recommended(settings) {
        say(&format!("recommended    {advice}"));
    }
    for outline in settings.engine.taxonomies(calendar.slots_nominal()) {
        say_taxonomy(&outline);
    }
    say_forecast(forecast);
    say(&format!("spent          {}", spent.words));
    if let Some(kafka) = &settings.kafka {
        say_kafka(kafka);
    }
    if let Tail::Torn(bytes) = spent.tail {
        say(&format!(
            "note: the ledger ends in a torn record of {bytes} bytes; the next run drops it"
        ));
    }
    for note in &spent.notes {
        say(&format!("brokers: {note}"));
    }
    for warning in &settings.warnings {
        say(&format!("warning: {warning}"));
    }
}

/// What was measured to be better, for an engine with noise that is not the default (decision 0016).
fn recommended(settings: &Settings) -> Option<String> {
    let is_other = settings.engine.describe().name != DEFAULT;
    (is_other && settings.engine.price().is_differential()).then(|| {
        format!(
            "engine.name = {DEFAULT:?}: closer to the truth on the cities that were measured; see for yourself with \
             tapveil generate --like and tapveil compare"
        )
    })
}

/// A taxonomy as a tree. A large city has hundreds of groups; a page of them is enough to see what is meant.
fn say_taxonomy(outline: &Outline) {
    const LINES: usize = 40;
    let Outline { key, groups, height, leaves, .. } = outline;
    say(&format!("{key:<20} {leaves} leaves, {groups} groups, height {height}"));
    for line in outline.drawing(LINES) {
        say(&format!("  {line}"));
    }
}

fn say_forecast(forecast: &Forecast) {
    if !forecast.shares.is_empty() {
        say(&format!("budget split   {}", forecast.shares_of));
        say(&format!("  {:<38} {:>12} {:>14} {:>9}", "class", "share", "noise scale", "threshold"));
    }
    for ShareFact { class, share, scale, threshold } in &forecast.shares {
        say(&format!("  {class:<38} {share:>12} {scale:>14} {threshold:>9}"));
    }
    let figures = forecast.expected_error.iter().flat_map(|error| &error.figures);
    for Figure { value, about, .. } in figures {
        say(&format!("expect         {value:.4} {about}"));
    }
}

fn say_kafka(settings: &kafka::Settings) {
    let kafka::Settings { brokers, group, topics, .. } = settings;
    say(&format!(
        "kafka          {brokers}, group {group} ({}), instance {}, flush {} s, connect timeout {} s",
        settings.protocol.name(),
        settings.instance.as_deref().unwrap_or("kept beside the secret"),
        settings.flush.as_secs(),
        settings.connect_timeout.as_secs()
    ));
    say(&format!(
        "  topics               {} {} {} {} {}",
        topics.taps, topics.segments, topics.ledger, topics.releases, topics.rejects
    ));
    for property in &settings.properties {
        say(&format!("  {:<20} {}", property.name(), property.shown()));
    }
}

fn kafka_as_json(settings: &kafka::Settings) -> Value {
    let properties: serde_json::Map<String, Value> = settings
        .properties
        .iter()
        .map(|property| (property.name().to_owned(), json!(property.shown())))
        .collect();
    let topics = &settings.topics;
    json!({
        "brokers": settings.brokers, "group": settings.group, "instance": settings.instance,
        "protocol": settings.protocol.name(), "flush_seconds": settings.flush.as_secs(),
        "connect_timeout_seconds": settings.connect_timeout.as_secs(),
        "topics": {
            "taps": topics.taps, "segments": topics.segments, "ledger": topics.ledger,
            "releases": topics.releases, "rejects": topics.rejects,
        },
        "properties": properties,
    })
}

fn as_json(settings: &Settings, forecast: &Forecast, spent_micro: Option<u64>) -> Value {
    let engine = settings.engine.describe();
    let parameters: serde_json::Map<String, Value> =
        engine.parameters.into_iter().map(|(name, value)| (name, json!(value))).collect();
    json!({
        "format": JSON_FORMAT,
        "config_sha256": settings.digest,
        "slots": settings.calendar.slots_nominal(),
        "releases": due_words(settings),
        "stations": settings.stations.len(),
        "engine": { "name": engine.name, "version": engine.version, "parameters": parameters },
        "taxonomies": settings.engine.taxonomies(settings.calendar.slots_nominal()),
        "shares": forecast.shares,
        "expected_error": forecast.expected_error,
        "spent_micro": spent_micro,
        "kafka": settings.kafka.as_ref().map(kafka_as_json),
        "recommended": recommended(settings), "warnings": settings.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
