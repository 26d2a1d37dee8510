//! What a promise of `lk` costs on the presets: a weaker one never keeps less than a stronger one, and ours never less
//! than the paper's.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use tapveil::city::{City, Preset};
use tapveil::engine::lk::{Lk, Score, Settings, Variant, Weights};
use tapveil::engine::{Engine, fixture};
use tapveil::model::{Calendar, Digest, Portion, Stations};
use tapveil::passenger::{CardKey, Tap};
use tapveil::seal::SealedWindow;
use tapveil::secret::{NoiseKey, Secret};
use tapveil::window::OpenWindows;

/// The first window of a preset with so many cards at most.
fn sealed(preset: Preset, most: u64) -> (Arc<Stations>, SealedWindow) {
    let full = City::new(preset, None, 1).unwrap().n_cards();
    let city = City::new(preset, Some(most.min(full)), 1).unwrap();
    let mut text = Vec::new();
    city.write_stations(&mut text).unwrap();
    let stations = Arc::new(Stations::from_csv(&text).unwrap());
    let zone = jiff::tz::TimeZone::get("America/Toronto").unwrap();
    let seconds = i64::from(city.windows().days) * 86_400;
    let calendar = Calendar::new(zone, seconds, 4 * 3_600, 3_600).unwrap();
    let start = calendar.zone().to_timestamp(city.windows().begins()).unwrap();
    let window = calendar.window_at(start).unwrap();
    let secret = Secret::from_bytes(&[1; 32]).unwrap();
    let mut open = OpenWindows::default();
    for tap in city.taps() {
        let event = calendar.zone().to_timestamp(tap.time).unwrap();
        let Some(offset) = window.offset_millis(event) else { continue };
        let card = CardKey::new(&secret.card_key(window.id()), tap.card_id().as_bytes());
        open.add(Tap::new(window.id(), card, offset, stations.find(tap.station).unwrap()));
    }
    let stamps = open.take(window.id());
    (stations, SealedWindow::freeze(window, stamps, NonZeroU32::new(12), &secret))
}

fn doublets_kept(
    stations: &Arc<Stations>,
    window: &SealedWindow,
    l: u32,
    k: u32,
    which: Variant,
) -> u64 {
    let portion = |text: &str| Portion::parse(text).unwrap();
    let engine = Lk::new(Settings {
        l: NonZeroU32::new(l).unwrap(),
        k: NonZeroU32::new(k).unwrap(),
        variant: which,
        score: Score::GainPerInfo,
        weights: Weights {
            alpha: portion("0.4"),
            beta: portion("0.2"),
            gamma: portion("0.2"),
            delta: portion("0.2"),
        },
        max_work: 50_000_000,
        stations: stations.clone(),
    })
    .unwrap();
    let permit = fixture::permit(&engine, window, Digest::of(b"promises"));
    let release = engine.sanitize(window, permit, &NoiseKey::for_test(1)).unwrap();
    release.rows().iter().map(|row| row.count * row.path.len() as u64).sum()
}

fn compare(preset: Preset, most: u64) {
    let (stations, window) = sealed(preset, most);
    let mut kept: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for l in [1, 2, 3, 4, 200] {
        for k in [10, 20, 50, 100] {
            let [best, published] = [Variant::Best, Variant::Published]
                .map(|which| doublets_kept(&stations, &window, l, k, which));
            assert!(best >= published, "{} L {l} K {k}: {best} < {published}", preset.name());
            for (weaker, before) in kept.iter().filter(|(weaker, _)| weaker.0 <= l && weaker.1 <= k)
            {
                assert!(
                    *before >= best,
                    "{}: {weaker:?} keeps {before} < {best} of {:?}",
                    preset.name(),
                    (l, k)
                );
            }
            kept.insert((l, k), best);
        }
    }
    assert!(kept[&(1, 10)] > kept[&(200, 100)], "{}: the grid tells something", preset.name());
}

#[test]
fn a_weaker_promise_never_keeps_less_on_the_cities_of_the_paper() {
    compare(Preset::Metro200k, u64::MAX);
    compare(Preset::Stm514k, u64::MAX);
}

#[test]
fn a_weaker_promise_never_keeps_less_on_the_other_presets() {
    for preset in Preset::ALL {
        if !matches!(preset, Preset::Metro200k | Preset::Stm514k) {
            compare(preset, 20_000);
        }
    }
}
