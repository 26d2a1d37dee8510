//! Connections: how many, for how long, and who is still answered when there are too many.
//!
//! H-4: half a request holds a place for seconds, not for minutes. When all places are taken, a few more are for
//! questions about health alone; whoever asks for anything else there is told to come back. When those are taken too,
//! the oldest of them ends: who asks at once is answered, however many others say nothing.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::access;

/// How many, and for how long.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Connections that are served at a time; far below what a process may open.
    places: usize,
    /// Connections beyond them that are asked about health alone.
    spare: usize,
    /// A request's head comes in so long, also the next one on the same connection.
    head: Duration,
    /// The same where places are rare.
    head_spare: Duration,
    /// No connection lasts longer.
    longest: Duration,
}

impl Limits {
    pub(super) const USUAL: Self = Self {
        places: 256,
        spare: 32,
        head: Duration::from_secs(10),
        head_spare: Duration::from_secs(2),
        longest: Duration::from_secs(300),
    };
}

/// The longest head that is read.
const HEAD_BYTES: usize = 16 << 10;

/// Serves until `ended`.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    ended: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(limits.places));
    let mut spare: VecDeque<AbortHandle> = VecDeque::new();
    // Outermost: whoever answers, and be it with a refusal, answers with these headers.
    let headers = || middleware::from_fn(access::safe_headers);
    let health = router.clone().layer(middleware::from_fn(health_only)).layer(headers());
    let router = router.layer(headers());
    let mut ended = pin!(ended);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut ended => return,
        };
        let Ok((stream, _)) = accepted else {
            // Out of descriptors, most likely: some connection will end.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if let Ok(place) = places.clone().try_acquire_owned() {
            let served = serve_one(stream, router.clone(), limits.head, limits.longest);
            tokio::spawn(async move {
                served.await;
                drop(place);
            });
        } else {
            spare.retain(|task| !task.is_finished());
            while spare.len() >= limits.spare
                && let Some(oldest) = spare.pop_front()
            {
                oldest.abort();
            }
            let served = serve_one(stream, health.clone(), limits.head_spare, limits.longest);
            spare.push_back(tokio::spawn(served).abort_handle());
        }
    }
}

async fn serve_one(
    stream: tokio::net::TcpStream,
    router: Router,
    head: Duration,
    longest: Duration,
) {
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // However it ends, its place is free again; what went wrong is the client's to see.
    tokio::time::timeout(longest, serving).await.ok();
}

async fn health_only(request: Request, next: Next) -> Response {
    match request.uri().path() {
        "/livez" | "/readyz" => next.run(request).await,
        _ => (StatusCode::SERVICE_UNAVAILABLE, "too many connections; try again\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::{SocketAddr, TcpStream};

    use axum::routing::get;

    use super::*;

    fn asked(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Holds H-4.
    #[test]
    fn connections_without_requests_end_and_health_is_answered_beside_them() {
        let head = Duration::from_millis(2_000);
        let limits = Limits { places: 20, spare: 4, head, head_spare: head / 2, ..Limits::USUAL };
        let router = Router::new()
            .route("/livez", get(async || "alive\n"))
            .route("/", get(async || "the overview\n"));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(serve(listener, router, limits, std::future::pending()));
        assert!(asked(address, "/").ends_with("the overview\n"));

        let half = |_: usize| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: loc").unwrap();
            stream
        };
        let mut halves: Vec<TcpStream> = (0..20).map(half).collect();
        // They are accepted in order, so all of them before the next one.
        let alive = asked(address, "/livez");
        assert!(alive.starts_with("HTTP/1.1 200") && alive.ends_with("alive\n"), "{alive}");
        let busy = asked(address, "/");
        assert!(busy.starts_with("HTTP/1.1 503") && busy.contains("too many"), "{busy}");
        assert!(busy.contains("x-content-type-options: nosniff"), "{busy}");
        // Many more than there are places.
        halves.extend((0..60).map(half));
        let alive = asked(address, "/livez");
        assert!(alive.starts_with("HTTP/1.1 200") && alive.ends_with("alive\n"), "{alive}");
        let busy = asked(address, "/");
        assert!(busy.starts_with("HTTP/1.1 503") && busy.contains("too many"), "{busy}");

        for stream in &mut halves {
            stream.set_read_timeout(Some(head * 4)).unwrap();
            let ended = stream.read_to_end(&mut Vec::new());
            let is_over = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
            let is_over = ended.as_ref().map_or_else(is_over, |_| true);
            assert!(is_over, "half a request does not stay: {ended:?}");
        }
        assert!(asked(address, "/").ends_with("the overview\n"), "places are free again");
    }
}
