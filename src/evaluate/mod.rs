//! Releases read back and judged beside the window they were made from.
//!
//! In → out: release directories, settings and a file of taps → one [`Judged`] per window, and a page of it.
//! Promises: U-1 nothing is booked, and nothing is written into a release; U-2 every release is verified before it is
//!   believed, and every complaint comes before any tap is read.
//! Refuses: a release of another window, of other stations or slots, one that was changed, one that says nothing.
//! Why: what `sanitize` published is judged as it lies there, not as the engine meant it.

mod compare;
mod page;
mod release;
pub mod reproduce;
mod window;

pub use compare::{CHOSEN_BY, Cache, Summary, Variant, Watch, compare, summaries};
pub use page::{comparison_page, page};
pub use release::{Published, read};
pub use tapveil_core::evaluate::{Better, Group, Judge, Metric, SavedQuery, Score, Terms, risk};
pub use window::{Asked, Column, Judged, judge};

use crate::ingest;
use crate::model::ErrorKind;

/// Why a release cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not what was published.
    #[error("{path} is not as it was published ({what}): get an intact copy; nothing was judged")]
    Changed { path: String, what: String },
    /// There is no release.
    #[error("{path} holds no release; name a release's directory, or one with releases in it")]
    NoRelease { path: String },
    /// It belongs to something else.
    #[error("{path} {what}; {remedy}")]
    Foreign { path: String, what: String, remedy: &'static str },
    /// The file has nothing to compare with.
    #[error(
        "no tap of {taps} lies in window {window}: judge the release with the taps that it was made from"
    )]
    NoTaps { taps: String, window: String },
    /// The file has nothing to compare on.
    #[error("no tap of {taps} counts: there is nothing to compare engines on")]
    NoTap { taps: String },
    /// A file cannot be read or written.
    #[error("cannot {what} {path}: {error}")]
    Io { what: &'static str, path: String, error: std::io::Error },
    /// The page would be published with a release.
    #[error(
        "--html {path} lies in a release's directory, but the page shows raw data: write it somewhere private"
    )]
    InRelease { path: String },
    #[error(transparent)]
    Ingest(#[from] ingest::Error),
    #[error(transparent)]
    Publish(#[from] crate::publish::Error),
    #[error(transparent)]
    Engine(#[from] crate::engine::Error),
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Changed { .. } => ErrorKind::Input,
            Self::NoRelease { .. }
            | Self::Foreign { .. }
            | Self::NoTaps { .. }
            | Self::NoTap { .. }
            | Self::InRelease { .. } => ErrorKind::Config,
            Self::Io { .. } => ErrorKind::External,
            Self::Ingest(error) => error.kind(),
            Self::Publish(error) => error.kind(),
            Self::Engine(error) => error.kind(),
        }
    }
}

/// Refuses a path inside a release's directory, whose files are published together.
pub fn require_private(path: &std::path::Path) -> Result<(), Error> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(std::path::Path::new("."));
    let here = std::fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
    let is_published = |dir: &std::path::Path| {
        ["datapackage.json", "catalog.json"].iter().any(|f| dir.join(f).exists())
    };
    match here.ancestors().any(is_published) {
        true => Err(Error::InRelease { path: path.display().to_string() }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
