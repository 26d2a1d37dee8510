//! A flush of the ingest role: one transaction with parcels, markers, rejects and positions.

use std::collections::BTreeMap;
use std::time::Instant;

use rand::TryRng;
use rand::rngs::SysRng;
use rdkafka::consumer::Consumer;
use rdkafka::producer::{BaseProducer, Producer};
use rdkafka::{Offset, TopicPartitionList};
use serde_json::json;

use super::super::crash::crash_point;
use super::super::{Error, Event};
use super::{ANSWER, Ingest, MARKERS_MAX};
use crate::kafka::{Inside, TransactionError, Watcher, send};
use crate::seal::{Nonce, Remembered, Sealing};

/// Fewer taps are packed sooner than a thread is started.
const WORTH_A_THREAD: usize = 20_000;

impl Ingest<'_> {
    /// One transaction: parcels, markers, rejects, positions. Nothing is forgotten before it is committed.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        self.last_flush = began;
        let has_news =
            |partition: &i32| self.owned[partition].position > self.owned[partition].committed;
        let sealing: BTreeMap<i32, Vec<Sealing>> = self
            .owned
            .iter()
            .map(|(partition, owned)| (*partition, self.due(&owned.intake, MARKERS_MAX)))
            .filter(|(partition, due)| !due.is_empty() || has_news(partition))
            .collect();
        if sealing.is_empty() {
            return Ok(());
        }
        let any_marker = sealing.values().any(|due| !due.is_empty());
        // After the deadline, so that a partition that was added in time is counted.
        let n_partitions = if any_marker { self.n_partitions()? } else { 0 };
        let parcels = self.pack(&sealing);
        let committed = self.transactions.run(
            &mut |producer| self.send_all(producer, &sealing, &parcels, n_partitions),
            &mut || {},
        );
        match committed {
            Ok(()) => {}
            // The group moved on: what was lost is dropped with the next look, the rest is sent again.
            Err(TransactionError::Lost) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        crash_point("ingest.committed");
        for (partition, due) in &sealing {
            let Some(owned) = self.owned.get_mut(partition) else { continue };
            owned.intake.committed(due.last().map(|sealing| sealing.window));
            owned.committed = owned.position;
            owned.rejects.clear();
            let counts = std::mem::take(&mut owned.counts);
            self.plan.metrics.ingested(&counts);
            self.n_taps += counts.taps;
            self.n_stale += std::mem::take(&mut owned.n_stale);
        }
        self.plan.metrics.flushed(began.elapsed().as_secs_f64());
        self.warn_of_lateness();
        Ok(())
    }

    /// A feed of old taps with closing by arrival rejects nearly all of them: say so, and what to do.
    fn warn_of_lateness(&mut self) {
        if !self.has_warned && self.n_stale >= 100 && self.n_stale > self.n_taps {
            self.has_warned = true;
            (self.plan.hear)(&Event::MostTapsLate);
        }
    }

    /// The taps of every partition as parcels; every core packs some.
    fn pack(&self, sealing: &BTreeMap<i32, Vec<Sealing>>) -> BTreeMap<i32, Vec<Vec<u8>>> {
        let partitions: Vec<i32> = sealing.keys().copied().collect();
        let pack = |partition: &i32| {
            let number = u32::try_from(*partition).unwrap_or_default();
            let held = self.owned[partition].intake.held();
            let parcels = held
                .iter()
                .flat_map(|(window, stamps)| self.packer.taps(*window, number, stamps, &mut nonce));
            (*partition, parcels.collect())
        };
        if self.n_held() < WORTH_A_THREAD {
            return partitions.iter().map(pack).collect();
        }
        let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let shares = partitions.chunks(partitions.len().div_ceil(n_threads));
            let workers: Vec<_> = shares
                .map(|share| scope.spawn(move || share.iter().map(pack).collect::<Vec<_>>()))
                .collect();
            let packed = workers.into_iter().flat_map(|worker| {
                worker.join().expect("R-7: a worker that panics stops the service")
            });
            packed.collect()
        })
    }

    fn send_all(
        &self,
        producer: &BaseProducer<Watcher>,
        sealing: &BTreeMap<i32, Vec<Sealing>>,
        parcels: &BTreeMap<i32, Vec<Vec<u8>>>,
        n_partitions: i32,
    ) -> Result<(), Inside> {
        let topics = &self.plan.kafka.topics;
        for (&partition, due) in sealing {
            let owned = &self.owned[&partition];
            let number = u32::try_from(partition).unwrap_or_default();
            for parcel in &parcels[&partition] {
                send(producer, &topics.segments, None, parcel, None)?;
            }
            crash_point("ingest.parcels");
            let count = u32::try_from(n_partitions).unwrap_or_default();
            for one in due.iter().filter(|one| one.exists) {
                let marker = self.packer.finished(one.window, number, count, &nonce());
                send(producer, &topics.segments, None, &marker, None)?;
            }
            crash_point("ingest.markers");
            for (offset, reason) in &owned.rejects {
                let reject = json!({
                    "topic": topics.taps, "partition": partition, "offset": offset, "reason": reason.label(),
                });
                send(producer, &topics.rejects, None, reject.to_string().as_bytes(), None)?;
            }
        }
        self.send_positions(producer, sealing)
    }

    /// Fresh metadata first, then the look at what is ours, then the offsets: an old generation is refused by the
    /// broker, and a fresh one is used only for what is still ours.
    fn send_positions(
        &self,
        producer: &BaseProducer<Watcher>,
        sealing: &BTreeMap<i32, Vec<Sealing>>,
    ) -> Result<(), Inside> {
        let metadata = self.group.consumer().group_metadata().ok_or(Inside::Lost)?;
        if !self.group.owns(sealing.keys().copied()) {
            return Err(Inside::Lost);
        }
        let mut positions = TopicPartitionList::new();
        for (&partition, due) in sealing {
            let owned = &self.owned[&partition];
            let last = due.last().map(|one| one.window).max(owned.intake.seals().last());
            let remembered =
                Remembered { sealed_through: last, greatest_event: owned.intake.greatest_event() };
            let mut one = positions.add_partition(self.group.topic(), partition);
            one.set_offset(Offset::Offset(owned.position))?;
            one.set_metadata(remembered.to_text());
        }
        producer.send_offsets_to_transaction(&positions, &metadata, ANSWER)?;
        crash_point("ingest.offsets");
        Ok(())
    }
}

fn nonce() -> Nonce {
    let mut nonce = Nonce::default();
    SysRng
        .try_fill_bytes(&mut nonce)
        .expect("the system always has randomness once it has started");
    nonce
}
