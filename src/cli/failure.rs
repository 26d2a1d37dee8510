//! How a command fails: one message, one exit code.

use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;

use crate::model::ErrorKind;

/// A command's failure.
#[derive(Debug)]
pub(super) struct Failure {
    kind: ErrorKind,
    error: anyhow::Error,
}

impl Failure {
    pub(super) fn new(kind: ErrorKind, error: impl Into<anyhow::Error>) -> Self {
        Self { kind, error: error.into() }
    }

    /// An outside system failed while doing something.
    pub(super) fn external(what: String) -> Self {
        Self { kind: ErrorKind::External, error: anyhow::Error::msg(what) }
    }

    /// Bad usage.
    pub(super) fn usage(what: String) -> Self {
        Self { kind: ErrorKind::Config, error: anyhow::Error::msg(what) }
    }

    /// Says what is wrong, once.
    pub(super) fn report(&self) -> ExitCode {
        self.say();
        ExitCode::from(self.code())
    }

    /// Says what is wrong and ends the process, whatever its other threads wait for.
    pub(super) fn end(&self) -> ! {
        self.say();
        std::process::exit(self.code().into())
    }

    fn say(&self) {
        remark(&format!("tapveil: {:#}", self.error));
    }

    fn code(&self) -> u8 {
        match self.kind {
            ErrorKind::Input | ErrorKind::Broken => 1,
            ErrorKind::Config => 2,
            ErrorKind::External => 3,
        }
    }
}

macro_rules! failure_from {
    ($($error:ty),+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(error.kind(), error)
            }
        })+
    };
}

failure_from!(
    crate::config::Error,
    crate::evaluate::Error,
    crate::kafka::Error,
    crate::ledger::Error,
    crate::pipeline::Error,
    crate::publish::Error
);

/// A text that a terminal shows and does not obey: names in it may be anybody's.
fn printable(text: &str) -> Cow<'_, str> {
    let obeyed = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    match text.contains(obeyed) {
        false => text.into(),
        true => text
            .split_inclusive('\n')
            .map(|line| match line.strip_suffix('\n') {
                Some(line) => one_line(line) + "\n",
                None => one_line(line),
            })
            .collect(),
    }
}

/// The same for what must be one line: a name with a line feed could pretend to be a finding.
pub(super) fn one_line(text: &str) -> String {
    let escaped = |letter: char| match letter.is_control() && letter != '\t' {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Prints a line of the result. A reader that went away (a closed pipe) wants no more of it: the work goes on, and ends
/// with the exit code that it would have had. A result that cannot be written for another reason is a failure.
pub(super) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = writeln!(out, "{}", printable(text)).and_then(|()| out.flush()) {
        cannot_write(&error);
    }
}

/// Ends the process for a result that could not be written, unless nobody wants it.
pub(super) fn cannot_write(error: &std::io::Error) {
    if error.kind() != std::io::ErrorKind::BrokenPipe {
        remark(&format!("tapveil: cannot write the result: {error}"));
        std::process::exit(3);
    }
}

/// Says something beside the result, on standard error. That nobody listens there ends no work.
pub(super) fn remark(text: &str) {
    writeln!(std::io::stderr().lock(), "{}", printable(text)).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        assert_eq!(printable("two\nlines\tand more"), "two\nlines\tand more");
        assert_eq!(printable("a\u{1b}[2J\nb\u{9b}c\n"), "a\\u{1b}[2J\nb\\u{9b}c\n");
        assert_eq!(one_line("x\ngood  everything\r"), "x\\ngood  everything\\r");
    }
}
