//! What a commit remembers beside its position: the offset metadata of both groups, as text.
//!
//! Empty metadata is a position that an operator committed with Kafka's own tools. Any other text that is not ours is
//! refused: a worker that guessed would count taps twice or forget a payment.

use super::Error;
use crate::model::{Mac, WindowId};
use crate::seal::IngestMetadata;

/// The form that this version writes and reads.
const FORM: &str = "tapveil1";

/// What a release commit remembers: how long the ledger was, and how far the windows have gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReleaseMetadata {
    /// How many records the ledger had: a shorter one later is a missing payment.
    pub n_records: u64,
    /// The MAC of its last record.
    pub head: Mac,
    /// The last window that was released or withheld. A window that was withheld stands in no ledger: without this, a
    /// restart would wait for its segments, which are deleted.
    pub done_through: Option<WindowId>,
}

impl ReleaseMetadata {
    /// As it stands in a commit's metadata.
    pub fn to_text(&self) -> String {
        let done = self.done_through.map_or("-".to_owned(), |window| window.number().to_string());
        format!("{FORM} {} {} {done}", self.n_records, self.head)
    }

    /// Reads it back; `None` if it is not ours.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut words = bare(text).split(' ');
        if words.next()? != FORM {
            return None;
        }
        let (n_records, head) = (words.next()?.parse().ok()?, Mac::from_hex(words.next()?)?);
        let done_through = match words.next() {
            None | Some("-") => None,
            Some(number) => Some(WindowId::new(number.parse().ok()?)),
        };
        words.next().is_none().then_some(Self { n_records, head, done_through })
    }
}

/// Some clients end the text with a zero byte.
fn bare(text: &str) -> &str {
    text.trim_end_matches('\0')
}

/// Reads metadata of a commit: `None` where an operator committed a bare position.
fn read<T>(
    partition: i32,
    text: &str,
    from_text: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Error> {
    match bare(text) {
        "" => Ok(None),
        text => from_text(text).map(Some).ok_or_else(|| Error::ForeignMetadata {
            partition,
            text: text.chars().take(60).collect(),
        }),
    }
}

/// What a commit of the release group remembers.
pub(super) fn read_release(partition: i32, text: &str) -> Result<Option<ReleaseMetadata>, Error> {
    read(partition, text, ReleaseMetadata::from_text)
}

/// What a commit of the ingest group remembers of a partition.
pub(super) fn read_ingest(partition: i32, text: &str) -> Result<Option<IngestMetadata>, Error> {
    read(partition, text, IngestMetadata::from_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_metadata_reads_back_also_the_form_without_windows() {
        let head = Mac::from_bytes([7; 32]);
        for done_through in [None, Some(WindowId::new(-3)), Some(WindowId::new(20_000))] {
            let written = ReleaseMetadata { n_records: 5, head, done_through };
            assert_eq!(ReleaseMetadata::from_text(&written.to_text()), Some(written));
        }
        let old = ReleaseMetadata::from_text(&format!("tapveil1 5 {head}")).unwrap();
        assert_eq!((old.n_records, old.done_through), (5, None));
    }

    #[test]
    fn metadata_of_others_is_refused_and_a_bare_position_is_an_operators() {
        let head = Mac::from_bytes([7; 32]);
        for foreign in ["somebody else's", "tapveil2 5", &format!("tapveil1 5 {head} soon")] {
            assert!(
                matches!(read_release(0, foreign), Err(Error::ForeignMetadata { .. })),
                "{foreign}"
            );
        }
        for foreign in ["connect", "tapveil1 x -", "tapveil9 1 2"] {
            assert!(matches!(
                read_ingest(3, foreign),
                Err(Error::ForeignMetadata { partition: 3, .. })
            ));
        }
        assert!(matches!(read_ingest(0, ""), Ok(None)));
        assert!(matches!(read_release(0, "\0"), Ok(None)));
    }
}
