//! One shot over a file: every window of the range, empty ones too.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

use super::head::KeptHead;
use super::release::{Driver, Event, Seams, Source};
use super::{Error, Observers, books, event, publish_settings, release_plan};
use crate::clock::Clock;
use crate::config::Settings;
use crate::ingest::{Harvest, Taps, read_file};
use crate::ledger::{Edition, Ledger, Refusal};
use crate::metrics::{Board, Metrics, Status};
use crate::model::{Cost, Counts, MicroEpsilon, Reject, Span, Window, WindowId};
use crate::protocol::{Committed, ReleaseEvent, ReleaseNote, Releaser, Why};
use crate::publish::{Place, Renderer, Sink};
use crate::window::OpenWindows;

/// What to do.
pub struct Job<'a> {
    /// The checked configuration.
    pub settings: &'a Settings,
    /// The files of taps.
    pub taps: &'a Taps,
    /// Where releases go.
    pub out: &'a Path,
    /// Which windows exist; `None`: those of the file, and the manifest says so.
    pub span: Option<Span>,
    /// First releases, or revisions.
    pub edition: Edition,
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
    /// The window's name, or the name of its release's directory.
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

/// What a file holds for the windows of a job.
struct Gathered {
    windows: Vec<Window>,
    open: OpenWindows,
    counts: Counts,
}

/// Reads the file of a job; with why nothing of it may be booked, if so.
pub(super) fn windows_in(
    job: &Job<'_>,
    board: &Board,
) -> Result<(Vec<Window>, OpenWindows, Counts, Option<Error>), Error> {
    let settings = job.settings;
    let ranged = job.span.as_ref().map(|span| windows_of(settings, span)).transpose()?;
    let gate = settings.gate(ranged.as_deref().and_then(bounds));
    let Harvest { open, counts } = read_file(job.taps, &settings.ingest(), &gate, board)?;
    let stop = match ranged.is_none() && counts.taps == 0 {
        true => Some(nothing_counts(job.taps, &counts)),
        false => refuse_garbage(settings, job.taps, &counts).err(),
    };
    let found = || open.ids().into_iter().filter_map(|id| settings.calendar.window(id)).collect();
    let windows = ranged.unwrap_or_else(found);
    Ok((windows, open, counts, stop))
}

/// Reads the file of a job and judges whether it can be released at all. Books nothing.
fn gather(job: &Job<'_>, board: &Board) -> Result<Gathered, Error> {
    let (windows, open, counts, stop) = windows_in(job, board)?;
    stop.map_or(Ok(Gathered { windows, open, counts }), Err)
}

/// A file read in the wrong way must not burn its windows. This looks at the data, and statement and manifest say so.
fn refuse_garbage(settings: &Settings, taps: &Taps, counts: &Counts) -> Result<(), Error> {
    let unusable = counts.n_unusable();
    // What lies outside the range could be read.
    let all = counts.taps + counts.n_rejects();
    let is_within = settings.feed.max_rejects.allows(unusable, all);
    let nothing_read = unusable > 0 && unusable == all;
    match is_within && !nothing_read {
        true => Ok(()),
        false => Err(Error::TooManyRejects {
            path: taps.to_string(),
            unusable,
            all,
            reasons: counts.reasons(Reject::is_unusable),
            limit: settings.feed.max_rejects.to_string(),
        }),
    }
}

/// Runs the job. A file ledger stays locked from the first look to the last record; a topic that a service takes over
/// meanwhile is taken back, and what was booked is not booked again.
pub fn sanitize(
    job: &Job<'_>,
    clock: &dyn Clock,
    metrics: &Metrics,
    board: &Board,
    watch: &dyn Watch,
) -> Result<Summary, Error> {
    let mut ledger = books::open(job.settings)?;
    for _ in 0..books::ATTEMPTS {
        let gathered = gather(job, board)?;
        let done = release(job, gathered, &mut *ledger, clock, metrics, board, watch)?;
        if let Some(summary) = done {
            return Ok(summary);
        }
        // What comes through a pipe is gone.
        if job.taps.are_read_once() {
            break;
        }
    }
    Err(Error::LedgerContended { name: books::name(job.settings) })
}

/// Releases what was gathered; `None` if another process took the ledger over.
fn release(
    job: &Job<'_>,
    gathered: Gathered,
    ledger: &mut dyn Ledger,
    clock: &dyn Clock,
    metrics: &Metrics,
    board: &Board,
    watch: &dyn Watch,
) -> Result<Option<Summary>, Error> {
    let settings = job.settings;
    let Gathered { windows, open, counts } = gathered;
    let (status, silent) = (Status::default(), |_: &event::Event| {});
    let observers = Observers { metrics, status: &status, board, log: &silent };
    observers.tell(&event::Event::Ingested { counts: counts.clone(), windows: Vec::new() });
    let words = publish_settings(
        settings,
        job.span.is_some(),
        format!(
            "A file is complete by itself: every tap in it that could be read counts. One of which more than {} cannot \
             be used would have been refused: that this one was not says as much about the data.",
            settings.feed.max_rejects
        ),
        job.version,
        job.commit,
    );
    let place = Place::new(&job.out.to_string_lossy(), Path::new(""));
    let place = place.map_err(|what| Error::Place { what })?;
    let mut sinks: Vec<Box<dyn Sink>> = vec![place.sink()?];
    let mut source =
        FileSource { open, windows: windows.into(), n_done: 0, clock, watch, is_begun: false };
    let mut outcome =
        Outcomes { windows: Vec::new(), n_duplicates: 0, spent: MicroEpsilon::default() };
    let seams = Seams {
        source: &mut source,
        sinks: &mut sinks,
        ledger,
        clock,
        observers,
        lifetime: settings.caps.lifetime,
        watch: &mut outcome,
        ledger_name: books::name(settings),
        source_name: job.taps.to_string(),
        ledger_key: settings.secret.ledger_key(),
        head: KeptHead::beside(&settings.secret_file),
        is_head_spare: false,
    };
    let worker = Releaser::of_file(release_plan(settings, words, job.edition.clone()));
    let why = Driver::new(worker, seams).run(&|| false, &mut |_| {})?;
    if matches!(why, Why::Replaced(_) | Why::Unknown(_)) {
        return Ok(None);
    }
    let Outcomes { windows, n_duplicates, spent } = outcome;
    let is_differential = settings.engine.price().is_differential();
    Ok(Some(Summary { windows, counts, n_duplicates, spent, is_differential }))
}

/// The windows of a file, one after the other: each is complete.
struct FileSource<'a> {
    open: OpenWindows,
    windows: VecDeque<Window>,
    n_done: usize,
    clock: &'a dyn Clock,
    watch: &'a dyn Watch,
    is_begun: bool,
}

impl Source for FileSource<'_> {
    fn next(&mut self) -> Result<Option<Vec<Event>>, Error> {
        if !self.is_begun {
            self.is_begun = true;
            return Ok(Some(vec![ReleaseEvent::Assigned(self.clock.now())]));
        }
        let Some(window) = self.windows.pop_front() else { return Ok(None) };
        self.watch.window(self.n_done, self.n_done + 1 + self.windows.len(), &window);
        self.n_done += 1;
        let stamps = self.open.take(window.id());
        Ok(Some(vec![ReleaseEvent::Complete(window, stamps)]))
    }

    /// A file has no positions; nobody asks.
    fn position(&mut self) -> Result<(Option<Committed>, i64), Error> {
        Ok((None, 0))
    }

    fn assign(&mut self, _: i64) -> Result<(), Error> {
        Ok(())
    }

    fn delete(&mut self, _: i64) -> Result<(), Error> {
        Ok(())
    }

    fn compute(&mut self, work: &mut (dyn FnMut() + Send)) -> Result<(), Error> {
        work();
        Ok(())
    }
}

/// Collects what became of each window.
struct Outcomes {
    windows: Vec<Released>,
    n_duplicates: u64,
    spent: MicroEpsilon,
}

impl super::release::Watch for Outcomes {
    fn note(&mut self, note: &ReleaseNote, worker: &Releaser<Renderer>) {
        if let Some(book) = worker.book() {
            self.spent = book.spent();
        }
        let (window, n_rows, done) = match note {
            ReleaseNote::Sealed(n_duplicates) => {
                self.n_duplicates += n_duplicates;
                return;
            }
            ReleaseNote::Released { id, n_rows, paid, .. } => {
                (id.directory().to_owned(), *n_rows, paid.map_or(Done::Again, Done::Paid))
            }
            ReleaseNote::Withheld { window, refusal } => {
                (window.name(), 0, Done::Withheld(refusal.clone()))
            }
            ReleaseNote::Active
            | ReleaseNote::StandingBy
            | ReleaseNote::Held(_)
            | ReleaseNote::PassedOver(_) => return,
        };
        self.windows.push(Released { window, n_rows, done });
    }

    fn passed(&mut self, _: &'static str) {}
}

/// The range that is the window with this name; the name of one of its releases will do.
pub fn window_named(settings: &Settings, name: &str) -> Result<Span, Error> {
    let plain = name.split("_r").next().unwrap_or(name);
    match settings.calendar.window_named(plain) {
        Some(window) => Ok(window.span()),
        None => Err(Error::NoSuchWindow { name: name.to_owned() }),
    }
}

fn windows_of(settings: &Settings, span: &Span) -> Result<Vec<Window>, Error> {
    const MOST: u64 = 100_000;
    let n = settings.calendar.count_within(span);
    if n > MOST {
        let (from, to) = (span.from.to_string(), span.to.to_string());
        return Err(Error::TooManyWindows { from, to, n, most: MOST });
    }
    let windows: Vec<Window> = settings.calendar.windows_within(span).collect();
    if windows.is_empty() {
        let start = settings.calendar.day_start_secs();
        return Err(Error::NoWindow {
            from: span.from.to_string(),
            to: span.to.to_string(),
            length: crate::config::window_length(settings.calendar.length()),
            start: format!("{:02}:{:02}", start / 3_600, start % 3_600 / 60),
        });
    }
    Ok(windows)
}

/// From the first window to past the last. Windows that a clock change leaves no time lie in between and
/// never hold a tap.
fn bounds(windows: &[Window]) -> Option<Range<WindowId>> {
    let (first, last) = (windows.first()?.id(), windows.last()?.id());
    Some(first..last.next()?)
}

fn nothing_counts(taps: &Taps, counts: &Counts) -> Error {
    let reasons = counts.reasons(|_| true);
    let why = match reasons.is_empty() {
        true => ": it holds no records".to_owned(),
        false => format!(" ({reasons})"),
    };
    Error::NoTaps { path: taps.to_string(), why }
}
