//! The log of `run`: one event a line, for people on a terminal and as JSON elsewhere.

use std::io::IsTerminal;

use tracing::Level;

use crate::config::{Log, LogFormat, LogLevel};
use crate::pipeline::{Event, Weight};

/// Starts the log; everything goes to standard error.
pub(super) fn start(log: Log) {
    let level = match log.level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
    };
    let is_terminal = std::io::stderr().is_terminal();
    let usual = if is_terminal { LogFormat::Text } else { LogFormat::Json };
    let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    // A line that cannot be written is lost; complaining about it on the same stream would be a panic.
    let lines = lines.log_internal_errors(false);
    // A second start in one process keeps the first: it says the same things.
    match log.format.unwrap_or(usual) {
        LogFormat::Text => lines.with_target(false).with_ansi(is_terminal).try_init().ok(),
        LogFormat::Json => lines.json().flatten_event(true).with_target(false).try_init().ok(),
    };
}

/// Writes an event.
pub(super) fn event(event: &Event) {
    let (name, window) = (event.name(), event.window().map(|window| window.name()));
    match event.weight() {
        Weight::Silent => {}
        Weight::Info => tracing::info!(event = name, window, "{event}"),
        Weight::Warning => tracing::warn!(event = name, window, "{event}"),
    }
}

/// Something that an operator may like to know.
pub(super) fn note(name: &str, text: &str) {
    tracing::info!(event = name, "{text}");
}
