//! Taps that wait for their window's release, packed: a card's key once, then its taps as short numbers. A tap takes
//! less than the 24 bytes it has in the open, and one of a card that taps often far less.

use std::fmt;

use crate::passenger::{CardKey, Stamp};

/// Some taps of one window, packed. Behind the trust boundary.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PackedTaps {
    bytes: Box<[u8]>,
    n_taps: usize,
}

impl PackedTaps {
    /// Packs taps. Their order is lost; they are a set.
    pub(super) fn new(mut stamps: Vec<Stamp>) -> Self {
        stamps.sort_unstable();
        let mut bytes = Vec::with_capacity(stamps.len() * size_of::<Stamp>());
        for taps in stamps.chunk_by(|a, b| a.card == b.card) {
            for half in taps[0].card.halves() {
                bytes.extend_from_slice(&half.to_le_bytes());
            }
            put(&mut bytes, u32::try_from(taps.len()).expect("fewer taps in a segment than 2^32"));
            let mut before = 0;
            for tap in taps {
                put(&mut bytes, tap.offset_millis - before);
                put(&mut bytes, tap.station_and_kind());
                before = tap.offset_millis;
            }
        }
        Self { bytes: bytes.into_boxed_slice(), n_taps: stamps.len() }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.n_taps
    }

    /// What they take.
    pub(super) fn n_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Appends them to a list.
    pub(super) fn unpack_into(&self, stamps: &mut Vec<Stamp>) {
        let mut rest = &*self.bytes;
        while !rest.is_empty() {
            let card = CardKey::from_halves([half(&mut rest), half(&mut rest)]);
            let mut offset_millis = 0;
            for _ in 0..get(&mut rest) {
                offset_millis += get(&mut rest);
                let stamp = Stamp::from_parts(card, offset_millis, get(&mut rest));
                stamps.push(stamp.expect("packed from a stamp"));
            }
        }
    }
}

impl fmt::Debug for PackedTaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PackedTaps(***)")
    }
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn get(rest: &mut &[u8]) -> u32 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, after) = rest.split_first().expect("written by put");
        *rest = after;
        number |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return number;
        }
        shift += 7;
    }
}

fn half(rest: &mut &[u8]) -> u64 {
    let (half, after) = rest.split_first_chunk().expect("written by PackedTaps::new");
    *rest = after;
    u64::from_le_bytes(*half)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{StationIx, TapKind};

    proptest! {
        #[test]
        fn what_is_packed_comes_out_again(
            taps in proptest::collection::vec((0_u64..5, any::<u32>(), any::<u32>()), 0..200)
        ) {
            let mut stamps: Vec<Stamp> = taps.into_iter().filter_map(|(card, offset_millis, station_and_kind)| {
                Stamp::from_parts(CardKey::from_halves([card, !card]), offset_millis, station_and_kind)
            }).collect();
            let packed = PackedTaps::new(stamps.clone());
            let mut back = Vec::new();
            packed.unpack_into(&mut back);
            stamps.sort_unstable();
            prop_assert_eq!(packed.len(), stamps.len());
            prop_assert!(back == stamps);
        }
    }

    #[test]
    fn a_tap_of_a_day_takes_less_than_24_bytes_even_alone_on_its_card() {
        let stamps = (0..1_000_u32).map(|n| {
            let card = CardKey::from_halves([u64::from(n), 7]);
            Stamp::new(card, 86_399_000 - n, StationIx(n % 900), Some(TapKind::Exit))
        });
        let packed = PackedTaps::new(stamps.collect());
        assert!(packed.n_bytes() < 24 * packed.len(), "{} bytes", packed.n_bytes());
    }
}
