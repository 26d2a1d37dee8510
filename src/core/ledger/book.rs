//! The ledger's arithmetic: what was booked, and what a request may cost. Pure; no I/O, no floats.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

use jiff::Timestamp;

use super::record::{Genesis, Record};
use super::{Edition, Refusal, Request, Reservation, record};
use crate::model::{Cost, Digest, Mac, MicroEpsilon, Window, WindowId};
use crate::secret::FeedKey;

/// One reservation with what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What was booked.
    pub reservation: Reservation,
    /// For which feed.
    pub feed: String,
    /// The window's first instant.
    pub start: Timestamp,
    /// The instant after its last.
    pub end: Timestamp,
    /// The release's digest, once it is in place.
    pub settled: Option<Digest>,
    /// The epoch of the secret whose keys hid it.
    pub epoch: u32,
    /// The zone that its window was counted in, where the record says so.
    pub zone: Option<String>,
    /// Why it is a revision.
    pub why: Option<String>,
}

/// Who signed which statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approval {
    /// Digest of the statement.
    pub statement: Digest,
    pub by: String,
    /// When, RFC 3339.
    pub at: String,
}

/// Who stopped the feed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    pub why: String,
    pub by: String,
    /// When, RFC 3339.
    pub at: String,
}

impl Entry {
    fn when(&self) -> String {
        format!("{} to {}", self.start, self.end)
    }

    fn difference(&self, request: &Request) -> &'static str {
        match self.reservation.configuration == request.configuration {
            _ if self.epoch != request.epoch => "keys that were destroyed since",
            true => "other taps",
            false => "another configuration",
        }
    }
}

/// Everything ever booked, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Book {
    entries: Vec<Entry>,
    n_records: u64,
    genesis: Option<Genesis>,
    approval: Option<Approval>,
    stop: Option<Stop>,
    /// The feed's key: the same for all entries.
    feed_key: FeedKey,
    /// The MAC of every record, to compare with what others remember.
    macs: Vec<Mac>,
}

impl Book {
    /// Without any record.
    pub(super) fn new(feed_key: FeedKey) -> Self {
        Self {
            entries: Vec::new(),
            n_records: 0,
            genesis: None,
            approval: None,
            stop: None,
            feed_key,
            macs: Vec::new(),
        }
    }

    /// The feed's key.
    pub fn feed_key(&self) -> &FeedKey {
        &self.feed_key
    }

    /// The MAC of a record.
    pub fn mac(&self, sequence: u64) -> Option<&Mac> {
        self.macs.get(usize::try_from(sequence).ok()?)
    }

    /// All reservations, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many records were applied.
    pub fn n_records(&self) -> u64 {
        self.n_records
    }

    /// When the ledger was made.
    pub fn made(&self) -> &str {
        self.genesis.as_ref().map_or("", |genesis| &genesis.made)
    }

    /// The feed it serves: named when it was opened, or by its first reservation.
    pub fn feed(&self) -> Option<&str> {
        let opened = self.genesis.as_ref().and_then(|genesis| genesis.feed.as_deref());
        opened.or_else(|| self.entries.first().map(|entry| entry.feed.as_str()))
    }

    /// The first window that exists, for a live feed.
    pub fn first_window(&self) -> Option<WindowId> {
        self.genesis.as_ref()?.first_window.map(WindowId::new)
    }

    /// What the privacy officer signed last.
    pub fn approval(&self) -> Option<&Approval> {
        self.approval.as_ref()
    }

    /// Who stopped the feed, while it is stopped.
    pub fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// Why nothing may leave at all under this statement (L-7).
    pub fn hold(&self, statement: &Digest) -> Option<Refusal> {
        if let Some(Stop { why, by, at }) = self.stop.clone() {
            return Some(Refusal::Stopped { by, at, why });
        }
        let Approval { statement: approved, by, at } = self.approval.clone()?;
        let found = *statement;
        (approved != found).then_some(Refusal::NotApproved { by, at, approved, found })
    }

    /// Whether this window has a release in place. Its time decides: with another length another window has its
    /// number.
    pub fn is_settled(&self, window: &Window) -> bool {
        self.entries_of(window).any(|entry| entry.settled.is_some())
    }

    /// Whether this window is paid for, released or not.
    pub fn is_paid(&self, window: &Window) -> bool {
        self.entries_of(window).next().is_some()
    }

    fn entries_of(&self, window: &Window) -> impl Iterator<Item = &Entry> {
        let is_same = |entry: &&Entry| (entry.start, entry.end) == (window.start(), window.end());
        self.entries.iter().filter(is_same)
    }

    /// Everything ever reserved. What was reserved and never settled counts: its noise may have been seen.
    pub fn spent(&self) -> MicroEpsilon {
        self.entries
            .iter()
            .map(|entry| entry.reservation.cost.epsilon())
            .fold(MicroEpsilon::default(), |sum, cost| {
                sum.checked_add(cost).expect("L-3: caps keep the sum inside 64 bits")
            })
    }

    /// Takes the next authentic record, which has this MAC.
    pub(super) fn append(&mut self, record: &Record, mac: Mac) -> Result<(), String> {
        let sequence = self.n_records;
        match record {
            Record::Genesis(genesis) => {
                if sequence != 0 {
                    return Err("a second opening record".to_owned());
                }
                if !Genesis::KNOWN.contains(&genesis.version) {
                    return Err(format!(
                        "the ledger has version {}; this program knows versions 1 to {}: use the tapveil that wrote \
                         it, or a newer one",
                        genesis.version,
                        Genesis::VERSION
                    ));
                }
                let named = genesis.feed_key.as_ref();
                if named.is_some_and(|named| *named != self.feed_key.to_string()) {
                    return Err("it is the ledger of another feed".to_owned());
                }
                self.genesis = Some(genesis.clone());
            }
            _ if sequence == 0 => return Err("the opening record is missing".to_owned()),
            Record::Reserved { .. } => {
                let entry = self.entry(sequence, record, mac)?;
                self.entries.push(entry);
            }
            Record::Approved { statement, by, at } => {
                let statement = record::digest(statement)?;
                self.approval = Some(Approval { statement, by: by.clone(), at: at.clone() });
            }
            Record::Stopped { why, by, at } => {
                self.stop = Some(Stop { why: why.clone(), by: by.clone(), at: at.clone() });
            }
            Record::Resumed { .. } => self.stop = None,
            Record::Rotated { .. } => {}
            Record::Settled { reserved, release } => {
                let release = record::digest(release)?;
                let entry = self
                    .entries
                    .iter_mut()
                    .rfind(|entry| entry.reservation.sequence == *reserved)
                    .ok_or("it settles what was never reserved")?;
                if entry.settled.is_some() {
                    return Err("it settles a release twice".to_owned());
                }
                entry.settled = Some(release);
            }
        }
        self.n_records = self.n_records.saturating_add(1);
        self.macs.push(mac);
        Ok(())
    }
}

/// The record that books a request as the release of its window with this number.
pub(super) fn reserved(feed: &str, request: &Request, revision: u32) -> Record {
    Record::Reserved {
        feed: feed.to_owned(),
        window: request.window.id().number(),
        start: request.window.start().to_string(),
        end: request.window.end().to_string(),
        batch: request.batch.to_string(),
        configuration: request.configuration.to_string(),
        epsilon_micro: request.cost.epsilon().micro(),
        differential: request.cost.is_differential(),
        revision,
        epoch: request.epoch,
        zone: Some(request.window.zone_name().to_owned()),
        why: match &request.edition {
            Edition::First => None,
            Edition::Revision { why } => Some(why.clone()),
        },
    }
}

/// The price of a record.
fn cost(differential: bool, micro: u64) -> Result<Cost, String> {
    let price = MicroEpsilon::new(micro);
    match (differential, micro) {
        _ if MicroEpsilon::MAX < price => Err("a price beyond every budget".to_owned()),
        (true, _) => Ok(Cost::differential(price)),
        (false, 0) => Ok(Cost::syntactic()),
        (false, _) => Err("a release by suppression with a price".to_owned()),
    }
}

impl Book {
    fn entry(&self, sequence: u64, record: &Record, head: Mac) -> Result<Entry, String> {
        let Record::Reserved {
            feed,
            window,
            start,
            end,
            batch,
            configuration,
            epsilon_micro,
            differential,
            revision,
            epoch,
            zone,
            why,
        } = record
        else {
            unreachable!("called for reservations only");
        };
        let instant =
            |text: &str| text.parse::<Timestamp>().map_err(|_| "a time is not RFC 3339".to_owned());
        let (start, end) = (instant(start)?, instant(end)?);
        let cost = cost(*differential, *epsilon_micro)?;
        let editions = self.entries.iter().filter(|entry| (entry.start, entry.end) == (start, end));
        let window_total = editions
            .map(|entry| entry.reservation.cost.epsilon())
            .try_fold(cost.epsilon(), |sum, cost| sum.checked_add(cost))
            .ok_or("prices beyond every budget")?;
        Ok(Entry {
            reservation: Reservation {
                sequence,
                window: WindowId::new(*window),
                batch: Mac::from_hex(batch).ok_or("a MAC is not 64 hexadecimal digits")?,
                configuration: record::digest(configuration)?,
                cost,
                revision: *revision,
                window_total,
                feed_key: self.feed_key.clone(),
                head,
            },
            feed: feed.clone(),
            start,
            end,
            settled: None,
            epoch: *epoch,
            zone: zone.clone(),
            why: why.clone(),
        })
    }
}

mod verdict;

pub(super) use verdict::Verdict;
pub use verdict::Would;

#[cfg(test)]
mod tests;
