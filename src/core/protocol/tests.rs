//! Single histories, step by step. The simulator (`tests/sim`) runs the many.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

mod passed;
mod said;
mod schedule;

use super::*;
use crate::engine::Release;
use crate::engine::fixture::Echo;
use crate::ledger::{self, Declaration, Edition, Genesis, opening};
use crate::model::{Calendar, Digest, MicroEpsilon, Schedule, StationIx, Window, WindowId};
use crate::passenger::{CardKey, Stamp};
use crate::seal::{Closing, Judged, Rules, SegmentCodec};
use crate::secret::Secret;
use crate::window::{Arrival, Gate};

struct Rows;

impl Render for Rows {
    type Rendered = Vec<u64>;

    fn render(&self, release: &Release) -> Result<Vec<u64>, String> {
        Ok(release.rows().iter().map(|row| row.count).collect())
    }

    fn digest(&self, rendered: &Vec<u64>) -> Digest {
        Digest::of(format!("{rendered:?}").as_bytes())
    }
}

fn calendar() -> Calendar {
    Calendar::new(TimeZone::UTC, 86_400, 0, 3_600).unwrap()
}

fn secret() -> Secret {
    Secret::from_bytes(&[7; 32]).unwrap()
}

fn now() -> Timestamp {
    "2015-11-12T12:00:00Z".parse().unwrap()
}

fn window() -> Window {
    calendar().window_at("2015-11-10T12:00:00Z".parse().unwrap()).unwrap()
}

fn codec() -> SegmentCodec {
    SegmentCodec::new(secret(), "feed".to_owned(), Digest::of(b"layout"))
}

fn signer() -> Signer {
    Signer::new(&secret(), false)
}

fn plan() -> ReleasePlan<Rows> {
    ReleasePlan {
        engine: Arc::new(Echo { price: MicroEpsilon::new(5) }),
        secret: secret(),
        configuration: Digest::of(b"configuration"),
        statement: Digest::of(b"statement"),
        edition: Edition::First,
        max_length: None,
        calendar: calendar(),
        budget: ledger::Settings {
            feed: "feed".to_owned(),
            calendar: calendar(),
            lifetime: Some(MicroEpsilon::new(5)),
            horizon: None,
        },
        n_stations: 2,
        codec: codec(),
        pass_segments: BTreeSet::new(),
        signer: signer(),
        last: None,
        first: Some(window().id()),
        schedule: Schedule::default(),
        render: Rows,
    }
}

fn stamps(station: u32) -> Vec<Stamp> {
    let card = CardKey::from_halves([1, 2]);
    vec![Stamp::new(card, 5, StationIx(station), None)]
}

fn file_worker(feed: Option<&str>) -> (Releaser<Rows>, Result<(), Error>) {
    let mut worker = Releaser::of_file(plan());
    let wanted = worker.step(ReleaseEvent::Assigned(now())).unwrap();
    assert!(matches!(wanted[..], [ReleaseEffect::Fence, ReleaseEffect::ReadLedger]));
    let genesis = Genesis { feed: feed.map(str::to_owned), ..Genesis::new(now()) };
    let lines = vec![opening(&secret().ledger_key(), genesis)];
    let read =
        worker.step(ReleaseEvent::LedgerRead(lines)).map(|effects| assert!(effects.is_empty()));
    (worker, read)
}

/// Executes what a worker wants, on a ledger that is always durable; gives the names of the effects.
fn follow(worker: &mut Releaser<Rows>, effects: Vec<ReleaseEffect<Rows>>) -> Vec<String> {
    let mut queue: std::collections::VecDeque<_> = effects.into();
    let mut names = Vec::new();
    while let Some(effect) = queue.pop_front() {
        let (name, event) = match effect {
            ReleaseEffect::Freeze(job) => ("freeze", Some(ReleaseEvent::Frozen(job.run()))),
            ReleaseEffect::Preflight(..) => ("preflight", Some(ReleaseEvent::Cleared)),
            ReleaseEffect::Commit(transaction) => {
                assert!(transaction.positions.is_empty() && !transaction.records.is_empty());
                ("commit", Some(ReleaseEvent::Ended(Ended::Committed)))
            }
            ReleaseEffect::Make(job) => ("make", Some(ReleaseEvent::Made(job.run()))),
            ReleaseEffect::Publish(_) => ("publish", Some(ReleaseEvent::Published(Vec::new()))),
            ReleaseEffect::Tell(ReleaseNote::Released { paid, .. }) => {
                (if paid.is_some() { "paid" } else { "again" }, None)
            }
            ReleaseEffect::Tell(ReleaseNote::Withheld { .. }) => ("withheld", None),
            ReleaseEffect::Tell(ReleaseNote::Held(_)) => ("held", None),
            ReleaseEffect::Tell(_) => continue,
            _ => ("other", None),
        };
        names.push(name.to_owned());
        if let Some(event) = event {
            queue.extend(worker.step(event).unwrap());
        }
    }
    names
}

/// look, preflight, reserve, noise, publish, settle. The same again is free; anything else of the window is
/// refused before anything is asked of a sink.
#[test]
fn a_window_is_paid_before_its_noise_and_settled_after_its_files() {
    let (mut worker, read) = file_worker(None);
    read.unwrap();
    let mut release = |stamps: Vec<Stamp>| {
        let effects = worker.step(ReleaseEvent::Complete(window(), stamps)).unwrap();
        follow(&mut worker, effects)
    };
    let whole = ["freeze", "preflight", "commit", "make", "publish", "commit", "paid"];
    assert_eq!(release(stamps(0)), whole);
    assert_eq!(release(stamps(0)), ["freeze", "preflight", "make", "publish", "again"]);
    assert_eq!(release(stamps(1)), ["freeze", "withheld"]);
    assert_eq!(worker.book().unwrap().spent(), MicroEpsilon::new(5));
}

#[test]
fn a_ledger_of_another_feed_or_secret_is_refused() {
    let (_, read) = file_worker(Some("feed"));
    assert!(read.is_ok());
    let (_, read) = file_worker(Some("bus"));
    assert!(matches!(read, Err(Error::OtherFeed { found, .. }) if found == "bus"));
    let mut worker = Releaser::of_file(plan());
    worker.step(ReleaseEvent::Assigned(now())).unwrap();
    let foreign = Secret::from_bytes(&[8; 32]).unwrap().ledger_key();
    let lines = vec![opening(&foreign, Genesis::new(now()))];
    let error = worker.step(ReleaseEvent::LedgerRead(lines)).err().unwrap();
    assert!(matches!(error, Error::Ledger(ledger::ChainFault::OtherSecret)), "{error}");
    assert_eq!(error.kind(), ErrorKind::Config);
}

/// Takes over an empty ledger on segments; gives the worker once it is active.
fn active() -> Releaser<Rows> {
    active_with(plan())
}

fn active_with(plan: ReleasePlan<Rows>) -> Releaser<Rows> {
    let mut worker = Releaser::of_segments(plan);
    worker.step(ReleaseEvent::Assigned(now())).unwrap();
    worker.step(ReleaseEvent::PositionRead(None, 3)).unwrap();
    let wanted = worker.step(ReleaseEvent::LedgerRead(Vec::new())).unwrap();
    let [ReleaseEffect::Commit(opening)] = &wanted[..] else {
        panic!("the ledger is opened first")
    };
    assert_eq!((opening.positions.len(), opening.ledger_length), (1, Some(0)));
    let wanted = worker.step(ReleaseEvent::Ended(Ended::Committed)).unwrap();
    assert!(matches!(wanted[0], ReleaseEffect::AssignAt(3)));
    worker
}

fn polled(worker: &mut Releaser<Rows>, offset: i64, payload: Vec<u8>) -> Result<(), Error> {
    let records = vec![SegmentRecord { offset, payload }];
    worker.step(ReleaseEvent::Polled(records)).map(|effects| assert!(effects.is_empty()))
}

/// A worker on segments that has taken over a ledger with these declarations.
fn declared_to(declarations: &[Declaration]) -> (Releaser<Rows>, Result<(), Error>) {
    let mut worker = Releaser::of_segments(plan());
    worker.step(ReleaseEvent::Assigned(now())).unwrap();
    worker.step(ReleaseEvent::PositionRead(None, 3)).unwrap();
    let read = worker.step(ReleaseEvent::LedgerRead(lines_of(declarations))).map(|_| ());
    (worker, read)
}

/// A ledger with these declarations.
fn lines_of(declarations: &[Declaration]) -> Vec<Vec<u8>> {
    let first_window = Some(window().id().number());
    let genesis = Genesis { first_window, ..Genesis::new(now()) };
    let mut lines = vec![opening(&secret().ledger_key(), genesis)];
    for one in declarations {
        let line = ledger::declared(&secret().ledger_key(), &lines, one, now()).unwrap();
        lines.push(line);
    }
    lines
}

/// Holds L-7: windows wait while a feed is stopped, and nobody works under a statement that was not signed.
#[test]
fn a_live_feed_waits_while_it_is_stopped_and_refuses_what_was_not_signed() {
    let by = || "A. Officer".to_owned();
    let stop = Declaration::Stop { why: "a complaint".to_owned(), by: by() };
    let resume = Declaration::Resume { why: "settled".to_owned(), by: by() };
    let complete = |worker: &mut Releaser<Rows>| {
        polled(worker, 3, codec().taps(window().id(), 0, &stamps(0), &[1; 24])).unwrap();
        polled(worker, 4, codec().finished(window().id(), 0, 1, &[2; 24])).unwrap();
        let effects = worker.step(ReleaseEvent::Tick(now())).unwrap();
        effects.iter().map(|effect| matches!(effect, ReleaseEffect::Freeze(_))).collect::<Vec<_>>()
    };
    let (mut worker, read) = declared_to(std::slice::from_ref(&stop));
    read.unwrap();
    assert_eq!(complete(&mut worker), [false], "it says that it is held, once, and does nothing");
    assert!(worker.step(ReleaseEvent::Tick(now())).unwrap().is_empty());
    let later = now() + jiff::SignedDuration::from_secs(6);
    let wanted = worker.step(ReleaseEvent::Tick(later)).unwrap();
    assert!(matches!(wanted[..], [ReleaseEffect::ReadLedger]), "now and then it looks again");
    let same =
        worker.step(ReleaseEvent::LedgerRead(lines_of(std::slice::from_ref(&stop)))).unwrap();
    assert!(same.is_empty(), "still stopped");
    let resumed = lines_of(&[stop.clone(), resume.clone()]);
    let wanted = worker.step(ReleaseEvent::LedgerRead(resumed)).unwrap();
    assert!(matches!(wanted[..], [ReleaseEffect::Leave(Why::Replaced(_))]));
    let (mut worker, read) = declared_to(&[stop, resume]);
    read.unwrap();
    assert_eq!(complete(&mut worker), [true]);
    let signed = |text: &[u8]| Declaration::Approve { statement: Digest::of(text), by: by() };
    let (mut worker, read) = declared_to(&[signed(b"another"), signed(b"statement")]);
    read.unwrap();
    assert_eq!(complete(&mut worker), [true], "the last signature counts");
    let (_, read) = declared_to(&[signed(b"statement"), signed(b"another")]);
    let error = read.unwrap_err();
    assert!(matches!(error, Error::NotApproved(_)), "{error}");
    assert!(error.to_string().contains("nobody signed"), "{error}");
}

#[test]
fn segments_that_no_correct_worker_writes_are_named_with_their_offset() {
    let id = window().id();
    let early = WindowId::new(id.number() - 1);
    let wrong = [
        codec().finished(early, 0, 1, &[1; 24]),
        codec().finished(id, 2, 2, &[2; 24]),
        codec().finished(WindowId::new(i64::MAX), 0, 1, &[3; 24]),
        codec().taps(id, 0, &stamps(2), &[4; 24]),
        codec().taps(
            id,
            0,
            &[Stamp::new(stamps(0)[0].card, 86_400_000, StationIx(0), None)],
            &[5; 24],
        ),
    ];
    for (offset, payload) in (0..).zip(wrong) {
        let error = polled(&mut active(), offset, payload).unwrap_err();
        assert!(matches!(error, Error::WrongSegment { offset: at, .. } if at == offset), "{error}");
        assert_eq!(error.kind(), ErrorKind::Broken);
    }
    let error = polled(&mut active(), 9, b"short".to_vec()).unwrap_err();
    assert!(matches!(error, Error::Segment { offset: 9, .. }), "{error}");
    polled(&mut active(), 3, codec().finished(id, 0, 1, &[6; 24])).unwrap();
}

/// Holds R-8. A transaction that was aborted is tried again, the same, once the group has been heard; one whose
/// end nobody knows makes the worker leave.
#[test]
fn an_aborted_reservation_is_the_same_again_and_an_unknown_end_leaves() {
    let mut worker = active();
    polled(&mut worker, 3, codec().taps(window().id(), 0, &stamps(0), &[1; 24])).unwrap();
    polled(&mut worker, 4, codec().finished(window().id(), 0, 1, &[2; 24])).unwrap();
    let wanted = worker.step(ReleaseEvent::Tick(now())).unwrap();
    let Some(ReleaseEffect::Freeze(job)) = wanted.into_iter().next() else {
        panic!("frozen first")
    };
    worker.step(ReleaseEvent::Frozen(job.run())).unwrap();
    let wanted = worker.step(ReleaseEvent::Cleared).unwrap();
    let [ReleaseEffect::Commit(reserve)] = &wanted[..] else { panic!("then reserved") };
    assert_eq!(reserve.positions[0].offset, 3, "nothing that the window needs lies before");
    assert!(worker.step(ReleaseEvent::Ended(Ended::Aborted)).unwrap().is_empty());
    assert!(worker.step(ReleaseEvent::Tick(now())).unwrap().is_empty(), "not before a poll");
    let wanted = worker.step(ReleaseEvent::Polled(Vec::new())).unwrap();
    assert!(matches!(&wanted[..], [ReleaseEffect::Commit(again)] if again == reserve));
    let wanted = worker.step(ReleaseEvent::Ended(Ended::Unknown("no answer".to_owned()))).unwrap();
    assert!(matches!(&wanted[..], [ReleaseEffect::Leave(Why::Unknown(_))]));
    assert!(
        worker.step(ReleaseEvent::Tick(now())).unwrap().is_empty(),
        "who has left does nothing"
    );
}

#[test]
fn an_answer_that_nobody_asked_for_is_a_bug_and_says_no_more_than_names() {
    let error = active().step(ReleaseEvent::Cleared).err().unwrap();
    assert!(error.to_string().contains("sent Cleared while the protocol was Resting"), "{error}");
    let mut ingest = ingest();
    let error = ingest.step(IngestEvent::PartitionsCounted(3), &mut || [0; 24]).err().unwrap();
    assert!(error.to_string().contains("sent PartitionsCounted while the protocol was Resting"));
}

fn ingest() -> Ingest {
    let first = window().id();
    let grace = SignedDuration::from_secs(60);
    let rules = Rules {
        gate: Gate {
            range: Some(first..WindowId::new(i64::MAX)),
            grace: Some(grace),
            max_ahead: grace,
        },
        closing: Closing::Arrival { grace, clock_margin: grace },
        calendar: calendar(),
        first,
        past: None,
    };
    let plan = IngestPlan {
        rules,
        codec: codec(),
        signer: signer(),
        taps_topic: "taps".to_owned(),
        settled_through: None,
        flush: grace,
    };
    Ingest::new(plan, now())
}

/// Decision 0005: nobody has committed for the partition, so it begins at its first record and seals from the first
/// window.
#[test]
fn a_partition_without_a_commit_begins_at_its_first_record() {
    let mut worker = ingest();
    let mut step = |event| worker.step(event, &mut || [0; 24]).unwrap();
    let wanted = step(IngestEvent::Assigned([1].into()));
    assert!(matches!(wanted[..], [IngestEffect::Fence, IngestEffect::ReadPositions(_)]));
    let committed = [(0, Some(Committed { offset: 9, metadata: String::new() })), (1, None)];
    let lows = [(1, 4)].into();
    let wanted = step(IngestEvent::PositionsRead { committed: committed.into(), lows });
    assert!(matches!(&wanted[..], [IngestEffect::AssignAt(at)] if at[..] == [(1, 4)]));
    // Long after the first two windows: their ends are asked for, with what open transactions hide.
    let wanted = step(IngestEvent::Tick(now()));
    assert!(matches!(&wanted[..], [IngestEffect::ReadEnds { with_uncommitted: true, .. }]));
    assert!(step(IngestEvent::EndsRead(vec![(1, 4, 4)])).is_empty());
    assert!(matches!(step(IngestEvent::Tick(now()))[..], [IngestEffect::CountPartitions]));
    let wanted = step(IngestEvent::PartitionsCounted(2));
    let [IngestEffect::Commit(flush)] = &wanted[..] else { panic!("a flush") };
    let second = WindowId::new(window().id().number() + 1);
    assert_eq!(flush.records.len(), 2, "a marker for each of two empty windows");
    assert!(flush.positions[0].metadata.starts_with(&format!("tapveil2 {} - ", second.number())));
    assert!(matches!(step(IngestEvent::Ended(Ended::Lost))[..], []));
    assert!(step(IngestEvent::Tick(now())).is_empty(), "only a poll brings the group's news");
}

#[test]
fn positions_that_are_gone_after_a_release_are_the_operators_to_decide() {
    let mut worker = ingest();
    worker.step(IngestEvent::Assigned([0].into()), &mut || [0; 24]).unwrap();
    let foreign = Some(Committed { offset: 9, metadata: "somebody else's".to_owned() });
    let event =
        IngestEvent::PositionsRead { committed: [(0, foreign)].into(), lows: [(0, 0)].into() };
    let error = worker.step(event, &mut || [0; 24]).err().unwrap();
    assert!(matches!(error, Error::ForeignMetadata { partition: 0, .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[test]
fn a_record_of_a_partition_that_went_away_is_somebody_elses() {
    let mut worker = ingest();
    let judged = Judged::reject(crate::model::Reject::Malformed, Arrival::Stamped(now()));
    let record = PolledRecord { partition: 5, offset: 0, judged };
    assert!(worker.step(IngestEvent::Polled(vec![record]), &mut || [0; 24]).unwrap().is_empty());
    assert_eq!(worker.partitions().count(), 0);
}

/// Brokers that are slower than a flush is large: what was read is forgotten, read again, and committed in less.
#[test]
fn a_flush_that_takes_too_long_is_read_again_and_made_smaller() {
    let mut worker = ingest();
    let mut step = |event| worker.step(event, &mut || [0; 24]).unwrap();
    step(IngestEvent::Assigned([0].into()));
    let positions =
        || IngestEvent::PositionsRead { committed: [(0, None)].into(), lows: [(0, 4)].into() };
    step(positions());
    let wanted = step(IngestEvent::Tick(now()));
    assert!(matches!(wanted[..], [IngestEffect::ReadEnds { .. }]), "{wanted:?}");
    step(IngestEvent::EndsRead(vec![(0, 4, 4)]));
    type Step<'a> = &'a mut dyn FnMut(IngestEvent) -> Vec<IngestEffect>;
    let flush = |step: Step<'_>| {
        let wanted = step(IngestEvent::Tick(now()));
        assert!(matches!(wanted[..], [IngestEffect::CountPartitions]), "{wanted:?}");
        let wanted = step(IngestEvent::PartitionsCounted(1));
        assert!(matches!(wanted[..], [IngestEffect::Commit(_)]), "{wanted:?}");
        step(IngestEvent::Ended(Ended::TooLong))
    };
    // Few records are not what took so long: they are kept, and sent again after a poll.
    assert!(flush(&mut step).is_empty());
    let judged = Judged::reject(crate::model::Reject::Malformed, Arrival::Stamped(now()));
    let many = (4..20_004).map(|offset| PolledRecord { partition: 0, offset, judged });
    step(IngestEvent::Polled(many.collect()));
    let wanted = flush(&mut step);
    let [IngestEffect::Tell(IngestNote::Slower(most)), IngestEffect::ReadPositions(again)] =
        &wanted[..]
    else {
        panic!("{wanted:?}");
    };
    assert!(*most < FLUSH_MAX && again.contains(&0));
    let most = *most;
    let wanted = step(positions());
    assert!(matches!(wanted[..], [IngestEffect::AssignAt(_)]), "{wanted:?}");
    assert_eq!(worker.room(), most, "no more is read than is committed at a time");
}
