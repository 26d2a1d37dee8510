//! What the book says to a request: known, to be paid, or refused.

use jiff::Timestamp;

use super::{Book, Entry};
use crate::ledger::{Before, Edition, Refusal, Request, Reservation, Settings};
use crate::model::{Cost, MicroEpsilon, WindowId};

/// What would become of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Would {
    /// Booked at this price.
    Pay(Cost),
    /// The same again, at no cost.
    BeFree,
    BeRefused(Refusal),
}

/// What the book says to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::ledger) enum Verdict {
    /// The very same release was booked before; nothing to pay.
    Known(Reservation, Before),
    /// To be paid for now, as the window's release of this number.
    Pay(u32),
    /// Not allowed.
    Refuse(Refusal),
}

impl Book {
    /// Decides about a request.
    pub(in crate::ledger) fn decide(&self, request: &Request, settings: &Settings) -> Verdict {
        if let Some(refusal) = self.hold(&request.statement) {
            return Verdict::Refuse(refusal);
        }
        if let Some(entry) = self.known(request) {
            let before = entry.settled.map_or(Before::Reserved, Before::Settled);
            return Verdict::Known(entry.reservation.clone(), before);
        }
        if let Some(refusal) = self.other_zone(request) {
            return Verdict::Refuse(refusal);
        }
        let allowed = match request.edition {
            Edition::First => self.mix(request).or_else(|| self.overlap(request)),
            Edition::Revision { .. } => self.not_revisable(request),
        };
        if let Some(refusal) = allowed {
            return Verdict::Refuse(refusal);
        }
        let asked = request.cost.epsilon();
        for (cap, spent, limit) in self.caps(request, settings) {
            if spent.checked_add(asked).is_none_or(|sum| sum > limit) {
                return Verdict::Refuse(Refusal::Cap { cap, spent, asked, limit });
            }
        }
        let editions = self.editions(request).map(|entry| entry.reservation.revision);
        Verdict::Pay(editions.max().map_or(0, |last| last.saturating_add(1)))
    }

    /// What would become of a request, without booking it.
    pub fn would(&self, request: &Request, settings: &Settings) -> Would {
        match self.decide(request, settings) {
            Verdict::Known(..) => Would::BeFree,
            Verdict::Pay(_) => Would::Pay(request.cost),
            Verdict::Refuse(refusal) => Would::BeRefused(refusal),
        }
    }

    /// In another zone the same local times are other instants: taps of a paid window would come out again in another.
    fn other_zone(&self, request: &Request) -> Option<Refusal> {
        let asked = request.window.zone_name();
        let paid = self.entries.iter().filter_map(|entry| entry.zone.as_deref());
        let other = paid.into_iter().find(|zone| *zone != asked)?;
        Some(Refusal::OtherZone { paid: other.to_owned(), asked: asked.to_owned() })
    }

    /// Every release of the request's own window.
    fn editions(&self, request: &Request) -> impl Iterator<Item = &Entry> {
        let (start, end) = (request.window.start(), request.window.end());
        self.entries.iter().filter(move |entry| (entry.start, entry.end) == (start, end))
    }

    /// The very same release, if it was booked before. A revision is only known as long as it is not settled: after
    /// that whoever asks wants a further one, and whether it costs must not depend on the taps.
    fn known(&self, request: &Request) -> Option<&Entry> {
        let same = |entry: &&Entry| is_same(&entry.reservation, request);
        match request.edition {
            Edition::First => {
                self.entries.iter().find(|entry| entry.reservation.revision == 0 && same(entry))
            }
            Edition::Revision { .. } => {
                let last = self.editions(request).last()?;
                let is_open = last.reservation.revision > 0 && last.settled.is_none();
                Some(last).filter(|_| is_open).filter(same)
            }
        }
    }

    /// Why a window cannot be revised: it has no release, or one that promises no ε, or another window covers it.
    fn not_revisable(&self, request: &Request) -> Option<Refusal> {
        if let Some(refusal) = self.mix(request) {
            return Some(refusal);
        }
        let (start, end) = (request.window.start(), request.window.end());
        let other = self.beside(request).find(|entry| (entry.start, entry.end) != (start, end));
        if let Some(other) = other {
            return Some(Refusal::Overlap { other: other.when() });
        }
        let is_in_place = self.editions(request).any(|entry| entry.settled.is_some());
        (!is_in_place).then_some(Refusal::NothingToRevise)
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
                    let first = WindowId::new(request.window.id().number().checked_sub(back)?);
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
