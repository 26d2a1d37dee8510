//! What `sanitize` would do with a file, without booking anything and without drawing noise. For the operator alone.

use super::sanitize::{Job, windows_in};
use super::{Error, books};
use crate::config::Statement;
use crate::engine::Forecast;
use crate::ingest::{Survey, survey};
use crate::ledger::{Request, Would};
use crate::metrics::Board;
use crate::model::Counts;
use crate::seal::SealedWindow;

/// What was found.
#[derive(Debug)]
pub struct DryRun {
    /// What the file gives.
    pub counts: Counts,
    /// Examples of what cannot be used.
    pub survey: Survey,
    /// Why nothing would be booked at all.
    pub stop: Option<Error>,
    /// Every window, in order.
    pub windows: Vec<Planned>,
}

/// What would become of one window. Exact numbers: they never leave.
#[derive(Debug)]
pub struct Planned {
    /// The window's name.
    pub window: String,
    /// Cards in it.
    pub n_cards: u64,
    /// What the ledger would say.
    pub would: Would,
    /// What its release would be like.
    pub forecast: Forecast,
}

/// Reads and judges everything; books nothing.
pub fn dry_run(job: &Job<'_>, board: &Board) -> Result<DryRun, Error> {
    let settings = job.settings;
    let (book, _) = books::book(settings)?;
    let (windows, mut open, counts, stop) = windows_in(job, board)?;
    let survey = survey(job.taps, &settings.ingest())?;
    let (statement, feed_key) = (Statement::of(settings).digest, settings.secret.feed_key());
    let mut planned = Vec::new();
    for window in windows {
        let stamps = open.take(window.id());
        settings.engine.check_window(&window)?;
        let sealed =
            SealedWindow::freeze(window.clone(), stamps, settings.max_length, &settings.secret);
        let request = Request {
            window: window.clone(),
            batch: *sealed.mac(),
            configuration: settings.digest,
            cost: settings.engine.price(),
            statement,
            feed_key: feed_key.clone(),
            epoch: settings.secret.epoch(),
            edition: job.edition.clone(),
        };
        planned.push(Planned {
            window: window.name(),
            n_cards: sealed.n_cards(),
            would: book.would(&request, &settings.budget()),
            forecast: settings.engine.forecast(window.n_slots(), sealed.n_cards()),
        });
    }
    Ok(DryRun { counts, survey, stop, windows: planned })
}
