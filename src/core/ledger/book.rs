//! The ledger's arithmetic: what was booked, and what a request may cost. Pure; no I/O, no floats.

use jiff::Timestamp;

use super::record::{Genesis, Record};
use super::{Before, Refusal, Repeat, Request, Reservation, Settings, record};
use crate::model::{Cost, Digest, Mac, MicroEpsilon, WindowId};

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
}

impl Entry {
    fn when(&self) -> String {
        format!("{} to {}", self.start, self.end)
    }

    fn difference(&self, request: &Request) -> &'static str {
        match self.reservation.configuration == request.configuration {
            true => "other taps",
            false => "another configuration",
        }
    }
}

/// What the book says to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The very same release was booked before; nothing to pay.
    Known(Reservation, Before),
    /// To be paid for now.
    Pay,
    /// Not allowed.
    Refuse(Refusal),
}

/// Everything ever booked, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Book {
    entries: Vec<Entry>,
    n_records: u64,
    genesis: Option<Genesis>,
}

impl Book {
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

    /// Whether this window has a release in place.
    pub fn is_settled(&self, window: WindowId) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.reservation.window == window && entry.settled.is_some())
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

    /// Takes the next authentic record.
    pub(super) fn apply(&mut self, record: &Record) -> Result<(), String> {
        let sequence = self.n_records;
        match record {
            Record::Genesis(genesis) => {
                if sequence != 0 {
                    return Err("a second opening record".to_owned());
                }
                if genesis.version != Genesis::VERSION {
                    return Err(format!(
                        "the ledger has version {}; this program knows version {}: use the tapveil that wrote it, or a \
                         newer one",
                        genesis.version,
                        Genesis::VERSION
                    ));
                }
                self.genesis = Some(genesis.clone());
            }
            _ if sequence == 0 => return Err("the opening record is missing".to_owned()),
            Record::Reserved { .. } => self.entries.push(entry(sequence, record)?),
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
        self.n_records += 1;
        Ok(())
    }

    /// Decides about a request.
    pub(super) fn decide(&self, request: &Request, settings: &Settings) -> Verdict {
        if let Some(entry) = self.entries.iter().find(|entry| is_same(&entry.reservation, request))
        {
            let before = entry.settled.map_or(Before::Reserved, Before::Settled);
            return Verdict::Known(entry.reservation.clone(), before);
        }
        if let Some(refusal) = self.mix(request) {
            return Verdict::Refuse(refusal);
        }
        if settings.repeat == Repeat::Refuse
            && let Some(refusal) = self.overlap(request)
        {
            return Verdict::Refuse(refusal);
        }
        let asked = request.cost.epsilon();
        for (cap, spent, limit) in self.caps(request, settings) {
            if spent.checked_add(asked).is_none_or(|sum| sum > limit) {
                return Verdict::Refuse(Refusal::Cap { cap, spent, asked, limit });
            }
        }
        Verdict::Pay
    }

    /// Every reservation of a time that the request covers too.
    fn beside(&self, request: &Request) -> impl Iterator<Item = &Entry> {
        let (start, end) = (request.window.start(), request.window.end());
        self.entries.iter().filter(move |entry| entry.start < end && start < entry.end)
    }

    /// What no price makes up for: suppression beside anything else over the same taps.
    fn mix(&self, request: &Request) -> Option<Refusal> {
        let is_differential = request.cost.is_differential();
        let entry = self
            .beside(request)
            .find(|entry| !is_differential || !entry.reservation.cost.is_differential())?;
        let when = entry.when();
        Some(match (is_differential, entry.reservation.cost.is_differential()) {
            (true, _) => Refusal::Mixed { other: "made by suppression", when },
            (false, true) => Refusal::Mixed { other: "differentially private", when },
            (false, false) => Refusal::Suppressed { when, what: entry.difference(request) },
        })
    }

    fn overlap(&self, request: &Request) -> Option<Refusal> {
        let (start, end) = (request.window.start(), request.window.end());
        let entry = self.beside(request).next()?;
        Some(if (entry.start, entry.end) == (start, end) {
            Refusal::Repeat { what: entry.difference(request) }
        } else {
            Refusal::Overlap { other: entry.when() }
        })
    }

    /// Every cap that binds: its name, what is spent under it, its limit.
    fn caps(
        &self,
        request: &Request,
        settings: &Settings,
    ) -> Vec<(&'static str, MicroEpsilon, MicroEpsilon)> {
        let mut caps = Vec::new();
        if let Some(limit) = settings.lifetime {
            caps.push(("budget.lifetime", self.spent(), limit));
        }
        if let Some(horizon) = settings.horizon {
            // Any run of so many windows that contains this one: the fullest of them binds.
            let spent = (0..i64::from(horizon.windows))
                .filter_map(|back| {
                    let first = WindowId::new(request.window.id().number() - back);
                    settings.calendar.stretch(first, horizon.windows)
                })
                .map(|(start, end)| self.spent_between(start, end))
                .max()
                .unwrap_or_default();
            caps.push(("budget.horizon", spent, horizon.cap));
        }
        caps
    }

    fn spent_between(&self, start: Timestamp, end: Timestamp) -> MicroEpsilon {
        self.entries.iter().filter(|entry| entry.start < end && start < entry.end).fold(
            MicroEpsilon::default(),
            |sum, entry| {
                sum.checked_add(entry.reservation.cost.epsilon())
                    .expect("L-3: caps keep the sum inside 64 bits")
            },
        )
    }
}

fn is_same(reservation: &Reservation, request: &Request) -> bool {
    reservation.window == request.window.id()
        && reservation.batch == request.batch
        && reservation.configuration == request.configuration
        && reservation.cost == request.cost
}

/// The record that books a request.
pub(super) fn reserved(feed: &str, request: &Request) -> Record {
    Record::Reserved {
        feed: feed.to_owned(),
        window: request.window.id().number(),
        start: request.window.start().to_string(),
        end: request.window.end().to_string(),
        batch: request.batch.to_string(),
        configuration: request.configuration.to_string(),
        epsilon_micro: request.cost.epsilon().micro(),
        differential: request.cost.is_differential(),
    }
}

fn entry(sequence: u64, record: &Record) -> Result<Entry, String> {
    let Record::Reserved {
        feed,
        window,
        start,
        end,
        batch,
        configuration,
        epsilon_micro,
        differential,
    } = record
    else {
        unreachable!("called for reservations only");
    };
    let instant =
        |text: &str| text.parse::<Timestamp>().map_err(|_| "a time is not RFC 3339".to_owned());
    if MicroEpsilon::MAX < MicroEpsilon::new(*epsilon_micro) {
        return Err("a price beyond every budget".to_owned());
    }
    Ok(Entry {
        reservation: Reservation {
            sequence,
            window: WindowId::new(*window),
            batch: Mac::from_hex(batch).ok_or("a MAC is not 64 hexadecimal digits")?,
            configuration: record::digest(configuration)?,
            cost: match (differential, epsilon_micro) {
                (true, &micro) => Cost::differential(MicroEpsilon::new(micro)),
                (false, 0) => Cost::syntactic(),
                (false, _) => return Err("a release by suppression with a price".to_owned()),
            },
        },
        feed: feed.clone(),
        start: instant(start)?,
        end: instant(end)?,
        settled: None,
    })
}

#[cfg(test)]
mod tests;
