//! `tapveil run`: the service on a real Kafka.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::serving::Serving;
use super::{COMMIT, ConfigArgument, Failure, VERSION, log};
use crate::clock::SystemClock;
use crate::config::{self, Settings, Statement, Warning};
use crate::console::{Facts, Opened, Shown, Token};
use crate::engine::Registry;
use crate::metrics::{Board, Health, Metrics, Status};
use crate::pipeline::Observers;
use crate::pipeline::run::{Name, Role, Service, Stop};
use crate::publish::Place;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// What this process does
    #[arg(long, value_parser = role_parser(), default_value = "all")]
    role: Role,
    /// First window of a range: a date (its service day) or a local time; overrides window.from
    #[arg(long, value_name = "T", requires = "to")]
    from: Option<String>,
    /// Up to, without, this date or time; the service ends when the range is released
    #[arg(long, value_name = "T", requires = "from")]
    to: Option<String>,
}

/// Takes the name of a role.
fn role_parser() -> impl TypedValueParser<Value = Role> {
    let names = Role::NAMED.map(|(_, name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(names).try_map(|given| {
        let named = Role::NAMED.into_iter().find(|(_, name, _)| *name == given);
        named.map(|(role, ..)| role).ok_or("not a role")
    })
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let path: &PathBuf = &arguments.config.config;
    let mut settings = config::load_with(path, registry)?;
    if let (Some(from), Some(to)) = (&arguments.from, &arguments.to) {
        let span = super::sanitize::parse_span(&settings, from, to)?;
        (settings.from, settings.to) = (Some(span.from), Some(span.to));
    }
    let settings = settings;
    settings.require_approval()?;
    let kafka = settings.required_kafka(path)?;
    let role = arguments.role;
    log::start(settings.log);
    let stop = Stop::default();
    let console = Console::start(&settings, role, None, &stop)?;
    console.serving.runtime.spawn(stop_on_signals(stop.clone()));
    log::note("console", &format!("console at http://{}/", console.serving.address));
    for warning in settings.warnings.iter().filter(|one| matches!(one, Warning::Exposed { .. })) {
        log::note("exposed", &format!("warning: {warning}"));
    }
    let name = Name::of(kafka, &settings.secret_file);
    if let Some(error) = name.lost_with_us() {
        log::note(
            "name",
            &format!(
                "warning: no name for this worker can be kept beside the secret ({error}): if it dies, nobody can end \
                 what it left open. Set kafka.instance"
            ),
        );
    }
    let service = Service {
        settings: &settings,
        kafka,
        name,
        role,
        version: VERSION,
        commit: COMMIT,
        clock: &SystemClock,
        health: &console.shown.health,
        last_words: &last_words,
        observers: Observers {
            metrics: &console.shown.metrics,
            status: &console.shown.status,
            board: &console.shown.board,
            log: &log::event,
        },
    };
    let done = crate::pipeline::run::run(&service, &stop);
    console.serving.end();
    done.map(|()| ExitCode::SUCCESS).map_err(|error| Failure::new(error.kind(), error))
}

/// Ends the process while workers of it still wait for brokers.
pub(super) fn last_words(done: Result<(), &crate::pipeline::Error>) {
    match done {
        Ok(()) => std::process::exit(0),
        Err(error) => Failure::new(error.kind(), anyhow::Error::msg(error.to_string())).end(),
    }
}

/// The console and what it shows.
pub(super) struct Console {
    pub(super) shown: Arc<Shown>,
    pub(super) serving: Serving,
}

impl Console {
    /// Serves it at `http.listen`.
    pub(super) fn start(
        settings: &Settings,
        role: Role,
        note: Option<&'static str>,
        stop: &Stop,
    ) -> Result<Self, Failure> {
        let draining = stop.clone();
        let shown = Arc::new(Shown {
            metrics: Metrics::new(VERSION, COMMIT),
            health: Health::default(),
            status: Status::default(),
            board: Board::default(),
            facts: Facts { note, ..facts(settings) },
            ingests: role.ingests(),
            releases: role.releases(),
            is_draining: Arc::new(move || draining.is_set()),
            opened: Opened::default(),
            stall_timeout: settings
                .kafka
                .as_ref()
                .map_or(std::time::Duration::from_secs(300), |kafka| kafka.stall_timeout),
        });
        let serving = Serving::start(settings.http.listen, shown.clone())?;
        Ok(Self { shown, serving })
    }
}

/// The first signal drains, the second ends the process at once. USR1 asks what every worker is doing.
pub(super) async fn stop_on_signals(stop: Stop) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut question)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::user_defined1()),
    ) else {
        return;
    };
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = question.recv() => {
                stop.ask_what_is_done();
                continue;
            }
        }
        if stop.is_asked() {
            std::process::exit(130);
        }
        log::note("stopping", "stopping: committing what was read (once more to stop now)");
        stop.ask();
    }
}

/// What the console knows from the configuration.
fn facts(settings: &Settings) -> Facts {
    let ends = settings.span().and_then(|span| settings.calendar.ends_within(&span));
    let range = ends.and_then(|(first, last)| Some((first, last.next()?)));
    let engine = settings.engine.describe();
    Facts {
        feed: settings.feed.id.clone(),
        title: settings.release.title.clone(),
        calendar: settings.calendar.clone(),
        range,
        closes_after: settings.closing.closes_after(),
        schedule: settings.release.schedule.clone(),
        release_dir: settings.release.place.as_ref().and_then(Place::directory).map(Path::to_owned),
        lifetime: settings.caps.lifetime,
        horizon: settings.caps.horizon.map(|horizon| (horizon.windows, horizon.cap)),
        price: settings.engine.price().epsilon(),
        engine: (engine.name.to_owned(), engine.parameters),
        statement: Statement::of(settings).to_string(),
        token: settings.http.token.as_ref().and_then(|token| Token::new(token.reveal())),
        note: None,
        clock: Arc::new(SystemClock),
    }
}
