//! What tests of the engines over the tree share: stations, windows, releases, and trees without noise.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use super::{Threshold, TreeMechanism, TreeParams, noisy_rows};
use crate::engine::noise::ZeroNoise;
use crate::engine::{Engine, Release};
use crate::ledger::{Permit, Request};
use crate::model::{Calendar, Digest, MicroEpsilon, Station, StationIx, Stations, Window};
use crate::passenger::{CardKey, Stamp};
use crate::seal::SealedWindow;
use crate::secret::{NoiseKey, Secret};

/// A path as tests write it: stations and hours.
pub(crate) type Path = Vec<(u32, u32)>;

/// So many stations on five lines; every seventh has no line, so that lines are an uneven taxonomy.
pub(crate) fn stations(n: u32) -> Arc<Stations> {
    let list = (0..n).map(|i| Station {
        id: format!("s{i:06}"),
        line: if i % 7 == 6 { String::new() } else { format!("line {}", i % 5) },
        ..Station::default()
    });
    Arc::new(Stations::new(list.collect()).unwrap())
}

pub(crate) fn params(n_stations: u32) -> TreeParams {
    TreeParams {
        epsilon: MicroEpsilon::new(1_000_000),
        height: NonZeroU32::new(4).unwrap(),
        threshold: Threshold::OwnNoise,
        max_nodes: 1 << 20,
        max_length: NonZeroU32::new(12).unwrap(),
        stations: stations(n_stations),
    }
}

/// One UTC day of hourly slots.
pub(crate) fn window() -> Window {
    let calendar = Calendar::new(jiff::tz::TimeZone::UTC, 86_400, 0, 3_600).unwrap();
    calendar.window_at("2015-11-09T12:00:00Z".parse().unwrap()).unwrap()
}

/// Seals trajectories given as (station, hour) lists, one card each.
pub(crate) fn sealed(paths: &[Path]) -> SealedWindow {
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let hasher = secret.card_key(window().id());
    let mut stamps = Vec::new();
    for (card, path) in paths.iter().enumerate() {
        for (index, &(station, hour)) in (0_u32..).zip(path) {
            let card = CardKey::new(&hasher, &card.to_le_bytes());
            let offset_millis = hour * 3_600_000 + index * 1_000;
            stamps.push(Stamp::new(card, offset_millis, StationIx(station), None));
        }
    }
    SealedWindow::freeze(window(), stamps, None, &secret)
}

pub(crate) fn release(engine: &dyn Engine, window: &SealedWindow, seed: u64) -> Release {
    let request = Request::of_nobody(
        window.window().clone(),
        *window.mac(),
        Digest::of(b"test"),
        engine.price(),
    );
    let permit = Permit::unbooked(&request);
    engine.sanitize(window, permit, &NoiseKey::for_test(seed)).unwrap()
}

/// The rows when noise is off.
pub(crate) fn silent_rows<R: TreeMechanism>(
    engine: &R,
    window: &SealedWindow,
) -> BTreeMap<Path, u64> {
    let level = engine.level(window.window().n_slots()).unwrap();
    noisy_rows(engine, window, &level, &ZeroNoise)
        .into_iter()
        .map(|row| (row.path.iter().map(|d| (d.station.0, d.slot)).collect(), row.count))
        .collect()
}

/// Counts every prefix, drops those below the threshold with all below them, and takes children off parents.
pub(crate) fn brute_force(paths: &[Path], threshold: u64, height: usize) -> BTreeMap<Path, u64> {
    let mut prefixes: BTreeMap<Path, u64> = BTreeMap::new();
    for path in paths {
        for end in 1..=path.len().min(height) {
            *prefixes.entry(path[..end].to_vec()).or_default() += 1;
        }
    }
    prefixes.retain(|_, count| *count >= threshold);
    let mut rows = BTreeMap::new();
    for (prefix, &count) in &prefixes {
        let is_child = |other: &Path| other.len() == prefix.len() + 1 && other.starts_with(prefix);
        let children: u64 =
            prefixes.iter().filter(|(other, _)| is_child(other)).map(|(_, n)| n).sum();
        if count > children {
            rows.insert(prefix.clone(), count - children);
        }
    }
    rows
}
