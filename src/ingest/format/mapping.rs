//! Which fields of a record mean what, and which records count: the same for every format.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::model::{Reject, TapKind};
use crate::passenger::Picked;

/// Most names that a record is searched for.
pub(super) const NAMES_MAX: usize = 16;

/// What the fields of a record are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields {
    /// The card's id.
    pub card: String,
    /// The station's id.
    pub station: String,
    /// The time of the tap.
    pub time: String,
    /// The record's own id, for formats that have one.
    pub transaction: Option<String>,
}

/// Which values of a field mean entry, and which exit. Any other value is neither.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KindRule {
    pub field: String,
    /// Values of an entry.
    pub entry: Vec<String>,
    /// Values of an exit.
    pub exit: Vec<String>,
}

impl KindRule {
    fn kind(&self, value: &str) -> Option<TapKind> {
        let is_in = |values: &[String]| values.iter().any(|one| one == value);
        match (is_in(&self.entry), is_in(&self.exit)) {
            (true, _) => Some(TapKind::Entry),
            (_, true) => Some(TapKind::Exit),
            _ => None,
        }
    }
}

/// Records whose field has another value than these do not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeepRule {
    pub field: String,
    /// Values of records that count.
    pub values: Vec<String>,
}

/// What the values of one field mean. A value that is not listed means itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueTable {
    pub field: String,
    /// Written → meant.
    pub meanings: BTreeMap<String, String>,
}

impl ValueTable {
    fn translate(&self, value: &mut Cow<'_, str>) {
        if let Some(meant) = self.meanings.get(value.as_ref()) {
            *value = Cow::Owned(meant.clone());
        }
    }
}

/// The fields of a feed's records, and which records count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// What the fields are called.
    pub fields: Fields,
    /// Which field tells entry from exit.
    pub kind: Option<KindRule>,
    /// Which records count, by what their values mean.
    pub keep: Vec<KeepRule>,
    /// What values mean.
    pub values: Vec<ValueTable>,
}

impl Mapping {
    /// At most so many fields can be filtered by: a record is searched for a fixed number of names.
    pub const KEEP_MAX: usize = 8;

    /// These three fields; every record counts.
    pub fn of_fields(card: &str, station: &str, time: &str) -> Self {
        let [card, station, time] = [card, station, time].map(str::to_owned);
        Self {
            fields: Fields { card, station, time, transaction: None },
            kind: None,
            keep: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Whether any rule or part of a tap looks at this field.
    pub fn reads(&self, field: &str) -> bool {
        let Fields { card, station, time, .. } = &self.fields;
        [card, station, time].into_iter().any(|name| name == field)
            || self.kind.as_ref().is_some_and(|rule| rule.field == field)
            || self.keep.iter().any(|rule| rule.field == field)
    }

    /// Puts what values mean in the place of what was written. Before anything else looks at them.
    #[inline]
    pub fn translate(&self, picked: &mut Picked<'_>) {
        if !self.values.is_empty() {
            self.values.iter().for_each(|table| self.translate_by(table, picked));
        }
    }

    fn translate_by(&self, table: &ValueTable, picked: &mut Picked<'_>) {
        let Fields { card, station, time, .. } = &self.fields;
        for (name, value) in
            [(card, &mut picked.card), (station, &mut picked.station), (time, &mut picked.time)]
        {
            if *name == table.field {
                table.translate(value);
            }
        }
        let of_kind = self.kind.iter().map(|rule| &rule.field).zip([&mut picked.kind]);
        let of_filters = self.keep.iter().map(|rule| &rule.field).zip(&mut picked.filter_values);
        for (name, value) in of_kind.chain(of_filters) {
            if let Some(value) = value.as_mut().filter(|_| *name == table.field) {
                table.translate(value);
            }
        }
    }

    /// Why a record does not count, as far as its fields say.
    #[inline]
    pub fn judge(&self, picked: &Picked<'_>) -> Result<(), Reject> {
        if !self.keep.is_empty() {
            self.filter(picked)?;
        }
        match picked.card.is_empty() || picked.station.is_empty() || picked.time.is_empty() {
            true => Err(Reject::MissingField),
            false => Ok(()),
        }
    }

    /// Another value than those that are kept is told before any that is missing.
    fn filter(&self, picked: &Picked<'_>) -> Result<(), Reject> {
        let values = || self.keep.iter().zip(&picked.filter_values);
        let written =
            |value: &Option<Cow<'_, str>>| value.as_ref().is_some_and(|text| !text.is_empty());
        let is_kept = |(rule, value): (&KeepRule, &Option<Cow<'_, str>>)| {
            !written(value) || rule.values.iter().any(|kept| value.as_deref() == Some(kept))
        };
        match (values().all(is_kept), picked.filter_values.iter().all(written)) {
            (false, _) => Err(Reject::Filtered),
            (true, false) => Err(Reject::MissingField),
            (true, true) => Ok(()),
        }
    }

    /// What a record's kind means.
    pub fn kind(&self, picked: &Picked<'_>) -> Option<TapKind> {
        self.kind.as_ref()?.kind(picked.kind.as_deref()?)
    }

    /// How something is written that means this.
    fn written<'a>(&'a self, field: &str, meant: &'a str) -> &'a str {
        let table = self.values.iter().find(|table| table.field == field);
        let pair = table.and_then(|table| table.meanings.iter().find(|(_, one)| *one == meant));
        pair.map_or(meant, |(written, _)| written)
    }

    /// A made-up record that counts: an entry, with the first value that each filter keeps.
    pub fn sample<'a>(&'a self, card: &'a str, station: &'a str, time: &'a str) -> Picked<'a> {
        let first = |field: &str, values: &'a [String]| {
            values.first().map(|value| Cow::Borrowed(self.written(field, value)))
        };
        Picked {
            card: Cow::Borrowed(card),
            station: Cow::Borrowed(self.written(&self.fields.station, station)),
            time: Cow::Borrowed(time),
            kind: self.kind.as_ref().and_then(|rule| first(&rule.field, &rule.entry)),
            transaction: None,
            filter_values: self.keep.iter().map(|rule| first(&rule.field, &rule.values)).collect(),
        }
    }
}

/// The names that a record is searched for. The first three are card, station and time; each other name stands once,
/// however many rules look at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::ingest) struct Wanted {
    pub(in crate::ingest) names: Vec<String>,
    kind: Option<usize>,
    transaction: Option<usize>,
    filters: Vec<usize>,
    has_rules: bool,
}

/// What a value may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ingest) enum Role {
    /// Names something: two values must never become one.
    Id,
    /// A time.
    Time,
    /// Only compared with words of the configuration.
    Word,
}

impl Wanted {
    pub(super) const CARD: usize = 0;
    pub(super) const STATION: usize = 1;
    pub(super) const TIME: usize = 2;
    /// Names without any rule.
    pub(super) const PLAIN: usize = 3;

    pub(in crate::ingest) fn new(mapping: &Mapping) -> Self {
        let Fields { card, station, time, transaction } = &mapping.fields;
        let mut names = vec![card.clone(), station.clone(), time.clone()];
        let mut index = |name: &String| {
            names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            })
        };
        let kind = mapping.kind.as_ref().map(|rule| index(&rule.field));
        let filters = mapping.keep.iter().map(|rule| index(&rule.field)).collect();
        let transaction = transaction.as_ref().map(index);
        assert!(names.len() <= NAMES_MAX, "the configuration bounds the number of rules");
        let has_rules = kind.is_some() || transaction.is_some() || !mapping.keep.is_empty();
        Self { names, kind, transaction, filters, has_rules }
    }

    /// Whether a header can do without this name.
    pub(in crate::ingest) fn is_optional(&self, index: usize) -> bool {
        self.transaction == Some(index)
            && self.kind != Some(index)
            && !self.filters.contains(&index)
    }

    /// Which name this is, if it is one.
    pub(in crate::ingest) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|wanted| wanted.as_bytes() == name.as_bytes())
    }

    pub(in crate::ingest) fn role(&self, index: usize) -> Role {
        match index {
            Self::TIME => Role::Time,
            Self::CARD | Self::STATION => Role::Id,
            _ if self.transaction == Some(index) => Role::Id,
            _ => Role::Word,
        }
    }

    /// The fields by name, out of the values in the order of the names.
    #[inline]
    pub(in crate::ingest) fn picked<'a, V>(&self, values: &mut [Option<V>]) -> Picked<'a>
    where
        V: Clone + Into<Cow<'a, str>>,
    {
        let (mut kind, mut transaction, mut filter_values) = (None, None, Vec::new());
        // A feed without rules wants three fields; there is nothing to look up.
        if self.has_rules {
            let shared = |index: usize| values.get(index).cloned().flatten().map(Into::into);
            kind = self.kind.and_then(shared);
            transaction = self.transaction.and_then(shared);
            filter_values = self.filters.iter().map(|index| shared(*index)).collect();
        }
        let mut own = |index: usize| values[index].take().map(Into::into).unwrap_or_default();
        Picked {
            card: own(Self::CARD),
            station: own(Self::STATION),
            time: own(Self::TIME),
            kind,
            transaction,
            filter_values,
        }
    }

    /// The value that a record with these fields has under this name.
    pub(in crate::ingest) fn value<'a>(
        &self,
        picked: &'a Picked<'_>,
        index: usize,
    ) -> Option<&'a str> {
        match index {
            Self::CARD => Some(&picked.card),
            Self::STATION => Some(&picked.station),
            Self::TIME => Some(&picked.time),
            _ if self.kind == Some(index) => picked.kind.as_deref(),
            _ if self.transaction == Some(index) => picked.transaction.as_deref(),
            _ => {
                let filter = self.filters.iter().position(|filter| *filter == index)?;
                picked.filter_values.get(filter)?.as_deref()
            }
        }
    }
}
