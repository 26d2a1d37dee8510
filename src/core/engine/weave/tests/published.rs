use super::*;

/// Of the published station counts at ε = 1 about 95 of 100 intervals hold the truth.
#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    let paths = city(30_000, 10, 24, 8);
    let mut truth = std::collections::BTreeMap::new();
    for path in &paths {
        let distinct: std::collections::BTreeSet<_> = path.iter().collect();
        distinct.into_iter().for_each(|doublet| *truth.entry(*doublet).or_insert(0_u64) += 1);
    }
    let (mut held, mut all) = (0, 0);
    for seed in 0..6 {
        println!("seed {seed}");
        let key = NoiseKey::for_test(seed);
        let (_, tables) =
            woven(&measure(&cards(&paths), terms(10, 24, 24, 1_000_000), &key, ONE), &key, ONE);
        for cell in &tables.stations {
            let true_count = truth.get(&(cell.station.0, cell.slot)).copied().unwrap_or(0);
            held += u32::from((cell.taps.low..=cell.taps.high).contains(&true_count));
            all += 1;
        }
    }
    let share = f64::from(held) / f64::from(all);
    // 1,440 intervals: three standard deviations of a binomial at 0.95 are 0.017.
    assert!((0.91..=0.995).contains(&share), "{share}");
}

/// With little noise the synthetic window's own tables are the true ones, nearly.
#[test]
fn a_woven_window_agrees_with_what_was_measured() {
    let paths = city(20_000, 8, 24, 9);
    let key = NoiseKey::for_test(1);
    let terms = terms(8, 24, 24, 10_000_000);
    let (window, tables) = woven(&measure(&cards(&paths), terms, &key, ONE), &key, ONE);
    assert!(window.len().abs_diff(20_000) < 200, "{}", window.len());
    let mut gap = vec![0_i64; 8 * 24];
    for path in &paths {
        let mut codes: Vec<usize> = path.iter().map(|d| (d.0 * 24 + d.1) as usize).collect();
        codes.sort_unstable();
        codes.dedup();
        codes.into_iter().for_each(|code| gap[code] += 1);
    }
    let taps: i64 = gap.iter().sum();
    let mut published = gap.clone();
    for cell in &tables.stations {
        published[(cell.station.0 * 24 + cell.slot) as usize] -= cell.taps.value as i64;
    }
    for codes in window.iter() {
        let mut codes = codes.to_vec();
        codes.sort_unstable();
        codes.dedup();
        codes.into_iter().for_each(|code| gap[code as usize] -= 1);
    }
    let off = |gap: &[i64]| gap.iter().map(|gap| gap.abs()).sum::<i64>() as f64 / taps as f64;
    assert!(off(&gap) < 0.06 && off(&published) < 0.03, "{} {}", off(&gap), off(&published));
}

/// 300 cards: not much to say, but totals by station and by hour are sensible.
#[test]
fn a_small_window_has_sensible_totals_by_station_and_hour() {
    let paths = city(300, 6, 24, 10);
    let key = NoiseKey::for_test(2);
    let (window, _) =
        woven(&measure(&cards(&paths), terms(6, 24, 24, 1_000_000), &key, ONE), &key, ONE);
    let truth: usize = paths.iter().map(Vec::len).sum();
    let made: usize = window.iter().map(<[u32]>::len).sum();
    assert!(made.abs_diff(truth) < truth, "{made} taps for {truth}");
    let by_half = |slots: &mut dyn Iterator<Item = u32>| slots.filter(|slot| *slot < 12).count();
    let early = by_half(&mut paths.iter().flatten().map(|doublet| doublet.1)) as f64 / truth as f64;
    let early_made =
        by_half(&mut window.iter().flatten().map(|code| code % 24)) as f64 / made as f64;
    assert!((early - early_made).abs() < 0.3, "{early} {early_made}");
}
