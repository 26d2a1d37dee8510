use super::*;
use crate::model::WindowId;

fn packer(secret: u8, feed: &str) -> Packer {
    Packer::new(
        Secret::from_bytes(&[secret; 32]).unwrap(),
        feed.to_owned(),
        Digest::of(b"stations"),
    )
}

fn some_stamps(n: u32) -> Vec<Stamp> {
    (0..n)
        .map(|i| Stamp {
            card: CardKey::from_halves([u64::from(i) << 40, 7]),
            offset_millis: i * 3,
            station: StationIx(i % 68),
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

#[test]
fn taps_come_back_from_parcels_that_fit_the_broker() {
    let (packer, window) = (packer(1, "feed"), WindowId::new(-3));
    let stamps = some_stamps(45_000);
    let mut nonce = counter();
    let parcels: Vec<_> =
        Packer::parts(&stamps).map(|part| packer.taps(window, 5, part, &nonce())).collect();
    assert_eq!(parcels.len(), 3);
    assert!(parcels.iter().all(|parcel| parcel.len() < 600 << 10));
    let mut back = Vec::new();
    for parcel in &parcels {
        let Parcel::Taps { window: of, partition: 5, stamps } = packer.open(parcel).unwrap() else {
            panic!("taps come back as taps");
        };
        assert_eq!(of, window);
        back.extend(stamps);
    }
    assert!(back == stamps);
}

#[test]
fn a_marker_comes_back_with_its_partition_count() {
    let packer = packer(1, "feed");
    let marker = packer.finished(WindowId::new(9), 2, 8, &[1; NONCE_BYTES]);
    let expected = Parcel::Finished { window: WindowId::new(9), partition: 2, n_partitions: 8 };
    assert!(packer.open(&marker).unwrap() == expected);
}

#[test]
fn strangers_are_refused_for_their_reason() {
    let marker = packer(1, "feed").finished(WindowId::new(9), 2, 8, &[1; NONCE_BYTES]);
    assert_eq!(packer(2, "feed").open(&marker), Err(ParcelError::OtherSecret));
    assert!(matches!(packer(1, "other").open(&marker), Err(ParcelError::OtherFeed { .. })));
    let elsewhere = Packer::new(
        Secret::from_bytes(&[1; 32]).unwrap(),
        "feed".to_owned(),
        Digest::of(b"changed"),
    );
    assert_eq!(elsewhere.open(&marker), Err(ParcelError::OtherLayout));
    assert_eq!(packer(1, "feed").open(b"garbage"), Err(ParcelError::NotAParcel));
}

#[test]
fn every_changed_byte_is_noticed() {
    let packer = packer(1, "feed");
    let parcel = packer.taps(WindowId::new(1), 0, &some_stamps(3), &counter()());
    for at in 0..parcel.len() {
        let mut changed = parcel.clone();
        changed[at] ^= 1;
        assert!(packer.open(&changed).is_err(), "byte {at}");
    }
}

#[test]
fn a_parcel_shows_neither_cards_nor_feed() {
    let packer = packer(1, "a-feed-with-a-long-name");
    let stamps = some_stamps(2_000);
    let parcel = packer.taps(WindowId::new(1), 0, &stamps, &counter()());
    let shows = |needle: &[u8]| parcel.windows(needle.len()).any(|part| part == needle);
    assert!(!shows(b"a-feed-with"));
    assert!(!shows(&stamps[1_999].card.halves()[0].to_le_bytes()));
    assert!(!format!("{:?}", packer.open(&parcel).unwrap()).contains('7'));
}
