//! The checks of what only a live feed needs: how windows close, where releases go, where it can be watched.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;

use super::reader::Reader;
use crate::model::Calendar;
use crate::seal::Closing;

const MONTH_SECS: i64 = 31 * 86_400;

/// What only `run` needs.
#[derive(Clone, Debug)]
pub struct Live {
    /// How windows close.
    pub closing: Closing,
    /// From when on windows exist; `None`: from the first whole one after the ledger was opened.
    pub from: Option<DateTime>,
    /// Where releases go as files, beside the topic.
    pub release_dir: Option<PathBuf>,
    /// Earliest time of day for a release, in seconds after midnight.
    pub not_before_secs: Option<i64>,
    /// Where health and metrics are served.
    pub listen: SocketAddr,
    /// What operators show to see exact numbers; never printed.
    pub token: Option<SecretText>,
    /// How the log is written.
    pub log: Log,
}

/// How the log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Log {
    /// As JSON, as text, or as fits where it goes.
    pub format: Option<LogFormat>,
    /// What is left out.
    pub level: LogLevel,
}

/// One event a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// The least that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogLevel {
    /// Only what failed.
    Error,
    /// And what somebody should look at.
    Warn,
    /// And what happens.
    Info,
}

fn log(reader: &mut Reader) -> Option<Log> {
    let formats = [("text", LogFormat::Text), ("json", LogFormat::Json)];
    let format = match reader.value("log.format") {
        None => Some(None),
        Some(_) => reader.word("log.format", &formats).map(Some),
    };
    let levels = [("error", LogLevel::Error), ("warn", LogLevel::Warn), ("info", LogLevel::Info)];
    let level = reader.word("log.level", &levels);
    Some(Log { format: format?, level: level? })
}

pub(super) fn live(reader: &mut Reader, base: &Path, calendar: Option<&Calendar>) -> Option<Live> {
    let grace = reader.duration("window.grace", MONTH_SECS);
    let clock_margin = reader.duration("window.clock_margin", MONTH_SECS);
    let disorder = reader.duration("window.disorder", MONTH_SECS);
    let by_arrival = reader.word("window.close", &[("arrival", true), ("watermark", false)]);
    let release_dir = reader.value("release.dir").and_then(|_| reader.text("release.dir"));
    let not_before =
        reader.value("release.not_before").and_then(|_| reader.time_of_day("release.not_before"));
    let token = token(reader, base);
    let listen = listen(reader);
    let log = log(reader);
    let closing = match by_arrival? {
        true => Closing::Arrival { grace: grace?, clock_margin: clock_margin? },
        false => Closing::Watermark { disorder: disorder? },
    };
    let from = reader
        .value("window.from")
        .and_then(|value| calendar?.parse_moment(value.as_str().unwrap_or_default()));
    let release_dir = release_dir.map(|dir| base.join(dir));
    Some(Live {
        closing,
        from,
        release_dir,
        not_before_secs: not_before,
        listen: listen?,
        token: token?,
        log: log?,
    })
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

/// The token in the configured file; `None` if it was complained about.
fn token(reader: &mut Reader, base: &Path) -> Option<Option<SecretText>> {
    const KEY: &str = "http.token_file";
    const SHORTEST: usize = 16;
    if reader.value(KEY).is_none() {
        return Some(None);
    }
    let path = base.join(reader.text(KEY)?);
    let what = match std::fs::read_to_string(&path) {
        Err(error) => format!("cannot read {}: {error}", path.display()),
        Ok(text) => {
            let token = text.trim();
            if token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Some(Some(SecretText(token.to_owned())));
            }
            format!("{} must hold one word of at least {SHORTEST} letters", path.display())
        }
    };
    reader.complain(KEY, what);
    None
}

/// Exact numbers are served there: other machines may ask only with a token.
fn listen(reader: &mut Reader) -> Option<SocketAddr> {
    let text = reader.text("http.listen")?;
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() || reader.is_written("http.token_file") => {
            Some(address)
        }
        Ok(_) => {
            let what = format!(
                "{text:?} can be reached from other machines, and /metrics shows exact numbers: set http.token_file, or \
                 serve this machine alone, like \"127.0.0.1:9464\""
            );
            reader.complain("http.listen", what);
            None
        }
        Err(_) => {
            reader.complain(
                "http.listen",
                format_args!("{text:?} is not an address like \"127.0.0.1:9464\""),
            );
            None
        }
    }
}
