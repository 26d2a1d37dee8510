//! What an active release worker does with the window at hand.

use std::fmt;
use std::sync::Arc;

use super::transaction::Transaction;
use super::window::{Made, Render};
use crate::engine::ReleaseId;
use crate::ledger::{Before, Pending, Refusal, Request};
use crate::model::{Cost, Window, WindowId};
use crate::seal::SealedWindow;

/// What the worker does with the window at hand. Each state waits for one answer.
#[expect(
    clippy::large_enum_variant,
    reason = "one exists at a time, and it is moved a few times a window"
)]
pub(super) enum Body<R: Render> {
    Resting,
    Freezing,
    Clearing {
        request: Request,
        sealed: SealedWindow,
    },
    Reserving {
        request: Request,
        sealed: SealedWindow,
        line: Pending,
        commit: Arc<Transaction>,
    },
    Making {
        window: Window,
        before: Before,
    },
    Publishing {
        made: Arc<Made<R>>,
        before: Before,
    },
    Settling {
        done: Done,
        line: Option<Pending>,
        commit: Arc<Transaction>,
    },
    /// The same transaction again, when the group has been heard.
    Again(Box<Body<R>>),
}

/// What a transaction finishes.
pub(super) enum Done {
    Opened,
    Released {
        window: Window,
        id: ReleaseId,
        n_rows: usize,
        engine: &'static str,
        paid: Option<Cost>,
    },
    Withheld {
        window: Window,
        refusal: Refusal,
    },
}

impl Done {
    pub(super) fn window(&self) -> Option<WindowId> {
        match self {
            Self::Opened => None,
            Self::Released { window, .. } | Self::Withheld { window, .. } => Some(window.id()),
        }
    }
}

impl<R: Render> Body<R> {
    /// The transaction it waits for.
    pub(super) fn commit(&self) -> Option<&Arc<Transaction>> {
        match self {
            Self::Reserving { commit, .. } | Self::Settling { commit, .. } => Some(commit),
            _ => None,
        }
    }
}

impl<R: Render> fmt::Debug for Body<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resting => "Resting",
            Self::Freezing => "Freezing",
            Self::Clearing { .. } => "Clearing",
            Self::Reserving { .. } => "Reserving",
            Self::Making { .. } => "Making",
            Self::Publishing { .. } => "Publishing",
            Self::Settling { .. } => "Settling",
            Self::Again(_) => "Again",
        })
    }
}
