//! What a committed offset says beside its number.

use tapveil::model::{Mac, WindowId};
use tapveil::protocol::{Committed, ReleaseMetadata, Signer};
use tapveil::seal::IngestMetadata;
use tapveil::secret::Secret;

use crate::driver::{corpus, fuzz};

#[test]
fn offset_metadata_is_read_or_refused_and_nothing_unsigned_is_believed() {
    let secret = Secret::from_bytes(&[7; 32]).unwrap();
    let [lenient, strict] = [true, false].map(|unsigned| Signer::new(&secret, unsigned));
    let head = Mac::from_bytes([3; 32]);
    let done_through = Some(WindowId::new(16_744));
    let signed = strict.release(0, 42, &ReleaseMetadata { n_records: 3, head, done_through });
    let mut corpus = corpus("metadata");
    corpus.push(("signed.txt".to_owned(), signed.metadata.clone().into_bytes()));
    let mut n_read = 0_u64;
    fuzz("metadata", &corpus, |input| {
        let metadata = String::from_utf8_lossy(&input.bytes).into_owned();
        // What this secret signed, and the NULs that a client may leave behind a text.
        let is_signed = corpus.iter().any(|(name, whole)| {
            !name.starts_with("v1") && metadata.trim_end_matches('\0').as_bytes() == whole
        });
        let commit = Committed { offset: 42, metadata };
        if let Ok(Some(read)) = lenient.read_release(0, &commit) {
            assert_eq!(ReleaseMetadata::from_text(&read.to_text()), Some(read));
            n_read += 1;
        }
        if let Ok(Some(read)) = lenient.read_ingest(0, &commit) {
            assert_eq!(IngestMetadata::from_text(&read.to_text()), Some(read));
            n_read += 1;
        }
        let believed = strict.read_release(0, &commit);
        assert!(is_signed || !matches!(believed, Ok(Some(_))), "{commit:?}");
        let believed = strict.read_ingest(0, &commit);
        assert!(is_signed || !matches!(believed, Ok(Some(_))), "{commit:?}");
    });
    assert!(n_read > 0, "some changes leave a text that can be read");
}
