//! What a worker does for each effect of the protocol, against the broker in memory.

use std::sync::Arc;

use tapveil_core::ledger::read_book;
use tapveil_core::planted;
use tapveil_core::protocol::{
    Committed, Ended, IngestEffect, IngestEvent, OutRecord, ReleaseEffect, ReleaseEvent, Topic,
    Transaction, Why,
};

use crate::broker::{Broker, GroupName, LogName, Undecided};
use crate::net::Net;
use crate::worker::{Effect, Seen, Stepped, Worker, ledger_lines};
use crate::world::{Rows, World};

impl Worker {
    fn fence(&mut self, broker: &mut Broker) {
        let producer = broker.init_producer(&self.producer_id);
        self.session.as_mut().expect("only a worker at work fences").producer = Some(producer);
    }

    fn assign(&mut self, positions: &[(i32, i64)]) {
        let session = self.session.as_mut().expect("only a worker at work reads");
        for (partition, position) in positions {
            // What went away meanwhile is not read.
            if self.membership.assignment.contains(partition)
                && !self.membership.lost.contains(partition)
            {
                session.positions.insert(*partition, *position);
            }
        }
        session.used = self.membership.member.map(|member| (member, self.membership.generation));
    }

    pub(crate) fn execute_ingest(
        &mut self,
        effect: IngestEffect,
        broker: &mut Broker,
        net: &mut Net,
    ) -> Stepped {
        match effect {
            IngestEffect::Fence => self.fence(broker),
            IngestEffect::ReadPositions(gained) => {
                let all = (0..broker.n_partitions()).map(|one| {
                    let commit = broker.committed(GroupName::Ingest, one)?;
                    Ok((one, commit.map(|(offset, metadata)| Committed { offset, metadata })))
                });
                let Ok(committed) = all.collect::<Result<_, Undecided>>() else {
                    // Somebody's transaction is open: the answer waits for its end.
                    let session = self.session.as_mut().expect("only a worker at work asks");
                    session.queue.push_front(Effect::Ingest(IngestEffect::ReadPositions(gained)));
                    return Stepped::Went;
                };
                let lows =
                    gained.iter().map(|one| (*one, broker.low_of(LogName::Taps(*one)))).collect();
                return self.ingest(IngestEvent::PositionsRead { committed, lows }, net);
            }
            IngestEffect::AssignAt(positions) => self.assign(&positions),
            IngestEffect::ReadEnds { partitions, with_uncommitted } => {
                let session = self.session.as_ref().expect("only a worker at work asks");
                let ends = partitions.iter().map(|one| {
                    let position = session.positions.get(one).copied().unwrap_or_default();
                    (*one, position, broker.end_of(LogName::Taps(*one), with_uncommitted))
                });
                let ends = ends.collect();
                return self.ingest(IngestEvent::EndsRead(ends), net);
            }
            IngestEffect::CountPartitions => {
                let n = broker.n_partitions().unsigned_abs();
                return self.ingest(IngestEvent::PartitionsCounted(n), net);
            }
            IngestEffect::Commit(transaction) => self.start(Arc::new(transaction), None),
            IngestEffect::Leave(_) => return Stepped::Left,
            IngestEffect::Tell(_) => {}
        }
        Stepped::Went
    }

    pub(crate) fn execute_release(
        &mut self,
        effect: ReleaseEffect<Rows>,
        world: &World,
        broker: &mut Broker,
        net: &mut Net,
        seen: &mut Seen,
    ) -> Stepped {
        let event = match effect {
            ReleaseEffect::Fence => {
                self.fence(broker);
                return Stepped::Went;
            }
            ReleaseEffect::ReadLedger => ReleaseEvent::LedgerRead(ledger_lines(broker)),
            ReleaseEffect::ReadPosition => {
                let Ok(commit) = broker.committed(GroupName::Release, 0) else {
                    let session = self.session.as_mut().expect("only a worker at work asks");
                    session.queue.push_front(Effect::Release(ReleaseEffect::ReadPosition));
                    return Stepped::Went;
                };
                let commit = commit.map(|(offset, metadata)| Committed { offset, metadata });
                ReleaseEvent::PositionRead(commit, broker.low_of(LogName::Segments))
            }
            ReleaseEffect::AssignAt(position) => {
                self.assign(&[(0, position)]);
                return Stepped::Went;
            }
            ReleaseEffect::Freeze(job) => ReleaseEvent::Frozen(job.run()),
            ReleaseEffect::Preflight(..) => ReleaseEvent::Cleared,
            ReleaseEffect::Make(job) => {
                let window = job.window().id().number();
                let book = read_book(&world.secret.ledger_key(), &ledger_lines(broker));
                let is_paid = book.is_ok_and(|book| {
                    book.entries().iter().any(|entry| entry.reservation.window.number() == window)
                });
                seen.noise.push((window, is_paid));
                ReleaseEvent::Made(job.run())
            }
            ReleaseEffect::Publish(made) => {
                let (window, bytes) = (made.release().window().id().number(), made.rendered());
                if seen.disk.insert(window, bytes.clone()).is_some_and(|before| before != *bytes) {
                    seen.changed.push(window);
                }
                let key = Some(window.to_le_bytes().to_vec());
                let record = |payload| OutRecord {
                    topic: Topic::Releases,
                    key: key.clone(),
                    header: None,
                    payload,
                };
                ReleaseEvent::Published(vec![record(bytes.clone()), record(b"end".to_vec())])
            }
            ReleaseEffect::Commit(transaction) => return self.commit(&transaction),
            ReleaseEffect::Delete(offset) => {
                broker.delete_before(LogName::Segments, offset);
                return Stepped::Went;
            }
            ReleaseEffect::Tell(_) => return Stepped::Went,
            ReleaseEffect::Leave(Why::RangeDone) => {
                return Stepped::Finished;
            }
            ReleaseEffect::Leave(why) => {
                net.trace(broker.now, || format!("{} leaves: {why:?}", self.name()));
                return Stepped::Left;
            }
        };
        self.release(event)
    }

    /// Starts a transaction of the release role, with the bugs that live in a driver.
    fn commit(&mut self, transaction: &Arc<Transaction>) -> Stepped {
        let session = self.session.as_mut().expect("only a worker at work commits");
        let is = |topic| move |record: &OutRecord| record.topic == topic;
        let has_release = transaction.records.iter().any(is(Topic::Releases));
        if planted!(NoiseBeforeReserved) && !has_release && session.positions.contains_key(&0) {
            session.owed.extend(transaction.records.iter().cloned());
            return self.release(ReleaseEvent::Ended(Ended::Committed));
        }
        let mut whole = (**transaction).clone();
        if !session.owed.is_empty() {
            whole.ledger_length = None;
        }
        whole.records.splice(0..0, std::mem::take(&mut session.owed));
        if planted!(SettledApart) && has_release {
            let (ledger, records) = whole.records.into_iter().partition(is(Topic::Ledger));
            let positions = whole.positions;
            let settled =
                Transaction { records: ledger, positions: positions.clone(), ledger_length: None };
            let first = Transaction { records, positions, ledger_length: None };
            self.start(Arc::new(first), Some(Arc::new(settled)));
            return Stepped::Went;
        }
        self.start(Arc::new(whole), None);
        Stepped::Went
    }
}

/// An effect, for a trace.
pub(crate) fn describe(effect: &Effect) -> String {
    match effect {
        Effect::Ingest(IngestEffect::Commit(transaction)) => commits(transaction),
        Effect::Ingest(effect) => format!("{effect:?}"),
        Effect::Release(effect) => match effect {
            ReleaseEffect::Fence => "Fence".to_owned(),
            ReleaseEffect::ReadLedger => "ReadLedger".to_owned(),
            ReleaseEffect::ReadPosition => "ReadPosition".to_owned(),
            ReleaseEffect::AssignAt(position) => format!("AssignAt({position})"),
            ReleaseEffect::Freeze(job) => format!("{job:?}"),
            ReleaseEffect::Preflight(id) => format!("Preflight({})", id.as_str()),
            ReleaseEffect::Commit(transaction) => commits(transaction),
            ReleaseEffect::Make(job) => format!("{job:?}"),
            ReleaseEffect::Publish(made) => format!("Publish({made:?})"),
            ReleaseEffect::Delete(offset) => format!("Delete({offset})"),
            ReleaseEffect::Tell(note) => format!("{note:?}"),
            ReleaseEffect::Leave(why) => format!("Leave({why:?})"),
        },
    }
}

fn commits(transaction: &Transaction) -> String {
    let topics: Vec<String> =
        transaction.records.iter().map(|record| format!("{:?}", record.topic)).collect();
    format!("Commit({} at {:?})", topics.join(" "), transaction.positions)
}
