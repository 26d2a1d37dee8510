//! One window from its taps to its settlement: look, preflight, reserve, noise, check, publish, settle. One body for
//! files and for Kafka; what differs is where lines are kept and where a release is put.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use super::{Error, Signer};
use crate::engine::{self, Engine, Release};
use crate::ledger::{self, Before, Edition, Permit, Refusal, Request};
use crate::model::{Calendar, Digest, Schedule, Window};
use crate::passenger::Stamp;
use crate::seal::{SealedWindow, SegmentCodec};
use crate::secret::Secret;

/// Turns a release into what leaves. Pure: the same release gives the same bytes. Done once a release.
pub trait Render: Send + Sync {
    /// What leaves.
    type Rendered: Send;

    /// Renders it, and holds it to what every release keeps to; a complaint means that an engine broke a promise.
    fn render(&self, release: &Release) -> Result<Self::Rendered, String>;

    /// The digest of the release's rows.
    fn digest(&self, rendered: &Self::Rendered) -> Digest;
}

/// What a release worker is set up with.
pub struct ReleasePlan<R> {
    pub engine: Arc<dyn Engine>,
    pub secret: Secret,
    /// Digest of the configuration.
    pub configuration: Digest,
    /// Digest of the statement that an officer signs.
    pub statement: Digest,
    /// First releases, or revisions.
    pub edition: Edition,
    /// How many taps of a card count.
    pub max_length: Option<NonZeroU32>,
    pub calendar: Calendar,
    /// The caps, and the feed.
    pub budget: ledger::Settings,
    /// How many stations there are.
    pub n_stations: u32,
    /// Opens segments.
    pub codec: SegmentCodec,
    /// Records of `segments` that the operator passes over if they cannot be taken, by their offsets.
    pub pass_segments: BTreeSet<i64>,
    /// Signs positions.
    pub signer: Signer,
    /// The last window of a range; the worker is done with it.
    pub last: Option<crate::model::WindowId>,
    /// The first window of a new feed, if the configuration names it; else the first whole one after now.
    pub first: Option<crate::model::WindowId>,
    /// When releases are due.
    pub schedule: Schedule,
    /// Makes what leaves.
    pub render: R,
}

impl<R> fmt::Debug for ReleasePlan<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReleasePlan({})", self.budget.feed)
    }
}

impl<R> ReleasePlan<R> {
    /// The first window of a feed that begins now.
    pub(super) fn first_window(&self, now: jiff::Timestamp) -> Option<crate::model::WindowId> {
        if self.first.is_some() {
            return self.first;
        }
        let window = self.calendar.window_at(now)?;
        let next = crate::model::WindowId::new(window.id().number() + 1);
        Some(if window.start() == now { window.id() } else { next })
    }

    /// The earliest moment a window may be released.
    pub fn due(&self, window: &Window) -> jiff::Timestamp {
        self.schedule.due(&self.calendar, window)
    }

    /// Why a window that could be released now goes without one: it should have been long ago.
    pub(super) fn too_late(&self, window: &Window, now: jiff::Timestamp) -> Option<Refusal> {
        let latest = self.schedule.latest(&self.calendar, window)?;
        let label = |at: jiff::Timestamp| {
            at.to_zoned(self.calendar.zone().clone()).strftime("%Y-%m-%dT%H:%M%:z").to_string()
        };
        let missed = || Refusal::Missed { due: label(self.due(window)), latest: label(latest) };
        (latest < now).then(missed)
    }

    /// What is asked of the ledger for a window.
    pub(super) fn request(&self, sealed: &SealedWindow) -> Request {
        Request {
            window: sealed.window().clone(),
            batch: *sealed.mac(),
            configuration: self.configuration,
            cost: self.engine.price(),
            statement: self.statement,
            feed_key: self.secret.feed_key(),
            epoch: self.secret.epoch(),
            edition: self.edition.clone(),
        }
    }
}

/// Freezing a window, and asking whether its engine takes it on: long work that any thread may do.
pub struct FreezeJob {
    window: Window,
    stamps: Vec<Stamp>,
    engine: Arc<dyn Engine>,
    secret: Secret,
    max_length: Option<NonZeroU32>,
}

impl FreezeJob {
    pub(super) fn new<R>(plan: &ReleasePlan<R>, window: Window, stamps: Vec<Stamp>) -> Self {
        let ReleasePlan { engine, secret, max_length, .. } = plan;
        Self {
            window,
            stamps,
            engine: engine.clone(),
            secret: secret.clone(),
            max_length: *max_length,
        }
    }

    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Does it.
    pub fn run(self) -> Result<SealedWindow, engine::Error> {
        self.engine.check_window(&self.window)?;
        let sealed = SealedWindow::freeze(self.window, self.stamps, self.max_length, &self.secret);
        self.engine.check_work(&sealed)?;
        Ok(sealed)
    }
}

impl fmt::Debug for FreezeJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FreezeJob({})", self.window)
    }
}

/// A release and what leaves of it.
pub struct Made<R: Render> {
    pub(super) release: Release,
    pub(super) rendered: R::Rendered,
    pub(super) digest: Digest,
}

impl<R: Render> Made<R> {
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// What leaves.
    pub fn rendered(&self) -> &R::Rendered {
        &self.rendered
    }
}

impl<R: Render> fmt::Debug for Made<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Made({})", self.release.id().as_str())
    }
}

/// Drawing the noise: long work that any thread may do. It holds the permit, so it exists only once the price is
/// durable.
pub struct MakeJob<R> {
    sealed: SealedWindow,
    permit: Permit,
    plan: Arc<ReleasePlan<R>>,
}

impl<R: Render> MakeJob<R> {
    pub(super) fn new(plan: &Arc<ReleasePlan<R>>, sealed: SealedWindow, permit: Permit) -> Self {
        Self { sealed, permit, plan: plan.clone() }
    }

    pub fn window(&self) -> &Window {
        self.sealed.window()
    }

    /// The engine's name.
    pub fn engine(&self) -> &'static str {
        self.plan.engine.describe().name
    }

    /// Does it: noise, then the release as it leaves.
    pub fn run(self) -> Result<Made<R>, Error> {
        let ReleasePlan { engine, secret, configuration, render, .. } = &*self.plan;
        let (window, revision) = (self.sealed.window().id(), self.permit.revision());
        let noise = secret.noise_key(window, self.sealed.mac(), configuration, revision);
        let release = engine.sanitize(&self.sealed, self.permit, &noise)?;
        let rendered = render.render(&release).map_err(Error::Render)?;
        let digest = render.digest(&rendered);
        Ok(Made { release, rendered, digest })
    }
}

impl<R> fmt::Debug for MakeJob<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MakeJob({})", self.sealed.window())
    }
}

/// What was booked before for the very same release, checked against what was made now.
pub(super) fn check_same(before: &Before, window: &Window, digest: &Digest) -> Result<(), Error> {
    match before {
        Before::Settled(booked) if booked != digest => {
            Err(Error::Changed { window: window.name() })
        }
        _ => Ok(()),
    }
}
