//! One way to release windows, for files and for Kafka: executes what the protocol wants through four seams and feeds
//! back what happened. It decides nothing.

use std::collections::VecDeque;
use std::time::Instant;

use super::head::{self, KeptHead};
use super::{Error, Observers, event};
use crate::clock::Clock;
use crate::ledger::{self, Ledger, read_book};
use crate::model::MicroEpsilon;
use crate::protocol::{Committed, ReleaseEffect, ReleaseEvent, ReleaseNote, Releaser, Why};
use crate::publish::{Renderer, Sink};
use crate::secret::LedgerKey;

/// What happens to the release worker.
pub(super) type Event = ReleaseEvent<Renderer>;

/// Where complete windows come from: a file, or the segments of a topic.
pub(super) trait Source {
    /// What happened since the last call; waits a little if nothing did. `None`: nothing more will come.
    fn next(&mut self) -> Result<Option<Vec<Event>>, Error>;

    /// The group's commit, and the first offset.
    fn position(&mut self) -> Result<(Option<Committed>, i64), Error>;

    /// Goes on from an offset.
    fn assign(&mut self, position: i64) -> Result<(), Error>;

    /// Forgets records that nobody needs any more. Housekeeping: a failure is told, and nothing else.
    fn delete(&mut self, before: i64) -> Result<(), Error>;

    /// Does long work, and stays alive meanwhile.
    fn compute(&mut self, work: &mut (dyn FnMut() + Send)) -> Result<(), Error>;
}

/// Who watches the work.
pub(super) trait Watch {
    /// Something happened.
    fn note(&mut self, note: &ReleaseNote, worker: &Releaser<Renderer>);

    /// This step of the work begins: whoever asks what the worker waits for hears it.
    fn begins(&mut self, _step: &'static str) {}

    /// A step of the work is behind us: for crash points.
    fn passed(&mut self, step: &'static str);
}

/// What a release worker works with.
pub(super) struct Seams<'a> {
    pub(super) source: &'a mut dyn Source,
    pub(super) sinks: &'a mut [Box<dyn Sink>],
    pub(super) ledger: &'a mut dyn Ledger,
    pub(super) clock: &'a dyn Clock,
    pub(super) observers: Observers<'a>,
    /// The cap over the feed's life, for whoever looks.
    pub(super) lifetime: Option<MicroEpsilon>,
    pub(super) watch: &'a mut dyn Watch,
    /// The ledger's name, for messages.
    pub(super) ledger_name: String,
    /// The name of where windows come from, for messages.
    pub(super) source_name: String,
    /// Reads the ledger's records.
    pub(super) ledger_key: LedgerKey,
    /// What remembers how far the ledger is.
    pub(super) head: KeptHead,
    /// Whether somebody else remembers it, too: the group's positions carry it.
    pub(super) is_head_spare: bool,
}

/// The release worker and its seams.
pub(super) struct Driver<'a> {
    worker: Releaser<Renderer>,
    seams: Seams<'a>,
    /// When the window at hand began to be frozen.
    frozen_at: Option<Instant>,
    /// Records of the ledger when its head was last kept.
    n_kept: u64,
}

impl<'a> Driver<'a> {
    pub(super) fn new(worker: Releaser<Renderer>, seams: Seams<'a>) -> Self {
        Self { worker, seams, frozen_at: None, n_kept: 0 }
    }

    /// Works until nothing more comes, the protocol leaves, or `is_stopped` says so. `turn` is called now and then.
    pub(super) fn run(
        &mut self,
        is_stopped: &dyn Fn() -> bool,
        turn: &mut dyn FnMut(&Releaser<Renderer>),
    ) -> Result<Why, Error> {
        while !is_stopped() {
            let Some(events) = self.seams.source.next()? else { return Ok(Why::RangeDone) };
            for event in events {
                if let Some(why) = self.tell(event)? {
                    return Ok(why);
                }
            }
            // Window after window, as long as one is complete.
            loop {
                let now = self.seams.clock.now();
                let effects = self.step(ReleaseEvent::Tick(now))?;
                if effects.is_empty() || is_stopped() {
                    break;
                }
                if let Some(why) = self.execute_all(effects.into())? {
                    return Ok(why);
                }
            }
            turn(&self.worker);
        }
        Ok(Why::Stopped)
    }

    fn tell(&mut self, event: Event) -> Result<Option<Why>, Error> {
        let effects = self.step(event)?;
        self.execute_all(effects.into())
    }

    fn step(&mut self, event: Event) -> Result<Vec<ReleaseEffect<Renderer>>, Error> {
        let stepped = self.worker.step(event);
        let effects = stepped.map_err(|error| {
            if error.is_failed_check() {
                self.seams.observers.tell(&event::Event::VerifyFailed);
            }
            Error::of_protocol(error, &self.seams.ledger_name, &self.seams.source_name)
        })?;
        self.keep_head()?;
        Ok(effects)
    }

    /// Remembers how far the ledger is, whenever it has grown.
    fn keep_head(&mut self) -> Result<(), Error> {
        let Some(book) = self.worker.book().filter(|book| book.n_records() > self.n_kept) else {
            return Ok(());
        };
        self.n_kept = book.n_records();
        match self.seams.head.keep(book) {
            Err(error) if self.seams.is_head_spare => {
                self.seams.observers.tell(&event::Event::HeadNotKept(error.to_string()));
                Ok(())
            }
            kept => kept,
        }
    }

    /// Reads the ledger, and refuses one that others remember to have been longer.
    fn read_ledger(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        let seams = &mut self.seams;
        let remembered = seams.head.remembered()?;
        let lines = seams.ledger.read()?;
        let book = read_book(&seams.ledger_key, &lines)
            .map_err(|fault| ledger::Error::of_fault(&seams.ledger_name, fault))?;
        remembered.check(&book, &seams.ledger_name)?;
        for sink in seams.sinks.iter_mut() {
            head::check_standing(&book, &seams.ledger_name, &sink.standing()?)?;
        }
        Ok(lines)
    }

    fn execute_all(
        &mut self,
        mut queue: VecDeque<ReleaseEffect<Renderer>>,
    ) -> Result<Option<Why>, Error> {
        while let Some(effect) = queue.pop_front() {
            if let ReleaseEffect::Leave(why) = effect {
                return Ok(Some(why));
            }
            if let Some(event) = self.execute(effect)? {
                queue.extend(self.step(event)?);
            }
        }
        Ok(None)
    }

    /// Executes one effect; gives the answer, if it has one.
    fn execute(&mut self, effect: ReleaseEffect<Renderer>) -> Result<Option<Event>, Error> {
        let seams = &mut self.seams;
        seams.watch.begins(name_of(&effect));
        Ok(match effect {
            ReleaseEffect::Fence => {
                seams.ledger.fence()?;
                None
            }
            ReleaseEffect::ReadLedger => Some(ReleaseEvent::LedgerRead(self.read_ledger()?)),
            ReleaseEffect::ReadPosition => {
                let (committed, low) = seams.source.position()?;
                Some(ReleaseEvent::PositionRead(committed, low))
            }
            ReleaseEffect::AssignAt(position) => {
                seams.source.assign(position)?;
                None
            }
            ReleaseEffect::Freeze(job) => {
                self.frozen_at = Some(Instant::now());
                let sealed = compute(seams.source, || job.run())?;
                seams.watch.passed("frozen");
                Some(ReleaseEvent::Frozen(sealed))
            }
            ReleaseEffect::Preflight(id) => {
                for sink in seams.sinks.iter_mut() {
                    sink.preflight(&id)?;
                }
                Some(ReleaseEvent::Cleared)
            }
            ReleaseEffect::Commit(transaction) => {
                let ended = seams.ledger.commit(&transaction)?;
                seams.watch.passed("committed");
                Some(ReleaseEvent::Ended(ended))
            }
            ReleaseEffect::Make(job) => {
                seams.watch.passed("reserved");
                let (began, engine) = (Instant::now(), job.engine());
                let made = compute(seams.source, || job.run())?;
                let seconds = began.elapsed().as_secs_f64();
                seams.observers.tell(&event::Event::EngineRan { engine, seconds });
                seams.watch.passed("made");
                Some(ReleaseEvent::Made(made))
            }
            ReleaseEffect::Publish(made) => {
                let mut records = Vec::new();
                for sink in seams.sinks.iter_mut() {
                    records.extend(sink.publish(made.rendered())?);
                }
                seams.watch.passed("published");
                Some(ReleaseEvent::Published(records))
            }
            ReleaseEffect::Delete(before) => {
                if let Err(error) = seams.source.delete(before) {
                    seams.observers.tell(&event::Event::SegmentsKept(error.to_string()));
                }
                seams.watch.passed("deleted");
                None
            }
            ReleaseEffect::Tell(note) => {
                self.note(&note);
                None
            }
            ReleaseEffect::Leave(_) => None,
        })
    }

    fn note(&mut self, note: &ReleaseNote) {
        let seams = &mut self.seams;
        if let Some(book) = self.worker.book() {
            seams.observers.tell(&event::Event::ledger(book, seams.lifetime));
        }
        seams.observers.tell(&match note {
            ReleaseNote::Active => event::Event::Active,
            ReleaseNote::StandingBy => event::Event::StandingBy,
            ReleaseNote::Held(refusal) => event::Event::Held(refusal.clone()),
            ReleaseNote::PassedOver(offset) => event::Event::PassedOver(*offset),
            ReleaseNote::Sealed(n_duplicates) => event::Event::Sealed(*n_duplicates),
            ReleaseNote::Withheld { window, refusal } => {
                event::Event::Withheld { window: window.clone(), refusal: refusal.clone() }
            }
            ReleaseNote::Released { window, n_rows, engine, .. } => event::Event::Released {
                window: window.clone(),
                n_rows: *n_rows,
                engine,
                seconds: self.frozen_at.map_or(0.0, |began| began.elapsed().as_secs_f64()),
                at: seams.clock.now(),
            },
        });
        seams.watch.note(note, &self.worker);
    }
}

/// What a worker does while it executes an effect.
fn name_of(effect: &ReleaseEffect<Renderer>) -> &'static str {
    match effect {
        ReleaseEffect::Fence => "fencing other writers of the ledger",
        ReleaseEffect::ReadLedger => "reading the ledger",
        ReleaseEffect::ReadPosition => "reading the committed position",
        ReleaseEffect::AssignAt(_) => "taking up the segments",
        ReleaseEffect::Freeze(_) => "putting a window together",
        ReleaseEffect::Preflight(_) => "looking at the places of the release",
        ReleaseEffect::Commit(_) => "committing to the ledger",
        ReleaseEffect::Make(_) => "making a release",
        ReleaseEffect::Publish(_) => "writing a release",
        ReleaseEffect::Delete(_) => "deleting segments",
        ReleaseEffect::Tell(_) => "telling what happened",
        ReleaseEffect::Leave(_) => "leaving the group",
    }
}

/// Long work on a value, through a source that stays alive meanwhile.
fn compute<T: Send>(source: &mut dyn Source, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let mut work = Some(work);
    let mut done = None;
    source.compute(&mut || done = work.take().map(|work| work()))?;
    Ok(done.expect("R-8: a source does the work it is given, once"))
}

impl Error {
    /// A stop of the protocol, with the ledger's name where it is about the ledger.
    pub(super) fn of_protocol(
        error: crate::protocol::Error,
        ledger_name: &str,
        source_name: &str,
    ) -> Self {
        use crate::protocol::Error as Protocol;
        match error {
            Protocol::Ledger(fault) => ledger::Error::of_fault(ledger_name, fault).into(),
            Protocol::OtherFeed { found, expected } => {
                let path = ledger_name.to_owned();
                ledger::Error::OtherFeed { path, found, expected }.into()
            }
            Protocol::Engine(error) => Self::Engine(error),
            error => Self::Protocol { topic: source_name.to_owned(), error },
        }
    }
}
