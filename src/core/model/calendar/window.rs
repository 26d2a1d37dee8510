//! One window: its two instants, its slots, its names.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{Span, WindowId};

/// One window: a stretch of time cut into slots.
#[derive(Clone, Debug)]
pub struct Window {
    pub(super) id: WindowId,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) start_civil: DateTime,
    pub(super) end_civil: DateTime,
    pub(super) zone: TimeZone,
    pub(super) slot_millis: i64,
    pub(super) n_slots: u32,
}

impl Window {
    pub fn id(&self) -> WindowId {
        self.id
    }

    /// The first instant.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// The instant after the last.
    pub fn end(&self) -> Timestamp {
        self.end
    }

    /// How many slots it has; public, from the calendar alone.
    pub fn n_slots(&self) -> u32 {
        self.n_slots
    }

    /// The length of a slot.
    pub fn slot_secs(&self) -> i64 {
        self.slot_millis / 1_000
    }

    /// Milliseconds from the window's start, if the instant lies inside.
    pub fn offset_millis(&self, instant: Timestamp) -> Option<u32> {
        if instant < self.start || self.end <= instant {
            return None;
        }
        // 31 days and a clock change are 2.7 thousand million milliseconds: 32 bits hold them.
        u32::try_from(instant.as_millisecond() - self.start.as_millisecond()).ok()
    }

    /// How long it is, in milliseconds.
    pub fn length_millis(&self) -> u32 {
        u32::try_from(self.end.as_millisecond() - self.start.as_millisecond())
            .expect("31 days and a clock change fit 32 bits")
    }

    /// The slot of a moment so many milliseconds after the start.
    pub fn slot_at(&self, offset_millis: u32) -> u32 {
        u32::try_from(i64::from(offset_millis) / self.slot_millis).expect("a quotient of 32 bits")
    }

    /// The instant a slot begins.
    pub fn slot_start(&self, slot: u32) -> Timestamp {
        self.start + SignedDuration::from_millis(self.slot_millis * i64::from(slot))
    }

    /// How a slot is written in a release: its start with offset, `2015-11-09T07:00-06:00`.
    pub fn slot_label(&self, slot: u32) -> String {
        let form = if self.slot_millis % 60_000 == 0 && self.start.as_second() % 60 == 0 {
            "%Y-%m-%dT%H:%M%:z"
        } else {
            "%Y-%m-%dT%H:%M:%S%:z"
        };
        self.slot_start(slot).to_zoned(self.zone.clone()).strftime(form).to_string()
    }

    /// The service day that a slot belongs to: days begin when the window does.
    pub fn service_date(&self, slot: u32) -> String {
        let civil = self.slot_start(slot).to_zoned(self.zone.clone()).datetime();
        let begins = self.start_civil.time().duration_since(jiff::civil::Time::midnight());
        civil.saturating_sub(begins).date().to_string()
    }

    /// The directory name of its release, `20151109T0400_20151110T0400`.
    pub fn name(&self) -> String {
        format!("{}_{}", compact(self.start_civil), compact(self.end_civil))
    }

    /// The range that is this window alone.
    pub fn span(&self) -> Span {
        Span { from: self.start_civil, to: self.end_civil }
    }

    /// The start with its offset, for people.
    pub fn start_label(&self) -> String {
        self.labelled(self.start)
    }

    /// The end with its offset, for people.
    pub fn end_label(&self) -> String {
        self.labelled(self.end)
    }

    /// The zone's name.
    pub fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    fn labelled(&self, instant: Timestamp) -> String {
        instant.to_zoned(self.zone.clone()).strftime("%Y-%m-%dT%H:%M%:z").to_string()
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

fn compact(civil: DateTime) -> String {
    civil.strftime("%Y%m%dT%H%M").to_string()
}
