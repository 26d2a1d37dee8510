//! Sends taps into a topic: at a rate, with several producers, in bounded memory, and to the last one delivered.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext};

use super::{Error, Settings, Watcher, explain_on};

/// Messages travel to the producers in batches of at most this many.
const BATCH: usize = 500;

/// How to send.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Messages a second in all; as fast as possible if left out.
    pub rate: Option<NonZeroU32>,
    /// How many producers share the work.
    pub producers: NonZeroUsize,
}

/// One message to send. Without a key it goes to any partition.
pub struct Outgoing {
    /// The key, if the feed is keyed.
    pub key: Option<String>,
    /// The tap.
    pub payload: Vec<u8>,
}

/// Sends messages; [`Feeder::finish`] waits until all of them are delivered.
pub struct Feeder {
    senders: Vec<SyncSender<Vec<Outgoing>>>,
    workers: Vec<JoinHandle<Result<(), Error>>>,
    batch: Vec<Outgoing>,
    batch_size: usize,
    next: usize,
    pace: Option<Pace>,
    shared: Arc<Shared>,
}

/// What all producers know together.
#[derive(Default)]
struct Shared {
    delivered: AtomicU64,
    has_failed: AtomicBool,
    failure: Mutex<Option<KafkaError>>,
}

impl Feeder {
    /// Starts the producers.
    pub fn start(settings: &Settings, topic: &str, options: Options) -> Result<Self, Error> {
        let shared = Arc::new(Shared::default());
        let (mut senders, mut workers) = (Vec::new(), Vec::new());
        for _ in 0..options.producers.get() {
            let watcher = Watcher::default();
            let context = Deliveries { watcher: watcher.clone(), shared: shared.clone() };
            // Undelivered after so long means that it fails; without a bound it would wait for ever.
            let mut config = settings.plain_producer();
            if config.get("message.timeout.ms").is_none() {
                let millis = settings.connect_timeout.as_millis().max(1_000);
                config.set("message.timeout.ms", millis.to_string());
            }
            let producer: BaseProducer<Deliveries> = config
                .create_with_context(context)
                .map_err(|error| explain_on(&watcher, "", error))?;
            let (sender, batches) = sync_channel(4);
            let (topic, shared) = (topic.to_owned(), shared.clone());
            let work = move || send_all(&producer, &topic, &batches, &watcher, &shared);
            senders.push(sender);
            workers.push(std::thread::spawn(work));
        }
        let pace = options.rate.map(Pace::new);
        // A slow feed goes out in small steps, twenty a second.
        let steps = options.rate.map_or(BATCH, |rate| (rate.get() / 20).max(1) as usize);
        let batch_size = steps.min(BATCH);
        Ok(Self { senders, workers, batch: Vec::new(), batch_size, next: 0, pace, shared })
    }

    /// Sends one message, sooner or later: waits for the rate and for room. False once something failed; then
    /// [`Feeder::finish`] says what.
    pub fn send(&mut self, message: Outgoing) -> bool {
        self.batch.push(message);
        self.batch.len() < self.batch_size || self.pass_on()
    }

    /// How many messages the brokers have taken.
    pub fn delivered(&self) -> u64 {
        self.shared.delivered.load(Ordering::Relaxed)
    }

    /// Hands over what was gathered; false once something failed.
    pub fn pass_on(&mut self) -> bool {
        let batch = std::mem::take(&mut self.batch);
        if let Some(pace) = &mut self.pace {
            pace.wait_for(batch.len());
        }
        self.next = (self.next + 1) % self.senders.len();
        self.senders[self.next].send(batch).is_ok()
            && !self.shared.has_failed.load(Ordering::Relaxed)
    }

    /// Waits for the delivery of everything; gives how many were delivered.
    pub fn finish(mut self) -> Result<u64, Error> {
        if !self.batch.is_empty() {
            self.pass_on();
        }
        self.senders.clear();
        let mut first = Ok(());
        for worker in self.workers.drain(..) {
            let done = worker.join().expect("sending does not panic");
            first = first.and(done);
        }
        first.map(|()| self.delivered())
    }
}

fn send_all(
    producer: &BaseProducer<Deliveries>,
    topic: &str,
    batches: &Receiver<Vec<Outgoing>>,
    watcher: &Watcher,
    shared: &Shared,
) -> Result<(), Error> {
    let doing = format!("writing to the topic {topic}");
    let failed = |error: KafkaError| {
        shared.has_failed.store(true, Ordering::Relaxed);
        explain_on(watcher, &doing, error)
    };
    while let Some(batch) = next_batch(batches, producer) {
        for message in &batch {
            send(producer, topic, message).map_err(failed)?;
        }
        producer.poll(Duration::ZERO);
        if shared.has_failed.load(Ordering::Relaxed) {
            break;
        }
    }
    while producer.in_flight_count() > 0 && !shared.has_failed.load(Ordering::Relaxed) {
        producer.poll(Duration::from_millis(100));
    }
    let failure = shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
    failure.map_or(Ok(()), |error| Err(failed(error)))
}

/// The next batch; while there is none, the client is still polled, so that deliveries are counted.
fn next_batch(
    batches: &Receiver<Vec<Outgoing>>,
    producer: &BaseProducer<Deliveries>,
) -> Option<Vec<Outgoing>> {
    use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
    loop {
        match batches.recv_timeout(Duration::from_millis(100)) {
            Ok(batch) => return Some(batch),
            Err(Disconnected) => return None,
            Err(Timeout) => {
                producer.poll(Duration::ZERO);
            }
        }
    }
}

/// Hands one message to the client; a full queue is waited for.
fn send(
    producer: &BaseProducer<Deliveries>,
    topic: &str,
    message: &Outgoing,
) -> Result<(), KafkaError> {
    let mut record = BaseRecord::<str, [u8]>::to(topic).payload(&message.payload);
    if let Some(key) = &message.key {
        record = record.key(key);
    }
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                record = back;
                producer.poll(Duration::from_millis(20));
            }
            Err((error, _)) => return Err(error),
        }
    }
}

/// Counts deliveries and keeps the first failure.
struct Deliveries {
    watcher: Watcher,
    shared: Arc<Shared>,
}

impl ClientContext for Deliveries {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.watcher.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.watcher.error(error, reason);
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, delivery: &DeliveryResult<'_>, _opaque: ()) {
        match delivery {
            Ok(_) => {
                self.shared.delivered.fetch_add(1, Ordering::Relaxed);
            }
            Err((error, _)) => {
                let mut first = self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert_with(|| error.clone());
                self.shared.has_failed.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Keeps a rate over the whole time, so that a pause is made up for by at most a second's worth.
struct Pace {
    per_message: Duration,
    due: Instant,
}

impl Pace {
    fn new(rate: NonZeroU32) -> Self {
        Self { per_message: Duration::from_secs(1) / rate.get(), due: Instant::now() }
    }

    fn wait_for(&mut self, messages: usize) {
        let now = Instant::now();
        if let Some(wait) = self.due.checked_duration_since(now) {
            std::thread::sleep(wait);
        } else if now.duration_since(self.due) > Duration::from_secs(1) {
            self.due = now;
        }
        self.due += self.per_message * u32::try_from(messages).unwrap_or(u32::MAX);
    }
}
