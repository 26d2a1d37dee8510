//! Transactions: everything in one appears together, or never.
//!
//! An abortable error is answered by aborting and doing the same transaction again on the same producer. A fatal one means that
//! another process has taken over: whoever meets it drops everything and starts over with a new assignment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use super::{Error, Load, Settings, Watcher, explain};

/// How long one call of a transaction may take.
const CALL: Duration = Duration::from_secs(30);
/// How long the same transaction is tried before the brokers count as gone.
const PATIENCE: Duration = Duration::from_secs(120);

/// Why a transaction did not happen.
#[derive(Debug, thiserror::Error)]
pub enum TransactionError {
    /// Another process with the same name has taken over.
    #[error("another worker has taken over: {0}")]
    Fenced(String),
    /// What the transaction was about is not ours any more; it was aborted.
    #[error("partitions were lost before the commit")]
    Lost,
    /// The brokers fail.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// What the work inside a transaction says.
#[derive(Debug)]
pub enum Inside {
    /// librdkafka failed; the transaction is tried again or given up, by the error's own word.
    Kafka(KafkaError),
    /// The work found that it is not ours any more.
    Lost,
}

impl From<KafkaError> for Inside {
    fn from(error: KafkaError) -> Self {
        Self::Kafka(error)
    }
}

/// A transactional producer that has fenced every earlier one of its name.
pub struct Transactions {
    producer: BaseProducer<Watcher>,
    watcher: Watcher,
}

impl Transactions {
    /// Opens the producer; earlier ones with this id are fenced and their open transactions aborted.
    pub fn open(
        settings: &Settings,
        transactional_id: &str,
        load: Load,
    ) -> Result<Self, TransactionError> {
        let watcher = Watcher::default();
        let producer: BaseProducer<Watcher> = settings
            .transactional_producer(transactional_id, load)
            .create_with_context(watcher.clone())
            .map_err(|error| explain(&watcher, error))?;
        let began = Instant::now();
        loop {
            match producer.init_transactions(CALL) {
                Ok(()) => return Ok(Self { producer, watcher }),
                Err(error)
                    if is_retriable(&error) && began.elapsed() < settings.connect_timeout =>
                {
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(error) => return Err(explain(&watcher, error).into()),
            }
        }
    }

    /// The producer, for the work inside.
    pub fn producer(&self) -> &BaseProducer<Watcher> {
        &self.producer
    }

    /// Does the work in one transaction, again and again until it is committed or cannot be. `between` is called
    /// between tries, so that a consumer can keep polling.
    pub fn run(
        &self,
        work: &mut dyn FnMut(&BaseProducer<Watcher>) -> Result<(), Inside>,
        between: &mut dyn FnMut(),
    ) -> Result<(), TransactionError> {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Reports of delivery are served while there is something to deliver. A thread that always waits for them
            // would cost an idle service more than everything else.
            scope.spawn(|| {
                while !is_done.load(Ordering::Acquire) {
                    self.producer.poll(Duration::from_millis(5));
                }
            });
            let _ends = Ends(&is_done);
            self.until_decided(work, between)
        })
    }

    fn until_decided(
        &self,
        work: &mut dyn FnMut(&BaseProducer<Watcher>) -> Result<(), Inside>,
        between: &mut dyn FnMut(),
    ) -> Result<(), TransactionError> {
        let began = Instant::now();
        let mut pause = Duration::from_millis(50);
        loop {
            let error = match self.once(work) {
                Ok(()) => return Ok(()),
                Err(Inside::Lost) => {
                    self.abort()?;
                    return Err(TransactionError::Lost);
                }
                Err(Inside::Kafka(error)) => error,
            };
            self.give_up_if_fatal(&error)?;
            self.abort()?;
            if is_group_moving(&error) {
                return Err(TransactionError::Lost);
            }
            if began.elapsed() > PATIENCE {
                return Err(explain(&self.watcher, error).into());
            }
            between();
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    fn once(
        &self,
        work: &mut dyn FnMut(&BaseProducer<Watcher>) -> Result<(), Inside>,
    ) -> Result<(), Inside> {
        self.producer.begin_transaction()?;
        work(&self.producer)?;
        // A commit that timed out may be asked again: the answer to the first is the answer to the second.
        let began = Instant::now();
        loop {
            match self.producer.commit_transaction(CALL) {
                Err(error) if is_retriable(&error) && began.elapsed() < PATIENCE => {}
                done => return Ok(done?),
            }
        }
    }

    fn abort(&self) -> Result<(), TransactionError> {
        let began = Instant::now();
        loop {
            match self.producer.abort_transaction(CALL) {
                Ok(()) => return Ok(()),
                Err(error) if is_retriable(&error) && began.elapsed() < PATIENCE => {}
                Err(error) => {
                    self.give_up_if_fatal(&error)?;
                    // Nothing was begun: begin_transaction itself failed.
                    if error.rdkafka_error_code() == Some(RDKafkaErrorCode::State) {
                        return Ok(());
                    }
                    return Err(explain(&self.watcher, error).into());
                }
            }
        }
    }

    fn give_up_if_fatal(&self, error: &KafkaError) -> Result<(), TransactionError> {
        let fatal = self.producer.client().fatal_error();
        let fenced = matches!(
            error.rdkafka_error_code(),
            Some(
                RDKafkaErrorCode::Fenced
                    | RDKafkaErrorCode::ProducerFenced
                    | RDKafkaErrorCode::InvalidProducerEpoch
                    | RDKafkaErrorCode::Fatal
            )
        );
        match fatal {
            Some((_, reason)) => Err(TransactionError::Fenced(reason)),
            None if fenced => Err(TransactionError::Fenced(error.to_string())),
            None => Ok(()),
        }
    }
}

/// Says that it is over, also when a panic passes by.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Sends a record inside a transaction, waiting while the queue is full.
pub fn send(
    producer: &BaseProducer<Watcher>,
    topic: &str,
    key: Option<&[u8]>,
    payload: &[u8],
    header: Option<(&str, &str)>,
) -> Result<(), Inside> {
    let mut record: BaseRecord<'_, [u8], [u8], ()> = BaseRecord::to(topic).payload(payload);
    if let Some(key) = key {
        record = record.key(key);
    }
    if let Some((name, value)) = header {
        let header = rdkafka::message::Header { key: name, value: Some(value) };
        record = record.headers(rdkafka::message::OwnedHeaders::new().insert(header));
    }
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                record = back;
                std::thread::sleep(Duration::from_millis(5));
            }
            Err((error, _)) => return Err(Inside::Kafka(error)),
        }
    }
}

/// The group has a new generation, or is making one: only polling brings us into it, so the same transaction would
/// fail for ever.
fn is_group_moving(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::IllegalGeneration
                | RDKafkaErrorCode::UnknownMemberId
                | RDKafkaErrorCode::RebalanceInProgress
                | RDKafkaErrorCode::StaleMemberEpoch
                | RDKafkaErrorCode::FencedMemberEpoch
                | RDKafkaErrorCode::FencedInstanceId
        )
    )
}

fn is_retriable(error: &KafkaError) -> bool {
    match error {
        KafkaError::Transaction(error) => error.is_retriable(),
        _ => false,
    }
}
