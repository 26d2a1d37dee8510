//! HTTP for operators: is it alive, is it ready, what are its numbers.
//!
//! In → out: `/livez`, `/readyz`, `/metrics`.
//! Promises: H-1 it never slows a worker: it only reads atomics and counters.
//! Refuses: addresses other machines can reach (held by the configuration).
//! Why: exact numbers are for the operator alone.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;

use crate::metrics::{Health, Metrics};

/// What the pages show.
pub struct Shown {
    /// The numbers.
    pub metrics: Metrics,
    /// Whether the workers do their work.
    pub health: Health,
    /// Whether this process ingests.
    pub ingests: bool,
    /// Whether this process releases.
    pub releases: bool,
    /// Set while draining.
    pub is_draining: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// Serves until `ended`. Gives the system's reason if the address cannot be had.
pub async fn serve(
    listen: SocketAddr,
    shown: Arc<Shown>,
    ended: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::bind(listen).await?;
    let ready = shown.clone();
    let router = Router::new()
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(move || async move { readiness(&ready) }))
        .route("/metrics", get(move || async move { metrics(&shown) }));
    axum::serve(listener, router).with_graceful_shutdown(ended).await
}

fn readiness(shown: &Shown) -> impl IntoResponse + use<> {
    let is_ready = shown.health.is_ready(shown.ingests, shown.releases);
    match (is_ready, (shown.is_draining)()) {
        (_, true) => (StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
        (false, _) => (StatusCode::SERVICE_UNAVAILABLE, "starting\n"),
        (true, false) => (StatusCode::OK, "ready\n"),
    }
}

fn metrics(shown: &Shown) -> impl IntoResponse + use<> {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shown.metrics.text())
}
