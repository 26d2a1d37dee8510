//! The release role as decisions: complete windows become releases, exactly once.
//!
//! One worker is active; others stand by. The worker before is fenced, then the position is read, then the ledger: in
//! this order, so that nobody can append behind our back. Every transaction carries the position, so the group
//! refuses a zombie's. The same machine releases the windows of a file, which has no position.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::active::{Active, Inbox};
use super::gathering::PendingWindows;
use super::ingest::Committed;
use super::transaction::{Ended, OutRecord, Transaction};
use super::window::{FreezeJob, Made, MakeJob, ReleasePlan, Render};
use super::{Error, Why};
use crate::engine::{self, ReleaseId};
use crate::ledger::{Book, Chain, Refusal};
use crate::model::{Cost, Window};
use crate::passenger::Stamp;
use crate::planted;
use crate::seal::SealedWindow;

/// A record of `segments` as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentRecord {
    pub offset: i64,
    pub payload: Vec<u8>,
}

/// What happens to a release worker.
#[expect(
    clippy::large_enum_variant,
    reason = "one exists at a time, and it is moved a few times a window"
)]
pub enum ReleaseEvent<R: Render> {
    /// The windows are ours to release, from now on.
    Assigned(Timestamp),
    /// They are not any more.
    Revoked,
    /// Answer to [`ReleaseEffect::ReadLedger`]: every record, without line feeds.
    LedgerRead(Vec<Vec<u8>>),
    /// Answer to [`ReleaseEffect::ReadPosition`]: the commit, and the first offset.
    PositionRead(Option<Committed>, i64),
    /// Records of `segments`; also none.
    Polled(Vec<SegmentRecord>),
    /// A whole window of a file.
    Complete(Window, Vec<Stamp>),
    /// Answer to [`ReleaseEffect::Freeze`].
    Frozen(Result<SealedWindow, engine::Error>),
    /// Answer to [`ReleaseEffect::Preflight`]: the release can go there.
    Cleared,
    /// Answer to [`ReleaseEffect::Make`].
    Made(Result<Made<R>, Error>),
    /// Answer to [`ReleaseEffect::Publish`]: records that are to appear with the settlement.
    Published(Vec<OutRecord>),
    /// Answer to [`ReleaseEffect::Commit`].
    Ended(Ended),
    /// Time passes.
    Tick(Timestamp),
}

impl<R: Render> fmt::Debug for ReleaseEvent<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Assigned(_) => "Assigned",
            Self::Revoked => "Revoked",
            Self::LedgerRead(_) => "LedgerRead",
            Self::PositionRead(..) => "PositionRead",
            Self::Polled(_) => "Polled",
            Self::Complete(..) => "Complete",
            Self::Frozen(_) => "Frozen",
            Self::Cleared => "Cleared",
            Self::Made(_) => "Made",
            Self::Published(_) => "Published",
            Self::Ended(_) => "Ended",
            Self::Tick(_) => "Tick",
        })
    }
}

/// What a release worker wants done.
pub enum ReleaseEffect<R: Render> {
    /// Make sure that nobody else can append to the ledger any more.
    Fence,
    /// Read the ledger to its end.
    ReadLedger,
    /// Read the committed position of `segments` and its first offset.
    ReadPosition,
    /// Read `segments` from here on.
    AssignAt(i64),
    /// Freeze a window.
    Freeze(FreezeJob),
    /// Find out whether a release can be put where it belongs, before anything is paid.
    Preflight(ReleaseId),
    /// Execute a transaction.
    Commit(Arc<Transaction>),
    /// Draw the noise.
    Make(MakeJob<R>),
    /// Put a release where it belongs; what must appear with the settlement comes back as records.
    Publish(Arc<Made<R>>),
    /// Records of `segments` before this offset are needed no more. Housekeeping: it may fail.
    Delete(i64),
    /// Something happened.
    Tell(ReleaseNote),
    /// Drop everything and leave.
    Leave(Why),
}

/// What happened, for whoever counts and logs.
#[derive(Clone, Debug)]
pub enum ReleaseNote {
    /// This worker releases windows.
    Active,
    /// Another one does.
    StandingBy,
    /// Nothing leaves until somebody says so; windows wait.
    Held(Refusal),
    /// A record of `segments` that cannot be taken, which the operator passes over; its offset.
    PassedOver(i64),
    /// A window is frozen: taps that were there twice. For the operator alone.
    Sealed(u64),
    /// A release is in place.
    Released {
        window: Window,
        /// Which release of it.
        id: ReleaseId,
        /// Its rows: a public number.
        n_rows: usize,
        /// The engine's name.
        engine: &'static str,
        /// What it cost, if it was paid now.
        paid: Option<Cost>,
    },
    /// A window goes without a release.
    Withheld { window: Window, refusal: Refusal },
}

#[expect(
    clippy::large_enum_variant,
    reason = "one exists at a time, and it is moved a few times a window"
)]
enum State<R: Render> {
    StandingBy,
    /// Taking over: what was read so far.
    TakingOver {
        since: Timestamp,
        start: Option<Start>,
        lines: Option<Vec<Vec<u8>>>,
    },
    Active(Active<R>),
    Left,
}

/// Where a group stands in `segments`: its commit, and the first offset.
struct Start {
    committed: Option<Committed>,
    low: i64,
}

/// Whether the windows come from a file or from segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    File,
    Segments,
}

/// The release worker.
pub struct Releaser<R: Render> {
    plan: Arc<ReleasePlan<R>>,
    from: From,
    state: State<R>,
}

type Effects<R> = Result<Vec<ReleaseEffect<R>>, Error>;

impl<R: Render> Releaser<R> {
    /// A worker on `segments`, which stands by.
    pub fn of_segments(plan: ReleasePlan<R>) -> Self {
        Self { plan: Arc::new(plan), from: From::Segments, state: State::StandingBy }
    }

    /// A worker on the windows of a file.
    pub fn of_file(plan: ReleasePlan<R>) -> Self {
        Self { plan: Arc::new(plan), from: From::File, state: State::StandingBy }
    }

    /// What was booked, while this worker is the active one.
    pub fn book(&self) -> Option<&Book> {
        match &self.state {
            State::Active(active) => Some(active.book()),
            _ => None,
        }
    }

    /// Windows on their way, while this worker is the active one on segments.
    pub fn pending(&self) -> Option<&PendingWindows> {
        match &self.state {
            State::Active(active) => active.pending(),
            _ => None,
        }
    }

    /// Whether the worker waits for nothing but time and input.
    pub fn is_resting(&self) -> bool {
        match &self.state {
            State::StandingBy => true,
            State::Active(active) => active.is_resting(),
            _ => false,
        }
    }

    /// Takes what happened, says what to do.
    pub fn step(&mut self, event: ReleaseEvent<R>) -> Effects<R> {
        let state = std::mem::replace(&mut self.state, State::Left);
        match (state, event) {
            (State::Left, _) => Ok(Vec::new()),
            (State::StandingBy | State::Active(_), ReleaseEvent::Assigned(now)) => {
                Ok(self.take_over(now))
            }
            (
                state @ State::StandingBy,
                ReleaseEvent::Polled(_) | ReleaseEvent::Tick(_) | ReleaseEvent::Revoked,
            ) => {
                self.state = state;
                Ok(Vec::new())
            }
            (
                State::TakingOver { since, lines, .. },
                ReleaseEvent::PositionRead(committed, low),
            ) => self.read(since, Some(Start { committed, low }), lines),
            (State::TakingOver { since, start, .. }, ReleaseEvent::LedgerRead(lines)) => {
                self.read(since, start, Some(lines))
            }
            (State::Active(_), ReleaseEvent::Revoked) => {
                self.state = State::StandingBy;
                Ok(vec![ReleaseEffect::Tell(ReleaseNote::StandingBy)])
            }
            (State::Active(mut active), event) => {
                let effects = active.step(&self.plan, event)?;
                if !effects.iter().any(|effect| matches!(effect, ReleaseEffect::Leave(_))) {
                    self.state = State::Active(active);
                }
                Ok(effects)
            }
            (_, event) => Err(Error::out_of_turn(&"TakingOver", &event)),
        }
    }

    /// The position is read before the ledger: in the other order a worker that sleeps in between compares an old
    /// ledger with a new position, and calls payments missing that are not.
    fn take_over(&mut self, now: Timestamp) -> Vec<ReleaseEffect<R>> {
        self.state = State::TakingOver { since: now, start: None, lines: None };
        match self.from {
            From::File => vec![ReleaseEffect::Fence, ReleaseEffect::ReadLedger],
            From::Segments if planted!(LedgerBeforeFence) => {
                vec![ReleaseEffect::ReadLedger, ReleaseEffect::Fence, ReleaseEffect::ReadPosition]
            }
            From::Segments => {
                vec![ReleaseEffect::Fence, ReleaseEffect::ReadPosition, ReleaseEffect::ReadLedger]
            }
        }
    }

    /// Goes on when everything was read that was asked for.
    fn read(
        &mut self,
        since: Timestamp,
        start: Option<Start>,
        lines: Option<Vec<Vec<u8>>>,
    ) -> Effects<R> {
        match (start, lines) {
            (start, Some(lines)) if start.is_some() || self.from == From::File => {
                self.ledger_read(since, start, &lines)
            }
            (start, lines) => {
                self.state = State::TakingOver { since, start, lines };
                Ok(Vec::new())
            }
        }
    }

    fn ledger_read(
        &mut self,
        now: Timestamp,
        start: Option<Start>,
        lines: &[Vec<u8>],
    ) -> Effects<R> {
        let chain = Chain::read_all(self.plan.secret.ledger_key(), lines)?;
        let expected = &self.plan.budget.feed;
        if let Some(found) = chain.book().feed()
            && found != expected
        {
            return Err(Error::OtherFeed { found: found.to_owned(), expected: expected.clone() });
        }
        if let Some(refusal @ Refusal::NotApproved { .. }) = chain.book().hold(&self.plan.statement)
            && self.from == From::Segments
        {
            return Err(Error::NotApproved(Box::new(refusal)));
        }
        match start {
            Some(start) => self.start(now, chain, &start),
            // The topic of a feed that no service has run yet.
            None if chain.book().n_records() == 0 => {
                let first = self.plan.first_window(now).ok_or(Error::NoFirstWindow)?;
                let mut active = Active::new(chain, Inbox::File);
                let effects = vec![active.open(&self.plan, first, now)];
                self.state = State::Active(active);
                Ok(effects)
            }
            None => {
                self.state = State::Active(Active::new(chain, Inbox::File));
                Ok(Vec::new())
            }
        }
    }

    /// Where reading goes on, if the ledger is still what the last commit saw.
    fn start(&mut self, now: Timestamp, chain: Chain, start: &Start) -> Effects<R> {
        let Start { committed, low } = start;
        let memory = match committed {
            Some(commit) => self.plan.signer.read_release(0, commit)?,
            None => None,
        };
        if let Some(memory) = &memory
            && !chain.had(memory.n_records, &memory.head)
        {
            let found = chain.book().n_records();
            return Err(Error::LedgerShortened { found, expected: memory.n_records });
        }
        let has_released = chain.book().entries().iter().any(|entry| entry.settled.is_some());
        let offset = match committed {
            Some(commit) => commit.offset,
            None if has_released => return Err(Error::PositionsExpired),
            None => *low,
        };
        let opened = chain.book().first_window();
        let first = opened.or_else(|| self.plan.first_window(now)).ok_or(Error::NoFirstWindow)?;
        let done_through = memory.and_then(|memory| memory.done_through);
        let pending = PendingWindows::new(&self.plan, first, offset, done_through);
        let mut active = Active::new(chain, Inbox::Segments(Box::new(pending)));
        let effects = match opened {
            Some(_) => active.begin(),
            None => vec![active.open(&self.plan, first, now)],
        };
        self.state = State::Active(active);
        Ok(effects)
    }
}
