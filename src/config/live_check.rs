//! The checks of what only a live feed needs: how windows close, where releases go, where it can be watched.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use super::file::File;
use super::keys::{Close, HttpKeys, LogFormat, LogKeys, LogLevel, ReleaseKeys, WindowKeys};
use super::schedule::schedule;
use crate::model::Schedule;
use crate::publish::Place;
use crate::seal::Closing;

/// The words of a release, and where it goes.
#[derive(Clone, Debug)]
pub struct ReleaseSettings {
    /// Title of the data package.
    pub title: String,
    /// Its licence; may be empty.
    pub licence: String,
    /// Who answers questions; may be empty.
    pub contact: String,
    /// What releases are for; may be empty.
    pub purpose: String,
    /// Who gets them; may be empty.
    pub recipients: String,
    /// How long raw taps are kept; may be empty.
    pub retention: String,
    /// Digest of the statement that the privacy officer has signed.
    pub approved: Option<String>,
    /// Where `run` puts releases, beside the topic.
    pub place: Option<Place>,
    /// When releases of `run` are due.
    pub schedule: Schedule,
}

/// Where `run` can be watched.
#[derive(Clone, Debug)]
pub struct Http {
    /// Where health and metrics are served.
    pub listen: SocketAddr,
    /// What operators show to see exact numbers; never printed.
    pub token: Option<SecretText>,
}

/// How the log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Log {
    /// As JSON, as text, or as fits where it goes.
    pub format: Option<LogFormat>,
    /// What is left out.
    pub level: LogLevel,
}

pub(super) fn log(file: &mut File<'_>) -> Option<Log> {
    let keys = file.section::<LogKeys>("log")?;
    Some(Log { format: keys.format, level: keys.level })
}

pub(super) fn closing(window: &WindowKeys) -> Closing {
    match window.close {
        Close::Arrival => {
            Closing::Arrival { grace: window.grace.0, clock_margin: window.clock_margin.0 }
        }
        Close::Watermark => Closing::Watermark { disorder: window.disorder.0 },
    }
}

pub(super) fn release(
    file: &mut File<'_>,
    base: &Path,
    close: Option<Close>,
) -> Option<ReleaseSettings> {
    let keys = file.section::<ReleaseKeys>("release")?;
    let schedule = schedule(file, &keys, close);
    let place = match keys.dir.as_ref().map(|dir| Place::new(dir, base)).transpose() {
        Ok(place) => place,
        Err(what) => {
            file.complain("release.dir", what);
            return None;
        }
    };
    Some(ReleaseSettings {
        title: keys.title,
        licence: keys.licence,
        contact: keys.contact,
        purpose: keys.purpose,
        recipients: keys.recipients,
        retention: keys.retention,
        approved: keys.approved,
        place,
        schedule: schedule?,
    })
}

pub(super) fn http(file: &mut File<'_>, base: &Path) -> Option<Http> {
    let keys = file.section::<HttpKeys>("http")?;
    let token = match &keys.token_file {
        None => Some(None),
        Some(name) => token(file, &base.join(name)).map(Some),
    };
    let listen = keys.listen.0;
    // Exact numbers are served there: other machines may ask only with a token.
    if !listen.ip().is_loopback() && keys.token_file.is_none() {
        let what = format!(
            "\"{listen}\" can be reached from other machines, and /metrics shows exact numbers: set http.token_file, \
             or serve this machine alone, like \"127.0.0.1:9464\""
        );
        file.complain("http.listen", what);
        return None;
    }
    Some(Http { listen, token: token? })
}

/// Text that is never shown.
#[derive(Clone)]
pub struct SecretText(String);

impl SecretText {
    /// The text itself, for whoever compares with it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(***)")
    }
}

/// The token in the configured file.
fn token(file: &mut File<'_>, path: &Path) -> Option<SecretText> {
    const SHORTEST: usize = 16;
    let what = match std::fs::read_to_string(path) {
        Err(error) => format!("cannot read {}: {error}", path.display()),
        Ok(text) => {
            let token = text.trim();
            if token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Some(SecretText(token.to_owned()));
            }
            format!("{} must hold one word of at least {SHORTEST} letters", path.display())
        }
    };
    file.complain("http.token_file", what);
    None
}
