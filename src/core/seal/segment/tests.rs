use super::*;
use crate::model::{StationIx, TapKind, WindowId};

fn codec(secret: u8, feed: &str) -> SegmentCodec {
    SegmentCodec::new(
        Secret::from_bytes(&[secret; 32]).unwrap(),
        feed.to_owned(),
        Digest::of(b"stations"),
    )
}

fn some_stamps(n: u32) -> Vec<Stamp> {
    (0..n)
        .map(|i| {
            let card = CardKey::from_halves([u64::from(i) << 40, 7]);
            Stamp::new(card, i * 3, StationIx(i % 68), None)
        })
        .collect()
}

fn counter() -> impl FnMut() -> Nonce {
    let mut n = 0_u8;
    move || {
        n += 1;
        [n; NONCE_BYTES]
    }
}

/// Holds S-6.
#[test]
fn taps_come_back_from_segments_that_fit_the_broker() {
    let (codec, window) = (codec(1, "feed"), WindowId::new(-3));
    let stamps = some_stamps(45_000);
    let mut nonce = counter();
    let segments: Vec<_> =
        SegmentCodec::parts(&stamps).map(|part| codec.taps(window, 5, part, &nonce())).collect();
    assert_eq!(segments.len(), 3);
    assert!(segments.iter().all(|segment| segment.len() < 600 << 10));
    let mut back = Vec::new();
    for segment in &segments {
        let Segment::Taps { window: of, partition: 5, stamps } = codec.open(segment).unwrap()
        else {
            panic!("taps come back as taps");
        };
        assert_eq!(of, window);
        back.extend(stamps);
    }
    assert!(back == stamps);
}

#[test]
fn kinds_come_back_and_only_they_need_the_second_version() {
    let (codec, window) = (codec(1, "feed"), WindowId::new(4));
    let with = |kind| {
        let mut stamps = some_stamps(3);
        stamps[1] = Stamp::new(stamps[1].card, 9, StationIx(67), kind);
        stamps
    };
    for (kind, magic) in
        [(None, b"tvp1"), (Some(TapKind::Entry), b"tvp2"), (Some(TapKind::Exit), b"tvp2")]
    {
        let segment = codec.taps(window, 0, &with(kind), &[1; NONCE_BYTES]);
        assert_eq!(&segment[..4], magic);
        let expected = Segment::Taps { window, partition: 0, stamps: with(kind) };
        assert!(codec.open(&segment).unwrap() == expected);
    }
}

#[test]
fn a_marker_comes_back_with_its_partition_count() {
    let codec = codec(1, "feed");
    let marker = codec.finished(WindowId::new(9), 2, 8, &[1; NONCE_BYTES]);
    let expected = Segment::Finished { window: WindowId::new(9), partition: 2, n_partitions: 8 };
    assert!(codec.open(&marker).unwrap() == expected);
}

#[test]
fn strangers_are_refused_for_their_reason() {
    let marker = codec(1, "feed").finished(WindowId::new(9), 2, 8, &[1; NONCE_BYTES]);
    assert_eq!(codec(2, "feed").open(&marker), Err(SegmentError::OtherSecret));
    assert!(matches!(codec(1, "other").open(&marker), Err(SegmentError::OtherFeed { .. })));
    let elsewhere = SegmentCodec::new(
        Secret::from_bytes(&[1; 32]).unwrap(),
        "feed".to_owned(),
        Digest::of(b"changed"),
    );
    assert_eq!(elsewhere.open(&marker), Err(SegmentError::OtherLayout));
    assert_eq!(codec(1, "feed").open(b"garbage"), Err(SegmentError::NotASegment));
}

#[test]
fn every_changed_byte_is_noticed() {
    let codec = codec(1, "feed");
    let segment = codec.taps(WindowId::new(1), 0, &some_stamps(3), &counter()());
    for at in 0..segment.len() {
        let mut changed = segment.clone();
        changed[at] ^= 1;
        assert!(codec.open(&changed).is_err(), "byte {at}");
    }
}

/// Such a segment needs the secret. Its reader used to ask for as much memory as it said, and ended.
#[test]
fn a_length_that_lies_takes_no_memory() {
    let codec = codec(1, "feed");
    let window = WindowId::new(1);
    let open = |contents: &[u8]| {
        codec.open(&codec.encrypt(Version::Plain, window, contents, &[1; NONCE_BYTES]))
    };
    let contents = |packed: &[u8]| {
        let all: Contents = (1, "feed".to_owned(), *codec.layout.bytes(), 0, 0, packed.to_vec());
        bincode::encode_to_vec(all, FORM).unwrap()
    };
    let nothing = snap::raw::Encoder::new().compress_vec(&[]).unwrap();
    let honest = contents(&nothing);
    assert!(matches!(open(&honest), Ok(Segment::Taps { stamps, .. }) if stamps.is_empty()));
    // The length of the packed taps stands before them.
    let mut long = honest.clone();
    let at = honest.len() - nothing.len() - size_of::<u64>();
    long[at..at + size_of::<u64>()].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    assert_eq!(open(&long), Err(SegmentError::NotASegment));
    // What is packed says first how long it is: here 4 GiB less one byte.
    let unpacked = contents(&[0xff, 0xff, 0xff, 0xff, 0x0f]);
    assert_eq!(open(&unpacked), Err(SegmentError::NotASegment));
}

/// Holds F-3.
#[test]
fn a_segment_shows_neither_cards_nor_feed() {
    let codec = codec(1, "a-feed-with-a-long-name");
    let stamps = some_stamps(2_000);
    let segment = codec.taps(WindowId::new(1), 0, &stamps, &counter()());
    let shows = |needle: &[u8]| segment.windows(needle.len()).any(|part| part == needle);
    assert!(!shows(b"a-feed-with"));
    assert!(!shows(&stamps[1_999].card.halves()[0].to_le_bytes()));
    assert!(!format!("{:?}", codec.open(&segment).unwrap()).contains('7'));
}
