//! Engines: a sealed window, a permit and a noise key become a [`Release`].
//!
//! In → out: [`SealedWindow`] + [`Permit`] + [`NoiseKey`] → [`Release`].
//! Promises: E-1 only an engine makes a release; E-2 a permit is used up; E-3 a price cannot see data;
//!   E-4 no refusal of a differentially private engine depends on the data.
//! Refuses: a permit for another window, batch, configuration or price (an invariant fell).
//! Why: each engine's PROOF.md.

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod dptd;
pub mod hybrid;
pub mod lk;
pub mod ngram;
pub mod noise;
pub mod projection;
mod forecast;
mod published;
mod reading;
mod registry;
mod audit_output;
mod release;
pub mod safepath;
pub mod seqpt;
pub mod tree;
mod trips;
pub mod weave;

pub use crate::guarantee::Guarantee;
pub use audit_output::{AuditOutput, Recorded};
pub use forecast::{ExpectedError, Figure, Forecast, ShareFact, USUAL_CARDS};
pub use published::{Interval, LegCount, Legs, LengthCount, StationCount, Tables};
pub use reading::Reading;
pub use registry::{
    AuditForm, AuditInstance, BrokenForm, Build, DEFAULT, Registration, Registry, STANDARD, World,
};
pub use release::{Draft, EngineDescription, Release, ReleaseId, Row, UniverseFacts};

use std::fmt;

use crate::ledger::Permit;
use crate::model::{Cost, ErrorKind, Outline, Window};
use noise::AnyNoise;

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
    /// More work than the configuration allows. Engines that suppress only: for a differentially private one
    /// this would tell something about the data.
    #[error(
        "window {window}: {what} takes more than engine.lk.max_work = {max_work} steps; set window.max_length, lower \
         engine.lk.l or raise engine.lk.max_work. Nothing was released"
    )]
    Work {
        /// The window's name.
        window: String,
        /// What was about to be done.
        what: String,
        max_work: u64,
    },
    /// The result does not keep what the engine promises.
    #[error("the release breaks its own promise: {0}; nothing was released, report this as a bug")]
    Promise(String),
    /// The permit was made for something else.
    #[error("the permit does not belong to this release: {0}; nothing was released")]
    Permit(&'static str),
}

impl Error {
    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Configuration { .. } | Self::Work { .. } => ErrorKind::Config,
            Self::Permit(_) | Self::Promise(_) => ErrorKind::Broken,
        }
    }
}

/// What turns a sealed window into a release. The words are those of every mechanism: none speaks of trees or tables.
pub trait Engine: Send + Sync + fmt::Debug {
    /// Its name, revision and parameters: all that can change a release besides the window.
    fn describe(&self) -> EngineDescription;

    /// What every release of it promises.
    fn guarantee(&self) -> Guarantee;

    /// Whether it tells entry from exit. Where it does not, taps are sealed without their kind.
    fn keeps_kinds(&self) -> bool {
        false
    }

    /// What this configuration means for a window with so many slots, if it holds about so many cards.
    fn forecast(&self, n_slots: u32, n_cards: u64) -> Forecast;

    /// How it groups places and times in a window with so many slots; nothing for an engine without taxonomies.
    fn taxonomies(&self, _n_slots: u32) -> Vec<Outline> {
        Vec::new()
    }

    /// What one release costs: a number of the configuration, the same for every window.
    fn price(&self) -> Cost;

    /// Whether the configuration fits this window of the calendar. Asked before anything is paid.
    fn check_window(&self, window: &Window) -> Result<(), Error>;

    /// Whether the work on this window stays within the configured bound. Asked before anything is booked. A
    /// differentially private engine always says yes: a no would tell something about the data.
    fn check_work(&self, _: &SealedWindow) -> Result<(), Error> {
        Ok(())
    }

    /// Computes what a release of this window says. Not a release: nothing accepts it without a permit.
    fn draft(&self, window: &SealedWindow, key: &NoiseKey) -> Result<Draft, Error>;

    /// What would be published under any source of noise, for an auditor that writes every question down. `None` for
    /// an engine without noise.
    fn recorded(&self, _: &SealedWindow, _: &dyn AnyNoise) -> Option<Result<Recorded, Error>> {
        None
    }

    /// Makes the release. Uses the permit up.
    fn sanitize(
        &self,
        window: &SealedWindow,
        permit: Permit,
        key: &NoiseKey,
    ) -> Result<Release, Error> {
        Release::new(self.price(), window, permit, self.draft(window, key)?)
    }
}

#[cfg(test)]
mod tests;
