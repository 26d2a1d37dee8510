//! HTTP for operators, officers and whoever wants to see: alive, ready, numbers, windows, releases, budget.
//!
//! In → out: what workers wrote on the status, and the releases on disk → pages, JSON, metrics.
//! Promises: H-1 it never slows a worker: it reads copies; H-2 whatever shows more than a release does is marked as the
//!   operator's, and asks for the token where other machines can reach it; H-3 no name in a request reaches the disk.
//! Refuses: addresses other machines can reach without a token (held by the configuration).
//! Why: exact numbers are for the operator alone.

mod access;
mod api;
mod connections;
mod pages;
mod release_page;
mod windows;

pub use access::Token;

use std::collections::BTreeMap;
use std::future::Future;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;
use crate::metrics::{Board, Health, Metrics, Status};
use crate::model::{Calendar, MicroEpsilon, Schedule, Window, WindowId};
use crate::publish::catalog::{self, Followed};

/// Pages of releases that are kept ready.
const PAGES_KEPT: usize = 32;

/// What the pages show.
pub struct Shown {
    /// The numbers.
    pub metrics: Metrics,
    /// Whether the workers do their work.
    pub health: Health,
    /// Windows and budget.
    pub status: Status,
    /// How far each window is.
    pub board: Board,
    /// What does not change.
    pub facts: Facts,
    /// Whether this process ingests.
    pub ingests: bool,
    /// Whether this process releases.
    pub releases: bool,
    /// Set while draining.
    pub is_draining: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Releases that were opened before.
    pub opened: Opened,
    /// A worker that is at one thing for so long is not alive.
    pub stall_timeout: Duration,
}

/// What does not change while the service runs; all of it from the configuration.
pub struct Facts {
    pub feed: String,
    /// The title of its releases.
    pub title: String,
    /// Its windows.
    pub calendar: Calendar,
    /// Windows from `.0` to before `.1` exist, where a range is configured.
    pub range: Option<(WindowId, WindowId)>,
    /// Taps of a window count until so long after its end; `None`: the taps' own progress closes windows.
    pub closes_after: Option<SignedDuration>,
    /// When releases are due.
    pub schedule: Schedule,
    /// Where releases lie as files.
    pub release_dir: Option<PathBuf>,
    /// Cap over everything.
    pub lifetime: Option<MicroEpsilon>,
    /// Cap over so many windows in a row.
    pub horizon: Option<(u32, MicroEpsilon)>,
    /// What one release costs.
    pub price: MicroEpsilon,
    /// The engine with its parameters.
    pub engine: (String, Vec<(String, String)>),
    /// What the privacy officer signs.
    pub statement: String,
    /// Who may see exact numbers; `None`: whoever reaches this address, which is this machine alone.
    pub token: Option<Token>,
    /// Something everybody should know about this process.
    pub note: Option<&'static str>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

impl Facts {
    fn exists(&self, window: WindowId) -> bool {
        self.range.is_none_or(|(first, past)| first <= window && window < past)
    }

    /// When a window's release can be expected, as far as clocks decide that.
    fn expected(&self, window: &Window) -> Timestamp {
        let closes_after = self.closes_after.unwrap_or_default();
        self.schedule.expected(&self.calendar, window, closes_after)
    }

    #[cfg(test)]
    fn for_test(calendar: Calendar) -> Self {
        Self {
            feed: "test".to_owned(),
            title: "Trips".to_owned(),
            calendar,
            range: None,
            closes_after: Some(SignedDuration::from_secs(10)),
            schedule: Schedule::default(),
            release_dir: None,
            lifetime: None,
            horizon: None,
            price: MicroEpsilon::new(1),
            engine: ("safepath".to_owned(), Vec::new()),
            statement: String::new(),
            token: None,
            note: None,
            clock: Arc::new(crate::clock::SystemClock),
        }
    }
}

type Fingerprint = Vec<(u64, SystemTime)>;

/// Releases that were opened before, by name. One that was touched since is opened again, and so checked again.
#[derive(Default)]
pub struct Opened {
    followed: Followed,
    pages: Mutex<BTreeMap<String, (Fingerprint, Arc<catalog::Opened>)>>,
}

impl Opened {
    fn open(&self, dir: &std::path::Path, name: &str) -> Option<Arc<catalog::Opened>> {
        let print = self.followed.fingerprint(dir, name)?;
        let kept = || self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, opened)) = kept().get(name)
            && *before == print
        {
            return Some(opened.clone());
        }
        let opened = Arc::new(self.followed.open(dir, name)?);
        let mut kept = kept();
        while kept.len() >= PAGES_KEPT {
            kept.pop_first();
        }
        kept.insert(name.to_owned(), (print, opened.clone()));
        Some(opened)
    }
}

/// Serves until `ended`.
pub async fn serve(
    listener: TcpListener,
    shown: Arc<Shown>,
    ended: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let is_loopback = listener.local_addr()?.ip().is_loopback();
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let router =
        router(shown).layer(middleware::from_fn_with_state(is_loopback, access::known_host));
    connections::serve(listener, router, connections::Limits::USUAL, ended).await;
    Ok(())
}

fn router(shown: Arc<Shown>) -> Router {
    let operators = Router::new()
        .route("/metrics", get(metrics))
        .route("/windows", get(async |State(shown): Shared| pages::windows(&shown)))
        .route("/api/v1/windows", get(async |State(shown): Shared| api::windows(&shown)))
        .layer(middleware::from_fn_with_state(shown.clone(), access::operators_only));
    let public = Router::new()
        .route("/livez", get(async |State(shown): Shared| liveness(&shown)))
        .route("/readyz", get(async |State(shown): Shared| readiness(&shown)))
        .route("/", get(overview))
        .route("/style.css", get(style))
        .route("/budget", get(async |State(shown): Shared| pages::budget(&shown)))
        .route("/statement", get(async |State(shown): Shared| pages::statement(&shown)))
        .route(
            "/releases",
            get(async |State(shown): Shared| pages::releases(&shown, &listed(shown.clone()).await)),
        )
        .route("/releases/{name}", get(release))
        .route("/releases/{name}/{file}", get(file))
        .route(
            "/api/v1/releases",
            get(async |State(shown): Shared| api::releases(&listed(shown).await)),
        )
        .route("/api/v1/releases/{name}", get(release_as_json))
        .route("/api/v1/budget", get(async |State(shown): Shared| api::budget(&shown)))
        .fallback(async |State(shown): Shared| (StatusCode::NOT_FOUND, pages::not_found(&shown)));
    public.merge(operators).layer(middleware::from_fn(access::in_time)).with_state(shown)
}

type Shared = State<Arc<Shown>>;

/// Answered from memory: no disk, no broker, no lock that anybody holds for long.
fn liveness(shown: &Shown) -> impl IntoResponse + use<> {
    match shown.health.is_alive(shown.stall_timeout) {
        true => (StatusCode::OK, "alive\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "a worker has failed or makes no progress\n"),
    }
}

fn readiness(shown: &Shown) -> impl IntoResponse + use<> {
    let is_ready = shown.health.is_ready(shown.ingests, shown.releases);
    match (is_ready, (shown.is_draining)()) {
        (_, true) => (StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
        (false, _) => (StatusCode::SERVICE_UNAVAILABLE, "starting\n"),
        (true, false) => (StatusCode::OK, "ready\n"),
    }
}

/// Operators see more of it.
async fn overview(State(shown): Shared, headers: HeaderMap) -> impl IntoResponse {
    let found = listed(shown.clone()).await;
    pages::overview(&shown, &found, access::is_operator(&shown, &headers))
}

/// The releases of the directory; looked at away from the thread that answers.
async fn listed(shown: Arc<Shown>) -> Vec<catalog::ReleaseSummary> {
    let look = move || {
        let dir = shown.facts.release_dir.as_deref()?;
        Some(shown.opened.followed.list(dir))
    };
    tokio::task::spawn_blocking(look).await.ok().flatten().unwrap_or_default()
}

async fn metrics(State(shown): Shared) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shown.metrics.text())
}

async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("style.css"))
}

/// Opens a release away from the thread that answers: a large one takes a moment.
async fn opened(shown: Arc<Shown>, name: String) -> Option<Arc<catalog::Opened>> {
    tokio::task::spawn_blocking(move || {
        let dir = shown.facts.release_dir.as_deref()?;
        shown.opened.open(dir, &name)
    })
    .await
    .ok()?
}

async fn release(State(shown): Shared, Path(name): Path<String>) -> Response {
    match opened(shown.clone(), name.clone()).await {
        Some(opened) => release_page::page(&shown, &name, &opened).into_response(),
        None => (StatusCode::NOT_FOUND, pages::not_found(&shown)).into_response(),
    }
}

async fn release_as_json(State(shown): Shared, Path(name): Path<String>) -> Response {
    match opened(shown, name).await {
        Some(opened) => api::release(&opened).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A file of a release, unless something is wrong with the release.
async fn file(State(shown): Shared, Path((name, file)): Path<(String, String)>) -> Response {
    let not_found = || (StatusCode::NOT_FOUND, pages::not_found(&shown)).into_response();
    match opened(shown.clone(), name.clone()).await {
        None => return not_found(),
        Some(opened) if !opened.problems.is_empty() => {
            let what = "this release was changed after it was published; it is not handed out\n";
            return (StatusCode::CONFLICT, what).into_response();
        }
        Some(_) => {}
    }
    let reader = shown.clone();
    let wanted = file.clone();
    let bytes = tokio::task::spawn_blocking(move || {
        reader.opened.followed.file(reader.facts.release_dir.as_deref()?, &name, &wanted)
    });
    let Ok(Some(bytes)) = bytes.await else { return not_found() };
    let kind = match file.rsplit('.').next() {
        Some("json") => "application/json",
        Some("csv") => "text/csv; charset=utf-8",
        Some("md") => "text/markdown; charset=utf-8",
        _ => "application/octet-stream",
    };
    let mut answer = ([(header::CONTENT_TYPE, kind)], bytes).into_response();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{file}\"")) {
        answer.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    answer
}

/// Whoever takes longer to ask or to be answered is cut off.
const PATIENCE: Duration = Duration::from_secs(30);
