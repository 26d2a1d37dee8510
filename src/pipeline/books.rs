//! The one ledger of a feed, for every command: its topic where there is Kafka, its file otherwise.

use super::Error;
use super::head::KeptHead;
use crate::clock::Clock;
use crate::config::{LedgerAndSecret, Settings};
use crate::ledger::{self, Book, Declaration, Journal, Ledger, Tail, declared, read_book};
use crate::protocol::{Ended, OutRecord, Topic, Transaction};

/// What was booked, without touching anything.
pub fn book(settings: &Settings) -> Result<(Book, Tail), Error> {
    refuse_second(settings)?;
    #[cfg(feature = "kafka")]
    if let Some(kafka) = &settings.kafka {
        let remembered = KeptHead::beside(&settings.secret_file).remembered()?;
        let book = match super::run::topic_book(settings, kafka) {
            // Nothing was ever booked; whoever remembers otherwise says so below.
            Err(Error::Kafka(crate::kafka::Error::NoTopic(_))) => {
                read_book(&settings.secret.ledger_key(), &[])
                    .map_err(|fault| ledger::Error::of_fault(&name(settings), fault))?
            }
            read => read?,
        };
        remembered.check(&book, &name(settings))?;
        return Ok((book, Tail::Whole));
    }
    of_file(&LedgerAndSecret {
        ledger_file: settings.ledger_file.clone(),
        secret: settings.secret.clone(),
        secret_file: settings.secret_file.clone(),
    })
}

/// What was booked in a file.
pub fn of_file(files: &LedgerAndSecret) -> Result<(Book, Tail), Error> {
    let LedgerAndSecret { ledger_file, secret, secret_file } = files;
    let remembered = KeptHead::beside(secret_file).remembered()?;
    let (book, tail) = Journal::inspect(ledger_file, &secret.ledger_key())?;
    remembered.check(&book, &ledger_file.display().to_string())?;
    Ok((book, tail))
}

/// Asks the brokers as the service would, and makes nothing; gives what is worth knowing.
#[cfg(feature = "kafka")]
pub fn ask_brokers(settings: &Settings) -> Result<Vec<String>, Error> {
    let Some(kafka) = &settings.kafka else { return Ok(Vec::new()) };
    super::run::look(settings, kafka)
}

#[cfg(not(feature = "kafka"))]
pub fn ask_brokers(_: &Settings) -> Result<Vec<String>, Error> {
    Ok(Vec::new())
}

/// The ledger's name, for messages.
pub fn name(settings: &Settings) -> String {
    match &settings.kafka {
        Some(kafka) => kafka.topics.ledger.clone(),
        None => settings.ledger_file.display().to_string(),
    }
}

/// Opens it for booking.
pub(super) fn open(settings: &Settings) -> Result<Box<dyn Ledger>, Error> {
    refuse_second(settings)?;
    #[cfg(feature = "kafka")]
    if let Some(kafka) = &settings.kafka {
        return Ok(Box::new(super::run::lone_ledger(kafka)?));
    }
    Ok(Box::new(Journal::open(&settings.ledger_file, &settings.secret.ledger_key())?))
}

/// Appends what somebody declares. A service that is releasing at this moment takes over again and obeys.
pub fn declare(
    settings: &Settings,
    declaration: &Declaration,
    clock: &dyn Clock,
) -> Result<(), Error> {
    let mut ledger = open(settings)?;
    let (key, head) = (settings.secret.ledger_key(), KeptHead::beside(&settings.secret_file));
    let read = |lines: &[Vec<u8>]| {
        read_book(&key, lines).map_err(|fault| ledger::Error::of_fault(&name(settings), fault))
    };
    for _ in 0..ATTEMPTS {
        ledger.fence()?;
        let remembered = head.remembered()?;
        let lines = ledger.read()?;
        if lines.is_empty() {
            return Err(Error::NoLedgerYet { name: name(settings) });
        }
        remembered.check(&read(&lines)?, &name(settings))?;
        let line = declared(&key, &lines, declaration, clock.now())
            .map_err(|fault| ledger::Error::of_fault(&name(settings), fault))?;
        let longer: Vec<Vec<u8>> = lines.iter().cloned().chain([line.clone()]).collect();
        let transaction = Transaction {
            records: vec![OutRecord::plain(Topic::Ledger, line)],
            positions: Vec::new(),
            ledger_length: Some(lines.len() as u64),
        };
        if ledger.commit(&transaction)? == Ended::Committed {
            return head.keep(&read(&longer)?);
        }
    }
    Err(Error::LedgerContended { name: name(settings) })
}

/// How often a command tries while a service takes the ledger over again and again.
pub(super) const ATTEMPTS: usize = 8;

/// A feed has one ledger. With Kafka it is the topic; a file with payments beside it would be a second one, and what
/// stands in one is forgotten by the other.
pub fn refuse_second(settings: &Settings) -> Result<(), Error> {
    let path = &settings.ledger_file;
    if settings.kafka.is_none() || !path.exists() {
        return Ok(());
    }
    let (book, _) = Journal::inspect(path, &settings.secret.ledger_key())?;
    match book.entries().len() {
        0 => Ok(()),
        n_releases => Err(Error::TwoLedgers {
            file: path.display().to_string(),
            topic: name(settings),
            n_releases,
        }),
    }
}
