//! What a commit remembers beside its position: the offset metadata of both groups, as text, signed under the feed's
//! secret.
//!
//! `tapveil2 WORDS… MAC`. Whoever may commit for a group could otherwise say that windows are done which nobody
//! released. The MAC covers role, partition and position, so that no commit passes for another. Empty metadata is a
//! position that an operator committed with Kafka's own tools. Any other text that is not ours is refused: a worker
//! that guessed would count taps twice or forget a payment.
#![deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")]

use super::Error;
use super::ingest::Committed;
use super::transaction::Position;
use crate::model::{Mac, WindowId};
use crate::seal::IngestMetadata;
use crate::secret::{PositionKey, Secret};

/// The form that this version writes.
const FORM: &str = "tapveil2";
/// The form that earlier versions wrote, without a MAC.
const UNSIGNED: &str = "tapveil1";

/// Signs and reads what commits remember.
#[derive(Clone, Debug)]
pub struct Signer {
    key: PositionKey,
    /// Whether what an earlier version left unsigned is believed: the operator says so, once, after an upgrade.
    accepts_unsigned: bool,
}

/// Whose commit it is: nothing that ingest remembers passes for what a release does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Ingest,
    Release,
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Release => "release",
        }
    }
}

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
    /// As it stands in a commit's metadata, between its version and its MAC.
    pub fn to_text(&self) -> String {
        let done = self.done_through.map_or("-".to_owned(), |window| window.number().to_string());
        format!("{} {} {done}", self.n_records, self.head)
    }

    /// Reads it back; `None` if it is not ours.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (n_records, head) = (words.next()?.parse().ok()?, Mac::from_hex(words.next()?)?);
        let done_through = match words.next() {
            None | Some("-") => None,
            Some(number) => Some(WindowId::new(number.parse().ok()?)),
        };
        words.next().is_none().then_some(Self { n_records, head, done_through })
    }
}

impl Signer {
    /// Signs under the secret of the feed.
    pub fn new(secret: &Secret, accepts_unsigned: bool) -> Self {
        Self { key: secret.position_key(), accepts_unsigned }
    }

    /// A position of ingest.
    pub fn ingest(&self, partition: i32, offset: i64, remembered: IngestMetadata) -> Position {
        self.signed(Role::Ingest, partition, offset, &remembered.to_text())
    }

    /// A position of release.
    pub fn release(&self, partition: i32, offset: i64, remembered: &ReleaseMetadata) -> Position {
        self.signed(Role::Release, partition, offset, &remembered.to_text())
    }

    fn signed(&self, role: Role, partition: i32, offset: i64, text: &str) -> Position {
        let mac = self.key.mac(role.word(), partition, offset, text);
        Position { partition, offset, metadata: format!("{FORM} {text} {mac}") }
    }

    /// What a commit of the ingest group remembers of a partition; `None` where an operator committed a bare position.
    pub fn read_ingest(
        &self,
        partition: i32,
        commit: &Committed,
    ) -> Result<Option<IngestMetadata>, Error> {
        self.read(Role::Ingest, partition, commit, IngestMetadata::from_text)
    }

    /// What a commit of the release group remembers; `None` where an operator committed a bare position.
    pub fn read_release(
        &self,
        partition: i32,
        commit: &Committed,
    ) -> Result<Option<ReleaseMetadata>, Error> {
        self.read(Role::Release, partition, commit, ReleaseMetadata::from_text)
    }

    fn read<T>(
        &self,
        role: Role,
        partition: i32,
        commit: &Committed,
        from_text: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        // Some clients end the text with a zero byte.
        let text = commit.metadata.trim_end_matches('\0');
        if text.is_empty() {
            return Ok(None);
        }
        let foreign =
            || Error::ForeignMetadata { partition, text: text.chars().take(60).collect() };
        let (form, rest) = text.split_once(' ').ok_or_else(foreign)?;
        match form {
            FORM => {
                let (remembered, mac) = rest.rsplit_once(' ').ok_or_else(foreign)?;
                let expected = self.key.mac(role.word(), partition, commit.offset, remembered);
                if Mac::from_hex(mac) != Some(expected) {
                    return Err(Error::ForgedMetadata { partition });
                }
                from_text(remembered).map(Some).ok_or_else(foreign)
            }
            UNSIGNED if self.accepts_unsigned => from_text(rest).map(Some).ok_or_else(foreign),
            UNSIGNED => Err(Error::UnsignedMetadata { partition }),
            _ => Err(foreign()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer(accepts_unsigned: bool) -> Signer {
        Signer::new(&Secret::from_bytes(&[9; 32]).unwrap(), accepts_unsigned)
    }

    fn commit(position: &Position) -> Committed {
        Committed { offset: position.offset, metadata: position.metadata.clone() }
    }

    fn bare(metadata: &str) -> Committed {
        Committed { offset: 7, metadata: metadata.to_owned() }
    }

    #[test]
    fn what_was_signed_reads_back() {
        let head = Mac::from_bytes([7; 32]);
        for done_through in [None, Some(WindowId::new(-3)), Some(WindowId::new(20_000))] {
            let written = ReleaseMetadata { n_records: 5, head, done_through };
            let position = signer(false).release(0, 7, &written);
            let read = signer(false).read_release(0, &commit(&position)).unwrap();
            assert_eq!(read, Some(written));
        }
        let position = signer(false).ingest(3, 7, IngestMetadata::default());
        let ended = Committed { metadata: format!("{}\0", position.metadata), ..commit(&position) };
        let read = signer(false).read_ingest(3, &ended).unwrap();
        assert_eq!(read, Some(IngestMetadata::default()));
    }

    /// Holds R-9.
    #[test]
    fn a_commit_that_the_feed_did_not_sign_decides_nothing() {
        let head = Mac::from_bytes([7; 32]);
        let written = ReleaseMetadata { n_records: 5, head, done_through: Some(WindowId::new(4)) };
        let position = signer(false).release(0, 7, &written);
        let forged = position.metadata.replace(" 4 ", " 29999999 ");
        assert_ne!(forged, position.metadata);
        let is_forged = |read: Result<_, Error>| matches!(read, Err(Error::ForgedMetadata { .. }));
        assert!(is_forged(signer(false).read_release(0, &bare(&forged))));
        // Neither another position, nor another partition, nor the other role's.
        let moved = Committed { offset: 8, ..commit(&position) };
        assert!(is_forged(signer(false).read_release(0, &moved)));
        assert!(is_forged(signer(false).read_release(1, &commit(&position))));
        let ingest = signer(false).ingest(0, 7, IngestMetadata::default());
        assert!(is_forged(signer(false).read_release(0, &commit(&ingest))));
        let other = Signer::new(&Secret::from_bytes(&[8; 32]).unwrap(), false);
        assert!(is_forged(other.read_release(0, &commit(&position))));
    }

    #[test]
    fn what_an_earlier_version_left_unsigned_is_believed_only_when_the_operator_says_so() {
        let head = Mac::from_bytes([7; 32]);
        let old = bare(&format!("tapveil1 5 {head}"));
        let refused = signer(false).read_release(0, &old);
        assert!(matches!(refused, Err(Error::UnsignedMetadata { partition: 0 })));
        let read = signer(true).read_release(0, &old).unwrap().unwrap();
        assert_eq!((read.n_records, read.done_through), (5, None));
        let largest = bare("tapveil1 9223372036854775807 -");
        let read = signer(true).read_ingest(0, &largest).unwrap().unwrap();
        assert_eq!(read.sealed_through, Some(WindowId::new(i64::MAX)));
    }

    #[test]
    fn metadata_of_others_is_refused_and_a_bare_position_is_an_operators() {
        let head = Mac::from_bytes([7; 32]);
        for foreign in
            ["somebody else's", "tapveil3 5", "tapveil2", &format!("tapveil1 5 {head} soon")]
        {
            assert!(
                matches!(
                    signer(true).read_release(0, &bare(foreign)),
                    Err(Error::ForeignMetadata { .. })
                ),
                "{foreign}"
            );
        }
        for foreign in ["connect", "tapveil1 x -", "tapveil9 1 2"] {
            assert!(matches!(
                signer(true).read_ingest(3, &bare(foreign)),
                Err(Error::ForeignMetadata { partition: 3, .. })
            ));
        }
        assert!(matches!(signer(false).read_ingest(0, &bare("")), Ok(None)));
        assert!(matches!(signer(false).read_release(0, &bare("\0")), Ok(None)));
    }
}
