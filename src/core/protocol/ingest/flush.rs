//! A flush: one transaction with segments, markers, rejects and positions.

use std::collections::{BTreeMap, BTreeSet};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::json;

use super::{FLUSH_MAX, FlushedWindow, Ingest, IngestEffect, IngestNote, LEAST, Phase, Sealings};
use crate::model::{Counts, WindowId};
use crate::planted;
use crate::protocol::Why;
use crate::protocol::partition::Rejects;
use crate::protocol::transaction::{Ended, OutRecord, Topic, Transaction};
use crate::seal::{IngestMetadata, Nonce, SegmentCodec};

/// Markers in one flush; a feed that was away for long catches up in several.
const MARKERS_MAX: usize = 5_000;
/// Fewer taps are packed sooner than other threads are woken.
const WORTH_A_THREAD: usize = 20_000;

impl Ingest {
    /// Begins a flush, if there is anything to commit.
    pub(super) fn flush(&mut self, nonce: &mut dyn FnMut() -> Nonce) -> Vec<IngestEffect> {
        self.last_flush = self.now;
        let sealings: Sealings = self
            .partitions
            .iter()
            .map(|(number, partition)| (*number, self.due(&partition.state, MARKERS_MAX)))
            .filter(|(number, due)| !due.is_empty() || self.partitions[number].n_uncommitted() > 0)
            .collect();
        if sealings.is_empty() {
            return Vec::new();
        }
        if sealings.values().all(Vec::is_empty) {
            return vec![self.commit(sealings, 0, nonce)];
        }
        // Asked after the deadline, so that a partition that was added in time is counted.
        self.phase = Phase::Counting(sealings);
        vec![IngestEffect::CountPartitions]
    }

    /// One transaction: segments, markers, rejects, positions. Nothing is forgotten before it is committed.
    pub(super) fn commit(
        &mut self,
        sealings: Sealings,
        n_partitions: u32,
        nonce: &mut dyn FnMut() -> Nonce,
    ) -> IngestEffect {
        let mut segments = self.segments(&sealings, nonce);
        let mut transaction = Transaction::default();
        for (&number, due) in &sealings {
            let partition = &self.partitions[&number];
            let mut markers = Vec::new();
            for one in due.iter().filter(|one| one.exists) {
                let marker = self.plan.codec.finished(
                    one.window,
                    number.unsigned_abs(),
                    n_partitions,
                    &nonce(),
                );
                markers.push(OutRecord::plain(Topic::Segments, marker));
            }
            let parts = segments.remove(&number).unwrap_or_default();
            let parts = parts.into_iter().map(|part| OutRecord::plain(Topic::Segments, part));
            if planted!(MarkerBeforeSegment) {
                transaction.records.append(&mut markers);
            }
            transaction.records.extend(parts);
            transaction.records.append(&mut markers);
            transaction.records.extend(self.rejects(number, &partition.rejects));
            let sealed_through =
                due.last().map(|one| one.window).max(partition.state.seals().last());
            let memory =
                IngestMetadata { sealed_through, greatest_event: partition.state.greatest_event() };
            let position = self.plan.signer.ingest(number, partition.position, memory);
            transaction.positions.push(position);
        }
        self.phase = Phase::Committing(sealings);
        IngestEffect::Commit(transaction)
    }

    /// What did not count: one by one, or as sums with the offsets of the first and the last.
    fn rejects(&self, partition: i32, rejects: &Rejects) -> Vec<OutRecord> {
        let topic = &self.plan.taps_topic;
        let record = |reject: serde_json::Value| {
            OutRecord::plain(Topic::Rejects, reject.to_string().into_bytes())
        };
        let alone = rejects.alone.iter().map(|(offset, reason)| {
            record(json!({
                "topic": topic, "partition": partition, "offset": offset, "reason": reason.label(),
            }))
        });
        let sums = rejects.sums.iter().map(|(reason, sum)| {
            record(json!({
                "topic": topic, "partition": partition, "offset": sum.first, "last_offset": sum.last,
                "count": sum.n, "reason": reason,
            }))
        });
        alone.chain(sums).collect()
    }

    /// The taps of every partition as segments. Nonces are drawn in order, so threads never show.
    fn segments(
        &self,
        sealings: &Sealings,
        nonce: &mut dyn FnMut() -> Nonce,
    ) -> BTreeMap<i32, Vec<Vec<u8>>> {
        let mut parts = Vec::new();
        for &number in sealings.keys() {
            for (window, stamps) in self.partitions[&number].state.held() {
                for part in SegmentCodec::parts(stamps) {
                    parts.push((number, *window, part, nonce()));
                }
            }
        }
        let pack = |(number, window, part, nonce): &(i32, WindowId, &[_], Nonce)| {
            (*number, self.plan.codec.taps(*window, number.unsigned_abs(), part, nonce))
        };
        let packed: Vec<(i32, Vec<u8>)> = match self.n_held() < WORTH_A_THREAD {
            true => parts.iter().map(pack).collect(),
            false => parts.par_iter().map(pack).collect(),
        };
        let mut segments: BTreeMap<i32, Vec<Vec<u8>>> = BTreeMap::new();
        for (number, segment) in packed {
            segments.entry(number).or_default().push(segment);
        }
        segments
    }

    pub(super) fn ended(&mut self, sealings: &Sealings, ended: Ended) -> Vec<IngestEffect> {
        let mut effects = Vec::new();
        match ended {
            Ended::Committed => {
                if self.n_uncommitted() >= self.most {
                    // A leader that is replaced makes a flush slow for once: by and by they become large again.
                    self.most = self.most.saturating_add(self.most / 8).min(FLUSH_MAX);
                }
                let windows = self.flushed(sealings);
                let counts = self.committed(sealings);
                effects.push(IngestEffect::Tell(IngestNote::Flushed { counts, windows }));
                effects.extend(self.warn_of_lateness());
            }
            // What was lost is dropped when the group says so; the rest is sent again.
            Ended::Aborted | Ended::Lost => self.must_poll = true,
            // So few are not too many: somebody who leads something is being replaced.
            Ended::TooLong if self.n_uncommitted() <= LEAST => self.must_poll = true,
            Ended::TooLong => return self.start_over_with_less(),
            Ended::Fenced(reason) => return vec![self.leave(Why::Replaced(reason))],
            Ended::Unknown(reason) => return vec![self.leave(Why::Unknown(reason))],
        }
        if self.is_stopping {
            effects.push(self.leave(Why::Stopped));
        }
        effects
    }

    /// The brokers are slower than this flush is large: forget it, read again from the last commit, and commit less at
    /// a time from now on.
    fn start_over_with_less(&mut self) -> Vec<IngestEffect> {
        if self.is_stopping {
            return vec![self.leave(Why::Stopped)];
        }
        self.most = (self.most / 4).max(LEAST);
        let all: BTreeSet<i32> = std::mem::take(&mut self.partitions).into_keys().collect();
        self.phase = Phase::Positions(all.clone());
        vec![IngestEffect::Tell(IngestNote::Slower(self.most)), IngestEffect::ReadPositions(all)]
    }

    /// How far each window came with this flush.
    fn flushed(&self, sealings: &Sealings) -> Vec<FlushedWindow> {
        let mut windows = Vec::new();
        for (&partition, due) in sealings {
            let Some(held) = self.partitions.get(&partition).map(|one| one.state.held()) else {
                continue;
            };
            let with_taps = held.iter().map(|(window, stamps)| (*window, stamps.len() as u64));
            let mut taps: BTreeMap<WindowId, u64> = with_taps.collect();
            let finished: BTreeSet<WindowId> =
                due.iter().filter(|one| one.exists).map(|one| one.window).collect();
            for window in &finished {
                taps.entry(*window).or_default();
            }
            windows.extend(taps.into_iter().map(|(window, n_taps)| FlushedWindow {
                partition,
                window,
                n_taps,
                is_finished: finished.contains(&window),
            }));
        }
        windows
    }

    /// Forgets what is committed now.
    fn committed(&mut self, sealings: &Sealings) -> Counts {
        let mut counts = Counts::default();
        for (number, due) in sealings {
            let Some(partition) = self.partitions.get_mut(number) else { continue };
            let (theirs, n_stale) = partition.committed(due.last().map(|sealing| sealing.window));
            counts.add(&theirs);
            self.n_stale += n_stale;
        }
        self.n_taps += counts.taps;
        counts
    }

    /// A feed of old taps with closing by arrival rejects nearly all of them: said once.
    fn warn_of_lateness(&mut self) -> Option<IngestEffect> {
        if self.has_warned || self.n_stale < 100 || self.n_stale <= self.n_taps {
            return None;
        }
        self.has_warned = true;
        Some(IngestEffect::Tell(IngestNote::MostTapsLate))
    }
}
