//! Why a tap does not count: a closed list. A bad tap is not an error; it is counted and the work goes on.

/// The reason a record does not become part of a trajectory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reject {
    /// No bytes, or a tombstone.
    Empty,
    /// Longer than a tap can be.
    TooLong,
    /// Not UTF-8 text (Latin-1, binary).
    NotUtf8,
    /// Not the configured format.
    Malformed,
    /// In a schema that nobody knows.
    UnknownSchema,
    /// A field that `feed.keep` looks at has another value.
    Filtered,
    /// Card, station, time or a field of `feed.keep` is missing or empty.
    MissingField,
    /// The card is the number of a payment card, and nobody said that it is a token.
    PaymentNumber,
    /// The time cannot be read.
    BadTime,
    /// A local time, and the configuration names no zone.
    NoZone,
    /// A local time that a clock change skips.
    TimeSkipped,
    /// A local time that a clock change repeats.
    TimeRepeated,
    /// Not in the station list.
    UnknownStation,
    /// In no window of the configured range.
    OutsideRange,
    /// Further in the future than clocks may differ.
    TooFarAhead,
    /// Arrived after its window's deadline.
    Late,
    /// Has no arrival time from the broker.
    NoArrivalTime,
    /// Stamped in time, read after its window was sealed.
    ArrivalAfterSeal,
}

impl Reject {
    /// All reasons, in the order a tap meets them.
    pub const ALL: [Self; 18] = [
        Self::Empty,
        Self::TooLong,
        Self::NotUtf8,
        Self::Malformed,
        Self::UnknownSchema,
        Self::Filtered,
        Self::MissingField,
        Self::PaymentNumber,
        Self::BadTime,
        Self::NoZone,
        Self::TimeSkipped,
        Self::TimeRepeated,
        Self::UnknownStation,
        Self::OutsideRange,
        Self::TooFarAhead,
        Self::Late,
        Self::NoArrivalTime,
        Self::ArrivalAfterSeal,
    ];

    /// Whether the record itself cannot be used. The others are left out on purpose, or for when they came.
    pub fn is_unusable(self) -> bool {
        match self {
            Self::Empty
            | Self::TooLong
            | Self::NotUtf8
            | Self::Malformed
            | Self::UnknownSchema
            | Self::MissingField
            | Self::PaymentNumber
            | Self::BadTime
            | Self::NoZone
            | Self::TimeSkipped
            | Self::TimeRepeated
            | Self::UnknownStation => true,
            Self::Filtered
            | Self::OutsideRange
            | Self::TooFarAhead
            | Self::Late
            | Self::NoArrivalTime
            | Self::ArrivalAfterSeal => false,
        }
    }

    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLong => "too_long",
            Self::NotUtf8 => "not_utf8",
            Self::Malformed => "malformed",
            Self::UnknownSchema => "unknown_schema",
            Self::Filtered => "filtered",
            Self::MissingField => "missing_field",
            Self::PaymentNumber => "payment_number",
            Self::BadTime => "bad_time",
            Self::NoZone => "no_zone",
            Self::TimeSkipped => "time_skipped",
            Self::TimeRepeated => "time_repeated",
            Self::UnknownStation => "unknown_station",
            Self::OutsideRange => "outside_range",
            Self::TooFarAhead => "too_far_ahead",
            Self::Late => "late",
            Self::NoArrivalTime => "no_arrival_time",
            Self::ArrivalAfterSeal => "arrival_after_seal",
        }
    }

    /// One sentence for people, with the remedy where there is one.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Empty => "the record is empty",
            Self::TooLong => "the record is longer than 64 KiB",
            Self::NotUtf8 => {
                "the record is not UTF-8 text; convert the file (iconv -f latin1 -t utf8)"
            }
            Self::Malformed => "the record is not in the configured format (feed.format)",
            Self::UnknownSchema => {
                "the schema that the record names is not in the registry (feed.avro.registry)"
            }
            Self::Filtered => "the record is not one of those that are kept (feed.keep)",
            Self::MissingField => {
                "card, station, time or a field of feed.keep is missing (feed.fields)"
            }
            Self::PaymentNumber => {
                "the card is the number of a payment card: send a token instead, or say that it is one (feed.card_is_token)"
            }
            Self::BadTime => {
                "the time cannot be read; use RFC 3339, epoch seconds or milliseconds, or say how it is written \
                 (feed.time_layouts)"
            }
            Self::NoZone => "the time has no zone; name the feed's zone (feed.time_zone)",
            Self::TimeSkipped => "the local time does not exist: a clock change skips it",
            Self::TimeRepeated => {
                "the local time exists twice: a clock change repeats it; send an offset"
            }
            Self::UnknownStation => {
                "the station is not in the station list; name it there, or in feed.aliases"
            }
            Self::OutsideRange => "the tap lies outside the range of windows (--from, --to)",
            Self::TooFarAhead => "the tap's time lies after its arrival (window.max_ahead)",
            Self::Late => "the tap arrived after its window's deadline (window.grace)",
            Self::NoArrivalTime => "the record has no arrival time from the broker",
            Self::ArrivalAfterSeal => "the record was read after its window was sealed",
        }
    }
}

/// How many taps were taken and how many records were not, by reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Taps that count (duplicates still among them).
    pub taps: u64,
    rejects: [u64; Reject::ALL.len()],
}

impl Counts {
    /// One more reject.
    pub fn reject(&mut self, reason: Reject) {
        self.rejects[reason as usize] += 1;
    }

    /// Rejects by reason, all reasons in order.
    pub fn rejects(&self) -> impl Iterator<Item = (Reject, u64)> {
        Reject::ALL.into_iter().zip(self.rejects)
    }

    /// Records that cannot be used.
    pub fn n_unusable(&self) -> u64 {
        self.rejects().filter(|(reason, _)| reason.is_unusable()).map(|(_, n)| n).sum()
    }

    /// The reasons of some rejects with their counts, in words.
    pub fn reasons(&self, counts: impl Fn(Reject) -> bool) -> String {
        let found = self.rejects().filter(|&(reason, n)| n > 0 && counts(reason));
        let words: Vec<String> =
            found.map(|(reason, n)| format!("{n} x {}", reason.in_words())).collect();
        words.join("; ")
    }

    /// All rejects.
    pub fn n_rejects(&self) -> u64 {
        self.rejects.iter().sum()
    }

    /// Adds another worker's counts.
    pub fn add(&mut self, other: &Self) {
        self.taps += other.taps;
        for (mine, theirs) in self.rejects.iter_mut().zip(other.rejects) {
            *mine += theirs;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Holds I-3.
    #[test]
    fn every_reason_has_a_label_of_its_own() {
        let labels: HashSet<_> = Reject::ALL.iter().map(|reason| reason.label()).collect();
        assert_eq!(labels.len(), Reject::ALL.len());
    }
}
