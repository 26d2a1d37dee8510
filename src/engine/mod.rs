//! Engines: a sealed window, a permit and a noise key become a [`Release`].
//!
//! In → out: [`SealedWindow`] + [`Permit`] + [`NoiseKey`] → [`Release`].
//! Promises: E-1 only an engine makes a release; E-2 a permit is used up; E-3 a price cannot see data;
//!   E-4 no refusal depends on the data.
//! Refuses: a permit for another window, batch, configuration or price (an invariant fell).
//! Why: each engine's PROOF.md.

#[cfg(test)]
pub(crate) mod fixture;
pub mod hybrid;
pub mod noise;
mod rehearsal;
mod release;
pub mod safepath;
pub mod seqpt;
pub mod tree;

pub use rehearsal::AuditOutput;
pub use release::{
    Draft, EngineFacts, ExpectedError, Guarantee, Outlook, Release, ReleaseId, Row, ShareFact,
    UniverseFacts,
};

use std::fmt;

use crate::ledger::Permit;
use crate::model::{Cost, Kind, Window};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;

/// Why an engine gives no release.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration does not fit this window of the calendar.
    #[error("window {window}: {complaint}")]
    Configuration {
        /// The window's name.
        window: String,
        /// What does not fit.
        complaint: String,
    },
    /// The permit was made for something else.
    #[error("the permit does not belong to this release: {0}; nothing was released")]
    Permit(&'static str),
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Configuration { .. } => Kind::Config,
            Self::Permit(_) => Kind::Broken,
        }
    }
}

/// What turns a sealed window into a release.
pub trait Engine: Send + Sync + fmt::Debug {
    /// Its name, revision and parameters: all that can change a release besides the window.
    fn facts(&self) -> EngineFacts;

    /// What this configuration means for a window with so many slots.
    fn outlook(&self, n_slots: u32) -> Outlook;

    /// What one release costs: a number of the configuration, the same for every window.
    fn price(&self) -> Cost;

    /// Whether the configuration fits this window of the calendar. Asked before anything is paid.
    fn fits(&self, window: &Window) -> Result<(), Error>;

    /// Makes the release. Uses the permit up.
    fn sanitize(
        &self,
        window: &SealedWindow,
        permit: Permit,
        key: &NoiseKey,
    ) -> Result<Release, Error>;
}

#[cfg(test)]
mod tests;
