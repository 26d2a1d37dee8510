//! Segments: encrypted taps between ingest and release.

use tapveil::model::Digest;
use tapveil::seal::SegmentCodec;
use tapveil::secret::Secret;

use crate::driver::{corpus, fuzz};

#[test]
fn a_segment_that_was_changed_is_refused() {
    let codec = SegmentCodec::new(
        Secret::from_bytes(&[9; 32]).unwrap(),
        "metro".to_owned(),
        Digest::of(b"layout"),
    );
    let corpus = corpus("segment");
    let mut n_opened = 0_u64;
    fuzz("segment", &corpus, |input| {
        let is_true = corpus.iter().any(|(_, whole)| *whole == input.bytes);
        let is_open = codec.open(&input.bytes).is_ok();
        assert!(is_true || !is_open, "a forged segment was opened");
        n_opened += u64::from(is_open);
    });
    assert!(n_opened > 0, "the true ones are opened");
}
