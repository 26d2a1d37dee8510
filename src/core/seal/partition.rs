//! One partition of a live feed: its taps since the last flush, and which windows it has finished.
//!
//! Pure: it is told what was read and what time it is, and says what to send. Nothing here looks at another
//! partition, except closing by watermark, which is told from outside.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::close::{ArrivalProgress, Closing, Finished, PartitionSeals};
use crate::model::{Calendar, Reject, Window, WindowId};
use crate::passenger::{Stamp, Tap};
use crate::window::{Arrival, Gate};

/// A partition without a record for so long has ended, for closing by watermark.
const STILL: SignedDuration = SignedDuration::from_secs(2);

/// What all partitions of a feed are judged by.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Judges each tap.
    pub gate: Gate,
    /// How windows close.
    pub closing: Closing,
    pub calendar: Calendar,
    /// The first window that exists.
    pub first: WindowId,
    /// The window after the last that exists; `None`: no last one.
    pub past: Option<WindowId>,
}

/// A record, judged by itself: this needs no state, so any thread may do it.
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// When it arrived.
    pub arrival: Arrival,
    /// How far it moves a watermark: its event time, unless its clock runs ahead.
    pub progress: Option<Timestamp>,
    /// The tap, or why it does not count.
    pub tap: Result<Tap, Reject>,
}

impl Judged {
    /// A record that is no tap.
    pub fn reject(reason: Reject, arrival: Arrival) -> Self {
        Self { arrival, progress: None, tap: Err(reason) }
    }

    /// A tap, judged by the gate.
    pub fn new(gate: &Gate, tap: Tap, window: &Window, event: Timestamp, arrival: Arrival) -> Self {
        let is_honest = match arrival {
            Arrival::Stamped(arrived) => !gate.is_too_far_ahead(event, arrived),
            Arrival::InFile | Arrival::Unstamped => false,
        };
        let tap = gate.judge(window, event, arrival).map(|()| tap);
        Self { arrival, progress: is_honest.then_some(event), tap }
    }
}

/// One partition.
#[derive(Debug)]
pub struct PartitionState {
    seals: PartitionSeals,
    arrival: ArrivalProgress,
    held: BTreeMap<WindowId, Vec<Stamp>>,
    n_held: usize,
    greatest_event: Option<Timestamp>,
    /// Since when nothing more was there to read.
    at_end_since: Option<Timestamp>,
}

impl PartitionState {
    /// A partition that was sealed so far when it was last committed.
    pub fn new(rules: &Rules, seals: PartitionSeals, greatest_event: Option<Timestamp>) -> Self {
        let (grace, margin) = match rules.closing {
            Closing::Arrival { grace, clock_margin } => (grace, clock_margin),
            Closing::Watermark { .. } => (SignedDuration::ZERO, SignedDuration::ZERO),
        };
        Self {
            seals,
            arrival: ArrivalProgress::new(grace, margin),
            held: BTreeMap::new(),
            n_held: 0,
            greatest_event,
            at_end_since: None,
        }
    }

    /// A record arrived then, whatever it holds.
    fn arrived(&mut self, arrival: Arrival) {
        self.at_end_since = None;
        if let Arrival::Stamped(at) = arrival {
            self.arrival.read(at);
        }
    }

    /// The position has reached an end of the log that was fetched then.
    pub fn reached_end(&mut self, fetched: Timestamp) {
        self.arrival.reached_end(fetched);
        self.at_end_since.get_or_insert(fetched);
    }

    /// Whether the partition has ended: it was at its end for a while. A feed that is being played right now is at its
    /// end again and again, and has not ended.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.at_end_since.is_some_and(|since| now.duration_since(since) >= STILL)
    }

    /// Takes a tap that was judged by itself, or says why not.
    pub fn take(&mut self, closing: Closing, judged: &Judged) -> Result<(), Reject> {
        self.arrived(judged.arrival);
        self.greatest_event = self.greatest_event.max(judged.progress);
        let tap = judged.tap?;
        self.seals.admit(tap.window, closing)?;
        self.held.entry(tap.window).or_default().push(tap.stamp);
        self.n_held = self.n_held.saturating_add(1);
        Ok(())
    }

    /// The greatest event time read, for closing by watermark.
    pub fn greatest_event(&self) -> Option<Timestamp> {
        self.greatest_event
    }

    /// The window that is sealed next, if there is one left.
    pub fn next_window(&self, rules: &Rules) -> Option<WindowId> {
        let next = match self.seals.last() {
            Some(last) => last.next()?.max(rules.first),
            None => rules.first,
        };
        rules.past.is_none_or(|past| next < past).then_some(next)
    }

    /// Windows this partition has finished and not yet sealed, in order, at most `most`.
    pub fn due(
        &self,
        rules: &Rules,
        most: usize,
        finished: impl Fn(&Self, &Window) -> Finished,
    ) -> Vec<Sealing> {
        let mut due = Vec::new();
        let mut next = self.next_window(rules);
        while let Some(id) = next
            && due.len() < most
        {
            match rules.calendar.window(id) {
                // A clock change leaves this one no time: it does not exist, and nobody waits for it.
                None => due.push(Sealing { window: id, exists: false }),
                Some(window) if finished(self, &window) == Finished::Yes => {
                    due.push(Sealing { window: id, exists: true });
                }
                Some(_) => break,
            }
            next = id.next();
            if rules.past.is_some_and(|past| next >= Some(past)) {
                break;
            }
        }
        due
    }

    /// Whether arrival alone says that a window is finished.
    pub fn finished_by_arrival(&self, window: &Window) -> Finished {
        self.arrival.finished(window)
    }

    /// What is held, by window.
    pub fn held(&self) -> &BTreeMap<WindowId, Vec<Stamp>> {
        &self.held
    }

    /// Taps held.
    pub fn n_held(&self) -> usize {
        self.n_held
    }

    /// Which windows are sealed.
    pub fn seals(&self) -> PartitionSeals {
        self.seals
    }

    /// What was sent is committed: forget the taps, and seal up to this window.
    pub fn committed(&mut self, sealed: Option<WindowId>) {
        self.held.clear();
        self.n_held = 0;
        if let Some(window) = sealed
            && self.seals.last() < Some(window)
        {
            self.seals.seal(window);
        }
    }
}

/// A window that is sealed with the next flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sealing {
    pub window: WindowId,
    /// Whether it exists and gets a marker.
    pub exists: bool,
}

/// What a commit remembers of a partition beside its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IngestMetadata {
    /// Sealed up to and with this window.
    pub sealed_through: Option<WindowId>,
    /// Greatest event time, for closing by watermark.
    pub greatest_event: Option<Timestamp>,
}

impl IngestMetadata {
    /// As it stands in a commit's metadata, between its version and its MAC.
    pub fn to_text(self) -> String {
        let number =
            |number: Option<i64>| number.map_or("-".to_owned(), |number| number.to_string());
        format!(
            "{} {}",
            number(self.sealed_through.map(WindowId::number)),
            number(self.greatest_event.map(Timestamp::as_millisecond)),
        )
    }

    /// Reads it back; `None` if it is not ours.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let number = |word: &str| match word {
            "-" => Some(None),
            digits => digits.parse::<i64>().ok().map(Some),
        };
        let (sealed, event) = (number(words.next()?)?, number(words.next()?)?);
        let greatest_event = match event {
            None => None,
            Some(millis) => Some(Timestamp::from_millisecond(millis).ok()?),
        };
        let remembered = Self { sealed_through: sealed.map(WindowId::new), greatest_event };
        words.next().is_none().then_some(remembered)
    }
}

#[cfg(test)]
mod tests;
