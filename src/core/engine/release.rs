//! What leaves: rows with counts, and the public facts about how they were made.

use serde::Serialize;

use crate::guarantee::Guarantee;
use crate::ledger::{Permit, Reservation};
use crate::model::{Cost, Digest, Doublet, PathKind, Window};
use crate::seal::SealedWindow;
use crate::secret::FeedKey;

use super::{Error, ExpectedError, Reading, ShareFact, Tables};

/// Names a release; derives from feed, window, configuration and revision only, so it tells nothing about data.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(transparent)]
pub struct ReleaseId(String);

impl ReleaseId {
    /// The id of the release of this window under this configuration.
    pub fn new(feed: &FeedKey, window: &Window, configuration: &Digest, revision: u32) -> Self {
        let facts = format!("{feed} {} {configuration} {revision}", window.id().number());
        let digest = Digest::of(facts.as_bytes());
        let revised = if revision == 0 { String::new() } else { format!("_r{revision}") };
        Self(format!("{}{revised}-{}", window.name(), &digest.to_string()[..12]))
    }

    /// The name of the release's directory: its window's, and which revision it is.
    pub fn directory(&self) -> &str {
        self.0.rsplit_once('-').map_or(self.0.as_str(), |(name, _)| name)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `count` passengers, as far as the release says, made this trip.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Where and when, in order. For sequences every slot is 0 and means nothing.
    pub path: Vec<Doublet>,
    /// A positive number: noisy and consistent, or exact where an engine suppresses.
    pub count: u64,
}

/// Public facts about the engine.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EngineDescription {
    /// Its name in the configuration.
    pub name: &'static str,
    /// Its algorithm's revision: it changes whenever the same input could give other output.
    pub version: u32,
    /// Its parameters, name and value, in a fixed order.
    pub parameters: Vec<(String, String)>,
}

/// The universe the engine looked at; from configuration, never from data.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct UniverseFacts {
    /// Digest of the station list.
    pub stations_sha256: Digest,
    /// Digest of both taxonomies.
    pub taxonomy_sha256: Digest,
    /// Number of slots.
    pub slots: u32,
}

/// Everything an engine says about a release before it is sealed into one.
pub struct Draft {
    /// The rows, in any order.
    pub rows: Vec<Row>,
    /// Places with times, or places alone.
    pub input: PathKind,
    /// What it promises.
    pub guarantee: Guarantee,
    /// About the engine.
    pub engine: EngineDescription,
    /// The split of the budget.
    pub shares: Vec<ShareFact>,
    /// About the universe.
    pub universe: UniverseFacts,
    /// What was done to the noisy numbers afterwards.
    pub post_processing: Vec<String>,
    /// What to expect; `None` where nothing is added to the numbers.
    pub expected_error: Option<ExpectedError>,
    /// Tables to publish beside the paths, from engines that measure them.
    pub tables: Option<Tables>,
    /// How recipients should read it.
    pub reading: Reading,
}

/// A release: the only thing a sink accepts, and only an engine makes one.
///
/// ```compile_fail
/// let forged = tapveil_core::engine::Release { rows: Vec::new() };
/// ```
#[derive(Debug)]
pub struct Release {
    id: ReleaseId,
    window: Window,
    reservation: Reservation,
    configuration: Digest,
    cost: Cost,
    rows: Vec<Row>,
    input: PathKind,
    guarantee: Guarantee,
    engine: EngineDescription,
    shares: Vec<ShareFact>,
    universe: UniverseFacts,
    post_processing: Vec<String>,
    expected_error: Option<ExpectedError>,
    tables: Option<Tables>,
    reading: Reading,
}

impl Release {
    /// Uses the permit up. Private to the engines.
    pub(super) fn new(
        price: Cost,
        window: &SealedWindow,
        permit: Permit,
        draft: Draft,
    ) -> Result<Self, Error> {
        let reservation = permit.redeem();
        if reservation.window != window.window().id() {
            return Err(Error::Permit("it is for another window"));
        }
        if reservation.batch != *window.mac() {
            return Err(Error::Permit("it is for another batch"));
        }
        if reservation.cost != price {
            return Err(Error::Permit("it is for another price"));
        }
        let mut rows = draft.rows;
        assert!(
            rows.iter().all(|row| row.count > 0),
            "E-5: a row stands for at least one passenger"
        );
        rows.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(Self {
            id: ReleaseId::new(
                &reservation.feed_key,
                window.window(),
                &reservation.configuration,
                reservation.revision,
            ),
            window: window.window().clone(),
            configuration: reservation.configuration,
            cost: reservation.cost,
            reservation,
            rows,
            input: draft.input,
            guarantee: draft.guarantee,
            engine: draft.engine,
            shares: draft.shares,
            universe: draft.universe,
            post_processing: draft.post_processing,
            expected_error: draft.expected_error,
            tables: draft.tables,
            reading: draft.reading,
        })
    }

    /// Tables beside the paths, from engines that measure them.
    pub fn tables(&self) -> Option<&Tables> {
        self.tables.as_ref()
    }

    /// How recipients should read it.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    pub fn id(&self) -> &ReleaseId {
        &self.id
    }

    /// The window it is about.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// What the ledger booked for it.
    pub fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    /// The configuration it was made under.
    pub fn configuration(&self) -> &Digest {
        &self.configuration
    }

    /// What it cost.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Paths with counts, each path once, ordered by station id and slot.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Places with times, or places alone.
    pub fn input(&self) -> PathKind {
        self.input
    }

    /// What it promises.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// About the engine.
    pub fn engine(&self) -> &EngineDescription {
        &self.engine
    }

    /// How the budget was split.
    pub fn shares(&self) -> &[ShareFact] {
        &self.shares
    }

    /// About the universe.
    pub fn universe(&self) -> &UniverseFacts {
        &self.universe
    }

    /// What was done to the noisy numbers.
    pub fn post_processing(&self) -> &[String] {
        &self.post_processing
    }

    /// What error to expect; `None` where nothing was added to the numbers.
    pub fn expected_error(&self) -> Option<&ExpectedError> {
        self.expected_error.as_ref()
    }
}
