//! The console beside a service: served from the first moment to the last, on a thread of its own.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::Failure;
use crate::console::{self, Shown};

/// The console while it is served.
pub(super) struct Serving {
    pub(super) runtime: Runtime,
    pub(super) address: SocketAddr,
    ended: Arc<Notify>,
}

impl Serving {
    /// Takes the address, or says that it cannot be had.
    pub(super) fn start(listen: SocketAddr, shown: Arc<Shown>) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::external(format!(
                "nothing can be served at {listen}: {error}; set http.listen to an address that is free"
            ))
        };
        let listener = TcpListener::bind(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| {
                Failure::external(format!("the system gives no event loop: {error}"))
            })?;
        let ended = Arc::new(Notify::new());
        let until = ended.clone();
        runtime.spawn(console::serve(listener, shown, async move { until.notified().await }));
        Ok(Self { runtime, address, ended })
    }

    /// Ends it; whoever still reads is not waited for.
    pub(super) fn end(self) {
        self.ended.notify_one();
        self.runtime.shutdown_timeout(Duration::from_secs(1));
    }
}
