//! What a record looks like: the fields, the rules, and the format that reads them.

use std::path::Path;
use std::sync::Arc;

use super::file::File;
use super::keys::{FeedKeys, FieldKeys, KindKeys};
use crate::ingest::format::{self, Fields, Format, KindRule, Mapping};

/// The format that `feed.format` says, built from its own section.
pub(super) fn format(
    file: &mut File<'_>,
    base: &Path,
    feed: Option<&FeedKeys>,
) -> Option<Arc<dyn Format>> {
    let (fields, kind) = (file.section::<FieldKeys>("feed.fields"), kind(file));
    let (feed, fields) = (feed?, fields?);
    let FieldKeys { card, station, time } = fields;
    let mapping = Mapping {
        fields: Fields { card, station, time, transaction: None },
        kind: kind?,
        keep: feed.keep.as_ref().map(|keep| keep.0.clone()).unwrap_or_default(),
        values: feed.values.as_ref().map(|values| values.0.clone()).unwrap_or_default(),
    };
    let format = (format::find(feed.format.0)?.build)(&mut file.values("feed"), mapping, base)?;
    for table in &format.mapping().values {
        if !format.mapping().reads(&table.field) {
            let what =
                "no other key reads this field; name it in feed.fields, feed.kind or feed.keep";
            file.complain("feed.values", format_args!("{:?}: {what}", table.field));
        }
    }
    Some(format)
}

/// The rule for entry and exit; the outer `None` is a complaint.
fn kind(file: &mut File<'_>) -> Option<Option<KindRule>> {
    let KindKeys { field, entry, exit } = file.section::<KindKeys>("feed.kind")?;
    let (field, entry, exit) = match (field, entry, exit) {
        (None, None, None) => return Some(None),
        (Some(field), Some(entry), Some(exit)) => (field, entry.0, exit.0),
        _ => {
            let what = "needs field, entry and exit: \
                        { field = \"kind\", entry = [\"in\"], exit = [\"out\"] }";
            file.complain("feed.kind", what);
            return None;
        }
    };
    let mut both = entry.iter().filter(|value| exit.contains(value));
    if let Some(value) = both.next() {
        file.complain("feed.kind", format_args!("{value:?} cannot mean both entry and exit"));
        return None;
    }
    Some(Some(KindRule { field, entry, exit }))
}
