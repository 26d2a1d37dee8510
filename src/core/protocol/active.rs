//! The active release worker: which window is at hand, and what it waits for.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::body::{Body, Done};
use super::gathering::{PendingWindows, Taken};
use super::release::{ReleaseEffect, ReleaseEvent, ReleaseNote, SegmentRecord};
use super::transaction::{Ended, OutRecord, Topic, Transaction};
use super::window::{FreezeJob, Made, MakeJob, ReleasePlan, Render, check_same};
use super::{Error, Why};
use crate::engine::ReleaseId;
use crate::ledger::{
    Before, Book, Chain, Genesis, Outcome, Pending, Permit, Refusal, Request, Step,
};
use crate::model::{Window, WindowId};
use crate::passenger::Stamp;
use crate::seal::SealedWindow;

type Effects<R> = Result<Vec<ReleaseEffect<R>>, Error>;

/// Where the windows come from.
pub(super) enum Inbox {
    Segments(Box<PendingWindows>),
    File,
}

/// What the active worker holds.
pub(super) struct Active<R: Render> {
    chain: Chain,
    inbox: Inbox,
    body: Body<R>,
    /// When a worker that may release nothing last looked whether it may again.
    looked_at: Option<Timestamp>,
}

/// How often it looks.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(5);

impl<R: Render> Active<R> {
    pub(super) fn new(chain: Chain, inbox: Inbox) -> Self {
        Self { chain, inbox, body: Body::Resting, looked_at: None }
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
            (Body::Resting, ReleaseEvent::LedgerRead(lines)) => self.looked(plan, &lines),
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
        let mut effects = Vec::new();
        if let Inbox::Segments(pending) = &mut self.inbox {
            for record in &records {
                let taken = pending.take(record.offset, &record.payload, &self.chain)?;
                if taken == Taken::PassedOver {
                    effects.push(ReleaseEffect::Tell(ReleaseNote::PassedOver(record.offset)));
                }
            }
        }
        match std::mem::replace(&mut self.body, Body::Resting) {
            Body::Again(body) => {
                let commit = body.commit().cloned();
                self.body = *body;
                effects.extend(commit.map(ReleaseEffect::Commit));
            }
            body => self.body = body,
        }
        Ok(effects)
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
        let hold = self.chain.book().hold(&plan.statement);
        let Inbox::Segments(pending) = &mut self.inbox else { return Vec::new() };
        if let Some(refusal) = hold {
            return self.held(refusal, now).into_iter().collect();
        }
        if let Some(window) = pending.complete().and_then(|id| plan.calendar.window(id))
            && plan.due(&window) <= now
        {
            // What is paid for is released, however late: its noise may have been seen.
            let is_paid = self.chain.book().is_paid(&window);
            if let Some(refusal) = plan.too_late(&window, now).filter(|_| !is_paid) {
                return self.withhold(window, refusal);
            }
            let stamps = pending.take_stamps(window.id());
            return self.freeze(plan, window, stamps);
        }
        let delete = pending.take_delete_before().map(ReleaseEffect::Delete);
        let is_done = plan.last.is_some_and(|last| pending.is_done(last, &self.chain));
        let leave = is_done.then_some(ReleaseEffect::Leave(Why::RangeDone));
        delete.into_iter().chain(leave).collect()
    }

    /// Says once that nothing leaves, then looks now and then whether it may again.
    fn held(&mut self, refusal: Refusal, now: Timestamp) -> Option<ReleaseEffect<R>> {
        match self.looked_at {
            Some(looked) if now.duration_since(looked) < LOOK_AGAIN => return None,
            _ => {}
        }
        let is_told = self.looked_at.replace(now).is_some();
        Some(if is_told {
            ReleaseEffect::ReadLedger
        } else {
            ReleaseEffect::Tell(ReleaseNote::Held(refusal))
        })
    }

    /// Starts over when somebody has let releases go on.
    fn looked(&self, plan: &ReleasePlan<R>, lines: &[Vec<u8>]) -> Effects<R> {
        let chain = Chain::read_all(plan.secret.ledger_key(), lines)?;
        let is_free = chain.book().hold(&plan.statement).is_none();
        let why = || Why::Replaced("the feed was resumed".to_owned());
        Ok(is_free.then(|| ReleaseEffect::Leave(why())).into_iter().collect())
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
        let revision = self.chain.revision(&request, &plan.budget);
        let id = ReleaseId::new(&request.feed_key, &request.window, &plan.configuration, revision);
        let preflight = ReleaseEffect::Preflight(id);
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
        match self.chain.granted(line)? {
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
            id: release.id().clone(),
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
        let ledger_length = line.is_some().then(|| self.chain.book().n_records());
        Transaction { records, positions, ledger_length }
    }

    fn ended(&mut self, plan: &Arc<ReleasePlan<R>>, body: Body<R>, ended: Ended) -> Effects<R> {
        match ended {
            Ended::Committed => {}
            Ended::Aborted | Ended::TooLong => {
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
            Done::Released { window, id, n_rows, engine, paid } => {
                let note = ReleaseNote::Released { window, id, n_rows, engine, paid };
                vec![ReleaseEffect::Tell(note)]
            }
            Done::Withheld { window, refusal } => {
                vec![ReleaseEffect::Tell(ReleaseNote::Withheld { window, refusal })]
            }
        }
    }
}
