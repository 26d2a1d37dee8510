//! One engine as a library: taps of a made-up day, sealed and drafted by `weave`. A draft is not a release: without a
//! permit of a ledger nothing can be published.
//!
//! `cargo run --example engine`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use jiff::tz::TimeZone;
use tapveil_core::declare::Values;
use tapveil_core::engine::{Legs, Registry, World};
use tapveil_core::model::{Calendar, Digest, MicroEpsilon, StationIx, Stations};
use tapveil_core::passenger::{CardKey, Tap};
use tapveil_core::seal::SealedWindow;
use tapveil_core::secret::Secret;

const HOUR: u32 = 3_600_000;

fn main() {
    let stations =
        Stations::from_csv(b"id,name\na,Airport\nb,Bridge\nc,Centre\n").expect("three stations");
    let calendar =
        Calendar::new(TimeZone::UTC, 86_400, 4 * 3_600, 3_600).expect("days of 24 slots");
    let noon = "2026-11-09T12:00:00Z".parse().expect("a time");
    let window = calendar.window_at(noon).expect("a day");
    let secret = Secret::from_bytes(&[7; 32]).expect("32 bytes");

    // Two thousand cards go to the centre in the morning and home in the evening.
    let hasher = secret.card_key(window.id());
    let mut stamps = Vec::new();
    for number in 0_u32..2_000 {
        let card = CardKey::new(&hasher, format!("card {number}").as_bytes());
        let home = StationIx(number % 2);
        for (hour, station) in [(3, home), (4, StationIx(2)), (13, StationIx(2)), (14, home)] {
            stamps.push(Tap::new(window.id(), card, hour * HOUR, station).stamp());
        }
    }
    let sealed = SealedWindow::freeze(window.clone(), stamps, NonZeroU32::new(12), &secret);

    let world = World {
        epsilon: MicroEpsilon::new(1_000_000),
        max_length: NonZeroU32::new(12).expect("not zero"),
        slots_nominal: 24,
        stations: Arc::new(stations),
        legs: Legs::Next,
        longest_secs: NonZeroU32::new(3 * 3_600),
        threads: NonZeroUsize::MIN,
    };
    let registry = Registry::standard();
    let registration = registry.find("weave").expect("weave is registered");
    let mut complaints = Vec::new();
    let mut values = Values::new("engine.weave", None, &mut complaints);
    let engine = (registration.build)(&mut values, Some(&world)).expect("its defaults are good");

    let key = secret.noise_key(window.id(), sealed.mac(), &Digest::of(b"configuration"), 0);
    let draft = engine.draft(&sealed, &key).expect("the window fits");
    let cards: u64 = draft.rows.iter().map(|row| row.count).sum();
    println!("about {cards} synthetic cards in {} different trips", draft.rows.len());
    for cell in draft.tables.iter().flat_map(|tables| &tables.lengths) {
        println!(
            "{} taps: {} cards ({} to {})",
            cell.taps, cell.cards.value, cell.cards.low, cell.cards.high
        );
    }
}
