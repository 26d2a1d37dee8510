//! The active release worker: which window is at hand, and what it waits for.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::gathering::PendingWindows;
use super::release::{ReleaseEffect, ReleaseEvent, ReleaseNote, SegmentRecord};
use super::transaction::{Ended, OutRecord, Topic, Transaction};
use super::window::{FreezeJob, Made, MakeJob, ReleasePlan, Render, check_same};
use super::{Error, Why};
use crate::engine::ReleaseId;
use crate::ledger::{
    Before, Book, Chain, Genesis, Outcome, Pending, Permit, Refusal, Request, Step,
};
use crate::model::{Cost, Window, WindowId};
use crate::passenger::Stamp;
use crate::seal::SealedWindow;

type Effects<R> = Result<Vec<ReleaseEffect<R>>, Error>;

/// Where the windows come from.
pub(super) enum Inbox {
    Segments(PendingWindows),
    File,
}

/// What the worker does with the window at hand. Each state waits for one answer.
#[expect(
    clippy::large_enum_variant,
    reason = "one exists at a time, and it is moved a few times a window"
)]
enum Body<R: Render> {
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
enum Done {
    Opened,
    Released { window: Window, n_rows: usize, engine: &'static str, paid: Option<Cost> },
    Withheld { window: Window, refusal: Refusal },
}

impl Done {
    fn window(&self) -> Option<WindowId> {
        match self {
            Self::Opened => None,
            Self::Released { window, .. } | Self::Withheld { window, .. } => Some(window.id()),
        }
    }
}

/// What the active worker holds.
pub(super) struct Active<R: Render> {
    chain: Chain,
    inbox: Inbox,
    body: Body<R>,
}

impl<R: Render> Active<R> {
    pub(super) fn new(chain: Chain, inbox: Inbox) -> Self {
        Self { chain, inbox, body: Body::Resting }
    }

    pub(super) fn book(&self) -> &Book {
        self.chain.book()
    }

    pub(super) fn pending(&self) -> Option<&PendingWindows> {
        match &self.inbox {
            Inbox::Segments(pending) => Some(pending),
            Inbox::File => None,
        }
    }

    pub(super) fn is_resting(&self) -> bool {
        matches!(self.body, Body::Resting)
    }

    pub(super) fn step(
        &mut self,
        plan: &Arc<ReleasePlan<R>>,
        event: ReleaseEvent<R>,
    ) -> Effects<R> {
        match (std::mem::replace(&mut self.body, Body::Resting), event) {
            (Body::Resting, ReleaseEvent::Tick(now)) => Ok(self.tick(plan, now)),
            (Body::Resting, ReleaseEvent::Complete(window, stamps)) => {
                Ok(self.freeze(plan, window, stamps))
            }
            (body, ReleaseEvent::Polled(records)) => self.polled(body, records),
            (body, ReleaseEvent::Tick(_)) => {
                self.body = body;
                Ok(Vec::new())
            }
            (Body::Freezing, ReleaseEvent::Frozen(sealed)) => self.frozen(plan, sealed?),
            (Body::Clearing { request, sealed }, ReleaseEvent::Cleared) => {
                self.reserve(plan, request, sealed)
            }
            (Body::Making { window, before }, ReleaseEvent::Made(made)) => {
                let made = Arc::new(made?);
                check_same(&before, &window, &made.digest)?;
                self.body = Body::Publishing { made: made.clone(), before };
                Ok(vec![ReleaseEffect::Publish(made)])
            }
            (Body::Publishing { made, before }, ReleaseEvent::Published(records)) => {
                self.settle(&made, &before, records)
            }
            (
                body @ (Body::Reserving { .. } | Body::Settling { .. }),
                ReleaseEvent::Ended(ended),
            ) => self.ended(plan, body, ended),
            (body, event) => Err(Error::out_of_turn(&body, &event)),
        }
    }

    /// Takes records; a transaction that failed is tried again once the group has been heard.
    fn polled(&mut self, body: Body<R>, records: Vec<SegmentRecord>) -> Effects<R> {
        self.body = body;
        if let Inbox::Segments(pending) = &mut self.inbox {
            for record in &records {
                pending.take(record.offset, &record.payload, &self.chain)?;
            }
        }
        match std::mem::replace(&mut self.body, Body::Resting) {
            Body::Again(body) => {
                let commit = body.commit().cloned();
                self.body = *body;
                Ok(commit.map(ReleaseEffect::Commit).into_iter().collect())
            }
            body => {
                self.body = body;
                Ok(Vec::new())
            }
        }
    }

    /// Reading begins.
    pub(super) fn begin(&self) -> Vec<ReleaseEffect<R>> {
        let position = match &self.inbox {
            Inbox::File => None,
            Inbox::Segments(pending) => Some(pending.next_offset()),
        };
        let assign = position.map(ReleaseEffect::AssignAt);
        assign.into_iter().chain([ReleaseEffect::Tell(ReleaseNote::Active)]).collect()
    }

    /// Opens an empty ledger: from now on every window from this one on is released.
    pub(super) fn open(
        &mut self,
        plan: &ReleasePlan<R>,
        first: WindowId,
        now: Timestamp,
    ) -> ReleaseEffect<R> {
        let genesis = Genesis {
            feed: Some(plan.budget.feed.clone()),
            first_window: Some(first.number()),
            ..Genesis::new(now)
        };
        let line = self.chain.open(genesis);
        let commit = Arc::new(self.transaction(Vec::new(), Some(&line), None));
        self.body = Body::Settling { done: Done::Opened, line: Some(line), commit: commit.clone() };
        ReleaseEffect::Commit(commit)
    }

    fn tick(&mut self, plan: &Arc<ReleasePlan<R>>, now: Timestamp) -> Vec<ReleaseEffect<R>> {
        let Inbox::Segments(pending) = &mut self.inbox else { return Vec::new() };
        if let Some(window) = pending.complete().and_then(|id| plan.calendar.window(id))
            && plan.not_before(&window) <= now
        {
            let stamps = pending.take_stamps(window.id());
            return self.freeze(plan, window, stamps);
        }
        let delete = pending.take_delete_before().map(ReleaseEffect::Delete);
        let is_done = plan.last.is_some_and(|last| pending.is_done(last, &self.chain));
        let leave = is_done.then_some(ReleaseEffect::Leave(Why::RangeDone));
        delete.into_iter().chain(leave).collect()
    }

    fn freeze(
        &mut self,
        plan: &ReleasePlan<R>,
        window: Window,
        stamps: Vec<Stamp>,
    ) -> Vec<ReleaseEffect<R>> {
        self.body = Body::Freezing;
        vec![ReleaseEffect::Freeze(FreezeJob::new(plan, window, stamps))]
    }

    /// Looks before paying: a refusal writes nothing, and a directory that is taken costs nothing.
    fn frozen(&mut self, plan: &Arc<ReleasePlan<R>>, sealed: SealedWindow) -> Effects<R> {
        let request = plan.request(&sealed);
        let note = ReleaseEffect::Tell(ReleaseNote::Sealed(sealed.n_duplicates()));
        if let Some(refusal) = self.chain.refusal(&request, &plan.budget) {
            let withheld = self.withhold(request.window, refusal);
            return Ok(std::iter::once(note).chain(withheld).collect());
        }
        let id = ReleaseId::new(&request.window, &plan.configuration);
        let preflight = ReleaseEffect::Preflight(request.window.clone(), id);
        self.body = Body::Clearing { request, sealed };
        Ok(vec![note, preflight])
    }

    fn withhold(&mut self, window: Window, refusal: Refusal) -> Vec<ReleaseEffect<R>> {
        let commit = Arc::new(self.transaction(Vec::new(), None, Some(window.id())));
        self.finish(Done::Withheld { window, refusal }, None, commit)
    }

    /// The price is durable before anything is drawn (L-1): the permit is made when the commit has ended.
    fn reserve(
        &mut self,
        plan: &Arc<ReleasePlan<R>>,
        request: Request,
        sealed: SealedWindow,
    ) -> Effects<R> {
        match self.chain.request(&request, &plan.budget) {
            Step::Decided(Outcome::Granted { permit, before }) => {
                Ok(vec![self.make(plan, sealed, permit, before)])
            }
            Step::Decided(Outcome::Refused(refusal)) => Ok(self.withhold(request.window, refusal)),
            Step::Write(line) => {
                let commit = Arc::new(self.transaction(Vec::new(), Some(&line), None));
                self.body = Body::Reserving { request, sealed, line, commit: commit.clone() };
                Ok(vec![ReleaseEffect::Commit(commit)])
            }
        }
    }

    fn granted(
        &mut self,
        plan: &Arc<ReleasePlan<R>>,
        line: Pending,
        request: &Request,
        sealed: SealedWindow,
    ) -> Effects<R> {
        match self.chain.granted(line, request)? {
            Outcome::Granted { permit, before } => {
                Ok(vec![self.make(plan, sealed, permit, before)])
            }
            Outcome::Refused(refusal) => Ok(self.withhold(request.window.clone(), refusal)),
        }
    }

    fn make(
        &mut self,
        plan: &Arc<ReleasePlan<R>>,
        sealed: SealedWindow,
        permit: Permit,
        before: Before,
    ) -> ReleaseEffect<R> {
        self.body = Body::Making { window: sealed.window().clone(), before };
        ReleaseEffect::Make(MakeJob::new(plan, sealed, permit))
    }

    /// The release, its settlement and the position appear together.
    fn settle(&mut self, made: &Made<R>, before: &Before, records: Vec<OutRecord>) -> Effects<R> {
        let release = made.release();
        let line = self.chain.settlement(release.reservation(), &made.digest)?;
        let window = release.window().clone();
        let done = Done::Released {
            n_rows: release.rows().len(),
            engine: release.engine().name,
            paid: (*before == Before::Nothing).then_some(release.cost()),
            window: window.clone(),
        };
        let commit = Arc::new(self.transaction(records, line.as_ref(), Some(window.id())));
        Ok(self.finish(done, line, commit))
    }

    fn finish(
        &mut self,
        done: Done,
        line: Option<Pending>,
        commit: Arc<Transaction>,
    ) -> Vec<ReleaseEffect<R>> {
        if commit.is_empty() {
            return self.done(done, &commit);
        }
        self.body = Body::Settling { done, line, commit: commit.clone() };
        vec![ReleaseEffect::Commit(commit)]
    }

    fn transaction(
        &self,
        records: Vec<OutRecord>,
        line: Option<&Pending>,
        done: Option<WindowId>,
    ) -> Transaction {
        let mut records = records;
        records.extend(line.map(|line| OutRecord::plain(Topic::Ledger, line.payload().to_vec())));
        let (n_records, head) = self.chain.after(line);
        let position = match (&self.inbox, done) {
            (Inbox::File, _) => None,
            (Inbox::Segments(pending), None) => Some(pending.position(n_records, head)),
            (Inbox::Segments(pending), Some(window)) => {
                Some(pending.position_after(window, n_records, head))
            }
        };
        let positions = position.into_iter().collect();
        let is_topic = matches!(self.inbox, Inbox::Segments(_));
        let ledger_length = (is_topic && line.is_some()).then(|| self.chain.book().n_records());
        Transaction { records, positions, ledger_length }
    }

    fn ended(&mut self, plan: &Arc<ReleasePlan<R>>, body: Body<R>, ended: Ended) -> Effects<R> {
        match ended {
            Ended::Committed => {}
            Ended::Aborted => {
                self.body = Body::Again(Box::new(body));
                return Ok(Vec::new());
            }
            Ended::Lost => {
                return Ok(vec![ReleaseEffect::Leave(Why::Replaced(
                    "the group has moved on".to_owned(),
                ))]);
            }
            Ended::Fenced(reason) => return Ok(vec![ReleaseEffect::Leave(Why::Replaced(reason))]),
            Ended::Unknown(reason) => return Ok(vec![ReleaseEffect::Leave(Why::Unknown(reason))]),
        }
        match body {
            Body::Reserving { request, sealed, line, .. } => {
                self.granted(plan, line, &request, sealed)
            }
            Body::Settling { done, line, commit } => {
                if let Some(line) = line {
                    self.chain.written(line)?;
                }
                Ok(self.done(done, &commit))
            }
            body => Err(Error::out_of_turn(&body, &"Ended")),
        }
    }

    fn done(&mut self, done: Done, commit: &Transaction) -> Vec<ReleaseEffect<R>> {
        self.body = Body::Resting;
        if let (Inbox::Segments(pending), Some(window)) = (&mut self.inbox, done.window()) {
            let offset = commit.positions.first().map(|position| position.offset);
            pending.done(window, offset);
        }
        match done {
            Done::Opened => self.begin(),
            Done::Released { window, n_rows, engine, paid } => {
                vec![ReleaseEffect::Tell(ReleaseNote::Released { window, n_rows, engine, paid })]
            }
            Done::Withheld { window, refusal } => {
                vec![ReleaseEffect::Tell(ReleaseNote::Withheld { window, refusal })]
            }
        }
    }
}

impl<R: Render> Body<R> {
    /// The transaction it waits for.
    fn commit(&self) -> Option<&Arc<Transaction>> {
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
