//! Reading: this thread polls, another one decodes and judges. Every record is back in its partition before reading
//! ends, so a flush finds nothing on its way.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Message, Timestamp as Stamped};

use super::Worker;
use crate::ingest::{self, Decoder, RECORD_BYTES_MAX};
use crate::pipeline::Error;
use crate::protocol::{IngestEvent, PolledRecord};
use crate::seal::{Closing, Judged, Rules};
use crate::window::Arrival;

/// Records that are decoded together: enough that handing over costs nothing, few enough to stay in a cache.
const BATCH: usize = 2_048;
/// The same for long records.
const BATCH_BYTES: usize = 1 << 20;
/// A value that is longer is no tap; so much of it shows that.
const VALUE_BYTES: usize = RECORD_BYTES_MAX + 16;
/// Batches on their way to the other thread; beyond that polling waits.
const BATCHES_WAITING: usize = 4;

/// Records as they were read, side by side.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    records: Vec<Read>,
}

struct Read {
    partition: i32,
    offset: i64,
    stamped: Stamped,
    /// Where its value ends in the bytes; it begins where the one before ends.
    end: usize,
}

impl Batch {
    fn push(&mut self, message: &BorrowedMessage<'_>) {
        let value = message.payload().unwrap_or_default();
        self.bytes.extend_from_slice(&value[..value.len().min(VALUE_BYTES)]);
        self.records.push(Read {
            partition: message.partition(),
            offset: message.offset(),
            stamped: message.timestamp(),
            end: self.bytes.len(),
        });
    }

    fn is_full(&self) -> bool {
        self.records.len() >= BATCH || self.bytes.len() >= BATCH_BYTES
    }

    /// An error is no reject: nothing of the batch was taken, and it is read again.
    fn judged(
        &self,
        rules: &Rules,
        decoder: &mut Decoder,
    ) -> Result<Vec<PolledRecord>, ingest::Error> {
        let mut start = 0;
        let mut back = Vec::with_capacity(self.records.len());
        for Read { partition, offset, stamped, end } in &self.records {
            let arrival = arrival(rules.closing, *stamped);
            decoder.prepare(&self.bytes[start..*end])?;
            let judged = match decoder.decode(&self.bytes[start..*end]) {
                Ok(one) => Judged::new(&rules.gate, one.tap, one.window, one.event, arrival),
                Err(reason) => Judged::reject(reason, arrival),
            };
            start = *end;
            back.push(PolledRecord { partition: *partition, offset: *offset, judged });
        }
        Ok(back)
    }
}

/// The way to the other thread and back.
struct DecodeThread {
    there: SyncSender<Batch>,
    back: Receiver<Result<Vec<PolledRecord>, ingest::Error>>,
}

impl DecodeThread {
    fn open<'s>(scope: &'s Scope<'s, '_>, rules: &'s Rules, decoder: &'s mut Decoder) -> Self {
        let (there, batches) = sync_channel::<Batch>(BATCHES_WAITING);
        let (results, back) = channel();
        scope.spawn(move || {
            for batch in batches {
                // Nobody listens any more only when the reader has failed.
                let judged = batch.judged(rules, decoder);
                let has_failed = judged.is_err();
                if results.send(judged).is_err() || has_failed {
                    break;
                }
            }
        });
        Self { there, back }
    }
}

impl Worker<'_> {
    /// Reads for a while, or until a flush is due by size.
    pub(super) fn read(&mut self, span: Duration) -> Result<(), Error> {
        let room = self.machine.room();
        let rules = self.machine.rules().clone();
        let Self { group, machine, decoder, .. } = self;
        // Polled records ask for nothing: what is due is found by the next tick.
        let mut take = |records: Result<Vec<PolledRecord>, ingest::Error>| {
            let stepped = machine.step(IngestEvent::Polled(records?), &mut super::nonce);
            stepped.map(|_| ()).map_err(|error| super::stopped(group.topic(), error))
        };
        let mut decoder = Some(decoder);
        let mut batch = Batch::default();
        std::thread::scope(|scope| {
            let mut thread: Option<DecodeThread> = None;
            let began = Instant::now();
            let mut n_read = 0;
            while n_read < room {
                // While records wait, the clock is looked at now and then only: a look costs a tenth of a tap.
                let next = match group.consumer().poll(Duration::ZERO) {
                    Some(next) => Some(next),
                    None => group.consumer().poll(span.saturating_sub(began.elapsed())),
                };
                match next {
                    None => break,
                    Some(Ok(message)) => {
                        batch.push(&message);
                        n_read += 1;
                    }
                    Some(Err(KafkaError::PartitionEOF(_))) => {}
                    Some(Err(error)) => group.tolerate(error)?,
                }
                if !batch.is_full() {
                    if batch.records.len().is_multiple_of(256) && began.elapsed() >= span {
                        break;
                    }
                    continue;
                }
                // A feed this busy is worth a second thread.
                if let Some(decoder) = decoder.take() {
                    thread = Some(DecodeThread::open(scope, &rules, decoder));
                }
                if let Some(thread) = &thread {
                    let full = std::mem::take(&mut batch);
                    // A thread that no longer listens has failed, and said why.
                    let is_heard = thread.there.send(full).is_ok();
                    match is_heard {
                        true => thread.back.try_iter().try_for_each(&mut take)?,
                        false => break,
                    }
                }
            }
            match (thread, decoder) {
                (Some(DecodeThread { there, back }), _) => {
                    // As above: what it said is heard next.
                    there.send(batch).ok();
                    drop(there);
                    back.into_iter().try_for_each(&mut take)
                }
                (None, Some(decoder)) => take(batch.judged(&rules, decoder)),
                (None, None) => unreachable!("the decoder is here or on the thread"),
            }
        })
    }
}

/// When a record arrived. Only the broker's own stamp counts where arrival decides who is late.
fn arrival(closing: Closing, stamp: Stamped) -> Arrival {
    let instant = |millis: i64| {
        Timestamp::from_millisecond(millis).map_or(Arrival::Unstamped, Arrival::Stamped)
    };
    match (stamp, closing) {
        (Stamped::LogAppendTime(millis), _)
        | (Stamped::CreateTime(millis), Closing::Watermark { .. }) => instant(millis),
        _ => Arrival::Unstamped,
    }
}
