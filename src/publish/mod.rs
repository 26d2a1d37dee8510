//! Publish writes a release where recipients find it, and verifies what was written.
//!
//! In → out: a release and [`Settings`] → [`Rendered`] → a directory of files, objects of a store, or records of a
//! topic.
//! Promises: P-1 the same release and settings give the same bytes; P-2 a release is there whole or not
//!   at all; P-3 nothing in the files follows the data but the rows.
//! Refuses: another release under the same name, rows that break what every release keeps to.
//! Why: a half-written or twice-written release cannot be called back.

pub mod catalog;
mod contents;
mod dcat;
mod disk;
mod exported;
mod files;
mod manifest;
mod package;
mod parquet;
mod paths;
mod place;
mod recipient;
mod rendered;
mod flowgraph;
mod signature;
pub mod report;
#[cfg(feature = "stores")]
mod store;
mod tables;
pub mod topic;
pub mod verify;
pub mod view;
mod words;

pub use exported::{write_exported_catalog, write_rebuilt};
pub use files::Files;
pub use place::Place;
pub use rendered::{Rendered, Renderer, render};
#[cfg(feature = "stores")]
pub use store::Objects;

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::engine::ReleaseId;
use crate::model::{ErrorKind, MicroEpsilon, Stations};
use crate::protocol::OutRecord;
use crate::secret::Signer;

/// Where releases go.
pub trait Sink {
    /// Whether a release can go there. Asked before anything is paid.
    fn preflight(&mut self, id: &ReleaseId) -> Result<(), Error>;

    /// Puts a release in its place durably, now; or gives the records that put it there, to appear with its settlement.
    /// Publishing the same release again changes nothing.
    fn publish(&mut self, rendered: &Rendered) -> Result<Vec<OutRecord>, Error>;

    /// Where the ledger stood for every release that is there already.
    fn standing(&mut self) -> Result<Vec<Standing>, Error>;
}

/// A release that is in place, with the record of the ledger that paid for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    pub release_id: String,
    /// The feed it is of.
    pub feed_key: String,
    /// The number of the record.
    pub record: u64,
    /// The record's MAC.
    pub mac: String,
}

/// What a manifest says beside what the release itself says; all of it from the configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The stations the release was made with.
    pub stations: Arc<Stations>,
    /// A title for people.
    pub title: String,
    /// The licence recipients get; may be empty.
    pub licence: String,
    /// Whom to ask; may be empty.
    pub contact: String,
    /// The feed's id.
    pub feed: String,
    /// False if the windows were read off the data, so that their existence tells something.
    pub windows_protected: bool,
    /// One sentence on how the window was closed, and so what the guarantee is relative to.
    pub closing: String,
    /// The caps the release was made under.
    pub budget: BudgetFacts,
    /// Signs every manifest.
    pub signer: Signer,
    /// The program's version.
    pub version: &'static str,
    /// The program's commit.
    pub commit: &'static str,
}

/// The caps of the configuration; what is absent does not bind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BudgetFacts {
    /// The rolling cap counts so many windows in a row.
    pub horizon_windows: Option<u32>,
    /// They may cost so much together.
    pub horizon_cap: Option<MicroEpsilon>,
    /// Everything may cost so much together.
    pub lifetime_cap: Option<MicroEpsilon>,
    /// The rule in words.
    pub rule: Option<String>,
}

/// Why nothing was published, or nothing could be verified.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another release has the name.
    #[error("{path} holds release {found}, not {wanted}; choose another --out")]
    Occupied {
        path: String,
        /// The release in it.
        found: String,
        /// The release that was to go there.
        wanted: String,
    },
    /// Something else has the name.
    #[error("{path} {what}; move it away or choose another --out")]
    Foreign {
        path: String,
        /// What it holds.
        what: String,
    },
    /// Nothing to verify.
    #[error("no release in {path}; give a release's directory or the one that holds the releases")]
    NoRelease { path: String },
    #[error("cannot {action} {path}: {error}")]
    Io {
        /// What was tried.
        action: &'static str,
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// An object store failed or refused.
    #[error(
        "cannot {action} {place}: {what}. No release is there in part; the same again costs nothing more"
    )]
    Store {
        /// What was tried.
        action: &'static str,
        place: String,
        /// What the store said.
        what: String,
    },
    /// An engine gave rows that no release may have.
    #[error(
        "the release {id} cannot be published: {what}; nothing was written, report this as a bug"
    )]
    Rows {
        /// Which release.
        id: String,
        /// What is wrong with it.
        what: String,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Occupied { .. } | Self::Foreign { .. } | Self::NoRelease { .. } => {
                ErrorKind::Config
            }
            Self::Io { .. } | Self::Store { .. } => ErrorKind::External,
            Self::Rows { .. } => ErrorKind::Broken,
        }
    }

    /// Says on what the system failed; for `map_err`.
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |error| Self::Io { action, path, error }
    }
}

#[cfg(test)]
mod tests;
