//! `tapveil run`: the service on a real Kafka.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{COMMIT, ConfigArgument, Failure, VERSION, log};
use crate::clock::SystemClock;
use crate::config;
use crate::console::{self, Shown};
use crate::metrics::{Health, Metrics};
use crate::pipeline::run::{Role, Service, Stop};

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// What this process does
    #[arg(long, value_enum, default_value = "all")]
    role: RoleArgument,
    /// First window of a range: a date (its service day) or a local time; overrides window.from
    #[arg(long, value_name = "T", requires = "to")]
    from: Option<String>,
    /// Up to, without, this date or time; the service ends when the range is released
    #[arg(long, value_name = "T", requires = "from")]
    to: Option<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum RoleArgument {
    /// Taps to sealed parcels
    Ingest,
    /// Complete windows to releases
    Release,
    /// Both
    All,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let path: &PathBuf = &arguments.config.config;
    let mut settings = config::load(path)?;
    if let (Some(from), Some(to)) = (&arguments.from, &arguments.to) {
        settings.span = Some(super::sanitize::parse_span(&settings, from, to)?);
    }
    let settings = settings;
    let kafka = settings.required_kafka(path)?;
    let role = match arguments.role {
        RoleArgument::Ingest => Role::Ingest,
        RoleArgument::Release => Role::Release,
        RoleArgument::All => Role::All,
    };
    log::start(settings.live.log);
    let stop = Stop::default();
    let draining = stop.clone();
    let shown = Arc::new(Shown {
        metrics: Metrics::new(VERSION, COMMIT),
        health: Health::default(),
        ingests: role != Role::Release,
        releases: role != Role::Ingest,
        is_draining: Arc::new(move || draining.is_set()),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::external(format!("the system gives no event loop: {error}")))?;
    let ended = Arc::new(tokio::sync::Notify::new());
    let http = runtime.spawn(console::serve(settings.live.listen, shown.clone(), {
        let ended = ended.clone();
        async move { ended.notified().await }
    }));
    runtime.spawn(stop_on_signals(stop.clone()));
    let http_failed = AtomicBool::new(false);
    let service = Service {
        settings: &settings,
        kafka,
        role,
        version: VERSION,
        commit: COMMIT,
        clock: &SystemClock,
        metrics: &shown.metrics,
        health: &shown.health,
        hear: &|event| {
            if http.is_finished() && !http_failed.swap(true, Ordering::SeqCst) {
                let listen = settings.live.listen;
                log::warning(
                    "http",
                    &format!("nothing is served at {listen}: is the address taken?"),
                );
            }
            log::event(event);
        },
    };
    let done = crate::pipeline::run::run(&service, &stop);
    ended.notify_one();
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    done.map(|()| ExitCode::SUCCESS).map_err(|error| Failure::new(error.kind(), error))
}

/// The first signal drains, the second ends the process at once.
async fn stop_on_signals(stop: Stop) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if stop.is_set() {
            std::process::exit(130);
        }
        log::note("stopping", "stopping: committing what was read (once more to stop now)");
        stop.set();
    }
}
