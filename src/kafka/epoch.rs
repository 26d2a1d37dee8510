//! A producer for one transaction: a new epoch, which fences whatever came before, and the end of the transaction.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, Producer};

use super::client::TRANSACTION_TIMEOUT;
use super::shown::End;
use super::{Error, Load, Settings, Watcher, explain};
use crate::protocol::Ended;

/// How long one call of a transaction may take.
const CALL: Duration = Duration::from_secs(5);
/// How long the end of a transaction is asked for before nobody knows it: twice the time after which the brokers end
/// it themselves. A client that waits longer waits for an answer that went with its coordinator; a new one asks again.
const PATIENCE: Duration = TRANSACTION_TIMEOUT.saturating_mul(2);
/// How long brokers may take for a new epoch before they are asked again.
const ONE_TRY: Duration = Duration::from_secs(2);
/// A client that got no epoch for so long is replaced by a new one, which looks for the coordinator afresh.
const ONE_CLIENT: Duration = Duration::from_secs(10);

/// Why a transaction stops before its commit.
pub(super) enum Stopped {
    /// It is not ours any more.
    Lost,
    /// It takes longer than it may.
    TooLong,
    /// librdkafka failed; the error itself says what that means.
    Kafka(KafkaError),
}

impl From<KafkaError> for Stopped {
    fn from(error: KafkaError) -> Self {
        Self::Kafka(error)
    }
}

/// A producer for one transaction.
pub(super) struct Epoch {
    producer: BaseProducer<Watcher>,
    watcher: Watcher,
}

impl Epoch {
    pub(super) fn open(
        settings: &Settings,
        id: &str,
        load: Load,
        is_wanted: &AtomicBool,
    ) -> Result<Self, Error> {
        let began = Instant::now();
        let may_wait =
            || is_wanted.load(Ordering::Acquire) && began.elapsed() < settings.stall_timeout;
        loop {
            if let Some(epoch) = Self::open_once(settings, id, load, &may_wait)? {
                return Ok(epoch);
            }
        }
    }

    /// One client's tries; nothing if another one should go on.
    fn open_once(
        settings: &Settings,
        id: &str,
        load: Load,
        may_wait: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, Error> {
        let watcher = Watcher::default();
        let producer: BaseProducer<Watcher> = settings
            .transactional_producer(id, load)
            .create_with_context(watcher.clone())
            .map_err(|error| explain(&watcher, error))?;
        let began = Instant::now();
        loop {
            match producer.init_transactions(ONE_TRY) {
                Ok(()) => return Ok(Some(Self { producer, watcher })),
                Err(error) if is_retriable(&error) && may_wait() => {
                    if began.elapsed() > ONE_CLIENT {
                        return Ok(None);
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) => return Err(explain(&watcher, error)),
            }
        }
    }

    /// When a broker took a record of it, by its own clock.
    pub(super) fn stamped_millis(&self) -> Option<i64> {
        self.watcher.stamped_millis()
    }

    /// The last record that it delivered to each partition.
    pub(super) fn delivered(&self) -> Vec<End> {
        self.watcher.delivered()
    }

    /// Makes the calls and the commit. An error may pass: the transaction is aborted, and may be tried again.
    pub(super) fn spend(
        &self,
        work: &mut dyn FnMut(&BaseProducer<Watcher>) -> Result<(), Stopped>,
    ) -> Result<Ended, Error> {
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
            self.until_ended(work)
        })
    }

    fn until_ended(
        &self,
        work: &mut dyn FnMut(&BaseProducer<Watcher>) -> Result<(), Stopped>,
    ) -> Result<Ended, Error> {
        let error = match work(&self.producer) {
            Ok(()) => {
                return Ok(match self.commit() {
                    Ok(()) => Ended::Committed,
                    Err(error) => self.after_failed_commit(error),
                });
            }
            Err(Stopped::Lost) => return Ok(self.abort().unwrap_or(Ended::Lost)),
            Err(Stopped::TooLong) => return Ok(self.abort().unwrap_or(Ended::TooLong)),
            Err(Stopped::Kafka(error)) => error,
        };
        if let Some(fenced) = self.fenced(&error) {
            return Ok(fenced);
        }
        if let Some(worse) = self.abort() {
            return Ok(worse);
        }
        match is_group_moving(&error) {
            true => Ok(Ended::Lost),
            false => Err(explain(&self.watcher, error)),
        }
    }

    /// A commit that failed may have taken effect: the brokers' answer may be lost with the one who gave it. What is
    /// committed tells, so nothing of it may be sent again before that was read. The abort only ends what is open.
    fn after_failed_commit(&self, error: KafkaError) -> Ended {
        if let Some(fenced) = self.fenced(&error) {
            return fenced;
        }
        if !is_retriable(&error)
            && let Some(worse) = self.abort()
        {
            return worse;
        }
        Ended::Unknown(explain(&self.watcher, error).to_string())
    }

    fn commit(&self) -> Result<(), KafkaError> {
        // A commit that timed out may be asked again: the answer to the first is the answer to the second.
        let began = Instant::now();
        loop {
            match self.producer.commit_transaction(CALL) {
                Err(error) if is_retriable(&error) && began.elapsed() < PATIENCE => {}
                done => return done,
            }
        }
    }

    /// Aborts; gives what is worse than an abort, if it comes to that.
    fn abort(&self) -> Option<Ended> {
        let began = Instant::now();
        loop {
            match self.producer.abort_transaction(CALL) {
                Ok(()) => return None,
                Err(error) if is_retriable(&error) && began.elapsed() < PATIENCE => {}
                // Nothing was begun: begin_transaction itself failed.
                Err(error) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::State) => {
                    return None;
                }
                Err(error) => {
                    let unknown =
                        || Ended::Unknown(explain(&self.watcher, error.clone()).to_string());
                    return Some(self.fenced(&error).unwrap_or_else(unknown));
                }
            }
        }
    }

    fn fenced(&self, error: &KafkaError) -> Option<Ended> {
        let is_fenced = matches!(
            error.rdkafka_error_code(),
            Some(
                RDKafkaErrorCode::Fenced
                    | RDKafkaErrorCode::ProducerFenced
                    | RDKafkaErrorCode::InvalidProducerEpoch
                    | RDKafkaErrorCode::Fatal
            )
        );
        let fatal = self.producer.client().fatal_error().map(|(_, reason)| reason);
        fatal.or_else(|| is_fenced.then(|| error.to_string())).map(Ended::Fenced)
    }
}

/// Says that it is over, also when a panic passes by.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
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
