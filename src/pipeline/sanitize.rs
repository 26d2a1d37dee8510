//! One shot over a file: every window of the range, empty ones too.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use jiff::SignedDuration;

use super::{Error, publish_settings};
use crate::clock::Clock;
use crate::config::Settings;
use crate::engine::ReleaseId;
use crate::ingest::{Harvest, read_file};
use crate::ledger::{Before, Journal, Ledger, Outcome, Refusal, Request};
use crate::metrics::{Board, Metrics};
use crate::model::{Cost, Counts, MicroEpsilon, Reject, Span, Window, WindowId};
use crate::passenger::Stamp;
use crate::publish::{self, Files, Sink};
use crate::seal::SealedWindow;
use crate::window::Gate;

/// What to do.
pub struct Job<'a> {
    /// The checked configuration.
    pub settings: &'a Settings,
    /// The file of taps.
    pub taps: &'a Path,
    /// Where releases go.
    pub out: &'a Path,
    /// Which windows exist; `None`: those of the file, and the manifest says so.
    pub span: Option<Span>,
    /// This build.
    pub version: &'static str,
    /// This build's commit.
    pub commit: &'static str,
}

/// Who watches the work.
pub trait Watch {
    /// A window is next.
    fn window(&self, number: usize, of: usize, window: &Window);
}

/// What became of one window.
#[derive(Debug)]
pub struct Released {
    /// The window's name.
    pub window: String,
    /// Rows of its release: a public number.
    pub n_rows: usize,
    /// What became of it.
    pub done: Done,
}

/// What became of a window.
#[derive(Debug)]
pub enum Done {
    /// Released and paid for now.
    Paid(Cost),
    /// The same bytes again, at no cost.
    Again,
    /// Nothing was released.
    Withheld(Refusal),
}

/// What a run did.
#[derive(Debug)]
pub struct Summary {
    /// Every window in order.
    pub windows: Vec<Released>,
    /// What the file gave.
    pub counts: Counts,
    /// Taps that were there twice.
    pub n_duplicates: u64,
    /// Spent over the feed's life, now.
    pub spent: MicroEpsilon,
    /// False if the engine suppresses and adds no noise.
    pub is_differential: bool,
}

/// Runs the job. The ledger stays locked from the first look to the last record.
pub fn sanitize(
    job: &Job<'_>,
    clock: &dyn Clock,
    metrics: &Metrics,
    board: &Board,
    watch: &dyn Watch,
) -> Result<Summary, Error> {
    let settings = job.settings;
    let ranged = job.span.as_ref().map(|span| windows_of(settings, span)).transpose()?;
    let key = settings.secret.ledger_key();
    let mut ledger = Journal::open(&settings.ledger_file, &key, settings.budget.clone())?;
    let gate = Gate { range: ranged.as_deref().and_then(bounds), ..settings.gate.clone() };
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let Harvest { mut open, counts } =
        read_file(job.taps, &settings.ingest, &gate, threads, board)?;
    metrics.ingested(&counts);
    let windows = match ranged {
        Some(windows) => windows,
        None if counts.taps == 0 => return Err(nothing_counts(job.taps, &counts)),
        None => open.ids().into_iter().filter_map(|id| settings.calendar.window(id)).collect(),
    };
    let mut files = Files::new(
        job.out,
        publish_settings(
            settings,
            job.span.is_some(),
            "A file is complete by itself: every tap in it that could be read counts.".to_owned(),
            job.version,
            job.commit,
        ),
    );
    let mut summary = Summary {
        windows: Vec::new(),
        counts,
        n_duplicates: 0,
        spent: ledger.book().spent(),
        is_differential: settings.engine.price().is_differential(),
    };
    for (number, window) in windows.iter().enumerate() {
        watch.window(number, windows.len(), window);
        let stamps = open.take(window.id());
        let way = Way { settings, clock, metrics };
        let (released, n_duplicates) = way.release(window, stamps, &mut ledger, &mut files)?;
        summary.n_duplicates += n_duplicates;
        summary.windows.push(released);
    }
    summary.spent = ledger.book().spent();
    metrics.budget(summary.spent, settings.budget.lifetime);
    Ok(summary)
}

/// The last part of the way, for one window.
struct Way<'a> {
    settings: &'a Settings,
    clock: &'a dyn Clock,
    metrics: &'a Metrics,
}

impl Way<'_> {
    fn release(
        &self,
        window: &Window,
        stamps: Vec<Stamp>,
        ledger: &mut Journal,
        files: &mut Files,
    ) -> Result<(Released, u64), Error> {
        let Settings { engine, secret, digest, max_length, .. } = self.settings;
        engine.fits(window)?;
        let sealed = SealedWindow::freeze(window.clone(), stamps, *max_length, secret);
        let sealed_at = Instant::now();
        let n_duplicates = sealed.n_duplicates();
        self.metrics.sealed(n_duplicates);
        let request = Request {
            window: window.clone(),
            batch: *sealed.mac(),
            configuration: *digest,
            cost: engine.price(),
        };
        engine.admits(&sealed)?;
        // Look before paying: a refusal writes nothing, and a place that is taken costs nothing.
        if let Some(refusal) = ledger.refusal(&request) {
            self.metrics.withheld(refusal.reason());
            return Ok((withheld(window, refusal), n_duplicates));
        }
        files.preflight(window, &ReleaseId::new(window, digest))?;
        let (permit, before) = match ledger.reserve(&request)? {
            Outcome::Granted { permit, before } => (permit, before),
            Outcome::Refused(refusal) => {
                self.metrics.withheld(refusal.reason());
                return Ok((withheld(window, refusal), n_duplicates));
            }
        };
        let noise = secret.noise_key(window.id(), sealed.mac(), digest);
        let release = engine.sanitize(&sealed, permit, &noise)?;
        let name = release.engine().name;
        self.metrics.engine_ran(name, sealed_at.elapsed().as_secs_f64());
        if let Before::Settled(booked) = &before
            && *booked != publish::release_digest(&release, &self.settings.stations)
        {
            return Err(Error::Changed { window: window.name() });
        }
        let published = files.publish(&release)?;
        ledger.settle(release.reservation(), &published)?;
        let seconds = sealed_at.elapsed().as_secs_f64();
        self.metrics.released(name, seconds, self.clock.now().as_second());
        let done = match before {
            Before::Nothing => Done::Paid(release.cost()),
            Before::Reserved | Before::Settled(_) => Done::Again,
        };
        Ok((Released { window: window.name(), n_rows: release.rows().len(), done }, n_duplicates))
    }
}

fn withheld(window: &Window, refusal: Refusal) -> Released {
    Released { window: window.name(), n_rows: 0, done: Done::Withheld(refusal) }
}

fn windows_of(settings: &Settings, span: &Span) -> Result<Vec<Window>, Error> {
    let windows = settings.calendar.windows_within(span);
    if windows.is_empty() {
        let length = SignedDuration::from_secs(settings.calendar.length_secs());
        let start = settings.calendar.day_start_secs();
        return Err(Error::NoWindow {
            from: span.from.to_string(),
            to: span.to.to_string(),
            length: format!("{length:#}"),
            start: format!("{:02}:{:02}", start / 3_600, start % 3_600 / 60),
        });
    }
    Ok(windows)
}

/// From the first window to past the last. Windows that a clock change leaves no time lie in between and
/// never hold a tap.
fn bounds(windows: &[Window]) -> Option<Range<WindowId>> {
    let (first, last) = (windows.first()?.id(), windows.last()?.id());
    Some(first..WindowId::new(last.number() + 1))
}

fn nothing_counts(path: &Path, counts: &Counts) -> Error {
    let reasons: Vec<String> = counts
        .rejects()
        .filter(|(_, n)| *n > 0)
        .map(|(reason, n): (Reject, u64)| format!("{n} x {}", reason.in_words()))
        .collect();
    let why = match reasons.is_empty() {
        true => ": it holds no records".to_owned(),
        false => format!(" ({})", reasons.join("; ")),
    };
    Error::NoTaps { path: path.display().to_string(), why }
}
